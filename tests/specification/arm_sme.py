#!/usr/bin/env python3
"""Matrix instructions of SME2 and SVE2.1 as an exec: device, from Arm's text alone.

    tcnum verify --device "exec:python3 tests/specification/arm_sme.py" --instr fmopa.m16n16k2.f32.f16.f16.f32 --cases 20000

Plain Python 3 integers. No silicon was asked. The text is the Arm Architecture Reference Manual, DDI 0487 M.a.a: the instructions in C8.2 and
C9.2, and the functions of the shared pseudo-code (J1.3.3) that they call, after which the functions here are named. State: FPCR.RMode = to
nearest, FPCR.DN = 1, FPCR.{FZ,FIZ,FZ16,AH} = 0. FPCR.EBF, FPMR.OSM and FPMR.LSCALE are 0 unless `--ebf`, `--osm` and `--lscale N` say otherwise.
"""

import sys

from exact import Number, default_nan, infinity, largest, rounded, session, sign_of, total

EBF, OSM = "--ebf" in sys.argv, "--osm" in sys.argv
LSCALE = int(sys.argv[sys.argv.index("--lscale") + 1]) if "--lscale" in sys.argv else 0


def dot(name, products, addend=None, scale=0, overflow=infinity):
    """One rounding of the sum of products, times 2^-scale, and of an addend, to format `name`: FPDot, FPMulAdd and FP8DotAddFP are this."""
    numbers = [number for product in products for number in product] + ([addend] if addend else [])
    if any(number.nan for number in numbers):
        return default_nan(name)
    infinite, zeros, terms = set(), set(), []
    for x, y in products:
        negative = x.negative != y.negative
        if x.infinite or y.infinite:
            if x.zero or y.zero:
                return default_nan(name)
            infinite.add(negative)
        zeros.add(negative if x.zero or y.zero else None)
        terms.append((x.signed * y.signed, x.unit + y.unit - scale))
    if addend:
        if addend.infinite:
            infinite.add(addend.negative)
        zeros.add(addend.negative if addend.zero else None)
        terms.append((addend.signed, addend.unit))
    if len(infinite) == 2:
        return default_nan(name)
    if infinite:
        return infinity(name, infinite.pop())
    # Zeros of the same sign keep it; any other sum of zero is +0.
    if len(zeros) == 1 and None not in zeros:
        return sign_of(name, zeros.pop())
    value, unit = total(terms)
    return rounded(name, value, unit, overflow=overflow) if value else 0


def fp_add(name, x, y):
    """FPAdd: the sum of two codes, rounded to nearest."""
    one = Number(name, rounded(name, 1, 0))
    return dot(name, [(Number(name, x), one)], Number(name, y))


def flushed(number):
    """BFUnpack: a subnormal number is a zero of its sign."""
    if not (number.nan or number.infinite) and number.magnitude.bit_length() - 1 + number.unit < -126:
        number.magnitude = 0
    return number


def bf_round(value, unit):
    """BFRound: to odd; beyond the range infinity; below the least normal number, before rounding, zero."""
    if abs(value).bit_length() - 1 + unit < -126:
        return sign_of("f32", value < 0)
    return rounded("f32", value, unit, rounding="odd")


def bf_mul(x, y):
    """BFMulH."""
    x, y = flushed(Number("bf16", x)), flushed(Number("bf16", y))
    negative = x.negative != y.negative
    if x.nan or y.nan or x.infinite and y.zero or x.zero and y.infinite:
        return default_nan("f32")
    if x.infinite or y.infinite:
        return infinity("f32", negative)
    if x.zero or y.zero:
        return sign_of("f32", negative)
    return bf_round(x.signed * y.signed, x.unit + y.unit)


def bf_add(x, y):
    """FPAdd_BF16."""
    x, y = flushed(Number("f32", x)), flushed(Number("f32", y))
    infinite = {number.negative for number in (x, y) if number.infinite}
    if x.nan or y.nan or len(infinite) == 2:
        return default_nan("f32")
    if infinite:
        return infinity("f32", infinite.pop())
    if x.zero and y.zero and x.negative == y.negative:
        return sign_of("f32", x.negative)
    value, unit = total([(x.signed, x.unit), (y.signed, y.unit)])
    return bf_round(value, unit) if value else 0


def bf_dot_add(c, a, b):
    """BFDotAdd, of two elements of A and B."""
    if EBF:
        return fp_add("f32", c, dot("f32", numbers("bf16", "bf16", a, b)))
    return bf_add(c, bf_add(bf_mul(a[0], b[0]), bf_mul(a[1], b[1])))


def numbers(of_a, of_b, a, b):
    return [(Number(of_a, x), Number(of_b, y)) for x, y in zip(a, b)]


def fmmla(of_a, of_d):
    """FPMatMulAddH (f16) and FPMatMulAdd: pairs, or single products, are rounded; then their sum; then its sum with c."""
    length = 2 if of_a == "f16" else 1

    def element(a, b, c):
        parts = [dot(of_d, numbers(of_a, of_a, a[at:at + length], b[at:at + length])) for at in (0, length)]
        return fp_add(of_d, c, fp_add(of_d, *parts))

    return element


def pairs_of_bf16(a, b, c):
    """BFMOPA (widening), BFDOT and BFMMLA: pairs in ascending order."""
    for at in range(0, len(a), 2):
        c = bf_dot_add(c, a[at:at + 2], b[at:at + 2])
    return c


def pair_of_f16(a, b, c):
    """FPDotAdd and FPDotAdd_ZA: FMOPA (2-way, FP16 to FP32) and FDOT (2-way, FP16 to FP32)."""
    return fp_add("f32", c, dot("f32", numbers("f16", "f16", a, b)))


def dot_of(offer):
    family = offer["name"].split(".")[0]
    of_a, of_b, of_d, k = offer["a"], offer["b"], offer["d"], offer["k"]
    fp8, equal = {of_a, of_b} <= {"e4m3", "e5m2"}, of_a == of_b
    if offer["c"] != of_d:
        return None
    if fp8 and of_d in ("f16", "f32") and family[0] == "f":
        # FP8DotAddFP: LSCALE has four bits where results are f16.
        scale, overflow = LSCALE & (15 if of_d == "f16" else 127), largest if OSM else infinity
        return lambda a, b, c: dot(of_d, numbers(of_a, of_b, a, b), Number(of_d, c), scale, overflow)
    if family in ("bfmopa", "bfdot", "bfmmla") and (of_a, of_b, of_d) == ("bf16", "bf16", "f32"):
        return pairs_of_bf16
    if family in ("fmopa", "fdot") and (of_a, of_b, of_d, k) == ("f16", "f16", "f32", 2):
        return pair_of_f16
    if family == "fmmla" and equal and (of_a, of_d, k) in (("f16", "f32", 4), ("f32", "f32", 2), ("f64", "f64", 2)):
        return fmmla(of_a, of_d)
    long = family in ("fmlal", "fmlal2", "fmlalb", "fmlalt", "bfmlalb", "bfmlalt") and of_a in ("f16", "bf16") and of_d == "f32"
    if equal and k == 1 and (long or family in ("fmopa", "bfmopa", "bfmla") and of_a == of_d):
        # FPMulAdd_ZA, BFMulAdd_ZA, BFMulAdd, FPMulAddH, BFMulAddH.
        return lambda a, b, c: dot(of_d, numbers(of_a, of_b, a, b), Number(of_d, c))
    return None


session("Arm's text in Python", "arm-sme-ebf-osm" if EBF and OSM else "arm-sme", dot_of)
