"""Quantisation to a format, or to blocks that share scales."""

from __future__ import annotations

import html
from typing import Any, NamedTuple

import numpy as np

from ._arrays import operand, raw, unsigned
from ._convert import decode
from ._formats import any_format
from ._tcnum import BlockFormat, Format, RequestError, dequantise_blocks
from ._tcnum import quantise as quantise_codes
from ._tcnum import shared


class Scales(NamedTuple):
    """Scales of blocks.

    codes: their codes, unsigned integers; values: their values, float32, without the scale of the tensor.
    """

    codes: np.ndarray
    values: np.ndarray


class Quantised:
    """Values as codes of a format, or as blocks that share scales.

    format: target format; codes: codes of the elements, in the shape of the values; scales: codes and values of the scales, one for each
    block along `axis` (None without blocks); tensor_scale: scale of the whole tensor, if the format has one; axis: axis of the blocks;
    rule: the rule for the scales; sqnr: energy of the values over energy of the errors, in dB (inf without errors, None for zeros); bits:
    bits that a value takes, its share of the block scales included.
    """

    def __init__(
        self,
        format: Format | BlockFormat,
        codes: np.ndarray,
        scales: Scales | None = None,
        tensor_scale: float | None = None,
        axis: int = -1,
        rule: str | None = None,
        sqnr: float | None = None,
    ) -> None:
        self.format = format
        self.codes = codes
        self.scales = scales
        self.tensor_scale = tensor_scale
        self.axis = axis
        self.rule = rule
        self.sqnr = sqnr
        self._values: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """The quantised values, elements times scales, each rounded once to float32."""
        if self._values is None:
            if isinstance(self.format, Format) or self.scales is None:
                self._values = np.asarray(decode(self.codes, self.format), dtype=np.float32)
            else:
                last = _last(self.codes, self.axis)
                scales = _last(self.scales.codes, self.axis) if self.scales.codes.ndim == self.codes.ndim else self.scales.codes
                row = last.shape[-1] if last.ndim else 1
                matrices = _matrices(last, self.format)
                parts = [
                    dequantise_blocks(raw(codes), raw(own), row, self.format, self.tensor_scale)
                    for codes, own in zip(matrices, scales.reshape(len(matrices), -1))
                ]
                self._values = _back(np.concatenate(parts).reshape(last.shape), self.axis)
        return self._values

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.codes.shape

    @property
    def per(self) -> str:
        """The values that share a scale: 1x32, 128x128, row, tensor; none without scales."""
        return "none" if isinstance(self.format, Format) else self.format.per

    @property
    def bits(self) -> float:
        """Bits that a value takes, its share of the scales included."""
        if isinstance(self.format, Format) or self.scales is None:
            return float(self.format.bits)
        shared = 8 * self.scales.codes.nbytes + (0 if self.tensor_scale is None else 32)
        return self.format.element.bits + shared / max(self.codes.size, 1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)

    def to_dict(self) -> dict[str, Any]:
        """The parts by name."""
        return {
            "format": self.format.name,
            "per": self.per,
            "rule": self.rule,
            "codes": self.codes,
            "scales": None if self.scales is None else self.scales.codes,
            "tensor_scale": self.tensor_scale,
            "axis": self.axis,
            "sqnr": self.sqnr,
            "bits": self.bits,
        }

    def __repr__(self) -> str:
        parts = [f"{self.format.name}", f"shape {self.shape}"]
        if self.scales is not None:
            count = self.scales.codes.size
            parts.append(f"{count} {'scale' if count == 1 else 'scales'} of {self.format.scale.name} (per {self.per}, {self.rule})")
        if self.tensor_scale is not None:
            parts.append(f"tensor scale {self.tensor_scale:.3g}")
        if self.sqnr is not None:
            parts.append(f"SQNR {self.sqnr:.1f} dB")
        parts.append(f"{self.bits:.4g} bits a value")
        return f"<tcnum.Quantised {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


def quantise(
    x: Any,
    format: Any,
    *,
    per: str | None = None,
    rule: str | None = None,
    round: str = "RNE",
    seed: int = 0,
    axis: int = -1,
    tensor_scale: float | None = None,
) -> Quantised:
    """Quantises values to a format, or to blocks that share scales; values that are too large saturate.

    Args:
        x: values of any shape, as for `encode`.
        format: a format or block format, its name, or the TOML file (NAME.toml) that describes one.
        per: values that share a scale: ROWSxCOLUMNS (1x32, 128x128), row or tensor; by default, the format's own blocks, and none for
            a plain format. Plain formats of at most 8 bits get scales of f32. Columns lie along `axis`, rows along all others. A block has
            rows of one matrix of the last two axes.
        rule: derives a scale from the values: floor, ceil, even, up, nearest, mse, mae, percentile:P, four-over-six:M or extreme (q4-0);
            by default, the format's own rule.
        round: RNE, RNA, RZ, RU, RD, RO (to odd) or SR (stochastic) rounding of the elements.
        seed: seed of the random bits of SR, 32 for each value.
        axis: axis of the blocks.
        tensor_scale: nvfp4's scale of the whole tensor; by default, from the largest magnitude.

    The codes are those of `tcnum convert`. Returns a Quantised. Raises RequestError for an unknown name, a wrong axis, or a NaN where
    the format has none; TypeError for codes as `x` or scales without blocks.

    >>> import numpy as np, tcnum
    >>> q = tcnum.quantise(np.float32([0.1, -2.5, 1000.0]), "mxfp4", rule="floor")
    >>> q
    <tcnum.Quantised mxfp4, shape (3,), 1 scale of e8m0 (per 1x32, floor), SQNR 12.7 dB, 6.667 bits a value>
    >>> q.values
    array([  0.,  -0., 768.], dtype=float32)
    >>> q.codes
    array([0, 8, 7], dtype=uint8)
    >>> q.scales
    Scales(codes=array([134], dtype=uint8), values=array([128.], dtype=float32))
    >>> tcnum.quantise([0.1, 464, 1000], "e4m3").values.tolist()
    [0.1015625, 448.0, 448.0]
    >>> tcnum.quantise([[1.0, 7.0], [-8.0, 14.0]], "s4", per="row").values.tolist()
    [[1.0, 7.0], [-8.0, 14.0]]
    """
    own = any_format(format)
    for name, value in (("per", per), ("rule", rule), ("round", round)):
        if not isinstance(value, str) and (value is not None or name == "round"):
            raise TypeError(f"{name} is a string, not {type(value).__name__}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed is a whole number, not {type(seed).__name__}")
    if not 0 <= seed < 1 << 64:
        raise RequestError(f"seed is {seed}; it must be 0 to 2^64 - 1")
    if per is not None:
        own = shared(own, per)
    if isinstance(own, Format) and (rule is not None or tensor_scale is not None):
        raise TypeError(f"{own.name} has no scales; rule and tensor_scale are for block formats, or choose per")
    array, source = operand(x, "x")
    if source is None:
        raise TypeError(f"x is an array of {array.dtype.name}, which are codes; values are floats or signed integers")
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"axis is a whole number, not {type(axis).__name__}")
    if array.ndim and not -array.ndim <= axis < array.ndim:
        raise RequestError(f"x has no axis {axis}, only {array.ndim} dimensions")
    last = _last(array, axis)
    row = last.shape[-1] if last.ndim else 1
    scale = None if tensor_scale is None else float(tensor_scale)
    made = quantise_codes(raw(last), source, row, own, rule, round, int(seed), scale)
    matrices = _matrices(last, own)
    if len(matrices) > 1:
        # The scale of all values stays.
        seeds = [(int(seed) + at) % (1 << 64) for at in range(len(matrices))]
        parts = [quantise_codes(raw(x), source, row, own, rule, round, seed, made[2]) for x, seed in zip(matrices, seeds)]
        codes, scales = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        made = codes, scales, made[2], _sqnr_of_parts(matrices, [part[3] for part in parts])
    codes, scales, scale, sqnr = made
    element = own if isinstance(own, Format) else own.element
    codes = _back(codes.view(unsigned(element)).reshape(last.shape), axis)
    if isinstance(own, Format):
        return Quantised(own, codes, axis=int(axis), sqnr=sqnr)
    scales = scales.view(unsigned(own.scale)).reshape(_scale_shape(own, last.shape))
    if scales.ndim == codes.ndim:
        scales = _back(scales, axis)
    values = np.asarray(decode(scales, own.scale), dtype=np.float32)
    return Quantised(own, codes, Scales(scales, values), scale, int(axis), rule or own.default_rule, sqnr)


def _last(array: np.ndarray, axis: int) -> np.ndarray:
    """The array with this axis as the last."""
    return np.moveaxis(array, axis, -1) if array.ndim else array


def _back(array: np.ndarray, axis: int) -> np.ndarray:
    """The array with the last axis moved to this place."""
    return np.moveaxis(array, -1, axis) if array.ndim else array


def _matrices(last: np.ndarray, own: Format | BlockFormat) -> np.ndarray:
    """The matrices of the last two axes, where blocks of several rows end within each; else one array."""
    several = isinstance(own, BlockFormat) and own.rows not in (1, None) and last.ndim > 2 and last.size
    if several and last.shape[-2] % own.rows:
        return last.reshape(-1, *last.shape[-2:])
    return last[None]


def _scale_shape(own: BlockFormat, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the scales of an array whose blocks lie along the last axis, as in the files of `tcnum convert`."""
    *leading, row = shape or (1,)
    columns = -(-row // (own.length or max(row, 1)))
    if own.rows == 1:
        return (*leading, columns)
    if own.rows is None:
        return () if np.prod(shape, dtype=int) else (0,)
    if leading:
        return (*leading[:-1], -(-leading[-1] // own.rows), columns)
    return (1, columns)


def _sqnr_of_parts(parts: np.ndarray, ratios: list[float | None]) -> float | None:
    """Ratio of signal to noise in dB of all parts, from that of each; None without a signal."""
    values = np.where(np.isfinite(parts), parts, 0).astype(np.float64)
    signals = (values * values).reshape(len(parts), -1).sum(axis=1)
    noise = sum(signal / 10 ** (own / 10) for signal, own in zip(signals, ratios) if own is not None and own < np.inf)
    if signals.sum() == 0:
        return None
    return float(np.inf if noise == 0 else 10 * np.log10(signals.sum() / noise))
