"""Pictures are what a library for pictures reads back."""

import io
import re

import numpy as np
import pytest
from matplotlib.image import imread

from linkselect.labelling._shown_samples import (
    CURVE_SIZE,
    MARK,
    curve_path,
    curve_places,
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


def points(path):
    return np.array(re.findall(r"[ML]([\d.e+-]+) ([\d.e+-]+)", path), dtype=float)


def test_a_curve_goes_through_its_values():
    found = points(curve_path(np.array([0.0, 10.0, 5.0]), 0, 10))
    width, height = CURVE_SIZE
    assert found[:, 0].tolist() == [0, width / 2, width]
    assert found[:, 1].tolist() == [height - 8, 8, height / 2]


def test_a_long_curve_is_thinned_but_keeps_its_peak():
    values = np.zeros(100_000)
    values[43_217] = 1.0
    found = points(curve_path(values, 0, 1))
    assert len(found) <= 2 * CURVE_SIZE[0]
    assert found[:, 1].min() == 8
    peak = found[found[:, 1].argmin(), 0]
    assert peak == pytest.approx(curve_places(43_217, len(values)), abs=1)
    assert (np.diff(found[:, 0]) >= 0).all()


def test_one_feature_is_a_curve_too():
    assert curve_path(np.array([1.0]), 0, 1) == "M0 8"
