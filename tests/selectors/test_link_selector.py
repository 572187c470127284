"""LinkSelector against its literal definition on unusual tables, and its invariances."""

import warnings

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context

import linkselect as ls
from linkselect._samples.devices import to_numpy
from tests.helpers import stored_samples
from tests.helpers.comparisons import Case, compare
from tests.helpers.problems import KINDS, Problem, draw_labels, draw_links, draw_problem
from tests.helpers.search_references import link_selector

# Kinds of supervision, as `comparisons.know` extracts them from a problem.
KNOWN = (
    "nothing",
    "must-links",
    "cannot-links",
    "pairs",
    "labels",
    "some labels",
    "one label per class",
    "labels and pairs",
)
every_knowledge = pytest.mark.parametrize("sees", KNOWN)


# -- the definition on unusual tables ------------------------------------------------------------

ODD = {
    "counts": lambda rng, shape: rng.poisson(0.4, shape).astype(float),
    "counts, sparse": lambda rng, shape: sparse.csr_array(rng.poisson(0.3, shape)),
    "counts with empty rows": lambda rng, shape: (
        rng.poisson(0.2, shape) * (rng.random(shape) < 0.5)
    ),
    "negative, sparse": lambda rng, shape: sparse.csc_array(
        rng.integers(-3, 2, shape) * (rng.random(shape) < 0.3)
    ),
    "without zeros, sparse": lambda rng, shape: sparse.csr_array(rng.integers(5, 9, shape) * 1e7),
    "uint8": lambda rng, shape: rng.integers(0, 256, shape, dtype="u1"),
    "int8": lambda rng, shape: rng.integers(-128, 128, shape, dtype="i1"),
    "offset": lambda rng, shape: 1e8 + rng.integers(0, 5, shape) / 4.0,
    "tiny": lambda rng, shape: 1e-200 * rng.normal(size=shape),
    "huge": lambda rng, shape: 1e200 * rng.normal(size=shape),
    "every size": lambda rng, shape: (
        rng.normal(size=shape) * 10.0 ** rng.integers(-250, 250, shape[1])
    ),
    "copies": lambda rng, shape: rng.normal(size=shape)[:, rng.integers(0, shape[1], shape[1])],
    "mirror images": lambda rng, shape: np.outer(rng.normal(size=shape[0]), [1.0, -1.0] * shape[1])[
        :, : shape[1]
    ],
    "rank 2": lambda rng, shape: rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1])),
    "repeated rows": lambda rng, shape: rng.normal(size=shape)[rng.integers(0, 2, shape[0])],
    "constants": lambda rng, shape: np.where(
        rng.random(shape[1]) < 0.5, rng.choice([0.0, 0.1, -7.0], shape[1]), rng.normal(size=shape)
    ),
    "bool": lambda rng, shape: rng.random(shape) < 0.3,
    "float32": lambda rng, shape: rng.normal(size=shape).astype("f4"),
    "one sample apart": lambda rng, shape: np.vstack(
        [rng.random((shape[0] - 1, shape[1])), np.full(shape[1], 50.0)]
    ),
}
SHAPES = [(2, 1), (2, 5), (3, 3), (4, 9), (5, 2), (5, 14), (9, 9), (14, 5), (8, 17)]


def odd_problem(rng, kind, shape):
    stored = ODD[kind](rng, shape)
    X = stored.toarray() if sparse.issparse(stored) else stored
    n = shape[0]
    if n == 2:
        y = one_each = np.array([0, 1])
        must, cannot = [(0, 1)], []
    else:
        y, _, one_each = draw_labels(rng, n)
        must, cannot = draw_links(rng, n)
    # The last sample has a class of its own: rare classes count as much as others.
    partial = np.where(np.arange(n) == n - 1, 9, np.where(rng.random(n) < 0.4, -1, y))
    X = X.astype(np.float64)
    return Problem(kind, "odd", X, stored, y, partial, one_each, must, cannot, 0)


def check_all(selector, problems, sees):
    case = Case(selector, link_selector, (sees,))
    found = []
    for problem in problems:
        try:
            found.append(compare(case, problem, sees).status)
        except Exception as error:
            error.add_note(f"{problem.kind} of shape {problem.X.shape}")
            raise
    # Finite values are never refused, and rounding hardly ever decides.
    assert found.count("compared") >= 0.95 * len(found)
    assert "refused" not in found


@every_knowledge
def test_every_kind_of_small_table_equals_the_definition(sees):
    rng = np.random.default_rng([*sees.encode()])
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(ODD) * 2)]
    problems = [
        odd_problem(rng, kind, shape) for kind, shape in zip([*ODD] * 2, shapes, strict=True)
    ]
    check_all(ls.LinkSelector(1.0), problems, sees)
    check_all(ls.LinkSelector(noise=0.5), problems, sees)
    check_all(ls.LinkSelector(1, scale="range"), problems, sees)


@every_knowledge
def test_the_problems_of_all_selectors_equal_the_definition(sees):
    rng = np.random.default_rng([*sees.encode()])
    problems = [draw_problem(rng, kind) for kind in KINDS]
    check_all(ls.LinkSelector(0.5), problems, sees)
    check_all(ls.LinkSelector(1, noise=1e-3), problems, sees)


@pytest.mark.parametrize("shape", [(12, 5), (6, 20)])
def test_counts_on_demand_equal_the_definition(shape):
    rng = np.random.default_rng(0)
    for _ in range(5):
        dense = odd_problem(rng, "uint8", shape)
        check_all(ls.LinkSelector(1.0, scale="counts"), [dense], "some labels")


def test_links_to_labelled_samples_are_used_together_with_the_labels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 6)), np.array([0, 0, 1, 1] + [-1] * 8)
    links = ls.Pairs(must=[(0, 5), (5, 6), (2, 7), (8, 9)])
    problem = Problem("plain", "C", X, X, y, y, y, [], [], 0)
    together = links | ls.Pairs.from_labels(y)
    fitted = ls.LinkSelector(1.0).fit(X, pairs=together)
    expected = link_selector(problem, _Told(together, y), fitted)
    assert expected.error_of(fitted) < 1e-12


class _Told:
    """Supervision in the form that the reference implementation expects."""

    def __init__(self, pairs, y):
        self.arguments, self.y = {"pairs": pairs}, y


# -- invariances ---------------------------------------------------------------------------------


def table(n=40, d=15, seed=0):
    """Return samples of two classes, pairs, and labels of some samples."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + np.outer(y, np.linspace(0, 2, d))
    pairs = ls.Pairs.from_labels(y, n_must=12, n_cannot=6, random_state=0)
    return X, pairs, np.where(np.arange(n) % 3 == 0, y, -1)


def as_counts(X):
    """Return whole numbers, mostly zeros, with a positive value in every column."""
    X = np.where(X > 0.8, np.round(4 * X), 0.0)
    X[:2] = [[1.0], [0.0]]
    return X


def told(pairs, y):
    together = pairs | ls.Pairs.from_labels(y)
    return [{}, {"pairs": pairs}, {"y": y}, {"pairs": together}]


def assert_same(found, expected, rtol=1e-10):
    """Compare two fits up to rounding: the order of sums may differ."""
    assert_allclose(to_numpy(found.scores_), expected.scores_, rtol=rtol)
    assert_allclose(to_numpy(found.path_), expected.path_, rtol=rtol)
    assert_array_equal(to_numpy(found.order_), expected.order_)


WIDE_AND_LONG = pytest.mark.parametrize("shape", [(40, 15), (16, 50)])


@WIDE_AND_LONG
def test_rows_in_another_order(shape):
    X, pairs, y = table(*shape)
    rows = np.random.default_rng(1).permutation(len(X))
    for known in told(pairs, y):
        moved = {"pairs": known["pairs"], "sample_ids": rows} if "pairs" in known else known
        moved = {"y": y[rows]} if "y" in known else moved
        assert_same(ls.LinkSelector(6).fit(X[rows], **moved), ls.LinkSelector(6).fit(X, **known))


@WIDE_AND_LONG
def test_columns_in_another_order(shape):
    X, pairs, y = table(*shape)
    columns = np.random.default_rng(1).permutation(X.shape[1])
    for known in told(pairs, y):
        found = ls.LinkSelector(6).fit(X[:, columns], **known)
        expected = ls.LinkSelector(6).fit(X, **known)
        assert_allclose(found.scores_, expected.scores_[columns], rtol=1e-10)
        assert_array_equal(columns[found.order_], expected.order_)


@WIDE_AND_LONG
def test_units_signs_and_offsets_of_features(shape):
    X, pairs, y = table(*shape)
    X = np.round(X * 64) / 64  # so that an offset loses no digits
    powers = 2.0 ** np.random.default_rng(1).integers(-40, 40, X.shape[1])
    signs = np.random.default_rng(2).choice([-1.0, 1.0], X.shape[1])
    for known in told(pairs, y):
        expected = ls.LinkSelector(6).fit(X, **known)
        in_units = ls.LinkSelector(6).fit(X * powers, **known)
        assert_array_equal(in_units.scores_, expected.scores_)
        assert_same(in_units, expected, rtol=0)
        for moved in (X * signs, X + 1e6 * signs, X * np.linspace(0.1, 30, X.shape[1])):
            assert_same(ls.LinkSelector(6).fit(moved, **known), expected)


def test_units_of_counts():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (30, 12)).astype(float)
    expected = ls.LinkSelector(5).fit(X)
    assert_same(ls.LinkSelector(5).fit(X * 2.0 ** rng.integers(-30, 30, 12)), expected, rtol=0)
    assert_same(ls.LinkSelector(5).fit(X * rng.uniform(0.1, 9, 12)), expected)


@pytest.mark.parametrize("factor", [1e-200, 1e-162, 1e200])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, array_api_strict.asarray])
def test_values_whose_squares_overflow_or_underflow_are_not_counts(factor, make):
    X = np.random.default_rng(0).poisson(0.5, (30, 12)) * factor
    expected = ls.LinkSelector(5, scale="range").fit(X)
    with config_context(array_api_dispatch=True):
        assert_same(ls.LinkSelector(5).fit(make(X)), expected)


STORED = ["npy", "fortran", "zarr", "parquet", "dask"]


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize(("shape", "n_bytes"), [((90, 7), 600), ((24, 200), 24 * 40 * 8)])
@pytest.mark.parametrize("counts", [False, True])
def test_stored_samples(kind, shape, n_bytes, counts, shrink_parts, tmp_path):
    """Parts are summed in another order, which leaves 12 exact digits for 2,000 values."""
    shrink_parts(n_bytes)
    X, pairs, y = table(*shape)
    X = as_counts(X) if counts else X
    there = stored_samples.store(kind, tmp_path, X)
    for known in told(pairs, y):
        assert_same(ls.LinkSelector(4).fit(there, **known), ls.LinkSelector(4).fit(X, **known))


@WIDE_AND_LONG
@pytest.mark.parametrize("counts", [False, True])
def test_samples_on_a_device_and_sparse_ones(shape, counts):
    X, pairs, y = table(*shape)
    X = as_counts(X) if counts else X
    for known in told(pairs, y):
        expected = ls.LinkSelector(4).fit(X, **known)
        for make in (sparse.csr_array, sparse.csc_array, np.asfortranarray):
            assert_same(ls.LinkSelector(4).fit(make(X), **known), expected)
        with config_context(array_api_dispatch=True):
            found = ls.LinkSelector(4).fit(array_api_strict.asarray(X), **known)
        assert_same(found, expected)


@pytest.mark.parametrize("shape", [(200, 30), (20, 300)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_threads_change_no_bit(shape, make, shrink):
    shrink(1000)
    X, pairs, y = table(*shape)
    for known in told(pairs, y):
        one = ls.LinkSelector(5, n_jobs=1).fit(make(X), **known)
        several = ls.LinkSelector(5, n_jobs=3).fit(make(X), **known)
        assert_array_equal(several.scores_, one.scores_)
        assert_array_equal(several.path_, one.path_)
        assert_array_equal(several.order_, one.order_)


@pytest.mark.parametrize("shape", [(60, 20), (20, 90)])
def test_float32_of_large_tables_chooses_the_same(shape, sizes):
    """Sums in float32 have an error of 1e-7 per value, relative to the norm of a feature."""
    X, pairs, y = table(*shape)
    X = X.astype(np.float32)
    expected = [ls.LinkSelector(8).fit(X, **known) for known in told(pairs, y)]
    sizes(MANY_VALUES=0)
    for known, double in zip(told(pairs, y), expected, strict=True):
        assert_same(ls.LinkSelector(8).fit(X, **known), double, rtol=1e-5)


# -- copies and ties -----------------------------------------------------------------------------


@WIDE_AND_LONG
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_copies_tie_until_one_is_chosen(shape, make):
    X, pairs, y = table(*shape)
    d = X.shape[1]
    X = np.hstack([X, X])
    for known in told(pairs, y):
        fitted = ls.LinkSelector(4).fit(make(X), **known)
        assert_array_equal(fitted.scores_[:d], fitted.scores_[d:])
        first, second = fitted.order_[:2]
        assert first < d
        assert second != first + d
        # Of two copies, the first column comes first, among selected and other features.
        place = np.argsort(fitted.order_)
        assert (place[:d] < place[d:]).all()


def test_equal_features_are_ordered_by_index():
    f = np.random.default_rng(0).normal(size=30)
    for X in (np.outer(f, np.arange(1.0, 12.0)), np.outer(f[:8], np.arange(1.0, 40.0))):
        fitted = ls.LinkSelector(2).fit(X)
        assert_array_equal(fitted.order_, np.arange(X.shape[1]))
        assert len(set(fitted.scores_.tolist())) == 1


def test_the_next_feature_in_the_order_is_that_of_one_more_step():
    X, pairs, _ = table()
    for k in range(1, 8):
        shorter = ls.LinkSelector(k).fit(X, pairs=pairs)
        longer = ls.LinkSelector(k + 1).fit(X, pairs=pairs)
        assert_array_equal(shorter.order_[: k + 1], longer.order_[: k + 1])
        assert_array_equal(shorter.path_, longer.path_[:k])


# -- how many features ---------------------------------------------------------------------------


def test_auto_keeps_the_fewest_that_explain_most():
    X, pairs, _ = table(60, 40)
    automatic = ls.LinkSelector().fit(X, pairs=pairs)
    whole = ls.LinkSelector(1.0).fit(X, pairs=pairs)
    assert automatic.n_features_ == np.argmax(whole.path_ >= 0.9) + 1
    assert 1 < automatic.n_features_ < 40
    assert_array_equal(automatic.path_, whole.path_[: automatic.n_features_])
    assert (np.diff(whole.path_) > 0).all()
    assert whole.path_[-1] == pytest.approx(1.0, abs=1e-12)
    assert whole.path_[0] == pytest.approx(whole.scores_.max(), abs=1e-12)


def test_auto_keeps_300_features_at_most():
    X = np.random.default_rng(0).random((350, 900))
    fitted = ls.LinkSelector().fit(X)
    assert fitted.n_features_ == len(fitted.path_) == fitted.support_.sum() == 300
    assert fitted.path_[-1] < 0.9


def test_a_number_and_a_fraction():
    X, pairs, _ = table()
    assert ls.LinkSelector(15).fit(X, pairs=pairs).n_features_ == 15
    assert ls.LinkSelector(0.4).fit(X, pairs=pairs).n_features_ == 6
    assert ls.LinkSelector(0.001).fit(X, pairs=pairs).n_features_ == 1
    with pytest.raises(ValueError, match="n_features_to_select=16, but X has 15 features"):
        ls.LinkSelector(16).fit(X, pairs=pairs)


def test_constant_features_are_last_and_do_not_count_for_scaling():
    X, pairs, y = table()
    X[:, [0, 4]] = [0.1, 0.0]
    for known in told(pairs, y):
        with pytest.warns(UserWarning, match="2 of 15 features are constant and rank last"):
            fitted = ls.LinkSelector(14).fit(X, **known)
        assert_array_equal(fitted.order_[-2:], [0, 4])
        assert_array_equal(np.flatnonzero(np.isnan(fitted.scores_)), [0, 4])
        assert len(fitted.path_) == 13
    # Six of seven zeros are in the constant column, which is ignored: these are not counts.
    counts = np.column_stack([np.zeros(6), [0, 1, 2, 3, 4, 5]])
    with pytest.warns(UserWarning, match="1 of 2 features"):
        fitted = ls.LinkSelector().fit(counts)
    assert_array_equal(fitted.order_, [1, 0])


@pytest.mark.filterwarnings("ignore:.* features (is|are) constant")
@pytest.mark.parametrize("shape", [(20, 8), (8, 20)])
def test_rows_of_counts_with_values_of_constant_features_only(shape):
    X = np.random.default_rng(0).poisson(0.3, shape).astype(float)
    X[:, 0] = 1.0
    X[:2, 1:] = 0.0
    pairs = ls.Pairs(must=[(0, 3), (4, 5)])
    dense = ls.LinkSelector(3, scale="counts").fit(X, pairs=pairs)
    assert_same(ls.LinkSelector(3, scale="counts").fit(sparse.csr_array(X), pairs=pairs), dense)


def test_nothing_but_constants():
    for X in (np.ones((5, 3)), sparse.csr_array((5, 3))):
        for known in ({}, {"pairs": ls.Pairs(must=[(0, 1)])}, {"y": [0, 0, 1, 1, -1]}):
            with pytest.warns(UserWarning, match="3 of 3 features are constant"):
                fitted = ls.LinkSelector().fit(X, **known)
            assert_array_equal(fitted.order_, [0, 1, 2])
            assert np.isnan(fitted.scores_).all()


def test_more_than_half_of_all_values_are_zero_in_counts():
    X = np.random.default_rng(0).integers(1, 9, (10, 6)).astype(float)
    X[:5] = 0.0
    by_range = ls.LinkSelector(3, scale="range").fit(X)
    for values in (X, sparse.csr_array(X)):
        assert_same(ls.LinkSelector(3).fit(values), by_range)
    X[5, 0] = 0.0
    by_counts = ls.LinkSelector(3, scale="counts").fit(X)
    for values in (X, sparse.csr_array(X)):
        assert_same(ls.LinkSelector(3).fit(values), by_counts)
    assert not np.allclose(by_counts.scores_, ls.LinkSelector(3, scale="range").fit(X).scores_)


# -- invalid and incomplete input ----------------------------------------------------------------


@pytest.mark.parametrize(
    "selector",
    [
        ls.LinkSelector(0),
        ls.LinkSelector(1.5),
        ls.LinkSelector("most"),
        ls.LinkSelector(noise=0),
        ls.LinkSelector(noise=-1.0),
        ls.LinkSelector(noise=np.inf),
        ls.LinkSelector(noise=np.nan),
        ls.LinkSelector(noise="auto"),
        ls.LinkSelector(scale="standard"),
        ls.LinkSelector(scale=None),
        ls.LinkSelector(on_conflict="ignore"),
        ls.LinkSelector(n_jobs=0),
    ],
    ids=repr,
)
def test_parameters_out_of_range(selector):
    with pytest.raises(ValueError, match="parameter of LinkSelector must be"):
        selector.fit(table()[0])


def test_counts_cannot_be_negative():
    X = np.array([[1.0, 0, 3], [-1, 2, 0], [0, 1, 1]])
    for values in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="1 of 3 features has negative values") as caught:
            ls.LinkSelector(scale="counts").fit(values)
        assert caught.value.hint == "Use scale='range', or omit scale."


def test_cannot_links_alone_are_not_used():
    X, pairs, _ = table()
    cannot = ls.Pairs(cannot=pairs.cannot)
    with pytest.warns(UserWarning, match="learns from must-links, but only cannot"):
        fitted = ls.LinkSelector(5).fit(X, pairs=cannot)
    assert_same(fitted, ls.LinkSelector(5).fit(X), rtol=0)
    both = ls.LinkSelector(5).fit(X, pairs=pairs)
    assert_same(both, ls.LinkSelector(5).fit(X, pairs=ls.Pairs(pairs.must)), rtol=0)
    # Labels of different classes do not cause the warning about cannot-links alone.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ls.LinkSelector(5).fit(X, [0, 1] + [-1] * 38)
        ls.LinkSelector(5).fit(X, pairs=ls.Pairs())


def test_conflicts_leave_the_must_links():
    X, _, _ = table()
    pairs = ls.Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.raises(ValueError, match="on_conflict"):
        ls.LinkSelector().fit(X, pairs=pairs)
    expected = ls.LinkSelector().fit(X, pairs=ls.Pairs(must=pairs.must))
    with pytest.warns(UserWarning, match="0 = 1 = 2"):
        warned = ls.LinkSelector(on_conflict="warn").fit(X, pairs=pairs)
    dropped = ls.LinkSelector(on_conflict="drop").fit(X, pairs=pairs)
    assert_same(warned, expected, rtol=0)
    assert_same(dropped, expected, rtol=0)


def test_pairs_with_absent_samples_are_left_out():
    X, pairs, _ = table()
    more = ls.Pairs([*pairs.must, (100, 101)], pairs.cannot)
    found = ls.LinkSelector(5).fit(X, pairs=more, sample_ids=range(len(X)))
    assert_same(found, ls.LinkSelector(5).fit(X, pairs=pairs), rtol=0)


# -- limits of floating-point numbers ------------------------------------------------------------

LARGEST = np.finfo(np.float64).max
EXTREME = {
    "up to the largest": lambda rng: rng.random((20, 8)) * LARGEST,
    "wide": lambda rng: rng.random((8, 20)) * LARGEST,
    "both signs": lambda rng: rng.choice([-0.9, 1.0], (19, 8)) * LARGEST / 16,
    "zeros and the largest": lambda rng: (rng.random((20, 8)) < 0.3) * LARGEST / 16,
    "subnormal": lambda rng: rng.integers(-4, 5, (20, 8)) * 5e-324,
    "subnormal counts": lambda rng: (rng.random((20, 8)) < 0.3) * 5e-324,
}


@pytest.mark.parametrize("kind", EXTREME)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_values_at_the_edge_of_float64(kind, make):
    """The same table in units of its largest value gives the same scores."""
    X = EXTREME[kind](np.random.default_rng(0))
    plain = np.ldexp(X, -1000) if kind != "subnormal" and "counts" not in kind else X / 5e-324
    expected = ls.LinkSelector(4, scale="range").fit(plain)
    found = ls.LinkSelector(4, scale="range").fit(make(X), pairs=ls.Pairs())
    assert_same(found, expected)


@pytest.mark.parametrize("noise", [5e-324, 1e-100, 1e-12, 1e12, 1e300, LARGEST])
@WIDE_AND_LONG
def test_extreme_noise(noise, shape):
    """Very small noise acts like none, up to rounding; very large noise removes all information."""
    X, pairs, y = table(*shape)
    for known in told(pairs, y):
        fitted = ls.LinkSelector(1.0, noise=noise).fit(X, **known)
        assert ((fitted.scores_ >= 0) & (fitted.scores_ < 1)).all()
        assert (np.diff(fitted.path_) >= 0).all()
        assert fitted.path_[-1] == pytest.approx(1.0, abs=1e-6)
        if noise > 1:
            assert_allclose(fitted.scores_, ls.LinkSelector().fit(X).scores_, rtol=1e-9)
        elif "pairs" in known:
            exact = ls.LinkSelector(1.0, noise=1e-9).fit(X, **known)
            assert_allclose(fitted.scores_, exact.scores_, rtol=1e-5)


def test_ten_thousand_columns_of_noise():
    X = np.random.default_rng(0).random((12, 10_000))
    fitted = ls.LinkSelector().fit(X, pairs=ls.Pairs(must=[(0, 1)]))
    assert fitted.path_[-2] < 0.9 <= fitted.path_[-1]
    assert sorted(fitted.order_.tolist()) == list(range(10_000))
    gains = np.diff(fitted.path_, prepend=0.0)
    assert (gains > 0).all()
