"""What the tables do not vary: c0 rounded to the operand format, and the signs of the two terms.

Prints, for d0 = a0*b0 + c0 with init low, the mean error to f32 on the CPU under a fused sum that is cut to F bits after the
point of the larger term and truncated to 24 significand bits; and how often samples of N products would have means as far
from the expectation as the printed ones of table 12. It shares no code with tcnum. Standard library only.
"""

import math
import random
import struct

SAMPLES = 200_000


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def nearest(x, bits):
    m, e = math.frexp(x)
    return math.ldexp(round(math.ldexp(m, bits)), e - bits)


def fused(product, exponent, c, width):
    top = max(exponent, math.frexp(c)[1] - 1)
    units = math.trunc(math.ldexp(product, width - top)) + math.trunc(math.ldexp(c, width - top))
    m, e = math.frexp(math.ldexp(units, top - width))
    return math.ldexp(math.trunc(math.ldexp(m, 24)), e - 24)


def accumulate(bits, width, round_c):
    source, totals = random.Random(1), {True: [0, 0.0, 0], False: [0, 0.0, 0]}
    for _ in range(SAMPLES):
        a, b, c = (f32(source.gauss(0, 1)) for _ in range(3))
        a, b = nearest(a, bits), nearest(b, bits)
        c = nearest(c, bits) if round_c else c
        exponent = math.frexp(a)[1] + math.frexp(b)[1] - 2
        error = abs(fused(a * b, exponent, c, width) - f32(f32(a * b) + c))
        total = totals[(a * b < 0) == (c < 0)]
        total[0], total[1], total[2] = total[0] + 1, total[1] + error, total[2] + (error != 0)
    (n, s, x), (m, t, y) = totals[True], totals[False]
    return f"mean {(s + t) / SAMPLES:.2e}, unequal {(x + y) / SAMPLES:.2%}; same signs {s / n:.2e}, opposite {t / m:.2e}"


def sample_means(samples):
    source, trials, below = random.Random(2), 400_000 // samples, 0
    for _ in range(trials):
        total = 0.0
        for _ in range(samples):
            a, b, x, y = (f32(source.gauss(0, 1)) for _ in range(4))
            total += abs(nearest(a, 8) * nearest(b, 8) + nearest(x, 8) * nearest(y, 8) - a * b - x * y)
        below += total / samples <= 1.725e-3
    return f"{below} of {trials}"


for name, bits in (("bf16", 8), ("f16, tf32", 11)):
    for width, chip in ((24, "Ampere"), (25, "Hopper")):
        for round_c in (False, True):
            print(f"{name}, F = {width} ({chip}), c0 in {'operand format' if round_c else 'f32'}: {accumulate(bits, width, round_c)}")
for samples in (50, 100, 200, 500, 1000):
    print(f"bf16, inner product, init fp32: means of {samples} samples at or below the printed 1.72E-03: {sample_means(samples)}")
