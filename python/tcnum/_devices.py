"""Devices: names for the command, and Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import Operand, codes_of, operand, raw, unsigned
from ._convert import values_of
from ._instructions import any_instruction
from ._tcnum import Instruction, find_format

# The prefix of functions' names in commands.
_PREFIX = "python:"


def device(
    f: Callable[..., Any],
    *,
    instr: str | Instruction | None = None,
    codes: bool = False,
    operands: int | None = None,
    batched: bool | None = None,
    name: str | None = None,
) -> FunctionDevice:
    """Makes a device of a function. A bare function means `device(f)` wherever a device is expected.

    Args:
        f: computes D = f(A, B, C), or a product f(A, B) such as numpy.matmul, to which C is added in D's format.
        instr: the only instruction that it executes.
        codes: True if it takes and returns codes (unsigned integers), False for values. Values are float16, float32 and float64 for f16,
            f32 and f64, integers for integer formats, and float32 for bf16, tf32, FP8 and other formats.
        operands: 2 or 3; by default, the number of parameters of f.
        batched: True if arrays have the shape (tiles, rows, columns), False for (rows, columns). The default is True with three operands.
        name: name in reports.

    Sparse and block-scaled forms also pass `positions`, `scale_a` and `scale_b` by name. With three operands, f must return values of
    D's format; with two, its result is rounded to it. For instructions of your own and for matrix products, every NaN counts as the
    canonical one. Raises TypeError if f cannot be called or `operands` is not 2 or 3.

    >>> import numpy as np, tcnum
    >>> fma = tcnum.device(lambda a, b, c: a @ b + c, name="numpy")
    >>> report = tcnum.verify(fma, "hopper", instr="mma.m16n8k8.f32.f16.f16.f32", cases=1000)
    >>> report.holds
    False
    """
    if isinstance(f, FunctionDevice):
        return f
    if not callable(f):
        raise TypeError(f"a device is a name or a function, not {type(f).__name__}")
    count = _operands(f) if operands is None else operands
    if count not in (2, 3):
        raise TypeError(f"operands is {count!r}; expected 2 (A and B) or 3 (A, B and C)")
    only = None if instr is None else any_instruction(instr)
    return FunctionDevice(f, only, bool(codes), count, count == 3 if batched is None else bool(batched), name)


def _operands(f: Callable[..., Any]) -> int:
    """Number of arrays that a function takes: 3, unless its signature requires 2 or allows no more."""
    if isinstance(f, np.ufunc):
        return 2 if f.nin == 2 else 3
    try:
        own = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        # Functions of other languages, such as torch.matmul, mostly have no signature.
        return 2
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in own):
        return 3
    by_position = [p for p in own if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [parameter for parameter in by_position if parameter.default is parameter.empty]
    return 3 if len(needed) >= 3 or (len(needed) < 2 and len(by_position) >= 3) else 2


class FunctionDevice:
    """A Python function as a device; `tcnum.device` makes it."""

    def __init__(
        self, f: Callable[..., Any], only: Instruction | None, codes: bool, operands: int, batched: bool, name: str | None
    ) -> None:
        self.function = f
        self.instruction = only
        self.codes = codes
        self.operands = operands
        self.batched = batched
        given = str(name or getattr(f, "__name__", type(f).__name__))
        # Name in command lines and reports.
        self.name = _PREFIX + "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in given)

    def __repr__(self) -> str:
        return f"<tcnum.FunctionDevice {self.name}>"

    def __call__(self, *operands: Any, **others: Any) -> Any:
        return self.function(*operands, **others)

    def _described(self) -> str:
        module = getattr(self.function, "__module__", None)
        return f"a function of Python, {module}" if module else "a function of Python"

    def answer(self, i: Instruction, count: int, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """Computes the bytes of D of `count` tiles from the bytes of their operands."""
        # Tested operands overflow and hold NaN.
        with np.errstate(all="ignore"):
            return self._answer(i, count, arrays)

    def _answer(self, i: Instruction, count: int, arrays: dict[str, np.ndarray]) -> np.ndarray:
        given = {}
        for name, own, rows, columns in i.operands:
            given[name] = arrays[name].view(unsigned(find_format(own))).reshape(count, rows, columns)
        if self.batched:
            return raw(self._made(i, given, (count, i.m, i.n)))
        made = [self._made(i, {name: own[at] for name, own in given.items()}, (i.m, i.n)) for at in range(count)]
        return raw(np.stack(made))

    def _made(self, i: Instruction, codes: dict[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        """The codes of D of one call."""
        own, what = find_format(i.d), "its result"
        formats = {name: find_format(of) for name, of, _, _ in i.operands}
        kept = codes if self.codes else {name: values_of(array, formats[name]) for name, array in codes.items()}
        others = {name: array for name, array in kept.items() if name not in ("a", "b", "c")}
        taken = [kept[name] for name in ("a", "b", "c")[: self.operands]]
        array, source = operand(self.function(*taken, **others), what)
        if array.shape != shape:
            raise ValueError(f"{what} has the shape {array.shape}, but D has {shape}")
        if source is None and not self.codes:
            if not own.is_integer:
                raise TypeError(f"{what} is an array of {array.dtype.name}, which are codes; say so by codes=True")
            array, source = array.astype(np.int64), "s64"
        elif source is not None and self.codes:
            raise TypeError(f"{what} is an array of {array.dtype.name}; codes of {own.name} are {unsigned(own).name}")
        d = codes_of(Operand(array, source), own, what, quantise=self.operands == 2)
        if self.operands == 2:
            values = values_of(d, own)
            total = values + values_of(codes["c"], formats["c"]).astype(values.dtype)
            d = codes_of(total, own, what, quantise=True)
        # Which of two NaNs a sum returns depends on the compiler of this machine's code.
        if not (self.codes or i.targets) and own.has_nan:
            d = np.where(np.isnan(values_of(d, own)), np.array(own.code_of(np.nan), d.dtype), d)
        return d


def resolved(given: Any, taken: list[FunctionDevice]) -> str:
    """The name of a device in a command; functions are added to `taken`, under distinct names."""
    if isinstance(given, str):
        return given
    if given is None:
        raise TypeError("a device is a name or a function, not None")
    own = device(given)
    if all(other is not own for other in taken):
        names = {other.name for other in taken}
        if own.name in names:
            own = FunctionDevice(own.function, own.instruction, own.codes, own.operands, own.batched, f"{own.name[len(_PREFIX):]}-2")
        taken.append(own)
    return own.name


class Lent:
    """A function, as the compiled part takes it."""

    def __init__(self, own: FunctionDevice) -> None:
        self.name = own.name
        self.description = own._described()
        self.answer = own.answer
        self.only = None if own.instruction is None else own.instruction.name
