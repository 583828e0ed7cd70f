#!/usr/bin/env python3
"""A program for `tcnum ... --device exec:'python3 rdna4.py'`: the WMMA of AMD RDNA 4 (gfx1201), in integers.

It follows `gfx12_dot.h` of the emulator rocjitsu (ROCm/rocm-systems), which was compared with a gfx1201, not the model file
`models/rdna4.toml`, so that the two can be compared. It describes one step of two products (V_DOT2) or four. A WMMA on f16 or bf16 is a chain of
four steps. A wave of 32 lanes takes k = 0 to 3, 8 to 11, 4 to 7, 12 to 15; a wave of 64 (a name that ends in `.w64`) ascends.
For FP8 only V_DOT4 is published; that WMMA is a chain of it is this program's assumption.
"""

from exact import session
from rdna3 import FACTOR_NAN, INVALID_NAN, Number, Product, accumulator, encoded, leading, narrowed, special

FP8 = ("e4m3", "e5m2")


def floored(negative, magnitude, places):
    """A signed number * 2^places, rounded down to an integer."""
    signed = -magnitude if negative else magnitude
    return signed << places if places >= 0 else signed >> -places


def dot4(of_a, of_b, result, a, b, code):
    """c + the sum of four products, or of two of 16 bits; codes in, code out."""
    bytewide = of_a in FP8
    products = [Product(Number(of_a, x), Number(of_b, y)) for x, y in zip(a, b)]
    c = accumulator(result, code, False)
    found = special(products, c, FACTOR_NAN if bytewide else INVALID_NAN)
    if found is not None:
        return narrowed(result, found)
    smallest = -14 if result == "f16" else -126
    # Neighbours share a grid: two of 16 bits, four of 8 bits.
    size, sums = (4 if bytewide else 2), []
    for at in range(0, 4, size):
        group = products[at:at + size]
        exponents = [p.exponent for p in group if p.magnitude]
        if exponents:
            unit = max(exponents) - 24
            sums.append((sum(floored(p.negative, p.magnitude, p.unit - unit) for p in group), unit))
    exponent = max(smallest, leading(c.magnitude, c.unit) if c.magnitude else smallest)
    unit = max([exponent - 26] + [unit for _, unit in sums])
    total = sum(floored(value < 0, abs(value), of - unit) for value, of in sums)
    # A c below the grid is dropped, unless the grid is so fine that only a subnormal c can be.
    if unit <= smallest or c.magnitude and leading(c.magnitude, c.unit) >= unit:
        total += floored(c.negative, c.magnitude, c.unit - unit)
    if result == "bf16":
        return encoded("f32", total < 0, abs(total), unit, True) >> 16
    return encoded(result, total < 0, abs(total), unit, True)


def chain(offer, a, b, c):
    """One element of D of a WMMA."""
    starts = list(range(0, len(a), 4))
    if len(a) == 16 and not offer["name"].endswith(".w64") and offer["a"] not in FP8:
        starts = [0, 8, 4, 12]
    for k in starts:
        c = dot4(offer["a"], offer["b"], offer["d"], a[k:k + 4], b[k:k + 4], c)
    return c


def dot_of(offer):
    """The function of an instruction; None where it is another one."""
    a, b, c, d = (offer[operand] for operand in "abcd")
    is_dense = offer["scale"] is None and (offer["k"] == 2 or offer["k"] % 4 == 0)
    if not offer["instruction"].startswith(("v_wmma_", "v_dot2_", "v_dot4_")) or not is_dense:
        return None
    known = [("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("bf16", "bf16")]
    if c != d or not (a in FP8 and b in FP8 and d == "f32" or a == b and (a, d) in known):
        return None
    return lambda row, column, addend: chain(offer, row, column, addend)


if __name__ == "__main__":
    session("published WMMA of RDNA 4", "rdna4", dot_of)
