"""Read tables that are arrays: NPY, NPZ, MAT and SVMlight."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from linkselect._samples.sources.memory_maps import DAMAGED_NPY, why_damaged
from linkselect.cli._errors import InputError, UsageError, nearest, shown
from linkselect.cli._tables.batches import without_marks
from linkselect.cli._tables.label_column import make_labels
from linkselect.cli._tables.limits import DAMAGED_ARCHIVE, Budget
from linkselect.cli._tables.matlab import list_variables, read_variable
from linkselect.cli._tables.table import Reading, Table, assign_roles, make_ids

# What the features of a file of several arrays are usually called.
_FEATURES = ("X", "x", "data", "fea", "features")
_NO_ARRAYS = ("struct", "object", "function", "opaque", "unknown")
_NAMES = ("feature_names", "names", "columns")


def read_npy(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a matrix of an NPY file; the label is a column number."""
    with path.open("rb") as file:
        return _from_matrix(_read_array(file, path.name, budget), how, budget.source)


def read_npz(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a matrix of an NPZ file, with labels, ids and names from its other arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            shapes = {}
            for key, info in members.items():
                with archive.open(info) as file:
                    shapes[key] = _read_header(file, f"{path.name}, array {key}", None)[0]
            wanted = _choose(shapes, how, budget.source)
            if "format.npy" in archive.namelist() and "indptr" in members:
                raise InputError(f"{path.name} is a sparse matrix of SciPy. Save it as SVMlight.")
            arrays = {}
            for key in wanted:
                budget.check_bytes(members[key].file_size, f"array {key}")
                with archive.open(members[key]) as file:
                    arrays[key] = _read_array(file, f"{path.name}, array {key}", budget)
    except DAMAGED_ARCHIVE as error:
        why = str(error) or type(error).__name__
        raise InputError(f"{path.name} is not a readable NPZ file: {why}") from error
    return _from_arrays(arrays, wanted, list(shapes), how, budget.source)


def _read_header(
    file: IO[bytes], source: str, budget: Budget | None
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type of an array; refuse what could run code or does not fit."""
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except DAMAGED_NPY as error:
        raise InputError(f"{source} is not a readable array: {why_damaged(error)}.") from error
    if any(type(size) is not int or size < 0 for size in shape):
        raise InputError(
            f"{source} is not a readable array: its header gives it the shape {shape}."
        )
    if budget is None:
        return shape, fortran, dtype
    if dtype.hasobject:
        raise InputError(
            f"{source} holds Python objects (pickle), which could run foreign code when read. "
            "Save it as plain numbers: np.save(file, array.astype(float))."
        )
    if dtype.itemsize == 0:
        raise InputError(f"{source} holds values without a size ({dtype.str}), not numbers.")
    if dtype.kind == "V":
        raise InputError(f"{source} holds records of several values, not numbers.")
    if dtype.kind in "biuf" and len(shape) == 2:
        budget.check(*shape, max(dtype.itemsize, 4))
    budget.check_bytes(prod(shape) * dtype.itemsize, "it")
    return shape, fortran, dtype


def _read_array(file: IO[bytes], source: str, budget: Budget) -> NDArray[Any]:
    shape, fortran, dtype = _read_header(file, source, budget)
    # In parts, so that a header that promises more than there is does not fill the memory.
    wanted = prod(shape) * dtype.itemsize
    parts, n_read = [], 0
    while n_read < wanted and (part := file.read(min(wanted - n_read, 16 << 20))):
        parts.append(part)
        n_read += len(part)
    if n_read < wanted:
        raise InputError(
            f"{source} is cut off: its header promises {wanted:,} bytes of values, "
            f"but there are {n_read:,}."
        )
    values = np.frombuffer(b"".join(parts), dtype=dtype)
    if dtype.kind == "U" and values.size:
        codes = values.view(f"{dtype.str[0]}u4")
        if codes.max() > sys.maxunicode:
            raise InputError(f"{source} is damaged: it holds characters that there are not.")
    return values.reshape(shape[::-1]).T if fortran else values.reshape(shape)


def read_mat(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a matrix of a MATLAB file of version 4 to 7."""
    contents = list_variables(path)
    wanted = _choose({name: one.shape for name, one in contents.items()}, how, path.name)
    for name in wanted:
        shape, kind = contents[name].shape, contents[name].kind
        if kind == "complex":
            raise InputError(f"{path.name} holds complex numbers; features are real numbers.")
        # Names may be cells of text; features may not.
        if kind in _NO_ARRAYS or (kind == "cell" and name == wanted[0]):
            raise InputError(f"{path.name}: {name} is a {kind}, but features are a matrix.")
        if kind != "sparse":
            budget.check(prod(shape[:-1]), shape[-1])
    found = {name: read_variable(path, contents[name], budget) for name in wanted}
    return _from_arrays(found, wanted, list(contents), how, path.name)


def read_svmlight(path: Path, how: Reading, budget: Budget) -> Table:
    """Read an SVMlight file; the label that begins each line is called y."""
    from sklearn.datasets import load_svmlight_file

    # An entry is at least four characters, " 1:1", and twelve bytes in memory.
    budget.check_bytes(path.stat().st_size * 3, "the file")
    try:
        X, y = load_svmlight_file(str(path))
    except (ValueError, UnicodeDecodeError, OverflowError) as error:
        raise InputError(f"{path.name} is not a readable SVMlight file: {error}") from error
    if X.shape[0] == 0:
        raise InputError(f"{path.name} is empty.")
    # Every feature has a score, whether or not a row uses it.
    budget.check(1, X.shape[1], 64)
    if how.label not in (None, "y", "0"):
        raise InputError(f"{path.name} has one label, at the start of each line: pass --label y.")
    if how.transpose:
        raise UsageError("--transpose: an SVMlight file has one sample on each line, always.")
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    labels, notes = (None, []) if how.label is None else make_labels(y, how, path.name)
    return Table(csr_array(X), names, labels, None, path.name, tuple(notes))


# -- from arrays to a table ------------------------------------------------------------------


def _choose(shapes: Mapping[str, tuple[int, ...]], how: Reading, source: str) -> list[str]:
    """Name the arrays to read: features first, then those that label, ids or names ask for."""
    wide = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] > 1]
    known = [name for name in _FEATURES if name in wide]
    if how.array is not None:
        if how.array not in shapes:
            raise InputError(
                f"{source} has no array {shown(how.array)} (--array). {nearest(how.array, shapes)}"
            )
        features = how.array
    elif known or len(wide) == 1:
        features = (known or wide)[0]
    elif not shapes:
        raise InputError(f"{source} holds no arrays. Store the features in one.")
    else:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(
            f"{source}: which array holds the features? It has {listed}. Pass --array NAME."
        )
    others = [name for name in (how.label, how.id_column, *_NAMES) if name is not None]
    return [features, *(name for name in others if name in shapes and name != features)]


def _from_arrays(
    arrays: Mapping[str, Any], wanted: list[str], known: list[str], how: Reading, source: str
) -> Table:
    """Take labels, ids and names from arrays of their own; `known` are all that the file has."""
    matrix = arrays[wanted[0]]
    _check_matrix(matrix, source)
    n_rows, n_columns = matrix.shape[::-1] if how.transpose else matrix.shape
    ordinary = replace(
        how,
        label=None if how.label in arrays else how.label,
        id_column=None if how.id_column in arrays else how.id_column,
    )
    others = {name: _flat(arrays[name], name, source) for name in wanted[1:]}
    names = next((others[name] for name in _NAMES if name in others), [])
    named = [str(name) for name in names] if len(names) == n_columns else None
    table = _from_matrix(matrix, ordinary, source, named, known)
    for name in (how.label, how.id_column):
        if name in others and len(others[name]) != n_rows:
            raise InputError(
                f"{source}: {name} has {len(others[name])} entries, but {wanted[0]} has "
                f"{n_rows} rows."
            )
    labels, notes = table.labels, list(table.notes)
    if how.label in others:
        labels, notes = make_labels(others[how.label], how, source)
    ids = (
        make_ids(others[how.id_column], how.id_column, source)
        if how.id_column is not None and how.id_column in others
        else table.ids
    )
    return Table(table.X, table.names, labels, ids, source, tuple(notes))


def _flat(array: Any, name: str, source: str) -> list[Any]:
    if issparse(array):
        array = array.toarray()
    values = np.asarray(array)
    if values.ndim == 2 and 1 not in values.shape:
        raise InputError(
            f"{source}: {name} has the shape {values.shape}, but one dimension is wanted."
        )
    # MATLAB stores a list of texts as a column of cells, each an array of one text.
    return [_cell(value) for value in values.ravel().tolist()]


def _cell(value: Any) -> Any:
    """Return what a cell holds; an empty one has no text."""
    if not isinstance(value, np.ndarray):
        return value
    return value.item() if value.size == 1 else value if value.size else ""


def _from_matrix(
    matrix: Any,
    how: Reading,
    source: str,
    names: list[str] | None = None,
    arrays: Sequence[str] = (),
) -> Table:
    """Split a matrix into features, label column and id column by their numbers."""
    _check_matrix(matrix, source)
    matrix = matrix.T if how.transpose else matrix
    labels = [f"x{i}" for i in range(matrix.shape[1])] if names is None else names
    roles = assign_roles([*labels], how, source, names is None, arrays)
    features = list(roles.features)
    if issparse(matrix):
        X: Any = csr_array(matrix)
        column = {i: X[:, [i]].toarray().ravel() for i in (roles.label, roles.ids) if i is not None}
    else:
        X = np.asarray(matrix)
        column = {i: X[:, i] for i in (roles.label, roles.ids) if i is not None}
    if len(features) < matrix.shape[1]:
        X = X[:, features]
    classes, notes = None, list[str]()
    if roles.label is not None:
        classes, notes = make_labels(column[roles.label], how, source)
    ids = None
    if roles.ids is not None:
        ids = make_ids(column[roles.ids].tolist(), labels[roles.ids], source)
    X = X if issparse(X) else without_marks(X, how.missing)
    return Table(X, tuple(labels[i] for i in features), classes, ids, source, tuple(notes))


def _check_matrix(matrix: Any, source: str) -> None:
    if matrix.ndim != 2:
        raise InputError(f"{source} has the shape {matrix.shape}; a table has rows and columns.")
    if matrix.dtype.kind not in "biuf":
        kind = {"c": "complex numbers", "O": "objects"}.get(matrix.dtype.kind, str(matrix.dtype))
        raise InputError(f"{source} holds {kind}; features are real numbers.")
    if matrix.shape[0] == 0:
        raise InputError(f"{source} has {matrix.shape[1]} columns, but no rows.")
