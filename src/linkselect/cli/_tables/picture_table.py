"""Read a folder of pictures as a table: one row for each, named by its file."""

import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from linkselect._messages import GuidedError
from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._output import progress
from linkselect.cli._tables.features import from_matrix
from linkselect.cli._tables.reading import Reading, TableFile
from linkselect.cli._tables.table import Table

# What names the rows, and the folder of each picture below the one that was named.
IDS, FOLDER = "picture", "folder"


def is_picture_folder(path: Path) -> bool:
    """Tell whether a folder holds pictures, and no table."""
    from linkselect._pictures import find_pictures

    return path.is_dir() and not is_table_folder(path) and any(find_pictures(path))


def is_table_folder(path: Path) -> bool:
    """Tell whether a folder is a table of Parquet files or of Zarr."""
    from linkselect._samples.sources.parquet_folders import parquet_files
    from linkselect._samples.sources.zarr_arrays import is_zarr_folder

    return is_zarr_folder(path) or bool(parquet_files(path))


def families_of(read: Reading) -> tuple[str, ...]:
    """Return the families of features that --features names."""
    from linkselect._pictures import DEFAULT_FAMILIES
    from linkselect._pictures.picture_features import check_families

    if read.features is None:
        return DEFAULT_FAMILIES
    try:
        return check_families(read.features.lower().replace(",", " ").split())
    except GuidedError as error:
        raise UsageError(f"--{error}") from error


def kept_beside(pairs: Path | None, read: Reading) -> Reading:
    """Return how to read pictures that were measured when the pairs were asked for."""
    if pairs is None or not store_of(pairs).is_file():
        return read
    return replace(read, picture_store=store_of(pairs))


def store_of(pairs: Path) -> Path:
    """Return the file that keeps what was measured, beside a file of pairs.

    Examples
    --------
    >>> store_of(Path("pairs.csv")).name
    'pairs.pictures.sqlite'
    """
    return pairs.with_suffix(".pictures.sqlite")


def read_pictures(file: TableFile) -> Table:
    """Measure the pictures of a folder, or take what was measured before."""
    from linkselect._pictures import check_installed, read_folder

    check_installed()
    how = file.how
    if how.transpose:
        raise UsageError("--transpose: of a folder of pictures, each picture is one row.")
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
