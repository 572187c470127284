"""The compiled screen of candidates: when it is used, and how accurate it is."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from linkselect._compiled import similarity_sums
from linkselect._search import all_pairs, screening
from linkselect._search.similarity import select_by_similarity


def test_compiled_loops_are_used_for_large_problems_only(compile_from):
    pytest.importorskip("numba")
    generator = np.random.default_rng(0)
    X, groups = generator.random((30, 5)), np.sort(generator.integers(0, 3, 30))
    assert all_pairs.AllPairs(X, groups, 1.0, 1).screen is None
    compile_from(True)
    assert all_pairs.AllPairs(X, groups, 1.0, 1).screen is not None
    # The polynomial is not valid for such a wide range.
    assert all_pairs.AllPairs(X, groups, 0.5, 1).screen is None
    # The relevant range is that of a feature, not that of a sample.
    wide, apart = np.linspace(0, 9, 30)[:, None] * np.ones(5), X + 9.0 * np.arange(5)
    assert all_pairs.AllPairs(wide, groups, 1.0, 1).screen is None
    assert all_pairs.AllPairs(apart, groups, 1.0, 1).screen is not None


@pytest.mark.parametrize(("sum_alike", "pairs"), [(10.0, 20.0), (40.0, 50.0)])
def test_the_error_bound_of_must_links_is_as_documented(sum_alike, pairs):
    """It uses half the number of pairs or twice the sum of their kernels, whichever is less."""
    screen = SimpleNamespace(n_alike=100.0, similarity=np.ones((3, 3)))
    found = screening.Screen.must_slack(screen, np.array([0.0, 5.0]), sum_alike)
    expected = screening.KERNEL_ROUNDING * pairs + 2 * screening.TINY * 9
    assert_allclose(found - screening.MUST_ROUNDING * np.array([0.0, 5.0]), expected)
    # Without other terms, only the kernel values set to 0 contribute.
    found = screening.Screen.must_slack(screen, np.zeros(2), 0.0)
    assert_array_equal(found, [18 * screening.TINY, 18 * screening.TINY])


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.5]), st.sampled_from([0.0, 3.0]))
def test_the_screen_keeps_all_that_can_be_best_and_no_others(seed, rounding, slack):
    """Random sums, with bounds large enough to matter."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    must, cannot = rng.integers(0, 20, n) / 1.0, rng.integers(0, rng.choice([1, 20]), n) / 1.0
    screen = screening.Screen.__new__(screening.Screen)
    screen.must_parts = lambda features: must[features]
    screen.cannot_parts = lambda features: cannot[features]
    screen.must_slack = lambda values, sum_alike: np.full(len(values), slack)
    before = np.minimum(cannot, rng.integers(0, 20, n))
    screen.cannot_lower = before.copy()
    candidates = rng.permutation(n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening, "CANNOT_ROUNDING", rounding)
        found = screen.not_ruled_out(candidates, 0.0)
    least = (must + slack + (1 + rounding) * cannot).min()
    can_be_best = must - slack + (1 - rounding) * cannot <= least
    # Candidates whose cannot-links were not evaluated are excluded by the previous bound.
    assert set(np.flatnonzero(can_be_best)) - set(found) <= set(
        np.flatnonzero(must - slack + before > least)
    )
    assert set(found) <= set(np.flatnonzero(can_be_best))
    # Evaluated candidates have a new bound, all others the previous one.
    is_new = screen.cannot_lower == (1 - rounding) * cannot
    assert (is_new | (screen.cannot_lower == before)).all()
    assert is_new[found].all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("always_compiled")
def test_compiled_sums_stay_within_their_error_bound(seed):
    generator = np.random.default_rng(seed)
    X = generator.random((400, 20)) ** (1 + seed % 3) + 10.0 ** (seed % 4)
    groups = np.sort(generator.integers(0, 3, 400))
    criterion = all_pairs.AllPairs(X, groups, [1.01, 3.0][seed % 2], 2)
    for feature in range(8 * (seed % 3)):
        criterion.add(feature)
    rest = np.arange(16, 20)
    sigma = [1.01, 3.0][seed % 2]
    kept = np.arange(0, 8 * (seed % 3))
    screen = criterion.screen
    must, cannot = screen.must_parts(rest), screen.cannot_parts(rest)
    slack = screen.must_slack(must, criterion.sum_alike)
    for position, feature in enumerate(rest):
        columns = X[:, [*kept, feature]] / sigma
        kernel = np.exp(-((columns[:, None] - columns) ** 2).sum(axis=2) / 2)
        same = groups[:, None] == groups
        of_must, of_cannot = ((kernel - 1) ** 2)[same].sum(), (kernel**2)[~same].sum()
        assert abs(must[position] - of_must) <= slack[position]
        allowed = similarity_sums.CANNOT_ROUNDING * of_cannot
        assert abs(cannot[position] - of_cannot) <= allowed


@pytest.mark.usefixtures("always_compiled")
def test_compiled_sums_of_a_kernel_that_underflows():
    generator = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 12)
    # Each feature separates the halves of each group by 1; after 80, no similarity remains.
    X = np.column_stack([np.tile((np.arange(36) % 12 < 6)[:, None], 80), generator.random((36, 3))])
    criterion = all_pairs.AllPairs(X * 1.0, groups, 1.0, 1)
    for feature in range(80):
        criterion.add(feature)
    rest = np.array([80, 81, 82])
    must, cannot = criterion.screen.must_parts(rest), criterion.screen.cannot_parts(rest)
    same = groups[:, None] == groups
    for position, feature in enumerate(rest):
        columns = X[:, [*range(80), feature]] * 1.0
        kernel = np.exp(-((columns[:, None] - columns) ** 2).sum(axis=2) / 2)
        slack = criterion.screen.must_slack(must, criterion.sum_alike)[position]
        assert abs(must[position] - ((kernel - 1) ** 2)[same].sum()) <= slack
        of_cannot = (kernel**2)[~same].sum()
        assert abs(cannot[position] - of_cannot) <= similarity_sums.CANNOT_ROUNDING * of_cannot


def test_without_numba_products_give_the_same(request):
    generator = np.random.default_rng(5)
    X, groups = generator.random((60, 8)), generator.integers(0, 3, 60)
    expected = select_by_similarity(X, groups)
    request.getfixturevalue("without_numba")
    found = select_by_similarity(X, groups)
    assert_array_equal(found.order, expected.order)
    assert_array_equal(found.path, expected.path)
