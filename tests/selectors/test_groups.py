"""Groups of samples, such as patients, are passed on to resampling and never split or lost."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedGroupKFold,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import linkselect as ls
from linkselect._batches import row_codes
from linkselect._resampling import deal_units
from linkselect._supervision import from_labels
from linkselect.selectors._method import uses_groups


@pytest.fixture
def patients():
    """Return three rows of each of 30 patients; the last feature is the patient number."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 3)[rng.permutation(90)]
    X = rng.normal(size=(90, 6))
    y = patient % 2
    X[:, 0] += 2 * y
    X[:, -1] = patient
    return X, y, np.array([f"p{one}" for one in patient], dtype=object)


class Seen(ls.FisherScore):
    """Record the patients in every fit."""

    fits: list = []

    def _rank(self, X, *rest):
        Seen.fits.append(np.sort(X.values[:, -1]).astype(int))
        return super()._rank(X, *rest)


def stable(inner=None):
    return ls.StableSelector(inner or Seen(2), n_resamples=6, random_state=0, n_jobs=1)


NESTED = {
    "stable": lambda: stable(),
    "rules": lambda: ls.FeatureRules(stable(), exclude=[4]),
    "redundancy": lambda: ls.Redundancy(stable(), 2),
    "rules of redundancy": lambda: ls.FeatureRules(ls.Redundancy(stable()), 2),
    "stable of rules": lambda: stable(ls.FeatureRules(Seen(2))),
    "stable of stable": lambda: stable(ls.FeatureRules(stable())),
    "consensus": lambda: ls.ConsensusSelector(
        estimators=[("a", ls.VarianceScore()), ("b", stable())]
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_no_patient_is_split_however_deep_the_selector_lies(name, patients):
    X, y, patient = patients
    Seen.fits.clear()
    found = NESTED[name]().fit(X, y, groups=patient)
    assert "_groups" not in vars(found)
    counts = [np.bincount(fit, minlength=30) for fit in Seen.fits]
    assert len(counts) > 6
    assert all(set(count) <= {0, 3} for count in counts), "a fit has all rows of a patient or none"
    Seen.fits.clear()
    NESTED[name]().fit(X, y)
    assert any(set(np.bincount(fit)) > {0, 3} for fit in Seen.fits), "split without groups"


def test_halves_of_patients_are_those_of_the_literal_refits(patients):
    X, y, patient = patients
    Seen.fits.clear()
    model = stable().fit(X, y, groups=patient)
    draws = Seen.fits[1:]
    for one, other in zip(draws[::2], draws[1::2], strict=True):
        assert_array_equal(np.union1d(one, other), np.arange(30))
        assert not set(one) & set(other)
    number = X[:, -1].astype(int)
    rows = [np.flatnonzero(np.isin(number, draw)) for draw in draws]
    refits = [ls.FisherScore(2).fit(X[some], y[some]).support_ for some in rows]
    assert_allclose(model.scores_, np.mean(refits, axis=0))


def test_sides_that_must_overlap_share_whole_groups():
    groups = np.repeat(np.arange(7), 3)
    known = from_labels((groups == 0).astype(int), 21)  # one patient is ill
    for seed in range(20):
        for side in deal_units(known, 0.5, 2, np.random.RandomState(seed), groups):
            assert set(np.bincount(groups[side], minlength=7)) == {0, 3}
            assert 0 in groups[side]


def test_pairs_and_groups_together(patients):
    X, y, patient = patients
    ids = [f"s{row}" for row in range(90)]
    pairs = ls.Pairs.from_labels(y, sample_ids=ids, n_must=40, n_cannot=40, random_state=0)

    class SeenPairs(ls.ConstraintScore):
        def _rank(self, X, *rest):
            Seen.fits.append(np.sort(X.values[:, -1]).astype(int))
            return super()._rank(X, *rest)

    Seen.fits.clear()
    stable(SeenPairs(2)).fit(X, pairs=pairs, sample_ids=ids, groups=patient)
    assert all(set(np.bincount(fit, minlength=30)) <= {0, 3} for fit in Seen.fits)


# -- metadata routing --------------------------------------------------------------------------


def validated(selector, X, y, **params):
    with config_context(enable_metadata_routing=True):
        return cross_validate(
            make_pipeline(selector, KNeighborsClassifier()),
            X,
            y,
            cv=GroupKFold(5),
            params=params,
            error_score="raise",
            return_estimator=True,
        )


@pytest.mark.parametrize("name", NESTED)
def test_groups_reach_splitter_and_selector(name, patients):
    X, y, patient = patients
    found = validated(NESTED[name](), X, y, groups=patient)
    folds = GroupKFold(5).split(X, y, patient)
    differs = []
    for model, (train, _) in zip(found["estimator"], folds, strict=True):
        alone = NESTED[name]().fit(X[train], y[train], groups=patient[train])
        assert_array_equal(model[0].scores_, alone.scores_)
        split = NESTED[name]().fit(X[train], y[train])
        differs.append(not np.array_equal(model[0].scores_, split.scores_))
    assert any(differs)


def test_groups_and_pairs_by_id_reach_both(patients):
    X, y, patient = patients
    ids = np.array([f"s{row}" for row in range(90)])
    pairs = ls.Pairs.from_labels(y, sample_ids=ids, n_must=60, n_cannot=60, random_state=0)
    selector = stable(ls.ConstraintScore(2))
    found = validated(selector, X, y, groups=patient, pairs=pairs, sample_ids=ids)
    for model, (train, _) in zip(
        found["estimator"], GroupKFold(5).split(X, y, patient), strict=True
    ):
        given = {"pairs": pairs, "sample_ids": ids[train], "groups": patient[train]}
        assert_array_equal(model[0].scores_, clone(selector).fit(X[train], **given).scores_)


@pytest.mark.parametrize(
    "selector",
    [
        ls.FisherScore(),
        ls.FeatureRules(ls.FisherScore()),
        ls.Redundancy(ls.FisherScore()),
        ls.ConsensusSelector(random_state=0),
    ],
    ids=repr,
)
def test_a_selector_without_resamples_leaves_groups_to_the_splitter(selector, patients):
    X, y, patient = patients
    assert len(validated(selector, X, y, groups=patient)["test_score"]) == 5
    with pytest.raises(TypeError, match="no inner selector resamples|unexpected keyword"):
        clone(selector).fit(X, y, groups=patient)


def test_a_user_decides_by_set_fit_request(patients):
    X, y, patient = patients
    with config_context(enable_metadata_routing=True):
        alone = stable().set_fit_request(groups=False)
    found = validated(alone, X, y, groups=patient)
    train, _ = next(GroupKFold(5).split(X, y, patient))
    assert_array_equal(found["estimator"][0][0].scores_, stable().fit(X[train], y[train]).scores_)


def test_groups_in_a_grid_search(patients):
    X, y, patient = patients
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(stable(), KNeighborsClassifier()),
            {"stableselector__threshold": [0.5, 1.0]},
            cv=StratifiedGroupKFold(3),
            error_score="raise",
        ).fit(X, y, groups=patient)
    again = clone(search.best_estimator_[0]).fit(X, y, groups=patient)
    assert_array_equal(search.best_estimator_[0].scores_, again.scores_)


def test_splitters_inside_selectors_of_scikit_learn_get_groups(patients):
    X, y, patient = patients
    folds = StratifiedGroupKFold(2)
    inner = RFECV(LogisticRegression(), cv=folds)
    assert uses_groups(inner)
    assert not uses_groups(RFECV(LogisticRegression(), cv=2))
    found = ls.FeatureRules(inner).fit(X, y, groups=patient)
    expected = clone(inner).fit(X, y, groups=row_codes(patient, 90, "groups"))
    assert_array_equal(found.estimator_.ranking_, expected.ranking_)


def test_steps_of_a_pipeline_without_routing(patients):
    X, y, patient = patients
    pipe = make_pipeline(stable(), KNeighborsClassifier())
    pipe.fit(X, y, stableselector__groups=patient)
    assert_array_equal(pipe[0].scores_, stable().fit(X, y, groups=patient).scores_)


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (np.zeros(90), "There are too few groups"),
        (np.arange(5), "groups has 5 values, but X has"),
        ([np.nan, *range(89)], "groups has 1 missing value"),
    ],
)
def test_groups_that_do_not_fit(groups, problem, patients):
    X, y, _ = patients
    model = stable()
    with pytest.raises(ValueError, match=problem):
        model.fit(X, y, groups=groups)
    assert not [name for name in vars(model) if name.endswith("_") or name == "_groups"]


def test_one_group_in_each_class_is_refused(patients):
    X, y, _ = patients
    with pytest.raises(ValueError, match="or too few groups in a class"):
        stable().fit(X, y, groups=y)
