"""Detection and opening of samples that are stored outside memory."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples.sources.annotated import check_names, is_annotated, open_h5ad, stored_view
from linkselect._samples.sources.choosing import chosen_columns
from linkselect._samples.sources.dask_arrays import DaskSource
from linkselect._samples.sources.hdf5_datasets import (
    HDF5_ENDINGS,
    open_hdf5,
    refuse_hdf5_group,
    source_of_dataset,
)
from linkselect._samples.sources.memory_maps import open_npy, source_of_map
from linkselect._samples.sources.parquet_tables import ParquetSource, open_parquet
from linkselect._samples.sources.states import is_a, missing
from linkselect._samples.sources.stored import Source, Stored
from linkselect._samples.sources.zarr_arrays import is_zarr_folder, open_zarr, source_of_zarr

# Smaller memory maps are treated as ordinary arrays: joblib passes such maps to its workers.
MEMORY_MAP_LIMIT = 10**9
# Types for samples outside memory that are not supported, and what to pass instead. NumPy would
# silently read some of them completely, or fail with an unhelpful error.
_REFUSED = {
    "dask.dataframe.DataFrame": "Pass frame.to_dask_array(lengths=True), or the path of its files.",
    "dask.dataframe.Series": "A Series is a single column. Pass a matrix of samples x features.",
    "dask.delayed.Delayed": "Pass dask.array.from_delayed(value, shape=..., dtype=...).",
    "polars.LazyFrame": "Pass frame.collect() if it fits in memory, or the path of its files.",
    "pyarrow.parquet.ParquetFile": "Pass the path.",
    "pyarrow.parquet.ParquetDataset": "Pass the path, or pyarrow.dataset.dataset(path).",
}


def find_stored(X: Any) -> Stored | None:
    """Return X as `Stored` if it is stored outside memory, otherwise None.

    Parameters
    ----------
    X : object
        The following are stored outside memory: a memory map or an HDF5 dataset of more than 1 GB,
        a Zarr array, a dask array (also inside an xarray.DataArray), the result of `open_stored`, a
        pyarrow dataset of Parquet files, and a backed AnnData object. X can also be the path of a
        .npy file, an HDF5 or .h5ad file, a Zarr array, a Parquet file or a folder of Parquet files.
    """
    if isinstance(X, Stored):
        return X
    opened = _source(X, MEMORY_MAP_LIMIT)
    return Stored(opened) if isinstance(opened, Source) else opened


def open_stored(
    source: Any,
    *,
    columns: Iterable[str | int] | None = None,
    without: Iterable[str | int] = (),
) -> Stored:
    """Open samples that are stored outside memory, to be read part by part.

    Parameters
    ----------
    source : path, memory map, Zarr array, HDF5 dataset, dask array or pyarrow dataset
        A path may refer to a .npy file, a Zarr array, an HDF5 file with one matrix, a dataset in an
        HDF5 file ("X.h5::counts/raw"), an .h5ad file or one of its layers
        ("X.h5ad::layers/counts"), a Parquet file, or a folder of Parquet files, which are read in
        the order of their names. Backed AnnData objects are also supported.
    columns : iterable of str or int, optional
        The columns to use as features, given by name (Parquet only) or number. Default: all.
    without : iterable of str or int
        Columns to exclude, such as IDs, labels and text.

    Returns
    -------
    samples : Stored
        The samples, which can be passed as `X`. For Parquet files, the method `column(name)` reads
        one column, such as the labels.

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
    opened = source if isinstance(source, Stored) else _source(source, 0, chosen, left_out)
    if opened is None:
        raise GuidedTypeError(
            f"{source!r:.200} is not stored data.",
            "Pass the path of a .npy or HDF5 file, a Zarr array, or a Parquet file or folder; or a "
            "memory map, a Zarr array, an HDF5 dataset, a dask array or a pyarrow dataset.",
            "X",
        )
    found = opened if isinstance(opened, Stored) else Stored(opened)
    # Of a Parquet file, only the chosen columns were opened: others may not be numeric.
    if isinstance(opened, ParquetSource) or (chosen is None and not left_out):
        return found
    places = chosen_columns(found.label, found.shape[1], found.names, chosen, left_out)
    return found.choose(np.array(places, np.intp))


def _listed(columns: Any, parameter: str) -> list[str | int]:
    """Return a list of column names and numbers, given a list or a single column."""
    listed = [columns] if isinstance(columns, str | Integral) else list(columns)
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, str | Integral):
            raise GuidedTypeError(
                f"{parameter} contains {one!r}, which is neither a column name nor a number.",
                "Convert a Boolean mask to numbers with np.flatnonzero(mask).",
                parameter,
            )
    twice = next((one for one, n in Counter(listed).items() if n > 1), None)
    if twice is not None:
        raise GuidedValueError(f"{parameter} contains {twice!r} twice.", "List it once.", parameter)
    return [one if isinstance(one, str) else int(one) for one in listed]


def select_columns(X: Any, columns: ArrayLike) -> Any:
    """Return some columns of stored samples without reading them.

    The result is a dask array if X is a dask array; otherwise it is of the same type as the result
    of `open_stored`.
    """
    if is_a(X, "dask.array.Array"):
        return X[:, np.asarray(columns, np.intp)]
    return open_stored(X).choose(columns)


def _source(
    X: Any,
    more_than: int,
    columns: Sequence[str | int] | None = None,
    without: Sequence[str | int] = (),
) -> Source | Stored | None:
    """Open the samples in X or at the path X; return None if X is not stored data.

    Memory maps and HDF5 datasets are opened only if they have more than `more_than` bytes. This
    function selects columns only for formats in which the other columns may be unreadable.
    """
    if isinstance(X, str | bytes | os.PathLike):
        return _source_of_path(os.fsdecode(X), columns, without)
    if isinstance(X, np.memmap):
        return source_of_map(X) if X.nbytes > more_than else None
    # X can only be of a type whose library was imported.
    if is_annotated(X):
        return _source_of_annotated(X, more_than)
    if is_a(X, "h5py.Dataset"):
        return source_of_dataset(X) if X.nbytes > more_than else None
    if is_a(X, "h5py.Group"):
        raise refuse_hdf5_group(X)
    if is_a(X, "zarr.Array") or is_a(X, "zarr.Group"):
        return source_of_zarr(X)
    if is_a(X, "dask.array.Array"):
        return DaskSource(X)
    if is_a(X, "pyarrow.dataset.Dataset"):
        return _source_of_dataset(X, columns, without)
    if is_a(X, "xarray.DataArray") and X.chunks is not None:
        return DaskSource(X.data)
    _refuse_other_kind(X)
    return None


def _source_of_annotated(X: Any, more_than: int) -> Source | Stored | None:
    """Open an AnnData object that is backed by a file or whose matrix is stored outside memory."""
    if X.isbacked:
        return stored_view(X)
    # Accessing the matrix of a view copies it.
    whole = X._adata_ref if X.is_view else X
    found = _source(whole.X, more_than)
    if found is not None and X.is_view:
        found = _source(X.X, more_than)
    if isinstance(found, Source):
        check_names(X.var_names)
        found.names, found.ids = list(X.var_names), X.obs_names
    return found


def _source_of_dataset(
    X: Any, columns: Sequence[str | int] | None, without: Sequence[str | int]
) -> Source:
    """Open the Parquet files of a pyarrow dataset that has no filter or partition columns."""
    files = [Path(name) for name in getattr(X, "files", ())]
    is_parquet = getattr(getattr(X, "format", None), "default_extname", "") == "parquet"
    if not is_parquet or not files or not files[0].exists():
        raise GuidedTypeError(
            "A pyarrow dataset must consist of Parquet files on this machine's file system.",
            "Convert it with pyarrow.dataset.write_dataset(X, FOLDER, format='parquet').",
            "X",
        )
    source = ParquetSource(files, "the dataset", columns, without)
    stored = X.format.inspect(X.files[0], X.filesystem).names
    if not set(X.schema.names) <= set(stored) or X.count_rows() != source.shape[0]:
        raise GuidedTypeError(
            "The pyarrow dataset has a filter, or takes columns from folder names.",
            "Write the filtered rows to new files (pyarrow.dataset.write_dataset) and open these "
            "files. Open a partitioned folder with open_stored(path), and read columns from folder "
            "names with the method column(name) of the result.",
            "X",
        )
    return source


def _source_of_path(
    name: str, columns: Sequence[str | int] | None, without: Sequence[str | int]
) -> Source:
    if "://" in name:
        raise GuidedTypeError(
            f"{name!r:.200} is not a path in the file system of this machine.",
            "Copy or mount the file, or pass a dask array, such as "
            "dask.dataframe.read_parquet(address).to_dask_array(lengths=True).",
            "X",
        )
    path = Path(name).expanduser()
    kind = path.suffix.lower()
    in_file, _, dataset = name.partition("::")
    inside = Path(in_file).suffix.lower()
    if inside == ".h5ad" or inside in HDF5_ENDINGS:
        how = open_h5ad if inside == ".h5ad" else open_hdf5
        return how(Path(in_file).expanduser(), dataset)
    if kind == ".npy":
        return open_npy(path)
    if kind == ".zarr" or is_zarr_folder(path):
        return open_zarr(path)
    # An empty name would refer to the current folder.
    if kind in (".parquet", ".pq") or (name and path.is_dir()):
        return open_parquet(path, columns, without)
    if name and not path.exists():
        raise missing(path.name, str(path))
    raise GuidedTypeError(
        f"{name!r:.200} is not a .npy file, Zarr array, HDF5 file, Parquet file or folder of "
        "Parquet files.",
        "Read files of other formats into a data frame first, for example with pandas.read_csv.",
        "X",
    )


def _refuse_other_kind(X: Any) -> None:
    """Raise an error for types of stored data that are not supported."""
    for name, hint in _REFUSED.items():
        if is_a(X, name):
            raise GuidedTypeError(f"X is a {name}, which cannot be read part by part.", hint, "X")
    if hasattr(X, "read") and hasattr(X, "seek"):
        raise GuidedTypeError("X is an open file.", "Pass its path.", "X")
    is_list = isinstance(X, list | tuple) and len(X) > 0
    if is_list and all(isinstance(one, str | os.PathLike) for one in X):
        raise GuidedTypeError(
            "X is a list of paths or text, not of samples.",
            "To use several Parquet files, pass their folder or pyarrow.dataset.dataset(paths).",
            "X",
        )
