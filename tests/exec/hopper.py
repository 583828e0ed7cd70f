"""The matrix arithmetic of NVIDIA Hopper as an exec: device, in integers: a second opinion on model:hopper.

    tcnum verify --device trace:FILE --model "exec:python3 tests/exec/hopper.py"

Plain Python 3, no packages. Options that make it misbehave, for tests of the protocol:
    --refuse         decline every instruction
    --garbage        answer the first line with something that is no JSON
    --hang           answer the first line and then never again
    --deaf           answer the first line and then never read
    --die-after N    end with status 7 after N tiles in all
    --short          answer one byte less than asked, and end
    --surplus        answer one byte more than asked

Options that make its arithmetic another, for tests of `identify`:
    --fault chance   1 % of all last bits are changed
    --fault above    the last bit depends on the row above
    --fault counter  the last bits of every seventh tile are changed
    --fault jammed   the last bit is always 1, which no rule says
    --tally FILE     add the number of tiles of each batch to this file, a line each
"""

import json
import random
import re
import struct
import sys
import time
from fractions import Fraction

# What the arithmetic depends on. F: bits kept after the point of a significand whose units digit weighs 2^e_max;
# FLOOR: the smallest e_max, by output format.
F_WIDE = 25
F_FP8 = 13
FLOOR = {"f32": -133, "f16": -21}
FLOOR_FP8 = {"f32": -133, "f16": -21}
# The code of every NaN result (f64: of every invalid operation; a NaN operand is passed on, made quiet).
NAN = {"f64": 0xFFF8000000000000, "f32": 0x7FFFFFFF, "f16": 0x7FFF}

# Exponent bits, fraction bits, padding bits, whether infinities exist.
FLOATS = {
    "f64": (11, 52, 0, True),
    "f32": (8, 23, 0, True),
    "tf32": (8, 10, 13, True),
    "e8m13": (8, 13, 10, True),
    "f16": (5, 10, 0, True),
    "bf16": (8, 7, 0, True),
    "e5m2": (5, 2, 0, True),
    "e4m3": (4, 3, 0, False),
}
INTEGERS = {"s8": (8, True), "u8": (8, False), "s32": (32, True)}
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def bits_of(name):
    if name in INTEGERS:
        return INTEGERS[name][0]
    exponent_bits, fraction_bits, padding, _ = FLOATS[name]
    return 1 + exponent_bits + fraction_bits + padding


class Number:
    """A decoded code: kind 'nan' (the significand holds its code), 'inf' or 'finite'; the value is sign * significand * 2^quantum, and exponent is
    that of the significand's units digit (of the smallest normal number for subnormal numbers)."""

    __slots__ = ("kind", "sign", "significand", "quantum", "exponent")

    def __init__(self, kind, sign=1, significand=0, quantum=0, exponent=0):
        self.kind, self.sign, self.significand = kind, sign, significand
        self.quantum, self.exponent = quantum, exponent

    def value(self):
        return self.sign * self.significand * Fraction(2) ** self.quantum


def decode(name, code):
    exponent_bits, fraction_bits, padding, infinities = FLOATS[name]
    whole = code
    code >>= padding
    bias = (1 << (exponent_bits - 1)) - 1
    fraction = code & ((1 << fraction_bits) - 1)
    biased = code >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = -1 if code >> (fraction_bits + exponent_bits) & 1 else 1
    top = biased == (1 << exponent_bits) - 1
    if infinities and top:
        return Number("nan", significand=whole) if fraction else Number("inf", sign)
    if top and fraction == (1 << fraction_bits) - 1:
        return Number("nan")
    exponent = max(biased, 1) - bias
    significand = fraction if biased == 0 else fraction | 1 << fraction_bits
    return Number("finite", sign, significand, exponent - fraction_bits, exponent)


def floor_log2(value):
    """The exponent of a positive fraction: 2^e <= value < 2^(e+1)."""
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if value >= Fraction(2) ** e else e - 1


def divided(value, mode, negative):
    """A non-negative fraction rounded to an integer."""
    whole, rest = divmod(value.numerator, value.denominator)
    if rest == 0:
        return whole
    if mode == "RNE":
        twice = 2 * rest
        up = twice > value.denominator or (twice == value.denominator and whole % 2 == 1)
    else:
        up = (mode == "RD" and negative) or (mode == "RU" and not negative)
    return whole + up


def encode(name, value, mode, zero_sign=1, overflow=None):
    """The code of an exact value, rounded once. overflow: 'infinity' whatever the mode; None: as IEEE 754 has it."""
    exponent_bits, fraction_bits, padding, _ = FLOATS[name]
    bias = (1 << (exponent_bits - 1)) - 1
    negative = value < 0 or (value == 0 and zero_sign < 0)
    sign = int(negative) << (exponent_bits + fraction_bits)
    if value == 0:
        return sign << padding
    magnitude = abs(value)
    exponent = max(floor_log2(magnitude), 1 - bias)
    significand = divided(magnitude / Fraction(2) ** (exponent - fraction_bits), mode, negative)
    if significand >> (fraction_bits + 1):
        significand >>= 1
        exponent += 1
    if exponent > bias:
        infinity = ((1 << exponent_bits) - 1) << fraction_bits
        toward_zero = mode == "RZ" or (mode == "RD" and not negative) or (mode == "RU" and negative)
        return (sign | (infinity - 1 if toward_zero and overflow != "infinity" else infinity)) << padding
    biased = exponent + bias if significand >> fraction_bits else 0
    return (sign | biased << fraction_bits | significand & ((1 << fraction_bits) - 1)) << padding


def infinity(name, sign):
    exponent_bits, fraction_bits, padding, _ = FLOATS[name]
    code = ((1 << exponent_bits) - 1) << fraction_bits
    return (code | (1 << (exponent_bits + fraction_bits) if sign < 0 else 0)) << padding


def special(pairs, c):
    """What infinities and NaNs make of a sum of products and c: 'nan', the sign of an infinity, or None."""
    signs = set()
    for x, y in pairs:
        if "nan" in (x.kind, y.kind):
            return "nan"
        if "inf" in (x.kind, y.kind):
            if 0 in (x.significand if x.kind == "finite" else 1, y.significand if y.kind == "finite" else 1):
                return "nan"
            signs.add(x.sign * y.sign)
    if c.kind == "nan":
        return "nan"
    if c.kind == "inf":
        signs.add(c.sign)
    if len(signs) == 2:
        return "nan"
    return signs.pop() if signs else None


def fused(pairs, c, bits, floor, result, mode):
    """One fused step: align to the largest exponent, cut, add exactly, convert once. The code in format result."""
    found = special(pairs, c)
    if found == "nan":
        return NAN.get(result, NAN["f32"])
    if found is not None:
        return infinity(result, found)
    terms = [(x.sign * y.sign, x.significand * y.significand, x.quantum + y.quantum, x.exponent + y.exponent)
             for x, y in pairs if x.significand and y.significand]
    if c.significand:
        terms.append((c.sign, c.significand, c.quantum, c.exponent))
    e_max = max([exponent for _, _, _, exponent in terms] + [floor])
    unit = e_max - bits
    total = 0
    for sign, significand, quantum, _ in terms:
        shift = quantum - unit
        total += sign * (significand << shift if shift >= 0 else significand >> -shift)
    code = encode(result, total * Fraction(2) ** unit, mode, overflow="infinity")
    # A result of zero is +0, also where a negative sum underflows.
    return 0 if decode(result, code).kind == "finite" and decode(result, code).significand == 0 else code


def ordinary(name, mode, exact_product, z):
    """IEEE 754 fusedMultiplyAdd of (x, y) and z, or the sum of (x, one) and z."""
    x, y = exact_product
    found = special([exact_product], z)
    if found == "nan":
        return NAN[name]
    if found is not None:
        return infinity(name, found)
    value = x.value() * y.value() + z.value()
    product_sign = x.sign * y.sign
    # The sign of a sum of zeros, and of an exact cancellation.
    zero_sign = product_sign if product_sign == z.sign else (-1 if mode == "RD" else 1)
    if value == 0 and (x.significand and y.significand or z.significand):
        zero_sign = -1 if mode == "RD" else 1
    return encode(name, value, mode, zero_sign)


ONE = Number("finite", 1, 1, 0, 0)


def added(name, mode, x, y):
    return ordinary(name, mode, (x, ONE), y)


def tensor_core(i, bits, floor, group, result, mode):
    """A chain of fused steps along k, with c first."""
    def dot(a, b, c):
        code, form = c, i["c"]
        for start in range(0, len(a), group):
            pairs = list(zip(a[start:start + group], b[start:start + group]))
            code, form = fused(pairs, decode(form, code), bits, floor, result, mode), result
        return code
    return dot


def emulated_fp8(i):
    """mma.sync on FP8: unpacked to f16, two steps over the two halves of each 32-bit word, c added at the end."""
    d, mode = i["d"], "RZ" if i["d"] == "f32" else "RNE"

    def unpacked(x):
        return x if x.kind != "finite" else decode("f16", encode("f16", x.value(), "RNE", x.sign))

    def dot(a, b, c):
        code = 0
        for half in ((0, 1), (2, 3)):
            pairs = [(unpacked(a[j]), unpacked(b[j])) for j in range(len(a)) if j % 4 in half]
            code = fused(pairs, decode(d, code), F_WIDE, FLOOR[d], d, mode)
        return added(d, "RNE", decode(d, code), decode(d, c))
    return dot


def software_k4(i):
    """m8n8k4 on f16: ordinary f32 instructions. With f32 output a chain of four FMAs from zero, then c; with f16
    output c, to which two pairs (product, FMA) are added one after the other, and one rounding to f16."""
    zero = decode("f32", 0)

    def chain(a, b, c):
        code = 0
        for x, y in zip(a, b):
            code = ordinary("f32", "RNE", (x, y), decode("f32", code))
        return added("f32", "RNE", decode("f32", code), decode(i["c"], c))

    def product(x, y):
        found = special([(x, y)], zero)
        if found is not None:
            return NAN["f32"] if found == "nan" else infinity("f32", found)
        return encode("f32", x.value() * y.value(), "RNE", x.sign * y.sign)

    def pairs(a, b, c):
        halves = [ordinary("f32", "RNE", (a[j + 1], b[j + 1]), decode("f32", product(a[j], b[j]))) for j in (0, 2)]
        code = added("f32", "RNE", decode("f16", c), decode("f32", halves[0]))
        last = decode("f32", added("f32", "RNE", decode("f32", code), decode("f32", halves[1])))
        if last.kind != "finite":
            return NAN["f16"] if last.kind == "nan" else infinity("f16", last.sign)
        return encode("f16", last.value(), "RNE", last.sign)
    return chain if i["d"] == "f32" else pairs


def fma_chain(mode):
    def dot(a, b, c):
        for x, y in zip(a, b):
            z = decode("f64", c)
            nans = [operand.significand for operand in (y, z, x) if operand.kind == "nan"]
            c = nans[0] | 1 << 51 if nans else ordinary("f64", mode, (x, y), z)
        return c
    return dot


def integers(saturate):
    def dot(a, b, c):
        total = (c ^ 1 << 31) - (1 << 31) + sum(x * y for x, y in zip(a, b))
        if saturate:
            total = max(-(1 << 31), min((1 << 31) - 1, total))
        return total & 0xFFFFFFFF
    return dot


def dot_product(i):
    """The function of a row of A, a column of B (decoded) and a code of C that the instruction computes, or None."""
    name, k = i["instruction"], i["k"]
    a, b, c, d = i["a"], i["b"], i["c"], i["d"]
    family = re.match(r"wgmma|wmma|mma", name)
    if family is None or i["scale"] is not None:
        return None
    family = family.group()
    if i["sparse"] is not None and c != "s32":
        return None
    if a in ("s8", "u8") and b in ("s8", "u8") and (c, d) == ("s32", "s32"):
        return integers("satfinite" in name)
    if {a, b, c, d} == {"f64"}:
        mode = re.search(r"\.(rn|rz|rm|rp)\.", name)
        return fma_chain({"rn": "RNE", "rz": "RZ", "rm": "RD", "rp": "RU"}[mode.group(1) if mode else "rn"])
    if a == b == "f16" and (i["m"], i["n"], k) == (8, 8, 4):
        return software_k4(i)
    if c != d or d not in ("f32", "f16"):
        return None
    mode = "RZ" if d == "f32" else "RNE"
    if a in ("e4m3", "e5m2") and b in ("e4m3", "e5m2"):
        if family == "mma":
            return emulated_fp8(i)
        return tensor_core(i, F_FP8, FLOOR_FP8[d], 32, "e8m13" if d == "f32" else d, mode)
    if a == b and a in ("f16", "bf16", "tf32") and (d == "f32" or a == "f16"):
        # wmma runs tf32 as machine instructions of k = 4.
        group = 16 if a != "tf32" else 4 if family == "wmma" else 8
        return tensor_core(i, F_WIDE, FLOOR[d], group, d, mode)
    return None


def table(name):
    """Decoding, from a table where the codes are few."""
    if name in INTEGERS:
        bits, signed = INTEGERS[name]
        return lambda code: code - (1 << bits) if signed and code >> (bits - 1) else code
    if bits_of(name) == 8:
        return [decode(name, code) for code in range(256)].__getitem__
    return lambda code: decode(name, code)


def read(count):
    data = sys.stdin.buffer.read(count)
    if len(data) != count:
        sys.exit("the input ended early")
    return data


def codes(name, count):
    width = bits_of(name) // 8
    return struct.unpack(f"<{count}{CODES[width]}", read(width * count))


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def word(name):
    """What follows an option, if it is given."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv[:-1] else None


def option(name):
    """Whether an option is given, and the number after it if one is."""
    if name not in sys.argv:
        return None
    following = word(name) or ""
    return int(following) if following.isdigit() else True


def changed(fault, d, rows_of_codes, n, tile):
    """The outputs of a tile with a fault."""
    if fault == "chance":
        return [code ^ (random.random() < 0.01) for code in d]
    if fault == "above":
        return [code ^ (rows_of_codes[at // n - 1][0] & 1 if at >= n else 0) for at, code in enumerate(d)]
    if fault == "counter":
        return [code ^ (tile % 7 == 3) for code in d]
    return [code | 1 for code in d]


def serve(i, dot):
    m, n, k = i["m"], i["n"], i["k"]
    decode_a, decode_b = table(i["a"]), table(i["b"])
    length, kept = (i["sparse"]["length"], i["sparse"]["kept"]) if i["sparse"] else (1, 1)
    stored = k // length * kept
    d_code = CODES[bits_of(i["d"]) // 8]
    die_after, answered = option("--die-after"), 0
    fault, tally = word("--fault"), word("--tally")
    while count := struct.unpack("<I", read(4))[0]:
        if tally:
            with open(tally, "a") as file:
                file.write(f"{count}\n")
        a_codes = codes(i["a"], count * m * stored)
        a = [decode_a(code) for code in a_codes]
        b = [decode_b(code) for code in codes(i["b"], count * k * n)]
        c = codes(i["c"], count * m * n)
        # Which elements of B the stored ones of a row of A are multiplied by.
        positions = read(count * m * stored) if i["sparse"] else bytes(count * m * stored)
        chosen = [at % stored // kept * length + position for at, position in enumerate(positions)]
        while option("--hang"):
            time.sleep(1)
        for t in range(count):
            if die_after is not None and answered == die_after:
                sys.stderr.write("something broke\n")
                sys.exit(7)
            rows = [a[(t * m + row) * stored:(t * m + row + 1) * stored] for row in range(m)]
            picks = [chosen[(t * m + row) * stored:(t * m + row + 1) * stored] for row in range(m)]
            columns = [b[t * k * n + column:(t + 1) * k * n:n] for column in range(n)]
            d = [dot(rows[at // n], [columns[at % n][j] for j in picks[at // n]], c[t * m * n + at])
                 for at in range(m * n)]
            if fault:
                of_rows = [a_codes[(t * m + row) * stored:(t * m + row + 1) * stored] for row in range(m)]
                d = changed(fault, d, of_rows, n, answered)
            data = struct.pack(f"<{m * n}{d_code}", *d)
            if option("--short") and t == count - 1:
                write(data[:-1])
                return
            write(data + (b"\0" if option("--surplus") and t == count - 1 else b""))
            answered += 1


def main():
    i = json.loads(sys.stdin.buffer.readline())
    if option("--garbage"):
        write(b"Hello!\n")
        return
    dot = None if option("--refuse") or i["protocol"] != 1 else dot_product(i)
    if dot is None:
        write(json.dumps({"ok": False, "error": f"no arithmetic is known for {i['instruction']}"}).encode() + b"\n")
        return
    write(json.dumps({"ok": True, "name": "Hopper in Python integers"}).encode() + b"\n")
    while option("--deaf"):
        time.sleep(1)
    serve(i, dot)


main()
