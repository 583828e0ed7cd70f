"""Formats by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Union

from ._tcnum import BLOCK_FORMAT_NAMES, FORMAT_NAMES, BlockFormat, Format, find_format

FormatLike = Union[str, Format]


class Formats(Mapping):
    """All formats and block formats, by name, alias, or the TOML file (NAME.toml) that describes one.

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
            raise TypeError(f"a format is named by a string, not by {type(name).__name__}")
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
        from ._commands import command

        return command("formats")._repr_html_()


formats = Formats()


def any_format(given: object) -> Format | BlockFormat:
    """The format that is given: itself, its name, or a dtype of ml_dtypes."""
    if isinstance(given, (Format, BlockFormat)):
        return given
    if isinstance(given, str):
        return find_format(given)
    raise TypeError(f"expected a format or its name, not {type(given).__name__}")


def element_format(given: object) -> Format:
    """The same, which is no block format."""
    own = any_format(given)
    if isinstance(own, BlockFormat):
        raise TypeError(f"{own.name} is a block format; tcnum.quantise makes blocks")
    return own
