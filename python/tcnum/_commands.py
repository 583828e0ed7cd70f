"""Commands: what `tcnum COMMAND` does, with devices that may be functions of Python."""

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
    """The report of `tcnum NAME WORDS --OPTIONS`: every command, with every option, an underscore for each hyphen.

    A value of True gives an option without a value, a list gives it several times; None and False leave it out. Where a device is named,
    a function can stand. What a command writes to files (out, plot, model_out) it writes here, too.

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
    """A word of a command line."""
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
    """The instruction that is asked of a device: the one that is given, described, or the function's own."""
    described = {key: value for key, value in shape.items() if value is not None}
    if described:
        if instr is not None:
            raise TypeError(f"instr says what {', '.join(described)} would; give one of them")
        return _described(described)
    if instr is None and isinstance(f, FunctionDevice):
        instr = f.instruction
    if instr is None and callable(f):
        raise TypeError(f"{what} of a function: give instr (an instruction that it computes), or m, n, k, and format")
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
    """Compares a device with a model in every bit, on adversarial operands; what differs is reduced to the simplest that still does.

    device: "cuda:0", "cpu", "model:NAME", "exec:PROGRAM", "trace:FILE", or a function (see `tcnum.device`). model: without it, that of the
    device's generation. `holds` of the report says whether all agree.

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
    """Works out the arithmetic of an instruction from the answers of a device, and compares the device with it.

    Of a function, m, n, k, format (of A and B) and out (of C and D) say what it multiplies, or instr does. budget: tiles that the device may
    execute; cases: held-out cases; from_nothing: without the arithmetics of shipped models; any_nan: whether all NaN codes are equal;
    timeout: seconds for one answer of a program. `report.model` is what was found, a `tcnum.Model`. Other options are those of the command
    (quick, features, fmt).

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
    """A count that is given as a whole number."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or given != int(given):
        raise TypeError(f"{name} is a whole number, not {given!r}")
    if not 0 <= given < 2**64 or (given == 0 and name != "seed"):
        raise RequestError(f"{name} is {given}; it has to be from {0 if name == 'seed' else 1} to 2**64 - 1")
    return int(given)


class Identified(Report):
    """What `identify` found."""

    @property
    def model(self) -> Model:
        """The arithmetic that was found, as a model; RequestError where there is none."""
        text = self._made["model"]
        if text is None:
            raise RequestError("the report has no model: no rule was found, or quick and features were asked for, which make none")
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
    """The smallest inputs on which two models, devices or instructions (DEVICE/INSTRUCTION) differ, or the proof that there is none.

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
    """The order of a sum: which terms are summed together, one after the other or at once, and where c enters.

    Of a function, m, n, k and format say which matrix product it is asked for (4 x 4 and k = 64 in f32, where nothing says so): a function
    of two such as numpy.matmul.

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
        raise TypeError("m, n, k and format are for functions; instr names an instruction")
    else:
        instr = _given(device, instr, {}, "tree")
    place = None if element is None else "{},{}".format(*element)
    return command("tree", device=device, instr=instr, element=place, **options)


def devices() -> Report:
    """The devices of this machine, and the models."""
    return command("devices")


def instructions(pattern: str | None = None, *, device: DeviceLike | None = None, **options: Any) -> Report:
    """The instructions: those whose name contains the pattern, or that a device executes.

    >>> import tcnum
    >>> len(tcnum.instructions("wgmma")["instructions"]) > 10
    True
    """
    return command("instructions", *([] if pattern is None else [pattern]), device=device, **options)
