"""Readers of AnnData objects and .h5ad files, whose rows and columns have names."""

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _get_feature_names

from linkselect._arrays import IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError, first_few, many
from linkselect._samples.sources.arrays import ArraySource, StoredArray, refuse_group
from linkselect._samples.sources.hdf5_datasets import array_of, opened
from linkselect._samples.sources.hdf5_sparse import open_rows, sparse_format
from linkselect._samples.sources.states import is_a
from linkselect._samples.sources.stored import Stored

# Selected rows of a backed object, such as those of a fold, are read into memory up to this size.
VIEW_LIMIT = 10**9


def is_annotated(X: Any) -> bool:
    """Return whether X is an AnnData object."""
    return is_a(X, "anndata.AnnData")


def unwrapped(X: Any) -> Any:
    """Return the matrix of an AnnData object (a data frame if dense), or any other X unchanged."""
    if not is_annotated(X):
        return X
    check_names(X.var_names)
    values = _rows_of(X) if X.isbacked else X.X
    if values is None:
        raise GuidedValueError(
            "The AnnData object has no X.",
            "To rank one of its layers, use linkselect.anndata.rank(adata, layer=...), or set "
            "adata.X = adata.layers[...].",
            "X",
        )
    if issparse(values) or not isinstance(values, np.ndarray):
        return values
    import pandas as pd

    plain = np.asarray(values)
    return pd.DataFrame(plain, index=X.obs_names, columns=X.var_names, copy=False)


def names_of(X: Any) -> NDArray[Any] | None:
    """Return the feature names of AnnData or the column names of a data frame, or None."""
    if is_annotated(X):
        return np.asarray(X.var_names, dtype=object)
    names: NDArray[Any] | None = _get_feature_names(X)
    return names


def check_names(names: Sequence[Hashable]) -> None:
    """Raise an error for duplicate feature names."""
    if len(set(names)) == len(names):
        return
    twice = [repr(name) for name, n in Counter(names).items() if n > 1]
    raise GuidedValueError(
        f"The AnnData object has {many(len(twice), 'duplicate feature name')}: {first_few(twice)}.",
        "To make them unique, call adata.var_names_make_unique().",
        "X",
    )


# -- stored in a file ------------------------------------------------------------------------


def stored_view(X: Any) -> Stored | None:
    """Return the samples of a backed AnnData object; None if X is a view of some of its rows.

    A view of some rows, such as those of a cross-validation fold, is read into memory instead.
    """
    stored, rows = _stored_rows(X)
    return stored if rows is None else None


def _stored_rows(X: Any) -> tuple[Stored, IntArray | None]:
    """Return the stored samples with only the columns of a view, and the view's row numbers."""
    whole = X._adata_ref if X.is_view else X
    check_names(X.var_names)
    node, label = whole.X, Path(X.filename).name
    # A sparse matrix is stored as a group of datasets.
    source = ArraySource(_array_of(getattr(node, "group", node), label), label)
    source.names, source.ids = list(whole.var_names), whole.obs_names
    if not X.is_view:
        return Stored(source), None
    rows, columns = (
        np.arange(n)[chosen] for n, chosen in zip(source.shape, (X._oidx, X._vidx), strict=True)
    )
    is_all = np.array_equal(rows, np.arange(source.shape[0]))
    return Stored(source, columns), None if is_all else rows


def _rows_of(X: Any) -> NDArray[Any]:
    """Read a view of some rows of a backed object into memory.

    Raise an error if the view is too large.
    """
    stored, rows = _stored_rows(X)
    if rows is None:
        rows = np.arange(stored.shape[0])
    if len(rows) * stored.shape[1] * stored.dtype.itemsize > VIEW_LIMIT:
        raise GuidedTypeError(
            f"Views such as X ({len(rows):,} rows of {stored.label}) cannot be read part by part.",
            "Pass X.to_memory() if it fits in memory, or write it to a new file with X.copy(PATH).",
            "X",
        )
    return stored.take(rows)


class H5adSource(ArraySource):
    """A matrix in an .h5ad file; its row names are read only when needed."""

    def index(self) -> Sequence[Hashable]:
        """Read the names of the samples."""
        path = Path(self.array.path or "")
        with opened(path, "anndata") as file:
            return read_names(file, "obs", path.name)


def open_h5ad(path: Path, name: str = "") -> ArraySource:
    """Open X or another matrix in an .h5ad file, such as "layers/counts" or "raw/X"."""
    wanted = name.strip("/") or "X"
    with opened(path, "anndata") as file:
        node, known = file.get(wanted), matrices_of(file)
        if getattr(node, "ndim", None) != 2 and not sparse_format(node):
            raise refuse_group(path.name, "matrices", known, f"open_stored('{path.name}::{{}}')")
        label = f"{path.name}::{name}" if name else path.name
        array = _array_of(node, label)
        if wanted not in known:
            return ArraySource(array, label)
        source = H5adSource(array, label)
        source.names = read_names(file, features_of(wanted), path.name)
    if len(source.names) != source.shape[1]:
        raise unreadable(path.name, f"{len(source.names)} names for {source.shape[1]} features")
    return source


def matrices_of(file: Any) -> list[str]:
    """List the names of all matrices whose columns are features: X, the layers and raw/X."""
    layers = file.get("layers")
    names = ["X", *(f"layers/{name}" for name in layers or ()), "raw/X"]
    nodes = {name: file.get(name) for name in names}
    return [
        name
        for name, node in nodes.items()
        if getattr(node, "ndim", None) == 2 or sparse_format(node)
    ]


def features_of(matrix: str) -> str:
    """Return the name of the HDF5 group that describes the features of a matrix."""
    return "raw/var" if matrix == "raw/X" else "var"


def read_names(file: Any, axis: str, label: str) -> list[str]:
    """Read the names of the samples (axis "obs") or of the features (axis "var")."""
    try:
        stored = file[axis][file[axis].attrs["_index"]]
        names: list[str] = np.asarray(stored.asstr()[:], dtype=object).tolist()
    except (KeyError, AttributeError, TypeError, ValueError, IndexError) as error:
        raise unreadable(label, f"{axis} has no names") from error
    return names


def unreadable(label: str, why: str) -> GuidedValueError:
    """Return the error for a file that does not have the layout of anndata 0.7 or later."""
    return GuidedValueError(
        f"{label} does not have the layout of anndata 0.7 or later: {why}. In Python, "
        f"anndata.read_h5ad({label!r}).write_h5ad('new.h5ad') may convert it.",
        parameter="X",
    )


def _array_of(node: Any, label: str) -> StoredArray:
    return open_rows(node, label) if sparse_format(node) else array_of(node)
