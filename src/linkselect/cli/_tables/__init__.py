"""Read tables of any format into numbers, labels and ids.

Files are foreign: nothing in them is run, sizes are known or watched while they are read, and
an error names file, line, column and value.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from linkselect.cli._errors import InputError
from linkselect.cli._startup import without_pandas
from linkselect.cli._tables.limits import Budget
from linkselect.cli._tables.table import DEFAULT_READING, Reading, RowsOnly, Table, TextOnly

__all__ = ["DEFAULT_READING", "Reading", "Table", "read_rows", "read_table", "read_text_column"]

# By name, so that reading a CSV imports no other format.
_READERS = {
    ".csv": "delimited:read_delimited",
    ".tsv": "delimited:read_delimited",
    ".tab": "delimited:read_delimited",
    ".txt": "delimited:read_delimited",
    ".parquet": "columnar:read_parquet",
    ".pq": "columnar:read_parquet",
    ".feather": "columnar:read_feather",
    ".arrow": "columnar:read_feather",
    ".npy": "array_files:read_npy",
    ".npz": "array_files:read_npz",
    ".mat": "array_files:read_mat",
    ".arff": "arff:read_arff",
    ".xlsx": "excel:read_excel",
    ".xlsm": "excel:read_excel",
    ".xls": "excel:read_excel",
    ".ods": "excel:read_excel",
    ".svmlight": "array_files:read_svmlight",
    ".svm": "array_files:read_svmlight",
    ".libsvm": "array_files:read_svmlight",
}
# How files of each kind begin. Text has no such sign.
_SIGNS = {
    b"PAR1": (".parquet", ".pq"),
    b"ARROW1": (".feather", ".arrow"),
    b"FEA1": (".feather", ".arrow"),
    b"\x93NUMPY": (".npy",),
    b"PK\x03\x04": (".npz", ".xlsx", ".xlsm", ".ods"),
    b"\xd0\xcf\x11\xe0": (".xls",),
    b"\x1f\x8b": (".gz",),
    b"\x89HDF": (".h5",),
}


def read_rows(path: Path, how: Reading) -> Table:
    """Read labels and ids of a table but no features, so that columns may hold anything."""
    return read_table(path, RowsOnly(**vars(how)))


def read_text_column(path: Path, how: Reading, column: str) -> list[str]:
    """Read one column as text, empty where a cell is."""
    found = read_table(path, TextOnly(**{**vars(how), "label": column, "id_column": None}))
    assert found.labels is not None
    return [str(text) for text in found.labels]


def read_table(path: Path, how: Reading = DEFAULT_READING) -> Table:
    """Read a table by the kind that its name ends in.

    Parameters
    ----------
    path : Path
        The file.
    how : Reading, optional
        Which column is the label, and so on.
    """
    read = _reader(path)
    budget = Budget.of(how.max_memory, path.name)
    with budget.hold(), without_pandas():
        return read(path, how, budget)


def _reader(path: Path) -> Callable[[Path, Reading, Budget], Table]:
    if path.is_dir():
        from linkselect.cli._tables.parts import read_whole

        return read_whole
    if not path.exists():
        raise InputError(_not_found(path))
    if not path.is_file():
        raise InputError(f"{path} is not a regular file. Save the table to a file first.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    kind = _kind(path)
    _check_sign(path, kind)
    if kind not in _READERS:
        raise InputError(
            f"{path.name}: tables that end in {kind or 'nothing'} are not read. "
            f"Known are {', '.join(_READERS)}, and .csv.gz."
        )
    module, function = _READERS[kind].split(":")
    found: Callable[[Path, Reading, Budget], Table]
    found = getattr(import_module(f"{__name__}.{module}"), function)
    return found


def _not_found(path: Path) -> str:
    from linkselect.cli._errors import nearest

    folder = path.parent
    files = folder.iterdir() if folder.is_dir() else ()
    others = [file.name for file in files if file.suffix in _READERS]
    return f"There is no file {path}. {nearest(path.name, others) if others else ''}".strip()


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if kind == ".gz" and _READERS.get(inner, "").startswith("delimited") else kind


def _check_sign(path: Path, kind: str) -> None:
    """Compare what the file begins with and what its name says."""
    with path.open("rb") as file:
        start = file.read(8)
    endings = next((kinds for sign, kinds in _SIGNS.items() if start.startswith(sign)), None)
    if path.suffix.lower() == ".gz":
        if endings != (".gz",):
            raise InputError(f"{path.name} is not compressed by gzip. Rename it without .gz.")
        return
    binary = {kind for kinds in _SIGNS.values() for kind in kinds}
    if endings and kind not in endings:
        raise InputError(f"{path.name} begins like a {endings[0]} file. Rename it so.")
    if kind in binary & set(_READERS) and endings is None:
        raise InputError(f"{path.name} is not a {kind} file: it does not begin like one.")
