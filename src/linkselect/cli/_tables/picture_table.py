"""Read a folder of pictures as a table with one row for each picture, named after its file."""

import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from linkselect._messages import GuidedError
from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._tables.features import from_matrix
from linkselect.cli._tables.reading import Reading, TableFile
from linkselect.cli._tables.table import Table
from linkselect.cli._terminal import progress

# Columns with the file name of each picture, and with its subfolder.
IDS, FOLDER = "picture", "folder"


def is_picture_folder(path: Path) -> bool:
    """Return whether a folder contains pictures and is not a table itself."""
    from linkselect._pictures import find_pictures

    return path.is_dir() and not is_table_folder(path) and any(find_pictures(path))


def is_table_folder(path: Path) -> bool:
    """Return whether a folder is a table of Parquet files or a Zarr array."""
    from linkselect._samples.sources.parquet_folders import parquet_files
    from linkselect._samples.sources.zarr_arrays import is_zarr_folder

    return is_zarr_folder(path) or bool(parquet_files(path))


def families_of(read: Reading) -> tuple[str, ...]:
    """Return the families of picture features that are requested with --features."""
    from linkselect._pictures import DEFAULT_FAMILIES
    from linkselect._pictures.picture_features import check_families

    if read.features is None:
        return DEFAULT_FAMILIES
    try:
        return check_families(read.features.lower().replace(",", " ").split())
    except GuidedError as error:
        raise UsageError(f"--{error}") from error


def kept_beside(pairs: Path | None, read: Reading) -> Reading:
    """Return `read`, changed to reuse picture features if any are stored next to the pairs."""
    if pairs is None or not store_of(pairs).is_file():
        return read
    return replace(read, picture_store=store_of(pairs))


def store_of(pairs: Path) -> Path:
    """Return the path of the stored picture features next to a pairs file.

    Examples
    --------
    >>> store_of(Path("pairs.csv")).name
    'pairs.pictures.sqlite'
    """
    return pairs.with_suffix(".pictures.sqlite")


def read_pictures(file: TableFile) -> Table:
    """Compute the features of the pictures in a folder, or load stored ones."""
    from linkselect._pictures import check_installed, read_folder

    check_installed()
    how = file.how
    if how.transpose:
        raise UsageError("Each picture of a folder is already one row. Omit --transpose.")
    try:
        with progress(sys.stderr.isatty()) as report:
            found = read_folder(file.path, families_of(how), how.picture_store, report)
    except GuidedError as error:
        raise InputError(str(error)) from error
    folders = [str(PurePosixPath(name).parent) for name in found.ids]
    beside = {
        IDS: np.array(found.ids, dtype=object),
        FOLDER: np.array(["" if one == "." else one for one in folders], dtype=object),
    }
    table = from_matrix(found.X, file, found.names, beside, list(beside))
    ids = found.ids if table.ids is None else table.ids
    return replace(table, ids=ids, notes=(*found.notes, *table.notes))
