"""Read .h5ad files: a matrix, the names of its rows and columns, and columns of `obs`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from linkselect._messages import GuidedError, many
from linkselect._samples.sources.annotated import (
    features_of,
    matrices_of,
    open_h5ad,
    read_names,
)
from linkselect._samples.sources.hdf5_datasets import opened
from linkselect._samples.sources.hdf5_sparse import sparse_format
from linkselect._samples.sources.stored import Stored, numeric_type
from linkselect.cli._errors import InputError, UsageError, nearest, problem_of, shown
from linkselect.cli._tables.features import from_matrix, unique_names
from linkselect.cli._tables.limits import bytes_needed
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import StoredTable, Table, make_ids, without_marks

_PARTS = ("data", "indices", "indptr")


def read_h5ad(file: TableFile) -> Table:
    """Read the matrix of an .h5ad file into memory."""
    with _readable(file) as stored:
        matrix = _matrix(stored, file)
        X = _values(stored[matrix], file) if file.wanted == "all" else None
        return _table(X, matrix, stored, file)


def open_parts(file: TableFile) -> Table:
    """Open the matrix of an .h5ad file for reading in parts."""
    with _readable(file) as stored:
        matrix = _matrix(stored, file)
        if sparse_format(stored[matrix]) == "csc":
            raise InputError(
                f"{file.name}: {matrix} is stored by columns (CSC), but only matrices stored by "
                "rows can be read in parts. Raise --max-memory, or save the file again in Python "
                "after adata.X = adata.X.tocsr()."
            )
        # A worker of a cluster may have a different working directory.
        X = Stored(open_h5ad(file.path.resolve(), matrix))
        X.label = X.source.label = file.name
        table = _table(X, matrix, stored, file)
    return StoredTable(**vars(table)) if file.wanted == "all" else table


def size_of(file: TableFile) -> int:
    """Return the number of bytes that the command would need with the matrix in memory."""
    with _readable(file) as stored:
        return _bytes_needed(stored[_matrix(stored, file)])


def matrix_named(array: str | None) -> str:
    """Return the path of a matrix in the file: X, a layer, or the matrix of `raw`."""
    if array in (None, "X"):
        return "X"
    return "raw/X" if array == "raw" else f"layers/{array}"


@contextmanager
def _readable(file: TableFile) -> Iterator[Any]:
    """Open a file, and convert every error to a message of one sentence."""
    if find_spec("anndata") is None or find_spec("h5py") is None:
        raise InputError(
            f"{file.name}: reading .h5ad files needs another package. Run "
            "pip install 'linkselect[anndata]'."
        )
    if file.how.transpose:
        raise UsageError("The rows of an .h5ad file are already samples. Omit --transpose.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # anndata warns about files of older versions
            with opened(file.path, "anndata") as stored:
                yield stored
    except (InputError, MemoryError):
        raise
    except GuidedError as error:
        raise InputError(problem_of(error)) from error
    except Exception as error:  # a damaged file raises errors of many types
        why = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{file.name} is not a readable .h5ad file: {why}.") from error


def _matrix(stored: Any, file: TableFile) -> str:
    known, wanted = matrices_of(stored), matrix_named(file.how.array)
    if wanted in known:
        return wanted
    called = [name.removeprefix("layers/").replace("raw/X", "raw") for name in known]
    if file.how.array is not None:
        hint = nearest(file.how.array, called)
        raise InputError(f"{file.name} has no layer {shown(file.how.array)} (--array). {hint}")
    others = f" Use --array NAME to choose one of these: {', '.join(called)}." if called else ""
    raise InputError(f"{file.name} has no matrix X.{others}")


def _column(frame: Any, name: str) -> NDArray[Any]:
    """Read one column of `obs`, with None for missing values."""
    import pandas as pd
    from anndata.io import read_elem

    # Before anndata 0.8, the categories of a column were stored elsewhere in the frame.
    old = str(frame.attrs.get("encoding-version")) == "0.1.0"
    values = pd.Series(read_elem(frame)[name].array if old else read_elem(frame[name]))
    found: NDArray[Any] = values.astype(object).where(values.notna(), None).to_numpy(object)
    return found


def _bytes_needed(node: Any) -> int:
    if not sparse_format(node):
        n_rows, n_columns = node.shape
        return bytes_needed(n_rows, n_columns, max(node.dtype.itemsize, 4))
    return bytes_needed(1, sum(node[part].nbytes for part in _PARTS), 1)


def _values(node: Any, file: TableFile) -> Any:
    """Read a matrix into memory, after checking that its declared size fits."""
    if not sparse_format(node):
        n_rows, n_columns = node.shape
        file.check(n_rows, n_columns, max(node.dtype.itemsize, 4))
        X = np.asarray(node[:], numeric_type(node.dtype, file.name))
        return without_marks(X, file.how.missing)
    from anndata.io import read_elem

    file.check_bytes(_bytes_needed(node), "its sparse matrix")
    stored_type = numeric_type(node["data"].dtype, file.name)
    X = read_elem(node)
    # Every feature gets a score, even if it is 0 in all rows.
    file.check(1, X.shape[1], 64)
    # With an index out of bounds, SciPy would read outside its memory.
    X.check_format(full_check=True)
    X = csr_array(X).astype(stored_type)
    X.sum_duplicates()
    return X


def _table(X: Any, matrix: str, stored: Any, file: TableFile) -> Table:
    """Combine the matrix, its names and columns of `obs` into a table with obs_names as ids."""
    obs_names = read_names(stored, "obs", file.name)
    names, notes = unique_names(read_names(stored, features_of(matrix), file.name))
    known = [str(name) for name in stored["obs"].attrs["column-order"]]
    wanted = {name for name, _ in file.named.values()} & set(known)
    beside = {name: _column(stored["obs"], name) for name in wanted}
    name = file.how.id_column
    # The name of the index, or the id column of another file, refers to obs_names.
    joined = file.how.metadata is not None or file.wanted == "metadata"
    if name is not None and name not in known and (joined or name == stored["obs"].attrs["_index"]):
        beside[name] = np.array(obs_names, dtype=object)
    if X is None:
        X, names = np.empty((len(obs_names), 0)), ()
    if X.shape != (len(obs_names), len(names)):
        raise InputError(
            f"{file.name}: {matrix} has the shape {X.shape}, but there are {len(obs_names):,} "
            f"sample names and {len(names):,} feature names."
        )
    if X.shape[0] == 0:
        raise InputError(f"{file.name} has {many(X.shape[1], 'feature')}, but no samples.")
    table = from_matrix(X, file, names, beside, known)
    ids = table.ids
    if ids is None and len(set(obs_names)) == len(obs_names):
        ids = make_ids(obs_names, "obs_names", file.name)
    elif ids is None:
        notes.append("The obs_names are not unique, so pairs refer to rows by number.")
    return replace(table, ids=ids, notes=(*notes, *table.notes))
