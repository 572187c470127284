"""Read a sheet of an Excel or OpenDocument file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkselect._messages import many
from linkselect.cli._errors import InputError, nearest, shown
from linkselect.cli._tables.features import from_columns
from linkselect.cli._tables.limits import DAMAGED_ARCHIVE, Budget
from linkselect.cli._tables.table import Reading, Table

# The bytes of a cell, filled or not, while a sheet is read.
_CELL = 32
# What the process that reads takes for itself.
_OVERHEAD = 128 << 20


def read_excel(path: Path, how: Reading, budget: Budget) -> Table:
    """Read the first sheet, or the one that `how.array` names; its first full row has names."""
    if find_spec("python_calamine") is None:
        raise InputError(
            f"{path.name}: Excel files need one more package: pip install 'linkselect[excel]'. Or "
            "save the table as CSV."
        )
    try:
        _check_size(path, budget)
    except DAMAGED_ARCHIVE as error:
        raise _unreadable(path, str(error) or type(error).__name__) from error
    found = _read_apart(path, how, budget)
    name, notes = _sheet(found["names"], how, path.name)
    about_sheets = "".join(f" Note that {note}" for note in notes)
    try:
        return _from_rows(found["rows"], how, budget, name, notes)
    except InputError as error:
        # What is missing may stand in another sheet.
        error.args = (f"{error}{about_sheets}",)
        raise


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(f"{path.name} is not a readable spreadsheet: {why.splitlines()[0]}")


def _read_apart(path: Path, how: Reading, budget: Budget) -> dict[str, Any]:
    """Read a sheet in a process of its own, which may crash without harm."""
    script = Path(__file__).with_name("sheet_process.py")
    wanted = [] if how.array is None else [how.array]
    command = [
        sys.executable,
        "-P",
        str(script),
        str(path),
        str(min(budget.limit + _OVERHEAD, 2**62)),
        *wanted,
    ]
    ended = subprocess.run(command, capture_output=True, check=False)
    try:
        found: dict[str, Any] = json.loads(ended.stdout)
    except ValueError:
        found = {"error": f"its reader ended with {ended.returncode}."}
    if "memory" in found or b"memory allocation" in ended.stderr:
        budget.refuse("reading it took more than that")
    if "error" in found:
        raise _unreadable(path, found["error"])
    return found


def _check_size(path: Path, budget: Budget) -> None:
    """Refuse a file that unpacks to more than may be used, or whose cells lie too far apart."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        budget.check_bytes(sum(info.file_size for info in archive.infolist()), "the file")
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                budget.check(*_extent(archive.read(name)), _CELL)


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


def _sheet(names: Sequence[str], how: Reading, source: str) -> tuple[str, list[str]]:
    if how.array is not None and how.array not in names:
        raise InputError(
            f"{source} has no sheet {shown(how.array)} (--sheet). {nearest(how.array, names)}"
        )
    if not names:
        raise InputError(f"{source} has no sheet.")
    if how.array is not None or len(names) == 1:
        return how.array or names[0], []
    others = ", ".join(map(shown, names[1:4]))
    return names[0], [
        f"the first of {len(names)} sheets, {shown(names[0])}, is read; --sheet names another: "
        f"{others}."
    ]


def _from_rows(
    rows: list[list[Any]], how: Reading, budget: Budget, sheet: str, notes: list[str]
) -> Table:
    """Take the first row with more than one value for the names; what is above it is a title."""
    where = f"{budget.source}, sheet {shown(sheet)}"
    n_filled = [sum(cell is not None for cell in row) for row in rows]
    width = max(n_filled, default=0)
    first = next((i for i, n in enumerate(n_filled) if n > min(1, width - 1)), None)
    if first is None:
        raise InputError(f"{where} is empty.")
    if any(n_filled[:first]):
        notes.append(f"left out {many(first, 'row')} above the names of the columns.")
    cells = rows[first:]
    if how.no_header:
        cells.insert(0, [f"x{i}" for i in range(len(cells[0]))])
    if how.transpose:
        cells = [list(column) for column in zip(*cells, strict=True)]
    names = ["" if name is None else _name(name) for name in cells[0]]
    if len(cells) == 1:
        raise InputError(f"{where} has {many(len(names), 'column')}, but no rows.")
    columns = list(zip(*cells[1:], strict=True))
    # Formatted cells at the right edge are no columns.
    kept = [i for i, name in enumerate(names) if name or any(one is not None for one in columns[i])]
    first_row = 1 if how.transpose else first + 2 - how.no_header
    names, columns = [names[i] for i in kept], [columns[i] for i in kept]
    return from_columns(names, columns, how, budget, notes, first_row)


def _name(value: Any) -> str:
    number = isinstance(value, float) and value.is_integer()
    return str(int(value)) if number else str(value).strip()
