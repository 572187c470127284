"""EnsembleCLS against its members."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import linkselect as ls
from linkselect._resampling import draw_bag, draw_subspaces
from linkselect._supervision import from_labels
from tests.helpers.fitting import fitted
from tests.helpers.problems import partly_labelled


def test_ensemble_is_the_mean_over_its_members():
    X, y = partly_labelled(0, 30, 6)
    found = ls.EnsembleCLS(n_estimators=7, max_features=0.4, random_state=3).fit(X, y)
    rng = np.random.RandomState(3)
    known = from_labels(y, 30)
    bags = [draw_bag(known, 0.7, 6, rng) for _ in range(7)]
    subspaces = draw_subspaces(6, 2, 7, rng)
    sums, counts = np.zeros(6), np.zeros(6)
    for bag, subspace in zip(bags, subspaces, strict=True):
        member = ls.ConstrainedLaplacianScore(variant="2014").fit(X[bag][:, subspace], y[bag])
        sums[subspace] += member.scores_
        counts[subspace] += 1
    assert_allclose(found.scores_, sums / counts, rtol=1e-12)


def test_one_member_with_everything_is_the_score_itself():
    X, y = partly_labelled(0, 30, 6)
    for given in ({"y": y}, {"pairs": ls.Pairs(must=[(0, 4)], cannot=[(1, 5)])}, {}):
        alone = ls.ConstrainedLaplacianScore(variant="2014").fit(X, **given)
        found = ls.EnsembleCLS(n_estimators=1, max_samples=1.0, max_features=1.0).fit(X, **given)
        assert_allclose(found.scores_, alone.scores_, rtol=1e-12)


def test_ensemble_repeats_itself_on_any_number_of_threads():
    X, y = partly_labelled(1, 40, 9)
    first = ls.EnsembleCLS(n_estimators=20, random_state=0, n_jobs=1).fit(X, y).scores_
    again = ls.EnsembleCLS(n_estimators=20, random_state=0, n_jobs=3).fit(X, y).scores_
    other = ls.EnsembleCLS(n_estimators=20, random_state=1).fit(X, y).scores_
    assert_array_equal(again, first)
    assert (other != first).any()


def test_few_members_take_larger_subspaces():
    X, y = partly_labelled(1, 40, 9)
    found = ls.EnsembleCLS(n_estimators=2, max_features=0.1, random_state=0).fit(X, y)
    assert np.isfinite(found.scores_).all()


def test_a_feature_constant_in_some_bags_is_averaged_over_the_others():
    X, y = partly_labelled(1, 40, 4)
    X[:, 2] = 0.1
    X[7, 2] = 0.3
    found = fitted(ls.EnsembleCLS(n_estimators=30, max_samples=0.4, random_state=0), X, y)
    assert np.isfinite(found.scores_).all()
