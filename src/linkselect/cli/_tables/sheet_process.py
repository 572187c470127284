"""Read a sheet in a process of its own: `python sheet_process.py FILE BYTES [SHEET]` prints JSON.

The library that reads spreadsheets ends its process if a file makes it ask for too much memory.
This file imports nothing of ours, so that it starts quickly.
"""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from typing import Any


def cell(value: Any) -> Any:
    """Return a value that JSON can hold, None for an empty cell.

    Examples
    --------
    >>> [cell(value) for value in ("a", " ", 1.5, True, date(2024, 1, 2))]
    ['a', None, 1.5, True, '2024-01-02']
    """
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, float | int) else str(value)


def read(path: str, wanted: str | None) -> dict[str, Any]:
    """Return the names of all sheets, and the rows of the wanted one, or of the first."""
    import python_calamine

    with python_calamine.CalamineWorkbook.from_path(path) as book:
        names = book.sheet_names
        name = wanted if wanted is not None else next(iter(names), None)
        if name not in names:
            return {"names": names, "rows": []}
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        return {"names": names, "rows": [[cell(value) for value in row] for row in rows]}


def main(path: str, n_bytes: str, wanted: str | None = None) -> None:
    """Print what a file holds, or why it cannot be read."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (int(n_bytes), int(n_bytes)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError):  # not on this system, or a lower limit holds already
        pass
    try:
        found = read(path, wanted)
    except MemoryError:
        found = {"memory": True}
    except BaseException as error:  # a panic of the library is no Exception
        found = {"error": (str(error) or type(error).__name__).splitlines()[0]}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
