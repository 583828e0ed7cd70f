"""Runs the examples of MMA-Sim with MMA-Sim and with tcnum: same instructions, same operands.

usage: python python/examples/mma_sim.py        (pip install mmasim, which needs PyTorch and a C++ compiler)

MMA-Sim (https://github.com/microsoft/MMA-Sim) is a Python package that computes instructions of GPUs as the GPUs do. Its examples are a dot
product that every generation rounds in its own way, matrices by an A100 and an MI300, and the error of products in FP8 and f16. Without
MMA-Sim, only tcnum's results are printed.
"""

import json
import pathlib
import struct
import time

import numpy as np

import tcnum

try:
    import torch
    from mmasim.amd.sim import MFMA
    from mmasim.nv_ptx.sim import MMA, WGMMA, TCGen05MMA
except (ImportError, OSError, RuntimeError) as error:  # MMA-Sim may compile a part of itself on import.
    torch = None
    MISSING = str(error)

# 2^23 - 2^23 - 0.5 - 0.25 - 0.125: the result shows how the last three terms are aligned and rounded.
A, B, C = [-(2.0**13), -0.5, -0.25, -0.125], [2.0**10, 1.0, 1.0, 1.0], 2.0**23
RECORDINGS = pathlib.Path(__file__).parents[2] / "tests" / "recordings" / "h200"
# MMA-Sim's class, its architecture and instruction; tcnum's model and instruction.
ROWS = [
    ("MMA", "Volta", "m8n8k4.f32.f16.f16.f32", "volta", "mma.m8n8k4.f32.f16.f16.f32"),
    ("MMA", "Turing", "m16n8k8.f32.f16.f16.f32", "turing", "mma.m16n8k8.f32.f16.f16.f32"),
    ("MMA", "Ampere", "m8n8k4.f64.f64.f64.f64", "ampere", "mma.m8n8k4.f64.f64.f64.f64"),
    ("MMA", "Ampere", "m16n8k4.f32.tf32.tf32.f32", "ampere", "mma.m16n8k4.f32.tf32.tf32.f32"),
    ("MMA", "Ampere", "m16n8k8.f32.bf16.bf16.f32", "ampere", "mma.m16n8k8.f32.bf16.bf16.f32"),
    ("MMA", "Ampere", "m16n8k8.f32.f16.f16.f32", "ampere", "mma.m16n8k8.f32.f16.f16.f32"),
    ("MMA", "Ada Lovelace", "m16n8k8.f32.f16.f16.f32", "ada", "mma.m16n8k8.f32.f16.f16.f32"),
    ("MMA", "Ada Lovelace", "m16n8k16.f32.e5m2.e5m2.f32", "ada", "mma.m16n8k16.f32.e5m2.e5m2.f32"),
    ("MMA", "Hopper", "m16n8k8.f32.tf32.tf32.f32", "hopper", "mma.m16n8k8.f32.tf32.tf32.f32"),
    ("MMA", "Hopper", "m16n8k16.f32.bf16.bf16.f32", "hopper", "mma.m16n8k16.f32.bf16.bf16.f32"),
    ("MMA", "Hopper", "m16n8k16.f32.f16.f16.f32", "hopper", "mma.m16n8k16.f32.f16.f16.f32"),
    ("WGMMA", "Hopper", "m64n8k32.f32.e5m2.e5m2", "hopper", "wgmma.m64n8k32.f32.e5m2.e5m2"),
    ("MMA", "Blackwell", "m16n8k16.f32.f16.f16.f32", "blackwell", "mma.m16n8k16.f32.f16.f16.f32"),
    ("TCGen05MMA", "Blackwell", "m128n16k32.kind::f8f6f4.f32.e5m2.e5m2", "blackwell", "tcgen05.m128n16k32.f32.e5m2.e5m2.f32"),
    ("MMA", "RTX Blackwell", "m16n8k8.f32.f16.f16.f32", "blackwell-rtx", "mma.m16n8k8.f32.f16.f16.f32"),
    ("MMA", "RTX Blackwell", "m16n8k16.f32.e5m2.e5m2.f32", "blackwell-rtx", "mma.m16n8k16.f32.e5m2.e5m2.f32"),
    ("MFMA", "CDNA1", "f32_16x16x4f32", "cdna1", "mfma.16x16x4.f32.f32.f32.f32"),
    ("MFMA", "CDNA1", "f32_16x16x16f16", "cdna1", "mfma.16x16x16.f32.f16.f16.f32"),
    ("MFMA", "CDNA1", "f32_16x16x8bf16", "cdna1", "mfma.16x16x8.f32.bf16.bf16.f32"),
    ("MFMA", "CDNA2", "f64_16x16x4f64", "cdna2", "mfma.16x16x4.f64.f64.f64.f64"),
    ("MFMA", "CDNA2", "f32_16x16x16f16", "cdna2", "mfma.16x16x16.f32.f16.f16.f32"),
    ("MFMA", "CDNA2", "f32_16x16x8bf16", "cdna2", "mfma.16x16x8.f32.bf16.bf16.f32"),
    ("MFMA", "CDNA2", "f32_16x16x16bf16_1k", "cdna2", "mfma.16x16x16.f32.bf16.bf16.f32"),
    ("MFMA", "CDNA3", "f32_16x16x8_xf32", "cdna3", "mfma.16x16x8.f32.tf32.tf32.f32"),
    ("MFMA", "CDNA3", "f32_16x16x16_f16", "cdna3", "mfma.16x16x16.f32.f16.f16.f32"),
    ("MFMA", "CDNA3", "f32_16x16x16_bf16", "cdna3", "mfma.16x16x16.f32.bf16.bf16.f32"),
    ("MFMA", "CDNA3", "f32_16x16x32_bf8_bf8", "cdna3", "mfma.16x16x32.f32.e5m2fnuz.e5m2fnuz.f32"),
]


def theirs(kind, architecture, name):
    """Returns MMA-Sim's instruction."""
    return {"MMA": MMA, "WGMMA": WGMMA, "TCGen05MMA": TCGen05MMA, "MFMA": MFMA}[kind](architecture, name)


def tensor(array, kind):
    """Converts an array of values to a PyTorch tensor of the type."""
    return torch.from_numpy(np.array(array, np.float64)).to(kind)


class MmaSimDevice:
    """A tcnum device that executes MMA-Sim's instruction. Among the first `cases` outputs it counts those whose value differs from tcnum's."""

    def __init__(self, own, arithmetic, cases):
        self.own, self.arithmetic, self.left, self.unequal = own, arithmetic, cases, 0

    def device(self):
        return tcnum.device(self.execute, codes=True, name="MMA-Sim", instr=self.arithmetic.instruction)

    def execute(self, *codes):
        # PyTorch views signed integers as other types; a row of A, or a column of B, is the last axis.
        kinds = self.own.a_type, self.own.b_type, self.own.c_type
        a, b, c = (torch.from_numpy(own.view(f"i{own.dtype.itemsize}")).view(kind) for own, kind in zip(codes, kinds))
        rows = a[:, :, None, :].expand(-1, -1, b.shape[-1], -1)
        columns = b.transpose(-1, -2)[:, None].expand(-1, a.shape[1], -1, -1)
        d = self.own.dpa(rows, columns, c).contiguous().numpy()
        if self.left > 0:
            ours = self.arithmetic.execute(*codes)
            self.unequal += int(((ours != d) & ~(np.isnan(ours) & np.isnan(d))).sum())
            self.left -= d.size
        return bits(d)


def bits(array):
    """Views an array as the unsigned codes of its elements."""
    array = np.asarray(array)
    return array.view(f"u{array.dtype.itemsize}")


def discrepancies():
    """Computes the dot product of the paper on every generation; yields tcnum's D and MMA-Sim's D."""
    for row in ROWS:
        kind, architecture, name, model, instruction = row
        ours = float(tcnum.model(model)[instruction].dot(A, B, C))
        other = None
        if torch is not None:
            own = theirs(kind, architecture, name)
            other = own.dpa(tensor(A, own.a_type), tensor(B, own.b_type), tensor(C, own.c_type)).item()
        yield row, ours, other


def verified(cases=20_000):
    """Compares each pair on the cases of `tcnum verify`.

    Yields the pair, the number of outputs, the numbers that differ in a bit and in value (all NaN count as equal, and so do 0 and -0), and
    the simplest mismatch.
    """
    for row in ROWS:
        kind, architecture, name, model, instruction = row
        paired = MmaSimDevice(theirs(kind, architecture, name), tcnum.model(model)[instruction], cases)
        report = tcnum.verify(paired.device(), model, cases=cases)
        found = report["verification"][0]
        first = next(iter(report.tables.get("mismatches", [])), None)
        yield row, found["compared"], found["differing"], paired.unequal, first


def tensors(path):
    """Reads the metadata of a safetensors file and its arrays of codes by name."""
    kinds = {"U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64}
    whole = path.read_bytes()
    begin = 8 + struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:begin])
    metadata, arrays = header.pop("__metadata__"), {}
    for name, told in header.items():
        first, last = (begin + offset for offset in told["data_offsets"])
        arrays[name] = np.frombuffer(whole[first:last], kinds[told["dtype"]]).reshape(told["shape"]).copy()
    return metadata, arrays


def recorded(folder=RECORDINGS):
    """Counts, for the instructions that both have, the outputs recorded on an H200 and those in which tcnum or MMA-Sim differs from it."""
    for path in sorted(folder.glob("*.safetensors")):
        metadata, arrays = tensors(path)
        # Recordings of the same operands store them once.
        if shared := metadata.get("tcnum.inputs"):
            arrays = tensors(folder / shared)[1] | arrays
        instruction = metadata["instruction"]
        family, _, name = instruction.partition(".")
        try:
            own = theirs({"mma": "MMA", "wgmma": "WGMMA"}[family], "Hopper", name)
        except (AssertionError, KeyError):
            continue
        paired, codes, d = MmaSimDevice(own, tcnum.model("hopper")[instruction], 0), [arrays[at] for at in "abc"], arrays["d"]
        yield instruction, d.size, int((paired.arithmetic.execute(*codes, codes=True) != d).sum()), int((paired.execute(*codes) != d).sum())


def errors(n=64, seed=0):
    """Computes FP8 and f16 products of Ada with both; gives mean squared errors and times in seconds."""
    rng = np.random.default_rng(seed)
    x, y = (tcnum.quantise(10 * rng.standard_normal((n, n)), "e5m2").values for _ in range(2))
    exact = x.astype(np.float64) @ y
    for name, of in (("m16n8k16.f32.e5m2.e5m2.f32", "float8_e5m2"), ("m16n8k16.f32.f16.f16.f32", "float16")):
        begin = time.perf_counter()
        ours = tcnum.gemm(x, y, device="model:ada", instr=f"mma.{name}").values
        took, other, other_took = time.perf_counter() - begin, None, None
        if torch is not None:
            own = MMA("Ada Lovelace", name)
            a, b = (tensor(operand, getattr(torch, of)) for operand in (x, y))
            d = torch.zeros(n, n)
            begin = time.perf_counter()
            for i in range(0, n, 16):
                for j in range(0, n, 8):
                    for k in range(0, n, 16):
                        d[i : i + 16, j : j + 8] = own(a[i : i + 16, k : k + 16], b[k : k + 16, j : j + 8], d[i : i + 16, j : j + 8])
            other, other_took = d.numpy(), time.perf_counter() - begin
        yield name, np.square(ours - exact).mean(), ours, other, took, other_took


def speed(count=20_000, seed=0):
    """Measures dot-product-adds per second, with many cases in one call."""
    rng = np.random.default_rng(seed)
    name = "m16n8k16.f32.f16.f16.f32"
    m = tcnum.model("hopper")[f"mma.{name}"]
    a, b = rng.standard_normal((2, count, 16)).astype(np.float16)
    c = rng.standard_normal(count).astype(np.float32)
    calls = {"tcnum": lambda: m.dot(a, b, c)}
    if torch is not None:
        own, operands = MMA("Hopper", name), [torch.from_numpy(operand) for operand in (a, b, c)]
        calls["MMA-Sim"] = lambda: own.dpa(*operands)
    for who, call in calls.items():
        least = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            call()
            least = min(least, time.perf_counter() - begin)
        yield who, count / least


def main():
    if torch is None:
        print(f"MMA-Sim cannot be imported ({MISSING}): only tcnum is run.\n")
    print("One dot product, 2^23 - 2^23 - 0.5 - 0.25 - 0.125\n")
    print(f"{'instruction':44} {'model':14} {'tcnum':>8} {'MMA-Sim':>8}")
    for (_, _, _, model, instruction), ours, other in discrepancies():
        print(f"{instruction:44} {model:14} {ours:8} {'' if other is None else other:>8}")
    if torch is not None:
        print("\nThe cases of tcnum verify\n")
        print(f"{'instruction':44} {'model':14} {'outputs':>8} {'differ':>8} {'in value':>8}")
        for (_, _, _, model, instruction), count, wrong, unequal, first in verified():
            print(f"{instruction:44} {model:14} {count:8,} {wrong:8,} {unequal:8,}")
            if first is not None:
                print(f"    {first['signature']}: {first['operands']}: MMA-Sim {first['device_d']}, tcnum {first['model_d']}")
        print("\nCompared with results recorded on an H200\n")
        print(f"{'instruction':44} {'outputs':>8} {'tcnum':>8} {'MMA-Sim':>8} differ")
        for instruction, count, ours, other in recorded():
            print(f"{instruction:44} {count:8,} {ours:8,} {other:8,}")
    print("\nMean squared error of a product of 64 x 64 x 64\n")
    for name, error, ours, other, took, other_took in errors():
        same = "" if other is None else f", MMA-Sim in {other_took:.2f} s; the same bits: {np.array_equal(bits(ours), bits(other))}"
        print(f"{name:28} {error:10.3e}, in {took:.4f} s{same}")
    print("\nDot-product-adds per second\n")
    for who, rate in speed():
        print(f"{who:8} {rate:14,.0f}")


if __name__ == "__main__":
    main()
