"""Times conversions by numpy, ml_dtypes and what there is of block quantisation in Python, on one thread.

usage: python3 slices.py ELEMENTS

Prints a line for each: task, program, GB of f32 a second, separated by tabs. Each task runs for about half a second, and
its fastest run counts.
"""

import os
import sys
import time

# Before numpy and its like are imported: one thread, as the other side has.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import ml_dtypes
import numpy

ELEMENTS = int(sys.argv[1])
ROW = 4096
FORMATS = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "bf16": ml_dtypes.bfloat16,
    "f16": numpy.float16,
}


def report(task, program, run):
    run()
    fastest, end = float("inf"), time.perf_counter() + 0.5
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        fastest = min(fastest, time.perf_counter() - start)
    print(task, program, f"{4e-9 * ELEMENTS / fastest:.4f}", sep="\t", flush=True)


def attempt(program, benchmark):
    try:
        benchmark()
    except ImportError as error:
        print(f"{program} is left out: {error}", file=sys.stderr)


values = numpy.random.default_rng(1).standard_normal(ELEMENTS, dtype=numpy.float32)
for name, dtype in FORMATS.items():
    codes = values.astype(dtype)
    report(f"f32 to {name}", "ml_dtypes", lambda: values.astype(dtype))
    report(f"{name} to f32", "ml_dtypes", lambda: codes.astype(numpy.float32))


def with_ml_dtypes():
    """MX 1.0, 6.3, as numpy has it in the fewest passes: scales from the exponents, elements by ml_dtypes."""

    def quantise():
        blocks = values.reshape(-1, 32)
        largest = (blocks.view(numpy.uint32) & 0x7FFFFFFF).max(axis=1)
        exponent = numpy.maximum((largest >> 23).astype(numpy.int32) - 2, 0)
        # 2^-(exponent - 127) as the bits of an f32; elements of a normal distribution stay clear of its ends.
        factor = ((254 - exponent).astype(numpy.uint32) << 23).view(numpy.float32)
        return exponent.astype(numpy.uint8), (blocks * factor[:, None]).astype(ml_dtypes.float4_e2m1fn)

    report("f32 to mxfp4", "numpy and ml_dtypes", quantise)


def with_gguf():
    import gguf

    kind = gguf.GGMLQuantizationType.MXFP4
    rows = values.reshape(-1, ROW)
    report("f32 to mxfp4", "gguf", lambda: gguf.quants.quantize(rows, kind))


def with_mlx():
    import mlx.core

    mlx.core.set_default_device(mlx.core.cpu)
    rows = mlx.core.array(values.reshape(-1, ROW))
    for name in ("mxfp4", "nvfp4"):
        packed, scales = mlx.core.quantize(rows, mode=name)
        mlx.core.eval(packed, scales)
        report(f"f32 to {name}", "mlx", lambda: mlx.core.eval(mlx.core.quantize(rows, mode=name)))
        report(f"{name} to f32", "mlx", lambda: mlx.core.eval(mlx.core.dequantize(packed, scales, mode=name)))


def with_torchao():
    import torch
    from torchao.prototype.mx_formats.mx_tensor import to_mx

    torch.set_num_threads(1)
    rows = torch.from_numpy(values.reshape(-1, ROW))
    report("f32 to mxfp4", "torchao", lambda: to_mx(rows, torch.float4_e2m1fn_x2, 32))


attempt("numpy and ml_dtypes", with_ml_dtypes)
attempt("gguf", with_gguf)
attempt("mlx", with_mlx)
attempt("torchao", with_torchao)
