"""Conversion of values to codes, and of codes to values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import NATIVE, flat, operand, raw, unsigned
from ._formats import FormatLike, element_format
from ._tcnum import Format, RequestError, decode_narrow, encode_any, encode_narrow, encode_random


def encode(
    x: Any,
    format: FormatLike,
    *,
    rounding: str = "RNE",
    overflow: str = "standard",
    random: Any = None,
    random_bits: int = 32,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Encodes values as codes, each rounded once.

    Args:
        x: floats (NumPy, ml_dtypes, PyTorch on the CPU, anything with __dlpack__) or signed integers, of any shape.
        format: a format, its name, or a type of NumPy or ml_dtypes.
        rounding: RNE, RNA, RZ, RU, RD, RO (to odd) or SR (stochastic).
        overflow: result for values that are too large: "standard" (the format's own document), "infinity", "nan", "saturate" or
            "saturate-finite" (infinities stay).
        random: for SR, one uint64 per value, in the shape of `x`.
        random_bits: low bits of `random` that SR uses, 1 to 64.
        out: array for the codes.

    Returns unsigned integers in the shape of `x`. Raises RequestError for NaN if the format has none, TypeError for codes as `x`.

    >>> import numpy as np, tcnum
    >>> tcnum.encode(np.float32([1.0, 464.0, 1e6]), "e4m3")
    array([ 56, 126, 127], dtype=uint8)
    >>> tcnum.encode(np.float32([1.0, 464.0, 1e6]), "e4m3", rounding="RZ", overflow="saturate")
    array([ 56, 126, 126], dtype=uint8)
    >>> tcnum.encode(np.float32([0.1]), "bf16", rounding="SR", random=np.uint64([0]))
    array([15820], dtype=uint16)
    """
    own = element_format(format)
    array, source = operand(x, "x")
    if source is None:
        raise TypeError(f"x is an array of {array.dtype.name}, which are codes; values are floats or signed integers")
    _is_text("rounding", rounding)
    _is_text("overflow", overflow)
    if (rounding.upper() == "SR") != (random is not None):
        raise TypeError("rounding='SR' and random need each other")
    narrow = own.bits <= 16
    if random is not None:
        numbers, _ = operand(random, "random")
        if numbers.dtype != np.uint64 or numbers.shape != array.shape:
            raise TypeError(f"random is {numbers.dtype.name} of shape {numbers.shape}; expected uint64 of shape {array.shape}")
        if not narrow or source not in ("f32", "f64") or (source == "f64" and not _in_f32(array)):
            raise RequestError("SR rounds float32 values to formats of at most 16 bits")
        codes = _room(out, array.shape, own)
        encode_random(flat(array.astype(np.float32, copy=False)), flat(numbers), random_bits, codes.reshape(-1), own.name, overflow)
        return codes
    if narrow and source == "f32":
        codes = _room(out, array.shape, own)
        encode_narrow(flat(array), codes.reshape(-1), own.name, rounding, overflow)
        return codes
    made = encode_any(raw(array), source, own.name, rounding, overflow).view(unsigned(own)).reshape(array.shape)
    if out is None:
        return made
    codes = _room(out, array.shape, own)
    codes[...] = made
    return codes


def decode(codes: Any, format: FormatLike, *, out: np.ndarray | None = None) -> np.ndarray:
    """Decodes codes to values.

    Args:
        codes: unsigned integers of the format's size, or an array of the format's type in ml_dtypes or PyTorch, of any shape.
        format: a format, its name, or a type of NumPy or ml_dtypes.
        out: array for the values.

    Returns values in the format's NumPy type (f16, f32, f64, integers), else in float32, which holds them all.
    Raises RequestError for codes with more bits than the format, TypeError for codes of another size.

    >>> import numpy as np, tcnum
    >>> tcnum.decode(np.uint8([0x7e, 0x01, 0x7f]), "e4m3")
    array([4.480000e+02, 1.953125e-03,          nan], dtype=float32)
    """
    own = element_format(format)
    array, source = operand(codes, "codes")
    if source not in (None, own.name) or (source is None and array.dtype != unsigned(own)):
        raise TypeError(
            f"codes is an array of {array.dtype.name if source is None else source}; codes of {own.name} are {unsigned(own).name}"
        )
    if array.dtype.itemsize != own.bytes:
        array = array.astype(unsigned(own))
    array = array.view(unsigned(own))
    native = NATIVE.get(own.name)
    kind = np.dtype(native or "float32")
    if out is not None and (not isinstance(out, np.ndarray) or out.dtype != kind or out.shape != array.shape):
        raise TypeError(f"out must be an array of {kind.name} of shape {array.shape}")
    if native is not None:
        values = _native(array, own, kind)
        if out is None:
            return values
        out[...] = values
        return out
    if own.bits <= 16:
        made = out if out is not None and out.flags.c_contiguous and out.flags.writeable else np.empty(array.shape, np.float32)
        decode_narrow(flat(array), made.reshape(-1), own.name)
    else:
        made = encode_any(raw(array), own.name, "f32", "RNE", "standard").view(np.float32).reshape(array.shape)
    if out is not None and made is not out:
        out[...] = made
        return out
    return made


def _native(array: np.ndarray, own: Format, kind: np.dtype) -> np.ndarray:
    """Values of codes whose format has a NumPy type."""
    if own.bits == 8 * own.bytes:
        return array.view(kind)
    if array.size and int(array.max()) >> own.bits:
        raise RequestError(f"code {int(array.max()):#x} has more than the {own.bits} bits of {own.name}")
    if not own.signed:
        return array.view(kind)
    empty = 8 * own.bytes - own.bits
    return (array << empty).view(kind) >> empty


def _room(out: np.ndarray | None, shape: tuple[int, ...], own: Format) -> np.ndarray:
    """The array for the codes: `out` if it fits, else a new one."""
    if out is None:
        return np.empty(shape, unsigned(own))
    if not isinstance(out, np.ndarray) or out.dtype != unsigned(own) or out.shape != shape:
        raise TypeError(f"out must be an array of {unsigned(own).name} of shape {shape}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise RequestError("out must be contiguous and writeable")
    return out


def _in_f32(array: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.array_equal(array.astype(np.float32).astype(array.dtype), array, equal_nan=True))


def _is_text(name: str, given: object) -> None:
    if not isinstance(given, str):
        raise TypeError(f"{name} is a string, not {type(given).__name__}")


def values_of(codes: np.ndarray, own: Format) -> np.ndarray:
    """Values of codes in the format's NumPy type, else in float32."""
    return decode(codes, own)
