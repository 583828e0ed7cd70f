"""Captures products of PyTorch, Triton, CuPy and JAX on a GPU, of drawn shapes and numbers.

    python3 experiments/library-products.py --count 300 --seed 1 --out products.safetensors
    tcnum gemm match --match-all products.safetensors

Needs the packages tcnum, torch, triton, cupy and jax; --only NAME,... tries the kinds whose names begin so. KINDS has a row for each
kind of product; the products go to the kinds in turn.
"""

import argparse
import os
import random

# JAX takes most of the memory of a GPU, unless it is told not to.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import tcnum
import torch
import triton
import triton.language as tl

E4M3 = torch.float8_e4m3fn
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64, "e4m3": E4M3}
JAX_TYPES = {torch.bfloat16: "bfloat16", torch.float16: "float16", torch.float32: "float32"}
SIZES = (1, 8, 16, 24, 64, 100, 128, 200, 256, 512, 1000, 1024, 2048)
TERMS = (64, 100, 128, 256, 500, 512, 777, 1000, 1024, 2048, 3000, 4096, 7168, 8192)
# Rows and columns of FP8 are multiples of 16, as PyTorch wants them.
MULTIPLE = 16
MATMUL = torch.backends.cuda.matmul


@triton.jit
def triton_kernel(A, B, D, M, N, K, PRECISION: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for first in range(0, K, STEP):
        k = first + tl.arange(0, STEP)
        a = tl.load(A + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + columns[None, :], mask=(k[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(D + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


def mm(draw, product):
    a, b = draw.pair()
    product(lambda: a @ b, a, b)


def linear(draw, product):
    a, b = draw.pair()
    weights, bias = b.t().contiguous(), draw.normal(b.shape[1])
    product(lambda: torch.nn.functional.linear(a, weights, bias), a, weights.t(), bias=bias)


def addmm(draw, product):
    a, b = draw.pair()
    c = draw.normal(a.shape[0], b.shape[1])
    product(lambda: torch.addmm(c, a, b), a, b, c=c)


def bmm(draw, product):
    m, n, k = (min(extent, 1024) for extent in draw.extents)
    a, b = draw.normal(3, m, k), draw.normal(3, k, n)
    product(lambda: torch.bmm(a, b), a, b)


def scaled_mm(draw, product, by_row=False, fast=False, output=torch.bfloat16):
    m, n, k = (-(-extent // MULTIPLE) * MULTIPLE for extent in draw.extents)
    a, b = draw.normal(m, k), draw.normal(n, k).t()
    scale_a, scale_b = draw.scales(m if by_row else 1, 1), draw.scales(1, n if by_row else 1)
    options = {"scale_a": scale_a, "scale_b": scale_b, "out_dtype": output, "use_fast_accum": fast}
    product(lambda: torch._scaled_mm(a, b, **options), a, b, scale_a=scale_a, scale_b=scale_b)


def dot(draw, product, precision="ieee"):
    a, b = draw.pair()
    (m, k), n = a.shape, b.shape[1]
    d = torch.empty(m, n, device="cuda", dtype=torch.float32)
    block, step = 64, draw.random.choice((32, 64))

    def launch():
        grid = (triton.cdiv(m, block), triton.cdiv(n, block))
        triton_kernel[grid](a, b, d, m, n, k, precision, block, step)
        return d

    product(launch, a, b, call=f"triton dot, {precision}, block of k {step}")


def cupy_matmul(draw, product):
    import cupy

    a, b = (cupy.asarray(x.cpu().numpy()) for x in draw.pair())
    product(lambda: a @ b, a, b)


def jax_dot(draw, product, precision=None, output=None):
    import jax

    pair = draw.pair()
    kind = getattr(jax.numpy, JAX_TYPES[pair[0].dtype])
    a, b = (jax.numpy.asarray(x.cpu().to(torch.float32).numpy()).astype(kind) for x in pair)
    output = output and getattr(jax.numpy, output)
    compiled = jax.jit(lambda a, b: jax.numpy.matmul(a, b, precision=precision, preferred_element_type=output))
    product(lambda: compiled(a, b), a, b)


# Name, type of A and B, function, its options, and settings of PyTorch.
KINDS = [
    ("mm-bf16", "bf16", mm, {}, {}),
    ("mm-f16", "f16", mm, {}, {}),
    ("mm-tf32", "f32", mm, {}, {"allow_tf32": True}),
    ("mm-f32", "f32", mm, {}, {}),
    ("mm-f64", "f64", mm, {}, {}),
    ("mm-f16-in-f16", "f16", mm, {}, {"allow_fp16_accumulation": True}),
    ("linear-bf16", "bf16", linear, {}, {}),
    ("linear-f16", "f16", linear, {}, {}),
    ("linear-f32", "f32", linear, {}, {}),
    ("addmm-bf16", "bf16", addmm, {}, {}),
    ("addmm-f32", "f32", addmm, {}, {}),
    ("bmm-bf16", "bf16", bmm, {}, {}),
    ("bmm-tf32", "f32", bmm, {}, {"allow_tf32": True}),
    ("scaled-tensor-bf16", "e4m3", scaled_mm, {}, {}),
    ("scaled-tensor-fast-f32", "e4m3", scaled_mm, {"fast": True, "output": torch.float32}, {}),
    ("scaled-row-fast-bf16", "e4m3", scaled_mm, {"by_row": True, "fast": True}, {}),
    ("triton-bf16", "bf16", dot, {}, {}),
    ("triton-tf32", "f32", dot, {"precision": "tf32"}, {}),
    ("triton-tf32x3", "f32", dot, {"precision": "tf32x3"}, {}),
    ("triton-f32", "f32", dot, {}, {}),
    ("cupy-f16", "f16", cupy_matmul, {}, {}),
    ("cupy-f32", "f32", cupy_matmul, {}, {}),
    ("cupy-f64", "f64", cupy_matmul, {}, {}),
    ("jax-bf16", "bf16", jax_dot, {}, {}),
    ("jax-bf16-f32", "bf16", jax_dot, {"output": "float32"}, {}),
    ("jax-f16", "f16", jax_dot, {}, {}),
    ("jax-f32", "f32", jax_dot, {}, {}),
    ("jax-f32-highest", "f32", jax_dot, {"precision": "highest"}, {}),
]


class Draw:
    """The extents and numbers of a product."""

    def __init__(self, kind, seed):
        self.random, self.type = random.Random(seed), TYPES[kind]
        self.generator = torch.Generator().manual_seed(seed)
        self.extents = (self.random.choice(SIZES), self.random.choice(SIZES), self.random.choice(TERMS))

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64).to(self.type).cuda()

    def scales(self, *shape):
        return torch.rand(*shape, generator=self.generator).add(0.1).cuda()

    def pair(self):
        m, n, k = self.extents
        return self.normal(m, k), self.normal(k, n)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", default="products.safetensors")
    parser.add_argument("--only", default="", help="beginnings of the names of kinds")
    options = parser.parse_args()
    kinds = [row for row in KINDS if row[0].startswith(tuple(options.only.split(",")))]
    failed = 0
    with tcnum.Captures(options.out) as file:
        for number in range(options.count):
            name, kind, function, arguments, settings = kinds[number % len(kinds)]
            draw = Draw(kind, options.seed * 1_000_000 + number)
            before = {key: getattr(MATMUL, key) for key in settings}
            for key, value in settings.items():
                setattr(MATMUL, key, value)

            def product(f, a, b, call=name, **others):
                tcnum.capture(f, a, b, file=file, name=f"{number:03}-{name}", call=call, **others)

            try:
                function(draw, product, **arguments)
            except (RuntimeError, NotImplementedError, tcnum.RequestError) as error:
                failed += 1
                print(f"{name} {draw.extents}: {error}")
            for key, value in before.items():
                setattr(MATMUL, key, value)
    print(f"{options.count - failed} products are in {options.out}; {failed} failed.")


if __name__ == "__main__":
    main()
