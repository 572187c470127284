"""Rounding bounds of the fast paths: searches for violations, and near ties.

`docs/bounds.md` derives the bounds. Where possible, a search must reach at least a quarter of a
bound on any machine, so a bound that is four times too small fails here.
"""

import importlib
from fractions import Fraction
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from linkselect import graphs
from linkselect._compiled import similarity_sums as compiled
from linkselect._samples import as_samples, device_neighbors, distances, neighbors
from linkselect._samples.devices import device_of, product_rounding, to_numpy
from linkselect._search import (
    all_pairs,
    criterion,
    device_similarity,
    discretize,
    information,
    kernel_terms,
    listed_pairs,
    screening,
    ties,
    trace_ratio,
)
from linkselect._search.similarity import select_by_similarity
from linkselect._search.targets import draw_from_pairs
from linkselect.graphs import _distance_graphs as distance_graphs
from linkselect.scores import _relief as relief
from tests.helpers import literal
from tests.helpers.bound_attacks import (
    ATTACKS,
    U32,
    climb,
    nudge,
    opposite_drifting,
    share_of_distance_error,
)


@pytest.mark.parametrize("name", ATTACKS)
def test_no_search_finds_a_violation(name):
    attack = ATTACKS[name]
    if attack.needs_numba:
        pytest.importorskip("numba")
    assert attack.expected <= attack.search(np.random.default_rng(0), 6) <= 1


def test_distances_in_float64_stay_far_below_their_bound():
    """The bound also covers the rounding of norms and differences."""

    def share(X):
        return share_of_distance_error(X, np.float64)

    found = climb(share, opposite_drifting(128), nudge, np.random.default_rng(2), 40)
    assert found <= 0.25


# -- neighbours ---------------------------------------------------------------------------------


def exact_neighbors(X, k):
    """Return the k nearest rows of every row by exact sums; ties in float64 go by row number."""
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    near = []
    for i, own in enumerate(rows):
        away = [
            (float(sum((a - b) ** 2 for a, b in zip(own, other, strict=True))), j)
            for j, other in enumerate(rows)
            if j != i
        ]
        near.append([j for _, j in sorted(away)[:k]])
    return np.array(near)


def found_neighbors(X, k, **options):
    return graphs.nearest(X, k, **options)[1].reshape(-1, k)


def near_ties(n_features):
    """Make rows for which products give the wrong order.

    Row 2 is nearer to row 0 than row 1. But if products are summed from left to right, each step
    rounds the sum with row 1 up and the sum with row 2 down.
    """
    tail = np.sqrt(U32) * np.array([1.0, 1 + 2.0**-9, 1 - 2.0**-10])
    rows = np.repeat(tail, n_features).reshape(3, n_features)
    rows[:, 0] = 1.0
    return np.vstack([rows, -rows])


@pytest.fixture
def from_left_to_right(monkeypatch):
    """Sum products from left to right, which the bounds allow."""

    def in_order(self, queries, pool):
        left, right = self.rows[queries], pool.rows
        terms = left[:, None, :] * right[None]
        total = np.add.accumulate(terms, axis=2, dtype=left.dtype)[:, :, -1]
        return -2 * total + pool.norms.astype(left.dtype)

    monkeypatch.setattr(neighbors.Products, "distances", in_order)


@pytest.mark.parametrize("n_features", [2, 17, 384, 1024])
@pytest.mark.parametrize("share", [1, 0.25])
def test_a_near_tie_that_products_decide_wrongly(
    n_features, share, from_left_to_right, monkeypatch
):
    """A quarter of the bound does not suffice."""
    X = near_ties(n_features)
    expected = [2, 0, 0, 5, 3, 3]
    monkeypatch.setattr(
        distances, "product_errors", lambda *args: share * neighbors.product_errors(*args)
    )
    found = found_neighbors(X, 1).ravel()
    among = found_neighbors(X, 1, queries=np.array([0]), pool=np.array([1, 2]))
    if share == 1 or n_features == 2:  # with two columns, rounding is small
        assert_array_equal(found, expected)
        assert among == 2
    else:
        assert found[0] == among == 1


@pytest.mark.parametrize("n_features", [1, 2, 16, 100, 384, 1024, 1025, 10_000])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_near_ties_with_any_number_of_features(n_features, store):
    X = near_ties(n_features)
    # More rows, all far away, so that large products are also tested.
    far = np.zeros((30, n_features))
    far[:, 0] = np.arange(2, 32) * np.where(np.arange(30) % 2, 1, -1)
    everything = np.vstack([X, far])
    for rows in (X, everything):
        found = found_neighbors(store(rows), 1)[: len(X)].ravel()
        # A single column contains only 1 and -1.
        assert_array_equal(found, [2, 0, 0, 5, 3, 3] if n_features > 1 else [1, 0, 0, 4, 3, 3])


ODD = {
    "integers around 2^24": lambda rng: (2**24 + rng.integers(-3, 4, (40, 3))).astype(np.int32),
    "integers around 2^52": lambda rng: 2**52 + rng.integers(-3, 4, (40, 3)),
    "opposite ends of int8": lambda rng: rng.choice(
        np.array([-128, -127, 126, 127], np.int8), (40, 3)
    ),
    "uint64": lambda rng: rng.integers(0, 4, (40, 3)).astype(np.uint64),
    "bool": lambda rng: rng.integers(0, 2, (40, 5)).astype(bool),
    "float16": lambda rng: (60_000 + 32 * rng.integers(0, 8, (40, 3))).astype(np.float16),
    "float32, one unit apart": lambda rng: (1 + 2.0**-23 * rng.integers(0, 6, (40, 4))).astype(
        np.float32
    ),
    "equal in float32": lambda rng: 1 + 2.0**-45 * rng.integers(0, 6, (40, 3)),
    "one unit apart beside 1e8": lambda rng: 1e8 + 2.0**-26 * rng.integers(0, 6, (40, 3)),
    "float32 beside 1e8": lambda rng: (1e8 + 8 * rng.integers(0, 6, (40, 3))).astype(np.float32),
    "a dominating coordinate": lambda rng: (
        rng.integers(0, 4, (40, 4)) + [0, 0, 1e7, 0] * rng.integers(0, 2, (40, 1))
    ),
    "twins": lambda rng: np.repeat(rng.normal(size=(8, 3)).round(3), 5, axis=0),
    "equal columns": lambda rng: np.repeat(rng.integers(0, 9, (40, 1)), 6, axis=1) * 1.0,
    "an isolated sample": lambda rng: np.vstack(
        [2.0**-20 * rng.integers(0, 6, (39, 3)), np.full((1, 3), 2.0**20)]
    ),
    "two isolated samples": lambda rng: np.vstack(
        [rng.integers(0, 6, (38, 3)), np.full((1, 3), 2.0**90), np.full((1, 3), -(2.0**90))]
    ),
    "subnormal in float32": lambda rng: np.vstack(
        [2.0**-140 * rng.integers(0, 6, (38, 3)), np.full((1, 3), 1.0), np.full((1, 3), -1.0)]
    ),
    "alternating signs": lambda rng: (
        np.where(np.arange(40) % 2, 1, -1)[:, None] * (1 + 2.0**-22 * rng.integers(0, 6, (40, 4)))
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_near_ties_of_odd_data(kind):
    X = ODD[kind](np.random.default_rng(0))
    expected = exact_neighbors(X, 3)
    queries, pool = np.arange(0, 40, 3), np.arange(1, 40, 2)
    some = exact_among(X, queries, pool, 2)
    for store in (np.asarray, np.asfortranarray, sparse.csr_array):
        if store is sparse.csr_array and X.dtype == np.float16:
            continue
        stored = store(X)
        assert_array_equal(found_neighbors(stored, 3), expected)
        assert_array_equal(found_neighbors(stored, 2, queries=queries, pool=pool), some)


def exact_among(X, queries, pool, k):
    near = exact_neighbors(X, len(X) - 1)
    among = set(pool.tolist())
    return np.array([[j for j in near[i].tolist() if j in among][:k] for i in queries.tolist()])


@pytest.mark.parametrize("kind", ODD)
def test_widths_and_balls_of_odd_data(kind):
    """The median distance, and samples exactly on the surface of a ball."""
    X = ODD[kind](np.random.default_rng(1))
    wide = X.astype(np.float64)
    left, right = np.triu_indices(len(X), 1)
    away = ((wide[left] - wide[right]) ** 2).sum(axis=1)
    assert as_samples(X).median_distance(np.arange(len(X)), 1) == np.median(away)
    for radius in np.sqrt(np.quantile(away, [0.2, 0.5], method="nearest")):
        for width in (np.nextafter(radius, 0), radius):
            found = graphs.ball_edges(X, width)
            near = np.sqrt(away) <= width
            assert_array_equal(
                np.column_stack([found.left, found.right]),
                np.column_stack([left[near], right[near]]),
            )


def torch_with(legacy=None, cuda="none", mkldnn="none"):
    """Return a substitute for torch whose old query fails once the new switches are used."""
    torch = ModuleType("torch")

    def precision():
        if legacy is None:
            raise RuntimeError("mix of the legacy and new APIs")
        return legacy

    torch.get_float32_matmul_precision = precision
    torch.backends = SimpleNamespace(
        cuda=SimpleNamespace(matmul=SimpleNamespace(fp32_precision=cuda)),
        mkldnn=SimpleNamespace(matmul=SimpleNamespace(fp32_precision=mkldnn)),
    )
    return torch


def test_every_switch_that_lowers_the_precision_of_products_counts(monkeypatch):
    """On a GPU with torch 2.11, NVIDIA's variable works although torch reports "highest"."""
    for name in ("NVIDIA_TF32_OVERRIDE", "CUPY_TF32"):
        monkeypatch.delenv(name, raising=False)
    assert product_rounding(torch_with("highest")) == 0
    assert product_rounding(torch_with("high")) == product_rounding(torch_with(cuda="tf32"))
    assert product_rounding(torch_with("high")) == 2.0**-10
    assert product_rounding(torch_with("medium")) == 2.0**-7
    assert product_rounding(torch_with(mkldnn="bf16")) == 2.0**-7
    assert product_rounding(torch_with(cuda="ieee")) == 0
    assert product_rounding(np) == 0
    cupy = ModuleType("cupy")
    assert product_rounding(cupy) == 0
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    assert product_rounding(torch_with("highest")) == product_rounding(cupy) == 0
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    assert product_rounding(torch_with("highest")) == product_rounding(cupy) == 2.0**-10
    assert product_rounding(np) == 0


# -- ReliefF ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_more", [0, 40])
@pytest.mark.parametrize("share", [1, 0.25])
@pytest.mark.usefixtures("always_compiled")
def test_codes_that_round_the_wrong_way(n_more, share, sizes):
    """Single precision proposes sample 2 instead of 1; a quarter of the bound does not suffice."""
    step, half = 2.0**-24, 2.0**-25
    # Sample 0 rounds down, 1 and 2 round up, on both sides of it. The last feature has more
    # digits, and makes sample 1 the nearer one.
    steps, halves = np.array([[0], [5], [-5]]), np.array([[0.999], [1.001], [1.001]])
    rows = np.tile(0.75 + steps * step + halves * half, 9)
    rows[:, -1] = 0.0, 2.0**-40, 2.0**-28
    rows = np.vstack([rows, np.zeros((1, 9)), np.ones((1, 9)), np.full((n_more, 9), 0.1)])
    classes = np.array([0, 1, 1, 0, 1, *(np.arange(n_more) % 2)])
    assert np.abs(rows[1] - rows[0]).sum() < np.abs(rows[2] - rows[0]).sum()
    sizes(CODE_ROUNDING=share * relief.CODE_ROUNDING)
    order = np.argsort(classes, kind="stable")
    codes = relief._difference_codes(as_samples(rows), np.zeros(9, dtype=bool))[order]
    of = relief._candidates(codes, np.zeros(9, dtype=bool), np.bincount(classes), 1, 1)
    candidates = order[next(iter(of(slice(0, 1))))[1]].tolist()
    assert 2 in candidates
    assert (1 in candidates) == (share == 1)
    if share == 1:
        expected = literal.relieff(rows, classes, 1, [False] * 9)
        assert_allclose(relief.relieff(rows, classes, 1), expected, atol=1e-12)


def tie_beside_a_line():
    """Find two samples equally far from a third, in different features, but rounded differently.

    A distance is p / q. With 2 features, p / q over the tie of 2^-41 is within 1 / q of a half:
    rounding to a multiple of that tie separates the two.
    """
    for q in range(1001, 40_000, 2):
        p = (q - 1) // 2 * pow(2**41, -1, q) % q
        if 0 < p < q // 2:
            for a in range(p, q - p, 1 + q // 20):
                rows = np.array([[a, a], [a + p, a], [a, a - p], [0, 0], [q, q]])
                codes = rows / q
                away = np.abs(codes[1:3] - codes[0]).sum(axis=1)
                lines = np.rint(away / 2.0**-41)
                if lines[0] > lines[1]:
                    return rows
    raise AssertionError


def test_exact_ties_of_relieff_are_ties():
    """Sample 1 comes first, however the two distances are rounded."""
    rows, classes = tie_beside_a_line() * 1.0, np.array([0, 1, 1, 0, 0])
    expected = literal.relieff(rows, classes, 1, [False, False])
    assert_allclose(relief.relieff(rows, classes, 1), expected, atol=1e-12)


# -- the similarity search ----------------------------------------------------------------------


def exact_steps(X, groups, n_steps):
    """Run the search in extended precision; also return the smallest margin of a selection."""
    columns = X.T.astype(np.longdouble)
    target = groups[:, None] == groups
    kernels_of = np.exp(-((columns[:, :, None] - columns[:, None]) ** 2) / 2)
    kernel, chosen, lead = np.ones(target.shape), [], np.inf
    for _ in range(n_steps):
        values = ((kernel * kernels_of - target) ** 2).sum(axis=(1, 2))
        values[chosen] = np.inf
        order = np.argsort(values, kind="stable")
        chosen.append(int(order[0]))
        lead = min(lead, float(values[order[1]] - values[order[0]]) / len(X) ** 2)
        kernel = kernel * kernels_of[order[0]]
    return chosen, lead


def lower_bounds(monkeypatch, share):
    of_screen = ("KERNEL_ROUNDING", "MUST_ROUNDING", "CANNOT_ROUNDING", "TINY")
    for module, name in [
        *((screening, name) for name in of_screen),
        (all_pairs, "COARSE_ROUNDING"),
    ]:
        monkeypatch.setattr(module, name, share * getattr(module, name))


@pytest.mark.parametrize("way", ["numpy", "numba"])
def test_near_ties_of_the_similarity_search(way, compile_from, monkeypatch):
    """All candidates are the same column plus noise below single precision.

    Without the bounds, half of the searches go wrong, so the ties are close enough.
    """
    if way == "numba":
        pytest.importorskip("numba")
    compile_from(way == "numba")
    wrong = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        groups = np.sort(rng.integers(0, 3, 40))
        X = rng.uniform(0.05, 0.9, (40, 1)) + 0.03 * groups[:, None]
        X = X + rng.normal(size=(40, 12)) * 10.0 ** -rng.uniform(5, 9)
        X[:, 6:8] = X[:, :2]  # equal columns: the first one wins
        expected, lead = exact_steps(X, groups, 2)
        if lead and lead < 1e-13:
            continue
        assert select_by_similarity(X, groups, 1.0, 3).order[:2].tolist() == expected
        with monkeypatch.context() as patch:
            lower_bounds(patch, 0.0)
            try:
                found = select_by_similarity(X, groups, 1.0, 3).order[:2].tolist()
            except ValueError:  # every candidate ruled out
                found = None
            wrong += found != expected
    assert wrong >= 3


@pytest.mark.usefixtures("always_compiled")
def test_kernel_values_that_round_the_wrong_way(monkeypatch):
    """Two features with two values each: of thousands, the pair with the most different errors."""
    ends = np.array([[0.0], [0.99]]) + 1e-6 * np.random.default_rng(0).random((2, 4000))
    X = np.vstack([np.tile(ends, (8, 1)), np.full((1, 4000), -0.004), np.full((1, 4000), 1.005)])
    groups = np.zeros(len(X), dtype=np.intp)
    apart = X.T[:, :, None] - X.T[:, None]
    X = X[:, np.argsort(((1 - np.exp(-(apart**2) / 2)) ** 2).sum(axis=(1, 2)))]
    must = all_pairs.AllPairs(X, groups, 1.0, 1).screen.must_parts(np.arange(4000))
    # A feature that appears worse than a later one, although the later one is worse.
    better = int(np.argmax(must - np.minimum.accumulate(must[::-1])[::-1]))
    worse = better + int(np.argmin(must[better:]))
    # A constant feature is selected first, without screening.
    pair = np.column_stack([np.zeros(len(X)), X[:, worse], X[:, better]])
    for share in (1, 0.02):
        with monkeypatch.context() as patch:
            lower_bounds(patch, share)
            left = all_pairs.AllPairs(pair, groups, 1.0, 1)
            kept = left.screen.not_ruled_out(np.array([1, 2]), left.sum_alike)
            assert (2 in kept) == (share == 1)
            assert (select_by_similarity(pair, groups, 1.0).order[1] == 2) == (share == 1)


def test_values_of_the_polynomial_reach_to_the_widest_difference():
    """The error is at most 7 units for every float32 in range, and a quarter for the fit."""
    x = np.linspace(0, compiled.LARGEST_EXPONENT, 200_001).astype(np.float32)
    fitted = np.polynomial.Chebyshev.interpolate(
        lambda x: np.exp(-x), 5, domain=[0, compiled.LARGEST_EXPONENT]
    )
    exact = np.exp(-x.astype(np.float64))
    assert np.abs(fitted(x.astype(np.float64)) / exact - 1).max() <= 2.0**-26
    rounded = np.float32(0)
    for coefficient in fitted.convert(kind=np.polynomial.Polynomial).coef[::-1]:
        rounded = rounded * x + np.float32(coefficient)
    assert np.abs(rounded / exact - 1).max() <= 7 * U32


# -- the bounds in the code equal those in docs/bounds.md ----------------------------------------

U64 = 2.0**-53


def test_the_constants_are_those_that_are_derived():
    """A constant that is slightly too small could pass all searches."""
    for found, derived in [
        (relief.CODE_ROUNDING, 2.0**-23),
        (relief.TIE_PER_FEATURE, 2.0**-42),
        (compiled.WIDEST, 1.01),
        (compiled.TINY, 1e-16),
        (compiled.KERNEL_ROUNDING, 16 * U32),
        (compiled.MUST_ROUNDING, 36 * U32),
        (compiled.CANNOT_ROUNDING, 2 * 16 * U32 + 260 * U32),
        (all_pairs.COARSE_ROUNDING, (256 + 128 + 16) * U32),
        (all_pairs.VALUES_PER_COARSE_SUM, 256),
        (all_pairs.ROWS_PER_BLOCK, 128),
        (all_pairs.TINY, 1e-18),
        (all_pairs.INPUT_ROUNDING, 8 * U64),
        (kernel_terms.MAX_TERMS, 64),
        (kernel_terms.TOLERANCE, 1e-14),
        (criterion.PRODUCT_ROUNDING, 1e-12),
        (criterion.TIE_ROUNDING, 1e-14),
        (criterion.CRITERION_ROUNDING, U64),
        (listed_pairs.CARRIED_ROUNDING, 256 * U64),
        (ties.UNIT, U64),
        (discretize.ROUNDING, 160 * U64),
        (trace_ratio.ROUNDING, 8 * U64),
        (distances.EXPONENT_ERROR, 1e-9),
        (distances.VANISHED, 1e-290),
        (distance_graphs.FAINT, 1e-100),
    ]:
        assert found == derived


@pytest.mark.parametrize("n_features", [1, 1024, 1025, 4096, 5000])
def test_the_bounds_of_sums_are_those_that_are_derived(n_features):
    """Check bounds of distances, relative to a squared norm, and of ReliefF's sums."""
    length = min(n_features, 1024) + -(-n_features // 1024)
    assert neighbors.product_length(n_features) == length
    norms = np.array([0.0, 1.0, 3.0])
    for dtype, share, tiny in [
        (np.float32, (length + 32) * U32, 2.0**-126),
        (np.float64, (6 * length + 32) * U64, 2.0**-1022),
    ]:
        found = neighbors.product_errors(norms, length, dtype)
        assert_allclose(found, share * norms + (length + 16) * tiny, rtol=1e-14)
    r = (min(n_features, 4096) + 8) * U32
    a = n_features * (2.0**-23 + 2.0**-42)
    assert relief._sum_rounding(n_features) == r
    reach = np.array([0.0, 0.5, 7.0])
    assert_allclose(
        relief._within(reach, n_features), (reach * (1 + r) + 2 * a) / (1 - r), rtol=1e-15
    )


def test_the_bounds_of_the_similarity_score_are_those_that_are_derived(sizes):
    assert criterion.form_rounding(10**6, 64) == (5 * 10**6 + 8 * 64**2 + 2048) * U64
    assert criterion.form_rounding(10, 3) == 1e-12
    rng = np.random.default_rng(0)
    X, groups = rng.random((30, 32)), np.sort(rng.integers(0, 3, 30))
    strict = pytest.importorskip("array_api_strict").asarray(X)
    for room, there in [(2**28, False), (2**28, True), (0, False)]:
        # Without room, all but two terms are left out.
        sizes(MAX_BYTES_FOR_TERMS=room)
        if there:
            found = device_similarity.AllPairsOnDevice(device_of(strict), strict, groups, 0.5)
            assert found.n_terms == found.squared.shape[1] >= found.plain.shape[1] > 5
        else:
            found = all_pairs.AllPairs(X, groups, 0.5, 1)
        found.add(0)
        kernel, alike = literal.gauss(X[:, :1], 0.5), groups[:, None] == groups
        squares, inside = (kernel**2).sum(), kernel[alike].sum()
        error = ((kernel - alike) ** 2).sum()
        assert_allclose(found.magnitude(), squares + 2 * inside - 3 * 30, rtol=1e-12)
        tie = 1e-14 * found.magnitude() + U64 * error
        assert_allclose(found.tie(), tie, rtol=1e-12)
        share = criterion.form_rounding(30, found.n_terms)
        assert found.n_terms == 64 if room == 0 else 5 < found.n_terms < 30
        assert_allclose(found.rounding(), share * (squares + 2 * inside) + tie, rtol=1e-12)
        inputs = 8 * U64 * np.ptp(X, axis=0) / 0.5 * (2 * squares + 4 * inside)
        left_out = found.squared_remainder * squares + 4 * found.plain_remainder * inside
        assert_allclose(found._truncation(np.arange(32)), left_out + inputs, rtol=1e-10)
    assert left_out.min() > 0.01


@pytest.mark.parametrize("n_cannot", [0, 5])
def test_the_bounds_of_listed_pairs_are_those_that_are_derived(n_cannot):
    X = np.random.default_rng(0).random((12, 4))
    links = np.arange(12).reshape(-1, 2)
    must, cannot = links[n_cannot:], links[:n_cannot]
    target = draw_from_pairs(must, cannot, 100, np.random.default_rng(0))
    target = target._replace(weights=(3.0, 5.0))
    found = listed_pairs.ListedPairs(X, target, 0.5, 1)
    found.add(0)
    alike, apart = (literal.gauss(X[:, :1], 0.5)[ends[:, 0], ends[:, 1]] for ends in (must, cannot))
    magnitude = 3 * (alike**2 + 2 * alike).sum() + 5 * (apart**2).sum()
    error = 3 * ((alike - 1) ** 2).sum() + 5 * (apart**2).sum()
    tie = 1e-14 * magnitude + U64 * error
    assert_allclose(found.magnitude(), magnitude, rtol=1e-12)
    assert_allclose(found.rounding(), tie, rtol=1e-12)
    assert_allclose(found._value_rounding(), 1e-12 * magnitude + 100 * tie, rtol=1e-12)
    # The lower bound before the second feature, minus its change and the rounding of sums.
    found.lower[:] = 0.0
    before, cannot_before = found.criterion(), found.criterion() - found.must_part()
    found.add(1)
    fell = cannot_before - (found.criterion() - found.must_part())
    lost = found.criterion() - before + fell + 256 * U64 * max(before, found.criterion())
    assert_allclose(-found.lower, lost, rtol=1e-12)


def test_the_bounds_of_ties_are_those_that_are_derived():
    rng = np.random.default_rng(1)
    for n_states, n_values, n_cells in [(3, 4, 12), (40, 10, 256)]:
        states, variable = rng.integers(0, n_states, (400, 2)), rng.integers(0, n_values, 400)
        states[0], variable[0] = n_states - 1, n_values - 1
        of = variable.tolist()
        entropies = [literal.entropy(f) + literal.entropy(of) for f in states.T.tolist()]
        expected = U64 * (4 + 2 * (n_cells + 6) * np.array(entropies))
        found = information.mutual_information(information.Discrete.of(states), variable)
        assert_allclose(found.error, expected, rtol=1e-12)
        uncertain = information.symmetric_uncertainty(information.Discrete.of(states), variable)
        assert_allclose(uncertain.error, 3 * expected / entropies, rtol=1e-12)
    one, other = (ties.Rounded(np.array([4.0]), np.array([error * U64])) for error in (5, 3))
    for found, value, error in [
        (one.plus(other), 8.0, (5 + 3 + 8) * U64),
        (one.minus(ties.Rounded(np.array([6.0]), other.error)), -2.0, (5 + 3 + 2) * U64),
        (one.over(2), 2.0, (2.5 + 2) * U64),
    ]:
        assert (found.value, found.error) == (value, error)
        assert (found.lower, found.upper) == (value - error, value + error)
    mrmr = importlib.import_module("linkselect._search.mrmr")  # mrmr is also a function
    over = ties.Rounded(np.array([2.0]), np.array([0.5]))
    values, lower, upper = mrmr._quotient(ties.Rounded(np.array([6.0]), np.array([1.0])), over)
    assert values == 3.0
    assert (lower, upper) == (5.0 / 2.5 * (1 - 4 * U64), 7.0 / 1.5 * (1 + 4 * U64))
    difference = one.minus(over)
    found = np.ravel([difference.value, difference.lower, difference.upper])
    assert_allclose(found, [2.0, 1.5, 2.5])


def test_the_bounds_of_products_on_a_device_are_those_of_the_processor():
    array_api_strict = pytest.importorskip("array_api_strict")
    for n_features in (3, 1024, 2500):
        X = np.random.default_rng(0).normal(size=(4, n_features))
        there = array_api_strict.asarray(X)
        for dtype in (np.float32, np.float64):
            here = device_neighbors.products(
                device_of(there), there, getattr(array_api_strict, np.dtype(dtype).name)
            )
            norms, length = to_numpy(here.norms), neighbors.product_length(n_features)
            expected = neighbors.product_errors(norms, length, dtype)
            assert_allclose(to_numpy(here.errors), expected, rtol=1e-14)
            assert_allclose(
                norms, (((X - X.mean(axis=0)) / here.scale) ** 2).sum(axis=1), rtol=1e-5
            )
            assert 1 <= here.scale / np.abs(X - X.mean(axis=0)).max() < 4
