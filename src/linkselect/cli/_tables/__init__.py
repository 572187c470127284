"""Read tables in all supported formats as numbers, labels and ids.

Files are not trusted: code in them is never run, and their size is checked before or while they are
read. Error messages state the file, line, column and value.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from linkselect._pictures.decoding import ENDINGS as PICTURES
from linkselect.cli._errors import InputError, UsageError, nearest
from linkselect.cli._tables.metadata import Metadata, metadata_file
from linkselect.cli._tables.reading import DEFAULT_READING, Reading, TableFile
from linkselect.cli._tables.table import Table

__all__ = [
    "DEFAULT_READING",
    "Reading",
    "Table",
    "open_parts",
    "read_rows",
    "read_table",
    "read_text_column",
]

# Readers are listed by name, so that reading a CSV file imports no other format.
_ENDINGS = {
    "delimited:read_delimited": ".csv .tsv .tab .txt",
    "columnar:read_parquet": ".parquet .pq",
    "columnar:read_feather": ".feather .arrow",
    "array_files:read_npy": ".npy",
    "array_files:read_npz": ".npz",
    "array_files:read_mat": ".mat",
    "arff:read_arff": ".arff",
    "excel:read_excel": ".xlsx .xlsm .xls .ods",
    "array_files:read_svmlight": ".svmlight .svm .libsvm",
    "h5ad:read_h5ad": ".h5ad",
}
_READERS = {end: reader for reader, ends in _ENDINGS.items() for end in ends.split()}
# The first bytes of each binary format. Text formats have no such signature.
_SIGNS = {
    b"PAR1": (".parquet", ".pq"),
    b"ARROW1": (".feather", ".arrow"),
    b"FEA1": (".feather", ".arrow"),
    b"\x93NUMPY": (".npy",),
    b"PK\x03\x04": (".npz", ".xlsx", ".xlsm", ".ods"),
    b"\xd0\xcf\x11\xe0": (".xls",),
    b"\x1f\x8b": (".gz",),
    b"\x89HDF": (".h5ad", ".h5"),
}


def read_rows(path: Path, how: Reading) -> Table:
    """Read the labels and ids of a table, but no features; other columns may contain any values."""
    return _joined(TableFile(path, how, "rows"))


def read_text_column(path: Path, how: Reading, column: str, option: str) -> list[str]:
    """Read one column as text, with "" for empty cells; error messages mention `option`."""
    how = replace(how, label=column, id_column=None, metadata=None, group=None, batch=None)
    found = _read(TableFile(path, how, "text", option))
    assert found.labels is not None
    return [str(text) for text in found.labels]


def read_table(path: Path, how: Reading = DEFAULT_READING) -> Table:
    """Read a table in the format given by its file extension.

    Parameters
    ----------
    path : Path
        The file or folder.
    how : Reading, optional
        Options, such as the name of the label column.
    """
    return _joined(TableFile(path, how))


def open_parts(path: Path, how: Reading) -> Table:
    """Open a table for reading in parts; labels, ids, groups and batches are read immediately."""
    from linkselect.cli._tables.parts import open_table

    return _joined(TableFile(path, how), open_table)


def _joined(file: TableFile, read: Callable[[TableFile], Table] | None = None) -> Table:
    """Read a table, and join the metadata of its rows if --metadata is given."""
    read = read or _read
    if file.how.metadata is None:
        return read(file)
    source = metadata_file(file.how)
    about = Metadata.of(_read(source), source)
    return about.joined(read(replace(file, metadata=about)), file)


def _read(file: TableFile) -> Table:
    module, function = _reader(file.path).split(":")
    if file.how.features is not None and module != "picture_table":
        raise UsageError(f"--features needs a folder of pictures, and {file.name} is not one.")
    read: Callable[[TableFile], Table] = getattr(import_module(f"{__name__}.{module}"), function)
    with file.within_limit():
        return read(file)


def _reader(path: Path) -> str:
    if not path.exists():
        raise InputError(_not_found(path))
    if path.is_dir():
        return _folder_reader(path)
    if not path.is_file():
        raise InputError(f"{path} is not a regular file. Save the table to a file first.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    kind = _kind(path)
    _check_sign(path, kind)
    if kind in PICTURES:
        raise InputError(f"{path} is a single picture. Pass its folder instead: {path.parent}")
    if kind not in _READERS:
        problem = f"the file type {kind} is not supported" if kind else "the file has no extension"
        raise InputError(
            f"{path.name}: {problem}. Supported extensions are {', '.join(_READERS)}, and .csv.gz."
        )
    return _READERS[kind]


def _folder_reader(path: Path) -> str:
    from linkselect.cli._tables.picture_table import is_picture_folder, is_table_folder

    if is_table_folder(path):
        return "parts:read_whole"
    if is_picture_folder(path):
        return "picture_table:read_pictures"
    raise InputError(f"The folder {path} contains no pictures or Parquet files. Check the path.")


def _not_found(path: Path) -> str:
    folder = path.parent
    files = folder.iterdir() if folder.is_dir() else ()
    others = [file.name for file in files if file.suffix in _READERS or file.is_dir()]
    others = [name for name in others if not name.startswith(".")]
    return (
        f"There is no file or folder {path}. {nearest(path.name, others) if others else ''}".strip()
    )


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if kind == ".gz" and _READERS.get(inner, "").startswith("delimited") else kind


def _check_sign(path: Path, kind: str) -> None:
    """Check that the first bytes of a file match its extension."""
    with path.open("rb") as file:
        start = file.read(8)
    endings = next((kinds for sign, kinds in _SIGNS.items() if start.startswith(sign)), None)
    if path.suffix.lower() == ".gz":
        if endings != (".gz",):
            raise InputError(f"{path.name} is not compressed with gzip. Rename it without .gz.")
        return
    binary = {kind for kinds in _SIGNS.values() for kind in kinds}
    if endings and kind not in endings:
        raise InputError(
            f"{path.name} starts like a {endings[0]} file. Rename it to end in {endings[0]}."
        )
    if kind in binary & set(_READERS) and endings is None:
        raise InputError(f"{path.name} is not a {kind} file: its first bytes do not match.")
