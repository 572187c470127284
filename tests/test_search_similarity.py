"""The similarity search against literal evaluations of its formulas."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine

from linkselect.search import (
    all_pairs,
    compiled_pairs,
    draw_from_groups,
    draw_from_pairs,
    match_sigma,
    nearest_prototypes,
    pair_target,
    select_from_groups,
    select_from_pairs,
)

SIGMAS = [1.0, 0.3, 0.05, 3.0]


@pytest.fixture(params=["numpy", "numba"])
def way(request, monkeypatch):
    """Take one of the two ways to compare candidates, whatever the size."""
    if request.param == "numba":
        pytest.importorskip("numba")
        monkeypatch.setattr(compiled_pairs, "VALUES_WORTH_COMPILING", 0)
    return request.param


def literal_criterion(X, features, sigma, target, weight):
    """Eq. 33 and 36: the kernel of the subset from scratch, for all ordered pairs."""
    difference = X[:, None, features].astype(float) - X[None, :, features]
    kernel = np.exp(-(difference**2).sum(axis=2) / (2 * sigma**2))
    return (weight * (kernel - target) ** 2).sum()


def literal_search(X, sigma, target, weight, n_features):
    chosen, path = [], []
    remaining = list(range(X.shape[1]))
    while len(chosen) < n_features:
        values = [literal_criterion(X, [*chosen, r], sigma, target, weight) for r in remaining]
        if not chosen:
            scores = np.array(values)
        best = int(np.argmin(values))
        path.append(values[best])
        rest = [remaining[p] for p in np.argsort(values, kind="stable") if p != best]
        chosen.append(remaining.pop(best))
    return np.array(chosen + rest), np.array(path), scores


def matrices_from_groups(groups):
    known = groups >= 0
    return groups[:, None] == groups, known[:, None] & known


def matrices_from_pairs(n_samples, must, cannot):
    target = np.zeros((n_samples, n_samples))
    weight = np.zeros((n_samples, n_samples))
    for pairs, value in ((must, 1), (cannot, 0)):
        for i, j in pairs:
            target[i, j] = target[j, i] = value
            weight[i, j] = weight[j, i] = 1
    return target, weight


def pairs_of(groups):
    i, j = np.triu_indices(len(groups), 1)
    known = (groups[i] >= 0) & (groups[j] >= 0)
    pairs, same = np.column_stack([i, j])[known], (groups[i] == groups[j])[known]
    return pairs[same], pairs[~same]


def prototypes(labels, per_class, seed):
    generator = np.random.default_rng(seed)
    groups = np.full(len(labels), -1)
    for label in np.unique(labels):
        groups[generator.choice(np.flatnonzero(labels == label), per_class, replace=False)] = label
    return groups


def draw_all(groups, max_pairs, seed=0):
    return draw_from_groups(groups, max_pairs, np.random.default_rng(seed))


def scaled(X):
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)


@pytest.fixture
def load(load_data):
    def read(name):
        bundled = {"wine": load_wine, "wdbc": load_breast_cancer}
        X, y = bundled[name](return_X_y=True) if name in bundled else load_data(name)
        return scaled(X.astype(float)), y

    return read


def assert_same(found, expected):
    order, path, scores = expected
    assert_array_equal(found.order, order)
    assert_allclose(found.path, path, rtol=1e-11, atol=1e-11)
    assert_allclose(found.scores, scores, rtol=1e-11, atol=1e-11)


# -- the literal search ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_groups_equal_the_literal_search(seed, way):
    generator = np.random.default_rng(seed)
    n_samples, n_all = generator.integers(5, 40), generator.integers(2, 12)
    X = generator.random((n_samples, n_all)).astype([np.float64, np.float32][seed % 2])
    groups = generator.integers(-(seed % 3 == 0), 4, n_samples)
    sigma = SIGMAS[seed % 4]
    n_features = int(generator.integers(1, n_all + 1))
    expected = literal_search(X, sigma, *matrices_from_groups(groups), n_features)
    assert_same(select_from_groups(X, groups, sigma, n_features, n_jobs=1 + seed % 2), expected)


@pytest.mark.parametrize("seed", range(24))
def test_pairs_equal_the_literal_search(seed):
    generator = np.random.default_rng(seed)
    n_samples, n_all = generator.integers(5, 40), generator.integers(2, 12)
    X = generator.random((n_samples, n_all)).astype([np.float64, np.float32][seed % 2])
    must, cannot = pairs_of(generator.integers(0, 3, n_samples))
    must, cannot = must[:: 1 + seed % 3], cannot[:: 1 + seed % 4]
    sigma = SIGMAS[seed % 4]
    expected = literal_search(X, sigma, *matrices_from_pairs(n_samples, must, cannot), n_all)
    found = select_from_pairs(X, pair_target(must, cannot), sigma, n_jobs=1 + seed % 2)
    assert_same(found, expected)


@pytest.mark.parametrize("name", ["wine", "wdbc", "dermatology"])
@pytest.mark.parametrize("sigma", [1.0, 0.25])
def test_real_data_equal_the_literal_search(name, sigma, load, way):
    X, y = load(name)
    # A part of the samples keeps the literal search short; the block sizes are still exceeded.
    every = max(1, len(X) // 150)
    X, y = X[::every], y[::every]
    supervised = prototypes(y, 3, 0)
    groups = nearest_prototypes(X, supervised)
    for target in (groups, supervised):
        expected = literal_search(X, sigma, *matrices_from_groups(target), 5)
        assert_same(select_from_groups(X, target, sigma, 5), expected)
    expected = literal_search(X, sigma, *matrices_from_groups(supervised), 5)
    assert_same(select_from_pairs(X, pair_target(*pairs_of(supervised)), sigma, 5), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "wdbc", "dermatology"])
def test_whole_path_of_real_data(name, load, way):
    X, y = load(name)
    groups = nearest_prototypes(X, prototypes(y, 3, 1))
    found = select_from_groups(X, groups)
    assert_same(found, literal_search_by_update(X, groups, 1.0))
    # Pairs of all samples are another road to the same sums.
    by_pairs = select_from_pairs(X, pair_target(*pairs_of(groups)))
    assert_array_equal(by_pairs.order, found.order)
    assert_allclose(by_pairs.path, found.path, rtol=1e-12)


def literal_search_by_update(X, groups, sigma):
    """The straightforward search: one kernel multiplication per candidate."""
    target, kernel = groups[:, None] == groups, np.ones((len(X), len(X)))
    singles = [np.exp(-((f[:, None] - f) ** 2) / (2 * sigma**2)) for f in X.T]
    remaining, chosen, path, scores = list(range(X.shape[1])), [], [], None
    while remaining:
        values = [((kernel * singles[r] - target) ** 2).sum() for r in remaining]
        scores = np.array(values) if scores is None else scores
        chosen.append(remaining.pop(int(np.argmin(values))))
        kernel *= singles[chosen[-1]]
        path.append(min(values))
    return np.array(chosen), np.array(path), scores


# -- ties, offsets, bounds, threads ------------------------------------------------------------


def test_equal_features_go_by_index(way):
    generator = np.random.default_rng(0)
    base = generator.random((150, 4))
    # A copy and a mirror image have the same kernel; rounding must not decide between them.
    X = np.column_stack([base, base[:, ::-1], 1 - base])
    groups = generator.integers(0, 3, 150)
    for found in (
        select_from_groups(X, groups),
        select_from_pairs(X, pair_target(*pairs_of(groups))),
        select_from_groups(X, groups, n_features=1),
    ):
        first = found.order[0]
        equal = np.flatnonzero(np.isclose(found.scores, found.scores[first]))
        assert first == equal.min()
    position = np.argsort(select_from_groups(X, groups, n_features=1).order)
    assert (position[[0, 1, 2, 3]] < position[[7, 6, 5, 4]]).all()
    assert (position[[7, 6, 5, 4]] < position[[8, 9, 10, 11]]).all()


def test_vanished_kernel_goes_by_index(way):
    # With the first feature every kernel value is below 1e-100: no candidate changes a digit.
    generator = np.random.default_rng(3)
    X = np.column_stack([np.arange(60) * 30.0, generator.random((60, 9))])
    groups = np.arange(60) % 30
    for found in (
        select_from_groups(X, groups),
        select_from_pairs(X, pair_target(*pairs_of(groups))),
    ):
        after = np.flatnonzero(found.order == 0)[0]
        assert_array_equal(found.order[after + 1 :], np.sort(found.order[after + 1 :]))


def test_offset_and_constant_features(way):
    generator = np.random.default_rng(1)
    X = np.column_stack([generator.random((80, 5)), np.full(80, 7.0)])
    groups = generator.integers(0, 2, 80)
    exact = np.round(X * 2**20) / 2**20
    found = select_from_groups(exact, groups)
    shifted = select_from_groups(exact + 2.0**20, groups)
    assert_array_equal(found.order, shifted.order)
    assert_allclose(found.path, shifted.path, rtol=1e-12)
    assert found.scores[5] == pytest.approx((groups[:, None] != groups).sum())


def test_few_kernel_terms_change_nothing(load, monkeypatch):
    X, y = load("wine")
    expected = select_from_groups(X, y, 0.1)
    monkeypatch.setattr(all_pairs, "MAX_BYTES_FOR_TERMS", 0)
    found = select_from_groups(X, y, 0.1)
    assert_array_equal(found.order, expected.order)
    assert_allclose(found.scores, expected.scores, rtol=1e-12)


def test_threads_change_nothing(load, way):
    X, y = load("dermatology")
    one, two = (select_from_groups(X, y, n_jobs=n_jobs) for n_jobs in (1, 2))
    for first, second in zip(one, two, strict=True):
        assert_array_equal(first, second)
    target = draw_all(y, 5000)
    one, two = (select_from_pairs(X, target, n_jobs=n_jobs) for n_jobs in (1, 2))
    for first, second in zip(one, two, strict=True):
        assert_array_equal(first, second)


def test_the_compiled_loops_are_taken_where_they_pay(monkeypatch):
    pytest.importorskip("numba")
    generator = np.random.default_rng(0)
    X, groups = generator.random((30, 5)), np.sort(generator.integers(0, 3, 30))
    assert type(compiled_pairs.all_pairs(X, groups, 1.0, 1)) is all_pairs.AllPairs
    monkeypatch.setattr(compiled_pairs, "VALUES_WORTH_COMPILING", 0)
    compiled = compiled_pairs.CompiledPairs
    assert type(compiled_pairs.all_pairs(X, groups, 1.0, 1)) is compiled
    # Their polynomial does not reach so far.
    assert type(compiled_pairs.all_pairs(X, groups, 0.5, 1)) is all_pairs.AllPairs


@pytest.mark.parametrize("seed", range(8))
def test_compiled_sums_stay_within_their_error_bound(seed, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(compiled_pairs, "VALUES_WORTH_COMPILING", 0)
    generator = np.random.default_rng(seed)
    X = generator.random((400, 20)) ** (1 + seed % 3) + 10.0 ** (seed % 4)
    groups = np.sort(generator.integers(0, 3, 400))
    criterion = compiled_pairs.all_pairs(X, groups, [1.01, 3.0][seed % 2], 2)
    for feature in range(0, 8 * (seed % 3)):
        criterion.add(feature)
    rest = np.arange(16, 20)
    sigma = [1.01, 3.0][seed % 2]
    kept = np.arange(0, 8 * (seed % 3))
    must, cannot = criterion._must_parts(rest), criterion._cannot_parts(rest)
    for position, feature in enumerate(rest):
        columns = X[:, [*kept, feature]] / sigma
        kernel = np.exp(-((columns[:, None] - columns) ** 2).sum(axis=2) / 2)
        same = groups[:, None] == groups
        of_must, of_cannot = ((kernel - 1) ** 2)[same].sum(), (kernel**2)[~same].sum()
        assert abs(must[position] - of_must) <= criterion._must_slack(must)[position]
        allowed = compiled_pairs.CANNOT_ROUNDING * of_cannot
        assert abs(cannot[position] - of_cannot) <= allowed


def test_where_numba_cannot_be_imported_products_do_the_work(monkeypatch):
    generator = np.random.default_rng(5)
    X, groups = generator.random((60, 8)), generator.integers(0, 3, 60)
    expected = select_from_groups(X, groups)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(compiled_pairs, "VALUES_WORTH_COMPILING", 0)
    compiled_pairs.compiled_loops.cache_clear()
    try:
        found = select_from_groups(X, groups)
    finally:
        compiled_pairs.compiled_loops.cache_clear()
    assert_array_equal(found.order, expected.order)
    assert_array_equal(found.path, expected.path)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_minimum_is_never_missed(seed):
    generator = np.random.default_rng(seed)
    X, groups = generator.random((25, 12)), generator.integers(0, 3, 25)
    sigma = generator.choice([0.3, 1.0])
    whole = select_from_groups(X, groups, sigma)
    short = select_from_groups(X, groups, sigma, until_minimum=True)
    assert np.argmin(short.path) == np.argmin(whole.path)
    assert_array_equal(short.order[: len(short.path)], whole.order[: len(short.path)])
    assert sorted(short.order) == list(range(12))


def test_a_search_can_be_ended_early(load, way):
    X, y = load("wine")

    def three(steps):
        for step in steps:
            yield step
            if step == 2:
                return

    whole, short = select_from_groups(X, y), select_from_groups(X, y, track=three)
    assert_array_equal(short.path, whole.path[:3])
    assert_array_equal(short.order[:4], whole.order[:4])
    assert sorted(short.order) == list(range(13))


# -- prototypes and drawn pairs ----------------------------------------------------------------


def test_nearest_prototypes():
    X = np.array([[0.0], [1.0], [0.4], [0.5], [1.0]])
    # Sample 4 is a twin of 1 in another group; 3 is as near to 0 as to 1.
    assert_array_equal(nearest_prototypes(X, np.array([7, 3, -1, -1, 5])), [7, 3, 7, 7, 5])
    generator = np.random.default_rng(0)
    X = generator.random((300, 6)) + 1e8
    groups = np.where(generator.random(300) < 0.1, generator.integers(0, 4, 300), -1)
    chosen = np.flatnonzero(groups >= 0)
    literal = groups[chosen[((X[:, None] - X[chosen]) ** 2).sum(axis=2).argmin(axis=1)]]
    literal[chosen] = groups[chosen]
    assert_array_equal(nearest_prototypes(X, groups), literal)


def test_drawing_all_pairs_is_exact(load):
    X, y = load("wine")
    every = pair_target(*pairs_of(y))
    expected = select_from_pairs(X, every, 1.0, 5)
    drawn_from_pairs = draw_from_pairs(*pairs_of(y), 10**6, np.random.default_rng(0))
    for target in (draw_all(y, 10**6), drawn_from_pairs):
        assert len(target.first) == len(every.first)
        found = select_from_pairs(X, target, 1.0, 5)
        assert_allclose(found.path, expected.path)
        assert (found.standard_error == 0).all()


def test_drawn_pairs_are_distinct_and_right():
    groups = np.random.default_rng(0).integers(-1, 4, 90)
    target = draw_all(groups, 1000, seed=1)
    assert len(target.first) == 1000
    assert (groups[target.first] >= 0).all()
    assert (groups[target.second] >= 0).all()
    alike = groups[target.first] == groups[target.second]
    assert_array_equal(alike, np.arange(1000) < target.n_must)
    pairs = {frozenset(pair) for pair in zip(target.first, target.second, strict=True)}
    assert len(pairs) == 1000
    assert all(len(pair) == 2 for pair in pairs)
    must, cannot = pairs_of(groups)
    assert target.n_available == (len(must), len(cannot))


def test_the_drawn_criterion_is_unbiased_and_its_error_right(load):
    X, y = load("wine")
    exact = select_from_groups(X, y, 1.0, 1)
    best = X[:, exact.order[:1]]
    found = [select_from_pairs(best, draw_all(y, 500, seed), n_jobs=1) for seed in range(300)]
    estimates = np.array([one.path[0] for one in found])
    deviation = estimates.std()
    assert abs(estimates.mean() - exact.path[0]) < 4 * deviation / np.sqrt(300)
    assert np.mean([one.standard_error[0] for one in found]) == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize("name", ["wine", "wdbc", "dermatology"])
def test_the_drawn_choice_is_nearly_as_good(name, load):
    X, y = load(name)
    groups = nearest_prototypes(X, prototypes(y, 3, 0))
    exact = select_from_groups(X, groups, 1.0, 8)
    for seed in range(3):
        drawn = select_from_pairs(X, draw_all(groups, 4000, seed), 1.0, 8)
        reached = literal_criterion(X, drawn.order[:8], 1.0, *matrices_from_groups(groups))
        assert reached <= 1.02 * exact.path[-1]


# -- a width that matches the target -----------------------------------------------------------


def test_matched_sigma(load):
    X, y = load("wine")
    target = pair_target(*pairs_of(y))
    sigma = match_sigma(X, target)
    assert sigma == match_sigma(X, target)
    assert match_sigma(10 * X + 3, target) == pytest.approx(10 * sigma, rel=1e-4)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    other = y[:, None] != y

    def mismatch(width):
        kernel = np.exp(-squared / (2 * width**2))
        return ((1 - kernel[same]) ** 2).mean() + (kernel[other] ** 2).mean()

    widths = np.geomspace(sigma / 30, sigma * 30, 400)
    assert mismatch(sigma) <= min(map(mismatch, widths)) * (1 + 1e-9)
    assert match_sigma(X, draw_all(y, 10**6)) == pytest.approx(sigma)


def test_any_sigma_matches_twins():
    target = pair_target(np.array([[0, 1]]), np.array([[0, 2]]))
    assert match_sigma(np.ones((3, 2)), target) == 1.0
