"""Inputs of about 100 MB, and the commands that read them (large.txt).

As a script, makes the named files: python3 tools/hostile_runs/large.py PROGRAM FOLDER NAME...
"""

import os
import pathlib
import random
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from hostile_runs import files  # noqa: E402
from hostile_runs.commands import HALF  # noqa: E402

BYTES = 100_000_000
# A number in so many digits that a file of them has fewer lines than a report may have rows.
TENTH = b"0.1000000000000000055511151231257827021181583404541015625"
COMMANDS = pathlib.Path(__file__).with_name("large.txt").read_text().split("\n")
# The verbs that have no large input: they end at once.
AT_ONCE = next(line[9:].split(", ") for line in COMMANDS if line.startswith("at once: "))
COMMANDS = "\n".join(line for line in COMMANDS if line and not line.startswith(("#", "at once: ")))


def repeated(data, size):
    return (data * (size // len(data) + 1))[:size]


def numbers(kind, count, seed):
    """Normal numbers as bytes of bf16 or f32; a hundred thousand of them are repeated."""
    r = random.Random(seed)
    some = [struct.pack("<f", r.gauss(0, 1)) for _ in range(99_991)]
    width = {"BF16": 2, "F32": 4}[kind]
    return repeated(b"".join(number[-width:] for number in some), width * count)


def matrices(m, n, k):
    """A, B and a D that is no product of them."""
    shapes = {"a": ("BF16", m, k), "b": ("BF16", k, n), "d": ("F32", m, n)}
    return {name: (kind, [rows, columns], numbers(kind, rows * columns, name)) for name, (kind, rows, columns) in shapes.items()}


def values():
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (6144, 4096), }".ljust(117) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + numbers("F32", 6144 * 4096, 0)


def checkpoint():
    return files.safetensors({f"model.layers.{i}.mlp.up_proj.weight": ("BF16", [1024, 1024], numbers("BF16", 1 << 20, i)) for i in range(48)})


def result():
    """A result with its rows repeated."""
    text = (files.REPOSITORY / files.KEPT["after.json"][0]).read_text()
    start = text.index("\n      {") + 1
    end = text.index("\n    ]", start)
    return (text[:end] + repeated(",\n" + text[start:end], BYTES // (end - start) * (end - start + 2)) + text[end:]).encode()


def recorded(program, folder):
    """A recording, written by the program."""
    made = os.path.join(folder, "made.safetensors")
    words = ["record", "--instr", HALF, "--device", "model:volta", "--tiles", str(BYTES // 384), "--out", made]
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return made


# How each file is made.
FILES = {
    "values.npy": values,
    "checkpoint.safetensors": checkpoint,
    "square.safetensors": lambda: files.safetensors(matrices(4096, 4096, 4096)),
    "wrong.safetensors": lambda: files.safetensors(matrices(400, 400, 400)),
    "long.safetensors": lambda: files.safetensors(matrices(129, 65, 20_000)),
    "operands": lambda: repeated(TENTH + b" -1.5e-3\n" + TENTH + b" 0x1.8p-3\n", BYTES),
    "expected": lambda: repeated(b"3c00 4000 4200 00\n", BYTES // 18 * 18),
    "numbers": lambda: repeated(TENTH + b"\n-" + TENTH + b"\n", BYTES),
    "result.json": result,
    "tiles.safetensors": None,
    "chain.toml": lambda: (files.REPOSITORY / files.KEPT["chain.toml"][0]).read_bytes(),
    "device": lambda: (files.REPOSITORY / files.KEPT["device"][0]).read_bytes(),
}


def make(program, folder, name):
    """Makes a file in a folder, unless it is there."""
    path = os.path.join(folder, name)
    if os.path.exists(path):
        return path
    if name == "tiles.safetensors":
        os.rename(recorded(program, folder), path)
        return path
    pathlib.Path(path + ".part").write_bytes(FILES[name]())
    os.chmod(path + ".part", 0o755)
    os.rename(path + ".part", path)
    return path


if __name__ == "__main__":
    for each in sys.argv[3:]:
        make(sys.argv[1], sys.argv[2], each)
