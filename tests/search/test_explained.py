"""The search of LinkSelector in the spaces of samples, of features and of random sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import linkselect as ls
from linkselect._samples import as_samples
from linkselect._samples.scaling import find_scaling
from linkselect._search.explained import (
    by_features,
    by_random_sums,
    by_samples,
    choose,
    largest_first,
)
from linkselect._search.observations import observe
from linkselect._supervision import from_labels, from_pairs, nothing
from tests.helpers import literal
from tests.helpers.fitting import ended_after

WAYS = ["nothing", "must-links", "many must-links", "some labels", "labels", "labels and links"]


def know(way, y):
    """Return supervision by some or all labels, some or all must-links, both, or none."""
    n = len(y)
    some = np.where(np.arange(n) % 4 == 0, y, -1)
    links = ls.Pairs.from_labels(y, n_must=9, n_cannot=3, random_state=0)
    match way:
        case "nothing":
            return nothing(n)
        case "must-links":
            return from_pairs(links, n)
        case "many must-links":
            return from_pairs(ls.Pairs(ls.Pairs.from_labels(y).must), n)
        case "some labels":
            return from_labels(some, n)
        case "labels":
            return from_labels(y, n)
    free = ls.Pairs([pair for pair in links.must if min(some[list(pair)]) < 0])
    return from_pairs(free | ls.Pairs.from_labels(some), n)


TABLES = {
    "long": lambda rng: rng.normal(size=(60, 12)),
    "square": lambda rng: rng.normal(size=(20, 20)),
    "rank 3": lambda rng: rng.normal(size=(30, 3)) @ rng.normal(size=(3, 25)),
    "offset": lambda rng: 1e8 + rng.normal(size=(40, 9)),
    "counts": lambda rng: rng.poisson(0.4, (50, 14)).astype(float),
    "sparse counts": lambda rng: sparse.csr_array(rng.poisson(0.4, (50, 14))),
}


def posed(pose, X, known, noise=0.03):
    samples = as_samples(X)
    scaling = find_scaling(samples, samples.constant_columns(), "auto", 1)
    if pose is by_samples:
        return by_samples(samples.scaled_columns(scaling, 1), observe(known), noise)
    return pose(samples, scaling, observe(known), noise, 1)


def searched(problem, n_features, **options):
    constant = np.zeros(len(problem.columns.norms()), dtype=bool)
    return choose(problem, n_features, constant, **options)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("way", WAYS)
def test_products_of_samples_and_of_features_agree(table, way):
    """Both compute the same values; the factor of the products adds rounding errors of 1e-13."""
    rng = np.random.default_rng(0)
    X = TABLES[table](rng)
    known = know(way, rng.integers(0, 3, X.shape[0]))
    one, other = (searched(posed(form, X, known), 8) for form in (by_samples, by_features))
    assert_allclose(other.scores, one.scores, rtol=1e-9)
    assert_allclose(other.path, one.path, rtol=1e-9)
    # With fewer dimensions than steps, the gains of the remaining features are tiny and hardly
    # differ.
    assert_array_equal(other.order[:8], one.order[:8])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_the_search_stops_at_a_share_or_when_interrupted(share):
    problem = posed(by_features, TABLES["long"](np.random.default_rng(0)), nothing(60))
    whole = searched(problem, 12)
    found = searched(problem, 12, share=share)
    n_steps = int(np.argmax(whole.path >= share)) + 1
    assert_array_equal(found.path, whole.path[:n_steps])
    assert_array_equal(found.order[:n_steps], whole.order[:n_steps])
    early = searched(problem, 12, track=ended_after(2))
    assert_array_equal(early.path, whole.path[:2])
    assert sorted(early.order.tolist()) == list(range(12))


def test_constant_features_are_never_chosen():
    """Products of features contain rounding errors for constant features."""
    X = np.random.default_rng(0).normal(size=(30, 6))
    X[:, 2] = 1.0
    problem = posed(by_features, X, nothing(30))
    found = choose(problem, 3, np.arange(6) == 2)
    assert found.order[-1] == 2
    # This holds even if rounding errors exceed everything else to explain.
    faint = problem._replace(moment=np.diag(np.where(np.arange(6) == 2, 1.0, 1e-30)))
    assert choose(faint, 5, np.arange(6) == 2).order[-1] == 2


def test_equal_values_are_ordered_by_index():
    values = np.array([0.2, 0.5, 0.5 * (1 + 1e-12), 0.2 * (1 + 1e-12), 0.0, 0.7])
    assert largest_first(values, 1e-9).tolist() == [5, 1, 2, 0, 3, 4]
    assert largest_first(values, 0.0).tolist() == [5, 2, 1, 3, 0, 4]
    assert largest_first(np.empty(0), 1e-9).tolist() == []


# -- random sums ---------------------------------------------------------------------------------


N_SUMS = 200


@pytest.fixture
def few_sums(sizes):
    """Use random sums for more than 50 samples and features."""
    sizes(WIDEST=50, MOST_SUMS=N_SUMS, LEAST_SUMS=N_SUMS)


@pytest.mark.usefixtures("few_sums")
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_products_of_random_sums_have_their_stated_error(make):
    """The error of a product is about |f| |g| / sqrt(n_sums)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 30)) + rng.normal(size=(3000, 1))
    problem = posed(by_random_sums, make(X), nothing(3000))
    F = literal.scaled_features(X, "auto")
    lengths = np.sqrt((F**2).sum(axis=0))
    found, exact = problem.columns.values @ problem.columns.values.T, F.T @ F
    errors = (found - exact) / np.outer(lengths, lengths)
    off_diagonal = errors[np.triu_indices(30, 1)]
    assert problem.columns.values.shape == (30, N_SUMS)
    # For correlated features, the error is between one and sqrt(2) times this.
    assert 0.7 < np.sqrt((off_diagonal**2).mean()) * np.sqrt(N_SUMS) < 1.5
    assert np.abs(errors).max() * np.sqrt(N_SUMS) < 5


@pytest.mark.usefixtures("few_sums")
@pytest.mark.parametrize("way", ["nothing", "must-links", "some labels", "labels"])
def test_a_search_with_random_sums_approximates_the_exact_one(way):
    rng = np.random.default_rng(0)
    n, d = 2000, 40
    strong = rng.normal(size=(n, 5))
    X = strong @ rng.normal(size=(5, d)) + 0.5 * rng.normal(size=(n, d))
    known = know(way, (strong[:, 0] > 0) + (strong[:, 1] > 0.5).astype(int))
    exact = searched(posed(by_features, X, known), 5)
    found = searched(posed(by_random_sums, X, known), 5)
    assert_allclose(found.scores, exact.scores, atol=3 / np.sqrt(N_SUMS))
    assert_allclose(found.path, exact.path, atol=3 / np.sqrt(N_SUMS))


def test_large_data_use_random_sums(request):
    """A fit uses random sums if samples and features exceed the limit, with similar results."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60)) + np.outer(rng.normal(size=300), np.linspace(0, 3, 60))
    pairs = ls.Pairs(must=[(i, i + 1) for i in range(0, 40, 2)])
    exact = ls.LinkSelector(3).fit(X, pairs=pairs)
    request.getfixturevalue("few_sums")
    found = ls.LinkSelector(3).fit(X, pairs=pairs)
    assert not np.array_equal(found.scores_, exact.scores_)
    assert_allclose(found.scores_, exact.scores_, atol=3 / np.sqrt(N_SUMS))
    again = ls.LinkSelector(3).fit(X, pairs=pairs)
    assert_array_equal(again.scores_, found.scores_)
    assert_allclose(found.path_, exact.path_, atol=3 / np.sqrt(N_SUMS))
