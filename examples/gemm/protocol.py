"""The exec protocol for programs that compute whole matrix products, D = A*B + C, in NumPy's terms.

A program calls run(name, product) with a function that multiplies two matrices (m x k, k x n).
docs/exec.md describes the protocol.
"""

import json
import struct
import sys

try:
    import numpy
except ImportError:
    numpy = None

FORMATS = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


def offer(answer):
    print(json.dumps({"protocol": 2, **answer}), flush=True)


def decline(why):
    offer({"ok": False, "error": why})
    sys.exit(0)


def run(name, product, formats=("f32", "f64"), missing=None):
    """Speaks the protocol: `product` multiplies two matrices of one of `formats`; `missing` is a reason to decline."""
    greeting = json.loads(sys.stdin.buffer.readline())
    m, n, k = (greeting[key] for key in "mnk")
    used = {greeting[key] for key in "abcd"}
    if missing:
        decline(missing)
    if numpy is None:
        decline("NumPy is not installed (pip install numpy)")
    if greeting["instruction"] != "gemm":
        decline("it computes matrix products (gemm.mMnNkK.FORMAT), not instructions")
    if len(used) != 1 or not used <= set(formats):
        decline("A, B, C and D must have one format: " + ", ".join(formats))
    kind = numpy.dtype(FORMATS[used.pop()])
    offer({"ok": True, "name": name})
    stream = sys.stdin.buffer

    def operand(tiles, rows, columns):
        count = tiles * rows * columns
        data = stream.read(count * kind.itemsize)
        return numpy.frombuffer(data, kind, count).reshape(tiles, rows, columns)

    while True:
        head = stream.read(4)
        tiles = struct.unpack("<I", head)[0] if len(head) == 4 else 0
        if tiles == 0:
            return
        a, b, c = operand(tiles, m, k), operand(tiles, k, n), operand(tiles, m, n)
        d = numpy.empty((tiles, m, n), kind)
        with numpy.errstate(all="ignore"):
            for tile in range(tiles):
                d[tile] = product(a[tile], b[tile]) + c[tile]
        sys.stdout.buffer.write(d.tobytes())
        sys.stdout.buffer.flush()
