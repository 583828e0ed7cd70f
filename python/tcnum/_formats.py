"""Formats by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Union

from ._reports import shown
from ._tcnum import BLOCK_FORMAT_NAMES, FORMAT_NAMES, BlockFormat, Format, find_format

FormatLike = Union[str, Format]
# Formats of the types of NumPy and ml_dtypes, by name.
DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2": "e5m2",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
    "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2",
    "float4_e2m1fn": "e2m1",
    "int4": "s4",
    "uint4": "u4",
    "int8": "s8",
    "int16": "s16",
    "int32": "s32",
    "int64": "s64",
}


class Formats(Mapping):
    """The formats and block formats, by name, by alias, or by the TOML file (NAME.toml) that describes one.

    >>> import tcnum
    >>> tcnum.formats["e5m2"].smallest_subnormal == 2.0**-16
    True
    >>> tcnum.formats["mxfp4"].element
    tcnum.formats['e2m1']
    >>> [name for name in tcnum.formats if name.startswith("mxfp8")]
    ['mxfp8-e4m3', 'mxfp8-e5m2']
    """

    def __getitem__(self, name: str) -> Format | BlockFormat:
        if not isinstance(name, str):
            raise TypeError(f"the name of a format is a string, not {type(name).__name__}")
        return find_format(name)

    def __contains__(self, name: object) -> bool:
        return name in FORMAT_NAMES or name in BLOCK_FORMAT_NAMES

    def __iter__(self) -> Iterator[str]:
        return iter([*FORMAT_NAMES, *BLOCK_FORMAT_NAMES])

    def __len__(self) -> int:
        return len(FORMAT_NAMES) + len(BLOCK_FORMAT_NAMES)

    def __repr__(self) -> str:
        return f"tcnum.formats of {', '.join(self)}"

    def _repr_html_(self) -> str:
        return shown("formats")


formats = Formats()


def any_format(given: object) -> Format | BlockFormat:
    """Resolves a format, its name, or a type of NumPy, ml_dtypes or PyTorch."""
    if isinstance(given, (Format, BlockFormat)):
        return given
    if isinstance(given, str):
        return find_format(given)
    named = getattr(given, "name", None) or getattr(given, "__name__", None) or str(given).removeprefix("torch.")
    if isinstance(named, str) and named in DTYPES:
        return find_format(DTYPES[named])
    raise TypeError(f"expected a format or its name, not {type(given).__name__}")


def element_format(given: object) -> Format:
    """Resolves a format that is not a block format."""
    own = any_format(given)
    if isinstance(own, BlockFormat):
        raise TypeError(f"{own.name} is a block format; tcnum.quantise makes blocks")
    return own
