"""The rates of calls from Python: bytes of f32, and dot-product-adds, a second; each the best of some repetitions.

usage: python python/benches/rates.py [SECONDS FOR EACH]

RAYON_NUM_THREADS says on how many cores (1 without it).
"""

import os
import subprocess
import sys
import time

os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np  # noqa: E402 (after the number of threads)

import tcnum  # noqa: E402

LENGTH = 16 << 20  # 64 MiB of f32


def best(work, seconds):
    """The least time that the work takes."""
    end, least = time.perf_counter() + seconds, float("inf")
    while True:
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
        if time.perf_counter() > end:
            return least


def main(seconds):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(LENGTH).astype(np.float32)
    print(f"{os.environ['RAYON_NUM_THREADS']} thread(s), 64 MiB of f32")
    for name in ("e4m3", "e2m1", "bf16"):
        room = np.zeros(LENGTH, f"u{tcnum.formats[name].bytes}")
        kept, own = best(lambda: tcnum.encode(values, name, out=room), seconds), best(lambda: tcnum.encode(values, name), seconds)
        print(f"encode to {name:8} {values.nbytes / kept / 1e9:8.1f} GB/s into an array, {values.nbytes / own / 1e9:6.1f} into a new one")
        back = np.zeros(LENGTH, np.float32)
        took = best(lambda: tcnum.decode(room, name, out=back), seconds)
        print(f"decode from {name:6} {values.nbytes / took / 1e9:8.1f} GB/s into an array")
    for name in ("mxfp4", "nvfp4"):
        took = best(lambda: tcnum.quantise(values, name), seconds)
        print(f"quantise to {name:6} {values.nbytes / took / 1e9:8.1f} GB/s")

    one, room = np.ones(1, np.float32), np.zeros(1, np.uint8)
    took = best(lambda: [tcnum.encode(one, "e4m3", out=room) for _ in range(1000)], seconds)
    print(f"what a call adds: {took * 1000:.1f} microseconds (encode of one value)")

    count = 10**6
    for model, name in (
        ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
        ("ampere", "mma.m16n8k16.f32.f16.f16.f32"),
        ("hopper", "mma.m16n8k16.f32.bf16.bf16.f32"),
    ):
        own = tcnum.model(model)[name]
        i = own.instruction
        a, b = (tcnum.encode(rng.standard_normal((count, i.k)).astype(np.float32), of) for of in (i.a, i.b))
        c = rng.standard_normal(count).astype(np.float32)
        took = best(lambda: own.dot(a, b, c), seconds)
        print(f"dot of {count:,} cases, {model} {name}: {count / took / 1e6:6.1f} million/s")
        tiles = count // (i.m * i.n)
        x, y = (tcnum.encode(rng.standard_normal(shape).astype(np.float32), of)
                for shape, of in (((tiles, i.m, i.k), i.a), ((tiles, i.k, i.n), i.b)))
        took = best(lambda: own.execute(x, y), seconds)
        print(f"execute of {tiles:,} tiles, {model} {name}: {tiles * i.m * i.n / took / 1e6:6.1f} million/s")

    code = "import time; t = time.perf_counter(); import tcnum; print(time.perf_counter() - t)"
    imports = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(10)]
    print(f"import tcnum: {min(imports) * 1000:.1f} ms")


main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
