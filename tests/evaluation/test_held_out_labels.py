"""Held-out labels when pairs are given as well."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

from linkselect import ConstraintScore, LinkSelector, Pairs
from linkselect.evaluation import choose_number, validate
from linkselect.evaluation._held_out_labels import LabelFolds
from linkselect.pairs import _groupings


def wine_with_both(n_labelled=90, n_links=15):
    """Return samples, labels of some of them, pairs, and both combined."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    some = np.full(len(y), -1)
    rows = rng.permutation(len(y))[:n_labelled]
    some[rows] = y[rows]
    links = Pairs.from_labels(y, n_must=n_links, n_cannot=n_links, random_state=0)
    both = links | Pairs.from_labels(some)
    return MinMaxScaler().fit_transform(X), some, links, both


def fit_without(selector, X, some, links, held_out):
    """Fit to all samples but some, with their labels and the pairs between them."""
    left = np.setdiff1d(np.arange(len(X)), held_out)
    known = links.restrict(left.tolist()) | Pairs.from_labels(some[left], sample_ids=left.tolist())
    return clone(selector).fit(X[left], pairs=known, sample_ids=left.tolist())


@pytest.mark.parametrize("selector", [LinkSelector(3), ConstraintScore(3)])
def test_labels_are_held_out_with_the_pairs_that_name_them(selector):
    X, some, links, both = wine_with_both()
    found = validate(selector, X, some, pairs=both)
    assert (found.estimate.measure, found.estimate.n_held_out) == ("1-NN accuracy", 90)
    labelled = np.flatnonzero(some >= 0)
    expected = []
    for repeat in range(found.estimate.n_repeats):
        folds = StratifiedKFold(5, shuffle=True, random_state=repeat)
        for train, test in folds.split(labelled, some[labelled]):
            train, test = labelled[train], labelled[test]
            best = fit_without(selector, X, some, links, test).order_[:3]
            nearest = KNeighborsClassifier(1).fit(X[train][:, best], some[train])
            expected.append(nearest.score(X[test][:, best], some[test]))
    assert found.estimate.value == pytest.approx(np.mean(expected))
    assert found.p_value == 1 / 40
    assert found.n_resamples == 50


def test_labels_and_pairs_of_noise_are_chance():
    claimed, values = 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 40)), rng.integers(0, 2, 80)
        some = np.where(np.arange(80) < 40, y, -1)
        both = Pairs.from_labels(y, n_must=40, n_cannot=40, random_state=seed)
        found = validate(LinkSelector(5), X, some, pairs=both | Pairs.from_labels(some))
        claimed += bool(found.better_than_chance)
        values.append(found.estimate.value)
    assert claimed <= 1
    assert np.mean(values) == pytest.approx(0.5, abs=0.07)


def test_pairs_that_labels_imply_are_never_listed(monkeypatch):
    X, some, _, both = wine_with_both()
    # There may be 20,000 labels, which imply 200 million pairs.
    monkeypatch.setattr(_groupings, "list_links", None)
    assert validate(LinkSelector(3), X, some, pairs=both).estimate.n_held_out == 90


def test_pairs_move_with_the_labels():
    X, some, _, both = wine_with_both()
    folds = LabelFolds(X, some, 3, 0, pairs=both, ids=range(len(X)))
    to = np.random.default_rng(1).permutation(len(X))
    inverse = np.argsort(to)
    # Permuting the supervision is equivalent to permuting the rows of X.
    exchanged = LabelFolds(X[to], some, 3, 0, pairs=both, ids=range(len(X)))
    for moved, fold in zip(folds.moved(to).folds, exchanged.folds, strict=True):
        assert inverse[moved.test].tolist() == fold.test.tolist()
        ours = folds.moved(to).fit(LinkSelector(3), moved)
        theirs = exchanged.fit(LinkSelector(3), fold)
        np.testing.assert_allclose(ours.scores_, theirs.scores_)


def test_numbers_are_chosen_inside_a_fold_by_what_it_leaves():
    X, some, links, both = wine_with_both()
    folds = LabelFolds(X, some, 3, 0, pairs=both, ids=range(len(X)))
    fold = folds.folds[0]
    inside = folds.inside(fold, 3)
    left = np.setdiff1d(np.arange(len(X)), fold.test)
    held_out = np.concatenate([fold.test, left[inside.folds[0].test]])
    expected = fit_without(LinkSelector(3), X, some, links, held_out)
    found = inside.fit(LinkSelector(3), inside.folds[0])
    np.testing.assert_allclose(found.scores_, expected.scores_)
    number = choose_number(ConstraintScore().fit(X, pairs=both), X, some, pairs=both)
    assert (number.rule, number.measure) == ("held-out accuracy", "1-NN accuracy")


def test_few_labels_leave_the_pairs_to_be_held_out():
    X, some, _, both = wine_with_both(n_labelled=12)
    assert validate(LinkSelector(3), X, some, pairs=both).estimate.measure == "pair AUC"


def test_pairs_chosen_by_looking_at_the_samples_are_not_permuted():
    X, some, links, _ = wine_with_both()
    chosen = Pairs(links.must, links.cannot, adaptive=links.must)
    found = validate(LinkSelector(3), X, some, pairs=chosen | Pairs.from_labels(some))
    # Too few for 39 permutations of all samples, so the held-out ones are permuted 999 times.
    assert found.p_value < 1 / 40
