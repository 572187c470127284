"""Read a sheet of an Excel or OpenDocument file."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from functools import reduce
from importlib.util import find_spec
from typing import Any

from linkselect._messages import many
from linkselect.cli._errors import InputError, nearest, shown
from linkselect.cli._tables.features import from_columns
from linkselect.cli._tables.own_process import read_apart
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import Table

# The bytes of a cell, filled or not, while a sheet is read.
_CELL = 32


def read_excel(file: TableFile) -> Table:
    """Read the first sheet, or the one that `how.array` names; its first full row has names."""
    if find_spec("python_calamine") is None:
        raise InputError(
            f"{file.name}: Excel files need one more package: pip install 'linkselect[excel]'. Or "
            "save the table as CSV."
        )
    try:
        _check_size(file)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # what a damaged archive raises is of many kinds
        why = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{file.name} is not a readable spreadsheet: {why}") from error
    found, _ = read_apart("spreadsheet", file, {"sheet": file.how.array})
    name, notes = _sheet(found["names"], file)
    about_sheets = "".join(f" Note that {note}" for note in notes)
    try:
        return _from_rows(found["rows"], file, name, notes)
    except InputError as error:
        # What is missing may stand in another sheet.
        error.args = (f"{error}{about_sheets}",)
        raise


def _check_size(file: TableFile) -> None:
    """Refuse a file that unpacks to more than may be used, or whose cells lie too far apart."""
    if not zipfile.is_zipfile(file.path):
        return
    with zipfile.ZipFile(file.path) as archive:
        file.check_bytes(sum(info.file_size for info in archive.infolist()), "the file")
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                file.check(*_extent(archive.read(name)), _CELL)


def _extent(sheet: bytes) -> tuple[int, int]:
    """Return the largest row and column that a sheet names; those between take memory, too.

    Examples
    --------
    >>> _extent(b'<row r="1"><c r="A1"/></row><row r="30"><c r="A30"/><c r="AB30"/></row>')
    (30, 28)
    """
    last = [row.rpartition(b' r="')[2] for row in sheet.split(b"</row>")[:-1]]
    places = [found for cell in last if (found := re.match(rb"([A-Z]{0,3})(\d{1,7})\"", cell))]
    columns = (
        reduce(lambda number, letter: 26 * number + letter - 64, one[1], 0) for one in places
    )
    return max((int(one[2]) for one in places), default=0), max(columns, default=0)


def _sheet(names: Sequence[str], file: TableFile) -> tuple[str, list[str]]:
    wanted = file.how.array
    if wanted is not None and wanted not in names:
        hint = nearest(wanted, names)
        raise InputError(f"{file.name} has no sheet {shown(wanted)} (--sheet). {hint}")
    if not names:
        raise InputError(f"{file.name} has no sheet.")
    if wanted is not None or len(names) == 1:
        return wanted or names[0], []
    others = ", ".join(map(shown, names[1:4]))
    return names[0], [
        f"the first of {len(names)} sheets, {shown(names[0])}, is read; --sheet names another: "
        f"{others}."
    ]


def _from_rows(rows: list[list[Any]], file: TableFile, sheet: str, notes: list[str]) -> Table:
    """Take the first row with more than one value for the names; what is above it is a title."""
    where = f"{file.name}, sheet {shown(sheet)}"
    n_filled = [sum(cell is not None for cell in row) for row in rows]
    width = max(n_filled, default=0)
    first = next((i for i, n in enumerate(n_filled) if n > min(1, width - 1)), None)
    if first is None:
        raise InputError(f"{where} is empty.")
    if any(n_filled[:first]):
        notes.append(f"left out {many(first, 'row')} above the names of the columns.")
    cells = rows[first:]
    if file.how.no_header:
        cells.insert(0, [f"x{i}" for i in range(len(cells[0]))])
    if file.how.transpose:
        cells = [list(column) for column in zip(*cells, strict=True)]
    names = ["" if name is None else _name(name) for name in cells[0]]
    if len(cells) == 1:
        raise InputError(f"{where} has {many(len(names), 'column')}, but no rows.")
    columns = list(zip(*cells[1:], strict=True))
    # Formatted cells at the right edge are no columns.
    kept = [i for i, name in enumerate(names) if name or any(one is not None for one in columns[i])]
    first_row = 1 if file.how.transpose else first + 2 - file.how.no_header
    names, columns = [names[i] for i in kept], [columns[i] for i in kept]
    return from_columns(names, columns, file, notes, first_row)


def _name(value: Any) -> str:
    number = isinstance(value, float) and value.is_integer()
    return str(int(value)) if number else str(value).strip()
