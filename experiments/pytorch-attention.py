"""Captures attention of PyTorch on a GPU: each backend, bf16 and f16, causal and not.

    python3 experiments/pytorch-attention.py --out attention.safetensors
    tcnum attention attention.safetensors:f16.square.flash.o --q attention.safetensors:f16.square.q \
        --k attention.safetensors:f16.square.k --v attention.safetensors:f16.square.v

Needs the packages torch and numpy. The file has about 1.5 MB; the program prints a command of tcnum for each O. A backend that refuses a
case is left out, with its message.
"""

import argparse
import json
import struct

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
STORED = {torch.bfloat16: "BF16", torch.float16: "F16"}
# Name, heads, queries, keys, columns, and whether the causal mask is tried: PyTorch's begins at the upper left.
SHAPES = [
    ("square", 2, 128, 128, 64, True),
    ("odd", 2, 77, 77, 32, True),
    ("decode", 1, 1, 1000, 64, False),
]


def operands(kind, heads, queries, keys, columns, generator):
    def drawn(rows):
        return torch.randn(1, heads, rows, columns, generator=generator, dtype=torch.float64).to(TYPES[kind])

    return {"q": drawn(queries), "k": drawn(keys), "v": drawn(keys)}


def write(path, tensors, metadata):
    """A safetensors file, without its package."""
    header, position, pieces = {"__metadata__": metadata}, 0, []
    for name, tensor in tensors.items():
        data = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": STORED[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [position, position + len(data)],
        }
        position += len(data)
        pieces.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(pieces))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="attention.safetensors")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = torch.Generator().manual_seed(arguments.seed)
    tensors, commands = {}, []
    for kind in TYPES:
        for shape, heads, queries, keys, columns, tries_causal in SHAPES:
            given = operands(kind, heads, queries, keys, columns, generator)
            tensors.update({f"{kind}.{shape}.{name}": tensor for name, tensor in given.items()})
            on_gpu = [tensor.cuda() for tensor in given.values()]
            for backend, chosen in BACKENDS.items():
                for causal in (False, True) if tries_causal else (False,):
                    name = f"{kind}.{shape}.{backend}{'.causal' if causal else ''}.o"
                    try:
                        with torch.no_grad(), sdpa_kernel(chosen):
                            o = torch.nn.functional.scaled_dot_product_attention(*on_gpu, is_causal=causal)
                            torch.cuda.synchronize()
                    except RuntimeError as error:
                        print(f"# {name}: {str(error).splitlines()[0]}")
                        continue
                    tensors[name] = o.cpu()
                    files = " ".join(f"--{x} {arguments.out}:{kind}.{shape}.{x}" for x in "qkv")
                    commands.append(f"tcnum attention {arguments.out}:{name} {files}{' --causal' if causal else ''}")
    metadata = {
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),
        "gpu": torch.cuda.get_device_name(),
        "seed": str(arguments.seed),
    }
    write(arguments.out, tensors, metadata)
    print("\n".join(commands))


if __name__ == "__main__":
    main()
