"""Evaluation with groups also fits with groups: a StableSelector never splits a group."""

import numpy as np
import pytest

from linkselect import (
    ConstraintScore,
    FeatureRules,
    FisherScore,
    LinkSelector,
    Pairs,
    StableSelector,
    compare,
)
from linkselect.evaluation import choose_number, feature_p_values, pair_auc_curve, validate
from linkselect.evaluation._held_out_labels import LabelFolds

FITS: list = []


class Seen:
    """Record the patients of every fit; the last feature contains their numbers."""

    def _rank(self, X, *rest):
        FITS.append(np.bincount(X.values[:, -1].astype(int)))
        return super()._rank(X, *rest)


class Labels(Seen, FisherScore):
    """Uses labels."""


class Links(Seen, ConstraintScore):
    """Uses pairs."""


def stable(kind):
    inner = StableSelector(kind(3), 3, n_resamples=2, random_state=0, n_jobs=1)
    return FeatureRules(inner, 3)


def by_pairs(X, y, patient):
    return {"pairs": Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)}


MEASURES = {
    "validate": lambda X, y, g: validate(stable(Labels), X, y, groups=g, n_resamples=2),
    "validate, pairs": lambda X, y, g: validate(
        stable(Links), X, groups=g, n_resamples=2, **by_pairs(X, y, g)
    ),
    "choose_number": lambda X, y, g: choose_number(
        StableSelector(Labels(3), 3, n_resamples=2, random_state=0).fit(X, y, groups=g),
        X,
        y,
        groups=g,
    ),
    "feature_p_values": lambda X, y, g: feature_p_values(
        stable(Labels), X, y, groups=g, n_permutations=3
    ),
    "compare": lambda X, y, g: compare(
        {"stable": stable(Labels)}, X, y, groups=g, n_features=[3], n_splits=3
    ),
    "compare, pairs": lambda X, y, g: compare(
        {"stable": stable(Links)}, X, groups=g, n_features=[3], **by_pairs(X, y, g)
    ),
    "pair_auc_curve": lambda X, y, g: pair_auc_curve(
        stable(Links), X, by_pairs(X, y, g)["pairs"], [3], groups=g
    ),
}


@pytest.mark.parametrize("groups", [np.zeros(24, dtype=int), np.arange(24) % 2])
def test_groups_that_cannot_be_halved_give_no_frequencies(groups):
    X = np.random.default_rng(0).normal(size=(24, 40))
    found = validate(FisherScore(5), X, np.arange(24) % 2, groups=groups)
    assert (found.frequencies, found.n_resamples) == ((), 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MEASURES)
def test_no_fit_splits_a_patient(name):
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 2)
    X, y = rng.normal(size=(120, 8)), patient % 2
    X[:, 0] += 3 * y
    X[:, -1] = patient
    FITS.clear()
    MEASURES[name](X, y, patient)
    assert len(FITS) > 5
    assert all(set(counts) <= {0, 2} for counts in FITS)


class Rows(Seen, LinkSelector):
    """Uses labels and pairs."""


def partly_labelled(rng, n_patients=40):
    """Return three samples per patient, one of them labelled; pairs join the other two."""
    patient = np.repeat(np.arange(n_patients), 3)
    X = rng.normal(size=(len(patient), 8))
    X[:, -1] = patient
    y = rng.permutation(np.arange(n_patients) % 2)[patient]
    known = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    rest = np.flatnonzero(known < 0)
    links = Pairs.from_labels(
        y[rest], n_must=30, n_cannot=30, random_state=0, sample_ids=rest.tolist()
    )
    return X, known, patient, links | Pairs.from_labels(known)


@pytest.mark.filterwarnings("ignore")
def test_unlabelled_rows_of_a_held_out_patient_do_not_train():
    """Pairs would reveal the class of a held-out patient through them."""
    X, known, patient, both = partly_labelled(np.random.default_rng(0))
    FITS.clear()
    found = validate(Rows(3), X, known, pairs=both, groups=patient, n_resamples=0)
    assert found.estimate.measure == "1-NN accuracy"
    assert len(FITS) > 100
    assert all(set(counts) <= {0, 3} for counts in FITS)


def test_rows_that_pairs_name_change_places_with_their_patient():
    X, known, patient, both = partly_labelled(np.random.default_rng(0))
    folds = LabelFolds(X, known, 3, 0, groups=patient, pairs=both, ids=range(len(X)))
    ways, moving = folds.arrangements(), np.isin(np.arange(len(X)), both.ids)
    for seed in range(5):
        to = ways.draw(np.random.RandomState(seed))
        assert (to != np.arange(len(X)))[moving].mean() > 0.5
        np.testing.assert_array_equal(to[~moving], np.flatnonzero(~moving))
        np.testing.assert_array_equal(known[to] >= 0, known >= 0)
        for one in np.unique(patient):
            assert len(np.unique(patient[to[(patient == one) & moving]])) == 1


def test_patients_without_labels_keep_their_place():
    """The test permutes labels, and these patients have none."""
    X, known, patient, both = partly_labelled(np.random.default_rng(0))
    known[patient >= 30] = -1
    ways = LabelFolds(X, known, 3, 0, groups=patient, pairs=both, ids=range(len(X))).arrangements()
    assert set(patient[ways.rows]) == set(range(30))
