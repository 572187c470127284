"""Find out whether samples are stored outside memory, and open them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkselect._arrays import IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.dask_arrays import DaskSource
from linkselect._samples.sources.memory_maps import open_npy, source_of_map
from linkselect._samples.sources.other_kinds import is_a, refusal_of_hdf5, refuse_other_kind
from linkselect._samples.sources.parquet_tables import ParquetSource, column_names, open_parquet
from linkselect._samples.sources.states import missing
from linkselect._samples.sources.stored import Source, Stored
from linkselect._samples.sources.zarr_arrays import (
    ZarrSource,
    is_zarr_folder,
    open_zarr,
    refuse_group,
)

# Smaller maps are arrays like any other: joblib hands them to its workers.
MEMORY_MAP_LIMIT = 10**9


def find_stored(X: Any) -> Stored | None:
    """Return the samples as stored ones, or None if they are something else.

    Parameters
    ----------
    X : object
        Stored are: a memory map of more than 1 GB, a Zarr array, a dask array (also inside an
        xarray.DataArray), what `open_stored` gave, a pyarrow dataset of Parquet files, and the path
        of a .npy file, of a Zarr array, or of a Parquet file or a folder of such.
    """
    if isinstance(X, Stored):
        return X
    source = _source(X)
    return None if source is None else Stored(source)


def open_stored(
    source: Any,
    *,
    columns: Iterable[str | int] | None = None,
    without: Iterable[str | int] = (),
) -> Stored:
    """Open samples that are stored outside memory, to be read part by part.

    Parameters
    ----------
    source : path, memory map, Zarr array, dask array or pyarrow dataset
        A path may be that of a .npy file, of a Zarr array, of a Parquet file, or of a folder of
        Parquet files, which are read in the order of their names.
    columns : iterable of str or int, optional
        The columns to use as features, by name (Parquet) or number. Default: all.
    without : iterable of str or int
        Columns to leave out, such as ids, labels and text.

    Returns
    -------
    Stored
        Pass it as `X`. `column(name)` of a Parquet file reads one column, such as the labels.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from linkselect import open_stored
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "X.npy")
    ...     np.save(path, np.arange(12.0).reshape(4, 3))
    ...     X = open_stored(path, columns=[0, 2])
    ...     X, X.take([3, 0])
    (<X.npy: 4 x 2, float64>, array([[ 9., 11.],
           [ 0.,  2.]]))
    """
    chosen = None if columns is None else _listed(columns, "columns")
    left_out = _listed(without, "without")
    opened = source if isinstance(source, Stored) else _source(source, chosen, left_out)
    if isinstance(source, np.memmap):
        opened = source_of_map(source)  # of any size, since it was asked for
    if opened is None:
        raise refusal_of_hdf5(source) or GuidedTypeError(
            f"{source!r:.200} is no stored data.",
            "Pass the path of a .npy file, of a Zarr array, or of a Parquet file or folder; or a "
            "memory map, a Zarr array, a dask array or a pyarrow dataset.",
            "X",
        )
    found = opened if isinstance(opened, Stored) else Stored(opened)
    has_chosen = isinstance(opened, ParquetSource)
    if has_chosen or (chosen is None and not left_out):
        return found
    return found.choose(_chosen(found, chosen, left_out))


def _listed(columns: Any, parameter: str) -> list[str | int]:
    """Return names and numbers of columns as a list; a single one may stand alone."""
    if isinstance(columns, str | Integral):
        columns = [columns]
    listed = [int(one) if _is_number(one) else one for one in columns]
    odd = [one for one in listed if not isinstance(one, str) and not _is_number(one)]
    if odd:
        raise GuidedTypeError(
            f"{parameter} has {odd[0]!r}, which is neither the name of a column nor a number.",
            "Turn a mask of True and False into numbers by np.flatnonzero(mask).",
            parameter,
        )
    twice = next((one for one, n in Counter(listed).items() if n > 1), None)
    if twice is not None:
        raise GuidedValueError(f"{parameter} names {twice!r} twice.", "Name it once.", parameter)
    return listed


def _is_number(column: Any) -> bool:
    return isinstance(column, Integral) and not isinstance(column, bool | np.bool_)


def select_columns(X: Any, columns: ArrayLike) -> Any:
    """Return some columns of stored samples without reading them.

    A dask array gives a dask array, everything else what `open_stored` gives.
    """
    if is_a(X, "dask.array", "Array"):
        return X[:, np.asarray(columns, np.intp)]
    return open_stored(X).choose(columns)


def _source(
    X: Any, columns: Sequence[str | int] | None = None, without: Sequence[str | int] = ()
) -> Source | None:
    """Open what X is or names; columns are chosen here only if others could not be read."""
    if isinstance(X, str | bytes | os.PathLike):
        return _source_of_path(os.fsdecode(X), columns, without)
    if isinstance(X, np.memmap):
        return source_of_map(X) if X.ndim == 2 and X.nbytes > MEMORY_MAP_LIMIT else None
    # A value can only be of a type whose library was imported.
    if is_a(X, "zarr", "Array"):
        return ZarrSource(X, f"the Zarr array {X.path or getattr(X.store, 'root', '')}".rstrip())
    if is_a(X, "zarr", "Group"):
        raise refuse_group(X, "X", "X['{}']")
    if is_a(X, "dask.array", "Array"):
        return DaskSource(X)
    if is_a(X, "pyarrow.dataset", "Dataset"):
        return _source_of_dataset(X, columns, without)
    if is_a(X, "xarray", "DataArray") and X.chunks is not None:
        return DaskSource(X.data)
    refuse_other_kind(X)
    if getattr(X, "nbytes", 0) > MEMORY_MAP_LIMIT and (refusal := refusal_of_hdf5(X)):
        raise refusal
    return None


def _source_of_dataset(
    X: Any, columns: Sequence[str | int] | None, without: Sequence[str | int]
) -> Source:
    files = [Path(name) for name in getattr(X, "files", ())]
    is_parquet = getattr(getattr(X, "format", None), "default_extname", "") == "parquet"
    if not is_parquet or not files or not files[0].exists():
        raise GuidedTypeError(
            "A pyarrow dataset must consist of Parquet files on this machine's file system.",
            "Write others so: pyarrow.dataset.write_dataset(X, FOLDER, format='parquet').",
            "X",
        )
    source = ParquetSource(files, "the dataset", columns, without)
    if set(X.schema.names) - set(column_names(files[0])):
        raise GuidedTypeError(
            "The dataset takes columns from the names of its folders.",
            "Open the folder itself by open_stored(path): they are no features there, and "
            "column(name) of what it returns reads one.",
            "X",
        )
    if X.count_rows() != source.shape[0]:
        raise GuidedTypeError(
            f"The dataset has a filter: {X.count_rows():,} of {source.shape[0]:,} rows pass it.",
            "Write what passes into a file of its own (pyarrow.dataset.write_dataset), and open "
            "that.",
            "X",
        )
    return source


def _source_of_path(
    name: str, columns: Sequence[str | int] | None, without: Sequence[str | int]
) -> Source:
    if "://" in name:
        raise GuidedTypeError(
            f"{name!r:.200} is no path of this machine's file system.",
            "Copy or mount it, or pass a dask array, such as "
            "dask.dataframe.read_parquet(address).to_dask_array(lengths=True).",
            "X",
        )
    path = Path(name).expanduser()
    kind = path.suffix.lower()
    if kind == ".npy":
        return open_npy(path)
    if kind == ".zarr" or is_zarr_folder(path):
        return open_zarr(path)
    # An empty name would be that of the current folder.
    if kind in (".parquet", ".pq") or (name and path.is_dir()):
        return open_parquet(path, columns, without)
    if name and not path.exists():
        raise missing(path.name, str(path))
    raise GuidedTypeError(
        f"{name!r:.200} names no .npy file, Zarr array, Parquet file or folder of such.",
        "Read other files into an array or a frame first, for example by pandas.read_csv; of an "
        "HDF5 file pass dask.array.from_array(h5py.File(path)[name]).",
        "X",
    )


def _chosen(
    found: Stored, columns: Sequence[str | int] | None, without: Sequence[str | int]
) -> IntArray:
    """Return the numbers of the columns to use."""
    places: dict[str | int, int] = {place: place for place in range(found.shape[1])}
    places |= {name: place for place, name in enumerate(found.names or [])}
    for column in (*(columns or ()), *without):
        if column not in places:
            raise GuidedValueError(
                f"{found.label} has no column {column!r}; it has {found.shape[1]:,}.",
                "Give names of columns of a Parquet file, or numbers from 0.",
                "columns",
            )
    left_out = {places[column] for column in without}
    wanted = range(found.shape[1]) if columns is None else [places[name] for name in columns]
    return np.array([place for place in wanted if place not in left_out], np.intp)
