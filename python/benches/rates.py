"""Compares the rates of calls from Python with the rates of the library alone, on the same operands, in turns.

usage: python python/benches/rates.py [--seconds SECONDS] [--rust PROGRAM]

A rate is that of the fastest call. A ratio compares two calls of one turn; the median over the turns is printed. RAYON_NUM_THREADS sets the
number of cores (default 1) and SECONDS the time of each measurement (default 4). PROGRAM measures the library and is built by
`cargo build --profile wheel -p tcnum-python --example rates`. Without it only calls from Python are measured.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np  # noqa: E402 (after the number of threads)

import tcnum  # noqa: E402

LENGTH = 16 << 20  # 64 MiB of f32
CASES = 10**6
TURNS = 8
INSTRUCTIONS = (
    ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
    ("ampere", "mma.m16n8k16.f32.f16.f16.f32"),
    ("hopper", "mma.m16n8k16.f32.bf16.bf16.f32"),
    ("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"),
)


def best(work, seconds):
    """Returns the shortest time, in seconds, that the work took."""
    end, least = time.perf_counter() + seconds, float("inf")
    while True:
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
        if time.perf_counter() > end:
            return least


class Rates:
    """Measures rates and prints a line for each."""

    def __init__(self, seconds, program, folder):
        self.seconds = seconds / TURNS
        self.folder = pathlib.Path(folder)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.rust = subprocess.Popen([program], **pipes) if program else None

    def file(self, name, array):
        """Writes the elements of an array to a file and returns its path."""
        path = self.folder / name
        array.tofile(path)
        return path

    def ask(self, words):
        """The least time that the library takes."""
        print(*words, self.seconds, sep="\t", file=self.rust.stdin, flush=True)
        answer = self.rust.stdout.readline()
        if not answer:
            raise SystemExit(f"the library's side ended with {self.rust.wait()}")
        return float(answer)

    def rate(self, title, work, words, amount, unit):
        """Prints how much there is of it in a second, with what the library's side is asked."""
        both = self.rust is not None and words is not None
        turns = [(best(work, self.seconds), self.ask(words) if both else None) for _ in range(TURNS)]
        ours = min(own for own, _ in turns)
        line = f"{title:58} {amount / ours:7.1f}"
        if both:
            ratio = statistics.median(theirs / own for own, theirs in turns)
            line += f" {amount / min(theirs for _, theirs in turns):7.1f} {ratio:6.2f}"
        print(f"{line}  {unit}", flush=True)


def arrays(rates, rng):
    values = rng.standard_normal(LENGTH).astype(np.float32)
    file, gigabytes = rates.file("values", values), values.nbytes / 1e9
    for name in ("e4m3", "e2m1", "bf16"):
        codes, back = np.zeros(LENGTH, f"u{tcnum.formats[name].bytes}"), np.zeros(LENGTH, np.float32)
        words = ("encode", name, file)
        rates.rate(f"encode to {name}, into an array", lambda: tcnum.encode(values, name, out=codes), words, gigabytes, "GB/s of f32")
        rates.rate(f"encode to {name}, into a new array", lambda: tcnum.encode(values, name), None, gigabytes, "GB/s of f32")
        words = ("decode", name, rates.file("codes", codes))
        rates.rate(f"decode from {name}, into an array", lambda: tcnum.decode(codes, name, out=back), words, gigabytes, "GB/s of f32")
    for name in ("mxfp4", "nvfp4"):
        rates.rate(f"quantise to {name}", lambda: tcnum.quantise(values, name), ("quantise", name, file), gigabytes, "GB/s of f32")


def cases(rates, rng):
    for model, name in INSTRUCTIONS:
        own = tcnum.model(model)[name]
        i = own.instruction
        for title, lead, method, turned in (
            ("dot", (CASES,), own.dot, False),
            ("execute", (CASES // (i.m * i.n), i.m, i.n), own.execute, True),
        ):
            shapes = {"a": (*lead[:2], i.k), "b": (lead[0], i.k, *lead[2:]), "c": lead}
            formats = {"a": i.a, "b": i.b, "c": i.c}
            given = {at: tcnum.encode(rng.standard_normal(shapes[at]).astype(np.float32), formats[at]) for at in shapes}
            words = (title, model, name, *(rates.file(at, own) for at, own in given.items()))
            work = lambda: method(*given.values())  # noqa: E731
            rates.rate(f"{title}, {model} {name}", work, words, int(np.prod(lead)) / 1e6, "million/s")


def calls():
    one, room = np.ones(1, np.float32), np.zeros(1, np.uint8)
    took = best(lambda: [tcnum.encode(one, "e4m3", out=room) for _ in range(1000)], 1)
    print(f"what a call adds: {took * 1000:.1f} microseconds (encode of one value)")
    code = "import time; t = time.perf_counter(); import tcnum; print(time.perf_counter() - t)"
    imports = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(10)]
    print(f"import tcnum: {min(imports) * 1000:.1f} ms")


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--seconds", type=float, default=4.0)
    asked.add_argument("--rust", metavar="PROGRAM")
    asked = asked.parse_args()
    rng = np.random.default_rng(0)
    print(f"{os.environ['RAYON_NUM_THREADS']} thread(s), 64 MiB of f32, {CASES:,} cases{' ' * 21} Python    Rust  ratio")
    with tempfile.TemporaryDirectory() as folder:
        rates = Rates(asked.seconds, asked.rust, folder)
        arrays(rates, rng)
        cases(rates, rng)
    calls()


if __name__ == "__main__":
    main()
