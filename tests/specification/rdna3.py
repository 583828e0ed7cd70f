#!/usr/bin/env python3
"""A program for `tcnum ... --device exec:'python3 rdna3.py'`: the WMMA of AMD RDNA 3 (gfx11) on f16 and bf16, in integers.

It follows what is published on this hardware, not the model file `models/rdna3.toml`, so that the two can be compared:

- ROCm/rocm-systems issue 12056 (gfx1151): the alignment, the frame of signs, negation by flipped bits, flushed bf16 operands;
- the emulator rocjitsu of the same repository, `gfx11_dot2.h` (gfx1100): the same with NaNs, signs of zeros and results of 16 bits.

Both describe one step, V_DOT2: c + a0*b0 + a1*b1. A WMMA is a chain of such steps over the pairs of k, in ascending order.
The k of the instruction is any even number.
"""

from exact import session

# Exponent bits and fraction bits of a format.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2)}
# NaN of a NaN among the factors, and of an invalid operation.
FACTOR_NAN, INVALID_NAN = 0xFFC00A3D, 0xFFC00000
FACTOR_NAN_16 = {"f16": 0xFE3D, "bf16": 0xFFFD}


class Number:
    """A code, taken apart: magnitude * 2^unit with a sign, and the exponent that alignment sees."""

    def __init__(self, name, code, flushed=False):
        exponents, self.fraction = FORMATS[name]
        top, bias = (1 << exponents) - 1, (1 << exponents - 1) - 1
        rest, field = code & (1 << self.fraction) - 1, code >> self.fraction & top
        self.negative = bool(code >> exponents + self.fraction & 1)
        special = field == top and (name != "e4m3" or rest == 7)
        self.nan = special and (rest != 0 or name == "e4m3")
        self.infinite = special and not self.nan
        self.exponent = max(field, 1) - bias
        self.unit = self.exponent - self.fraction
        self.magnitude = rest + (1 << self.fraction) if field else 0 if flushed else rest


class Product:
    """The exact product of two numbers; its exponent is the sum of theirs."""

    def __init__(self, a, b):
        self.negative = a.negative != b.negative
        self.nan = a.nan or b.nan
        self.infinite = a.infinite or b.infinite
        self.invalid = a.infinite and not b.infinite and not b.magnitude or b.infinite and not a.infinite and not a.magnitude
        self.exponent, self.unit = a.exponent + b.exponent, a.unit + b.unit
        self.magnitude = a.magnitude * b.magnitude


def leading(magnitude, unit):
    """Exponent of the leading bit of a magnitude that is not zero."""
    return magnitude.bit_length() - 1 + unit


def shifted(magnitude, places):
    """magnitude * 2^places, with the bits below the units cut off."""
    return magnitude << places if places >= 0 else magnitude >> -places


def nearest_even(magnitude, places):
    """magnitude * 2^-places, rounded to the nearest integer, ties to even."""
    if places <= 0:
        return magnitude << -places
    whole, rest, half = magnitude >> places, magnitude & (1 << places) - 1, 1 << places - 1
    return whole + (rest > half or rest == half and whole & 1)


def encoded(name, negative, magnitude, unit, subnormals):
    """Code of a number, rounded to nearest. Without `subnormals` a result whose rounded exponent is too small is +0."""
    exponents, fraction = FORMATS[name]
    bias, sign = (1 << exponents - 1) - 1, negative << exponents + fraction
    if not magnitude:
        return 0
    exponent = leading(magnitude, unit)
    if subnormals:
        exponent = max(exponent, 1 - bias)
    digits = nearest_even(magnitude, exponent - fraction - unit)
    if digits >> fraction + 1:
        digits, exponent = digits >> 1, exponent + 1
    if exponent < 1 - bias or not digits:
        return 0
    if exponent > bias:
        return sign | (1 << exponents) - 1 << fraction
    return sign | (exponent + bias << fraction) + digits - (1 << fraction)


def special(products, c, invalid_nan=INVALID_NAN):
    """f32 code of a sum with infinities or NaNs; None without. A NaN of c keeps its payload."""
    if any(p.nan for p in products):
        return FACTOR_NAN
    signs = {p.negative for p in products if p.infinite}
    if any(p.invalid for p in products) or len(signs) == 2:
        return invalid_nan
    if c.nan:
        return c.code | 1 << 22
    signs |= {c.negative} if c.infinite else set()
    if signs:
        return invalid_nan if len(signs) == 2 else 0xFF800000 if True in signs else 0x7F800000
    return None


def narrowed(name, code):
    """An f32 infinity or NaN in a format of 16 bits."""
    if name == "f32":
        return code
    if code == FACTOR_NAN:
        return FACTOR_NAN_16[name]
    return code >> 16 if name == "bf16" else code >> 16 & 0x8000 | 0x7C00 | code >> 13 & 0x3FF


def accumulator(name, code, flushed):
    """c of a step, a number with its f32 code if it is a NaN."""
    c = Number(name, code, flushed)
    c.code = {"f32": code, "bf16": code << 16, "f16": (code & 0x8000) << 16 | 0x7F800000 | (code & 0x3FF) << 13}[name]
    return c


def dot2(operands, result, a, b, code):
    """c + a[0]*b[0] + a[1]*b[1], as gfx11 computes it; codes in, code out."""
    flushed = operands == "bf16"
    products = [Product(Number(operands, x, flushed), Number(operands, y, flushed)) for x, y in zip(a, b)]
    c = accumulator(result, code, result != "f16")
    found = special(products, c)
    if found is not None:
        return narrowed(result, found)
    terms = [c, *products]
    if not any(term.magnitude for term in terms):
        return 0
    # The unit of the common grid: 24 bits below the largest sum of operands' exponents, or 26 below c's leading bit.
    units = [p.exponent - 24 for p in products if p.magnitude]
    if result == "f16":
        units.append(max(-14, leading(c.magnitude, c.unit) if c.magnitude else -14) - 26)
    elif c.magnitude:
        units.append(leading(c.magnitude, c.unit) - 26)
    unit = max(units)
    # Counted in the sign of c: flipping the bits of x gives -x - 1, also of a zero.
    total = 0
    for term in terms:
        kept = shifted(term.magnitude, term.unit - unit)
        total += kept if term.negative == c.negative else -kept - 1
    negative = c.negative != (total < 0)
    if result == "bf16":
        return encoded("f32", negative, abs(total), unit, False) >> 16
    return encoded(result, negative, abs(total), unit, result == "f16")


def chain(operands, result, a, b, c):
    """One element of D of a WMMA."""
    for k in range(0, len(a), 2):
        c = dot2(operands, result, a[k:k + 2], b[k:k + 2], c)
    return c


def dot_of(offer):
    """The function of an instruction; None where it is another one."""
    a, b, c, d = (offer[operand] for operand in "abcd")
    is_dense = offer["scale"] is None and offer["k"] % 2 == 0
    if not offer["instruction"].startswith(("v_wmma_", "v_dot2_")) or not is_dense:
        return None
    if a != b or c != d or (a, d) not in [("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("bf16", "bf16")]:
        return None
    return lambda row, column, addend: chain(a, d, row, column, addend)


if __name__ == "__main__":
    session("published WMMA of RDNA 3", "rdna3", dot_of)
