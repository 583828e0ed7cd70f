#!/usr/bin/env python3
"""Outer products of x86's AI Compute Extensions (ACE) as an exec: device, from an emulator's account of the specification.

    tcnum verify --device "exec:python3 tests/specification/x86_ace.py" --instr top2bf16ps.m16n16k2.f32.bf16.bf16.f32 --cases 20000

Plain Python 3 integers. No silicon was asked. The specification (1.16.2) was not at hand; Bochs (pull request 870 and later, `amx_top.cc`)
repeats it by section, and says where Intel's SDE does something else, which it follows:

- TOP2BF16PS (14.3.5): p = a0 * b0, s = a1 * b1 + p fused, D = c + s; each to nearest even, subnormal results become zero, subnormal operands
  count. A NaN operand is the result: in s that of a1, b1, p in this order; in D that of c before s.
- TOP4MX[B,BH,HB,H]F8PS (14.1.6, 16.5): products and their sum are exact; times the scales the sum becomes f32 once, to nearest even, and is added
  to c, to nearest even. A subnormal c and subnormal results become zero. A code of an infinity or a NaN of FP8 counts as the number that it would
  be. A scale that is NaN makes the result 0x7fc00000.

Any other NaN is 0xffc00000; with `--one-nan` it is that of scales, where there are any.
"""

import sys

from exact import FORMATS, Number, bias, infinity, rounded, session, sign_of, total

INDEFINITE, OF_SCALES, QUIET = 0xFFC00000, 0x7FC00000, 0x00400000
ONE_NAN = "--one-nan" in sys.argv


def flushed(value, unit):
    """The f32 nearest to a number that is not zero; below the normal numbers, as rounded with an unbounded exponent, zero."""
    # Rounded where subnormal numbers are far away, which leaves the number of digits, and brought back.
    shift = -unit - abs(value).bit_length()
    code = rounded("f32", value, unit + shift) & 0x7FFFFFFF
    if (code >> 23) - shift < 1:
        return sign_of("f32", value < 0)
    return rounded("f32", value, unit)


def quiet(code):
    return code | QUIET


def is_nan(code):
    return Number("f32", code).nan


def fused(x, y, z, nan=INDEFINITE):
    """x * y + z on f32 codes; `z` is None in a product."""
    for code in (x, y, z):
        if code is not None and is_nan(code):
            return quiet(code)
    x, y = Number("f32", x), Number("f32", y)
    negative = x.negative != y.negative
    product_zero, product_infinite = x.zero or y.zero, x.infinite or y.infinite
    if product_zero and product_infinite:
        return nan
    addend = None if z is None else Number("f32", z)
    if product_infinite:
        return nan if addend and addend.infinite and addend.negative != negative else infinity("f32", negative)
    if addend and addend.infinite:
        return z
    terms = [(x.signed * y.signed, x.unit + y.unit)] + ([(addend.signed, addend.unit)] if addend else [])
    value, unit = total(terms)
    if value:
        return flushed(value, unit)
    signs = {negative} | ({addend.negative} if addend else set())
    return sign_of("f32", signs.pop()) if len(signs) == 1 else 0


def add(x, y, nan=INDEFINITE):
    return fused(x, 0x3F800000, y, nan) if not is_nan(x) else quiet(x)


def top2(a, b, c):
    a, b = [code << 16 for code in a], [code << 16 for code in b]
    product = fused(a[0], b[0], None)
    return add(c, fused(a[1], b[1], product))


def finite(name, code):
    """An element of FP8 as an integer of the format's least number."""
    fraction_bits = FORMATS[name][1]
    field, fraction = (code & 0x7F) >> fraction_bits, code & (1 << fraction_bits) - 1
    magnitude = (fraction | 1 << fraction_bits) << field - 1 if field else fraction
    return -magnitude if code & 0x80 else magnitude


def top4mx(of_a, of_b):
    least = sum(1 - bias(name) - FORMATS[name][1] for name in (of_a, of_b))

    def element(a, b, c, scale_a, scale_b):
        if 0xFF in (scale_a, scale_b):
            return OF_SCALES
        value = sum(finite(of_a, x) * finite(of_b, y) for x, y in zip(a, b))
        partial = flushed(value, least + scale_a + scale_b - 254) if value else 0
        if c & 0x7F800000 == 0:
            c &= 0x80000000
        return add(c, partial, OF_SCALES if ONE_NAN else INDEFINITE)

    return element


def dot_of(offer):
    family, names = offer["name"].split(".")[0], (offer["a"], offer["b"])
    if family == "top2bf16ps" and names == ("bf16", "bf16"):
        return top2
    if family.startswith("top4mx") and set(names) <= {"e4m3", "e5m2"} and offer["scale"]:
        return top4mx(*names)
    return None


session("Bochs' account of ACE in Python", "x86-ace", dot_of)
