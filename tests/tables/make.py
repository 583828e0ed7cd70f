"""Records what the Python packages ml_dtypes, gfloat, torchao, microxcaling and gguf make of codes, values and blocks.

    python make.py scalars              writes ml_dtypes.safetensors and gfloat.safetensors
    python make.py p3109                writes p3109.safetensors
    python make.py tabled               writes tabled.safetensors; needs en_dtypes and softposit too
    python make.py gguf                 writes gguf.safetensors; needs numpy, safetensors and gguf alone
    python make.py blocks MICROXCALING  writes blocks.safetensors; MICROXCALING is a clone of github.com/microsoft/microxcaling

Needs numpy, safetensors, ml_dtypes, gfloat, and for blocks torch and torchao too. The versions that were used stand in the
metadata of the files.

Tables of conversions from f16 and bf16 map all 65,536 codes in order. They are kept as runs: one u32 for each run of equal
results, the first code in the high half and the result in the low half. A result of 0xffff says that the package refused.
"""

import importlib.metadata
import math
import pathlib
import sys

import numpy
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
REFUSED = 0xFFFF
CODES = numpy.arange(1 << 16, dtype=numpy.uint16)


def runs(results):
    """The runs of equal members of an array of 65,536 codes."""
    results = numpy.asarray(results).astype(numpy.uint32)
    starts = numpy.flatnonzero(numpy.concatenate([[True], results[1:] != results[:-1]])).astype(numpy.uint32)
    return starts << 16 | results[starts]


def versions(*packages):
    return {package: importlib.metadata.version(package) for package in packages}


def ml_dtypes_tables():
    import ml_dtypes

    targets = {
        "e4m3": ml_dtypes.float8_e4m3fn,
        "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
        "e5m2": ml_dtypes.float8_e5m2,
        "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
        "e2m3": ml_dtypes.float6_e2m3fn,
        "e3m2": ml_dtypes.float6_e3m2fn,
        "e2m1": ml_dtypes.float4_e2m1fn,
        "e8m0": ml_dtypes.float8_e8m0fnu,
        "e3m4-ieee": ml_dtypes.float8_e3m4,
        "e4m3-ieee": ml_dtypes.float8_e4m3,
        "e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    }
    bits = {"e2m3": 6, "e3m2": 6, "e2m1": 4}
    wide = {"f16": numpy.float16, "bf16": ml_dtypes.bfloat16}
    tables = {}
    with numpy.errstate(all="ignore"):
        for name, dtype in targets.items():
            codes = numpy.arange(1 << bits.get(name, 8), dtype=numpy.uint8).view(dtype)
            tables[f"decode/{name}"] = codes.astype(numpy.float32)
            for other, target in targets.items():
                try:
                    tables[f"convert/{name}/{other}"] = codes.astype(target).view(numpy.uint8)
                except TypeError:
                    print("ml_dtypes has no conversion from", name, "to", other)
            for source, wide_dtype in wide.items():
                tables[f"convert/{source}/{name}"] = runs(CODES.view(wide_dtype).astype(dtype).view(numpy.uint8))
        for source, target in (("f16", "bf16"), ("bf16", "f16")):
            converted = CODES.view(wide[source]).astype(wide[target])
            tables[f"convert/{source}/{target}"] = runs(converted.view(numpy.uint16))
    return tables


def gfloat_tables():
    import gfloat
    from gfloat import formats, RoundMode

    targets = {
        "e4m3": formats.format_info_ocp_e4m3,
        "e5m2": formats.format_info_ocp_e5m2,
        "e2m3": formats.format_info_ocp_e2m3,
        "e3m2": formats.format_info_ocp_e3m2,
        "e2m1": formats.format_info_ocp_e2m1,
        "e8m0": formats.format_info_ocp_e8m0,
        "mxint8-element": formats.format_info_ocp_int8,
        "f16": formats.format_info_binary16,
        "bf16": formats.format_info_bfloat16,
    }
    values = {
        "f16": CODES.view(numpy.float16).astype(numpy.float64),
        "bf16": (CODES.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64),
    }
    modes = [("RNE", RoundMode.TiesToEven, {}), ("RNA", RoundMode.TiesToAway, {}), ("RZ", RoundMode.TowardZero, {})]
    modes += [("RU", RoundMode.TowardPositive, {}), ("RD", RoundMode.TowardNegative, {})]
    for random in (0, 3, 7):
        modes.append((f"SR3-{random}", RoundMode.StochasticFastest, {"srbits": random, "srnumbits": 3}))

    def convert(target, value, mode, saturate, extra):
        try:
            return gfloat.encode_float(target, gfloat.round_float(target, value, mode, saturate, **extra))
        except (ValueError, AssertionError, OverflowError):
            return REFUSED

    tables = {}
    for name, target in targets.items():
        if target.k <= 8:
            decoded = [gfloat.decode_float(target, code).fval for code in range(1 << target.k)]
            tables[f"decode/{name}"] = numpy.array(decoded, dtype=numpy.float32)
        for source, inputs in values.items():
            if source == name:
                continue
            for mode_name, mode, extra in modes:
                for saturate in (False, True):
                    key = f"convert/{source}/{name}/{mode_name}/{'saturate' if saturate else 'standard'}"
                    tables[key] = runs([convert(target, value, mode, saturate, extra) for value in inputs.tolist()])
            print(name, source, flush=True)
    return tables


def digest(values):
    """FNV-1a of 64 bits of binary64 numbers, little-endian; every NaN counts as 0x7ff8000000000000."""
    bits = numpy.where(numpy.isnan(values), numpy.float64("nan"), values).astype("<f8").view("<u8").copy()
    bits[numpy.isnan(values)] = 0x7FF8000000000000
    hashed = 0xCBF29CE484222325
    for byte in bits.tobytes():
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    return hashed


def p3109_tables():
    """The value of every code of P3109's formats in the range of binary64; for formats above 8 bits, a digest of all."""
    import gfloat
    from gfloat import Domain, RoundMode, Signedness
    from gfloat.formats import format_info_p3109

    signs = {"s": Signedness.Signed, "u": Signedness.Unsigned}
    domains = {"e": Domain.Extended, "f": Domain.Finite}
    tables = {}
    for k in range(3, 17):
        for sign, signedness in signs.items():
            most = k - (sign == "s")
            for p in range(max(1, most + 1 - 11), most + 1):
                for letter, domain in domains.items():
                    info = format_info_p3109(k, p, signedness, domain)
                    values = numpy.array([gfloat.decode_float(info, code).fval for code in range(1 << k)])
                    name = f"binary{k}p{p}{sign}{letter}"
                    if k <= 8:
                        tables[f"decode/{name}"] = values.astype(numpy.float32)
                    else:
                        tables[f"digest/{name}"] = numpy.array([digest(values)], dtype=numpy.uint64)
        print("P3109 formats of", k, "bits", flush=True)
    modes = {"RNE": RoundMode.TiesToEven, "RNA": RoundMode.TiesToAway, "RZ": RoundMode.TowardZero}
    modes |= {"RU": RoundMode.TowardPositive, "RD": RoundMode.TowardNegative}
    inputs = CODES.view(numpy.float16).astype(numpy.float64).tolist()
    for k, p, domain in ((8, 3, "e"), (8, 4, "f"), (6, 3, "e"), (8, 5, "e")):
        info = format_info_p3109(k, p, Signedness.Signed, domains[domain])
        for mode, rounding in modes.items():
            for saturate in (False, True):
                converted = [gfloat.encode_float(info, gfloat.round_float(info, x, rounding, saturate)) for x in inputs]
                key = f"convert/f16/binary{k}p{p}s{domain}/{mode}/{'saturate' if saturate else 'standard'}"
                tables[key] = runs(converted)
    # Formats without trailing bits: the middle of each two neighbours from zero on, and that above the largest number.
    nearest = {"RNE": RoundMode.TiesToEven, "RNA": RoundMode.TiesToAway}
    for k in range(3, 13):
        for sign, signedness in signs.items():
            if k - (sign == "s") > 11:
                continue
            for letter, domain in domains.items():
                info = format_info_p3109(k, 1, signedness, domain)
                codes = [code for code in range(1 << (k - (sign == "s"))) if math.isfinite(gfloat.decode_float(info, code).fval)]
                numbers = [gfloat.decode_float(info, code).fval for code in codes]
                middles = [(low + high) / 2 for low, high in zip(numbers, numbers[1:])] + [numbers[-1] * 1.5]
                for mode, rounding in nearest.items():
                    rounded = [gfloat.encode_float(info, gfloat.round_float(info, x, rounding)) for x in middles]
                    tables[f"middle/binary{k}p1{sign}{letter}/{mode}"] = numpy.array(rounded, dtype=numpy.uint16)
    return tables


def tabled_tables():
    """Formats by table: values of every code, and every f16 and bf16 value to each, to nearest."""
    import en_dtypes
    import softposit

    inputs = {
        "f16": CODES.view(numpy.float16).astype(numpy.float32),
        "bf16": (CODES.astype(numpy.uint32) << 16).view(numpy.float32),
    }
    bytes_ = numpy.arange(256, dtype=numpy.uint8)

    def posit(code):
        number = softposit.convertDoubleToPX2(0.0, 8)
        number.v = int(code) << 24
        return math.nan if code == 0x80 else softposit.convertPX2ToDouble(number)

    tables = {
        "decode/hif8": bytes_.view(en_dtypes.hifloat8).astype(numpy.float32),
        "decode/posit8": numpy.array([posit(code) for code in bytes_], dtype=numpy.float32),
    }
    with numpy.errstate(all="ignore"):
        for name, values in inputs.items():
            tables[f"convert/{name}/hif8"] = runs(values.astype(en_dtypes.hifloat8).view(numpy.uint8))
            posits = [softposit.convertDoubleToPX2(float(value), 8).v >> 24 for value in values]
            tables[f"convert/{name}/posit8"] = runs(posits)
    return tables


def block_inputs():
    """Blocks of 32 values: of all magnitudes, on and beside powers of two, with ties, zeros and specials."""
    random = numpy.random.default_rng(4)
    normal = random.standard_normal((160, 32)) * 2.0 ** random.integers(-130, 120, (160, 1))
    short = random.integers(-256, 257, (64, 32)) * 2.0 ** random.integers(-8, 8, (64, 1)) / 16
    corner = random.uniform(-1, 1, (32, 32))
    corner[numpy.arange(32), random.integers(0, 32, 32)] = [1, 1.5, 1.75, 1.875, 1.9375, 1.96875, 1.984375, 1.9921875] * 4
    near = corner.astype(numpy.float32)
    near[8:16] = numpy.nextafter(near[8:16], numpy.float32(4))
    near[16:24] = numpy.nextafter(near[16:24], numpy.float32(-4))
    near[24:] *= numpy.float32(2.0**-126)
    special = numpy.zeros((8, 32))
    special[1:] = random.standard_normal((7, 32))
    special[2, 5], special[3, 6], special[4, 7] = math.nan, math.inf, -math.inf
    special[5] *= 1e-45
    special[6] = numpy.finfo(numpy.float32).max * numpy.sign(special[6])
    special[7, :16] = -0.0
    return numpy.concatenate([normal, short, near, special]).astype(numpy.float32)


def torchao_tables(inputs, tensor):
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    elements = {
        "mxfp8-e4m3": torch.float8_e4m3fn,
        "mxfp8-e5m2": torch.float8_e5m2,
        "mxfp6-e2m3": "fp6_e2m3",
        "mxfp6-e3m2": "fp6_e3m2",
        "mxfp4": torch.float4_e2m1fn_x2,
    }
    tables = {}
    for name, element in elements.items():
        for mode in ScaleCalculationMode:
            scales, data = to_mx(torch.from_numpy(inputs), element, 32, mode)
            tables[f"torchao/{name}/{mode.value}/scale"] = scales.view(torch.uint8).flatten().numpy()
            tables[f"torchao/{name}/{mode.value}/codes"] = data.view(torch.uint8).flatten().numpy()
    hp = torch.from_numpy(tensor)
    scale = per_tensor_amax_to_scale(hp.abs().max())
    scales, data = nvfp4_quantize(hp, 16, scale)
    tables["torchao/nvfp4/tensor_scale"] = scale.reshape(1).view(torch.uint32).numpy()
    tables["torchao/nvfp4/scale"] = scales.view(torch.uint8).flatten().numpy()
    tables["torchao/nvfp4/codes"] = data.view(torch.uint8).flatten().numpy()
    return tables


def microxcaling_tables(inputs):
    import torch
    from mx.mx_ops import _quantize_mx

    elements = {
        "mxfp8-e4m3": "fp8_e4m3",
        "mxfp8-e5m2": "fp8_e5m2",
        "mxfp6-e2m3": "fp6_e2m3",
        "mxfp6-e3m2": "fp6_e3m2",
        "mxfp4": "fp4_e2m1",
        "mxint8": "int8",
    }
    tables = {}
    for name, element in elements.items():
        for mode, ours in (("even", "RNE"), ("nearest", "RNA"), ("floor", "RZ")):
            values = _quantize_mx(torch.from_numpy(inputs), 8, element, axes=[-1], block_size=32, round=mode)
            tables[f"microxcaling/{name}/{ours}"] = values.flatten().numpy().view(numpy.uint32)
    return tables


def gfloat_block_tables(inputs):
    import gfloat
    from gfloat.formats import all_block_formats

    tables = {}
    finite = [numpy.isfinite(block).all() for block in inputs]
    for format in all_block_formats:
        name = {"mxfp8_e5m2": "mxfp8-e5m2", "mxfp8_e4m3": "mxfp8-e4m3", "mxfp6_e3m2": "mxfp6-e3m2"}
        name |= {"mxfp6_e2m3": "mxfp6-e2m3", "mxfp4_e2m1": "mxfp4", "mxint8": "mxint8"}
        quantize = lambda block: gfloat.quantize_block(format, block.astype(numpy.float64), gfloat.compute_scale_amax)
        rows = [quantize(block) if good else numpy.full(32, numpy.nan) for block, good in zip(inputs, finite)]
        tables[f"gfloat/{name[format.name]}"] = numpy.array(rows, dtype=numpy.float32).view(numpy.uint32).flatten()
    return tables


def gguf_inputs():
    """The blocks above, and some for which a scale has a sign: ties of both signs, zeros, scales at the ends of f16."""
    random = numpy.random.default_rng(6)
    weights = random.standard_normal((64, 32)) * 0.02
    ties = random.integers(-16, 17, (64, 32)) / 2.0
    ties[:, 5], ties[:32, 9], ties[32:, 9] = 8, -8, 8
    ties[::2] *= -1
    ends = random.uniform(-1, 1, (32, 32)) * 2.0 ** numpy.repeat([-126, -149, -21, -22, -23, 18, 19, 20], 4)[:, None]
    zeros = numpy.zeros((2, 32))
    zeros[0, 3:], zeros[1, :3] = -0.0, -0.0
    own = numpy.concatenate([weights, ties, ends, zeros]).astype(numpy.float32)
    return numpy.concatenate([block_inputs(), own])


def gguf_tables():
    import gguf

    inputs = gguf_inputs()
    kind = gguf.GGMLQuantizationType.Q4_0
    with numpy.errstate(all="ignore"):
        blocks = gguf.quants.quantize(inputs, kind)
        values = gguf.quants.dequantize(blocks, kind).view(numpy.uint32)
    return {"inputs": inputs.view(numpy.uint32), "Q4_0": blocks, "Q4_0/values": values}


def main():
    if sys.argv[1] == "scalars":
        save_file(ml_dtypes_tables(), HERE / "ml_dtypes.safetensors", versions("ml_dtypes", "numpy"))
        save_file(gfloat_tables(), HERE / "gfloat.safetensors", versions("gfloat", "numpy"))
    elif sys.argv[1] == "p3109":
        save_file(p3109_tables(), HERE / "p3109.safetensors", versions("gfloat", "numpy"))
    elif sys.argv[1] == "tabled":
        metadata = versions("en_dtypes", "softposit", "numpy")
        save_file(tabled_tables(), HERE / "tabled.safetensors", metadata)
    elif sys.argv[1] == "gguf":
        save_file(gguf_tables(), HERE / "gguf.safetensors", versions("gguf", "numpy"))
    else:
        sys.path.insert(0, sys.argv[2])
        inputs = block_inputs()
        random = numpy.random.default_rng(5)
        tensor = random.standard_normal((64, 64)) * 2.0 ** random.integers(-5, 5, (64, 1))
        tensor[7] *= 1e-6
        tensor = tensor.astype(numpy.float32)
        tables = {"inputs": inputs.view(numpy.uint32), "tensor": tensor.view(numpy.uint32)}
        tables |= torchao_tables(inputs, tensor) | microxcaling_tables(inputs) | gfloat_block_tables(inputs)
        metadata = versions("torch", "torchao", "gfloat", "numpy") | {"microxcaling": "7bc4195"}
        save_file(tables, HERE / "blocks.safetensors", metadata)


if __name__ == "__main__":
    main()
