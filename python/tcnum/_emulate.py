"""Matrix products of more precision than a unit's operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import operand
from ._commands import DeviceLike
from ._convert import values_of
from ._devices import FunctionDevice, Lent, resolved
from ._tcnum import RequestError, emulated, find_format


def emulate(
    a: Any,
    b: Any,
    scheme: str = "cublas-fp64",
    *,
    c: Any = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    device: DeviceLike = "model:hopper",
    timeout: int = 60,
) -> np.ndarray:
    """Computes D = alpha*A*B + beta*C in f64 or f32 by a scheme of products in small formats.

    Args:
        a, b: matrices of m x k and k x n values, or batches of them in three dimensions.
        scheme: a name of `tcnum emulate`, such as "cublas-fp64" or "ozaki-int8-f64:9", or a file.
        c: an addend of m x n values; alpha, beta: the factors. Schemes with an epilogue take them.
        device: computes the products in small formats.
        timeout: seconds for one answer of a program.

    Returns D, in float64 where the scheme emulates f64, else in float32.

    Raises RequestError for shapes that do not fit, and for operands that the scheme does not take.

    >>> import numpy as np, tcnum
    >>> x = np.random.default_rng(0).standard_normal((4, 100))
    >>> d = tcnum.emulate(x, x.T, "cublas-fp64:7")
    >>> d.dtype, bool(np.allclose(d, x @ x.T, rtol=1e-13))
    (dtype('float64'), True)
    >>> bool(tcnum.emulate(x, x.T, "cublas-fp64:1")[0, 0] == d[0, 0])
    False
    """
    if not isinstance(scheme, str):
        raise TypeError(f"the name of a scheme is a string, not {type(scheme).__name__}")
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if isinstance(factor, bool) or not isinstance(factor, (int, float, np.integer, np.floating)):
            raise TypeError(f"{name} is a number, not {type(factor).__name__}")
    if isinstance(timeout, bool) or not isinstance(timeout, int) or not 1 <= timeout <= 604800:
        raise TypeError("timeout is a whole number of seconds, up to a week")
    x, y = _Numbers(a, "a"), _Numbers(b, "b")
    z = None if c is None else _Numbers(c, "c")
    for name, other in (("b", y), ("c", z)):
        if other is not None and other.batch != x.batch:
            raise RequestError(f"a holds {_words(x.batch)} and {name} {_words(other.batch)}; both need as many")
    taken: list[FunctionDevice] = []
    place = resolved(device, taken)
    functions = [Lent(own) for own in taken]
    factors = (float(alpha), float(beta) if z is not None else 0.0)
    batch = 1 if x.batch is None else x.batch
    d, format = emulated(scheme, x, y, z, factors, batch, place, functions, timeout)
    shape = (x.rows // batch, y.columns) if x.batch is None else (batch, x.rows // batch, y.columns)
    return d.reshape(shape).astype(np.float32 if format == "f32" else np.float64, copy=False)


class _Numbers:
    """Stacked matrices of values, as the compiled part takes them."""

    def __init__(self, given: Any, name: str) -> None:
        array, format = operand(given, name)
        if format is None:
            raise RequestError(f"{name} holds codes; decode them with tcnum.decode")
        if array.ndim not in (2, 3) or 0 in array.shape:
            raise RequestError(f"{name} has the shape {array.shape}; expected m x k elements, or batch x m x k")
        exact = values_of(array, find_format(format)) if array.dtype.kind == "u" else array
        numbers = np.ascontiguousarray(exact, np.float64)
        if exact.dtype.kind == "i" and exact.dtype.itemsize == 8 and not (np.abs(exact) <= 2**53).all():
            raise RequestError(f"{name} has integers beyond 2^53, which f64 may not have")
        self.batch = array.shape[0] if array.ndim == 3 else None
        self.rows, self.columns = array.shape[-2] * (self.batch or 1), array.shape[-1]
        self.values = numbers.reshape(-1)


def _words(batch: int | None) -> str:
    return "one matrix" if batch is None else f"{batch} matrices"
