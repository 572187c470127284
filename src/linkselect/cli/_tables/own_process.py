"""Read a spreadsheet or a MATLAB file in a separate process, which may crash without harm.

A malicious file can make the libraries that read these formats crash, or read outside their memory.
`read_apart` runs this file as a script, which starts quickly because it does not import linkselect:
`python own_process.py KIND FILE BYTES SECONDS ARGUMENTS` prints the contents of the file.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkselect.cli._tables.reading import TableFile

# Memory that the process needs for itself, and its time limit: fixed, and for each megabyte.
_OVERHEAD = 256 << 20
_SECONDS, _SECONDS_PER_MB = 60, 4


def read_apart(kind: str, file: TableFile, arguments: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Read a file in a separate process.

    Parameters
    ----------
    kind : str
        "spreadsheet" or "MATLAB file".
    file : TableFile
        The file, with the memory limit.
    arguments : dict
        Arguments of the reader, as plain data.

    Returns
    -------
    dict, and a stream of the data that follow it
    """
    from linkselect.cli._errors import InputError

    seconds = _SECONDS + _SECONDS_PER_MB * (file.path.stat().st_size >> 20)
    n_bytes = min(file.limit + _OVERHEAD, 2**62)
    words = [kind, str(file.path), str(n_bytes), str(seconds), json.dumps(arguments)]
    command = [sys.executable, "-P", __file__, *words]
    ended = subprocess.run(command, capture_output=True, check=False)
    stream = io.BytesIO(ended.stdout)
    try:
        found: dict[str, Any] = json.loads(stream.readline())
    except ValueError:
        found = {"error": f"its reader stopped with exit code {ended.returncode}."}
    if "memory" in found or b"memory allocation" in ended.stderr:
        file.refuse("reading it needs more")
    if "error" in found:
        why = found["error"].splitlines()[0]
        raise InputError(f"{file.name} is not a readable {kind}: {why}")
    return found, stream


# -- in the separate process -------------------------------------------------------------------


def cell(value: Any) -> Any:
    """Convert the value of a cell to a value that JSON can represent; an empty cell becomes None.

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


def read_sheet(path: str, sheet: str | None) -> tuple[dict[str, Any], bytes]:
    """Return the names of all sheets, and the rows of `sheet` or, by default, the first sheet."""
    import python_calamine

    with python_calamine.CalamineWorkbook.from_path(path) as book:
        names = book.sheet_names
        name = sheet if sheet is not None else next(iter(names), None)
        if name not in names:
            return {"names": names, "rows": []}, b""
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        return {"names": names, "rows": [[cell(value) for value in row] for row in rows]}, b""


def name_of_features(shapes: Mapping[str, tuple[int, ...]], named: str | None) -> str | None:
    """Return the name of the feature array: `named`, a usual name, or that of the only matrix."""
    wide = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] > 1]
    known = [name for name in _FEATURES if name in wide] or wide * (len(wide) == 1)
    return next(iter(known), None) if named is None else named


def read_matlab(
    path: str, array: str | None, others: list[str | None]
) -> tuple[dict[str, Any], bytes]:
    """Return the shape and type of each variable, and the requested variables as an NPZ archive.

    Parameters
    ----------
    path : str
        The file.
    array : str or None
        The name of the feature matrix, if given.
    others : list of str or None
        Further variables to read if they exist.
    """
    import numpy as np
    import scipy.io
    from scipy.sparse import issparse

    listed = scipy.io.whosmat(path, appendmat=False)
    kinds: dict[str | None, str] = {name: kind for name, _, kind in listed}
    features = name_of_features({name: shape for name, shape, _ in listed}, array)
    readable = others if kinds.get(features) == "cell" else [features, *others]
    wanted = [name for name in readable if kinds.get(name, "unknown") not in _NO_ARRAYS]
    arrays: dict[str, Any] = {}
    for name, values in scipy.io.loadmat(path, variable_names=wanted, appendmat=False).items():
        if issparse(values):
            # In version 5 and later, SciPy does not check the indices of the file.
            values = values.tocsc()
            values.check_format(full_check=True)
            arrays |= {f"_{name}.{part}": getattr(values, part) for part in SPARSE_PARTS}
        elif name in wanted and values.dtype.hasobject:
            arrays[f"_{name}"] = np.array([_content(one) for one in values.ravel(order="F")])
        elif name in wanted:
            arrays[f"_{name}"] = values.astype(values.dtype.newbyteorder("="), copy=False)
    archive = io.BytesIO()
    np.savez(archive, **arrays)
    contents = [one for one in listed if not one[0].startswith("__")]
    return {"contents": contents}, archive.getvalue()


# Usual names of the features, types that are neither numbers nor text, and the arrays of a sparse
# matrix.
_FEATURES = ("X", "x", "data", "fea", "features")
_NO_ARRAYS = ("struct", "object", "function", "opaque", "unknown")
SPARSE_PARTS = ("data", "indices", "indptr", "shape")


def _content(value: Any) -> Any:
    """Return the text or number in a MATLAB cell, or "" if the cell is empty."""
    if value.size > 1 or value.dtype.hasobject:
        raise ValueError("a cell with several values is not supported.")
    return value.item() if value.size else ""


def main(kind: str, path: str, n_bytes: str, seconds: str, arguments: str) -> None:
    """Print the contents of a file, or the reason why it cannot be read."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (int(n_bytes), int(n_bytes)))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError):  # not on this system, or a lower limit is already set
        pass
    read: Any = {"spreadsheet": read_sheet, "MATLAB file": read_matlab}[kind]
    try:
        found, data = read(path, **json.loads(arguments))
    except MemoryError:
        found, data = {"memory": True}, b""
    except BaseException as error:  # a panic in Rust is not an Exception
        found, data = {"error": str(error) or type(error).__name__}, b""
    sys.stdout.buffer.write(json.dumps(found).encode() + b"\n" + data)


if __name__ == "__main__":
    main(*sys.argv[1:])
