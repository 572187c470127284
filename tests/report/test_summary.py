"""Tests of `summarize`, which returns the contents of a report as plain data."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest

from linkselect import (
    FCBF,
    MRMR,
    ConstraintScore,
    FisherScore,
    LaplacianScore,
    LinkSelector,
    NearestNeighborSFS,
    Pairs,
    Redundancy,
    StableSelector,
    VarianceScore,
    selectors,
)
from linkselect.evaluation import validate
from linkselect.report import render, summarize
from tests.helpers.reports import paired_summary, strange_summary, wine

pytest.importorskip("jinja2")


# Wrappers need another selector, so they are tested separately.
WRAPPERS = {"FeatureRules", "Redundancy", "AsScoreFunction", "StableSelector"}
SELECTORS = sorted(set(selectors.__all__) - WRAPPERS)


UNSUPERVISED = {"LaplacianScore", "SparsityScore", "SpectralScore", "VarianceScore"}


@pytest.fixture
def paired():
    return paired_summary()


@pytest.fixture
def strange():
    return strange_summary()


def test_summary_is_plain_data(paired, strange):
    for summary in (paired, strange):
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_summary_of_pairs(paired):
    X, _ = wine()
    assert paired["data"] | {"kind": ""} == {
        "n_samples": 178,
        "n_features": 13,
        "kind": "",
        "named": True,
        "preparation": None,
        "n_missing": 0,
        "n_constant": 0,
        "constant": [],
    }
    known = paired["supervision"]
    assert (known["kind"], known["must"], known["cannot"]) == ("pairs", 15, 15)
    assert known["coverage"] == known["n_samples"] / 178
    assert known["n_conflicts"] == known["lost"] == 0
    assert sorted(paired["ranking"]["feature"]) == sorted(X.columns)
    assert paired["ranking"]["rank"] == list(range(1, 14))
    assert sum(paired["ranking"]["selected"]) == paired["method"]["n_selected"]
    assert paired["call"].splitlines() == [
        "from linkselect import SimilarityConstraintScore",
        "",
        "selector = SimilarityConstraintScore(sigma=0.4)",
        "selector.fit(X, pairs=pairs)",
    ]
    assert [p["name"] for p in paired["method"]["parameters"] if not p["usual"]] == ["sigma"]


def test_validation_names_features():
    X, y = wine()
    selector = FisherScore(3).fit(X, y)
    found = validate(selector, X, y)
    summary = summarize(selector, X, y, validation=found)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    plain = summary["validation"]
    assert plain["selected"] == summary["ranking"]["feature"][:3]
    assert plain["selected_again"] == list(found.selected_again)
    assert plain["estimate"] == found.to_dict()["estimate"]
    assert summary["notes"] == []
    assert summarize(selector, X, y)["validation"] is None


def test_an_unreliable_ranking_causes_warnings():
    X, y = wine()
    shuffled = np.random.default_rng(0).permutation(y)
    selector = FisherScore(3).fit(X, shuffled)
    found = validate(selector, X, shuffled)
    summary = summarize(selector, X, shuffled, notes=["Other."], validation=found)
    assert summary["alarms"][0].startswith("The selection is unstable")
    assert summary["alarms"][1].startswith(
        "On held-out labels, the selected features did not perform significantly better than"
    )
    assert summary["notes"] == ["Other."]


def test_the_python_call_reproduces_the_result(paired):
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    namespace = {"X": X, "pairs": pairs}
    exec(paired["call"], namespace)
    assert list(X.columns[namespace["selector"].order_]) == paired["ranking"]["feature"]


def test_summary_of_labels():
    X, y = wine()
    few = y.where(np.arange(len(y)) % 3 == 0, -1)
    summary = summarize(LaplacianScore().fit(X), X, few)
    assert summary["supervision"] == {"kind": "none", "n_samples": 0, "coverage": 0.0}
    assert summary["notes"] == ["LaplacianScore ignores labels."]
    known = summarize(ConstraintScore().fit(X, few), X, few)["supervision"]
    sizes = few[few >= 0].value_counts()
    assert known["kind"] == "partial labels"
    assert {one["label"]: one["count"] for one in known["classes"]} == {
        str(label): count for label, count in sizes.items()
    }
    implied = Pairs.from_labels(few)
    assert (known["must"], known["cannot"]) == (implied.n_must, implied.n_cannot)


@pytest.mark.parametrize("name", sorted(set(SELECTORS) - UNSUPERVISED))
def test_minus_one_is_counted_as_by_the_selector(name):
    """The report counts -1 as a class only if the selector treats it as one."""
    X, y = wine()
    X, y = X.to_numpy()[::2, :5], y.to_numpy()[::2] - 1
    kind = getattr(selectors, name)
    renamed = kind().fit(X, y + 1)
    is_class = np.array_equal(kind().fit(X, y).scores_, renamed.scores_)
    known = summarize(kind().fit(X, y), X, y)["supervision"]
    assert known["n_classes"] == (3 if is_class else 2)
    assert known["kind"] == ("labels" if is_class else "partial labels")


def test_labels_minus_one_and_one():
    X, y = wine()
    y = np.where(y == 0, -1, 1)
    for selector in (FisherScore(), StableSelector(FisherScore(), n_resamples=2, random_state=0)):
        summary = summarize(selector.fit(X, y), X, y)
        assert "with labels of 2 classes" in render(summary)
        assert summary["supervision"]["n_samples"] == 178
        assert [one["label"] for one in summary["supervision"]["classes"]] == ["1", "-1"]
        groups = summary["profiles"]["features"][0]["groups"]
        assert [group["label"] for group in groups] == ["-1", "1"]
    foreign = StableSelector(SelectKBest(k=2), n_resamples=2, random_state=0).fit(X, y)
    assert summarize(foreign, X, y)["supervision"]["n_classes"] == 2


def test_the_python_call_uses_the_given_ids():
    X, _ = wine()
    ids = [f"bottle {i}" for i in range(len(X))]
    pairs = Pairs(must=[("bottle 0", "bottle 1")], cannot=[("bottle 0", "bottle 100")])
    values = X.to_numpy()
    selector = ConstraintScore().fit(values, pairs=pairs, sample_ids=ids)
    call = summarize(selector, values, pairs=pairs, sample_ids=ids)["call"]
    namespace = {"X": values, "pairs": pairs, "sample_ids": ids}
    exec(call, namespace)
    assert namespace["selector"].order_.tolist() == selector.order_.tolist()
    assert "sample_ids" not in summarize(FisherScore().fit(X, _), X, _, sample_ids=ids)["call"]


def test_summary_of_a_wrapped_selector():
    X, y = wine()
    summary = summarize(Redundancy(FisherScore()).fit(X, y), X, y)
    assert summary["supervision"]["kind"] == "labels"
    assert summary["call"].startswith("from linkselect import FisherScore, Redundancy\n")
    render(summary)


def test_conflicts_lost_pairs_and_ids():
    X, _ = wine()
    X = X.set_axis([f"bottle {i}" for i in range(len(X))])
    pairs = Pairs(
        must=[("bottle 0", "bottle 1"), ("bottle 1", "bottle 2"), ("bottle 0", "elsewhere")],
        cannot=[("bottle 0", "bottle 2"), ("bottle 0", "bottle 100")],
    )
    with pytest.warns(UserWarning, match="1 of 5 pairs"):
        selector = ConstraintScore(on_conflict="drop").fit(X, pairs=pairs)
    summary = summarize(selector, X, pairs=pairs)
    known = summary["supervision"]
    assert (known["n_conflicts"], known["lost"], known["n_samples"]) == (1, 1, 4)
    assert "'bottle 0' = 'bottle 1' = 'bottle 2'" in known["conflicts"][0]
    assert len(summary["notes"]) == 3, "conflict, lost pair, little coverage"
    assert "bottle 0&#39; = " in render(summary)
    by_name = summarize(selector, X.to_numpy(), pairs=pairs, sample_ids=X.index)
    assert by_name["supervision"] == known


def test_constant_features_and_scores_that_are_not_finite():
    X = np.random.default_rng(0).normal(size=(10, 4))
    X[:, 1] = 3.0
    y = np.arange(10) % 2
    with pytest.warns(UserWarning, match="constant"):
        selector = FisherScore(n_features_to_select=1).fit(X, y)
    selector.scores_[0] = np.inf
    summary = summarize(selector, X, y, preparation="Scaled to <0, 1>.")
    assert summary["data"]["constant"] == ["x1"]
    assert set(map(type, summary["ranking"]["score"])) == {float, str, type(None)}
    assert "inf" in summary["ranking"]["score"]
    page = render(json.loads(json.dumps(summary, allow_nan=False)))
    assert ">no score<" in page
    assert "Scaled to &lt;0, 1&gt;." in page
    assert ">∞<" in page
    assert summary["notes"] == ["1 of 4 features is constant and carries no information."]


def test_a_tie_at_the_cut_is_reported():
    X = np.random.default_rng(0).normal(size=(10, 1)).repeat(4, axis=1)
    summary = summarize(VarianceScore(n_features_to_select=2).fit(X), X)
    assert "arbitrary" in summary["notes"][0]


def test_equal_scores_are_not_a_tie_if_the_order_has_another_reason():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1)).repeat(3, axis=1)
    X[:, 2] += rng.normal(size=40)
    y = (X[:, 0] > 0).astype(int)
    stable = StableSelector(FisherScore(1), 1, n_resamples=3, random_state=0)
    for selector in (MRMR(1), FCBF(1), NearestNeighborSFS(1), Redundancy(FisherScore(), 1), stable):
        selector.fit(X, y).scores_ = np.ones(3)
        assert summarize(selector, X, y)["notes"] == []
    selector = FisherScore(1).fit(X, y)
    assert "arbitrary" in summarize(selector, X, y)["notes"][0]
    selector.scores_ = np.full(3, np.nan)
    assert "arbitrary" not in " ".join(summarize(selector, X, y)["notes"])


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_has_a_summary(name):
    X, y = wine()
    X, y = X.iloc[::4, :6], y.iloc[::4]
    summary = summarize(getattr(selectors, name)().fit(X, y), X, y)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert sorted(summary["ranking"]["feature"]) == sorted(X.columns)


def test_unfitted_selector():
    with pytest.raises(NotFittedError):
        summarize(FisherScore(), [[1.0]])
    X, y = wine()
    with pytest.raises(TypeError, match="SelectKBest has no order_"):
        summarize(SelectKBest(k=2).fit(X, y), X, y)


def test_mask_of_pixels():
    X = np.random.default_rng(0).random((9, 6))
    selector = VarianceScore(n_features_to_select=2).fit(X)
    summary = summarize(selector, X, image_shape=(2, 3), image_order="F")
    np.testing.assert_array_equal(
        np.array(summary["mask"]["pixels"], dtype=bool), selector.support_.reshape(3, 2).T
    )
    with pytest.raises(ValueError, match="product is 6"):
        summarize(selector, X, image_shape=(2, 2))


def test_links_from_many_labels_are_drawn_in_part():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 3)), np.arange(5000) % 2
    pairs = Pairs([(0, 1)], [(0, 2)]) | Pairs.from_labels(y[4:], sample_ids=range(4, 5000))
    fitted = LinkSelector(2).fit(X, pairs=pairs)
    summary = summarize(fitted, X, pairs=pairs, view=True)
    drawn = summary["view"]
    assert (drawn["n_must"], drawn["n_cannot"]) == (pairs.n_must, pairs.n_cannot)
    assert len(drawn["must"]) + len(drawn["cannot"]) <= 301
    # One listed must-link, and the links that 1,000 of the labels imply.
    n_links = [group["n"] for group in summary["profiles"]["features"][0]["groups"]]
    assert sum(n_links) == 2 + 1000 * 999 // 2


def test_many_pairs_are_drawn_in_part():
    X, y = wine()
    pairs = Pairs.from_labels(y)
    view = summarize(ConstraintScore().fit(X, pairs=pairs), X, pairs=pairs)["view"]
    assert len(view["must"]) + len(view["cannot"]) <= 302
    assert (view["n_must"], view["n_cannot"]) == (pairs.n_must, pairs.n_cannot)
