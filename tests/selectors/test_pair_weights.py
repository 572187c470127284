"""Every method for pairs uses their weights, or raises an error that names the method."""

import re
from itertools import combinations, product
from typing import ClassVar

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

import linkselect as ls
from linkselect import Pairs
from linkselect._search.targets import match_sigma, pair_target
from linkselect._supervision import BY_WEIGHT
from linkselect.asking import PairQueries
from linkselect.evaluation import PairKFold, pair_worth, validate
from tests.helpers import literal
from tests.helpers.estimators import CLUSTERERS, PAIRWISE

MUST, CANNOT = [(0, 1), (2, 3), (10, 11)], [(0, 10), (1, 11), (4, 12)]
USE_WEIGHTS = {
    "ConstraintScore",
    "LSDF",
    "LaplacianConstraintScore",
    "LinkSelector",
    "SCGS",
    "SimilarityConstraintScore",
}


def some_data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 6)) + np.repeat([0.0, 1.0], 10)[:, None]


def name_of(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", [*PAIRWISE, *CLUSTERERS], ids=repr)
def test_weights_are_used_or_refused_by_name(estimator):
    X = some_data()
    weighted = Pairs(MUST, CANNOT, must_weights=[30, 1, 0.1], cannot_weights=[1, 9, 1])
    uses = name_of(estimator) in USE_WEIGHTS
    if getattr(estimator, "mode", "supervised") != "supervised":
        uses = False
    if not uses:
        message = rf"^{name_of(estimator)}\S* does not use weights of pairs\. Omit must_weights and"
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, pairs=weighted)
        clone(estimator).fit(X, pairs=Pairs(MUST, CANNOT, must_weights=[1, 1, 1]))
        return
    found, plain = (
        clone(estimator).fit(X, pairs=pairs).scores_ for pairs in (weighted, Pairs(MUST, CANNOT))
    )
    assert np.abs(found - plain).max() > 1e-3


def test_the_refusal_names_every_method_that_uses_weights():
    found = {name_of(one) for one in PAIRWISE if one.uses_weights}
    assert found == USE_WEIGHTS
    named = re.sub(r" \(supervised\)|,| or", "", BY_WEIGHT).split()
    assert set(named) == USE_WEIGHTS


@pytest.mark.parametrize("wrap", [ls.StableSelector, ls.Redundancy, ls.FeatureRules])
def test_wrappers_pass_weights_on(wrap):
    X, weighted = some_data(), Pairs(MUST, CANNOT, must_weights=[30, 1, 0.1])
    with pytest.raises(ValueError, match="CompensatedLaplacianScore does not use weights of pairs"):
        wrap(ls.CompensatedLaplacianScore()).fit(X, pairs=weighted)
    wrap(ls.ConstraintScore()).fit(X, pairs=weighted)


def test_a_consensus_passes_weights_to_its_members():
    X, weighted = some_data(), Pairs(MUST, CANNOT, must_weights=[30, 1, 0.1])
    members = [("constraint", ls.ConstraintScore()), ("scgs", ls.SCGS())]
    found = ls.ConsensusSelector(estimators=members).fit(X, pairs=weighted)
    for name, member in members:
        alone = clone(member).fit(X, pairs=weighted)
        np.testing.assert_array_equal(found.named_estimators_[name].scores_, alone.scores_)
    refusing = [*members, ("cls", ls.ConstrainedLaplacianScore())]
    with pytest.raises(ValueError, match="'cls': ConstrainedLaplacianScore does not use weights"):
        ls.ConsensusSelector(estimators=refusing).fit(X, pairs=weighted)
    with pytest.raises(ValueError, match="ConsensusSelector with its default members does not use"):
        ls.ConsensusSelector().fit(X, pairs=weighted)


class Spy(ls.ConstraintScore):
    """Record the weights of must-links in every fit."""

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
    # Permutations join other samples, but no pair here has the weight 1.
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


# -- a weight of 2 is the pair counted twice in the literal formula --------------------------------

WEIGHTED = Pairs(MUST, CANNOT, must_weights=[2, 1, 0.5], cannot_weights=[1, 3, 0.25])


def test_lsdf_is_the_weighted_sum():
    X = some_data()
    M, C = literal.weighted_links(20, WEIGHTED)
    free = ~(M + C).any(axis=1)
    found = ls.LSDF(gamma=7.0).fit(X, pairs=WEIGHTED).scores_
    np.testing.assert_allclose(found, literal.lsdf(X, M, C, free, 7.0, 5), rtol=1e-9)


def test_laplacian_constraint_score_is_the_weighted_sum():
    X = some_data()
    found = ls.LaplacianConstraintScore(sigma=2.0).fit(X, pairs=WEIGHTED).scores_
    expected = literal.laplacian_constraint(X, *literal.weighted_links(20, WEIGHTED), 2.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("put", [np.asarray, "array_api_strict"], ids=["memory", "device"])
def test_the_similarity_search_is_that_of_the_weighted_sum(put):
    X = some_data()
    M, C = literal.weighted_links(20, WEIGHTED)
    order, path, scores = literal.similarity_search(X, 1.5, (M > 0) * 1.0, M + C, 6)
    if isinstance(put, str):
        put = pytest.importorskip(put).asarray
    with config_context(array_api_dispatch=True):
        found = ls.SimilarityConstraintScore(6, sigma=1.5).fit(put(X), pairs=WEIGHTED)
    np.testing.assert_array_equal(found.order_, order)
    np.testing.assert_allclose(found.path_, path, rtol=1e-9)
    np.testing.assert_allclose(found.scores_, scores, rtol=1e-9)
    # max_pairs above the number of pairs: all are used, but summed in another order.
    drawn = ls.SimilarityConstraintScore(6, sigma=1.5, max_pairs=100).fit(X, pairs=WEIGHTED)
    np.testing.assert_allclose(drawn.path_, path, rtol=1e-9)


def test_drawn_pairs_estimate_the_weighted_sum():
    rng = np.random.default_rng(3)
    X = rng.random((30, 3))
    must = rng.permutation(list(combinations(range(15), 2)))[:60]
    cannot = rng.permutation(list(product(range(15), range(15, 30))))[:90]
    own = rng.random(60) * 5 + 0.1, rng.random(90) * 5 + 0.1
    pairs = Pairs(must, cannot, must_weights=own[0], cannot_weights=own[1])
    exact = ls.SimilarityConstraintScore(3).fit(X, pairs=pairs)
    drawn = [
        ls.SimilarityConstraintScore(3, max_pairs=40, random_state=seed).fit(X, pairs=pairs)
        for seed in range(300)
    ]
    scores = np.array([one.scores_ for one in drawn])
    error = scores.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(scores.mean(axis=0) - exact.scores_) < 4 * error).all()
    same = [one for one in drawn if one.order_[0] == exact.order_[0]]
    deviation = np.std([one.path_[0] for one in drawn])
    assert np.mean([one.standard_error_[0] for one in same]) == pytest.approx(deviation, rel=0.2)


def test_the_matched_width_counts_a_weight_of_2_as_two_pairs():
    X = some_data()
    must, cannot = np.array(MUST), np.array(CANNOT)
    twice = match_sigma(
        X, pair_target(np.vstack([must, must[:1]]), np.vstack([cannot[[2]], cannot]))
    )
    own = np.array([2.0, 1, 1]), np.array([1.0, 1, 2])
    assert match_sigma(X, pair_target(must, cannot, own=own)) == pytest.approx(twice, rel=1e-9)
    assert match_sigma(X, pair_target(must, cannot)) != pytest.approx(twice, rel=1e-3)
    pairs = Pairs(MUST, CANNOT, must_weights=own[0], cannot_weights=own[1])
    found = ls.SimilarityConstraintScore(sigma="target").fit(X, pairs=pairs)
    assert found.sigma_ == pytest.approx(twice, rel=1e-9)


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
