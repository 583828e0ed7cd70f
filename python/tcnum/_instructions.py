"""Instructions by name or description."""

from __future__ import annotations

from ._formats import FormatLike, element_format
from ._tcnum import Instruction, described
from ._tcnum import instruction as found


def instruction(
    name: str,
    *,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    a: FormatLike | None = None,
    b: FormatLike | None = None,
    c: FormatLike | None = None,
    d: FormatLike | None = None,
) -> Instruction:
    """Finds an instruction by name, or describes one of your own.

    Args:
        name: a listed instruction, a TOML file (NAME.toml), or a matrix product (gemm.mMnNkK.D.A.B.C).
        m, n, k: rows, columns and terms of your own instruction.
        a, b, c, d: its formats; b defaults to a, and c to d.

    Your own instruction is then known by its name. Raises RequestError for an unknown name, TypeError for an incomplete description.

    >>> import tcnum
    >>> i = tcnum.instruction("mma.m16n8k16.f32.bf16.bf16.f32")
    >>> (i.m, i.n, i.k, i.a, i.d)
    (16, 8, 16, 'bf16', 'f32')
    >>> tcnum.instruction("mine.dot8", m=4, n=4, k=8, a="e4m3", d="f32").b
    'e4m3'
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of an instruction is a string, not {type(name).__name__}")
    extents = {"m": m, "n": n, "k": k}
    if all(given is None for given in [*extents.values(), a, b, c, d]):
        return found(name)
    missing = [key for key, given in {**extents, "a": a, "d": d}.items() if given is None]
    if missing:
        raise TypeError(f"an instruction of your own needs m, n, k, a and d: {', '.join(missing)} is missing")
    for key, extent in extents.items():
        if isinstance(extent, bool) or not isinstance(extent, int):
            raise TypeError(f"{key} is a whole number, not {extent!r}")
    names = {key: element_format(given).name for key, given in {"a": a, "b": b or a, "c": c or d, "d": d}.items()}
    lines = [f'name = "{_plain(name)}"', *(f"{key} = {extent}" for key, extent in extents.items())]
    return described("\n".join([*lines, *(f'{key} = "{name}"' for key, name in names.items())]))


def _plain(name: str) -> str:
    """A name between quotes in TOML; the program checks which names are allowed."""
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in name)


def any_instruction(given: object) -> Instruction:
    """Resolves an instruction or its name."""
    return given if isinstance(given, Instruction) else instruction(given)  # type: ignore[arg-type]
