"""What is measured with groups also fits with them: a StableSelector inside splits none."""

import numpy as np
import pytest

from linkselect import ConstraintScore, FeatureRules, FisherScore, Pairs, StableSelector, compare
from linkselect.evaluation import choose_number, feature_p_values, pair_auc_curve, validate

FITS: list = []


class Seen:
    """Remember the patients of every fit, whose numbers the last feature has."""

    def _rank(self, X, *rest):
        FITS.append(np.bincount(X.values[:, -1].astype(int)))
        return super()._rank(X, *rest)


class Labels(Seen, FisherScore):
    """From labels."""


class Links(Seen, ConstraintScore):
    """From pairs."""


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
