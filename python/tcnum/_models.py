"""Models of arithmetic, evaluated on arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._arrays import codes_of, operand, raw, unsigned, values_of
from ._instructions import any_instruction
from ._reports import Report
from ._tcnum import MODEL_NAMES, Instruction, ModelFile, RequestError, explained, find_format

# Codes of operands that are made at a time, where they are repeated for many cases.
_PIECE = 1 << 22


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


class Model:
    """A model of arithmetic: `model[instruction]` is the arithmetic of an instruction."""

    def __init__(self, own: ModelFile) -> None:
        self._own = own

    @property
    def name(self) -> str:
        """The name."""
        return self._own.name

    @property
    def title(self) -> str:
        """What it describes."""
        return self._own.title

    @property
    def version(self) -> int:
        """The version of the description."""
        return self._own.version

    @property
    def targets(self) -> list[str]:
        """The targets whose GPUs it describes (`sm_90a`)."""
        return self._own.targets

    @property
    def text(self) -> str:
        """The model as a TOML document."""
        return self._own.text

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
        from ._commands import command

        return command("models", self._own.given)._repr_html_()


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
        i = self.instruction
        given = self._given(a, b, c, positions, scale_a, scale_b, quantise, (i.stored_k, i.k))
        lead = np.broadcast_shapes(*(own.shape[:-1] for own in given.values()))
        made = self._cases(given, lead)
        own = find_format(i.d)
        d = made.view(unsigned(own)).reshape(lead)
        return (d if codes else values_of(d, own))[()]

    def _cases(self, given: dict[str, np.ndarray], lead: tuple[int, ...]) -> np.ndarray:
        """The bytes of D of all cases."""
        evaluator = self._evaluator(1, 1)
        count = int(np.prod(lead, dtype=np.int64))
        whole = {name: np.broadcast_to(own, (*lead, own.shape[-1])) for name, own in given.items()}
        if not lead or whole["b"].size <= _PIECE or lead[0] == 1:
            return evaluator.execute({name: raw(own) for name, own in whole.items()})
        together = max(1, lead[0] * _PIECE // whole["b"].size)
        pieces = (slice(at, at + together) for at in range(0, lead[0], together))
        made = [evaluator.execute({name: raw(own[piece]) for name, own in whole.items()}) for piece in pieces]
        return np.concatenate(made) if count else np.empty(0, np.uint8)

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
        i = self.instruction
        turned = {"b": b, "scale_b": scale_b}
        for name, own in turned.items():
            if own is not None:
                array, source = operand(own, name)
                if array.ndim < 2:
                    raise RequestError(f"{name} has the shape {array.shape}; a tile has rows and columns")
                turned[name] = type(operand(own, name))(np.swapaxes(array, -1, -2), source)
        one_c = c if c is None else operand(c, "c")
        given = self._given(a, turned["b"], None, positions, scale_a, turned["scale_b"], quantise, (i.stored_k, i.k))
        for name, own in given.items():
            if name != "c" and own.ndim < 2:
                raise RequestError(f"{name} has the shape {own.shape}; a tile has rows and columns")
        rows, columns = given["a"].shape[-2], given["b"].shape[-2]
        own_c = find_format(i.c)
        given["c"] = np.zeros((rows, columns), unsigned(own_c)) if one_c is None else codes_of(one_c, own_c, "c", quantise=quantise)
        wanted = {"a": rows, "positions": rows, "scale_a": rows, "b": columns, "scale_b": columns}
        lead = np.broadcast_shapes(*(own.shape[:-2] for own in given.values()))
        whole = {}
        for name, own in given.items():
            own = np.broadcast_to(own, (*lead, *((rows, columns) if name == "c" else (wanted[name], own.shape[-1]))))
            whole[name] = raw(np.swapaxes(own, -1, -2) if name in turned else own)
        own_d, shape = find_format(i.d), (*lead, rows, columns)
        if 0 in shape:
            d = np.empty(shape, unsigned(own_d))
        else:
            d = self._evaluator(rows, columns).execute(whole).view(unsigned(own_d)).reshape(shape)
        return d if codes else values_of(d, own_d)

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
        i = self.instruction
        given = self._given(a, b, c, positions, scale_a, scale_b, quantise, (i.stored_k, i.k))
        for name, own in given.items():
            if own.size != own.shape[-1]:
                raise RequestError(f"{name} has the shape {own.shape}, and one case is explained")
        models = [self.model] if against is None else [self.model, model(against)]
        each = [(own.name, own[i]._evaluator(1, 1)) for own in models]
        return Report(explained(each, {name: raw(own) for name, own in given.items()}))

    def _given(
        self,
        a: Any,
        b: Any,
        c: Any,
        positions: Any,
        scale_a: Any,
        scale_b: Any,
        quantise: bool,
        lengths: tuple[int, int],
    ) -> dict[str, np.ndarray]:
        """The codes of the operands by name, each with its terms along the last axis."""
        i = self.instruction
        stored, k = lengths
        given = {
            "a": _filled(codes_of(a, find_format(i.a), "a", quantise=quantise), stored, "a", i),
            "b": _filled(codes_of(b, find_format(i.b), "b", quantise=quantise), k, "b", i),
        }
        own_c = find_format(i.c)
        given["c"] = (np.zeros((), unsigned(own_c)) if c is None else codes_of(c, own_c, "c", quantise=quantise))[..., None]
        if i.is_sparse:
            if positions is None:
                raise RequestError(f"{i.name} is sparse: positions says where the stored elements of a are")
            places, _ = operand(positions, "positions")
            if places.dtype.kind not in "iu" or (places.size and not 0 <= int(places.min()) <= int(places.max()) < 256):
                raise RequestError("positions are small whole numbers")
            given["positions"] = places.astype(np.uint8)
            if places.ndim == 0 or places.shape[-1] != stored:
                raise RequestError(f"positions has the shape {places.shape}; its last axis is to have {stored}")
        elif positions is not None:
            raise RequestError(f"{i.name} is not sparse: it has no positions")
        if i.scale is None or i.scale_block is None:
            if scale_a is not None or scale_b is not None:
                raise RequestError(f"{i.name} has no block scales")
            return given
        own = find_format(i.scale)
        blocks = k // i.scale_block
        for name, scales in {"scale_a": scale_a, "scale_b": scale_b}.items():
            one = np.full(blocks, own.code_of(1.0), unsigned(own))
            given[name] = one if scales is None else codes_of(scales, own, name, quantise=quantise)
            if given[name].ndim == 0 or given[name].shape[-1] != blocks:
                raise RequestError(f"{name} has the shape {given[name].shape}; its last axis is to have {blocks}, one for each block")
        if scale_a is None or scale_b is None:
            for name, other in (("scale_a", "a"), ("scale_b", "b")):
                if given[name].ndim < given[other].ndim:
                    given[name] = np.broadcast_to(given[name], (*given[other].shape[:-1], blocks))
        return given

    def __repr__(self) -> str:
        return f"{self.model!r}['{self.instruction.name}']"

    def _repr_html_(self) -> str:
        import html

        return f"<p><code>{html.escape(repr(self))}</code></p><pre>{html.escape(self.program)}</pre>"


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
