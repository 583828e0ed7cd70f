"""Arrays of other libraries as NumPy arrays of values or of codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._formats import DTYPES
from ._tcnum import Format, RequestError, convert_exactly, encode_any, find_format

# Formats with a NumPy type.
NATIVE = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "s8": "int8",
    "u8": "uint8",
    "s4": "int8",
    "u4": "uint8",
    "b1": "uint8",
    "s16": "int16",
    "s32": "int32",
    "u32": "uint32",
    "s64": "int64",
    "u64": "uint64",
}
# DLPack numbers of memory that the host can read.
_HOST = {1: "CPU", 3: "CUDA's host memory", 13: "CUDA's managed memory", 11: "ROCm's host memory"}


class Operand(NamedTuple):
    """A NumPy array in native byte order, and the format of its elements (None: codes of any format)."""

    array: np.ndarray
    format: str | None


def operand(given: Any, name: str) -> Operand:
    """Converts an argument to an array of values or codes.

    Accepts NumPy arrays (with ml_dtypes), CPU tensors of PyTorch, objects with __array__ or __dlpack__, and lists of numbers.
    Raises TypeError for other types of elements, RequestError for an array on another device.
    """
    if isinstance(given, Operand):
        return given
    torch = _of_torch(given, name)
    if torch is not None:
        return torch
    array = _array(given, name)
    kind = array.dtype
    if not kind.isnative:
        array = array.astype(kind.newbyteorder("="))
        kind = array.dtype
    own = DTYPES.get(kind.name)
    if own is not None and kind.name not in ("float64", "float32", "float16") and kind.kind != "i":
        # A type of ml_dtypes: its bits are the codes, in the low bits for types narrower than a byte.
        codes = array.view(f"u{kind.itemsize}")
        bits = find_format(own).bits
        return Operand(codes if bits >= 8 * kind.itemsize else codes & np.uint8((1 << bits) - 1), own)
    if own is not None:
        return Operand(array, own)
    if kind.kind == "u" and kind.itemsize in (1, 2, 4, 8):
        return Operand(array, None)
    raise TypeError(
        f"{name} is an array of {kind.name}; expected float16, float32, float64, a type of ml_dtypes, signed integers (values), or "
        f"unsigned ones (codes)"
    )


def _array(given: Any, name: str) -> np.ndarray:
    if isinstance(given, np.ndarray):
        return given
    if isinstance(given, (str, bytes, bytearray, dict, set)) or given is None or callable(given):
        raise TypeError(f"{name} is {type(given).__name__}; expected an array of numbers")
    if hasattr(given, "__dlpack__") and hasattr(given, "__dlpack_device__"):
        place = int(given.__dlpack_device__()[0])
        if place not in _HOST:
            raise RequestError(f"{name} is on another device (DLPack's number {place}); copy it to the host")
        try:
            return np.from_dlpack(given)
        except (BufferError, RuntimeError, TypeError, ValueError):
            # NumPy's DLPack lacks this type.
            pass
    try:
        array = np.asarray(given)
    except Exception as error:
        raise TypeError(f"{name} cannot be made an array: {error}") from error
    return array


def _of_torch(given: Any, name: str) -> Operand | None:
    """Converts a PyTorch tensor; returns None for anything else."""
    if type(given).__module__.partition(".")[0] != "torch" or not hasattr(given, "detach"):
        return None
    import torch

    if given.device.type != "cpu":
        raise RequestError(f"{name} is on {given.device}; copy it to the host: {name}.cpu()")
    tensor = given.detach().resolve_conj().resolve_neg() if given.is_complex() else given.detach()
    kind = str(tensor.dtype).removeprefix("torch.")
    own = DTYPES.get(kind)
    if own is not None and kind not in ("float64", "float32", "float16") and not kind.startswith("int"):
        width = {1: torch.uint8, 2: getattr(torch, "uint16", torch.int16)}[tensor.element_size()]
        array = tensor.contiguous().view(width).numpy()
        return Operand(array.view(f"u{array.dtype.itemsize}"), own)
    try:
        return operand(tensor.numpy(), name)
    except TypeError as error:
        raise TypeError(f"{name} is a tensor of {kind}: {error}") from error


def flat(array: np.ndarray) -> np.ndarray:
    """The elements as a contiguous one-dimensional array, without a copy if possible."""
    return np.ascontiguousarray(array).reshape(-1)


def raw(array: np.ndarray) -> np.ndarray:
    """The bytes of the elements, in order."""
    return flat(array).view(np.uint8)


def unsigned(own: Format) -> np.dtype:
    """The NumPy type of a format's codes."""
    return np.dtype(f"u{own.bytes}")


def codes_of(given: Any, own: Format, name: str, *, quantise: bool = False) -> np.ndarray:
    """Returns codes of the format `own`, from codes or from values.

    Values must be exact unless `quantise` rounds them. Raises TypeError for codes of another size, RequestError for codes or values that
    the format does not have.
    """
    array, source = operand(given, name)
    if source is None:
        if array.dtype != unsigned(own):
            raise TypeError(
                f"{name} is an array of {array.dtype.name}, which are codes, and codes of {own.name} are {unsigned(own).name}; values "
                f"are floats or signed integers"
            )
        if array.size and own.bits < 8 * own.bytes and int(array.max()) >> own.bits:
            raise RequestError(f"{name}: code {int(array.max()):#x} has more than the {own.bits} bits of {own.name}")
        return array
    # The unit ignores the low 13 bits of f32.
    if source == own.name or (source, own.name) == ("f32", "tf32"):
        return array.view(unsigned(own)) if array.dtype.itemsize == own.bytes else array.astype(unsigned(own))
    if quantise:
        made = encode_any(raw(array), source, own.name, "RNE", "saturate")
    else:
        made, changed = convert_exactly(raw(array), source, own.name)
        if changed:
            raise RequestError(
                f"{name}: {changed} of its {array.size} values are not in {own.name}; quantise=True rounds them to nearest"
            )
    return made.view(unsigned(own)).reshape(array.shape)
