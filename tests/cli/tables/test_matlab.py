"""MATLAB files: the same arrays as SciPy's reader finds, and an error where it would crash."""

import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from scipy.sparse import csc_array, csc_matrix, issparse

from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, read_table
from linkselect.cli._tables.limits import Budget
from linkselect.cli._tables.matlab import list_variables, read_variable

FROM_MATLAB = Path(scipy.io.__file__).parent / "matlab" / "tests" / "data"
ROOM = Budget(1 << 24, "t.mat")
ARRAYS = {
    **{f"a_{kind}": np.arange(6, dtype=kind).reshape(2, 3) for kind in ("u1", "i2", "i8", "f4")},
    "cube": np.arange(24.0).reshape(2, 3, 4),
    "none": np.empty((0, 3)),
    "sparse": csc_matrix(np.diag([0, 1.5, 0, -2])[:, :3]),
    "logical": np.array([[True, False]]),
    "flags": csc_matrix(np.eye(3) > 0),
    "rows": np.array(["ab", "c", "dé"]),
    "word": "Größe \U0001d6fc",
    "cell": np.array([["width"], ["höhe"], [2.5]], dtype=object),
}


def flat(values):
    """Return what a table takes from an array of any kind."""
    if issparse(values):
        return values.toarray().tolist()
    one = (x.item() if getattr(x, "size", 0) == 1 else x for x in np.asarray(values).ravel())
    return [x.rstrip() if isinstance(x, str) else str(x) for x in one]


def read_all(path):
    found = list_variables(path)
    return {name: read_variable(path, one, ROOM) for name, one in found.items()}


@pytest.mark.parametrize("options", [{}, {"do_compression": True}, {"format": "4"}], ids=str)
def test_arrays_that_scipy_wrote(tmp_path, options):
    path = tmp_path / "t.mat"
    only_5 = ("cube", "cell", "word", "a_i8", "flags", "logical", "rows")
    arrays = {k: v for k, v in ARRAYS.items() if not (options.get("format") and k in only_5)}
    scipy.io.savemat(path, arrays, **options)
    found, expected = read_all(path), scipy.io.loadmat(path)
    assert list(found) == list(arrays)
    for name, values in found.items():
        assert values.shape == expected[name].shape
        assert flat(values) == flat(expected[name]), name
        assert issparse(values) == issparse(expected[name])


@pytest.mark.skipif(not FROM_MATLAB.is_dir(), reason="this SciPy came without its test files")
def test_files_that_matlab_wrote():
    n_compared = 0
    for path in FROM_MATLAB.glob("test*.mat"):  # both orders of bytes, versions 4.2 to 7.4
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected, known = scipy.io.loadmat(path), scipy.io.whosmat(path)
            except NotImplementedError:
                with pytest.raises(InputError, match="HDF5"):
                    list_variables(path)
                continue
        found = list_variables(path)
        assert {one.name: one.shape for one in found.values()} == {
            name: shape for name, shape, _ in known if name != "__function_workspace__"
        }
        for name, one in found.items():
            if one.kind not in ("struct", "object", "function", "complex", "opaque") and not (
                "nest" in name or "sparsecomplex" in name
            ):
                assert flat(read_variable(path, one, ROOM)) == flat(expected[name]), path.name
                n_compared += 1
    assert n_compared > 30


def test_a_type_that_crashes_scipy(tmp_path):
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"X": np.arange(8.0).reshape(4, 2)})
    content = bytearray(path.read_bytes())
    content[content.index(struct.pack("<II", 9, 64)) + 1] = 8  # type 2057 for double
    path.write_bytes(content)
    with pytest.raises(InputError, match="no numbers where they should be"):
        read_table(path)


def sparse_file(rows, starts, values, shape=(4, 3)):
    """Write a MATLAB file whose sparse matrix says what it should not."""

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
        (([0, 9], [0, 1, 2, 2], [1, 2]), "points outside"),
        (([0, -(2**31)], [0, 1, 2, 2], [1, 2]), "points outside"),
        (([0, 1], [0, 1, 2**30, 2], [1, 2]), "do not follow"),
        (([0, 1], [-4, 1, 2, 2], [1, 2]), "do not follow"),
        (([0, 1], [0, 1, 2, 900], [1, 2]), "lacks some of its 900 values"),
        (([0, 1, 2, 3] * 2, [0, 4, 8, 8], [1]), "lacks some of its 8 values"),
        (([0, 1], [0, 1, 2], [1, 2]), "other columns"),
        (([0, 1], [0, 1, 2, 2], [1, 2], (2, 3, 4)), "other columns"),
        (([0], [0, 1], [1], (2**31 - 1, 1)), "too large"),
        (([0], [0, 1], [1], (-1, 1)), "dimensions"),
    ],
)
def test_a_sparse_matrix_that_does_not_fit_itself(tmp_path, parts, words):
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


@pytest.mark.parametrize(("place", "number"), [(0, 9), (0, 0), (1, 1.5), (1, np.nan), (0, 1e300)])
def test_a_sparse_matrix_of_version_4_that_does_not_fit_itself(tmp_path, place, number):
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"X": csc_array(np.eye(4)[:, :3])}, format="4")
    np.testing.assert_array_equal(read_table(path).X.toarray(), np.eye(4)[:, :3])
    content = bytearray(path.read_bytes())
    struct.pack_into("<d", content, 22 + 32 * place, number)
    path.write_bytes(content)
    with pytest.raises(InputError, match="index"):
        read_table(path)


def test_an_array_that_unpacks_to_too_much(tmp_path):
    bomb = zlib.compress(struct.pack("<II", 14, 2**31) + bytes(1 << 22))
    body = io.BytesIO()
    scipy.io.savemat(body, {"X": np.eye(3)}, do_compression=True)
    path = tmp_path / "t.mat"
    path.write_bytes(body.getvalue()[:128] + struct.pack("<II", 15, len(bomb)) + bomb)
    with pytest.raises(InputError, match="MATLAB"):
        list_variables(path)
    head = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, 2, 2)
    bomb = zlib.compress(
        struct.pack("<II", 14, 2**31) + head + struct.pack("<HHI", 1, 1, 88) + bytes(1 << 22)
    )
    path.write_bytes(body.getvalue()[:128] + struct.pack("<II", 15, len(bomb)) + bomb)
    with pytest.raises(InputError, match="too large"):
        read_table(path, Reading(max_memory="100MB"))
    with pytest.raises(InputError, match="cut off"):
        read_table(path, Reading(max_memory="4GB"))


def test_complex_numbers_and_cells_in_cells_are_refused(tmp_path):
    path = tmp_path / "t.mat"
    for version in "45":
        scipy.io.savemat(path, {"X": np.eye(3) * 1j}, format=version)
        with pytest.raises(InputError, match="complex"):
            read_table(path)
    inner = np.empty((3, 1), dtype=object)
    inner[:] = [[np.array([["a"]], dtype=object)]]
    scipy.io.savemat(path, {"X": np.eye(3), "names": inner})
    with pytest.raises(InputError, match="within a cell"):
        read_table(path)


def test_a_file_without_arrays_says_so(tmp_path):
    scipy.io.savemat(tmp_path / "t.mat", {})
    with pytest.raises(InputError, match=r"^t\.mat holds no arrays"):
        read_table(tmp_path / "t.mat")
