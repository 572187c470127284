import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import KFold
from sklearn.preprocessing import MinMaxScaler

from linkselect import (
    ConsensusSelector,
    ConstraintScore,
    EnsembleCLS,
    FisherScore,
    LaplacianScore,
    Pairs,
    Redundancy,
    StableSelector,
    VarianceScore,
    compare,
)
from linkselect.evaluation import PairKFold, pair_auc, pair_auc_curve
from linkselect.evaluation._curves import RANDOM
from linkselect.evaluation._inputs import in_order_of_rows
from linkselect.evaluation._pair_auc import PairRuns
from linkselect.pairs import PairConflictError
from tests.helpers.compared import Worst, two_classes

METHODS = {"constraint": ConstraintScore(), "worst": Worst()}


@pytest.fixture(scope="module")
def problem():
    X, y = two_classes()
    return X, y, Pairs.from_labels(y, n_must=40, n_cannot=40, random_state=0)


@pytest.fixture(scope="module")
def found(problem):
    X, _, pairs = problem
    return compare(METHODS, X, pairs=pairs, n_features=[1, 2, 4])


class Recorder(ConstraintScore):
    """Record all pairs to which the selector was fitted."""

    seen: list = []

    def fit(self, X, y=None, *, pairs=None, sample_ids=None):
        Recorder.seen.append((X.shape[0], pairs))
        return super().fit(X, y, pairs=pairs, sample_ids=sample_ids)


def test_a_good_method_beats_chance_and_a_bad_one(found):
    held_out = found.held_out_pairs
    assert found.leader == held_out.leader == "constraint"
    assert list(held_out.mean_auc) == list(found.ranked) == ["constraint", "worst"]
    assert held_out.mean_auc["constraint"] > 0.85
    for other in ("worst", RANDOM):
        gap = found.difference("constraint", other)
        assert gap.better == "constraint"
        assert gap.p_adjusted < 0.05
        assert gap == held_out.difference("constraint", other)
    assert held_out.by_chance < 0.8
    text = " ".join(found.summary)
    for words in (
        "On held-out pairs (40 must-links and 40 cannot-links; 4 folds, repeated 4 times)",
        "constraint was significantly better than worst",
        "0.5 corresponds to chance",
        "often not the most accurate",
        "cannot determine how many features",
    ):
        assert words in text


def test_what_does_not_apply_is_none(found):
    for name in ("n_splits", "test_size", "classifier", "accuracy", "all_features", "differences"):
        assert getattr(found, name) is None
    assert found.mean_accuracy is None
    held_out = found.held_out_pairs
    assert (held_out.n_folds, held_out.n_repeats, len(held_out.all_features)) == (4, 4, 16)
    assert held_out.auc["constraint"].values.shape == (16, 3)
    assert found.stability == held_out.stability
    assert found.stability["worst"] == pytest.approx(1)
    assert found.saw == {"constraint": "80 pairs", "worst": "neither labels nor pairs"}
    assert len(found.rankings["constraint"]) == 12


def test_values_are_those_of_the_curve_of_one_method(problem):
    X, _, pairs = problem
    cv = PairKFold(2, random_state=3)
    rows = in_order_of_rows(pairs, len(X))
    alone = pair_auc_curve(ConstraintScore(), X, rows, [1, 2, 4], cv=cv)
    held_out = compare(
        {"a": ConstraintScore()}, X, pairs=pairs, n_features=[1, 2, 4], cv=cv
    ).held_out_pairs
    np.testing.assert_array_equal(held_out.auc["a"].values, alone.values)
    assert held_out.standard_error["a"] == pytest.approx(alone.average.standard_error)
    assert np.mean(held_out.all_features) == pytest.approx(alone.all_features)


def test_all_features_are_summed_in_parts(problem, shrink):
    X, _, pairs = problem
    cv = PairKFold(2, random_state=0)
    task = PairRuns.deal(X, np.array([2]), in_order_of_rows(pairs, len(X)), cv)
    expected = pair_auc(X, task.runs[0][1]).auc
    shrink(14)  # two pairs at a time
    assert task.with_all_features(0) == expected


def test_nothing_held_out_follows_from_what_was_fitted(problem):
    X, _, pairs = problem
    chained = pairs | Pairs(must=[(0, 2), (2, 4), (4, 6), (1, 3), (3, 5)], cannot=[(0, 1), (6, 5)])
    Recorder.seen = []
    cv = PairKFold(2, n_repeats=2, random_state=0)
    compare({"r": Recorder()}, X, pairs=chained, cv=cv)
    every, *fitted = Recorder.seen
    assert every[1].n_must + every[1].n_cannot == chained.n_must + chained.n_cannot
    tests = [test for _, test in cv.split(in_order_of_rows(chained, len(X)))]
    assert len(fitted) == len(tests) == 4
    for (n_rows, train), test in zip(fitted, tests, strict=True):
        assert n_rows == len(X)
        assert not set(train.ids) & set(test.ids)


def test_the_order_of_pairs_does_not_matter(found, problem):
    X, _, pairs = problem
    turned = Pairs(
        [(b, a) for a, b in reversed(pairs.must)], [(b, a) for a, b in reversed(pairs.cannot)]
    )
    again = compare(METHODS, X, pairs=turned, n_features=[1, 2, 4])
    for name, curve in found.held_out_pairs.auc.items():
        np.testing.assert_array_equal(again.held_out_pairs.auc[name].values, curve.values)
    assert again.rankings == found.rankings
    other = compare(METHODS, X, pairs=pairs, n_features=[1, 2, 4], random_state=1)
    assert other.held_out_pairs.mean_auc != found.held_out_pairs.mean_auc


def test_ids_frames_and_sparse_matrices(found, problem):
    X, _, pairs = problem
    name = "s{:03d}".format
    by_id = Pairs(
        [(name(a), name(b)) for a, b in pairs.must], [(name(a), name(b)) for a, b in pairs.cannot]
    )
    ids = [name(row) for row in range(len(X))]
    expected = found.held_out_pairs.mean_auc
    frame = pd.DataFrame(X, index=ids)
    for samples, given in ((X, ids), (frame, None)):
        again = compare(METHODS, samples, pairs=by_id, sample_ids=given, n_features=[1, 2, 4])
        assert again.held_out_pairs.mean_auc == expected
        assert again.saw["constraint"] == "80 pairs"
    sparse = compare(METHODS, csr_array(X), pairs=pairs, n_features=[1, 2, 4])
    assert sparse.held_out_pairs.mean_auc["constraint"] == pytest.approx(expected["constraint"])


def test_prepare(problem):
    X, _, pairs = problem
    wide = X * 10.0 ** np.arange(12)
    prepared = compare(METHODS, wide, pairs=pairs, prepare=MinMaxScaler(), n_features=[2])
    before = compare(METHODS, MinMaxScaler().fit_transform(wide), pairs=pairs, n_features=[2])
    assert prepared.held_out_pairs.mean_auc == before.held_out_pairs.mean_auc


def test_methods_that_look_at_nothing_are_fitted_once(problem):
    X, _, pairs = problem
    steps = []

    def track(given):
        steps.append(list(given))
        return steps[-1]

    compare(METHODS, X, pairs=pairs, cv=PairKFold(2, random_state=0), track=track)
    assert steps == [
        [("constraint", -1), ("worst", -1), ("constraint", 0), ("constraint", 1)],
    ]


def test_labels_and_pairs_side_by_side(problem):
    X, y, pairs = problem
    methods = {**METHODS, "fisher": FisherScore()}
    both = compare(methods, X, y, pairs=pairs, n_splits=3, n_features=[1, 2])
    alone = compare(methods, X, y, n_splits=3, n_features=[1, 2])
    by_pairs = compare(METHODS, X, pairs=pairs, n_features=[1, 2])
    assert [one.name for one in both.measures] == ["accuracy", "AUC"]
    assert both.mean_accuracy["fisher"] == alone.mean_accuracy["fisher"]
    assert both.held_out_pairs.mean_auc == by_pairs.held_out_pairs.mean_auc
    assert both.held_out_pairs.methods == ("constraint", "worst")
    text = " ".join(both.summary)
    assert "Methods with labels are not evaluated on held-out pairs: fisher." in text
    assert text.count("Supervision") == 1
    assert compare({"fisher": FisherScore()}, X, y, pairs=pairs).held_out_pairs is None


def test_labels_with_too_few_pairs(problem):
    X, y, _ = problem
    few = Pairs(must=[(0, 2), (4, 6), (1, 3)], cannot=[(0, 1)])
    with pytest.warns(
        UserWarning, match="Held-out pairs are not evaluated. .* 5 independent cannot-links"
    ):
        found = compare({"variance": VarianceScore()}, X, y, pairs=few, n_splits=2)
    assert found.held_out_pairs is None
    assert found.to_dict()["held_out_pairs"] is None


def test_plain_data(found):
    again = json.loads(json.dumps(found.to_dict()))
    assert again["accuracy"] is again["mean_accuracy"] is again["differences"] is None
    held_out = again["held_out_pairs"]
    assert (held_out["n_must"], held_out["n_cannot"], held_out["chance"]) == (40, 40, 0.5)
    assert set(held_out["auc"]) == {"constraint", "worst", RANDOM}
    assert held_out["auc"]["worst"]["n_features"] == [1, 2, 4]
    assert len(held_out["differences"]) == 3
    assert 0 < held_out["standard_error"]["constraint"] < 0.2


def test_few_groups_make_fewer_folds(problem):
    X, _, _ = problem
    few = Pairs(
        must=[(i, i + 2) for i in range(0, 28, 4)], cannot=[(i, i + 1) for i in range(40, 52, 2)]
    )
    with pytest.warns(UserWarning, match="6 folds instead of 7"):
        found = compare(METHODS, X, pairs=few, cv=PairKFold(7, random_state=0))
    assert found.held_out_pairs.n_folds == 6
    # By default there is no warning, since the result reports the number of folds.
    assert compare(METHODS, X, pairs=few).held_out_pairs.n_folds == 5


def test_identical_samples():
    pairs = Pairs(
        must=[(i, i + 1) for i in range(0, 20, 2)], cannot=[(i, 19 - i) for i in range(9)]
    )
    pairs = pairs.without_conflicts()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare({"variance": VarianceScore()}, np.ones((20, 3)), pairs=pairs)
    assert set(found.held_out_pairs.auc["variance"].values.ravel()) == {0.5}
    assert "variance was not significantly better than" in " ".join(found.summary)


def test_contradictions(problem):
    X, _, pairs = problem
    (a, b), *_ = pairs.must
    wrong = pairs | Pairs(cannot=[(a, b)])
    with pytest.raises(PairConflictError, match="contradicts? the must-links"):
        compare(METHODS, X, pairs=wrong)
    dropping = {"constraint": ConstraintScore(on_conflict="drop"), "worst": Worst()}
    found = compare(dropping, X, pairs=wrong, n_features=[1])
    assert found.held_out_pairs.n_cannot == pairs.n_cannot


def test_contradictions_that_members_leave_out(problem):
    X, _, pairs = problem
    wrong = pairs | Pairs(cannot=[pairs.must[0]])
    dropping = ConstraintScore(on_conflict="drop")
    for selector in (
        ConsensusSelector(estimators=[("a", dropping), ("b", LaplacianScore())]),
        StableSelector(dropping, n_resamples=2),
        ConsensusSelector(estimators=[("a", Redundancy(dropping))], on_conflict="raise"),
    ):
        found = compare({"one": selector}, X, pairs=wrong, n_features=[1])
        assert found.held_out_pairs.n_cannot == pairs.n_cannot
    raising = ConsensusSelector(estimators=[("a", ConstraintScore())], on_conflict="drop")
    with pytest.raises(PairConflictError, match=r"pass pairs.without_conflicts\(\)"):
        compare({"one": raising}, X, pairs=wrong, n_features=[1])


def test_an_unset_random_state_is_seeded(problem):
    X, _, pairs = problem
    members = [("drawn", EnsembleCLS(n_estimators=2))]
    methods = {"consensus": ConsensusSelector(), "member": ConsensusSelector(estimators=members)}
    cv = PairKFold(2, random_state=0)
    one, two = (compare(methods, X, pairs=pairs, cv=cv, n_features=[1, 3]) for _ in range(2))
    assert one.rankings == two.rankings
    assert one.held_out_pairs.mean_auc == two.held_out_pairs.mean_auc
    # The random choices of a method do not depend on the other methods.
    alone = compare({"member": methods["member"]}, X, pairs=pairs, cv=cv, n_features=[1, 3])
    assert alone.rankings["member"] == one.rankings["member"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": None}, "neither was passed. Pass y or pairs"),
        ({"pairs": Pairs(must=[(0, 2)])}, "there are no cannot-links"),
        ({"pairs": Pairs(must=[(0, 2)], cannot=[(0, 1)])}, "at least 5 independent must-links"),
        (
            {"pairs": Pairs(must=[(4 * i, 4 * i + 2) for i in range(9)])},
            "there are no cannot-links",
        ),
        ({"pairs": Pairs(cannot=[(0, 1), (4, 3)])}, "there are no must-links"),
        ({"pairs": Pairs(must=[(i, i + 1) for i in range(119)])}, "there are no cannot-links"),
        ({"pairs": Pairs(must=[(0, 999)])}, "contains row 999, but X has 120 rows"),
        (
            {"pairs": Pairs(must=[("a", "b")]), "sample_ids": range(1000, 1120)},
            "No pair has both of its samples in X",
        ),
        ({"selectors": {"f": FisherScore()}}, "f needs labels, but only pairs were passed"),
        ({"selectors": {"s": StableSelector(FisherScore())}}, "s needs labels"),
        ({"n_features": [0]}, "ascending list of whole numbers from 1"),
        ({"X": np.ones(120)}, "Expected 2D array"),
    ],
)
def test_mistakes_are_answered(problem, options, words):
    X, _, pairs = problem
    with pytest.raises(ValueError, match="(?s)" + words):
        compare(**{"selectors": METHODS, "X": X, "pairs": pairs} | options)


def test_folds_of_rows_are_refused(problem):
    X, _, pairs = problem
    with pytest.raises(TypeError, match="PairKFold"):
        compare(METHODS, X, pairs=pairs, cv=KFold(3))


def test_too_few_pairs_that_share_no_sample(problem):
    X, _, _ = problem
    pairs = Pairs(must=[(0, 2), (4, 6)], cannot=[(8, 9), (10, 11)])
    with pytest.raises(ValueError, match="at least 5 independent must-links.*are 2"):
        compare({"laplacian": LaplacianScore()}, X, pairs=pairs)


def test_noise_is_not_taken_for_a_lead():
    led = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        X = random.normal(size=(80, 30))
        pairs = Pairs.from_labels(
            random.integers(0, 2, 80), n_must=20, n_cannot=20, random_state=seed
        )
        found = compare({"constraint": ConstraintScore()}, X, pairs=pairs, n_features=[2, 5])
        gap = found.difference("constraint", RANDOM)
        led += gap.better == "constraint" and gap.p_adjusted < 0.05
    assert led <= 3
