"""Whole matrix products as an exec: device: each sum is a chain of fused multiply-adds in f32 from the largest k down to 0.

They are computed in fractions, each rounded once. For tests of `gemm between`. With --two the first four columns are summed from k = 0 on.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "gemm"))

from fractions import Fraction

import protocol


def rounded(x):
    """The f32 nearest to a fraction, ties to even."""
    if x == 0:
        return Fraction(0)
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, -126) - 23)
    return round(x / quantum) * quantum


def product(a, b):
    numpy = protocol.numpy
    rows = [[Fraction(float(x)) for x in row] for row in a]
    columns = [[Fraction(float(x)) for x in column] for column in b.T]
    d = numpy.zeros((len(rows), len(columns)), numpy.float32)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            total = Fraction(0)
            terms = list(zip(row, column))
            for x, y in terms if j < 4 and "--two" in sys.argv else reversed(terms):
                if x and y:
                    total = rounded(x * y + total)
            d[i, j] = float(total)
    return d


if __name__ == "__main__":
    protocol.run("chains of fused multiply-adds", product)
