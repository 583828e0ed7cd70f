#!/usr/bin/env python3
"""A program for `tcnum ... --device exec:'python3 sequential.py'`: dense mma.sync on f16, bf16 and f32, in plain Python.

A template. Replace `dot` by a call of your simulator, your GPU or your model; docs/exec.md describes the protocol. `tcnum exec-check
python3 sequential.py` checks the result.

Its arithmetic: every product and the sum with c are exact, rounded once to binary64 and then to the format of D, ties to
even.
"""

import json
import math
import struct
import sys

# For each format: bytes of a code, its letter for `struct`, and the functions from a code to a number and back.
FORMATS = {}


def bits(letter, code, other):
    """`code`, packed as `letter`, read as `other`."""
    return struct.unpack(f"<{other}", struct.pack(f"<{letter}", code))[0]


def rounded(letter, value):
    """Nearest number of a format of `struct`; an infinity beyond its range."""
    try:
        return struct.unpack(f"<{letter}", struct.pack(f"<{letter}", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def bf16_code(value):
    code = bits("f", rounded("f", value), "I")
    if math.isnan(value):
        return 0x7FFF
    return (code + 0x7FFF + (code >> 16 & 1)) >> 16


FORMATS["f32"] = (4, "I", lambda code: bits("I", code, "f"), lambda value: bits("f", rounded("f", value), "I"))
FORMATS["f16"] = (2, "H", lambda code: bits("H", code, "e"), lambda value: bits("e", rounded("e", value), "H"))
FORMATS["bf16"] = (2, "H", lambda code: bits("I", code << 16, "f"), bf16_code)


def dot(a, b, c):
    """One element of D, c + sum of a[j] * b[j], as a number."""
    terms = [x * y for x, y in zip(a, b)] + [c]
    if not all(map(math.isfinite, terms)):
        return sum(terms)
    return math.fsum(terms)


def refusal(offer):
    """Reason why the instruction cannot be executed; None if it can."""
    if not offer["instruction"].startswith("mma.sync."):
        return f"{offer['instruction']} is not mma.sync"
    if offer["scale"] is not None or offer["sparse"] is not None:
        return "neither block scales nor sparse operands are implemented"
    unknown = [offer[operand] for operand in "abcd" if offer[operand] not in FORMATS]
    return f"the formats {', '.join(unknown)} are not implemented" if unknown else None


def read(count):
    """Reads `count` bytes; ends the session at the end of the input."""
    data = sys.stdin.buffer.read(count)
    if len(data) != count:
        sys.exit(0 if not data else "the input ended within a batch")
    return data


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def numbers(name, count):
    """The next `count` codes, as numbers."""
    width, letter, decode, _ = FORMATS[name]
    return [decode(code) for code in struct.unpack(f"<{count}{letter}", read(count * width))]


def main():
    offer = json.loads(sys.stdin.buffer.readline())
    why = refusal(offer)
    if why is not None:
        write(json.dumps({"protocol": 2, "ok": False, "error": why}).encode() + b"\n")
        return
    write(json.dumps({"protocol": 2, "ok": True, "name": "exact sums in Python"}).encode() + b"\n")
    m, n, k = offer["m"], offer["n"], offer["k"]
    _, letter, _, encode = FORMATS[offer["d"]]
    while tiles := struct.unpack("<I", read(4))[0]:
        a = numbers(offer["a"], tiles * m * k)
        b = numbers(offer["b"], tiles * k * n)
        c = numbers(offer["c"], tiles * m * n)
        d = []
        for tile in range(tiles):
            for row in range(m):
                of_a = a[(tile * m + row) * k:(tile * m + row + 1) * k]
                for column in range(n):
                    of_b = b[tile * k * n + column:(tile + 1) * k * n:n]
                    d.append(encode(dot(of_a, of_b, c[(tile * m + row) * n + column])))
        write(struct.pack(f"<{len(d)}{letter}", *d))


main()
