#!/usr/bin/env python3
"""Floating-point dot products and matrix tiles of RISC-V as an exec: device, from its manual's text alone.

    tcnum verify --device "exec:python3 tests/specification/riscv.py" --instr vfwbdota.m1n8k8.f32.bf16.bf16.f32 --cases 20000

Plain Python 3 integers. No silicon and no emulator was asked. The text, by section:

- RVBNA (src/unpriv/rvbna.adoc, 1d472b80): by its prose; with `--code` by its pseudo-code, line by line, and with `--code --normalised` with a
  subnormal sum that is truncated, as the pseudo-code's normal ones are.
- Zvbdota (branch zvbdot, c152059f), "Bulk Normalization of Dot Products": one set of all VLMAX products, then c is added, rounding to odd.
- vfwmaccbf16 (Zvfbfwma): one fused multiply-add.
- Zvvfmm (branch ime-chapter, 0bd7e54b), "Accumulation and rounding model": a disclosed tuple `--tuple G,psm,rnd`, with RVBNA where psm is 1.
  Without it G = 2 (inputs of 16 bits) or 1, psm = 1 and rnd = rto, which the text names; for inputs of 32 bits G = 1, psm = 0 and rnd = frm.

Assumed: a partial sum of zeros has the sign that IEEE 754 gives a sum. frm is to nearest, ties to even. Every NaN is the canonical one.
"""

import sys

from exact import FORMATS, Number, bias, default_nan, infinity, rounded, session, sign_of, total

CODE, NORMALISED = "--code" in sys.argv, "--normalised" in sys.argv
TUPLE = sys.argv[sys.argv.index("--tuple") + 1].split(",") if "--tuple" in sys.argv else None
Q, F = 24, 8


def special(products, name="f32"):
    """The result that NaNs and infinities decide, or `None`."""
    signs = set()
    if any(number.nan for product in products for number in product):
        return default_nan(name)
    for x, y in products:
        if x.infinite or y.infinite:
            if x.zero or y.zero:
                return default_nan(name)
            signs.add(x.negative != y.negative)
    if len(signs) == 2:
        return default_nan(name)
    return infinity(name, signs.pop()) if signs else None


def aligned(products, g):
    """The sum of the products, each aligned and rounded to odd, and its unit."""
    parts = []
    for x, y in products:
        if x.magnitude and y.magnitude:
            parts.append((x.negative != y.negative, x.magnitude * y.magnitude, x.exponent + y.exponent, x.unit + y.unit))
    if not parts:
        return 0, 0
    largest = max(exponent for _, _, exponent, _ in parts)
    unit, accumulator = largest - (Q - 1 + g), 0
    for negative, significand, _, of_product in parts:
        places = unit - of_product
        kept = significand << -places if places <= 0 else significand >> places | (significand & (1 << places) - 1 != 0)
        accumulator += -kept if negative else kept
    return accumulator, unit


def rvbna(products):
    """Dot product in f32, by the prose."""
    result = special(products)
    if result is not None:
        return result
    accumulator, unit = aligned(products, (len(products) - 1).bit_length())
    return rounded("f32", accumulator, unit, rounding="odd") if accumulator else 0


def pseudocode(names, a, b):
    """BulkNormalizedDotProduct, line by line; the detection of special operands is that of each format."""
    n, q, f = len(a), Q, F
    g = o = (n - 1).bit_length()
    fields = []
    for name in names:
        exponent_bits, fraction_bits, _ = FORMATS[name]
        fields.append((exponent_bits, fraction_bits, fraction_bits + 1))
    (e_l, m_l, p_l), (e_r, m_r, p_r) = fields
    overflow_exp, res_bias, prod_op_bias = (1 << f) - 1, (1 << f - 1) - 1, bias(names[0]) + bias(names[1])
    max_exp, ref_exps, signs, sigs = 0, [], [], []
    for x, y in zip(a, b):
        x_exp, y_exp = x >> m_l & (1 << e_l) - 1, y >> m_r & (1 << e_r) - 1
        x_mant, y_mant = x & (1 << m_l) - 1, y & (1 << m_r) - 1
        signs.append((x >> e_l + m_l ^ y >> e_r + m_r) & 1)
        x_sub, y_sub = x_exp == 0, y_exp == 0
        zero = x_sub and x_mant == 0 or y_sub and y_mant == 0
        sigs.append(((not x_sub) << p_l - 1 | x_mant) * ((not y_sub) << p_r - 1 | y_mant))
        ref_exps.append(0 if zero else (1 if x_sub else x_exp) + (1 if y_sub else y_exp))
        max_exp = max(max_exp, ref_exps[-1])
    accumulator = 0
    for sign, sig, ref_exp in zip(signs, sigs, ref_exps):
        shift, pad = max_exp - ref_exp, q + 1 + g - (p_l + p_r)
        product = sig << pad >> shift
        if shift >= q + 1 + g:
            jam = sig != 0
        else:
            jam = sig & (1 << p_l + p_r) - 1 >> q + 1 + g - shift != 0
        product |= jam
        accumulator += -product if sign else product
    if accumulator == 0:
        return 0
    sign, magnitude, width = accumulator < 0, abs(accumulator), g + q + 1 + o
    lzc = width - magnitude.bit_length()
    res_exp = max_exp + o + 1 - lzc - prod_op_bias + res_bias
    unrounded = (magnitude << lzc) >> g + o + 1
    raw_mask = (1 << g + o + 1) - 1
    jam_mask = raw_mask >> (0 if lzc > g + o + 1 else g + o + 1 - lzc)
    significand = unrounded | ((magnitude << lzc) & jam_mask != 0)
    top = sign << q + f - 1
    if res_exp >= overflow_exp:
        return top | overflow_exp << q - 1
    if res_exp >= 1:
        return top | res_exp << q - 1 | significand & (1 << q - 1) - 1
    if NORMALISED:
        unit = max_exp - prod_op_bias - (q - 1 + g)
        return truncated(-magnitude if sign else magnitude, unit)
    if res_exp < -(q - 1):
        return top | 1
    shift = q - 1 + res_exp
    return top | magnitude >> shift | (magnitude & (1 << q - 1) - 1 >> shift != 0)


def truncated(value, unit):
    """A subnormal f32, the dropped bits of which are lost."""
    places = -149 - unit
    kept = abs(value) << -places if places <= 0 else abs(value) >> places
    return sign_of("f32", value < 0) | kept if kept else 0


def sum_of_products(names, a, b):
    products = [(Number(names[0], x), Number(names[1], y)) for x, y in zip(a, b)]
    result = special(products) if CODE else rvbna(products)
    return pseudocode(names, a, b) if result is None else result


def add(x, y, rounding="nearest"):
    """The sum of two f32; rounding to odd overflows to infinity, too."""
    x, y = Number("f32", x), Number("f32", y)
    signs = {number.negative for number in (x, y) if number.infinite}
    if x.nan or y.nan or len(signs) == 2:
        return default_nan("f32")
    if signs:
        return infinity("f32", signs.pop())
    return of_terms([(x.signed, x.unit), (y.signed, y.unit)], {x.negative if x.zero else None, y.negative if y.zero else None}, rounding)


def of_terms(terms, zeros, rounding="nearest"):
    """The rounded sum of terms. `zeros` has the signs of those that are zero, and `None` if one is not: zeros of one sign keep it."""
    value, unit = total(terms)
    if value:
        return rounded("f32", value, unit, rounding)
    return sign_of("f32", zeros.pop()) if len(zeros) == 1 and None not in zeros else 0


def fused(products, c=None, rounding="nearest"):
    """The exact sum of products and of c, rounded once."""
    one = Number("f32", 0x3F800000)
    factors = products + ([(c, one)] if c else [])
    result = special(factors)
    if result is not None:
        return result
    terms = [(x.signed * y.signed, x.unit + y.unit) for x, y in factors]
    zeros = {(x.negative != y.negative) if x.zero or y.zero else None for x, y in factors}
    return of_terms(terms, zeros, rounding)


def batched(names):
    """vfwbdota, vfqwbdota."""
    return lambda a, b, c: add(sum_of_products(names, a, b), c, "odd")


def tile(names, w):
    """vfmmacc, vfwmmacc, vfqmmacc: groups of G sub-dot-products of W products, in ascending order."""
    groups, psm, rnd = TUPLE or {1: (1, 0, "frm"), 2: (2, 1, "rto"), 4: (1, 1, "rto")}[w]
    length, bulk = int(groups) * w, int(psm) == 1

    def exact(products, c):
        """rnd = xct: the bulk sum, or the exact one, is added to c without a rounding of its own."""
        result = special(products + [(c, Number("f32", 0x3F800000))])
        if result is not None or not bulk:
            return fused(products, c) if result is None else result
        accumulator, unit = aligned(products, (length - 1).bit_length())
        return of_terms([(accumulator, unit), (c.signed, c.unit)], {False if accumulator == 0 else None, c.negative if c.zero else None})

    def element(a, b, c):
        for at in range(0, len(a), length):
            products = [(Number(names[0], x), Number(names[1], y)) for x, y in zip(a[at:at + length], b[at:at + length])]
            if rnd == "xct":
                c = exact(products, Number("f32", c))
            else:
                rounding = "odd" if rnd == "rto" else "nearest"
                if bulk and rnd == "rto":
                    partial = rvbna(products)
                elif bulk:
                    partial = special(products)
                    if partial is None:
                        accumulator, unit = aligned(products, (length - 1).bit_length())
                        partial = rounded("f32", accumulator, unit, rounding) if accumulator else 0
                else:
                    partial = fused(products, rounding=rounding)
                c = add(partial, c)
        return c

    return element


def dot_of(offer):
    family, names = offer["name"].split(".")[0], (offer["a"], offer["b"])
    if offer["c"] != "f32" or offer["d"] != "f32":
        return None
    fp8 = set(names) <= {"e4m3", "e5m2"}
    if family == "vfwbdota" and names == ("bf16", "bf16") or family == "vfqwbdota" and fp8:
        return batched(names)
    if family == "vfwmaccbf16" and names == ("bf16", "bf16") and offer["k"] == 1:
        return lambda a, b, c: fused([(Number("bf16", a[0]), Number("bf16", b[0]))], Number("f32", c))
    if family == "vfmmacc" and names == ("f32", "f32"):
        return tile(names, 1)
    if family == "vfwmmacc" and names in (("bf16", "bf16"), ("f16", "f16")):
        return tile(names, 2)
    if family == "vfqmmacc" and fp8:
        return tile(names, 4)
    return None


session("the RISC-V manual in Python", "riscv-pseudocode" if CODE else "riscv", dot_of)
