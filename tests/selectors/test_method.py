"""Results of `describe` for selectors, their classes, wrappers and selectors of scikit-learn."""

from dataclasses import FrozenInstanceError

import pytest
from sklearn.feature_selection import RFE, SelectFdr, SelectKBest, VarianceThreshold, f_classif
from sklearn.neighbors import KNeighborsClassifier

import linkselect as ls
from linkselect.selectors._method import Method, describe
from tests.helpers.estimators import (
    INFORMATION,
    PAIRWISE,
    PARTLY_LABELLED,
    SELECTORS,
    SUPERVISED,
    UNSUPERVISED,
)

BOTH_LINKS = ("a must-link", "a cannot-link")


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
def test_every_selector_declares_its_supervision_and_references(selector):
    found = describe(selector)
    kinds = {
        "nothing": UNSUPERVISED,
        "labels": [*SUPERVISED, *INFORMATION],
        "pairs": PAIRWISE,
        "some labels": PARTLY_LABELLED,
    }
    assert any(selector is one for one in kinds[found.sees])
    assert found.greater_is_better == selector.greater_is_better
    assert found.references
    assert not found.wraps
    assert not (found.sees == "nothing" and found.needs)
    assert not (found.sees == "labels" and found.needs != ("labels",))


@pytest.mark.parametrize("cls", sorted({type(one) for one in SELECTORS}, key=repr))
def test_a_class_is_described_with_its_defaults(cls):
    assert describe(cls) == describe(cls())


@pytest.mark.parametrize(("style", "greater"), [(1, False), (2, False), (3, True)])
def test_the_direction_depends_on_the_style_of_a_spectral_score(style, greater):
    assert describe(ls.SpectralScore(style=style)).greater_is_better is greater


@pytest.mark.parametrize(
    ("selector", "needs"),
    [
        (ls.ConstraintScore(), BOTH_LINKS),
        (ls.ConstraintScore(criterion="difference"), ("a pair or a label",)),
        (ls.SimilarityConstraintScore(), BOTH_LINKS),
        (ls.SimilarityConstraintScore(mode="semi-supervised"), ("two groups",)),
        (ls.LaplacianConstraintScore(), BOTH_LINKS),
        (ls.LSDF(), ("a cannot-link",)),
        (ls.SCGS(), ("a pair or a label",)),
        (ls.ConstrainedLaplacianScore(), ()),
        (ls.EnsembleCLS(), ()),
        (ls.LaplacianScore(), ()),
        (ls.FisherScore(), ("labels",)),
        (ls.MRMR(), ("labels",)),
        (ls.NearestNeighborSFS(), ("labels",)),
    ],
    ids=repr,
)
def test_needs_depend_on_the_method_and_its_parameters(selector, needs):
    assert describe(selector).needs == needs


def test_paths_with_an_optimum():
    with_optimum = {type(one) for one in SELECTORS if describe(one).path_has_optimum}
    assert with_optimum == {ls.SimilarityConstraintScore, ls.NearestNeighborSFS}


@pytest.mark.parametrize("wrapper", [ls.StableSelector, ls.Redundancy])
@pytest.mark.parametrize(
    "inner",
    [
        ls.LaplacianScore(),
        ls.FisherScore(),
        ls.ConstraintScore(),
        ls.ConstraintScore(criterion="difference"),
        ls.NearestNeighborSFS(),
        SelectFdr(f_classif),
        SelectKBest(f_classif),
        VarianceThreshold(),
    ],
    ids=repr,
)
def test_a_wrapper_sees_and_needs_what_its_estimator_does(wrapper, inner):
    found, inside = describe(wrapper(inner)), describe(inner)
    assert (found.sees, found.needs) == (inside.sees, inside.needs)
    assert found.wraps
    assert not inside.wraps


def test_wrappers_in_wrappers():
    twice = ls.StableSelector(ls.Redundancy(ls.LSDF()))
    assert (describe(twice).sees, describe(twice).needs) == ("pairs", ("a cannot-link",))


def test_the_direction_of_wrappers():
    # A larger frequency is better; Redundancy keeps the scores of its estimator.
    assert describe(ls.StableSelector(ls.LaplacianScore())).greater_is_better
    assert not describe(ls.Redundancy(ls.LaplacianScore())).greater_is_better
    assert describe(ls.Redundancy(ls.FisherScore())).greater_is_better


@pytest.mark.parametrize("wrapper", [ls.StableSelector, ls.Redundancy])
def test_a_class_of_wrappers_is_described_without_an_estimator(wrapper):
    found = describe(wrapper)
    assert (found.sees, found.needs, found.wraps) == ("nothing", (), True)


@pytest.mark.parametrize("selector", [SelectFdr(f_classif), SelectFdr, RFE(KNeighborsClassifier())])
def test_selectors_of_scikit_learn_need_labels_if_their_tags_say_so(selector):
    assert describe(selector) == Method("labels", ("labels",))


@pytest.mark.parametrize("selector", [SelectKBest(f_classif), SelectKBest, VarianceThreshold()])
def test_other_selectors_of_scikit_learn_may_use_labels(selector):
    # Tags do not state whether optional labels are used.
    assert describe(selector) == Method("labels")


def test_none_uses_no_supervision():
    assert describe(None) == Method("nothing")


def test_a_description_is_frozen():
    with pytest.raises(FrozenInstanceError):
        describe(ls.LSDF).sees = "nothing"
