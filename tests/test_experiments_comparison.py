import json
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from linkselect import (
    LSDF,
    ConstraintScore,
    FisherScore,
    LaplacianScore,
    Pairs,
    StableSelector,
    VarianceScore,
)
from linkselect.evaluation.comparison import RANDOM, compare, numbers_of_features
from linkselect.evaluation.significance import corrected_t_test


def data(n=120, d=12, seed=0):
    """Make two classes that only the first two features tell apart; the last one is wide."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, :2] += 3.0 * y[:, None]
    X[:, -1] *= 10.0
    return X, y


class Worst(VarianceScore):
    """Rank the features that tell nothing first."""

    def _score(self, X, known):
        return np.arange(X.shape[1], dtype=float)


def test_a_clear_winner_is_named():
    X, y = data()
    found = compare({"fisher": FisherScore(), "worst": Worst()}, X, y, n_features=[1, 2, 3])
    assert found.leader == "fisher"
    gap = found.difference("worst", "fisher")
    assert (gap.better, gap.worse) == ("fisher", "worst")
    assert gap.p_adjusted < 0.01
    means = found.mean_accuracy
    assert gap.mean == pytest.approx(means["fisher"] - means["worst"])
    text = " ".join(found.summary)
    assert "better than worst (" in text
    assert "Not shown to beat a random choice" in text


def test_nothing_differs():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 10)), np.arange(80) % 2
    found = compare({"fisher": FisherScore(), "variance": VarianceScore()}, X, y, n_splits=10)
    text = " ".join(found.summary)
    assert "No difference" in text
    assert "No method can be shown to beat a random choice" in text
    assert all(gap.p_adjusted > 0.05 for gap in found.differences)


def test_the_same_method_twice_differs_by_nothing():
    X, y = data()
    found = compare({"a": FisherScore(), "b": FisherScore()}, X, y, n_splits=4)
    gap = found.difference("a", "b")
    assert (gap.mean, gap.p) == (0.0, 1.0)
    assert found.spearman[0][1] == pytest.approx(1.0)
    assert found.overlap[0][1] == 1.0


def test_accuracy_is_that_of_a_classifier_on_the_test_rows():
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.neighbors import KNeighborsClassifier

    X, y = data()
    found = compare({"fisher": FisherScore()}, X, y, n_features=[1, 4], n_splits=3, random_state=5)
    splits = StratifiedShuffleSplit(3, test_size=0.2, random_state=5).split(X, y)
    for run, (train, test) in enumerate(splits):
        order = FisherScore().fit(X[train], y[train]).order_
        for point, count in enumerate([1, 4]):
            kept = order[:count]
            model = KNeighborsClassifier(1).fit(X[train][:, kept], y[train])
            expected = model.score(X[test][:, kept], y[test])
            assert found.accuracy["fisher"].values[run, point] == pytest.approx(expected)


def test_scaling_is_learned_from_training_rows_only():
    X, y = data()
    found = compare(
        {"variance": VarianceScore()}, X, y, prepare=MinMaxScaler(), n_splits=3, n_features=[1]
    )
    assert found.rankings["variance"][0] == int(np.argmax(MinMaxScaler().fit_transform(X).var(0)))


def test_agreement_and_stability():
    X, y = data()
    methods = {"fisher": FisherScore(), "worst": Worst()}
    found = compare(methods, X, y, top=2, n_splits=5)
    assert set(found.rankings["fisher"][:2]) == {0, 1}
    assert found.overlap[0][1] == 0.0
    ranks = [np.argsort(found.rankings[name]) for name in methods]
    assert found.spearman[0][1] == pytest.approx(stats.spearmanr(*ranks).statistic)
    assert found.stability["fisher"] == pytest.approx(1.0)
    assert found.accuracy["fisher"].values.shape[0] == 5
    assert all(seconds > 0 for seconds in found.seconds.values())


def test_unlabelled_rows_are_for_methods_that_can_use_them():
    X, y = data()
    partial = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    found = compare({"fisher": FisherScore(), "lsdf": LSDF()}, X, partial, n_splits=3)
    assert set(found.rankings["fisher"][:2]) == {0, 1}
    labelled = partial >= 0
    assert tuple(FisherScore(12).fit(X[labelled], y[labelled]).order_) == found.rankings["fisher"]
    assert tuple(LSDF(12).fit(X, partial).order_) == found.rankings["lsdf"]


def test_pairs_by_row_and_by_id():
    X, y = data()
    pairs = Pairs.from_labels(y, n_must=60, n_cannot=60, random_state=0)
    by_row = compare({"constraint": ConstraintScore()}, X, y, pairs=pairs, n_splits=3)
    names = [f"s{i}" for i in range(len(y))]
    named = Pairs.from_labels(y, sample_ids=names, n_must=60, n_cannot=60, random_state=0)
    by_id = compare(
        {"constraint": ConstraintScore()}, X, y, pairs=named, sample_ids=names, n_splits=3
    )
    assert by_row.rankings == by_id.rankings
    np.testing.assert_array_equal(
        by_row.accuracy["constraint"].values, by_id.accuracy["constraint"].values
    )


def test_sparse_and_another_classifier():
    X, y = data()
    methods = {"fisher": FisherScore()}
    dense = compare(methods, X, y, n_splits=3, n_features=[1, 2])
    sparse = compare(methods, csr_array(X), y, n_splits=3, n_features=[1, 2])
    np.testing.assert_allclose(
        dense.accuracy["fisher"].values, sparse.accuracy["fisher"].values, atol=1e-12
    )
    tree = DecisionTreeClassifier(random_state=0)
    assert compare(methods, X, y, n_splits=2, classifier=tree).classifier == (
        "DecisionTreeClassifier"
    )


def test_steps_can_be_counted():
    X, y = data()
    seen = []

    def track(steps):
        for step in steps:
            seen.append(step)
            yield step

    compare({"a": FisherScore(), "b": LaplacianScore()}, X, y, n_splits=2, track=track)
    assert seen == [(name, split) for split in (-1, 0, 1) for name in ("a", "b")]


def test_plain_data():
    X, y = data()
    found = compare({"fisher": FisherScore()}, X, y, n_splits=2, top=12)
    again = json.loads(json.dumps(found.to_dict()))
    assert again["methods"] == ["fisher"]
    assert set(again["accuracy"]) == {"fisher", RANDOM}
    assert again["summary"] == list(found.summary)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_features": [0, 1]}, "ascend from 1 to 12"),
        ({"n_features": [13]}, "ascend from 1 to 12"),
        ({"n_splits": 1}, "two splits"),
        ({"y": np.zeros(120, dtype=int)}, "two classes"),
        ({"y": np.r_[1, np.zeros(119, dtype=int)]}, "smallest with 1"),
        ({"selectors": {}}, "no method"),
        ({"selectors": {RANDOM: FisherScore()}}, "Choose another name"),
        ({"y": np.where(np.arange(120) % 2, 1, -1)}, "1 class, .*-1 means unlabelled"),
        ({"n_features": []}, "ascend from 1 to 12"),
        ({"n_features": [1.5]}, "are whole"),
        ({"top": 0}, "at least one feature"),
        ({"test_size": 30}, "between 0 and 1"),
        ({"y": np.arange(119) % 2}, "inconsistent"),
    ],
)
def test_bad_input(change, words):
    X, y = data()
    arguments = {"selectors": {"fisher": FisherScore()}, "X": X, "y": y, **change}
    with pytest.raises(ValueError, match=words):
        compare(**arguments)


def test_minus_one_as_text_is_a_class():
    X, y = data()
    found = compare({"fisher": FisherScore()}, X, np.where(y, "1", "-1"), n_splits=2)
    assert found.saw["fisher"] == "the labels of 120 samples"


def test_top_is_at_most_all_features():
    X, y = data()
    found = compare({"fisher": FisherScore(), "worst": Worst()}, X, y, n_splits=2, top=100)
    assert found.top == 12
    assert found.overlap == ((1.0, 1.0), (1.0, 1.0))


def test_numbers_of_features_may_be_an_array():
    X, y = data()
    found = compare({"fisher": FisherScore()}, X, y, n_splits=2, n_features=np.array([1, 2]))
    assert found.accuracy["fisher"].n_features.tolist() == [1, 2]


def test_what_each_method_saw():
    X, y = data()
    drawn = Pairs.from_labels(y, n_must=30, n_cannot=20, random_state=0)
    pairs = Pairs(must=drawn.must, cannot=[*drawn.cannot, (4, 999)])  # one with an absent end
    methods = {
        "fisher": FisherScore(),
        "stable": StableSelector(FisherScore(), n_resamples=3, random_state=0),
        "constraint": ConstraintScore(),
        "variance": VarianceScore(),
    }
    y = np.where(np.arange(120) < 100, y, -1)
    found = compare(methods, X, y, pairs=pairs, n_splits=2, random_state=3)
    assert found.saw == {
        "fisher": "the labels of 100 samples",
        "stable": "the labels of 100 samples",
        "constraint": "50 pairs",
        "variance": "neither labels nor pairs",
    }
    assert found.to_dict()["saw"] == found.saw
    assert "the labels of 100 samples (fisher, stable); 50 pairs (constraint)" in " ".join(
        found.summary
    )
    alike = compare({"constraint": ConstraintScore()}, X, y, n_splits=2)
    assert alike.saw == {"constraint": "the labels of 100 samples"}
    assert "constraint saw the labels of 100 samples." in " ".join(alike.summary)


class SlowAtFirst(VarianceScore):
    """Take long the first time, as one that has to load or compile something."""

    n_fits: ClassVar[int] = 0

    def _score(self, X, known):
        self._clock.now += 100.0 if SlowAtFirst.n_fits == 0 else 1.0
        SlowAtFirst.n_fits += 1
        return np.arange(X.shape[1], dtype=float)


def test_the_time_does_not_count_what_is_loaded_once(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(SlowAtFirst, "_clock", clock, raising=False)
    monkeypatch.setattr(SlowAtFirst, "n_fits", 0)
    monkeypatch.setattr("linkselect.evaluation.comparison.time.perf_counter", lambda: clock.now)
    X, y = data()
    assert compare({"slow": SlowAtFirst()}, X, y, n_splits=3).seconds == {"slow": 1.0}


def test_all_features_are_measured_as_the_curves_are():
    """Equally near neighbours are decided alike, or all of the features beat all of them."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, size=(80, 3)).astype(float), rng.integers(0, 2, size=80)
    found = compare({"fisher": FisherScore()}, X, y, n_splits=20, n_features=[3])
    assert found.accuracy["fisher"].values[:, 0].tolist() == list(found.all_features)
    assert found.accuracy[RANDOM].values[:, 0] == pytest.approx(found.all_features)


def summary_of(methods, **options):
    X, y = data()
    return " ".join(compare(methods, X, y, **{"n_splits": 4} | options).summary)


def test_words_for_one_method_and_one_number_of_features():
    text = summary_of({"fisher": FisherScore()}, n_features=[1])
    assert "1-NN with 1 feature, 4 random splits: fisher had a mean accuracy of" in text
    assert "largest" not in text
    assert "Every method" not in text
    assert "with 1 to 3 features" in summary_of({"fisher": FisherScore()}, n_features=[1, 3])


def test_a_tie_for_first_is_no_lead():
    methods = {"a": FisherScore(), "b": FisherScore(), "c": Worst()}
    text = summary_of(methods, n_features=[1, 2], n_splits=20)
    assert "a and b had the same largest mean accuracy" in text
    assert "a was better than c (" in text
    assert "b (" not in text


def test_less_than_a_random_choice_is_said():
    text = summary_of({"worst": Worst(), "wide": VarianceScore()}, n_features=[1])
    assert "less than a random choice of features" in text
    assert "the others" not in text
    assert "less than" not in summary_of({"fisher": FisherScore()}, n_features=[1])


def test_the_test_counts_the_rows_of_the_splits():
    """Of 7 rows a test share of 0.3 is 3 rows, not 2.1."""
    X, y = data(n=7, d=3)
    found = compare({"fisher": FisherScore()}, X, y, n_splits=3, test_size=0.3)
    values = {name: curve.values.mean(axis=1) for name, curve in found.accuracy.items()}
    expected = corrected_t_test(values["fisher"] - values[RANDOM], 4, 3)
    assert found.difference("fisher", RANDOM).p == pytest.approx(expected)


def test_a_tiny_p_value_is_no_certainty_in_words_either():
    X, y = data()
    X[:, 0] += 100.0 * y
    found = compare({"fisher": FisherScore(), "worst": Worst()}, X, y, n_features=[1])
    text = " ".join(found.summary)
    assert "p < 0.001)" in text
    assert "p = 0)" not in text


def test_numbers_of_features():
    assert numbers_of_features(1) == (1,)
    assert numbers_of_features(10) == (1, 2, 3, 5, 7, 10)
    assert numbers_of_features(5000)[-1] == 100
