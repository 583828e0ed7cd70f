"""@SUMMARY@

@DETAILS@

    python @FILE@ D.npy A.npy B.npy

compares files: exit status 0 if every element of D is within its tolerance, 1 if one is outside, 2 for wrong input. In a test with NumPy arrays
or PyTorch tensors:

    from @MODULE@ import assert_product

    assert_product(d, a, b)

Both take C, a bias and scales of blocks, too. The test needs NumPy alone. @ORIGIN@
"""

import argparse
import sys

import numpy as np

# Factors of the product and of C.
ALPHA, BETA = @ALPHA@, @BETA@
# |D - exact| is at most this times the sum of |a b|, by the terms of each sum (k). Empty: ATOL and RTOL count.
RELATIVE = @RELATIVE@
# |D - exact| <= ATOL + RTOL |exact|.
ATOL, RTOL = @ATOL@, @RTOL@
# Formats of files that hold codes.
FORMATS = @FORMATS@
# Matrices whose arrays hold their transposes.
TRANSPOSED = @TRANSPOSED@
# Rows and columns that share a scale.
SCALE_BLOCKS = @SCALE_BLOCKS@
nan, inf = float("nan"), float("inf")
# Types of formats whose codes may come as unsigned integers.
TYPES = {"f64": "f8", "f32": "f4", "tf32": "f4", "f16": "f2", "s8": "i1", "s32": "i4", "s64": "i8"}
# Values of the codes of formats that NumPy has no type for.
VALUES = @VALUES@


def numbers(x, name):
    """The elements of a PyTorch tensor, a NumPy array, or an array of codes, in float64."""
    if hasattr(x, "detach"):
        return x.detach().cpu().double().numpy()
    x = np.asarray(x)
    is_code, format = x.dtype.kind in "uV", FORMATS.get(name)
    if is_code and format in VALUES:
        return np.array(VALUES[format])[x.view(f"u{x.dtype.itemsize}")]
    if is_code and format == "bf16" and x.dtype.itemsize == 2:
        return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if is_code and format in TYPES and x.dtype.itemsize == np.dtype(TYPES[format]).itemsize:
        return x.view(TYPES[format]).astype(np.float64)
    return x.astype(np.float64)


def operand(x, name):
    """The elements of A or B, not transposed."""
    x = numbers(x, name)
    return x.swapaxes(-1, -2) if name in TRANSPOSED else x


def with_scales(x, scales, name):
    """The elements times the scales of their blocks."""
    if scales is None:
        return x
    scales = numbers(scales, name)
    for axis, size in zip((-2, -1), SCALE_BLOCKS[name]):
        scales = np.repeat(scales, size, axis=axis)
    return x * scales[..., : x.shape[-2], : x.shape[-1]]


def exact_product(a, b, c=None, bias=None, scale_a=None, scale_b=None):
    """The product in float64, and the sum of the magnitudes of the terms of each element."""
    a, b = with_scales(operand(a, "a"), scale_a, "scale_a"), with_scales(operand(b, "b"), scale_b, "scale_b")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"A is {a.shape} and B is {b.shape}: B needs as many rows as A has columns")
    exact, magnitudes = ALPHA * (a @ b), abs(ALPHA) * (np.abs(a) @ np.abs(b))
    for addend, factor, name in ((c, BETA, "c"), (bias, 1.0, "bias")):
        if addend is not None:
            addend = factor * numbers(addend, name)
            exact, magnitudes = exact + addend, magnitudes + np.abs(addend)
    if not np.isfinite(exact).all():
        raise ValueError("A, B or an addend holds a NaN or an infinity, or the product leaves float64")
    return exact, magnitudes


def allowed_error(exact, magnitudes, k, tolerance=None):
    """The tolerance of each element, with the errors of a product in float64."""
    if tolerance is None and RELATIVE:
        if k not in RELATIVE:
            raise ValueError(f"there is no bound for k = {k}; this test has k = {sorted(RELATIVE)}")
        tolerance = RELATIVE[k] * magnitudes
    elif tolerance is None:
        tolerance = ATOL + RTOL * np.abs(exact)
    return tolerance + (k + 8) * 2.0**-52 * magnitudes


def assert_product(d, a, b, c=None, bias=None, scale_a=None, scale_b=None, tolerance=None):
    """Raises AssertionError unless every element of D is within its tolerance of the exact product.

    `tolerance` is an array of one tolerance for each element, in place of the test's.
    """
    exact, magnitudes = exact_product(a, b, c, bias, scale_a, scale_b)
    d = numbers(d, "d")
    if d.shape != exact.shape:
        raise ValueError(f"D is {d.shape}, and A times B is {exact.shape}")
    allowed = allowed_error(exact, magnitudes, np.shape(a)[-2 if "a" in TRANSPOSED else -1], tolerance)
    if np.shape(allowed) != exact.shape:
        raise ValueError(f"the tolerances are {np.shape(allowed)}, and D is {d.shape}")
    error = np.abs(d - exact)
    # A NaN is outside.
    outside = ~(error <= allowed)
    if outside.any():
        excess = np.where(outside, np.where(np.isnan(error), inf, error - allowed), -inf)
        worst = np.unravel_index(np.argmax(excess), d.shape)
        raise AssertionError(
            f"{outside.sum()} of {d.size} elements are outside: the worst is D{[int(i) for i in worst]} = {d[worst]:.9g}, "
            f"exact {exact[worst]:.9g}, tolerance {allowed[worst]:.3g}"
        )


def main():
    parser = argparse.ArgumentParser(description="Compares D with the exact product of A and B.")
    for name in ("d", "a", "b"):
        parser.add_argument(name)
    for name in ("c", "bias", "scale_a", "scale_b", "tolerance"):
        parser.add_argument("--" + name.replace("_", "-"))
    files = vars(parser.parse_args())
    try:
        assert_product(**{name: np.load(file) for name, file in files.items() if file})
    except AssertionError as error:
        print(error)
        sys.exit(1)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    print("Every element of D is within its tolerance.")


if __name__ == "__main__":
    main()
