"""Labels within pairs stay groups during evaluation, and are rarely listed as pairs."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from linkselect import ConstraintScore, LinkSelector, Pairs
from linkselect.evaluation import feature_p_values, validate
from linkselect.evaluation._inputs import in_order_of_rows
from linkselect.evaluation._pair_folds import MOST_LABELS


def samples(n, n_features=12):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, n_features)), rng.integers(0, 2, n)


def test_the_selected_features_are_those_of_the_method():
    """Labels are read as class values; listed pairs are read as differences of 0."""
    X, y = samples(60)
    pairs = Pairs.from_labels(np.where(np.arange(60) < 12, y, -1)) | Pairs(must=[(50, 51)])
    found = validate(LinkSelector(4), X, pairs=pairs, n_resamples=0)
    expected = LinkSelector(4).fit(X, pairs=pairs).order_[:4]
    listed = Pairs(pairs.must, pairs.cannot, n_samples=60)
    assert_array_equal(found.selected, expected)
    assert (LinkSelector(4).fit(X, pairs=listed).order_[:4] != expected).any()


@pytest.mark.parametrize("groups", [None, np.arange(3000) // 2], ids=["rows", "groups"])
def test_p_values_do_not_list_what_labels_imply(groups):
    X, y = samples(3000, 4)
    pairs = Pairs.from_labels(y) | Pairs(must=[tuple(np.flatnonzero(y)[:2].tolist())])
    tracemalloc.start()
    feature_p_values(LinkSelector(), X, pairs=pairs, groups=groups, n_permutations=1, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6, "a list of 4.5 million pairs takes 72 MB"


def test_links_of_some_labels_are_held_out():
    n = MOST_LABELS + 500
    labels = np.arange(n) % 3
    found = in_order_of_rows(Pairs.from_labels(labels), n, selectors=[ConstraintScore()])
    assert found.n_must + found.n_cannot == MOST_LABELS * (MOST_LABELS - 1) // 2
    fewer = in_order_of_rows(Pairs.from_labels(labels[:30]), 30, selectors=[ConstraintScore()])
    assert fewer == Pairs.from_labels(labels[:30])
