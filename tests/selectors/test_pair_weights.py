"""Every method that takes pairs uses their weights or refuses them by name."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

import linkselect as ls
from linkselect import Pairs
from linkselect.asking import PairQueries
from linkselect.evaluation import PairKFold, pair_worth, validate
from tests.helpers.estimators import CLUSTERERS, PAIRWISE

MUST, CANNOT = [(0, 1), (2, 3), (10, 11)], [(0, 10), (1, 11), (4, 12)]
USE_WEIGHTS = {"ConstraintScore", "LSDF", "LaplacianConstraintScore", "LinkSelector"}


def some_data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 6)) + np.repeat([0.0, 1.0], 10)[:, None]


def name_of(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", [*PAIRWISE, *CLUSTERERS], ids=repr)
def test_weights_are_used_or_refused_by_name(estimator):
    X = some_data()
    weighted = Pairs(MUST, CANNOT, must_weights=[30, 1, 0.1], cannot_weights=[1, 9, 1])
    if name_of(estimator) not in USE_WEIGHTS:
        message = f"{name_of(estimator)} does not use weights of pairs. Leave must_weights and"
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, pairs=weighted)
        clone(estimator).fit(X, pairs=Pairs(MUST, CANNOT, must_weights=[1, 1, 1]))
        return
    found, plain = (
        clone(estimator).fit(X, pairs=pairs).scores_ for pairs in (weighted, Pairs(MUST, CANNOT))
    )
    assert np.abs(found - plain).max() > 1e-3


@pytest.mark.parametrize("wrap", [ls.StableSelector, ls.Redundancy])
def test_wrappers_hand_weights_on(wrap):
    X, weighted = some_data(), Pairs(MUST, CANNOT, must_weights=[30, 1, 0.1])
    with pytest.raises(ValueError, match="SCGS does not use weights of pairs"):
        wrap(ls.SCGS()).fit(X, pairs=weighted)
    wrap(ls.ConstraintScore()).fit(X, pairs=weighted)


class Spy(ls.ConstraintScore):
    """Remembers the weights of must-links of every fit."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None, *, pairs=None, sample_ids=None):
        self.seen.append(weights_of(pairs))
        return super().fit(X, y, pairs=pairs, sample_ids=sample_ids)


def weights_of(pairs):
    return dict(zip(pairs.must, pairs.must_weights, strict=True))


def many_pairs():
    links = [(2 * i, 2 * i + 1) for i in range(10)]
    cannot = [(i, i + 10) for i in range(0, 10, 2)]
    return Pairs(links, cannot, must_weights=np.geomspace(0.01, 100, 10), n_samples=20)


@pytest.mark.parametrize(
    "run",
    [
        lambda X, pairs: ls.StableSelector(Spy(), n_resamples=3, random_state=0).fit(
            X, pairs=pairs
        ),
        lambda X, pairs: validate(Spy(), X, pairs=pairs),
    ],
    ids=["StableSelector", "validate"],
)
def test_a_part_of_the_pairs_keeps_its_weights(run, monkeypatch):
    monkeypatch.setattr(Spy, "seen", [])
    pairs = many_pairs()
    run(some_data(), pairs)
    assert any(len(found) < 10 for found in Spy.seen)
    # Permutations name other samples, but no pair has the weight 1 here.
    assert all(set(found.values()) <= set(pairs.must_weights) for found in Spy.seen)


def test_folds_of_pairs_keep_the_weights():
    pairs = many_pairs()
    for sides in PairKFold(2, random_state=0).split(pairs):
        for side in sides:
            assert 0 < len(weights_of(side)) < 10
            assert weights_of(side).items() <= weights_of(pairs).items()


@pytest.mark.parametrize("criterion", ["ratio", "difference"])
def test_constraint_score_is_the_weighted_sum(criterion):
    X = some_data()
    must_weights, cannot_weights = np.array([2.0, 1.0, 0.5]), np.array([1.0, 3.0, 1.0])
    pairs = Pairs(MUST, CANNOT, must_weights=must_weights, cannot_weights=cannot_weights)
    together, apart = (
        sum(w * (X[a] - X[b]) ** 2 for (a, b), w in zip(links, weights, strict=True))
        for links, weights in ((MUST, must_weights), (CANNOT, cannot_weights))
    )
    selector = ls.ConstraintScore(criterion=criterion)
    expected = together / apart if criterion == "ratio" else together - selector.weight * apart
    np.testing.assert_allclose(selector.fit(X, pairs=pairs).scores_, expected)


def test_the_worth_of_weighted_pairs_is_that_of_fits_without_each():
    X, pairs = some_data(), Pairs(MUST, CANNOT, must_weights=[30, 1, 0.1])
    full = ls.ConstraintScore().fit(X, pairs=pairs).scores_
    found = {(one.a, one.b): one for one in pair_worth(ls.ConstraintScore(), X, pairs)}
    for pair in MUST:
        kept = {one: w for one, w in zip(MUST, [30, 1, 0.1], strict=True) if one != pair}
        without = Pairs(kept, CANNOT, must_weights=kept.values())
        again = ls.ConstraintScore().fit(X, pairs=without).scores_
        np.testing.assert_allclose(np.abs(found[pair].score_change), np.abs(again - full))


def test_questions_do_not_use_weights():
    pairs = Pairs(MUST, CANNOT, must_weights=[30, 1, 0.1])
    with pytest.raises(ValueError, match="PairQueries does not use weights of pairs"):
        PairQueries(some_data(), pairs=pairs)
