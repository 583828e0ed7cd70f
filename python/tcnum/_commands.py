"""The commands of `tcnum`, with Python functions as possible devices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, Union

from ._devices import FunctionDevice, Lent, resolved
from ._instructions import any_instruction, instruction
from ._models import Model, model
from ._reports import Report
from ._tcnum import Format, Instruction, RequestError
from ._tcnum import identify as studied
from ._tcnum import report as run

DeviceLike = Union[str, FunctionDevice, Callable[..., Any]]
InstructionLike = Union[str, Instruction]


def command(name: str, *words: Any, **options: Any) -> Report:
    """Runs `tcnum NAME WORDS --OPTIONS` and returns its report.

    Every command has every option, with an underscore for each hyphen. True gives an option without a value, a list repeats it, and
    None or False leave it out. A function can stand for a device. Options that write files (out, plot, model_out) work here, too.
    Raises RequestError for a wrong request and DeviceError for a failed device; their `report` has the results until then, if any.

    >>> import tcnum
    >>> tcnum.command("convert", 464, to="e4m3", round="RZ").tables["conversions"][0]["code"]
    '0x7e'
    """
    taken: list[FunctionDevice] = []
    line = [_word(name, taken), *(_word(word, taken) for word in words)]
    for option, value in options.items():
        flag = "--" + option.rstrip("_").replace("_", "-")
        for own in value if isinstance(value, (list, tuple)) else [value]:
            if own is True:
                line.append(flag)
            elif own is not None and own is not False:
                line.append(f"{flag}={_word(own, taken)}")
    made, failure = run(line, [Lent(own) for own in taken])
    found = Report(made)
    if failure is not None:
        failure.report = found  # type: ignore[attr-defined]
        raise failure
    return found


def _word(given: Any, taken: list[FunctionDevice]) -> str:
    """Converts an argument to a word of a command line."""
    if isinstance(given, str):
        return given
    if isinstance(given, (int, float, os.PathLike)) and not isinstance(given, bool):
        return os.fspath(given) if isinstance(given, os.PathLike) else repr(given)
    if isinstance(given, (Instruction, Format)):
        return given.name
    if isinstance(given, Model):
        return given._own.given
    if callable(given):
        return resolved(given, taken)
    raise TypeError(f"a word of a command is a string, a number, a path or a device, not {type(given).__name__}")


def _given(f: Any, instr: InstructionLike | None, shape: dict[str, Any], what: str) -> InstructionLike | None:
    """The instruction of a request: given, described by shape and formats, or the function's only one."""
    described = {key: value for key, value in shape.items() if value is not None}
    if described:
        if instr is not None:
            raise TypeError(f"give instr or {', '.join(described)}, not both")
        return _described(described)
    if instr is None and isinstance(f, FunctionDevice):
        instr = f.instruction
    if instr is None and callable(f):
        raise TypeError(f"{what} of a function needs instr (an instruction that it computes), or m, n, k and format")
    return instr


def _described(given: dict[str, Any]) -> Instruction:
    """An instruction of the given shape and formats."""
    format = given.get("format", "f32")
    out = given.get("out", format)
    m, n, k = given.get("m", 4), given.get("n", 4), given.get("k", 8)
    name = f"own.m{m}n{n}k{k}.{out}.{format}.{format}.{out}"
    return instruction(str(name).lower(), m=m, n=n, k=k, a=format, d=out)


def verify(
    device: DeviceLike,
    model: str | Model | None = None,
    *,
    instr: InstructionLike | Iterable[InstructionLike] | None = None,
    cases: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> Report:
    """Compares a device with a model in every bit, on adversarial operands.

    Each mismatch is reduced to the simplest case that still differs.

    Args:
        device: "cuda:0", "cpu", "model:NAME", "exec:PROGRAM", "trace:FILE", or a function (see `tcnum.device`).
        model: a model or its name; by default, the model of the device's generation.
        instr: one instruction or a list; by default, all that the command chooses.
        cases: dot-product-adds to compare.
        seed: seed of the operands.
        options: further options of `tcnum verify`.

    Returns a Report whose `holds` is True if all outputs agree.

    >>> import tcnum
    >>> r = tcnum.verify("model:hopper", "ampere", instr="mma.m16n8k8.f32.f16.f16.f32", cases=10_000)
    >>> r.holds, r["verification"][0]["compared"] >= 10_000
    (False, True)
    """
    if isinstance(instr, (list, tuple)):
        chosen: Any = [any_instruction(own) for own in instr]
    else:
        chosen = _given(device, instr, {}, "verify")  # type: ignore[arg-type]
    return command("verify", device=device, model=model, instr=chosen, cases=cases, seed=seed, **options)


def identify(
    device: DeviceLike,
    *,
    instr: InstructionLike | None = None,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    format: str | Format | None = None,
    out: str | Format | None = None,
    cases: int | None = None,
    seed: int | None = None,
    budget: int | None = None,
    from_nothing: bool = False,
    any_nan: bool = False,
    timeout: int = 60,
    **options: Any,
) -> Identified:
    """Finds the arithmetic of an instruction from a device's answers, and verifies it on held-out cases.

    Args:
        device: as for `verify`.
        instr: the instruction. A function may instead have a shape and formats:
        m, n, k: rows, columns and terms of its product; format: format of A and B; out: format of C and D.
        cases: held-out cases.
        budget: tiles that the device may execute.
        from_nothing: search without the arithmetics of shipped models.
        any_nan: treat all NaN codes as equal.
        timeout: seconds for one answer of a program.
        options: options of the command (quick, features, fmt).

    Returns a Report whose `model` is the arithmetic found, a `tcnum.Model`.

    >>> import tcnum
    >>> volta = tcnum.model("volta")["mma.m8n8k4.f32.f16.f16.f32"]
    >>> r = tcnum.identify(lambda a, b, c: volta.execute(a, b, c), instr=volta.instruction, cases=10_000)
    >>> r.holds, r.model[volta.instruction].dot([1, 2.0**-24], [1, 1])
    (True, np.float32(1.0))
    """
    shape = {"m": m, "n": n, "k": k, "format": format, "out": out}
    chosen = _given(device, instr, shape, "identify")
    own = {"budget": budget, "cases": cases, "seed": seed, "from_nothing": from_nothing, "any_nan": any_nan, "timeout": timeout}
    if options or chosen is None or (isinstance(device, str) and device.startswith("trace:")):
        return Identified(command("identify", device=device, instr=chosen, **own, **options)._made)
    for name in ("budget", "cases", "seed", "timeout"):
        own[name] = _whole(name, own[name])
    taken: list[FunctionDevice] = []
    named = resolved(device, taken)
    asked = SimpleNamespace(**{**own, "seed": own["seed"] or 0}, device=named, instruction=any_instruction(chosen))
    made, failure = studied(asked, [Lent(own) for own in taken])
    found = Identified(made)
    if failure is not None:
        failure.report = found  # type: ignore[attr-defined]
        raise failure
    return found


def _whole(name: str, given: Any) -> int | None:
    """Checks a count, which must be a whole number."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or given != int(given):
        raise TypeError(f"{name} is a whole number, not {given!r}")
    if not 0 <= given < 2**64 or (given == 0 and name != "seed"):
        raise RequestError(f"{name} is {given}; it must be from {0 if name == 'seed' else 1} to 2**64 - 1")
    return int(given)


class Identified(Report):
    """The report of `identify`."""

    @property
    def model(self) -> Model:
        """The arithmetic found, as a model. Raises RequestError if there is none."""
        text = self._made["model"]
        if text is None:
            raise RequestError("the report has no model: no rule was found, or quick or features was given, which make none")
        return model(text)


def distinguish(
    x: DeviceLike | Model,
    y: DeviceLike | Model,
    *,
    instr: InstructionLike | None = None,
    cases: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> Report:
    """Finds the smallest inputs on which two sides differ, or proves that there are none.

    x and y are models, devices, or DEVICE/INSTRUCTION. Returns a Report whose `holds` is False if they differ.

    >>> import tcnum
    >>> r = tcnum.distinguish("model:hopper", "model:ampere", instr="mma.m16n8k16.f32.bf16.bf16.f32")
    >>> r.holds, len(r["reasons"]) > 0
    (False, True)
    """
    sides = [f"model:{own._own.given}" if isinstance(own, Model) else own for own in (x, y)]
    for own in sides:
        instr = instr if instr is not None or not isinstance(own, FunctionDevice) else own.instruction
    return command("distinguish", *sides, instr=instr, cases=cases, seed=seed, **options)


def tree(
    device: DeviceLike,
    *,
    instr: InstructionLike | None = None,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    format: str | Format | None = None,
    element: tuple[int, int] | None = None,
    **options: Any,
) -> Report:
    """Finds the order of a sum: which terms are summed together, in sequence or at once, and where c enters.

    A function of two arrays (numpy.matmul) computes a matrix product of m x n elements with k terms in `format`; the default is
    4 x 4 with k = 64 in f32. element: row and column of the element that is tested.

    >>> import numpy as np, tcnum
    >>> tcnum.tree(lambda a, b: a[:, :1] * b[:1] + a[:, 1:2] * b[1:2], m=1, n=1, k=2)["trees"][0]["terms"]
    3
    """
    if instr is None and callable(device) and not (isinstance(device, FunctionDevice) and device.instruction):
        own = format.name if isinstance(format, Format) else (format or "f32")
        extents = [value if value is not None else usual for value, usual in ((m, 4), (n, 4), (k, 64))]
        if any(isinstance(extent, bool) or not isinstance(extent, int) for extent in extents):
            raise TypeError("m, n and k are whole numbers")
        instr = "gemm.m{}n{}k{}.".format(*extents) + own
    elif any(value is not None for value in (m, n, k, format)):
        raise TypeError("m, n, k and format are for functions; use instr for an instruction")
    else:
        instr = _given(device, instr, {}, "tree")
    place = None if element is None else "{},{}".format(*element)
    return command("tree", device=device, instr=instr, element=place, **options)


def devices() -> Report:
    """Lists the devices of this machine, and the models."""
    return command("devices")


def instructions(pattern: str | None = None, *, device: DeviceLike | None = None, **options: Any) -> Report:
    """Lists instructions: those whose names contain `pattern`, or those that a device executes.

    >>> import tcnum
    >>> len(tcnum.instructions("wgmma")["instructions"]) > 10
    True
    """
    return command("instructions", *([] if pattern is None else [pattern]), device=device, **options)
