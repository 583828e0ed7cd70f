#!/usr/bin/env python3
"""Announced matrix instructions of Intel as an exec: device, from the documents alone: AMX-FP8, and VDPPHPS of AVX10.2.

    tcnum verify --device "exec:python3 tests/specification/amx_fp8.py" --instr tdphf8ps.m16n16k64.f32.e4m3.e4m3.f32 --cases 20000

Plain Python 3 integers, no packages, nothing of tcnum. No silicon was asked. The documents, by section, as compilers and emulators repeat
them (docs/findings-x86.md, "Announced instructions"):

- Instruction Set Extensions Programming Reference (319433-062), 3.4, AMX-FP8: an element of FP8 becomes an integer, a multiple of 2^-16
  (E5M2, "BF8") or 2^-9 (E4M3, "HF8"). Products and sums of these integers are exact. The sum over all k becomes f32 once, to nearest even,
  and is added to the destination: subnormal operands count (DAZ = 0), subnormal results become zero (FTZ = 1). Infinity times zero, and
  the sum of opposite infinities, are the indefinite NaN; so is the result of any NaN.
- AVX10.2 Architecture Specification (361050-007), 10.1, VDPPHPS: two fused multiply-adds on operands that were converted from f16 to f32, the
  odd element of a pair first; to nearest even, DAZ = 1, FTZ = 1. MXCSR is ignored.

Assumed, as no text that was read says it clearly: the NaN of VDPPHPS is that of VDPBF16PS, and its subnormal operands of f16 count.
"""

from exact import session

INDEFINITE = 0xFFC00000
INFINITY = 0x7F800000
QUIET = 0x00400000
SIGN = 0x80000000
# Numbers are integers, in units of the least f32.
UNIT = -149

# Exponent bits, fraction bits, bias, whether infinities exist.
FORMATS = {"e5m2": (5, 2, 15, True), "e4m3": (4, 3, 7, False), "f16": (5, 10, 15, True), "f32": (8, 23, 127, True)}
TILES = {
    "tdpbf8ps": ("e5m2", "e5m2"),
    "tdpbhf8ps": ("e5m2", "e4m3"),
    "tdphbf8ps": ("e4m3", "e5m2"),
    "tdphf8ps": ("e4m3", "e4m3"),
}


def fields(name, code):
    """Sign, exponent and fraction of a code."""
    exponent_bits, fraction_bits, _, _ = FORMATS[name]
    exponent = code >> fraction_bits & (1 << exponent_bits) - 1
    return code >> exponent_bits + fraction_bits & 1, exponent, code & (1 << fraction_bits) - 1


def kind(name, code):
    """"nan", "infinity" or "number"."""
    exponent_bits, fraction_bits, _, has_infinities = FORMATS[name]
    _, exponent, fraction = fields(name, code)
    if exponent != (1 << exponent_bits) - 1:
        return "number"
    if has_infinities:
        return "nan" if fraction else "infinity"
    return "nan" if fraction == (1 << fraction_bits) - 1 else "number"


def integer(name, code):
    """A number, in units of its format's least number."""
    _, fraction_bits, _, _ = FORMATS[name]
    sign, exponent, fraction = fields(name, code)
    magnitude = fraction if exponent == 0 else (fraction | 1 << fraction_bits) << exponent - 1
    return -magnitude if sign else magnitude


def least(name):
    """Exponent of a format's least number."""
    _, fraction_bits, bias, _ = FORMATS[name]
    return 1 - bias - fraction_bits


def rounded(value, zero=0):
    """The f32 nearest to an integer of units, ties to even; subnormal results become zero, and `zero` is the code of an exact one."""
    if value == 0:
        return zero
    sign, magnitude = (SIGN, -value) if value < 0 else (0, value)
    if magnitude < 1 << 23:
        return sign
    dropped = magnitude.bit_length() - 24
    kept = magnitude >> dropped
    rest = magnitude - (kept << dropped)
    half = 1 << dropped >> 1
    if dropped and (rest > half or rest == half and kept & 1):
        kept += 1
    # A carry into the next exponent leaves a fraction of zeros.
    code = (dropped << 23) + kept
    return sign | min(code, INFINITY)


def number(code):
    """A finite f32, in units."""
    return integer("f32", code)


def both_negative(x, y):
    """Code of the exact zero that is the sum of two zeros; of other numbers it is +0."""
    return SIGN if x == y == SIGN else 0


def add(x, y):
    """Sum of two f32 codes without NaNs; subnormal operands count, subnormal results become zero."""
    infinities = {code for code in (x, y) if kind("f32", code) == "infinity"}
    if infinities:
        return infinities.pop() if len(infinities) == 1 else INDEFINITE
    return rounded(number(x) + number(y), both_negative(x, y))


def fp8(formats, a, b, c):
    """One element of TDP[B,H,BH,HB]F8PS."""
    total, infinities = 0, set()
    if kind("f32", c) == "nan":
        return INDEFINITE
    for x, y in zip(a, b):
        kinds = [kind(name, code) for name, code in zip(formats, (x, y))]
        if "nan" in kinds:
            return INDEFINITE
        factors = [integer(name, code) for name, code in zip(formats, (x, y))]
        if "infinity" in kinds:
            if 0 in factors:
                return INDEFINITE
            infinities.add(SIGN * ((x ^ y) >> 7) | INFINITY)
        else:
            total += factors[0] * factors[1]
    if len(infinities) == 2:
        return INDEFINITE
    if infinities:
        return add(c, infinities.pop())
    return add(c, rounded(total << sum(map(least, formats)) - UNIT))


def widened(code):
    """The f32 code of an f16, exactly; a NaN keeps its payload."""
    sign = (code & 0x8000) << 16
    if kind("f16", code) != "number":
        return sign | INFINITY | (code & 0x3FF) << 13
    magnitude = abs(integer("f16", code)) << least("f16") - UNIT
    return sign | rounded(magnitude)


def flushed(code):
    """DAZ: a subnormal f32 becomes a zero of its sign."""
    return code & SIGN if code & INFINITY == 0 else code


def fused(x, y, z):
    """x * y + z on f32 codes, rounded once."""
    x, y, z = map(flushed, (x, y, z))
    for code in (x, y, z):
        if kind("f32", code) == "nan":
            return code | QUIET
    sign = (x ^ y) & SIGN
    if "infinity" in (kind("f32", x), kind("f32", y)):
        if 0 in (x & ~SIGN, y & ~SIGN):
            return INDEFINITE
        return INDEFINITE if z == sign ^ SIGN | INFINITY else sign | INFINITY
    if kind("f32", z) == "infinity":
        return z
    # Factors come from f16, so that their product is a multiple of 2^-48, and of the unit.
    product = number(x) * number(y) >> -UNIT
    zero = both_negative(sign, z) if product == 0 else 0
    return rounded(product + number(z), zero)


def vdpphps(a, b, c):
    """One element of VDPPHPS."""
    c = fused(widened(a[1]), widened(b[1]), c)
    return fused(widened(a[0]), widened(b[0]), c)


def dot_of(offer):
    """The function of an instruction; None where it is another one."""
    formats = tuple(offer[operand] for operand in "ab")
    family = offer["name"].split(".")[0]
    plain = offer["scale"] is None and offer["sparse"] is None and offer["c"] == offer["d"] == "f32"
    if plain and TILES.get(family) == formats:
        return lambda a, b, c: fp8(formats, a, b, c)
    if plain and family == "vdpphps" and formats == ("f16", "f16") and offer["k"] == 2:
        return vdpphps
    return None


if __name__ == "__main__":
    session("Intel's documents in Python", "x86", dot_of)
