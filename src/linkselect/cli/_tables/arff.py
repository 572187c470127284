"""Read ARFF tables: a head of attributes, then lines of values."""

from __future__ import annotations

import io
import re
from functools import partial
from pathlib import Path
from typing import IO, Any

from linkselect.cli._errors import InputError, shown
from linkselect.cli._tables.delimited import read_values
from linkselect.cli._tables.layout import Layout
from linkselect.cli._tables.limits import Budget
from linkselect.cli._tables.table import Reading, RowsOnly, Table

_ATTRIBUTE = re.compile(
    r"@attribute\s+(?:'((?:[^'\\]|\\.)*)'|\"([^\"]*)\"|([^\s{]+))\s*(.+)", re.IGNORECASE
)
_LONGEST_LINE = 16 << 20


def read_arff(path: Path, how: Reading, budget: Budget) -> Table:
    """Read an ARFF file whose rows are not sparse."""
    with path.open("rb") as file:
        names, n_lines = _read_head(file, path)
        start = file.tell()
        first = _first_row(file, path)
    n_columns = 1 if isinstance(how, RowsOnly) else len(names)
    budget.check((path.stat().st_size - start) / len(first), n_columns)
    quote = '"' if '"' in first and "'" not in first else "'"
    layout = Layout(
        names,
        ",",
        max(4 << 20, 4 * len(first)),
        quote,
        n_lines,
        nulls=("", "?"),
    )
    return read_values(partial(_open_values, path, start), layout, how, budget)


def _open_values(path: Path, start: int) -> io.BufferedReader:
    file = path.open("rb")
    file.seek(start)
    return io.BufferedReader(_Uncommented(file), 1 << 20)


class _Uncommented(io.RawIOBase):
    """A stream in which lines of comment are empty."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._in_line = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._stream.readline(len(buffer))
        if part.startswith(b"%") and not self._in_line:
            part = b"\n"
        self._in_line = not part.endswith(b"\n")
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _read_head(file: IO[bytes], path: Path) -> tuple[tuple[str, ...], int]:
    names: list[str] = []
    n_lines = 0
    while line := file.readline(_LONGEST_LINE):
        n_lines += 1
        text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n")
        if text.lower().startswith("@data"):
            if not names:
                raise InputError(f"{path.name}: no @attribute stands before @data.")
            return tuple(names), n_lines
        if text.lower().startswith("@attribute"):
            found = _ATTRIBUTE.fullmatch(text)
            if not found:
                raise InputError(f"{path.name}: the line {shown(text, 60)} is not an attribute.")
            names.append((found[1] or found[2] or found[3]).replace("\\'", "'"))
        elif text and not text.startswith(("%", "@relation", "@RELATION", "@Relation")):
            raise InputError(
                f"{path.name} is not an ARFF file: the line {shown(text)} stands before @data."
            )
    raise InputError(f"{path.name} is not a complete ARFF file: it has no line @data.")


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
