"""Models of arithmetic, evaluated on arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._arrays import Operand, codes_of, operand, raw, unsigned
from ._convert import values_of
from ._instructions import any_instruction
from ._reports import Report, shown
from ._tcnum import MODEL_NAMES, Instruction, ModelFile, RequestError, explained, find_format

# Codes of an operand that are made at a time, where operands are repeated for many cases.
_PIECE = 1 << 22
# The operands whose terms lie along the columns of a tile, and not along its rows.
_IN_COLUMNS = ("b", "scale_b")
# What an instruction without an operand is.
_WITHOUT = {
    "positions": "is not sparse: it has no positions",
    "scale_a": "has no block scales",
    "scale_b": "has no block scales",
}


def models() -> list[str]:
    """The names of the models that are shipped.

    >>> import tcnum
    >>> "hopper" in tcnum.models()
    True
    """
    return list(MODEL_NAMES)


def model(name: str) -> Model:
    """The model of this name (a shipped one, with or without "model:"), or of this TOML file, or the document itself.

    >>> import tcnum
    >>> tcnum.model("hopper").title
    'NVIDIA Hopper (H100, H200)'
    """
    if isinstance(name, Model):
        return name
    if not isinstance(name, str):
        raise TypeError(f"a model is named by a string, not by {type(name).__name__}")
    return Model(ModelFile.parse(name) if "\n" in name else ModelFile(name.removeprefix("model:")))


def _of_the_file(name: str, about: str) -> Any:
    """A property of a model that its file has."""
    return property(lambda model: getattr(model._own, name), doc=about)


class Model:
    """A model of arithmetic: `model[instruction]` is the arithmetic of an instruction."""

    def __init__(self, own: ModelFile) -> None:
        self._own = own

    name: str = _of_the_file("name", "The name.")
    title: str = _of_the_file("title", "What it describes.")
    version: int = _of_the_file("version", "The version of the description.")
    targets: list[str] = _of_the_file("targets", "The targets whose GPUs it describes (`sm_90a`).")
    text: str = _of_the_file("text", "The model as a TOML document.")

    def __getitem__(self, name: str | Instruction) -> Arithmetic:
        return Arithmetic(self, any_instruction(name))

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except (RequestError, TypeError):
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._own.instructions())

    def __len__(self) -> int:
        return len(self._own.instructions())

    def __repr__(self) -> str:
        return f"tcnum.model('{self._own.given}')"

    def _repr_html_(self) -> str:
        return shown("models", self._own.given)


class Arithmetic:
    """The arithmetic of one instruction, by a model.

    Operands are values (floats, signed integers, types of ml_dtypes), which have to be numbers of the instruction's formats, or codes
    (unsigned integers of a code's size). The formats of `instruction` say which.
    """

    def __init__(self, model: Model, instruction: Instruction) -> None:
        self.model = model
        self.instruction = instruction
        self._shapes: dict[tuple[int, int], Any] = {}
        self._evaluator(0, 0)

    def _evaluator(self, m: int, n: int) -> Any:
        """The evaluator of tiles of so many rows and columns; of the instruction's own where they are 0."""
        if (m, n) not in self._shapes:
            self._shapes[m, n] = self.model._own.arithmetic(self.instruction, m, n)
        return self._shapes[m, n]

    @property
    def program(self) -> str:
        """The arithmetic, operation by operation."""
        return self._evaluator(0, 0).program().rstrip("\n")

    def dot(
        self,
        a: Any,
        b: Any,
        c: Any = None,
        *,
        positions: Any = None,
        scale_a: Any = None,
        scale_b: Any = None,
        quantise: bool = False,
        codes: bool = False,
    ) -> np.ndarray:
        """One dot-product-add for each case: d = c + sum over k of a*b, as the instruction computes it.

        a, b: rows of A and columns of B, k along the last axis (of sparse forms, a has the stored ones and `positions` their places); what
        is shorter than k is filled with zeros. c: one number for each case; 0 where it is left out. scale_a, scale_b: of block-scaled
        forms, a scale for each block along the last axis; 1 where they are left out. The other axes are broadcast. quantise: round values
        to the formats, instead of refusing others. codes: give codes of D, and not its values.

        >>> import numpy as np, tcnum
        >>> m = tcnum.model("ampere")["mma.m16n8k8.f32.f16.f16.f32"]
        >>> m.dot([[1, -(2.0**-13)], [1, 1]], [1, 2.0**-12])
        array([1.       , 1.0002441], dtype=float32)
        """
        given = self._lines({"a": a, "b": b, "c": c, "positions": positions, "scale_a": scale_a, "scale_b": scale_b}, quantise)
        lead = np.broadcast_shapes(*(own.shape[:-1] for own in given.values()))
        return self._values(self._cases(given, lead), lead, codes)[()]

    def _cases(self, given: dict[str, np.ndarray], lead: tuple[int, ...]) -> np.ndarray:
        """The bytes of D of all cases."""
        evaluator = self._evaluator(1, 1)
        whole = {name: np.broadcast_to(own, (*lead, own.shape[-1])) for name, own in given.items()}
        each = find_format(self.instruction.d).bytes
        d = np.empty((*lead, each), np.uint8)
        together = max(1, lead[0] * _PIECE // max(1, whole["b"].size)) if lead else 1
        if not lead or together >= lead[0] or all(own.flags.c_contiguous for own in whole.values()):
            evaluator.execute({name: raw(own) for name, own in whole.items()}, d.reshape(-1))
            return d
        for at in range(0, lead[0], together):
            piece = slice(at, at + together)
            evaluator.execute({name: raw(own[piece]) for name, own in whole.items()}, d[piece].reshape(-1))
        return d

    def _values(self, d: np.ndarray, shape: tuple[int, ...], codes: bool) -> np.ndarray:
        """D of this shape, as codes or as values, from the bytes of its codes."""
        own = find_format(self.instruction.d)
        made = d.reshape(-1).view(unsigned(own)).reshape(shape)
        return made if codes else values_of(made, own)

    def execute(
        self,
        a: Any,
        b: Any,
        c: Any = None,
        *,
        positions: Any = None,
        scale_a: Any = None,
        scale_b: Any = None,
        quantise: bool = False,
        codes: bool = False,
    ) -> np.ndarray:
        """D of whole tiles: a is (..., rows, k), b is (..., k, columns), c is (..., rows, columns); any numbers of rows and columns.

        The rest is as in `dot`; scale_a is (..., rows, k / block) and scale_b (..., k / block, columns).

        >>> import numpy as np, tcnum
        >>> m = tcnum.model("hopper")["mma.m16n8k16.f32.bf16.bf16.f32"]
        >>> m.execute(np.ones((2, 16)), np.eye(16)).sum()
        np.float32(32.0)
        """
        given = {"a": a, "b": b, "positions": positions, "scale_a": scale_a, "scale_b": scale_b}
        for name in _IN_COLUMNS:
            if given[name] is not None:
                array, source = operand(given[name], name)
                given[name] = Operand(np.swapaxes(_with_rows(array, name), -1, -2), source)
        lines = {name: _with_rows(own, name) for name, own in self._lines(given, quantise).items()}
        rows, columns = lines["a"].shape[-2], lines["b"].shape[-2]
        own = find_format(self.instruction.c)
        lines["c"] = np.zeros((rows, columns), unsigned(own)) if c is None else codes_of(c, own, "c", quantise=quantise)
        lead = np.broadcast_shapes(*(own.shape[:-2] for own in lines.values()))
        whole = {}
        for name, own in lines.items():
            tile = (rows, columns) if name == "c" else (columns if name in _IN_COLUMNS else rows, own.shape[-1])
            own = np.broadcast_to(own, (*lead, *tile))
            whole[name] = raw(np.swapaxes(own, -1, -2) if name in _IN_COLUMNS else own)
        shape = (*lead, rows, columns)
        d = np.empty((*shape, find_format(self.instruction.d).bytes), np.uint8)
        if d.size:
            self._evaluator(rows, columns).execute(whole, d.reshape(-1))
        return self._values(d, shape, codes)

    def explain(
        self,
        a: Any,
        b: Any,
        c: Any = None,
        *,
        against: Any = None,
        positions: Any = None,
        scale_a: Any = None,
        scale_b: Any = None,
        quantise: bool = False,
    ) -> Report:
        """One case step by step; beside it, with `against`, what another model makes of it.

        >>> import tcnum
        >>> m = tcnum.model("hopper")["mma.m16n8k8.f32.f16.f16.f32"]
        >>> steps = m.explain([1, -(2.0**-13)], [1, 2.0**-12], against="ampere")
        >>> steps.holds, [row["d"] for row in steps.tables["results"]]
        (False, ['0x3f7fffff', '0x3f800000'])
        """
        given = self._lines({"a": a, "b": b, "c": c, "positions": positions, "scale_a": scale_a, "scale_b": scale_b}, quantise)
        for name, own in given.items():
            if own.size != own.shape[-1]:
                raise RequestError(f"{name} has the shape {own.shape}, and one case is explained")
        models = [self.model] if against is None else [self.model, model(against)]
        each = [(own.name, own[self.instruction]._evaluator(1, 1)) for own in models]
        return Report(explained(each, {name: raw(own) for name, own in given.items()}))

    def _lines(self, given: dict[str, Any], quantise: bool) -> dict[str, np.ndarray]:
        """The codes of the operands by name, each with its terms along the last axis; c, if it is asked for, with one."""
        i = self.instruction
        operands = {name: (find_format(of), rows if name in _IN_COLUMNS else columns) for name, of, rows, columns in i.operands}
        for name, what in _WITHOUT.items():
            if name not in operands and given[name] is not None:
                raise RequestError(f"{i.name} {what}")
        lines: dict[str, np.ndarray] = {}
        for name, (own, length) in operands.items():
            if name not in given:
                continue
            if name in ("a", "b"):
                lines[name] = _filled(codes_of(given[name], own, name, quantise=quantise), length, name, i)
            elif name == "positions":
                lines[name] = _exactly(_places(given[name], i), length, name)
            elif given[name] is not None:
                codes = codes_of(given[name], own, name, quantise=quantise)
                lines[name] = codes[..., None] if name == "c" else _exactly(codes, length, name)
            elif name == "c":
                lines[name] = np.zeros(1, unsigned(own))
            else:
                lead = lines[name.removeprefix("scale_")].shape[:-1]
                lines[name] = np.broadcast_to(np.asarray(own.code_of(1.0), unsigned(own)), (*lead, length))
        return lines

    def __repr__(self) -> str:
        return f"{self.model!r}['{self.instruction.name}']"

    def _repr_html_(self) -> str:
        import html

        return f"<p><code>{html.escape(repr(self))}</code></p><pre>{html.escape(self.program)}</pre>"


def _with_rows(array: np.ndarray, name: str) -> np.ndarray:
    """The same, which has to have rows and columns."""
    if array.ndim < 2:
        raise RequestError(f"{name} has the shape {array.shape}; a tile has rows and columns")
    return array


def _exactly(array: np.ndarray, length: int, name: str) -> np.ndarray:
    """The same, which has to be so long along its last axis."""
    if array.ndim == 0 or array.shape[-1] != length:
        raise RequestError(f"{name} has the shape {array.shape}; its last axis is to have {length}")
    return array


def _places(given: Any, i: Instruction) -> np.ndarray:
    """Positions as bytes."""
    if given is None:
        raise RequestError(f"{i.name} is sparse: positions says where the stored elements of a are")
    places, _ = operand(given, "positions")
    if places.dtype.kind not in "iu" or (places.size and not 0 <= int(places.min()) <= int(places.max()) < 256):
        raise RequestError("positions are small whole numbers")
    return places.astype(np.uint8)


def _filled(codes: np.ndarray, k: int, name: str, i: Instruction) -> np.ndarray:
    """The same with zeros behind, up to k along the last axis."""
    if codes.ndim == 0:
        raise RequestError(f"{name} is a single number; along its last axis lie the {k} terms of {i.name}")
    given = codes.shape[-1]
    if given > k:
        raise RequestError(f"{name} has the shape {codes.shape}, and its last axis is to have {k}, the terms of {i.name}")
    if given == k:
        return codes
    whole = np.zeros((*codes.shape[:-1], k), codes.dtype)
    whole[..., :given] = codes
    return whole
