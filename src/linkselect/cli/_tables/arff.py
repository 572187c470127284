"""Read ARFF tables: a header of attributes, then lines of values."""

import re
from dataclasses import replace
from pathlib import Path
from typing import IO

from linkselect.cli._errors import InputError, shown
from linkselect.cli._tables.delimited import read_values
from linkselect.cli._tables.layout import Layout
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import Table

_ATTRIBUTE = re.compile(
    r"@attribute\s+(?:'((?:[^'\\]|\\.)*)'|\"([^\"]*)\"|([^\s{]+))\s*(.+)", re.IGNORECASE
)
_LONGEST_LINE = 16 << 20


def read_arff(file: TableFile) -> Table:
    """Read an ARFF file with dense rows."""
    with file.path.open("rb") as stream:
        names, n_lines = _read_head(stream, file.path)
        start = stream.tell()
        first = _first_row(stream, file.path)
    n_columns = len(names) if file.wanted == "all" else 1
    file.check((file.path.stat().st_size - start) / len(first), n_columns)
    layout = Layout(
        names,
        ",",
        start,
        len(first),
        quote='"' if '"' in first and "'" not in first else "'",
        comment="%",
        n_before=n_lines,
    )
    return read_values(replace(file, nulls=("", "?")), layout)


def _read_head(file: IO[bytes], path: Path) -> tuple[tuple[str, ...], int]:
    names: list[str] = []
    n_lines = 0
    while line := file.readline(_LONGEST_LINE):
        n_lines += 1
        text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n")
        if text.lower().startswith("@data"):
            if not names:
                raise InputError(f"{path.name} has no @attribute line before @data.")
            return tuple(names), n_lines
        if text.lower().startswith("@attribute"):
            found = _ATTRIBUTE.fullmatch(text)
            if not found:
                raise InputError(f"{path.name}: invalid attribute line {shown(text, 60)}.")
            names.append((found[1] or found[2] or found[3]).replace("\\'", "'"))
        elif text and not text.startswith(("%", "@relation", "@RELATION", "@Relation")):
            raise InputError(
                f"{path.name} is not an ARFF file: unexpected line {shown(text)} before @data."
            )
    raise InputError(f"{path.name} is not a complete ARFF file: it has no @data line.")


def _first_row(file: IO[bytes], path: Path) -> str:
    while line := file.readline(_LONGEST_LINE):
        text = line.decode("utf-8", "replace").strip()
        if text.startswith("{"):
            raise InputError(
                f"{path.name} has sparse rows ({{...}}), which are not supported. Convert the file "
                "to dense rows with Weka's SparseToNonSparse filter, or to SVMlight."
            )
        if text and not text.startswith("%"):
            return text
    raise InputError(f"{path.name} has attributes, but no rows.")
