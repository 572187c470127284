import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from linkselect import Pairs
from linkselect._display import check_shape, pair_rows, score_text, two_dimensional_view


@pytest.mark.parametrize(
    ("score", "short", "padded"),
    [
        (0.25, "0.25", "0.2500"),
        (0.0, "0", "0.000"),
        (-1234.56, "-1.23e+03", "-1235."),
        (123456.0, "1.23e+05", "1.235e+05"),
        (0.00001, "1e-05", "1.000e-05"),
        (None, "no score", "no score"),
        (np.nan, "no score", "no score"),
        ("-inf", "-∞", "-∞"),
        (np.inf, "∞", "∞"),
    ],
)
def test_scores_as_text(score, short, padded):
    assert score_text(score, 3) == short
    assert score_text(score, 4, padded=True) == padded


def test_scores_without_special_characters():
    assert score_text(None, 6, missing="none", infinity="inf") == "none"
    assert score_text("-inf", 6, missing="none", infinity="inf") == "-inf"


@pytest.mark.parametrize("n_columns", [1, 2, 3, 5])
def test_a_view_has_two_coordinates(n_columns):
    X = np.random.default_rng(0).normal(size=(20, n_columns))
    for given in (X, csr_array(X), pd.DataFrame(X)):
        view, labels = two_dimensional_view(given)
        assert np.shape(view) == (20, 2)
        assert len(labels) == 2


@pytest.mark.parametrize(("offset", "scale"), [(1e9, 1.0), (0.0, 1e170), (0.0, 1e-170)])
def test_a_view_keeps_its_digits_in_any_units(offset, scale):
    X = np.random.default_rng(0).integers(-99, 99, (200, 4)) * np.array([1, 2, 3, 4])
    expected, shares = two_dimensional_view(X)
    view, labels = two_dimensional_view(scale * X + offset)
    assert labels == shares
    np.testing.assert_allclose(view / scale, expected, atol=1e-6)


def test_the_largest_coordinate_of_a_view_is_positive():
    X = np.random.default_rng(0).normal(size=(20, 5))
    view, _ = two_dimensional_view(X)
    assert (view[np.abs(view).argmax(axis=0), [0, 1]] > 0).all()


def test_pairs_as_rows():
    pairs = Pairs(must=[("a", "c")], cannot=[("a", "absent"), ("b", "c")])
    for X, ids in (([[1.0]] * 3, "abc"), (pd.DataFrame([[1.0]] * 3, index=list("abc")), None)):
        must, cannot = pair_rows(pairs, X, ids)
        assert must.tolist() == [[0, 2]]
        assert cannot.tolist() == [[1, 2]]


def test_every_feature_is_a_pixel():
    assert check_shape((2, 3), 6) == (2, 3)
    with pytest.raises(ValueError, match="product is 6"):
        check_shape((2, 2), 6)
