"""PyTorch's matrix product on a CPU, on one thread.

tcnum tree --instr gemm.m4n4k1000.f32 --device "exec:python3 examples/gemm/torch_matmul.py"
"""

import protocol

try:
    import torch
except ImportError:
    torch = None


def product(a, b):
    return torch.matmul(torch.from_numpy(a.copy()), torch.from_numpy(b.copy())).numpy()


if __name__ == "__main__":
    if torch:
        torch.set_num_threads(1)
    missing = None if torch else "PyTorch is not installed (pip install torch)"
    protocol.run(f"PyTorch {torch.__version__}, matmul on a CPU" if torch else "PyTorch", product, missing=missing)
