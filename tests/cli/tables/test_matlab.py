"""Tests of MATLAB files: the same arrays as SciPy, and errors for files that crash it."""

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from scipy.sparse import csc_array, csc_matrix, issparse

from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, read_table

FROM_MATLAB = Path(scipy.io.__file__).parent / "matlab" / "tests" / "data"


@pytest.mark.parametrize("options", [{}, {"do_compression": True}, {"format": "4"}], ids=str)
@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "i2", "sparse"])
def test_arrays_written_by_scipy(tmp_path, kind, options):
    path = tmp_path / "t.mat"
    X = np.arange(12.0).reshape(4, 3) if kind == "sparse" else np.arange(12).reshape(4, 3)
    stored = csc_matrix(X) if kind == "sparse" else X.astype(kind)
    names = np.array(["width ", "höhe", "x"]) if not options.get("format") else [[0.0, 1, 2]]
    scipy.io.savemat(path, {"X": stored, "y": [[1], [2], [1], [2]], "names": names}, **options)
    table = read_table(path, Reading(label="y"))
    assert issparse(table.X) == (kind == "sparse")
    np.testing.assert_array_equal(table.X.toarray() if issparse(table.X) else table.X, X)
    assert kind == "sparse" or options.get("format") or table.X.dtype == kind
    assert table.classes == ["1", "2"]


@pytest.mark.skipif(not FROM_MATLAB.is_dir(), reason="SciPy was installed without its test files")
def test_files_written_by_matlab():
    """Test both byte orders, and versions 4.2 to 7.4."""
    n_compared = 0
    for path in sorted(FROM_MATLAB.glob("test[dms]*[tex]_*.mat")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = {k: v for k, v in scipy.io.loadmat(path).items() if k[:2] != "__"}
        name, X = next(iter(expected.items()))
        if "complex" in path.name or X.ndim != 2 or X.shape[1] < 2 or X.dtype.kind not in "fiu":
            continue
        found = read_table(path, Reading(array=name)).X
        dense = [one.toarray() if issparse(one) else one for one in (found, X)]
        np.testing.assert_array_equal(*dense)
        n_compared += 1
    assert n_compared > 5


def test_cells_are_names_and_labels(tmp_path):
    path = tmp_path / "t.mat"
    cells = np.array([["width"], ["höhe"], [2.5], [np.empty((1, 0))]], dtype=object)
    kinds = np.array([["a"], ["b"], ["a"]], dtype=object)
    scipy.io.savemat(path, {"X": np.ones((3, 4)), "names": cells, "kind": kinds})
    table = read_table(path, Reading(label="kind"))
    assert table.names == ("width", "höhe", "2.5", "")
    assert table.classes == ["a", "b"]


def test_a_type_that_crashes_scipy(tmp_path):
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"X": np.arange(8.0).reshape(4, 2)})
    content = bytearray(path.read_bytes())
    content[content.index(struct.pack("<II", 9, 64)) + 1] = 8  # type 2057 for double
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"^t\.mat is not a readable MATLAB file"):
        read_table(path)


def sparse_file(rows, starts, values, shape=(4, 3)):
    """Return a MATLAB file with a sparse matrix, whose indices may be invalid."""

    def element(kind, array):
        data = np.asarray(array).tobytes()
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)

    body = element(6, np.array([5, len(rows)], "u4")) + element(5, np.array(shape, "i4"))
    body += element(1, np.frombuffer(b"X", "i1")) + element(5, np.array(rows, "i4"))
    body += element(5, np.array(starts, "i4")) + element(9, np.array(values, "f8"))
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 14, len(body)) + body


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (([0, 9], [0, 1, 2, 2], [1, 2]), "not a readable"),
        (([0, -(2**31)], [0, 1, 2, 2], [1, 2]), "not a readable"),
        (([0, 1], [0, 1, 2**30, 2], [1, 2]), "not a readable"),
        (([0, 1], [0, 1, 2, 900], [1, 2]), "not a readable"),
        (([0], [0, 1], [1], (2**31 - 1, 1)), "does not fit"),
    ],
)
def test_an_inconsistent_sparse_matrix(tmp_path, parts, words):
    path = tmp_path / "t.mat"
    path.write_bytes(sparse_file([0, 3], [0, 1, 2, 2], [1, 2]))
    np.testing.assert_array_equal(
        read_table(path).X.toarray(), [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 2, 0]]
    )
    path.write_bytes(sparse_file(*parts))
    with pytest.raises(InputError, match=words):
        read_table(path, Reading(max_memory="10MB", array="X"))


def test_a_value_stored_twice_is_added_up(tmp_path):
    path = tmp_path / "t.mat"
    path.write_bytes(sparse_file([1, 1], [0, 2, 2, 2], [1, 2]))
    X = read_table(path).X
    assert X.nnz == 1
    assert X[1, 0] == 3


@pytest.mark.parametrize(("place", "number"), [(0, 9), (0, 0), (1, 1e300)])
def test_an_inconsistent_sparse_matrix_of_version_4(tmp_path, place, number):
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"X": csc_array(np.eye(4)[:, :3])}, format="4")
    np.testing.assert_array_equal(read_table(path).X.toarray(), np.eye(4)[:, :3])
    content = bytearray(path.read_bytes())
    struct.pack_into("<d", content, 22 + 32 * place, number)
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable"):
        read_table(path)


def test_an_array_that_is_too_large_when_decompressed(tmp_path):
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"X": np.zeros((1 << 20, 40))}, do_compression=True)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="does not fit"):
        read_table(path, Reading(max_memory="20MB"))


def test_values_that_are_not_matrices_are_refused(tmp_path):
    path = tmp_path / "t.mat"
    for version in "45":
        scipy.io.savemat(path, {"X": np.eye(3) * 1j}, format=version)
        with pytest.raises(InputError, match="complex"):
            read_table(path)
    inner = np.empty((3, 1), dtype=object)
    inner[:] = [[np.array([["a"]], dtype=object)]]
    scipy.io.savemat(path, {"X": np.eye(3), "names": inner})
    with pytest.raises(InputError, match="a cell with several values"):
        read_table(path)
    scipy.io.savemat(path, {"X": {"a": 1}, "Z": np.eye(3)})
    with pytest.raises(InputError, match="X is a struct, but features must be a matrix"):
        read_table(path, Reading(array="X"))
    scipy.io.savemat(path, {})
    with pytest.raises(InputError, match=r"^t\.mat contains no arrays"):
        read_table(path)


def test_a_reader_that_does_not_return_is_stopped(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("linkselect.cli._tables.own_process._SECONDS", 0)
    assert resource.RLIMIT_CPU is not None
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"X": np.eye(3)})
    with pytest.raises(InputError, match=r"its reader stopped with exit code -"):
        read_table(path)
