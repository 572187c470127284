"""The similarity search compared with direct evaluations of its formulas."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from linkselect._samples.devices import device_of
from linkselect._search import all_pairs, listed_pairs, screening
from linkselect._search.criterion import form_rounding
from linkselect._search.device_similarity import AllPairsOnDevice
from linkselect._search.similarity import select_by_similarity
from linkselect._search.targets import draw_from_groups, nearest_prototypes, pair_target
from tests.helpers import literal
from tests.helpers.fitting import ended_after
from tests.helpers.problems import pairs_of, prototypes

SIGMAS = [1.0, 0.3, 0.05, 3.0]


@pytest.fixture(params=["numpy", "numba"])
def way(request, compile_from):
    """Force one of the two ways to compare candidates, whatever the problem size."""
    if request.param == "numba":
        pytest.importorskip("numba")
    compile_from(request.param == "numba")
    return request.param


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
    expected = literal.similarity_search(X, sigma, *literal.target_of_groups(groups), n_features)
    assert_same(select_by_similarity(X, groups, sigma, n_features, n_jobs=1 + seed % 2), expected)


@pytest.mark.parametrize("seed", range(24))
def test_pairs_equal_the_literal_search(seed):
    generator = np.random.default_rng(seed)
    n_samples, n_all = generator.integers(5, 40), generator.integers(2, 12)
    X = generator.random((n_samples, n_all)).astype([np.float64, np.float32][seed % 2])
    must, cannot = pairs_of(generator.integers(0, 3, n_samples))
    must, cannot = must[:: 1 + seed % 3], cannot[:: 1 + seed % 4]
    sigma = SIGMAS[seed % 4]
    target = literal.target_of_pairs(n_samples, must, cannot)
    expected = literal.similarity_search(X, sigma, *target, n_all)
    found = select_by_similarity(X, pair_target(must, cannot), sigma, n_jobs=1 + seed % 2)
    assert_same(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "wdbc", "dermatology"])
@pytest.mark.parametrize("sigma", [1.0, 0.25])
def test_real_data_equal_the_literal_search(name, sigma, load_scaled, way):
    X, y = load_scaled(name)
    # A subset of the samples keeps the direct search short but exceeds the block sizes.
    every = max(1, len(X) // 150)
    X, y = X[::every], y[::every]
    supervised = prototypes(y, 3, 0)
    groups = nearest_prototypes(X, supervised)
    for target in (groups, supervised):
        expected = literal.similarity_search(X, sigma, *literal.target_of_groups(target), 5)
        assert_same(select_by_similarity(X, target, sigma, 5), expected)
    expected = literal.similarity_search(X, sigma, *literal.target_of_groups(supervised), 5)
    assert_same(select_by_similarity(X, pair_target(*pairs_of(supervised)), sigma, 5), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "wdbc", "dermatology"])
def test_whole_path_of_real_data(name, load_scaled, way):
    X, y = load_scaled(name)
    groups = nearest_prototypes(X, prototypes(y, 3, 1))
    found = select_by_similarity(X, groups)
    assert_same(found, literal_search_by_update(X, groups, 1.0))
    # Listing all pairs must give the same sums.
    by_pairs = select_by_similarity(X, pair_target(*pairs_of(groups)))
    assert_array_equal(by_pairs.order, found.order)
    assert_allclose(by_pairs.path, found.path, rtol=1e-12)


def literal_search_by_update(X, groups, sigma):
    """Search by brute force, with one kernel product per candidate."""
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


def test_equal_features_are_ordered_by_index(way):
    generator = np.random.default_rng(0)
    base = generator.random((150, 4))
    # A copy and a mirror image have the same kernel; rounding must not break the tie.
    X = np.column_stack([base, base[:, ::-1], 1 - base])
    groups = generator.integers(0, 3, 150)
    for found in (
        select_by_similarity(X, groups),
        select_by_similarity(X, pair_target(*pairs_of(groups))),
        select_by_similarity(X, groups, n_features=1),
    ):
        first = found.order[0]
        equal = np.flatnonzero(np.isclose(found.scores, found.scores[first]))
        assert first == equal.min()
    position = np.argsort(select_by_similarity(X, groups, n_features=1).order)
    assert (position[[0, 1, 2, 3]] < position[[7, 6, 5, 4]]).all()
    assert (position[[7, 6, 5, 4]] < position[[8, 9, 10, 11]]).all()


def test_features_are_ordered_by_index_if_the_kernel_underflows(way):
    # With the first feature, all kernel values are below 1e-100, so no candidate changes a digit.
    generator = np.random.default_rng(3)
    X = np.column_stack([np.arange(60) * 30.0, generator.random((60, 9))])
    groups = np.arange(60) % 30
    for found in (
        select_by_similarity(X, groups),
        select_by_similarity(X, pair_target(*pairs_of(groups))),
    ):
        after = np.flatnonzero(found.order == 0)[0]
        assert_array_equal(found.order[after + 1 :], np.sort(found.order[after + 1 :]))


def test_without_pairs_features_keep_their_order():
    X, none = np.random.default_rng(0).random((6, 4)), np.empty((0, 2), dtype=np.intp)
    found = select_by_similarity(X, pair_target(none, none), 1.0, 3)
    assert_array_equal(found.order, np.arange(4))
    assert_array_equal(found.path, np.zeros(3))


def test_offset_and_constant_features(way):
    generator = np.random.default_rng(1)
    X = np.column_stack([generator.random((80, 5)), np.full(80, 7.0)])
    groups = generator.integers(0, 2, 80)
    exact = np.round(X * 2**20) / 2**20
    found = select_by_similarity(exact, groups)
    shifted = select_by_similarity(exact + 2.0**20, groups)
    assert_array_equal(found.order, shifted.order)
    assert_allclose(found.path, shifted.path, rtol=1e-12)
    assert found.scores[5] == pytest.approx((groups[:, None] != groups).sum())


@pytest.mark.parametrize("seed", range(4))
def test_pairs_in_small_blocks_equal_the_literal_search(seed, shrink):
    # Evaluation in blocks of 8 candidates, the most promising first, stops before candidates that
    # cannot be better. After one of 12 near copies is selected, the others seem most promising but
    # help least.
    shrink()
    generator = np.random.default_rng(seed)
    groups = np.arange(15) % 3
    copies = (groups == 0)[:, None] + 0.05 * generator.random((15, 12))
    others = (groups == 1)[:, None] + np.linspace(0.1, 2.0, 20) * generator.random((15, 20))
    X = np.column_stack([copies, others])
    must, cannot = pairs_of(groups)
    none = np.empty((0, 2), dtype=np.intp)
    for links in ((must, cannot), (must, none), (none, cannot)):
        expected = literal.similarity_search(X, 0.7, *literal.target_of_pairs(15, *links), 6)
        assert_same(select_by_similarity(X, pair_target(*links), 0.7, 6), expected)


def test_a_block_with_worse_bounds_may_contain_the_best(shrink):
    # With must-links alone, every feature increases the criterion. After the first sample has been
    # separated from all others, a feature that moves only this sample does least harm.
    shrink()
    X = np.zeros((10, 13))
    X[0, 0], X[0, 12] = 2.0, 5.0
    X[1, 1:12] = np.linspace(2.01, 2.11, 11)
    must, none = pairs_of(np.zeros(10, dtype=int))[0], np.empty((0, 2), dtype=np.intp)
    expected = literal.similarity_search(X, 1.0, *literal.target_of_pairs(10, must, none), 3)
    assert_array_equal(expected[0][:2], [0, 12])
    assert_same(select_by_similarity(X, pair_target(must, none), 1.0, 3), expected)


@pytest.mark.parametrize("n_chosen", [0, 1, 3])
def test_no_candidate_exceeds_the_bound_on_changes(n_chosen):
    generator = np.random.default_rng(n_chosen)
    # The last feature separates all samples, so its change is the largest possible.
    X = np.column_stack([generator.random((30, 5)), 1e3 * np.arange(30)])
    groups = np.sort(generator.integers(0, 3, 30))
    must, cannot = pairs_of(groups)
    none = np.empty((0, 2), dtype=np.intp)
    for criterion in (
        all_pairs.AllPairs(X, groups, 0.5, 1),
        listed_pairs.ListedPairs(X, pair_target(must, cannot), 0.5, 1),
        listed_pairs.ListedPairs(X, pair_target(must, none), 0.5, 1),
        listed_pairs.ListedPairs(X, pair_target(none, cannot), 0.5, 1),
    ):
        for feature in range(n_chosen):
            criterion.add(feature)
        changes = criterion.values(np.arange(n_chosen, 6)) - criterion.criterion()
        assert np.abs(changes).max() <= criterion.magnitude() * (1 + 1e-12)
        if n_chosen == 0:
            assert np.abs(changes).max() > 0.1 * criterion.magnitude()


def changes_by_definition(X, chosen, rest, sigma, target):
    """Return the change of the criterion by each candidate, computed from the definition."""
    before = literal.similarity_criterion(X, chosen, sigma, *target)
    values = [literal.similarity_criterion(X, [*chosen, r], sigma, *target) for r in rest]
    return np.array(values) - before


@pytest.mark.parametrize("sigma", [1.2, 0.4, 0.06])
def test_candidates_lie_between_their_bounds_at_every_step(sigma, way, shrink):
    """The bounds suffice: almost no candidate is evaluated pair by pair."""
    shrink()
    generator = np.random.default_rng(int(100 * sigma))
    X, groups = generator.random((45, 14)), np.sort(generator.integers(0, 3, 45))
    X[:, :4] = (X[:, :4] + groups[:, None]) / 3
    criterion = all_pairs.AllPairs(X, groups, sigma, 1)
    direct, summed = criterion._direct_change, []
    criterion._direct_change = lambda feature: summed.append(feature) or direct(feature)
    target, chosen = literal.target_of_groups(groups), []
    for _ in range(6):
        rest = np.setdiff1d(np.arange(14), chosen)
        exact = changes_by_definition(X, chosen, rest, sigma, target)
        allowed = 1e-12 * (criterion.magnitude() + criterion.criterion())
        assert (criterion.lower[rest] <= exact + allowed).all()
        best = criterion.best(rest)
        assert best == rest[exact.argmin()]
        assert (criterion.lower[rest] <= exact + allowed).all()
        assert (criterion.upper[rest] >= exact - allowed).all()
        seen = np.isfinite(criterion.upper[rest])
        above = criterion.upper[rest][seen] - exact[seen]
        assert (above <= 1e-10 * criterion.magnitude() + criterion._truncation(rest[seen])).all()
        if criterion.screen is not None:
            alike = groups[:, None] == groups
            for feature in rest:
                kernel = literal.gauss(X[:, [*chosen, feature]], sigma)
                exact_part = (kernel[~alike] ** 2).sum()
                assert criterion.screen.cannot_lower[feature] <= exact_part * (1 + 1e-12)
        criterion.add(best)
        chosen.append(best)
    assert len(summed) <= (0 if criterion.screen is None else 6 * screening.FEW)


def test_listed_candidates_lie_above_their_bounds_at_every_step(shrink):
    """Most of the less promising candidates are not evaluated."""
    shrink()
    generator = np.random.default_rng(5)
    groups = np.arange(15) % 3
    # The last 30 features separate samples of the same group.
    X = np.repeat([0.3, 9.0], [10, 30]) * generator.random((15, 40)) + 0.3 * (groups == 1)[:, None]
    links = pairs_of(groups)
    criterion = listed_pairs.ListedPairs(X, pair_target(*links), 0.7, 1)
    changes, looked_at = criterion._changes, []
    criterion._changes = lambda features: looked_at.extend(features) or changes(features)
    target, chosen = literal.target_of_pairs(15, *links), []
    for _ in range(8):
        rest = np.setdiff1d(np.arange(40), chosen)
        exact = changes_by_definition(X, chosen, rest, 0.7, target)
        assert (criterion.lower[rest] <= exact + 1e-12 * criterion.magnitude()).all()
        best = criterion.best(rest)
        assert best == rest[exact.argmin()]
        assert (criterion.lower[rest] <= exact).all()
        criterion.add(best)
        chosen.append(best)
    # All are evaluated at the first step, then hardly more than the first 10 and one block.
    assert len(looked_at) <= 40 + 7 * 16


def test_the_rounding_bound_of_forms_is_as_documented():
    generator = np.random.default_rng(0)
    X, groups = generator.random((30, 5)), np.sort(generator.integers(0, 3, 30))
    criterion = all_pairs.AllPairs(X, groups, 0.5, 1)
    criterion.add(0)
    kernel = literal.gauss(X[:, :1], 0.5)
    size = (kernel**2).sum() + 2 * kernel[groups[:, None] == groups].sum()
    share = form_rounding(30, criterion.n_terms)
    assert criterion.rounding() - criterion.tie() == pytest.approx(share * size, rel=1e-6)
    assert form_rounding(10**6, 64) == (5 * 10**6 + 8 * 64**2 + 2048) * 2.0**-53
    assert form_rounding(30, 2) == 1e-12


def test_the_memory_of_all_pairs_is_as_stated():
    X = np.random.default_rng(0).random((700, 3))
    groups = np.sort(np.arange(700) % 5)
    tracemalloc.start()
    criterion = all_pairs.AllPairs(X, groups, 1.0, 1)
    criterion.best(np.arange(3))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 * all_pairs.memory_needed(700) < kept < all_pairs.memory_needed(700)
    assert peak < 1.5 * all_pairs.memory_needed(700)


def test_few_kernel_terms_change_nothing(load_scaled, sizes):
    X, y = load_scaled("wine")
    expected = select_by_similarity(X, y, 0.1)
    sizes(MAX_BYTES_FOR_TERMS=0)
    found = select_by_similarity(X, y, 0.1)
    assert_array_equal(found.order, expected.order)
    assert_allclose(found.scores, expected.scores, rtol=1e-12)


@pytest.mark.slow
def test_threads_change_nothing(load_scaled, way):
    X, y = load_scaled("dermatology")
    one, two = (select_by_similarity(X, y, n_jobs=n_jobs) for n_jobs in (1, 2))
    for first, second in zip(one, two, strict=True):
        assert_array_equal(first, second)
    target = draw_from_groups(y, 5000, np.random.default_rng(0))
    one, two = (select_by_similarity(X, target, n_jobs=n_jobs) for n_jobs in (1, 2))
    for first, second in zip(one, two, strict=True):
        assert_array_equal(first, second)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_minimum_is_never_missed(seed):
    generator = np.random.default_rng(seed)
    X, groups = generator.random((25, 12)), generator.integers(0, 3, 25)
    sigma = generator.choice([0.3, 1.0])
    whole = select_by_similarity(X, groups, sigma)
    short = select_by_similarity(X, groups, sigma, until_minimum=True)
    assert np.argmin(short.path) == np.argmin(whole.path)
    assert_array_equal(short.order[: len(short.path)], whole.order[: len(short.path)])
    assert sorted(short.order) == list(range(12))


def test_a_search_for_the_minimum_stops_early():
    """With must-links alone, the first feature is the minimum: only one more step is taken."""
    generator = np.random.default_rng(0)
    X, none = generator.random((12, 6)), np.empty((0, 2), dtype=np.intp)
    must, cannot = pairs_of(np.arange(12) % 2)
    found = select_by_similarity(X, pair_target(must, none), until_minimum=True)
    assert len(found.path) == 2
    # With cannot-links alone, the criterion decreases until the end.
    assert len(select_by_similarity(X, pair_target(none, cannot), until_minimum=True).path) == 6
    assert len(select_by_similarity(X, pair_target(must, none), until_minimum=False).path) == 6


@pytest.mark.parametrize("there", [False, True])
def test_rounding_does_not_decide_the_order(there):
    """Rounding may make the smallest value too small and the true minimum too large."""
    generator = np.random.default_rng(2)
    X, groups = generator.random((20, 8)), np.arange(20) // 10
    if there:
        strict = pytest.importorskip("array_api_strict").asarray(X)
        criterion = AllPairsOnDevice(device_of(strict), strict, groups, 0.5)
    else:
        criterion = all_pairs.AllPairs(X, groups, 0.5, 1)
    exact = criterion.values(np.arange(8))
    best, second = np.argsort(exact)[:2]
    gap = exact[second] - exact[best]
    criterion.rounding = lambda: 1.5 * gap
    values = exact.copy()
    values[best] += 1.4 * gap
    values[second] -= 1.4 * gap
    assert values.argmin() == second
    assert criterion.best(np.arange(8), values) == best


@pytest.mark.parametrize("unit", [1e-14, 1.0, 1e9])
def test_units_change_nothing_on_a_device(unit):
    generator = np.random.default_rng(3)
    X, groups = generator.random((20, 8)), np.arange(20) % 3
    strict = pytest.importorskip("array_api_strict").asarray
    must, cannot = pairs_of(groups)
    with config_context(array_api_dispatch=True):
        for target in (groups, pair_target(must, cannot)):
            expected = select_by_similarity(X, target, 0.5)
            found = select_by_similarity(strict(unit * X), target, 0.5 * unit)
            assert_array_equal(found.order, expected.order)
            assert_allclose(found.path, expected.path, rtol=1e-11)


def test_a_search_can_be_interrupted(load_scaled, way):
    X, y = load_scaled("wine")
    whole, short = select_by_similarity(X, y), select_by_similarity(X, y, track=ended_after(3))
    assert_array_equal(short.path, whole.path[:3])
    assert_array_equal(short.order[:4], whole.order[:4])
    assert sorted(short.order) == list(range(13))
