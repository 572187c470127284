"""Read a sheet of an Excel or OpenDocument file."""

from importlib.util import find_spec
from typing import Any

from linkselect._messages import many
from linkselect.cli._errors import InputError, nearest, shown
from linkselect.cli._tables.features import from_columns
from linkselect.cli._tables.own_process import read_apart
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import Table, value_text


def read_excel(file: TableFile) -> Table:
    """Read the first sheet, or the sheet `how.array`; the first filled row is the header."""
    if find_spec("python_calamine") is None:
        raise InputError(
            f"{file.name}: reading spreadsheets needs another package. Run "
            "pip install 'linkselect[excel]', or save the table as CSV."
        )
    found, _ = read_apart("spreadsheet", file, {"sheet": file.how.array})
    names, wanted, notes = found["names"], file.how.array, list[str]()
    if wanted is not None and wanted not in names:
        hint = nearest(wanted, names)
        raise InputError(f"{file.name} has no sheet {shown(wanted)} (--sheet). {hint}")
    if not names:
        raise InputError(f"{file.name} has no sheets.")
    if wanted is None and len(names) > 1:
        notes.append(
            f"Only the first of {len(names)} sheets, {shown(names[0])}, was read; --sheet selects "
            f"another, such as {', '.join(map(shown, names[1:4]))}."
        )
    about_sheets = "".join(f" {note}" for note in notes)
    try:
        return _from_rows(found["rows"], file, wanted or names[0], notes)
    except InputError as error:
        # The missing column may be in another sheet.
        error.args = (f"{error}{about_sheets}",)
        raise


def _from_rows(rows: list[list[Any]], file: TableFile, sheet: str, notes: list[str]) -> Table:
    """Make a table from the rows of a sheet; the first row with several values is the header."""
    where = f"{file.name}, sheet {shown(sheet)}"
    n_filled = [sum(cell is not None for cell in row) for row in rows]
    width = max(n_filled, default=0)
    first = next((i for i, n in enumerate(n_filled) if n > min(1, width - 1)), None)
    if first is None:
        raise InputError(f"{where} is empty.")
    if any(n_filled[:first]):
        notes.append(f"Skipped {many(first, 'row')} above the header.")
    cells = rows[first:]
    if file.how.no_header:
        cells.insert(0, [f"x{i}" for i in range(len(cells[0]))])
    if file.how.transpose:
        cells = [list(column) for column in zip(*cells, strict=True)]
    names = list(map(value_text, cells[0]))
    if len(cells) == 1:
        raise InputError(f"{where} has {many(len(names), 'column')}, but no rows.")
    columns = list(zip(*cells[1:], strict=True))
    # Empty formatted cells at the right edge are not columns.
    kept = [i for i, name in enumerate(names) if name or any(one is not None for one in columns[i])]
    first_row = 1 if file.how.transpose else first + 2 - file.how.no_header
    names, columns = [names[i] for i in kept], [columns[i] for i in kept]
    return from_columns(names, columns, file, notes, first_row)
