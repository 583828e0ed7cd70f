"""A unit that rounds at random, as an exec: device: f16 operands, exact sums, stochastic rounding to f32.

Its random numbers begin anew with each session, so that the same tiles in the same order give the same outputs. It keeps to version 2 of the
protocol where it can, and declines without saying so: it takes what an older greeting offers, which has no name, by its formats alone.
MODEL is the model that its greeting names; BITS are the random bits of a rounding (53 without them).

    python3 stochastic.py [MODEL BITS]
"""

import json
import math
import random
import struct
import sys

MODEL, BITS = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else (None, 53)


def read(count):
    data = sys.stdin.buffer.read(count)
    if len(data) != count:
        sys.exit(0)
    return data


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def neighbours(x):
    """The f32 numbers around a finite number: the nearest, and the one on the other side."""
    nearest = struct.unpack("<f", struct.pack("<f", x))[0]
    code = struct.unpack("<i", struct.pack("<f", nearest))[0]
    return nearest, struct.unpack("<f", struct.pack("<i", code + (1 if abs(nearest) < abs(x) else -1)))[0]


def rounded(x, chance):
    if math.isnan(x):
        return math.nan
    if x == 0 or not math.isfinite(x) or abs(x) >= 2.0 ** 127:
        return x
    nearest, other = neighbours(x)
    if x == nearest:
        return nearest
    inner, outer = sorted([nearest, other], key=abs)
    distance = (x - inner) / (outer - inner)
    return outer if math.floor(distance * 2.0 ** BITS) + chance.getrandbits(BITS) >= 2 ** BITS else inner


def main():
    offer = json.loads(sys.stdin.buffer.readline())
    formats = [offer[operand] for operand in "abcd"] == ["f16", "f16", "f32", "f32"] and not (offer["sparse"] or offer["scale"])
    if not formats or not offer.get("name", "mma").startswith("mma"):
        write(b'{"ok":false}\n')
        return
    named = {"model": MODEL} if MODEL else {}
    write(json.dumps({"protocol": 2, "ok": True, "name": "stochastic rounding", **named}).encode() + b"\n")
    chance = random.Random(1)
    m, n, k = offer["m"], offer["n"], offer["k"]
    while tiles := struct.unpack("<I", read(4))[0]:
        a = struct.unpack(f"<{tiles * m * k}e", read(tiles * m * k * 2))
        b = struct.unpack(f"<{tiles * k * n}e", read(tiles * k * n * 2))
        c = struct.unpack(f"<{tiles * m * n}f", read(tiles * m * n * 4))
        d = []
        for tile in range(tiles):
            for row in range(m):
                of_a = a[(tile * m + row) * k:(tile * m + row + 1) * k]
                for column in range(n):
                    of_b = b[tile * k * n + column:(tile + 1) * k * n:n]
                    terms = [x * y for x, y in zip(of_a, of_b)] + [c[(tile * m + row) * n + column]]
                    total = math.fsum(terms) if all(map(math.isfinite, terms)) else sum(terms)
                    d.append(rounded(total, chance))
        write(struct.pack(f"<{len(d)}f", *d))


main()
