"""Quantisation to a format, or to blocks that share scales."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ._arrays import flat, operand, raw
from ._convert import decode, encode
from ._formats import any_format
from ._tcnum import BlockFormat, Format, RequestError, dequantise_blocks, encode_any, quantise_any, quantise_blocks


class Quantised:
    """Values as codes of a format, or as blocks that share scales.

    format: target format; codes: codes of the elements, in the shape of the values; scales: codes of the block scales, one per block along
    `axis` (None without blocks); tensor_scale: scale of the whole tensor, if the format has one; axis: axis of the blocks.
    """

    def __init__(
        self,
        format: Format | BlockFormat,
        codes: np.ndarray,
        scales: np.ndarray | None = None,
        tensor_scale: float | None = None,
        axis: int = -1,
    ) -> None:
        self.format = format
        self.codes = codes
        self.scales = scales
        self.tensor_scale = tensor_scale
        self.axis = axis
        self._values: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """The quantised values, elements times scales, each rounded once to float32."""
        if self._values is None:
            if isinstance(self.format, Format) or self.scales is None:
                plain = self.format if isinstance(self.format, Format) else self.format.element
                self._values = np.asarray(decode(self.codes, plain), dtype=np.float32)
            else:
                last = np.moveaxis(self.codes, self.axis, -1) if self.codes.ndim else self.codes
                scales = np.moveaxis(self.scales, self.axis, -1) if self.codes.ndim else self.scales
                row = last.shape[-1] if last.ndim else 1
                values = dequantise_blocks(flat(last), flat(scales), row, self.format.name, self.tensor_scale)
                values = values.reshape(last.shape)
                self._values = np.moveaxis(values, -1, self.axis) if self.codes.ndim else values
        return self._values

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.codes.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)

    def to_dict(self) -> dict[str, Any]:
        """The parts by name."""
        return {
            "format": self.format.name,
            "codes": self.codes,
            "scales": self.scales,
            "tensor_scale": self.tensor_scale,
            "axis": self.axis,
        }

    def __repr__(self) -> str:
        scales = "" if self.scales is None or isinstance(self.format, Format) else f", {self.scales.size} scales of {self.format.scale.name}"
        return f"<tcnum.Quantised {self.format.name}, shape {self.shape}{scales}>"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


def quantise(
    x: Any,
    format: Any,
    *,
    rule: str | None = None,
    axis: int = -1,
    rounding: str = "RNE",
    tensor_scale: float | None = None,
) -> Quantised:
    """Quantises values to a format, or to blocks that share scales; values that are too large saturate.

    Args:
        x: values of any shape, as for `encode`.
        format: a format or block format.
        rule: derives a block's scale from its largest magnitude: floor, ceil, even, up or nearest; by default, the format's own rule.
        axis: axis of the blocks.
        rounding: as for `encode`, without SR.
        tensor_scale: nvfp4's scale of the whole tensor; by default, from the largest magnitude.

    Returns a Quantised. Raises RequestError for a wrong axis, TypeError for codes as `x` or scales without blocks.

    >>> import numpy as np, tcnum
    >>> q = tcnum.quantise(np.float32([0.1, -2.5, 1000.0]), "mxfp4", rule="floor")
    >>> q.values
    array([  0.,  -0., 768.], dtype=float32)
    >>> (q.codes, q.scales)
    (array([0, 8, 7], dtype=uint8), array([134], dtype=uint8))
    >>> tcnum.quantise([0.1, 464, 1000], "e4m3").values.tolist()
    [0.1015625, 448.0, 448.0]
    """
    own = any_format(format)
    if isinstance(own, Format):
        if rule is not None or tensor_scale is not None:
            raise TypeError(f"{own.name} has no scales; rule and tensor_scale are for block formats")
        return Quantised(own, encode(x, format, rounding=rounding, overflow="saturate"))
    array, source = operand(x, "x")
    if source is None:
        raise TypeError(f"x is an array of {array.dtype.name}, which are codes; values are floats or signed integers")
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"axis is a whole number, not {type(axis).__name__}")
    if array.ndim and not -array.ndim <= axis < array.ndim:
        raise RequestError(f"x has no axis {axis}, only {array.ndim} dimensions")
    last = np.moveaxis(array, axis, -1) if array.ndim else array
    row = last.shape[-1] if last.ndim else 1
    if source in ("f16", "bf16") or (source not in ("f32", "f64") and array.dtype.itemsize == 1):
        last, source = encode_any(raw(last), source, "f32", "RNE", "standard").view(np.float32).reshape(last.shape), "f32"
    scale = None if tensor_scale is None else float(tensor_scale)
    if source == "f32":
        made = quantise_blocks(flat(last), row, own.name, rule, rounding, scale)
    else:
        made = quantise_any(raw(last), source, row, own.name, rule, rounding, scale)
    codes, scales, scale = made
    blocks = -(-row // own.length)
    codes = codes.reshape(last.shape)
    scales = scales.reshape((*last.shape[:-1], blocks) if last.ndim else (1,))
    if array.ndim:
        codes, scales = np.moveaxis(codes, -1, axis), np.moveaxis(scales, -1, axis)
    return Quantised(own, codes, scales, scale, int(axis))

