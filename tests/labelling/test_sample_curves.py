"""Reading curves from files, refusing invalid ones, and drawing them."""

import os
import re
import zipfile

import numpy as np
import pytest

from linkselect._messages import GuidedValueError
from linkselect.labelling._sample_curves import (
    CURVE_SIZE,
    LARGEST,
    NoCurveError,
    curve_path,
    curves_in_folder,
    draw,
    given_curves,
    range_texts,
    read_curve,
)


def write(folder, name, content):
    file = folder / name
    if isinstance(content, str):
        file.write_text(content, encoding="utf-8")
    elif isinstance(content, bytes):
        file.write_bytes(content)
    else:
        np.save(file, content)
    return file


# -- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "x", "y"),
    [
        ("a.csv", "1\n2.5\n-3e1\n", [1, 2, 3], [1, 2.5, -30]),
        ("a.CSV", "value\n4\n5\n", [1, 2], [4, 5]),
        ("a.csv", "0.5,4\r\n0.7,5\r\n", [0.5, 0.7], [4, 5]),
        ("a.csv", '"time (s)","U, in mV"\n0,4\n1,5\n', [0, 1], [4, 5]),
        ("a.csv", "time;mV\n0;4\n1;5\n", [0, 1], [4, 5]),
        ("a.csv", "t\tmV\n0\t4\n", [0], [4]),
        (
            "a.csv",
            "\ufeff0,4\n\n1,\n2,nan\n3,NA\n4,inf\n5,7",
            [0, 1, 2, 3, 4, 5],
            [4, *[np.nan] * 4, 7],
        ),
        ("a.csv", "x,y\n,1\n2,3\n", [2], [3]),
        ("a.npy", np.array([3, 1], dtype=np.int8), [1, 2], [3, 1]),
        ("a.npy", np.array([[3.0], [1.0]]), [1, 2], [3, 1]),
        ("a.npy", np.array([[0.5, 1.0], [0.1, 2.0]], dtype=">f4"), [0.5, np.float32(0.1)], [1, 2]),
        ("a.npy", np.asfortranarray([[0.5, 1.0], [0.1, 2.0]]), [0.5, 0.1], [1, 2]),
    ],
    ids=str,
)
def test_files_are_read(tmp_path, name, content, x, y):
    found = read_curve(write(tmp_path, name, content), tmp_path)
    np.testing.assert_array_equal(found, [x, y])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.csv", "", "no valid values"),
        ("p.csv", "value\n", "no valid values"),
        ("p.csv", "nan\nnan\n", "no valid values"),
        ("p.csv", "1,2,3\n4,5,6\n", r"\(2, 3\)"),
        ("p.csv", "1,2\n3\n", "line 2: expected 2 values, found 1"),
        ("p.csv", "Dear colleague\nI send no numbers\n", "line 2: 'I send no numbers'"),
        ("p.csv", "1\n2\nabc\n", "line 3: 'abc'"),
        ("p.csv", b"\x00\xff\x00\n\x00\xfe", "line 2"),
        ("p.csv", "0,5;1,5\n1,5;2,5\n", r"\(2, 4\)"),
        ("p.npy", b"", "not a readable array"),
        ("p.npy", b"1,2\n3,4\n", "not a readable array"),
        ("p.npy", np.empty(0), "no valid values"),
        ("p.npy", np.full(5, np.nan), "no valid values"),
        ("p.npy", np.array(5.0), r"shape \(\)"),
        ("p.npy", np.zeros((2, 500)), r"shape \(2, 500\)"),
        ("p.npy", np.zeros((5, 2, 1)), r"shape \(5, 2, 1\)"),
        ("p.npy", np.array(["1", "2"]), "type <U1"),
        ("p.npy", np.ones(3, dtype=complex), "type complex128"),
        ("p.npy", np.ones(3, dtype=[("a", float)]), "type"),
        ("p.npy", np.array([{}, 1], dtype=object), "not a readable array"),
    ],
    ids=str,
)
def test_invalid_curves_are_refused(tmp_path, name, content, said):
    file = write(tmp_path, name, content)
    with pytest.raises(NoCurveError, match=rf"^{name}.*{said}.* A curve has one column of numbers"):
        read_curve(file, tmp_path)


def test_a_truncated_array_is_refused(tmp_path):
    whole = write(tmp_path, "p.npy", np.zeros(7)).read_bytes()
    for shape in (b"(8,), ", b"(9999999999999,), ", b"(-7,), "):
        at = whole.index(b"(7,), ")
        header = whole[:128].replace(b"(7,), ", shape)[: 127 + len(shape) - 6].rstrip(b" \n")
        content = header.ljust(127) + b"\n" + whole[128:]
        assert at < 128
        with pytest.raises(NoCurveError, match=r"^p\.npy is not a readable array"):
            read_curve(write(tmp_path, "p.npy", content), tmp_path)


def test_an_archive_is_not_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "p.npy", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"0" * 10**7)
    with pytest.raises(NoCurveError, match="not a readable array"):
        read_curve(tmp_path / "p.npy", tmp_path)


@pytest.mark.parametrize("ending", LARGEST)
def test_a_huge_file_is_refused(tmp_path, ending):
    file = tmp_path / f"p{ending}"
    with file.open("wb") as stream:
        stream.truncate(2**31)  # a sparse file, which takes no disk space
    with pytest.raises(NoCurveError, match=rf"p{ending} is larger than \d+ MB. Use fewer points"):
        read_curve(file, tmp_path)


def test_the_limit_applies_to_converted_values(tmp_path):
    file = write(tmp_path, "p.npy", np.zeros(2**21, dtype=np.int8))
    assert len(read_curve(file, tmp_path)[1]) == 2**21
    file = write(tmp_path, "p.npy", np.zeros(2**21 + 1, dtype=np.int8))
    with pytest.raises(NoCurveError, match=r"p.npy contains 2,097,153 values. Use fewer points."):
        read_curve(file, tmp_path)


# -- folders ---------------------------------------------------------------------------------


def make_pipe(path):
    if hasattr(os, "mkfifo"):  # opening it blocks until there is a writer
        os.mkfifo(path)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "curves"
    (folder / "inner").mkdir(parents=True)
    for name in ("a.csv", "b.NPY", "dots.1.2.csv", "inner/d.csv", "notes.txt", "e.png"):
        np.save(folder / "new.npy", np.arange(3))
        content = (folder / "new.npy").read_bytes() if name == "b.NPY" else b"1\n2\n3\n"
        (folder / name).write_bytes(content)
    (tmp_path / "secret.csv").write_text("1\n2\n")
    (folder / "outside.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "zero.csv").symlink_to("/dev/zero")
    (folder / "circle.csv").symlink_to(folder / "circle.csv")
    (folder / "within.csv").symlink_to(folder / "a.csv")
    (folder / "broken.csv").write_text("no numbers\nat all\n")
    make_pipe(folder / "pipe.csv")
    (folder / "folder.csv").mkdir()
    return folder


ODD = ["outside", "zero", "circle", "pipe", "folder", "notes", "e", "../secret", "inner/d", ".", ""]


def test_files_are_found_by_id_and_nothing_else_is_opened(folder):
    ids = ["a", "b", "dots.1.2", "within", "broken", *ODD]
    curves = curves_in_folder(folder, ids)
    assert sorted(curves) == [0, 1, 2, 3, 4]
    assert curves[0]()[1].tolist() == curves[3]()[1].tolist() == [1, 2, 3]
    assert curves[1]()[1].tolist() == [0, 1, 2]
    with pytest.raises(NoCurveError, match="broken.csv, line 2"):
        curves[4]()


def test_a_folder_without_matching_curves_is_explained(folder, tmp_path):
    with pytest.raises(GuidedValueError, match=r"No sample has a curve.*like 'x'.*\.csv, \.npy"):
        curves_in_folder(folder, ["x"])
    with pytest.raises(GuidedValueError, match="There is no folder .* Pass the folder of"):
        curves_in_folder(tmp_path / "absent", ["x"])


def test_a_file_that_changes_after_the_start_is_read_again(folder, tmp_path):
    curves = curves_in_folder(folder, ["a"])
    file = folder / "a.csv"
    file.write_text("7\n8\n")
    assert curves[0]()[1].tolist() == [7, 8]
    file.unlink()
    with pytest.raises(NoCurveError, match="a.csv is no longer a file in"):
        curves[0]()
    file.symlink_to(tmp_path / "secret.csv")
    with pytest.raises(NoCurveError, match="no longer"):
        curves[0]()
    file.unlink()
    make_pipe(file)
    with pytest.raises(NoCurveError, match="no longer"):
        curves[0]()


def test_arrays_are_checked_before_the_page_opens():
    curves = given_curves([[1, 2], None, np.ones((3, 2))], 3)
    assert sorted(curves) == [0, 2]
    with pytest.raises(GuidedValueError, match="curves has length 1, but there are 3 samples"):
        given_curves([[1, 2]], 3)
    for wrong in ([[1], [2, 3]], "text", np.ones((2, 3)), [], [np.nan]):
        with pytest.raises(GuidedValueError, match=r"curves\[1\]"):
            given_curves([[1, 2], wrong], 2)


# -- drawing ---------------------------------------------------------------------------------


def points(path):
    return np.array(re.findall(r"[ML]([\d.e+-]+) ([\d.e+-]+)", path), dtype=float)


def path_of(values, low, high):
    values = np.asarray(values, dtype=float)
    x = np.arange(len(values), dtype=float)
    return curve_path((x, values), (0, max(x[-1], 1)), (low, high))


def test_a_curve_goes_through_its_values():
    found = points(path_of([0, 10, 5], 0, 10))
    width, height = CURVE_SIZE
    assert found[:, 0].tolist() == [0, width / 2, width]
    assert found[:, 1].tolist() == [height - 8, 8, height / 2]


def test_a_long_curve_is_thinned_but_keeps_its_peak():
    values = np.zeros(100_000)
    values[43_217] = 1.0
    found = points(path_of(values, 0, 1))
    assert len(found) <= 2 * CURVE_SIZE[0]
    assert found[:, 1].min() == 8
    peak = found[found[:, 1].argmin(), 0]
    assert peak == pytest.approx(CURVE_SIZE[0] * 43_217 / 99_999, abs=1)
    assert (np.diff(found[:, 0]) >= 0).all()


def test_thinning_depends_on_x_not_on_the_number_of_points():
    """Nearly all points are on the left; the few on the right are all drawn."""
    x = np.concatenate([np.linspace(0, 1, 50_000), np.linspace(2, 10, 300)])
    found = points(curve_path((x, np.sin(x)), (0, 10), (-1, 1)))
    assert (found[:, 0] > 120).sum() == 300
    assert (found[:, 0] < 120).sum() <= 2 * 65


def test_a_long_loop_stays_a_loop():
    angle = np.linspace(0, 2 * np.pi, 10_000)
    path = curve_path((np.cos(angle), np.sin(angle)), (-1, 1), (-1, 1))
    found = points(path)
    assert path.count("M") == 1
    assert found[:, 0].min() == pytest.approx(0, abs=1)
    assert found[:, 1].min() == pytest.approx(8, abs=1)
    assert 600 < len(found) <= 2 * CURVE_SIZE[0]


def test_the_line_is_broken_where_values_are_missing():
    nan = np.nan
    assert path_of([0, 1, nan, 1, nan], 0, 1) == "M0 232L160 8M480 8h0"
    long = np.zeros(100_000)
    long[::7] = nan  # narrower than a pixel
    long[50_000:60_000] = nan
    assert path_of(long, 0, 1).count("M") == 2


def test_one_value_is_a_dot():
    assert path_of([1.0], 0, 1) == "M0 8h0"


def test_curves_share_their_axes():
    def curve(x, y):
        return lambda: (np.array(x, dtype=float), np.array(y, dtype=float))

    drawing = draw([curve([0, 2], [0, 3]), curve([1, 2, 4], [1, np.nan, 6])])
    assert drawing.x_texts == ("0", "4")
    assert drawing.y_texts == ("0", "6")
    assert points(drawing.paths[0]).tolist() == [[0, 232], [320, 120]]
    assert points(drawing.paths[1]).tolist() == [[160, 194.7], [640, 8]]


def test_an_unreadable_curve_does_not_affect_the_other(folder):
    curves = curves_in_folder(folder, ["a", "broken"])
    drawing = draw([curves[0], curves[1]])
    assert drawing.paths[0]
    assert drawing.paths[1] == ""
    assert "broken.csv, line 2" in drawing.troubles[1]
    assert drawing.troubles[0] == ""
    assert draw([None, curves[1]]).paths == ["", ""]


@pytest.mark.parametrize(
    ("y", "texts"),
    [
        ([0.123456, 9.87654], ("0.12", "9.88")),
        ([0.123456, 0.987654], ("0.123", "0.988")),
        ([1013.20413, 1013.3], ("1,013.2041", "1,013.3")),
        ([-123456.7, 0], ("\N{MINUS SIGN}123,000", "0")),
        ([5, 5], ("2.5", "7.5")),
        ([0, 0], ("\N{MINUS SIGN}1", "1")),
        ([0, 5e-324], ("0", "4.94065645841247e\N{MINUS SIGN}324")),
        ([-9e299, 9e299], ("\N{MINUS SIGN}9e299", "9e299")),
        ([1, 1e308], ("0.5", "1.5")),
    ],
    ids=str,
)
def test_axis_labels_have_few_digits(y, texts):
    curves = given_curves([y], 1)
    drawing = draw([curves[0]])
    assert drawing.y_texts == texts
    assert np.isfinite(points(drawing.paths[0])).all()


def test_digits_depend_on_the_range():
    assert range_texts(100.0, 100.5) == ("100", "100.5")
