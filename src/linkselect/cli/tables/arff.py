"""Read ARFF tables: a head of attributes, then lines of values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from linkselect.cli.errors import InputError, shown
from linkselect.cli.tables.delimited import Layout, read_values
from linkselect.cli.tables.limits import Budget
from linkselect.cli.tables.table import Reading, Table

__all__ = ["read_arff"]

_ATTRIBUTE = re.compile(
    r"@attribute\s+(?:'((?:[^'\\]|\\.)*)'|\"([^\"]*)\"|([^\s{]+))\s*(.+)", re.IGNORECASE
)
_LONGEST_LINE = 16 << 20


def read_arff(path: Path, how: Reading, budget: Budget) -> Table:
    """Read an ARFF file whose rows are not sparse."""
    with path.open("rb") as file:
        names = _read_head(file, path)
        start = file.tell()
        first = _first_row(file, path)
        quote = '"' if '"' in first and "'" not in first else "'"
        n_rows = (path.stat().st_size - start) / len(first)
        budget.check(n_rows, len(names))
        file.seek(start)
        layout = Layout(names, ",", 0, max(4 << 20, 4 * len(first)), quote, comment="%")
        return read_values(file, path, layout, how, budget)


def _read_head(file: IO[bytes], path: Path) -> tuple[str, ...]:
    names: list[str] = []
    while line := file.readline(_LONGEST_LINE):
        text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n")
        if text.lower().startswith("@data"):
            if not names:
                raise InputError(f"{path.name}: no @attribute stands before @data.")
            return tuple(names)
        if text.lower().startswith("@attribute"):
            found = _ATTRIBUTE.fullmatch(text)
            if not found:
                raise InputError(f"{path.name}: the line {shown(text, 60)} is no attribute.")
            names.append((found[1] or found[2] or found[3]).replace("\\'", "'"))
        elif text and not text.startswith(("%", "@relation", "@RELATION", "@Relation")):
            raise InputError(
                f"{path.name} is no ARFF file: the line {shown(text)} stands before @data."
            )
    raise InputError(f"{path.name} is no complete ARFF file: it has no line @data.")


def _first_row(file: IO[bytes], path: Path) -> str:
    while line := file.readline(_LONGEST_LINE):
        text = line.decode("utf-8", "replace").strip()
        if text.startswith("{"):
            raise InputError(
                f"{path.name} has sparse rows ({{...}}), which are not read. Convert "
                "it with Weka's SparseToNonSparse filter, or to SVMlight."
            )
        if text and not text.startswith("%"):
            return text
    raise InputError(f"{path.name} has attributes, but no rows.")
