import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine

from linkselect import (
    LSDF,
    CompensatedLaplacianScore,
    ConsensusSelector,
    ConstrainedLaplacianScore,
    ConstraintScore,
    EnsembleCLS,
    Pairs,
    StableSelector,
    VarianceScore,
)
from linkselect._samples import as_samples
from linkselect._supervision import from_labels, from_pairs
from linkselect.evaluation import pair_worth
from linkselect.pairs import PairConflictError

X, Y = load_wine(return_X_y=True)
PAIRS = Pairs.from_labels(Y, n_must=12, n_cannot=9, random_state=0)
CRITERIA = pytest.mark.parametrize(
    "selector",
    [ConstraintScore(4), ConstraintScore(4, criterion="difference", weight=0.3)],
    ids=["ratio", "difference"],
)


def by_refitting(selector, X, pairs, **options):
    """Yield the selector fitted without each pair."""
    for kind in ("must", "cannot"):
        for left_out in getattr(pairs, kind):
            links = {"must": pairs.must, "cannot": pairs.cannot}
            links[kind] = [link for link in links[kind] if link != left_out]
            yield (
                left_out,
                kind,
                clone(selector).fit(X, pairs=Pairs(**links), **options),
            )


@CRITERIA
@pytest.mark.parametrize("kind", [np.asarray, csr_array, pd.DataFrame])
def test_closed_form_is_what_refitting_gives(selector, kind):
    samples = kind(X)
    fitted = selector.fit(samples, pairs=PAIRS)
    worth = pair_worth(selector, samples, PAIRS)
    assert len(worth) == 21
    for one, (pair, link, again) in zip(worth, by_refitting(selector, samples, PAIRS), strict=True):
        assert ((one.a, one.b), one.link) == (pair, link)
        change = again.scores_ - fitted.scores_
        scale = np.abs(again.scores_) + np.abs(fitted.scores_)
        np.testing.assert_allclose(one.score_change / scale, change / scale, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(one.rank_change, again.ranking_ - fitted.ranking_)
        assert one.rank_shift == np.abs(again.ranking_ - fitted.ranking_).mean()
        assert one.n_replaced == (fitted.support_ & ~again.support_).sum()
        moved = np.abs(one.rank_change)[list(one.moved)]
        assert len(one.moved) <= 5
        assert sorted(moved, reverse=True) == moved.tolist()
        assert moved.sum() == np.sort(np.abs(one.rank_change))[-5:].sum()


@CRITERIA
def test_constant_and_undefined_features(selector):
    digits, labels = load_digits(return_X_y=True)
    pairs = Pairs.from_labels(labels, n_must=6, n_cannot=6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = selector.fit(digits, pairs=pairs)
        worth = pair_worth(selector, digits, pairs)
        refitted = list(by_refitting(selector, digits, pairs))
    for one, (_, _, again) in zip(worth, refitted, strict=True):
        with np.errstate(invalid="ignore"):
            change = np.where(again.scores_ == fitted.scores_, 0.0, again.scores_ - fitted.scores_)
        np.testing.assert_allclose(one.score_change, change, rtol=1e-12, atol=1e-9)
        np.testing.assert_array_equal(one.rank_change, again.ranking_ - fitted.ranking_)


def test_what_is_left_of_a_huge_sum_is_no_rounding():
    samples = X.copy()
    samples[PAIRS.must[0][0]] += 1e9
    selector = ConstraintScore()
    found = selector._scores_without_each_pair(as_samples(samples), from_pairs(PAIRS, len(X)))
    for scores, (_, _, again) in zip(found, by_refitting(selector, samples, PAIRS), strict=True):
        np.testing.assert_allclose(scores, again.scores_, rtol=1e-12)


def test_labels_have_no_pairs_to_leave_out():
    assert (
        ConstraintScore()._scores_without_each_pair(as_samples(X), from_labels(Y, len(X))) is None
    )


@pytest.mark.parametrize(
    "selector",
    [
        LSDF(4),
        ConstrainedLaplacianScore(4),
        StableSelector(ConstraintScore(4), n_resamples=20, random_state=0),
    ],
    ids=lambda selector: type(selector).__name__,
)
def test_other_selectors_are_refitted(selector):
    pairs = Pairs(must=PAIRS.must[:3], cannot=PAIRS.cannot[:3])
    fitted = selector.fit(X, pairs=pairs)
    worth = pair_worth(selector, X, pairs, n_jobs=2)
    for one, (_, _, again) in zip(worth, by_refitting(selector, X, pairs), strict=True):
        np.testing.assert_array_equal(one.rank_change, again.ranking_ - fitted.ranking_)


def test_same_for_any_number_of_threads():
    one, two = (pair_worth(ConstraintScore(), X, PAIRS, n_jobs=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert a[:6] == b[:6]
        np.testing.assert_array_equal(a.score_change, b.score_change)


def test_names_and_ids():
    frame = pd.DataFrame(X, index=[f"w{i}" for i in range(len(X))]).add_prefix("f")
    pairs = Pairs(*([(f"w{a}", f"w{b}") for a, b in kind] for kind in (PAIRS.must, PAIRS.cannot)))
    worth, plain = (
        pair_worth(ConstraintScore(), frame, pairs),
        pair_worth(ConstraintScore(), X, PAIRS),
    )
    for one, other in zip(worth, plain, strict=True):
        assert one.a == f"w{other.a}"
        assert one.moved == tuple(f"f{feature}" for feature in other.moved)
        np.testing.assert_array_equal(one.rank_change, other.rank_change)
    again = pair_worth(ConstraintScore(), X, pairs, sample_ids=iter(frame.index), n_moved=0)
    assert [one.rank_shift for one in again] == [one.rank_shift for one in worth]
    assert {one.moved for one in again} == {()}


def test_a_pair_that_is_needed():
    pairs = Pairs(must=PAIRS.must[:1], cannot=PAIRS.cannot[:2])
    needed, *others = pair_worth(ConstraintScore(), X, pairs)
    assert np.isnan([needed.rank_shift, needed.n_replaced, *needed.score_change]).all()
    assert needed.moved == ()
    assert not len(needed.rank_change)
    assert np.isfinite([one.rank_shift for one in others]).all()
    pairs = Pairs(must=PAIRS.must[:2], cannot=PAIRS.cannot[:1])
    assert np.isnan(pair_worth(ConstraintScore(), X, pairs)[2].rank_shift)
    # Refitting gives the same result.
    pairs = Pairs(must=PAIRS.must[:2], cannot=PAIRS.cannot[:1])
    assert np.isnan(pair_worth(LSDF(), X, pairs)[2].rank_shift)


@pytest.mark.parametrize(
    "selector",
    [ConsensusSelector(), CompensatedLaplacianScore(), ConstraintScore(criterion="difference")],
    ids=lambda selector: type(selector).__name__,
)
def test_the_only_pair_has_nothing_to_be_compared_with(selector):
    # Some of them could rank without any pair, but that ranking would not be comparable.
    (only,) = pair_worth(selector, X, Pairs(must=[(0, 1)]))
    assert np.isnan([only.rank_shift, only.n_replaced, *only.score_change]).all()
    assert (only.moved, only.rank_change.tolist()) == ((), [])


def test_draws_do_not_move_features():
    pairs = Pairs(PAIRS.must[:2], PAIRS.cannot[:2])
    selector = ConsensusSelector(estimators=[("drawn", EnsembleCLS(n_estimators=2))])
    one, two = (pair_worth(selector, X, pairs) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.rank_change, b.rank_change)


@pytest.mark.parametrize("n_moved", [2.5, -1, "2", None])
def test_the_number_of_named_features_is_a_count(n_moved):
    with pytest.raises(ValueError, match="n_moved=.* it must be a whole number"):
        pair_worth(ConstraintScore(), X, PAIRS, n_moved=n_moved)


def test_a_score_that_stays_infinite_does_not_change():
    # No cannot-link differs in the second feature, so its ratio is infinite.
    X = np.array([[0.0, 0.0], [0.3, 1.0], [1.0, 0.0], [1.2, 1.0], [2.0, 0.0], [2.5, 1.0]])
    pairs = Pairs(must=[(0, 1), (2, 3), (4, 5)], cannot=[(0, 2), (1, 3), (2, 4)])
    assert np.isinf(ConstraintScore().fit(X, pairs=pairs).scores_[1])
    for one in pair_worth(ConstraintScore(), X, pairs):
        assert one.score_change[1] == 0


def test_one_pair_and_one_kind():
    with pytest.raises(ValueError, match="needs a cannot-link"):
        pair_worth(ConstraintScore(), X, Pairs(must=[(0, 1)]))
    with pytest.raises(ValueError, match="needs a must-link"):
        pair_worth(ConstraintScore(), X, Pairs(cannot=[(0, 70), (1, 80)]))
    (only,) = pair_worth(ConstraintScore(criterion="difference"), X, Pairs(must=[(0, 1)]))
    assert np.isnan(only.rank_shift)
    chain = Pairs(must=[(0, 1), (1, 2)])
    assert all(
        np.isfinite(one.rank_shift)
        for one in pair_worth(ConstraintScore(criterion="difference"), X, chain)
    )
    with pytest.raises(ValueError, match="no pairs"):
        pair_worth(ConstraintScore(), X, Pairs())


def test_contradicting_pairs():
    pairs = Pairs(must=[(0, 1), (1, 2), (5, 6)], cannot=[(0, 2), (0, 70), (1, 90)])
    with pytest.raises(PairConflictError):
        pair_worth(ConstraintScore(), X, pairs)
    selector = ConstraintScore(on_conflict="drop")
    fitted = selector.fit(X, pairs=pairs)
    worth = pair_worth(selector, X, pairs)
    for one, (_, _, again) in zip(worth, by_refitting(selector, X, pairs), strict=True):
        # Without (0, 1), the cannot-link (0, 2) is used again.
        np.testing.assert_array_equal(one.rank_change, again.ranking_ - fitted.ranking_)
    assert worth[3].rank_shift == 0.0


def test_pairs_of_absent_samples():
    ids = range(100, 100 + len(X))
    pairs = Pairs(must=[(100, 101), (102, 103), (7, 100)], cannot=[(100, 170), (101, 180)])
    assert len(pair_worth(ConstraintScore(), X, pairs, ids)) == 4
    with pytest.raises(ValueError, match="No pair has both of its samples in X"):
        pair_worth(ConstraintScore(), X, Pairs(must=[(7, 8)]), ids)
    with pytest.raises(ValueError, match="contains row 999"):
        pair_worth(ConstraintScore(), X, Pairs(must=[(0, 999)]))


def test_identical_samples():
    samples = np.repeat([[0.0, 1.0], [1.0, 1.0]], 4, axis=0)
    samples[0, 1] = 2.0
    pairs = Pairs(must=[(0, 1), (2, 3)], cannot=[(1, 5), (2, 6)])
    worth = pair_worth(ConstraintScore(1), samples, pairs)
    assert [one.rank_shift for one in worth] == [0.0, 0.0, 0.0, 0.0]


def test_what_is_refused():
    with pytest.raises(ValueError, match="does not use pairs"):
        pair_worth(VarianceScore(), X, PAIRS)
    with pytest.raises(ValueError, match="n_moved=-1"):
        pair_worth(ConstraintScore(), X, PAIRS, n_moved=-1)
    with pytest.raises(TypeError, match="must be a linkselect.Pairs"):
        pair_worth(ConstraintScore(), X, [(0, 1)])


def test_ten_thousand_pairs():
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 400)
    pairs = Pairs.from_labels(labels, n_must=5000, n_cannot=5000, random_state=0)
    worth = pair_worth(ConstraintScore(), random.normal(size=(400, 30)), pairs)
    assert len(worth) == 10_000
    assert np.isfinite([one.rank_shift for one in worth]).all()
