"""Checks of the generator of units, for `tools/campaign --self-test`."""

import json
import struct
import subprocess
from fractions import Fraction


def ask(units, seed, verb):
    return subprocess.run([units, "--seed", str(seed), verb], check=True, capture_output=True, text=True).stdout


def session(units, seed, instruction, tiles, a, b, c):
    """The bytes that a unit answers to one batch, after its first line."""
    greeting = json.dumps({"protocol": 2, "name": instruction}, separators=(",", ":")) + "\n"
    question = greeting.encode() + struct.pack("<I", tiles) + a + b + c + struct.pack("<I", 0)
    done = subprocess.run([units, "--seed", str(seed)], input=question, capture_output=True, check=True)
    line, _, answer = done.stdout.partition(b"\n")
    return json.loads(line), answer


def bf16(code):
    return Fraction(struct.unpack("<f", struct.pack("<I", code << 16))[0])


def f32(code):
    return Fraction(struct.unpack("<f", struct.pack("<I", code))[0])


def rounded(x, mode):
    """The f32 code of a fraction that is not zero: the nearest, ties to even, or by RZ; infinity from 2^128 on."""
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, -126)
    significand = abs(x) / Fraction(2) ** (exponent - 23)
    # Python rounds fractions to the even one of two neighbours.
    significand = round(significand) if mode == "RNE" else int(significand)
    return (x < 0) << 31 | min((exponent + 126 << 23) + significand, 0xFF << 23)


def fma_chain(a, b, c, mode):
    for x, y in zip(a, b):
        total = bf16(x) * bf16(y) + f32(c)
        c = rounded(total, mode) if total else 0
        if c & 0x7FFFFFFF == 0xFF << 23:
            return c
    return c


def draws(count, bits, seed, top):
    """Codes without NaN and infinity, drawn by a linear congruence."""
    codes = []
    while len(codes) < count:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        code = seed >> (64 - bits)
        if code & top != top:
            codes.append(code)
    return codes


def check_fma(units):
    """Units that are IEEE chains of FMAs against fractions."""
    tested = {"RNE": 0, "RZ": 0}
    for seed in range(5000):
        if min(tested.values()) > 5000:
            return
        design = json.loads(ask(units, seed, "--describe"))
        words = design["words"]
        mode = next((mode for mode in tested if f"c with the products; register f32 {mode}; D {mode}" in words), None)
        if design["style"] != "chain of FMAs" or design["a"] != "bf16" or mode is None:
            continue
        if any(other in words for other in ("lanes", "subnormals", "flushed", "largest", "no specials")):
            continue
        m, n, k, tiles = design["m"], design["n"], design["k"], 60
        a, b = draws(tiles * m * k, 16, 1, 0x7F80), draws(tiles * k * n, 16, 2, 0x7F80)
        c = draws(tiles * m * n, 32, 3, 0x7F800000)
        # The second half of the tiles has values near 1, whose sums cancel and round.
        a[len(a) // 2 :] = [(x & 0x81FF) + 0x3F00 for x in a[len(a) // 2 :]]
        b[len(b) // 2 :] = [(x & 0x81FF) + 0x3F00 for x in b[len(b) // 2 :]]
        c[len(c) // 2 :] = [(x & 0x81FFFFFF) + 0x3F000000 for x in c[len(c) // 2 :]]
        operands = (struct.pack(f"<{len(codes)}{letter}", *codes) for codes, letter in ((a, "H"), (b, "H"), (c, "I")))
        _, answer = session(units, seed, design["instruction"], tiles, *operands)
        found = struct.unpack(f"<{len(c)}I", answer)
        finite = 0
        for at, code in enumerate(found):
            tile, row, column = at // (m * n), at // n % m, at % n
            row_of_a = a[(tile * m + row) * k :][:k]
            column_of_b = [b[(tile * k + i) * n + column] for i in range(k)]
            expected = fma_chain(row_of_a, column_of_b, c[at], mode)
            finite += expected & 0x7F800000 != 0x7F800000
            # The sign of zero is a decision of its own; an infinity meets later products.
            same = expected == code or expected & 0x7FFFFFFF == code & 0x7FFFFFFF == 0 or expected & 0x7F800000 == code & 0x7F800000 == 0x7F800000
            assert same, f"seed {seed}, output {at}: {code:#x}, but fractions give {expected:#x}"
        assert finite > len(found) // 2
        tested[mode] += len(found)
    raise AssertionError(f"the seeds below 5000 have too few IEEE chains of FMAs: {tested}")


def check_repeats(units):
    """The same seed draws the same unit, which gives the same answers, in whatever batch."""
    sizes = {"s32": 4, "f32": 4, "tf32": 4, "f16": 2, "bf16": 2}
    styles = set()
    for seed in range(60):
        design = json.loads(ask(units, seed, "--describe"))
        assert ask(units, seed, "--describe") == ask(units, seed, "--describe")
        assert design["instruction"] in ask(units, seed, "--instruction")
        styles.add(design["style"])
        m, n, k = design["m"], design["n"], design["k"]
        counts = {"a": m * k, "b": k * n, "c": m * n}
        # 4-bit formats have their codes in a byte.
        top = 15 if design["a"] in ("e2m1", "s4", "u4") else 255
        tiles = []
        for tile in range(2):
            part = {}
            for operand, count in counts.items():
                size = sizes.get(design[operand], 1)
                mask = top if operand != "c" else 255
                part[operand] = bytes(code & mask for code in draws(count * size, 8, 10 * seed + tile, 256))
            tiles.append(part)
        both = session(units, seed, design["instruction"], 2, *(tiles[0][x] + tiles[1][x] for x in "abc"))
        alone = [session(units, seed, design["instruction"], 1, *(tile[x] for x in "abc")) for tile in tiles]
        assert both[0]["ok"] and both[1] == alone[0][1] + alone[1][1], f"seed {seed} does not repeat itself"
        assert len(both[1]) == 2 * m * n * sizes[design["d"]]
        refused, answer = session(units, seed, "mma.m16n8k8.f32.f16.f16.f32", 0, b"", b"", b"")
        assert not refused["ok"] and not answer
    assert len(styles) == 8, f"60 seeds draw only {styles}"


def all_of(units):
    check_repeats(units)
    check_fma(units)
