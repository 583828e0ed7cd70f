"""A matrix product whose sums are those of numpy.sum: products, each rounded, added pairwise in blocks of 128.

tcnum tree --instr gemm.m1n1k1000.f32 --device "exec:python3 examples/gemm/numpy_sum.py"
"""

import protocol


def product(a, b):
    # The products of one element of D lie one after the other, as numpy.sum wants them.
    return protocol.numpy.ascontiguousarray(a[:, None, :] * b.T[None, :, :]).sum(axis=2)


if __name__ == "__main__":
    numpy = protocol.numpy
    protocol.run(f"NumPy {numpy.__version__}, sum" if numpy else "NumPy", product, ("f16", "f32", "f64"))
