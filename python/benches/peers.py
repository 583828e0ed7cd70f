"""Compares rates with those of other packages, on the same operands, in turns, on one thread.

usage: python python/benches/peers.py [--seconds SECONDS]

The packages are ml_dtypes, gfloat, torchao, gguf and MMA-Sim (pip install ml_dtypes gfloat torchao gguf mmasim ninja). One that is missing is left
out, with a line that says so. A rate is that of the fastest call in SECONDS (default 2).
"""

import argparse
import os
import sys

for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402 (after the number of threads)
from rates import best  # noqa: E402

import tcnum  # noqa: E402

LENGTH = 1 << 22  # 16 MiB of f32
ROW = 4096
CASES = 20_000
TURNS = 4
INSTRUCTION = "mma.m16n8k16.f32.f16.f16.f32"


def compare(task, peer, amount, unit, ours, theirs, seconds):
    """Prints both rates and their ratio."""
    times = [(best(ours, seconds / TURNS), best(theirs, seconds / TURNS)) for _ in range(TURNS)]
    own, other = (min(column) for column in zip(*times))
    print(f"{task:32} {peer:10} {amount / own:12.4g} {amount / other:12.4g} {other / own:8.1f}  {unit}", flush=True)


def with_ml_dtypes(values, seconds):
    import ml_dtypes

    for name, dtype in (("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2), ("e2m1", ml_dtypes.float4_e2m1fn), ("bf16", ml_dtypes.bfloat16)):
        theirs = values.astype(dtype)
        ours = tcnum.encode(values, name)
        assert np.array_equal(ours, theirs.view(ours.dtype)), name
        compare(f"f32 to {name}", "ml_dtypes", values.nbytes / 1e9, "GB/s of f32", lambda: tcnum.encode(values, name), lambda: values.astype(dtype), seconds)
        compare(f"{name} to f32", "ml_dtypes", values.nbytes / 1e9, "GB/s of f32", lambda: tcnum.decode(ours, name), lambda: theirs.astype(np.float32), seconds)


def with_gfloat(values, seconds):
    import gfloat
    import gfloat.formats

    few = values[: 1 << 20]
    wide = few.astype(np.float64)
    for name, info in (("e4m3", gfloat.formats.format_info_ocp_e4m3), ("e2m1", gfloat.formats.format_info_ocp_e2m1)):
        def theirs():
            return gfloat.round_ndarray(info, wide)

        def ours():
            return tcnum.decode(tcnum.encode(few, name, overflow="saturate"), name)

        numbers = np.abs(few) <= info.max
        assert np.array_equal(ours()[numbers], theirs()[numbers]), name
        compare(f"rounded to {name}", "gfloat", few.nbytes / 1e9, "GB/s of f32", ours, theirs, seconds)


def with_torchao(values, seconds):
    import torch
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize

    torch.set_num_threads(1)
    rows = torch.from_numpy(values.reshape(-1, ROW))
    for name, theirs in (
        ("mxfp4", lambda: to_mx(rows, torch.float4_e2m1fn_x2, 32)),
        ("mxfp8-e4m3", lambda: to_mx(rows, torch.float8_e4m3fn, 32)),
        ("nvfp4", lambda: nvfp4_quantize(rows, 16)),
    ):
        compare(f"f32 to {name} (and the error)", "torchao", values.nbytes / 1e9, "GB/s of f32", lambda: tcnum.quantise(values, name), theirs, seconds)


def with_gguf(values, seconds):
    import gguf

    rows = values.reshape(-1, ROW)
    for name, kind in (("q8-0", "Q8_0"), ("q4-0", "Q4_0"), ("mxfp4", "MXFP4")):
        kind = gguf.GGMLQuantizationType[kind]
        compare(
            f"f32 to {name} (and the error)",
            "gguf",
            values.nbytes / 1e9,
            "GB/s of f32",
            lambda: tcnum.quantise(values, name),
            lambda: gguf.quants.quantize(rows, kind),
            seconds,
        )


def with_mma_sim(values, seconds):
    import torch
    from mmasim.nv_ptx.sim import MMA

    torch.set_num_threads(1)
    own, other = tcnum.model("hopper")[INSTRUCTION], MMA("Hopper", "m16n8k16.f32.f16.f16.f32")
    a, b = (values[at * 16 * CASES :][: 16 * CASES].astype(np.float16).reshape(CASES, 16) for at in (0, 1))
    c = values[-CASES:].copy()
    tensors = [torch.from_numpy(array) for array in (a, b, c)]
    codes = [a.view(np.uint16), b.view(np.uint16), c.view(np.uint32)]
    assert np.array_equal(own.dot(*codes), other.dpa(*tensors).numpy())
    compare(
        "dot-product-adds, f16, k = 16", "MMA-Sim", CASES / 1e6, "million/s", lambda: own.dot(*codes), lambda: other.dpa(*tensors), seconds
    )


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=2.0)
    asked = asked.parse_args()
    values = np.random.default_rng(1).standard_normal(LENGTH).astype(np.float32)
    print(f"{'task':32} {'peer':10} {'tcnum':>12} {'peer':>12} {'ratio':>8}")
    for peer in (with_ml_dtypes, with_gfloat, with_torchao, with_gguf, with_mma_sim):
        try:
            peer(values, asked.seconds)
        except (ImportError, RuntimeError) as error:  # MMA-Sim compiles a part of itself on import.
            print(f"left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
