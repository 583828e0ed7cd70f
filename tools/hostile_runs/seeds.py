"""The good files that a campaign damages: those of the repository, and those that the program writes."""

import json
import pathlib
import struct
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HALF = "mma.m8n8k4.f16.f16.f16.f16"
SPARSE = "mma.sp.m16n8k16.f16.f16.f16.f16"
SCALED = "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16"
WHOLE = "mma.m16n8k32.s32.s8.s8.s32"
WRONG = ["verify", "--instr", HALF, "--device", "model:volta", "--model", "ampere", "--cases", "1000", "--max-mismatches", "2"]

INSTRUCTION = b"""name = "rtl.m4n4k8.f32.e4m3.e4m3.f32"
m = 4
n = 4
k = 8
a = "e4m3"
b = "e4m3"
c = "f32"
d = "f32"
sparse = { length = 4, kept = 2 }
scale = { format = "e8m0", block = 8 }
spelling = "dot8"
"""


def npy(kind, order, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


def safetensors(tensors, metadata=None):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def seeds(program, folder):
    """Good files by kind: lists of (name, bytes)."""
    folder = pathlib.Path(folder)

    def tcnum(*arguments):
        done = subprocess.run([str(program), *arguments], cwd=folder, capture_output=True, check=False)
        assert done.returncode in (0, 1), (arguments, done)
        return done

    def written(*names):
        return [(name, (folder / name).read_bytes()) for name in names]

    def kept(pattern):
        return [(path.name, path.read_bytes()) for path in sorted(REPOSITORY.glob(pattern)) if path.stat().st_size < 100_000]

    for name, instruction, device in [
        ("half", HALF, "volta"), ("sparse", SPARSE, "ampere"), ("scaled", SCALED, "blackwell-rtx"), ("whole", WHOLE, "hopper"),
    ]:
        tcnum("record", "--instr", instruction, "--device", f"model:{device}", "--tiles", "2", "--out", f"{name}.safetensors")
    for shard in ("1", "2"):
        tcnum(*WRONG, "--shard", f"{shard}/2", "--output", "json", "--out", f"part-{shard}.json", "--checkpoint", f"{shard}.checkpoint",
              "--counterexamples", "found.safetensors")
    tcnum(*WRONG, "--checkpoint", "run.checkpoint", "--output", "json", "--out", "run.json", "--counterexamples", "found.safetensors")
    numbers = struct.pack("<12f", *(i * 0.37 - 2 for i in range(12)))
    arrays = [
        ("c.npy", npy("<f4", False, "(3, 4)", numbers)),
        ("fortran.npy", npy("<f4", True, "(2, 3, 2)", numbers)),
        ("halves.npy", npy("<f2", False, "(24,)", numbers)),
        ("doubles.npy", npy("<f8", False, "(6,)", numbers)),
        ("codes.npy", npy("|u1", False, "(48,)", numbers)),
        ("two.safetensors", safetensors(
            {"w": ("F32", [3, 4], numbers), "b": ("BF16", [24], numbers), "t": ("I64", [6], numbers), "e": ("F8_E4M3", [48], numbers)},
            {"format": "pt"},
        )),
        ("w.safetensors", safetensors({"w": ("F32", [3, 4], numbers)})),
    ]
    (folder / "w.safetensors").write_bytes(arrays[-1][1])
    tcnum("convert", "--input", "w.safetensors", "--to", "mxfp4", "--out", "blocks.safetensors")
    return {
        "trace": written("half.safetensors", "sparse.safetensors", "scaled.safetensors", "whole.safetensors", "found.safetensors"),
        "array": arrays,
        "blocks": written("blocks.safetensors"),
        "model": kept("models/*.toml") + kept("tests/corpus/model/*.toml"),
        "format": kept("tests/corpus/format/*.toml") + [
            ("e4m2.toml", b'name = "e4m2"\nexponent_bits = 4\ntrailing_bits = 2\nbias = 7\nzeros = "both"\nspecials = "all-ones-nan"\n'),
        ],
        "experiment": kept("tests/corpus/experiment/*.toml") + kept("experiments/*.toml"),
        "checkpoint": written("1.checkpoint", "2.checkpoint", "run.checkpoint"),
        "part": written("part-1.json", "part-2.json", "run.json", "1.checkpoint", "2.checkpoint"),
        "expected": [("add.txt", b"3C00 3C00 4000 00\nFC00 7C00 7E00 10\n\n0001 8001 0000 00\n")],
        "operations": [("add.txt", b"0x3c00 0.1\n-1.5e-3 0x1.8p-3\n3*2^-7 inf\nnan 1e9\n")],
        "instruction": [
            ("rtl.toml", INSTRUCTION),
            ("dense.toml", b'name = "mma.m4n4k16.f32.f16.f16.f32"\nm = 4\nn = 4\nk = 16\na = "f16"\nb = "f16"\nc = "f32"\nd = "f32"\nsaturate = false\n'),
        ],
    }
