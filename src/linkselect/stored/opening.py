"""Find out whether samples are stored outside memory, and open them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkselect.arrays import IntArray
from linkselect.messages import GuidedTypeError, GuidedValueError
from linkselect.stored.kinds import Source, Stored
from linkselect.stored.memory_maps import open_npy, source_of_map
from linkselect.stored.zarr_arrays import ZarrSource, is_zarr_folder, open_zarr

__all__ = ["MEMORY_MAP_LIMIT", "find_stored", "open_stored"]

# Smaller maps are arrays like any other: joblib hands them to its workers.
MEMORY_MAP_LIMIT = 10**9


def find_stored(X: Any) -> Stored | None:
    """Return the samples as stored ones, or None if they are something else.

    Parameters
    ----------
    X : object
        Stored are: a memory map of more than 1 GB, a Zarr array, a dask array, what `open_stored`
        gave, a pyarrow dataset of Parquet files, and the path of a .npy file, of a Zarr array, or
        of a Parquet file or a folder of such.
    """
    if isinstance(X, Stored):
        return X
    source = _source(X)
    return None if source is None else Stored(source)


def open_stored(
    source: Any,
    *,
    columns: Sequence[str] | Sequence[int] | None = None,
    without: Iterable[str | int] = (),
) -> Stored:
    """Open samples that are stored outside memory, to be read part by part.

    Parameters
    ----------
    source : path, memory map, Zarr array, dask array or pyarrow dataset
        A path may be that of a .npy file, of a Zarr array, of a Parquet file, or of a folder of
        Parquet files, which are read in the order of their names.
    columns : sequence of str or int, optional
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
    if isinstance(source, Stored):
        found: Stored | None = source
    else:
        opened = _source(source, columns=columns, without=without)
        found = None if opened is None else Stored(opened)
    if found is None:
        raise GuidedTypeError(
            f"{source!r:.200} is no stored data.",
            "Pass the path of a .npy file, of a Zarr array, or of a Parquet file or folder; or a "
            "memory map, a Zarr array, a dask array or a pyarrow dataset.",
            "X",
        )
    if columns is None and not without:
        return found
    return found.choose(_chosen(found, columns, set(without)))


def _source(
    X: Any,
    columns: Sequence[str] | Sequence[int] | None = None,
    without: Iterable[str | int] = (),
) -> Source | None:
    if isinstance(X, str | os.PathLike):
        return _source_of_path(Path(X))
    if isinstance(X, np.memmap):
        return source_of_map(X) if X.ndim == 2 and X.nbytes > MEMORY_MAP_LIMIT else None
    # A value can only be of a type whose library was imported.
    if _is_a(X, "zarr", "Array"):
        return ZarrSource(X, f"the Zarr array {X.path or getattr(X.store, 'root', '')}".rstrip())
    return None


def _is_a(X: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(X, kind)


def _source_of_path(path: Path) -> Source | None:
    if path.suffix == ".npy":
        return open_npy(path)
    if path.suffix == ".zarr" or is_zarr_folder(path):
        return open_zarr(path)
    return None


def _chosen(
    found: Stored, columns: Sequence[str] | Sequence[int] | None, without: set[str | int]
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
