"""NumPy's matrix product, by the BLAS of its build (OpenBLAS in the wheels of PyPI).

tcnum tree --instr gemm.m4n4k1000.f32 --device "exec:python3 examples/gemm/numpy_matmul.py"
"""

import protocol


def product(a, b):
    return protocol.numpy.matmul(a, b)


if __name__ == "__main__":
    numpy = protocol.numpy
    protocol.run(f"NumPy {numpy.__version__}, matmul" if numpy else "NumPy", product)
