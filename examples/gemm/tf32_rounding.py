"""A library's conversion of f32 to tf32, seen in products with the identity.

usage: python3 examples/gemm/tf32_rounding.py      (needs PyTorch and a GPU of compute capability 8.0 or later)
"""

import torch

torch.backends.cuda.matmul.allow_tf32 = True
generator = torch.Generator().manual_seed(1)
print("factor rows columns | cut, to nearest away from zero, to nearest even, unchanged | of")
for m, n in ((16, 16), (64, 64), (64, 512), (512, 512), (2048, 2048), (4096, 4096)):
    codes = torch.randint(0, 1 << 23, (m, n), generator=generator, dtype=torch.int32) | 0x3F800000
    factor = codes.view(torch.float32).cuda()
    expected = (
        codes & ~0x1FFF,
        (codes + 0x1000) & ~0x1FFF,
        (codes + 0xFFF + ((codes >> 13) & 1)) & ~0x1FFF,
        codes,
    )
    for name, product in (("A", factor @ torch.eye(n, device="cuda")), ("B", torch.eye(m, device="cuda") @ factor)):
        found = product.cpu().view(torch.int32)
        print(name, m, n, "|", *(int((found == codes).sum()) for codes in expected), "|", found.numel())
print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)
