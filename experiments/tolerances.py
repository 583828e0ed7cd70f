"""Tells which faulty kernels the tolerances of public test suites pass.

    python3 experiments/tolerances.py --tcnum tcnum --seed 1 --out tolerances.md

Needs NumPy and the command tcnum. `tolerances.csv` has a row for each tolerance: the test, its file and commit, the formats of A, B and D,
the shape, the distributions of A and B, scales, atol and rtol. `source` says what of the test is left out.

For each row the operands are drawn, rounded to their formats, and multiplied in float64. The faulty kernels of FAULTS are computed from
the same operands and rounded to D's format. A tolerance passes a kernel if |D - R| <= atol + rtol |R| in every element; R is the exact
product, rounded to D's format. A bound passes a kernel if |D - exact| is at most the bound of the element. There are two bounds: of any
instruction of Hopper in any order of k, relative to the sum of |a b|, and of one schedule, a `wgmma` in SCHEDULES. The second one is
e + u (|exact| + e): e is the bound of the sum in f32, relative to the sum of |a b|, and u the unit roundoff of D's format.

Scales: `absmax` divides each row of A and each column of B so that its largest magnitude is 448. A distribution draws one scale for
each row of A and each column of B. D is multiplied by the scales before it is rounded.
"""

import argparse
import csv
import json
import subprocess
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_suffix(".csv")
# Fraction bits, and the exponent of the smallest normal number.
FLOATS = {"f16": (10, -14), "bf16": (7, -126), "e4m3": (3, -6), "f32": (23, -126)}
LARGEST_E4M3 = 448.0
# Terms of a tile of k, and terms between two roundings of sums in f16.
TILE, STEP = 64, 16
# The schedule of the second bound, by the format of A.
SCHEDULES = {
    "f16": ["--instr", "wgmma.m64n8k16.f32.f16.f16"],
    "bf16": ["--instr", "wgmma.m64n8k16.f32.bf16.bf16"],
    "e4m3": ["--instr", "wgmma.m64n8k32.f32.e4m3.e4m3", "--promote", "128"],
}
HOW_TO_READ = """\
- A cell of a kernel has three results: of the tolerance, of the bound of any instruction in any order, of the bound of one schedule.
  `passes` means that the test finds nothing. A percentage is the share of elements that are refused; `all` is every element.
- The schedule is one `wgmma` with sums in f32, promoted every 128 terms for e4m3. Sums of s8 are exact. `bounds / sum` has the bound of
  its sums before they are rounded to D's format.
- `tolerance < bound` is the share of elements whose tolerance is below the bound of the schedule.
- `-`: k is too short for this fault.""".split("\n")
# Rounding of scaled sums in f32: two multiplications.
SCALING = 2.0**-23


def rounded(x, name):
    """Numbers of f64, rounded to nearest even in a format."""
    if name == "s8":
        return np.clip(np.rint(x), -128, 127)
    if name == "e4m3":
        x = np.clip(x, -LARGEST_E4M3, LARGEST_E4M3)
    if name == "f16":
        with np.errstate(over="ignore"):
            return x.astype(np.float16).astype(np.float64)
    fraction, smallest = FLOATS[name]
    exponent = np.maximum(np.frexp(x)[1] - 1, smallest)
    return np.ldexp(np.rint(np.ldexp(x, fraction - exponent)), exponent - fraction)


def drawn(text, shape, random):
    """Numbers of `normal(MEAN,DEVIATION)` or `uniform(LOW,HIGH)`."""
    kind, numbers = text.rstrip(")").split("(")
    first, second = (float(number) for number in numbers.split(","))
    return random.normal(first, second, shape) if kind == "normal" else random.uniform(first, second, shape)


def operands(row, random):
    """A and B in their formats, and the scales of D's rows and columns."""
    m, n, k = (int(row[key]) for key in ("m", "n", "k"))
    name_a, name_b, _ = row["formats"].split(".")
    a, b = drawn(row["a"], (m, k), random), drawn(row["b"], (k, n), random)
    scale_a, scale_b = np.ones((m, 1)), np.ones((1, n))
    if row["scales"] == "absmax":
        scale_a = np.abs(a).max(1, keepdims=True) / LARGEST_E4M3
        scale_b = np.abs(b).max(0, keepdims=True) / LARGEST_E4M3
        a, b = a / scale_a, b / scale_b
    elif row["scales"]:
        scale_a, scale_b = drawn(row["scales"], (m, 1), random), drawn(row["scales"], (1, n), random)
    return rounded(a, name_a), rounded(b, name_b), scale_a * scale_b


def half_sums(exact, a, b):
    """Sums rounded to f16 after every 16 terms; exact integers are never summed so."""
    total = np.zeros((a.shape[0], b.shape[1]))
    for first in range(0, a.shape[1], STEP):
        total = rounded(total + a[:, first : first + STEP] @ b[first : first + STEP], "f16")
    return total


def without(exact, a, b, first, last):
    return exact - a[:, first:last] @ b[first:last]


# The kernels: their sums, from the exact sums, A and B; None where k is too short.
FAULTS = {
    "zeros": lambda exact, a, b: np.zeros_like(exact),
    "no last tile": lambda exact, a, b: without(exact, a, b, -TILE, None) if a.shape[1] > TILE else None,
    "f16 sums": half_sums,
    "lost part": lambda exact, a, b: without(exact, a, b, a.shape[1] // 4, a.shape[1] // 2) if a.shape[1] > 3 else None,
    "next row": lambda exact, a, b: np.roll(exact, -1, 0),
}


def relative_bounds(tcnum, formats, k):
    """The largest bound of Hopper's instructions, and the bound of the sums of one schedule, relative to the sum of |a b|."""

    def asked(*claim):
        arguments = [tcnum, "bound", *claim, "--model", "hopper", "--k", str(k), "--output", "json", "--quiet"]
        answer = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
        return max(row["worst"] for row in answer["tables"]["bounds"])

    a, b, d = formats.split(".")
    if a == "s8":
        # Sums of s8 are exact in s32; the kernel rounds them to D itself.
        exact = asked("--formats", f"{a}.{b}.s32")
        return [exact + roundoff(d), exact]
    return [asked("--formats", formats), asked(*SCHEDULES[a])]


def roundoff(name):
    """The unit roundoff of a format."""
    return 2.0 ** -(FLOATS[name][0] + 1)


def result(row, tcnum, random):
    """The result of one tolerance: by kernel, the shares of elements that the tolerance and the bounds refuse."""
    d = row["formats"].split(".")[2]
    a, b, scales = operands(row, random)
    sums = a @ b
    exact = sums * scales
    reference = rounded(exact, d)
    magnitudes = (np.abs(a) @ np.abs(b)) * np.abs(scales)
    relative = relative_bounds(tcnum, row["formats"], int(row["k"]))
    anyhow, sums_error = [(own + SCALING) * magnitudes for own in relative]
    fraction, smallest = FLOATS[d]
    rounding = 0 if d == "f32" else np.maximum(roundoff(d) * (np.abs(exact) + sums_error), 2.0 ** (smallest - fraction - 1))
    bounds = [anyhow, sums_error + rounding]
    tolerance = float(row["atol"]) + float(row["rtol"]) * np.abs(reference)
    found = {
        "relative": relative,
        "bounds": [own.max() for own in bounds],
        "largest": np.abs(exact).max(),
        "below": np.mean(tolerance < bounds[1]),
    }
    for name, kernel in FAULTS.items():
        made = kernel(sums, a, b)
        if made is None:
            found[name] = None
            continue
        made = rounded(made * scales, d)
        refused = [~(np.abs(made - reference) <= tolerance)] + [~(np.abs(made - exact) <= own) for own in bounds]
        found[name] = [np.mean(own) for own in refused]
    return found


def percent(share):
    return ">99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.3g} %"


def cell(shares):
    """For the tolerance and each bound `passes`, or the share of elements that are refused."""
    if shares is None:
        return "-"
    return " / ".join("passes" if share == 0 else "all" if share == 1 else percent(share) for share in shares)


def document(rows, results, seed):
    """The result as Markdown: counts, then a row for each tolerance."""
    count = len(rows)
    lines = [
        "# Tolerances of public test suites against faulty kernels",
        "",
        f"`python3 experiments/tolerances.py --seed {seed}`: {count} tolerances of `experiments/tolerances.csv`.",
        "",
        *HOW_TO_READ,
        "",
        "| kernel | tried | tolerances that pass it | bounds of any order that pass it | bounds of one schedule that pass it |",
    ]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for fault in FAULTS:
        tried = [found[fault] for found in results if found[fault] is not None]
        passed = [sum(shares[at] == 0 for shares in tried) for at in range(3)]
        lines.append(f"| {fault} | {len(tried)} | {passed[0]} | {passed[1]} | {passed[2]} |")
    below = sum(found["below"] > 0 for found in results)
    lines += ["", f"In {below} of {count} tests some elements have a tolerance below the bound of the schedule.", ""]
    head = ["test", "formats", "m, n, k", "atol, rtol", "largest exact", "bounds / sum of \\|a b\\|", "largest bounds"]
    head += ["tolerance < bound", *FAULTS]
    lines.append("| " + " | ".join(head) + " |")
    lines.append("| --- | --- | --- | --- |" + " ---: |" * (len(head) - 4))
    for row, found in zip(rows, results):
        cells = [
            f"{row['repository']} `{row['name']}`",
            row["formats"],
            f"{row['m']}, {row['n']}, {row['k']}",
            f"{row['atol']}, {row['rtol']}",
            f"{found['largest']:.2g}",
            " / ".join(f"{own:.2g}" for own in found["relative"]),
            " / ".join(f"{own:.2g}" for own in found["bounds"]),
            percent(found["below"]),
            *(cell(found[fault]) for fault in FAULTS),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcnum", default="tcnum", help="the command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="file for the result; standard output by default")
    options = parser.parse_args()
    with open(TABLE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # Each row has numbers of its own, whichever rows come before it.
    results = [result(row, options.tcnum, np.random.default_rng([options.seed, at])) for at, row in enumerate(rows)]
    text = document(rows, results, options.seed)
    if options.out:
        Path(options.out).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
