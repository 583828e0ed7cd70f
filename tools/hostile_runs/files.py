"""Valid files that commands name: files of the repository, and files that the program writes."""

import pathlib
import re
import struct
import subprocess

from .commands import HALF, SCALED, SPARSE, WHOLE, WIDE

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Each file, and the pattern of similar files that damage may start from.
KEPT = {
    "c.npy": ("tests/corpus/array/c.npy", "tests/corpus/array/*.npy"),
    "two.safetensors": ("tests/corpus/array/two.safetensors", "tests/corpus/trace/*.safetensors"),
    "blocks.safetensors": ("tests/corpus/array/blocks.safetensors", ""),
    "nvfp4.safetensors": ("tests/corpus/checkpoint/nvfp4.safetensors", ""),
    "blocks.gguf": ("tests/corpus/checkpoint/blocks.gguf", ""),
    "own.toml": ("tests/corpus/layout/own.toml", "layouts/*.toml"),
    "volta.toml": ("models/volta.toml", "models/*.toml"),
    "tree.toml": ("tests/corpus/model/tree.toml", "models/*.toml"),
    "e3m4.toml": ("tests/corpus/format/e3m4.toml", ""),
    "chain.toml": ("tests/corpus/experiment/chain.toml", "experiments/*.toml"),
    "half.toml": ("schemes/half.toml", "schemes/*.toml"),
    "after.json": ("reports/h200/probe-bf16-accumulate.json", "reports/*/*.json"),
    "expected.txt": ("tests/corpus/lines/add.txt", ""),
    "operands.txt": ("tests/corpus/operations/add.txt", ""),
    "device": ("examples/exec/sequential.py", ""),
}
MOST_BYTES = 100_000
NUMBERS = struct.pack("<12f", *(i * 0.37 - 2 for i in range(12)))
INSTRUCTION = b"""name = "rtl.m4n4k8.f32.e4m3.e4m3.f32"
m = 4
n = 4
k = 8
a = "e4m3"
b = "e4m3"
c = "f32"
d = "f32"
spelling = "dot8"
"""


def safetensors(tensors):
    """Builds a safetensors file from names mapped to (type, shape, bytes)."""
    entries, data = [], b""
    for name, (kind, shape, content) in tensors.items():
        entries.append(f'"{name}":{{"dtype":"{kind}","shape":{shape},"data_offsets":[{len(data)},{len(data) + len(content)}]}}')
        data += content
    header = ("{" + ",".join(entries) + "}").encode()
    return struct.pack("<Q", len(header)) + header + data


def good_files(program, folder):
    """Returns, by name, the valid file and similar files as lists of bytes. The same program writes the same bytes."""
    folder = pathlib.Path(folder)

    def tcnum(*words):
        done = subprocess.run([str(program), *words], cwd=folder, capture_output=True, check=False)
        assert done.returncode in (0, 1), (words, done)

    files = {
        "numbers.txt": [b"0.1\n-1.5e-3\n0x1.8p-3\n1e9\nnan\n"],
        "rtl.toml": [INSTRUCTION],
        # A model that works for every instruction.
        "any.toml": [re.sub(rb"instructions = \[[^\]]*\]", b'instructions = ["*"]', (REPOSITORY / KEPT["tree.toml"][0]).read_bytes())],
        "x.safetensors": [safetensors({"a": ("F32", [2, 6], NUMBERS), "b": ("F32", [6, 2], NUMBERS[::-1])})],
        "big.safetensors": [safetensors({"w": ("F16", [512, 4096], bytes(range(0, 120)) * (512 * 4096 * 2 // 120) + bytes(64))})],
    }
    for name, (path, others) in KEPT.items():
        paths = sorted(REPOSITORY.glob(others)) if others else []
        files[name] = [path.read_bytes() for path in [REPOSITORY / path, *paths] if path.stat().st_size < MOST_BYTES]
    (folder / "x.safetensors").write_bytes(files["x.safetensors"][0])
    for name, instruction, device in [("half", HALF, "volta"), ("sparse", SPARSE, "ampere"), ("scaled", SCALED, "blackwell-rtx"), ("whole", WHOLE, "hopper")]:
        tcnum("record", "--instr", instruction, "--device", f"model:{device}", "--tiles", "2", "--out", f"{name}.safetensors")
    for shard in "12":
        tcnum("verify", "--instr", HALF, "--device", "model:volta", "--model", "ampere", "--cases", "1000", "--max-mismatches", "2",
              "--shard", f"{shard}/2", "--checkpoint", f"{shard}.checkpoint", "--output", "json", "--out", f"part-{shard}.json",
              "--counterexamples", "found.safetensors")
    tcnum("gemm", "compute", "--a", "x.safetensors:a", "--b", "x.safetensors:b", "--quantise", "--instr", WIDE, "--device", "model:hopper", "--split-k", "2",
          "--schedule-out", "schedule.toml", "--out", "d.npy")
    tcnum("probe", "--fmt", "bf16", "--op", "accumulate", "--device", "model:hopper", "--output", "json", "--out", "before.json")
    for path in sorted(folder.iterdir()):
        # Durations differ between runs and are removed.
        timeless = re.sub(rb'("(?:seconds|rate)": *)[0-9.e+-]+', rb"\g<1>0.5", path.read_bytes())
        files.setdefault(path.name, [timeless])
    files["before.json"] += files["after.json"][1:]
    traces = ["half.safetensors", "sparse.safetensors", "scaled.safetensors", "whole.safetensors", "found.safetensors"]
    for name in traces:
        files[name] += [files[other][0] for other in traces if other != name]
    return files
