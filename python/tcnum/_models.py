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

# Codes of an operand made at a time, if operands are repeated for many cases.
_PIECE = 1 << 22
# Operands whose terms lie along the columns of a tile.
_IN_COLUMNS = ("b", "scale_b")
# Reasons for a missing operand.
_WITHOUT = {
    "positions": "is not sparse and has no positions",
    "scale_a": "has no block scales",
    "scale_b": "has no block scales",
}


def models() -> list[str]:
    """Names of the shipped models.

    >>> import tcnum
    >>> "hopper" in tcnum.models()
    True
    """
    return list(MODEL_NAMES)


def model(name: str) -> Model:
    """Loads a model: a shipped one (with or without "model:"), a TOML file, or a TOML document.

    Raises RequestError for an unknown or malformed model.

    >>> import tcnum
    >>> tcnum.model("hopper").title
    'NVIDIA Hopper (H100, H200)'
    """
    if isinstance(name, Model):
        return name
    if not isinstance(name, str):
        raise TypeError(f"the name of a model is a string, not {type(name).__name__}")
    return Model(ModelFile.parse(name) if "\n" in name else ModelFile(name.removeprefix("model:")))


def _of_the_file(name: str, about: str) -> Any:
    """A property that the model file has."""
    return property(lambda model: getattr(model._own, name), doc=about)


class Model:
    """A model of arithmetic. `model[instruction]` is the arithmetic of an instruction."""

    def __init__(self, own: ModelFile) -> None:
        self._own = own

    name: str = _of_the_file("name", "Name.")
    title: str = _of_the_file("title", "Generation that it describes.")
    version: int = _of_the_file("version", "Version of the model.")
    targets: list[str] = _of_the_file("targets", "Targets that it describes (`sm_90a`).")
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

    Operands are values (floats, signed integers, types of ml_dtypes) that the instruction's formats have, or codes (unsigned integers
    of the code's size). `instruction` has the formats.
    """

    def __init__(self, model: Model, instruction: Instruction) -> None:
        self.model = model
        self.instruction = instruction
        self._shapes: dict[tuple[int, int], Any] = {}
        self._evaluator(0, 0)

    def _evaluator(self, m: int, n: int) -> Any:
        """The evaluator of tiles of m rows and n columns; 0 means the instruction's own."""
        if (m, n) not in self._shapes:
            self._shapes[m, n] = self.model._own.arithmetic(self.instruction, m, n)
        return self._shapes[m, n]

    @property
    def program(self) -> str:
        """The operations of the arithmetic, one per line."""
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
        """Computes d = c + sum over k of a*b, one dot-product-add per case, as the instruction does.

        Args:
            a, b: rows of A and columns of B, with k along the last axis; shorter ones are padded with zeros.
            c: one number per case; 0 by default.
            positions: positions of a sparse form's stored elements, in the shape of a.
            scale_a, scale_b: for block-scaled forms, a scale per block along the last axis; 1 by default.
            quantise: round values to the formats instead of refusing inexact ones.
            codes: return codes of D instead of values.

        The other axes are broadcast, and are the shape of the result. Raises RequestError for values that the formats do not have, and for
        wrong shapes.

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
        """D in this shape, as codes or values, from the bytes of its codes."""
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
        """Computes D of whole tiles, with any numbers of rows and columns.

        a is (..., rows, k), b is (..., k, columns), c and D are (..., rows, columns); scale_a is (..., rows, k / block) and scale_b is
        (..., k / block, columns). Everything else is as in `dot`.

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
        """Explains one case step by step; `against` adds the steps of another model.

        >>> import tcnum
        >>> m = tcnum.model("hopper")["mma.m16n8k8.f32.f16.f16.f32"]
        >>> steps = m.explain([1, -(2.0**-13)], [1, 2.0**-12], against="ampere")
        >>> steps.holds, [row["d"] for row in steps.tables["results"]]
        (False, ['0x3f7fffff', '0x3f800000'])
        """
        given = self._lines({"a": a, "b": b, "c": c, "positions": positions, "scale_a": scale_a, "scale_b": scale_b}, quantise)
        for name, own in given.items():
            if own.size != own.shape[-1]:
                raise RequestError(f"{name} has the shape {own.shape}, but only one case can be explained")
        models = [self.model] if against is None else [self.model, model(against)]
        each = [(own.name, own[self.instruction]._evaluator(1, 1)) for own in models]
        return Report(explained(each, {name: raw(own) for name, own in given.items()}))

    def _lines(self, given: dict[str, Any], quantise: bool) -> dict[str, np.ndarray]:
        """The codes of the operands by name, with terms along the last axis; c, if requested, has one."""
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
    """Checks that an array has rows and columns."""
    if array.ndim < 2:
        raise RequestError(f"{name} has the shape {array.shape}; a tile has rows and columns")
    return array


def _exactly(array: np.ndarray, length: int, name: str) -> np.ndarray:
    """Checks the length of the last axis."""
    if array.ndim == 0 or array.shape[-1] != length:
        raise RequestError(f"{name} has the shape {array.shape}; its last axis must have {length}")
    return array


def _places(given: Any, i: Instruction) -> np.ndarray:
    """Positions as bytes."""
    if given is None:
        raise RequestError(f"{i.name} is sparse and needs positions, the places of the stored elements of a")
    places, _ = operand(given, "positions")
    if places.dtype.kind not in "iu" or (places.size and not 0 <= int(places.min()) <= int(places.max()) < 256):
        raise RequestError("positions are small whole numbers")
    return places.astype(np.uint8)


def _filled(codes: np.ndarray, k: int, name: str, i: Instruction) -> np.ndarray:
    """Pads the last axis with zeros up to k."""
    if codes.ndim == 0:
        raise RequestError(f"{name} is a single number; its last axis must have the {k} terms of {i.name}")
    given = codes.shape[-1]
    if given > k:
        raise RequestError(f"{name} has the shape {codes.shape}; its last axis has at most {k}, the terms of {i.name}")
    if given == k:
        return codes
    whole = np.zeros((*codes.shape[:-1], k), codes.dtype)
    whole[..., :given] = codes
    return whole
