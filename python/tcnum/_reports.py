"""Reports of commands, with their tables."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

from ._tcnum import report as run


class Table(Sequence):
    """A table: rows as dictionaries, by the keys of its columns.

    key: name; title: heading; columns: key, meaning, heading and unit of each. `table["key"]` is a column, `table[0]` a row.
    """

    def __init__(self, made: dict[str, Any]) -> None:
        self.key: str = made["key"]
        self.title: str = made["title"]
        self.columns: list[dict[str, Any]] = made["columns"]
        self._brief: bool = made["brief"]
        self._rows: list[list[Any]] = made["rows"]
        self._keys = [column["key"] for column in self.columns]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            if at not in self._keys:
                raise KeyError(f"the table {self.key} has no column {at!r}; its columns are {', '.join(self._keys)}")
            return [row[self._keys.index(at)] for row in self._rows]
        if isinstance(at, slice):
            return [dict(zip(self._keys, row)) for row in self._rows[at]]
        return dict(zip(self._keys, self._rows[at]))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self._keys, row)) for row in self._rows)

    def to_pandas(self) -> Any:
        """Converts the table to a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self._keys)

    def __repr__(self) -> str:
        return f"<tcnum.Table {self.key!r}: {len(self)} rows of {', '.join(self._keys)}>"

    def _shown(self) -> list[int]:
        """Numbers of the columns for people."""

        def shows(at: int) -> bool:
            column, cells = self.columns[at], [row[at] for row in self._rows]
            if column["heading"] is None or (self._brief and not column["essential"]):
                return False
            if column["shown"] == "filled":
                return any(cell is not None and cell != [] for cell in cells)
            return column["shown"] != "varied" or any(cell != cells[0] for cell in cells)

        return [at for at in range(len(self.columns)) if shows(at)]

    def _repr_html_(self) -> str:
        shown = self._shown()
        headings = "".join(
            f'<th title="{html.escape(self.columns[at]["meaning"])}">{html.escape(_heading(self.columns[at]))}</th>' for at in shown
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(row[at]))}</td>" for at in shown) + "</tr>" for row in self._rows
        )
        title = html.escape(self.title)
        return f"<table><caption>{title}</caption><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>"


class Report:
    """The result of a command.

    command: its name; invocation: its command line; device: the device that ran it; answer: the result in a sentence; seed: seed of random
    inputs; notes: remarks on the numbers; holds: False if a mismatch was found or the run was interrupted; verdict: the finding where it
    does not hold ("they differ"); tables: tables by key.
    """

    def __init__(self, made: dict[str, Any]) -> None:
        self._made = made
        self.command: str = made["command"]
        self.invocation: str = made["invocation"]
        self.device: dict[str, Any] | None = made["device"]
        self.answer: str | None = made["answer"]
        self.seed: int | None = made["seed"]
        self.notes: list[str] = made["notes"]
        self.holds: bool = made["holds"]
        self.verdict: str | None = made["verdict"]
        self.tables: dict[str, Table] = {table["key"]: Table(table) for table in made["tables"]}
        self._text: str = made["text"]

    def __getitem__(self, key: str) -> Table:
        return self.tables[key]

    def to_dict(self) -> dict[str, Any]:
        """Converts the report to plain values."""
        return {
            "command": self.command,
            "invocation": self.invocation,
            "device": self.device,
            "answer": self.answer,
            "seed": self.seed,
            "notes": self.notes,
            "holds": self.holds,
            "tables": {key: list(table) for key, table in self.tables.items()},
        }

    def to_pandas(self, key: str | None = None) -> Any:
        """Converts the table of this key, by default the first, to a pandas DataFrame."""
        if not self.tables:
            raise ValueError(f"the report of {self.command} has no table")
        return (next(iter(self.tables.values())) if key is None else self.tables[key]).to_pandas()

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        tables = ", ".join(f"{key} ({len(table)})" for key, table in self.tables.items())
        return f"<tcnum.Report of {self.command}: {self.verdict or ('holds' if self.holds else 'interrupted')}; {tables or 'no tables'}>"

    def _repr_html_(self) -> str:
        lines = [] if self.answer is None else [self.answer]
        lines += [] if self.device is None else [f"device: {self.device['name']}, {self.device['description']}"]
        lines += self.notes
        said = "".join(f"<p style='white-space: pre-wrap'>{html.escape(line)}</p>" for line in lines)
        mismatch = "" if self.verdict is None else f"<p><b>{html.escape(self.verdict[0].upper() + self.verdict[1:])}.</b></p>"
        return said + "".join(table._repr_html_() for table in self.tables.values()) + mismatch


def _heading(column: dict[str, Any]) -> str:
    return f"{column['heading']} ({column['unit']})" if column["unit"] else column["heading"]


def _cell(value: Any) -> str:
    """A cell for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return ", ".join(_cell(own) for own in value)
    return str(value)


def shown(*words: str) -> str:
    """HTML of the report of `tcnum WORDS`, for notebooks."""
    made, failure = run(list(words), [])
    if failure is not None:
        raise failure
    return Report(made)._repr_html_()
