"""Stability indices, by hand and as the mean over pairs of runs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkselect.selectors._stability import kuncheva_index, nogueira_index


def test_kuncheva_by_hand():
    # k = 2 of d = 5: one in common gives (5 - 4) / 6, none gives -4 / 6.
    three = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=bool)
    assert kuncheva_index(three[:2]) == pytest.approx(1 / 6)
    assert kuncheva_index(three[[0, 2]]) == pytest.approx(-4 / 6)
    assert kuncheva_index(three) == pytest.approx((1 / 6 - 4 / 6 + 1 / 6) / 3)


def test_nogueira_by_hand():
    # Frequencies 1, 1/2, 0, 0: s^2 = 2 * 1/4 for the second, mean 1/8; k/d = 3/8.
    selected = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    assert nogueira_index(selected) == pytest.approx(1 - (1 / 8) / (3 / 8 * 5 / 8))


@given(st.integers(2, 8), st.integers(2, 12), st.integers(0, 2**20))
def test_with_equal_sizes_both_are_the_mean_over_pairs_of_runs(n_runs, n_features, seed):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, n_features)
    selected = np.zeros((n_runs, n_features), dtype=bool)
    for run in selected:
        run[rng.choice(n_features, size, replace=False)] = True
    expected = np.mean(
        [
            ((a & b).sum() * n_features - size**2) / (size * (n_features - size))
            for a, b in combinations(selected, 2)
        ]
    )
    assert kuncheva_index(selected) == pytest.approx(expected, abs=1e-12)
    assert nogueira_index(selected) == pytest.approx(expected, abs=1e-12)


def test_identical_selections_have_stability_1_and_undefined_is_nan():
    assert nogueira_index(np.tile([True, False, False], (4, 1))) == 1
    for selected in (np.ones((3, 4), bool), np.zeros((3, 4), bool), np.eye(1, 4, dtype=bool)):
        assert np.isnan(kuncheva_index(selected))
        assert np.isnan(nogueira_index(selected))
    assert np.isnan(kuncheva_index(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)))
