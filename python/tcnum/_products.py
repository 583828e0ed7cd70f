"""Matrix products, bit for bit, and the schedules that make them."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import operand, raw, unsigned
from ._commands import DeviceLike, InstructionLike
from ._convert import values_of
from ._devices import FunctionDevice, Lent, resolved
from ._formats import FormatLike, any_format
from ._instructions import any_instruction
from ._models import Model
from ._reports import Report
from ._tcnum import MODEL_NAMES, RequestError, checks, find_format, matches, product

# Keywords of the keys in tables of a schedule.
_TABLES = {
    "split_k": ("split", "count"),
    "granule": ("split", "granule"),
    "join": ("split", "join"),
    "accumulators": ("accumulators", "count"),
    "accumulator_join": ("accumulators", "join"),
    "round_operands": ("operands", "rounding"),
    "output_format": ("output", "format"),
    "scale_blocks": ("scales", ""),
}
_PLAIN = {
    "order": "order",
    "slab": "slab",
    "residue": "residue",
    "promote": "promote",
    "promote_halves": "promote-halves",
    "c_enters": "c",
    "bias_enters": "bias",
    "alpha": "alpha",
    "beta": "beta",
}


class Product:
    """A matrix product.

    codes: codes of D; format: their format; report: how D was made and, if requested, how far it is from other sums.
    """

    def __init__(self, codes: np.ndarray, format: str, report: Report) -> None:
        self.codes = codes
        self.format = find_format(format)
        self.report = report

    @property
    def values(self) -> np.ndarray:
        """Values of D, in its format's NumPy type, else in float32."""
        return values_of(self.codes, self.format)

    @property
    def schedule(self) -> str:
        """The schedule as a TOML document."""
        return self.report["products"][0]["schedule_file"]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)

    def __repr__(self) -> str:
        return f"<tcnum.Product {self.codes.shape[0]} x {self.codes.shape[1]} of {self.format.name}>"

    def _repr_html_(self) -> str:
        return f"<p><code>{html.escape(repr(self))}</code></p>{self.report._repr_html_()}"


def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    device: DeviceLike | None = None,
    instr: InstructionLike | None = None,
    schedule: str | os.PathLike[str] | None = None,
    bias: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    quantise: bool = False,
    accuracy: bool = False,
    timeout: int = 60,
    **keys: Any,
) -> Product:
    """Computes D = alpha*A*B + beta*C + bias by instructions, as a kernel does.

    Args:
        a, b: matrices of m x k and k x n elements, as values or codes.
        c, bias: addends of m x n and n elements.
        device: executes the instruction; by default, the command's choice.
        instr: the instruction, with the keys of a schedule: order, slab, residue, split_k, granule, join, promote, promote_halves,
            accumulators, accumulator_join, c_enters, bias_enters, alpha, beta, round_operands, output_format, scale_blocks.
        schedule: a TOML document or its file, instead of instr and keys.
        scale_a, scale_b: block scales.
        quantise: round values to the formats instead of refusing inexact ones.
        accuracy: report the distances of D from plain sums in f32 and f64 and from the exact sum.
        timeout: seconds for one answer of a program.

    Raises RequestError for values that the formats do not have, TypeError for unknown keys.

    >>> import numpy as np, tcnum
    >>> x = np.full((2, 256), 1 + 2.0**-3, np.float32)
    >>> d = tcnum.gemm(x, x.T, device="model:hopper", instr="wgmma.m64n8k32.f32.e4m3.e4m3", promote=128)
    >>> d.values
    array([[324., 324.],
           [324., 324.]], dtype=float32)
    """
    text = _schedule(instr, schedule, keys)
    given = _given(a=a, b=b, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b)
    taken: list[FunctionDevice] = []
    name = None if device is None else resolved(device, taken)
    if isinstance(timeout, bool) or not isinstance(timeout, int) or not 1 <= timeout <= 604800:
        raise TypeError("timeout is a whole number of seconds, up to a week")
    functions = [Lent(own) for own in taken]
    codes, format, report = product(text, given, name, functions, bool(quantise), bool(accuracy), timeout)
    shape = (given[0][1].rows, given[1][1].columns)
    return Product(codes.view(unsigned(find_format(format))).reshape(shape), format, Report(report))


def match(
    a: Any,
    b: Any,
    d: Any,
    *,
    c: Any = None,
    bias: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    models: Any = None,
    instr: InstructionLike | None = None,
    format: FormatLike | None = None,
    out: FormatLike | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    quantise: bool = False,
) -> Report:
    """Finds the schedules that give D in every bit, with the arithmetic of every model.

    They vary split-k, joins, promotion and order.

    Args:
        a, b: matrices of m x k and k x n elements, as values or codes.
        d: the matrix of m x n elements, or a function of a and b that makes it (numpy.matmul).
        c, bias, scale_a, scale_b: as for `gemm`.
        models: one model or a list; by default, all shipped ones.
        instr: the only instruction to try.
        format, out: formats of a and b, and of d, if they are codes.
        alpha, beta: factors of the product and of C.
        quantise: round values to the formats instead of refusing inexact ones.

    Returns a Report whose `holds` is True if a schedule gives D.

    >>> import numpy as np, tcnum
    >>> rng = np.random.default_rng(0)
    >>> x, w = rng.standard_normal((8, 96)).astype(np.float16), rng.standard_normal((96, 8)).astype(np.float16)
    >>> i = "mma.m16n8k16.f32.f16.f16.f32"
    >>> d = tcnum.gemm(x, w, device="model:hopper", instr=i).values
    >>> found = tcnum.match(x, w, d, models="hopper", instr=i)
    >>> found.holds, found["matches"][0]["exact"]
    (True, True)
    """
    if callable(d) and not hasattr(d, "__array__"):
        d = d(a, b)
    given = _known(format, out, a=a, b=b, d=d, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b)
    named = [models] if isinstance(models, (str, Model)) else models
    chosen = list(MODEL_NAMES) if named is None else [_model(own) for own in named]
    instructions = [] if instr is None else [any_instruction(instr).name]
    return Report(matches(given, chosen, instructions, (float(alpha), float(beta)), bool(quantise)))


def check(
    d: Any,
    a: Any,
    b: Any,
    *,
    c: Any = None,
    bias: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    model: str | Model = "hopper",
    instr: InstructionLike | None = None,
    schedule: str | os.PathLike[str] | None = None,
    library: str | None = None,
    product: str | None = None,
    format: FormatLike | None = None,
    out: FormatLike | None = None,
    quantise: bool = False,
    sample: int = 2000,
    **keys: Any,
) -> Report:
    """Checks every element of a kernel's D against the rigorous error bound of what it claims to be.

    Args:
        d: the kernel's matrix of m x n elements.
        a, b: the matrices of m x k and k x n elements that it multiplied.
        c, bias, scale_a, scale_b: as for `gemm`.
        model: the arithmetic; without instr and schedule, any of its instructions for these formats, in any order of k.
        instr, schedule, and keys of a schedule: as for `gemm`.
        library, product: any order of any shipped schedule of a library ("cublaslt"), for D.A.B.COMPUTE ("bf16.bf16.bf16.32f") or for all.
        format, out: formats of a and b, and of d, if they are codes.
        quantise: round a and b to the formats instead of refusing inexact values.
        sample: elements that are computed in full, bit for bit where a schedule is claimed.

    Returns a Report whose `holds` is True if every element is within its bound.

    >>> import numpy as np, tcnum
    >>> rng = np.random.default_rng(0)
    >>> x, w = rng.standard_normal((8, 96)).astype(np.float16), rng.standard_normal((96, 8)).astype(np.float16)
    >>> d = (x.astype(np.float32) @ w.astype(np.float32))
    >>> tcnum.check(d, x, w).holds, tcnum.check(0 * d, x, w).holds
    (True, False)
    """
    given = _known(format, out, a=a, b=b, d=d, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b)
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 1:
        raise TypeError("sample is a number of elements, 1 or more")
    text = None
    if instr is not None or schedule is not None or keys:
        text = _schedule(instr, schedule, keys)
    if text is not None and library is not None:
        raise TypeError("a check has one claim: a library, or an instruction with its schedule")
    if product is not None and library is None:
        raise TypeError("product is the kind of product of a library: give library, too")
    family = None if library is None else (library, product)
    return Report(checks(given, _model(model), text, family, bool(quantise), sample))


def assert_product(d: Any, a: Any, b: Any, **claim: Any) -> Report:
    """Raises AssertionError unless every element of a kernel's D is within the error bound of what it claims to be.

    Takes what `check` takes, and returns its report.

    >>> import numpy as np, tcnum
    >>> x = np.ones((4, 64), np.float16)
    >>> tcnum.assert_product(np.zeros((4, 4), np.float32), x, x.T)
    Traceback (most recent call last):
    AssertionError: ...
    """
    report = check(d, a, b, **claim)
    if not report.holds:
        raise AssertionError(report.answer)
    return report


def _model(given: Any) -> str:
    if isinstance(given, Model):
        return given._own.given
    if not isinstance(given, str):
        raise TypeError(f"the name of a model is a string, not {type(given).__name__}")
    return given.removeprefix("model:")


class _Matrix:
    """A matrix, as the compiled part takes it."""

    def __init__(self, given: Any, name: str) -> None:
        array, self.format = operand(given, name)
        if array.ndim not in (1, 2):
            raise RequestError(f"{name} has the shape {array.shape}; a matrix has rows and columns")
        self.rows, self.columns = array.shape if array.ndim == 2 else (1, array.shape[0])
        self.bytes = raw(array)
        self.width = array.dtype.itemsize


def _given(**matrices: Any) -> list[tuple[str, _Matrix]]:
    """The matrices of a call."""
    return [(name, _Matrix(own, name)) for name, own in matrices.items() if own is not None or name in ("a", "b", "d")]


def _known(format: FormatLike | None, out: FormatLike | None, **matrices: Any) -> list[tuple[str, _Matrix]]:
    """The matrices of a call, where codes of a and b have one format and those of d another."""
    given = _given(**matrices)
    for name, own in given:
        of = {"a": format, "b": format, "d": out}.get(name)
        if own.format is None and of is not None:
            own.format = any_format(of).name
    return given


def _schedule(instr: Any, schedule: Any, keys: dict[str, Any]) -> str:
    """The schedule as a TOML document."""
    if (instr is None) == (schedule is None):
        raise TypeError("give either instr (the instruction of the product) or schedule")
    if schedule is not None:
        if keys:
            raise TypeError(f"give schedule or {', '.join(keys)}, not both")
        if not isinstance(schedule, (str, os.PathLike)):
            raise TypeError(f"schedule is a TOML document or the path of one, not {type(schedule).__name__}")
        if isinstance(schedule, str) and ("\n" in schedule or "=" in schedule):
            return schedule
        try:
            return Path(schedule).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise RequestError(f"{schedule}: the schedule cannot be read: {error}") from error
    lines = [f"instruction = {_toml(any_instruction(instr).name)}"]
    tables: dict[str, dict[str, Any]] = {}
    for key, value in keys.items():
        if value is None:
            continue
        if key in _PLAIN:
            lines.append(f"{_PLAIN[key]} = {_toml(value)}")
        elif key in _TABLES:
            table, inner = _TABLES[key]
            tables.setdefault(table, {})[inner] = value
        else:
            raise TypeError(f"gemm has no key {key!r}; the keys are {', '.join([*_PLAIN, *_TABLES])}")
    for table, own in tables.items():
        if table == "scales":
            own = dict(zip(("a", "b"), own[""]))
        if "count" not in own and table in ("split", "accumulators"):
            raise TypeError(f"{', '.join(own)} needs {'split_k' if table == 'split' else 'accumulators'}")
        lines.append(f"[{table}]")
        lines += [f"{key} = {_toml(value)}" for key, value in own.items()]
    return "\n".join(lines)


def _toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, str):
        import json

        return json.dumps(value)
    if isinstance(value, bool):
        raise TypeError("a key of a schedule is a name or a number, not a bool")
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value)).replace("Infinity", "inf")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(own) for own in value)}]"
    if hasattr(value, "name"):
        return _toml(value.name)
    raise TypeError(f"a key of a schedule is a name or a number, not {type(value).__name__}")
