"""Faults of drawn checkpoints in every layout: each that the file proves is named, and no fault gets the name of another."""

import collections
import copy
import fnmatch
import itertools
import json
import re
import subprocess

import numpy as np
import pytest

from test_layouts import FILES, PROGRAM, layouts  # noqa: F401

F32 = np.float32
#: Keys under which the programs of a method list the modules that they leave as they are.
IGNORED = {
    "compressed-tensors": "ignore",
    "modelopt": "exclude_modules",
    "bitsandbytes": "llm_int8_skip_modules",
    "hqq": "skip_modules",
}


class Drawn:
    """Arrays and description of one file, for a fault to change; `None` from a fault says that the layout cannot have it."""

    def __init__(self, kit, drawn, number):
        self.kit, self.rng = kit, np.random.default_rng(number)
        self.layout, arrays, config, self.values = copy.deepcopy(drawn)
        self.module, self.config = f"model.layers.{number}.mlp.up_proj", config or {}
        self.arrays = {f"{self.module}{name[1:]}": array for name, array in arrays.items()}
        self.name = f"{self.module}.{'w' if self.layout.startswith('gpt-oss') else 'weight'}"

    def part(self, *ends):
        """The name of the array with one of these ends."""
        return next((name for name in self.arrays if name.endswith(ends)), None)

    @property
    def codes(self):
        return self.part("qweight", "weight_packed", "W_q", "weight_qdata", "_blocks", ".blocks") or self.part("weight")

    @property
    def scale(self):
        return self.part("scales", "weight_scale", "weight_scale_inv", "scale_weight", ".scale", "SCB", "absmax")

    @property
    def whole(self):
        """The scale of the tensor, next to those of blocks."""
        return self.part("global_scale", "scale_2", "per_tensor_scale")

    def numbers(self, name):
        """The numbers of an array of a floating-point type; `None` for another type."""
        array = self.arrays.get(name)
        if isinstance(array, self.kit.Bytes):
            return (array.array.astype(np.uint32) << 16).view(F32) if array.kind == "BF16" else None
        return array if array is not None and array.dtype.kind == "f" else None

    def put(self, name, numbers):
        """Writes numbers in the type that the array has."""
        array = self.arrays[name]
        if isinstance(array, self.kit.Bytes):
            array.array = (np.ascontiguousarray(numbers, F32).view(np.uint32) >> 16).astype(np.uint16)
        else:
            self.arrays[name] = np.asarray(numbers).astype(array.dtype)
        return True

    def kind(self, name):
        return getattr(self.arrays.get(name), "kind", None)

    @property
    def is_e4m3(self):
        return self.kind(self.codes) == "F8_E4M3"

    @property
    def is_e8m0(self):
        return self.kind(self.scale) in ("U8", "F8_E8M0")

    @property
    def has_zeros(self):
        return self.part("qzeros", "zero_point", ".zero") is not None

    def bytes_of(self, name):
        array = self.arrays[name]
        return array.array if isinstance(array, self.kit.Bytes) else array


def reciprocal(file):
    scale = file.scale
    if file.part("nested_absmax"):
        return None
    if file.numbers(scale) is not None:
        return file.put(scale, 1 / file.numbers(scale).astype(np.float64))
    array = file.arrays[scale]
    if file.is_e8m0:
        array.array = 254 - array.array
    else:
        numbers = file.kit.e4m3(array.array)
        array.array = np.where(numbers > 0, file.kit.e4m3_codes(1 / np.maximum(numbers, 1e-9)), array.array)
    return True


def global_reciprocal(file):
    return file.put(file.whole, 1 / file.numbers(file.whole)) if file.whole else None


def swapped(file):
    """Nibbles of each byte in the other order."""
    codes = file.bytes_of(file.codes)
    if codes.dtype.itemsize != 1 or codes.size * 2 != file.values.size:
        return None
    codes[...] = (codes.view(np.uint8) << 4 | codes.view(np.uint8) >> 4).view(codes.dtype)
    return True


def halves(file):
    """The nibbles of a byte are 16 values apart, which puts them in two blocks of NVFP4."""
    if "nvfp4" not in file.layout:
        return None
    codes = file.bytes_of(file.codes)
    run = np.stack([codes & 15, codes >> 4], -1).reshape(-1, 32)
    codes[...] = (run[:, :16] | run[:, 16:] << 4).reshape(codes.shape)
    return True


def tiles(file):
    """Scales in tiles of 128 rows and 4 columns, in the array for rows."""
    scale, shape = file.arrays[file.scale], file.values.shape
    if isinstance(scale, file.kit.Bytes) and len(shape) == 2 and scale.array.dtype == np.uint8 and shape[0] == 128:
        tiled = scale.array.reshape(-1, 4, 32, scale.array.shape[1] // 4, 4).transpose(0, 3, 2, 1, 4)
        scale.array = np.ascontiguousarray(tiled.reshape(scale.array.shape))
        return True
    return None


def fnuz(file):
    """e4m3fnuz, in which a code has half its value of e4m3, and 0x7f is the largest number."""
    if not file.is_e4m3 or file.numbers(file.scale) is None:
        return None
    codes, kit = file.arrays[file.codes].array, file.kit
    quotients = kit.e4m3(codes).astype(np.float64) * 480 / 448
    new = kit.e4m3_codes(quotients)
    new = np.where(np.abs(quotients) >= 464, np.where(quotients < 0, 0xFF, 0x7F), new)
    codes[...] = np.where(new == 0x80, 0, new)
    return file.put(file.scale, file.numbers(file.scale) * F32(448 / 240))


def powers(file):
    """Scales that were rounded to powers of two after quantising."""
    scale = file.numbers(file.scale)
    if scale is None or file.has_zeros or file.part("quant_map") or scale.size < 2:
        return None
    rounding = np.floor if file.rng.integers(2) else np.ceil
    return file.put(file.scale, np.exp2(rounding(np.log2(scale.astype(np.float64)))))


def exponents(file):
    """Exponents of powers of two as numbers."""
    scale = file.numbers(file.scale)
    if scale is None or file.has_zeros or file.part("quant_map", "SCB"):
        return None
    return file.put(file.scale, 127 + np.ceil(np.log2(scale.astype(np.float64))))


def one_scale(number):
    def change(file):
        scale = file.numbers(file.scale)
        if scale is None or file.part("nested_absmax"):
            return None
        changed = scale.copy()
        changed.reshape(-1)[file.rng.integers(scale.size)] = number
        return file.put(file.scale, changed)

    return change


def no_scales(file):
    scale = file.numbers(file.scale)
    return None if scale is None or file.part("nested_absmax") or file.has_zeros else file.put(file.scale, scale * 0)


def other_version(file):
    """The zero points of one version of GPTQ under the name of the other."""
    if not file.layout.startswith("gptq"):
        return None
    if file.config.pop("checkpoint_format", None) is None:
        file.config["checkpoint_format"] = "gptq_v2"
    return True


def other_bits(file):
    key = next((key for key in ("bits", "num_bits") if key in file.config), None)
    if key is None:
        return None
    file.config[key] = {2: 3, 3: 4, 4: 8, 8: 4}[file.config[key]]
    return True


def other_group(file):
    if "group_size" not in file.config:
        return None
    file.config["group_size"] *= 2
    return True


def other_nbits(file):
    name = file.part("nbits")
    return file.put(name, {1: 2, 2: 1, 3: 2, 4: 8, 8: 4}[int(file.arrays[name])]) if name else None


def other_method(file):
    # Files that describe themselves need no description.
    if not file.config or file.part("bitsandbytes__nf4", "bitsandbytes__fp4"):
        return None
    file.config.clear()
    file.config.update({"quant_method": "awq"} if file.layout != "awq" else {"quant_method": "hqq"})
    return True


def listed(file):
    """The description has the module under what is left as it is: by its name, or by the end of it."""
    if not file.config or not file.name.endswith("weight"):
        return None
    key = IGNORED.get(file.config["quant_method"], "modules_to_not_convert")
    by_end = key != "ignore" and file.rng.integers(2)
    file.config[key] = ["*router", "up_proj" if by_end else file.module]
    return True


def unlisted(file):
    """The same matrix of another layer is left as it is, and the description does not say so."""
    if not file.config or not file.name.endswith("weight"):
        return None
    file.config[IGNORED.get(file.config["quant_method"], "modules_to_not_convert")] = ["lm_head"]
    plain = file.kit.weights(file.rng, 8, 32)
    file.name = "model.layers.9" + file.name.removeprefix("model.layers.")
    file.arrays[file.name] = file.kit.Bytes("BF16", plain.view(np.uint32) >> 16)
    return True


def partners(file):
    """Two of q, k and v have other scales of the tensor than the third."""
    if not file.whole:
        return None
    first, whole = file.arrays, file.whole
    other = first | {whole: first[whole] * F32(file.rng.uniform(1.01, 3))}
    renamed = lambda arrays, name: {array.replace("up_proj", name): entry for array, entry in arrays.items()}
    file.arrays = renamed(first, "q_proj") | renamed(other, "k_proj")
    file.name = file.name.replace("up_proj", "q_proj")
    return True


#: Each fault: what makes it, and the words of a doubt that name it.
FAULTS = {
    "reciprocal scales": (reciprocal, ["scales may be reciprocals", "scales of blocks may be reciprocals"]),
    "reciprocal global scale": (global_reciprocal, ["values contradict the global scale"]),
    "nibbles swapped": (swapped, ["values contradict the order of nibbles"]),
    "nibbles 16 apart": (halves, ["values contradict the order of nibbles"]),
    "scales in tiles": (tiles, ["values contradict the order of scales"]),
    "codes of e4m3fnuz": (fnuz, ["codes may be e4m3fnuz"]),
    "scales rounded to powers of two": (powers, ["scales were rounded after quantising"]),
    "exponents as numbers": (exponents, ["all are whole numbers, as exponents"]),
    "a scale of NaN": (one_scale(np.nan), ["1 scale is NaN"]),
    "a negative scale": (one_scale(-0.01), ["1 scale is negative"]),
    "scales of 0": (no_scales, ["all scales are 0"]),
    "zero points of the other version": (other_version, ["values contradict the zero points"]),
    "other bits in config.json": (other_bits, ["bits of codes, and the arrays have", "config.json names compressed-tensors-int"]),
    "other groups in config.json": (other_group, ["values in a group, and the arrays have"]),
    "other bits in nbits": (other_nbits, ["bits of codes, and the arrays have"]),
    "another method in config.json": (other_method, ["which these arrays do not fit"]),
    "listed as left alone": (listed, ["and it is quantised"]),
    "left alone, and not listed": (unlisted, ["and it is not quantised"]),
    "partners with other global scales": (partners, ["differ: a loader that makes one tensor"]),
}

#: Faults that a file does not decide, and in which cases.
UNDECIDED = {
    # Each order puts the same codes into a block.
    "nibbles swapped": "*",
    # Values that weights can have, as these scales are nearer to 1.
    "reciprocal scales": "gptq-2 gptq-3 nf4* fp4* bitsandbytes-8* hqq-1-* hqq-2-* hqq-3-* *mx* gpt-oss* deepseek-v4-fp4",
    # Fewer than 64 blocks with values.
    "nibbles 16 apart": "ct-nvfp4 modelopt-nvfp4 torchao-nvfp4",
    "scales rounded to powers of two": "bitsandbytes-8 torchao-float8 ct-float ct-int4 ct-int8 deepseek-fp8",
    # A step is less than the mean of weights can be.
    "zero points of the other version": "gptq-8 gptq-8,?large",
}


def is_undecided(fault, case):
    return any(fnmatch.fnmatch(case, pattern.replace("?", " ")) for pattern in UNDECIDED.get(fault, "").split())


def draws(kit, seed):
    """A file in each layout, and larger ones for what needs more blocks."""
    rng = np.random.default_rng(1000 + seed)
    ct = lambda name, **more: {"quant_method": "compressed-tensors", "format": name} | more
    names, of_ao = ("l.weight_packed", "l.weight_scale"), ("0._weight_qdata", "0._weight_scale")
    ao, modelopt = {"quant_method": "torchao"}, {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    big = {"rows": 128, "columns": 128}
    zeros = big | {"zeros": True}
    int4, int8 = ct("pack-quantized", num_bits=4, group_size=32), ct("int-quantized", group_size=32)
    large = {
        "ct-nvfp4": kit.nvfp4(rng, "compressed-tensors-nvfp4", *names, "l.weight_global_scale", True, **big, config=ct("nvfp4-pack-quantized")),
        "modelopt-nvfp4": kit.nvfp4(rng, "modelopt-nvfp4", "l.weight", names[1], "l.weight_scale_2", **big, config=modelopt),
        "torchao-nvfp4": kit.nvfp4(rng, "torchao-nvfp4", *of_ao, "0._weight_per_tensor_scale", **big, config=ao),
        "ct-mxfp4": kit.float4(rng, "compressed-tensors-mxfp4", *names, scales="U8", config=ct("mxfp4-pack-quantized"), **zeros),
        "ct-mxfp8": kit.float8(rng, "compressed-tensors-mxfp8", names[1], (128, 4), power="U8", config=ct("mxfp8-quantized"), **zeros),
        "torchao-mxfp4": kit.float4(rng, "torchao-mxfp4", *of_ao, config=ao, **zeros),
        "torchao-mxfp8": kit.float8(rng, "torchao-mxfp8", of_ao[1], (128, 4), power="F8_E8M0", codes_name=of_ao[0], config=ao, **zeros),
        "ct-float": kit.float8(rng, "compressed-tensors-float", names[1], (128, 1), **big, config=ct("float-quantized")),
        "ct-int4": kit.symmetric(rng, "compressed-tensors-int4", *names, **big, config=int4),
        "ct-int8": kit.symmetric(rng, "compressed-tensors-int", "l.weight", names[1], 8, **big, config=int8),
        "torchao-float8": kit.float8(rng, "torchao-float8", of_ao[1], (128, 1), codes_name=of_ao[0], config=ao, **big),
        "bitsandbytes-8": kit.bitsandbytes8(rng, **big),
        "deepseek-fp8": kit.float8(rng, "deepseek-fp8", "l.weight_scale_inv", (4, 16), 512, 2048, block=(128, 128), config={"quant_method": "fp8"}),
        "gptq-8": kit.gptq(rng, 8, rows=128, columns=256),
        "gptq-8-symmetric": kit.gptq(rng, 8, rows=128, columns=256, symmetric=True),
    }
    return kit.all_drawn(np.random.default_rng(seed)) | {f"{case}, large": drawn for case, drawn in large.items()}


def inspected(path):
    """The doubts of the tensors of a checkpoint."""
    done = subprocess.run([*PROGRAM, "inspect", str(path), "--output", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return {row["tensor"]: row["doubt"] or "" for row in json.loads(done.stdout)["tables"]["checkpoint_tensors"]}


def doubts(kit, files, change, folder):
    """The doubts of the tensor of each file, by `inspect` of all in one folder; `None` if the layout cannot have the fault."""
    config, names = {}, []
    for number, drawn in enumerate(files):
        file = Drawn(kit, drawn, number)
        if change and change(file) is None:
            return None
        kit.write(folder, file.arrays, name=f"{number:03}.safetensors")
        config = file.config | {key: config.get(key, []) + entry for key, entry in file.config.items() if isinstance(entry, list)}
        names.append(file.name)
    if config:
        (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
    said = inspected(folder)
    return [set(said[name].split("; ")) for name in names]


def test_each_fault_that_a_file_proves_is_named(layouts, tmp_path):  # noqa: F811
    drawn = [draws(layouts, seed) for seed in range(FILES)]
    table, wrong = collections.defaultdict(lambda: np.zeros((2, 3), int)), []
    # A sample has every third case.
    for case in list(drawn[0])[:: 1 if FILES > 2 else 3]:
        files = [one[case] for one in drawn]
        right = doubts(layouts, files, None, tmp_path / case)
        for fault, (change, words) in FAULTS.items():
            found = doubts(layouts, files, change, tmp_path / f"{case}, {fault}")
            if found is None:
                continue
            named = np.array([any(word in doubt for word in words for doubt in said) for said in found])
            silent = np.array([said == usual for said, usual in zip(found, right)])
            counts = np.array([(named).sum(), (~named & silent).sum(), (~named & ~silent).sum()])
            table[fault][int(is_undecided(fault, case))] += counts
            if counts[2] or counts[1] and not is_undecided(fault, case):
                wrong.append((fault, case, counts.tolist(), found[0] - right[0]))
    # Pytest shows it with -s: for each fault, files that decide it and those that do not, each named, silent, and under another name.
    for fault, counts in table.items():
        print(fault, counts.tolist(), sep=": ")
    assert not wrong


#: Types of GGUF whose scales are never negative.
UNSIGNED = ("Q8_0", "Q2_K", "Q4_K", "Q5_K", "TQ2_0")


def test_each_fault_of_the_scales_of_gguf_is_named(layouts, tmp_path):  # noqa: F811
    gguf = pytest.importorskip("gguf")
    one = lambda scales, number: np.where(np.arange(len(scales)) == 3, number, scales)
    faults = {
        "reciprocal scales": (lambda scales: 1 / scales, "scales may be reciprocals"),
        "a scale of NaN": (lambda scales: one(scales, np.nan), "scales? (is|are) NaN"),
        "a negative scale": (lambda scales: one(scales, -scales), "scales? (is|are) negative"),
        "scales of 0": (lambda scales: scales * 0, "all scales are 0"),
    }
    table, wrong = collections.Counter(), []
    for (fault, (change, words)), seed in itertools.product(faults.items(), range(FILES)):
        drawn = layouts.blocks(np.random.default_rng(seed), 8, 1024)
        # The reciprocal scales of TQ2_0 are 20 to 100, which weights can be.
        usual = [name for name, places in layouts.NUMBERS.items() if places and (name, fault) != ("TQ2_0", "reciprocal scales")]
        names = UNSIGNED if fault == "a negative scale" else usual
        for name in names:
            kind, data, _ = drawn[name]
            of_blocks, at = data.reshape(-1, gguf.GGML_QUANT_SIZES[kind][1]), layouts.NUMBERS[name][0][0]
            scales = np.ascontiguousarray(of_blocks[:, at : at + 2]).view(np.float16)[:, 0]
            with np.errstate(over="ignore"):
                changed = change(scales.astype(F32)).astype(np.float16)
            of_blocks[:, at : at + 2] = changed.view(np.uint8).reshape(-1, 2)
            if fault == "scales of 0" and len(layouts.NUMBERS[name]) > 1:
                of_blocks[:, at + 2 : at + 4] = 0
        path = tmp_path / f"{fault} {seed}.gguf"
        layouts.write_gguf(path, {name: drawn[name] for name in names}, expected=False)
        for name, doubt in inspected(path).items():
            table[fault, name] += bool(re.search(words, doubt))
            if not re.search(words, doubt):
                wrong.append((fault, name, seed, doubt))
    print(*table.items(), sep="\n")
    assert not wrong
