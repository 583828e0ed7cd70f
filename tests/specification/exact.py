"""Exact binary numbers, their codes, and the session of an exec: device, for the programs of this folder. Nothing of tcnum."""

import json
import struct
import sys

# Exponent bits, fraction bits, whether the last exponent holds infinities (else one NaN of each sign).
FORMATS = {
    "f64": (11, 52, True),
    "f32": (8, 23, True),
    "f16": (5, 10, True),
    "bf16": (8, 7, True),
    "e5m2": (5, 2, True),
    "e4m3": (4, 3, False),
}
LETTERS = {64: "Q", 32: "I", 16: "H", 8: "B"}


def bits(name):
    exponent_bits, fraction_bits, _ = FORMATS[name]
    return 1 + exponent_bits + fraction_bits


def bias(name):
    return (1 << FORMATS[name][0] - 1) - 1


class Number:
    """A code, taken apart. A finite value is `magnitude` * 2^`unit`, and `negative` its sign; `exponent` is at least the least normal one."""

    __slots__ = ("negative", "nan", "infinite", "magnitude", "unit", "exponent")

    def __init__(self, name, code):
        exponent_bits, fraction_bits, has_infinities = FORMATS[name]
        last = (1 << exponent_bits) - 1
        field, fraction = code >> fraction_bits & last, code & (1 << fraction_bits) - 1
        self.negative = bool(code >> exponent_bits + fraction_bits & 1)
        special = field == last and (has_infinities or fraction == (1 << fraction_bits) - 1)
        self.infinite = special and has_infinities and fraction == 0
        self.nan = special and not self.infinite
        self.magnitude = fraction | (field != 0) << fraction_bits
        self.exponent = max(field, 1) - bias(name)
        self.unit = self.exponent - fraction_bits

    @property
    def zero(self):
        return self.magnitude == 0 and not self.nan and not self.infinite

    @property
    def signed(self):
        return -self.magnitude if self.negative else self.magnitude


def sign_of(name, negative):
    return negative << bits(name) - 1


def infinity(name, negative):
    exponent_bits, fraction_bits, _ = FORMATS[name]
    return sign_of(name, negative) | (1 << exponent_bits) - 1 << fraction_bits


def largest(name, negative):
    return infinity(name, negative) - 1


def default_nan(name):
    """The quiet NaN with a clear sign and one set bit of payload."""
    return infinity(name, False) | 1 << FORMATS[name][1] - 1


def total(terms):
    """The exact sum of pairs (integer, unit), as such a pair."""
    least = min(unit for _, unit in terms)
    return sum(value << unit - least for value, unit in terms), least


def rounded(name, value, unit, rounding="nearest", overflow=infinity):
    """Code of the number value * 2^unit, which is not zero, rounded to nearest even or to odd; `overflow` gives what lies beyond the range."""
    exponent_bits, fraction_bits, _ = FORMATS[name]
    negative, magnitude = value < 0, abs(value)
    exponent = max(magnitude.bit_length() - 1 + unit, 1 - bias(name))
    dropped = exponent - fraction_bits - unit
    if dropped <= 0:
        kept = magnitude << -dropped
    else:
        kept, rest, half = magnitude >> dropped, magnitude & (1 << dropped) - 1, 1 << dropped - 1
        if rounding == "odd":
            kept |= rest != 0
        elif rest > half or rest == half and kept & 1:
            kept += 1
    # A carry into the next exponent leaves a fraction of zeros.
    code = (exponent + bias(name) - 1 << fraction_bits) + kept
    if code >= infinity(name, False):
        return overflow(name, negative)
    return sign_of(name, negative) | code


def read(count):
    """Reads `count` bytes; ends the session at the end of the input."""
    data = sys.stdin.buffer.read(count)
    if len(data) != count:
        sys.exit(0 if not data else "the input ended within a batch")
    return data


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def codes(name, count):
    letter = LETTERS[bits(name)]
    return struct.unpack(f"<{count}{letter}", read(struct.calcsize(letter) * count))


def session(title, model, dot_of):
    """Answers one session.

    `dot_of` gives, for the offered instruction, a function of a row of A, a column of B and c, or `None`. With one e8m0 scale for the whole k, the
    function has the scales of the row and of the column, too.
    """
    offer = json.loads(sys.stdin.buffer.readline())
    scaled = offer["scale"] == {"format": "e8m0", "block": offer["k"]}
    known = offer["sparse"] is None and all(offer[operand] in FORMATS for operand in "abcd")
    dot = dot_of(offer) if known and (scaled or offer["scale"] is None) else None
    if dot is None:
        answer = {"protocol": 2, "ok": False, "error": f"the text of this program does not describe {offer['name']}"}
        return write(json.dumps(answer).encode() + b"\n")
    write(json.dumps({"protocol": 2, "ok": True, "name": title, "model": model}).encode() + b"\n")
    m, n, k = offer["m"], offer["n"], offer["k"]
    while tiles := struct.unpack("<I", read(4))[0]:
        a, b, c = codes(offer["a"], tiles * m * k), codes(offer["b"], tiles * k * n), codes(offer["c"], tiles * m * n)
        scales = [read(tiles * count) for count in (m, n)] if scaled else None
        d = []
        for at, addend in enumerate(c):
            tile, row, column = at // (m * n), at // n, at % n
            factors = a[row * k:(row + 1) * k], b[tile * k * n + column:(tile + 1) * k * n:n]
            of_element = [scales[0][row], scales[1][tile * n + column]] if scaled else []
            d.append(dot(*factors, addend, *of_element))
        write(struct.pack(f"<{len(d)}{LETTERS[bits(offer['d'])]}", *d))
