"""Read tables from array files: NPY, NPZ, MAT and SVMlight."""

import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from linkselect._messages import many
from linkselect._samples.sources.memory_maps import DAMAGED_NPY, why_damaged
from linkselect.cli._errors import InputError, UsageError, nearest, shown
from linkselect.cli._tables.features import from_matrix
from linkselect.cli._tables.label_column import make_labels
from linkselect.cli._tables.own_process import SPARSE_PARTS, name_of_features, read_apart
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import Table, without_marks

# Usual names of the array of feature names in a file of several arrays.
_NAMES = ("feature_names", "names", "columns")


def read_npy(file: TableFile) -> Table:
    """Read the matrix from an NPY file; the label column is given by its number."""
    with file.path.open("rb") as stream:
        array = _read_array(stream, file.path.stat().st_size, file.name, file)
    return _from_arrays({file.name: array}, [file.name], [], file)


def read_npz(file: TableFile) -> Table:
    """Read a matrix from an NPZ file, whose other arrays may contain labels, ids and names."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            members = {info.filename.removesuffix(".npy"): info for info in infos}
            shapes = {}
            for key, info in members.items():
                with archive.open(info) as stream:
                    shapes[key] = _read_header(stream, f"{file.name}, array {key}")[0]
            wanted = _choose(shapes, file)
            if "format.npy" in archive.namelist() and "indptr" in members:
                raise InputError(f"{file.name} is a SciPy sparse matrix. Save it as SVMlight.")
            arrays = {}
            for key in wanted:
                size = members[key].file_size
                file.check_bytes(size, f"array {key}")
                with archive.open(members[key]) as stream:
                    arrays[key] = _read_array(stream, size, f"{file.name}, array {key}", file)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a damaged archive raises errors of many types
        why = str(error) or type(error).__name__
        raise InputError(f"{file.name} is not a readable NPZ file: {why}") from error
    return _from_arrays(arrays, wanted, list(shapes), file)


def _read_header(stream: IO[bytes], source: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the shape, memory order and data type of an array."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except DAMAGED_NPY as error:
        raise InputError(f"{source} is not a readable array: {why_damaged(error)}.") from error
    if any(type(size) is not int or size < 0 for size in shape):
        raise InputError(f"{source} is not a readable array: its header states the shape {shape}.")
    return shape, fortran, dtype


def _read_array(stream: IO[bytes], n_bytes: int, source: str, file: TableFile) -> NDArray[Any]:
    """Read an array of `n_bytes`; reject arrays that could run code or do not fit in memory."""
    shape, fortran, dtype = _read_header(stream, source)
    if dtype.hasobject:
        raise InputError(
            f"{source} contains Python objects (pickle), which can run arbitrary code when read. "
            "Save it as plain numbers: np.save(file, array.astype(float))."
        )
    if dtype.itemsize == 0:
        raise InputError(f"{source} contains values of size zero ({dtype.str}), not numbers.")
    if dtype.kind == "V":
        raise InputError(f"{source} is a structured array. Save a plain array of numbers instead.")
    if dtype.kind in "biuf" and len(shape) == 2:
        file.check(*shape, max(dtype.itemsize, 4))
    wanted, stored = prod(shape) * dtype.itemsize, n_bytes - stream.tell()
    file.check_bytes(wanted, "the array")
    if stored < wanted:
        raise InputError(
            f"{source} is truncated: its header declares {wanted:,} bytes of values, "
            f"but there are {stored:,}."
        )
    values = np.frombuffer(stream.read(wanted), dtype=dtype)
    if dtype.kind == "U" and values.size:
        codes = values.view(f"{dtype.str[0]}u4")
        if codes.max() > sys.maxunicode:
            raise InputError(f"{source} is damaged: its text contains invalid characters.")
    return values.reshape(shape[::-1]).T if fortran else values.reshape(shape)


def read_mat(file: TableFile) -> Table:
    """Read a matrix from a MATLAB file, versions 4 to 7."""
    with file.path.open("rb") as stream:
        start = stream.read(128)
    if b"MATLAB 7.3" in start or start[124:] in (b"\x00\x02IM", b"\x02\x00MI"):
        raise InputError(
            f"{file.name} is a MATLAB 7.3 file (HDF5), which is not supported. Save it again in "
            "MATLAB: save(file, 'X', 'y', '-v7')."
        )
    asked = [name for name, _ in file.named.values()]
    wanted = {"array": file.how.array, "others": [*asked, *_NAMES]}
    found, archive = read_apart("MATLAB file", file, wanted)
    contents = {name: (tuple(shape), kind) for name, shape, kind in found["contents"]}
    chosen = _choose({name: shape for name, (shape, _) in contents.items()}, file)
    arrays: dict[str, Any] = {}
    with np.load(archive) as stored:
        for name in chosen:
            if f"_{name}.data" in stored:
                arrays[name] = _sparse([stored[f"_{name}.{part}"] for part in SPARSE_PARTS], file)
            elif f"_{name}" not in stored:
                kind = contents[name][1]
                raise InputError(f"{file.name}: {name} is a {kind}, but features must be a matrix.")
            else:
                shape = contents[name][0]
                file.check(prod(shape[:-1]), shape[-1])
                arrays[name] = stored[f"_{name}"]
    return _from_arrays(arrays, chosen, list(contents), file)


def _sparse(parts: Sequence[NDArray[Any]], file: TableFile) -> csc_array:
    values, rows, starts, shape = parts
    # The row and column pointers take memory even if there are few values.
    file.check_bytes(16 * int(shape.sum()) + 48 * len(values), "a sparse matrix")
    found = csc_array((values, rows, starts), shape=tuple(shape.tolist()))
    found.sum_duplicates()
    return found


def read_svmlight(file: TableFile) -> Table:
    """Read an SVMlight file; the label at the start of each line is called y."""
    from sklearn.datasets import load_svmlight_file

    # An entry has at least four characters, " 1:1", and takes twelve bytes in memory.
    file.check_bytes(file.path.stat().st_size * 3, "the file")
    try:
        X, y = load_svmlight_file(str(file.path))
    except (ValueError, UnicodeDecodeError, OverflowError) as error:
        raise InputError(f"{file.name} is not a readable SVMlight file: {error}") from error
    if X.shape[0] == 0:
        raise InputError(f"{file.name} is empty.")
    # Every feature gets a score, even if it is 0 in all rows.
    file.check(1, X.shape[1], 64)
    if file.how.label not in (None, "y", "0"):
        raise InputError(f"{file.name} has one label, at the start of each line. Pass --label y.")
    if file.how.transpose:
        raise UsageError("Each line of an SVMlight file is already a sample. Omit --transpose.")
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    labels, notes = make_labels(None if file.how.label is None else y, file)
    return Table(csr_array(X), names, labels, None, file.name, tuple(notes))


# -- from arrays to a table ------------------------------------------------------------------


def _choose(shapes: Mapping[str, tuple[int, ...]], file: TableFile) -> list[str]:
    """List the arrays to read: the features first, then labels, ids and feature names."""
    how = file.how
    features = name_of_features(shapes, how.array)
    if how.array is not None and how.array not in shapes:
        hint = nearest(how.array, shapes)
        raise InputError(f"{file.name} has no array {shown(how.array)} (--array). {hint}")
    if not shapes:
        raise InputError(f"{file.name} contains no arrays. Store the features in an array.")
    if features is None:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(
            f"{file.name} has several arrays: {listed}. Choose the features with --array NAME."
        )
    asked = {name for name, _ in file.named.values()}
    others = {*asked, *_NAMES} - {features}
    return [features, *(name for name in shapes if name in others)]


def _from_arrays(
    arrays: Mapping[str, Any], wanted: list[str], known: list[str], file: TableFile
) -> Table:
    """Make a table from the first array; the others may contain labels, ids and names."""
    matrix = arrays[wanted[0]]
    _check_matrix(matrix, file.name)
    X = matrix.T if file.how.transpose else matrix
    X = csr_array(X) if issparse(X) else X
    beside = {name: arrays[name] for name in wanted[1:]}
    names = next((np.ravel(beside[name]) for name in _NAMES if name in beside), np.empty(0))
    named = [str(name) for name in names] if len(names) == X.shape[1] else None
    table = from_matrix(X, file, named, beside, known)
    X = table.X if table.is_sparse else without_marks(table.X, file.how.missing)
    return replace(table, X=X)


def _check_matrix(matrix: Any, source: str) -> None:
    if matrix.ndim != 2:
        raise InputError(f"{source} has the shape {matrix.shape}, but a table must be 2-D.")
    if matrix.dtype.kind not in "biuf":
        kind = {"c": "complex numbers", "O": "objects"}.get(matrix.dtype.kind, str(matrix.dtype))
        raise InputError(f"{source} contains {kind}, but features must be real numbers.")
    if matrix.shape[0] == 0:
        raise InputError(f"{source} has {many(matrix.shape[1], 'column')}, but no rows.")
