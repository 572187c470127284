"""Encoding images, comparing values and drawing curves of samples."""

import io

import numpy as np
import pytest
from matplotlib.image import imread
from scipy.sparse import csr_array, random_array

from linkselect.labelling._shown_samples import (
    LOOKED_AT,
    MARK,
    RAIL,
    ShownSamples,
    grey,
    mask_png,
    png,
)


def read_back(content):
    return np.round(255 * imread(io.BytesIO(content), format="png")).astype(int)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (28, 28), (2, 3, 3)])
def test_png_is_read_back(shape):
    pixels = np.random.default_rng(0).integers(256, size=shape).astype(np.uint8)
    assert np.array_equal(read_back(png(pixels)), pixels)


def test_grey_goes_from_black_to_white_and_stays_inside():
    assert grey([-5.0, 0.0, 1.0, 2.0, 9.0, np.nan], 0, 2).tolist() == [0, 0, 128, 255, 255, 0]
    assert grey([3.0, 3.0], 3, 3).tolist() == [0, 0], "one value only"


def test_the_mask_marks_the_best_pixels_and_only_these():
    mean = np.full((2, 3), 100, dtype=np.uint8)
    drawn = read_back(mask_png(mean, np.array([4, 0])))
    assert drawn[1, 1].tolist() == list(MARK)
    assert drawn[0, 0, 0] > drawn[0, 0, 2] + 50
    plain = drawn.reshape(-1, 3)[[1, 2, 3, 5]]
    assert (plain == plain[0, 0]).all()


def compared(X, a=0, b=1, start=0, n_rows=12, **options):
    """Compare two rows; features are named by their numbers."""
    names = [str(i) for i in range(X.shape[1])]
    samples = ShownSamples(X, tuple(range(X.shape[0])), names, **options)
    return samples.compared(a, b, start, n_rows)


def test_features_are_sorted_by_difference_in_standard_deviations():
    nan = np.nan
    X = np.array(
        # one missing, constant, 1 sd, both missing, same, 2 sd
        [
            [nan, 7.0, 0.0, nan, 5.0, 0.0],
            [1.0, 7.0, 30.0, nan, 5.0, 0.002],
            [2.0, 7.0, 60.0, 1.0, 4.0, 0.001],
            [3.0, 7.0, 90.0, 2.0, 3.0, 0.001],
        ]
    )
    found = compared(X)
    apart = np.abs(X[0] - X[1])[[5, 2]] / np.std(X[:, [5, 2]], axis=0)
    assert [one.name for one in found] == ["5", "2", "0", "4", "1", "3"]
    said = [one.difference for one in found]
    assert said == [*(f"{one:.1f} sd" for one in apart), "unknown", "same", "same", "unknown"]
    assert said[:2] == ["2.8 sd", "0.9 sd"]
    assert found[2].texts == ("missing", "1")
    assert found[2].places[0] is None
    assert found[5].texts == ("missing", "missing")


def test_missing_values_are_ignored_in_standard_deviations():
    X = np.array([[0.0], [4.0], [np.nan], [2.0]])
    (one,) = compared(X)
    assert one.difference == f"{4 / np.std([0, 4, 2]):.1f} sd" == "2.4 sd"


def test_an_offset_does_not_change_the_order():
    X = np.random.default_rng(0).normal(size=(30, 40))
    order = [one.name for one in compared(X)]
    moved = compared(X * 1e-3 + 1e8)
    assert [one.name for one in moved] == order
    assert all(one.texts[0] != one.texts[1] for one in moved), "the digits show the difference"


def test_all_features_come_in_parts():
    X = np.random.default_rng(0).normal(size=(30, 45))
    parts = [compared(X, start=start, n_rows=20) for start in (0, 20, 40)]
    assert list(map(len, parts)) == [20, 20, 5]
    assert sorted(int(one.name) for part in parts for one in part) == list(range(45))


def test_sparse_samples_are_compared_as_dense_ones():
    X = random_array((50, 300), density=0.1, format="csr", rng=np.random.default_rng(0))
    assert compared(X) == compared(X.toarray()) == compared(csr_array(X))


def test_a_feature_may_vary_only_in_samples_that_are_not_used():
    X = np.zeros((2 * LOOKED_AT, 3))
    X[1, 1] = 5.0
    X[::2, 2] = np.arange(LOOKED_AT)
    first, second, third = compared(X, 1, 3)
    assert (first.name, first.texts) == ("1", ("5", "0"))
    assert first.difference == f"{np.sqrt(2 * LOOKED_AT):.1f} sd"
    assert second.difference == third.difference == "same"


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((1234.0, 0.30000000000000004), ("1,234", "0.3")),
        ((0.123456, -1234567.0), ("0.1235", "\N{MINUS SIGN}1,235,000")),
        ((2.5e-7, 6.02214e23), ("2.5e\N{MINUS SIGN}7", "6.022e23")),
        ((0.0001, 9999999.0), ("0.0001", "1e7")),
        ((-0.0, 5.0), ("0", "5")),
        ((1013.251, 1013.262), ("1,013.25", "1,013.26")),
        ((2019.0, 2019.0), ("2,019", "2,019")),
        ((18262.25, 18000.0), ("18,260", "18,000")),
    ],
    ids=str,
)
def test_numbers_are_short_but_distinct(values, texts):
    X = np.array([*values, 1.0])[:, None]
    (one,) = compared(X)
    assert one.texts == texts


def test_encoded_values_keep_their_digits():
    X = np.array([[18262.25], [18000.0]])
    (one,) = compared(X, encoded={"0"})
    assert one.texts == ("18262.2", "18000")


def test_positions_of_marks_on_the_rail():
    X = np.zeros((1001, 4))
    X[:, 0] = np.random.default_rng(0).permutation(1001)  # percentiles 10 and 990
    X[0, 0], X[1, 0] = 10, 500
    X[:, 1] = X[:, 0]
    X[0, 1] = 1e9
    X[2:, 0][X[2:, 0] == 500] = 501
    X[0, 2], X[1, 3] = 3, np.nan  # nearly all samples have the value 0
    places = {one.name: one.places for one in compared(X)}
    start, end = RAIL
    assert float(places["0"][0]) == pytest.approx(start, abs=0.2)
    assert float(places["0"][1]) == pytest.approx((start + end) / 2, abs=0.2)
    assert end < float(places["1"][0]) < 95, "outside the rail, but inside the drawing"
    assert places["2"] == (f"{end:.1f}", f"{start:.1f}")
    assert places["3"] == (f"{(start + end) / 2:.1f}", None)


def test_curves_of_some_columns():
    X = np.arange(12.0).reshape(3, 4)
    X[2] = np.nan
    samples = ShownSamples(X, ("a", "b", "c"), list("wxyz"), curve=np.array([1, 3]))
    assert samples.kind == "curve"
    drawing = samples.drawn([0, 1], np.array([2, 3]))
    assert drawing.x_texts == ("x", "z")
    assert drawing.marks == ["640"], "feature z; y is not in the curve"
    assert drawing.y_texts == ("1", "7")
    assert drawing.paths == ["M0 232L640 157.3", "M0 82.67L640 8"]
    drawing = samples.drawn([2, 0], np.empty(0, dtype=int))
    assert drawing.paths[0] == ""
    assert "c contains no valid values" in drawing.troubles[0]
    assert drawing.paths[1]
