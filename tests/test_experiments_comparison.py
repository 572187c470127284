import json

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from linkselect import LSDF, ConstraintScore, FisherScore, LaplacianScore, Pairs, VarianceScore
from linkselect.experiments.comparison import (
    RANDOM,
    compare,
    corrected_t_test,
    holm,
    numbers_of_features,
)


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
    ],
)
def test_bad_input(change, words):
    X, y = data()
    arguments = {"selectors": {"fisher": FisherScore()}, "X": X, "y": y, **change}
    with pytest.raises(ValueError, match=words):
        compare(**arguments)


def test_the_corrected_test_by_hand():
    values = np.array([0.02, 0.03, 0.01, 0.02, 0.03])
    # Without the correction it is the usual paired test.
    assert corrected_t_test(values, 0.0) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    statistic = values.mean() / np.sqrt((1 / 5 + 0.25) * values.var(ddof=1))
    assert corrected_t_test(values, 0.25) == pytest.approx(2 * stats.t.sf(statistic, 4))
    assert corrected_t_test(-values, 0.25) == corrected_t_test(values, 0.25)
    assert corrected_t_test([0.0, 0.0], 1.0) == 1.0
    assert corrected_t_test([0.1, 0.1, 0.1], 1.0) == 0.0


def test_the_corrected_test_seldom_finds_what_is_not_there():
    """Overlapping splits of noise: the plain t-test cries wolf, the corrected one does not."""
    rng = np.random.default_rng(0)
    n_found = {0.0: 0, 0.25: 0}
    for _ in range(300):
        # What two equal methods differ by on each row, averaged over 20 test rows of 100.
        noise = rng.normal(size=100)
        draws = [noise[rng.permutation(100)[:20]].mean() for _ in range(20)]
        for ratio in n_found:
            n_found[ratio] += corrected_t_test(draws, ratio) < 0.05
    assert n_found[0.0] / 300 > 0.25
    assert n_found[0.25] / 300 < 0.08


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == [0.02]


def test_numbers_of_features():
    assert numbers_of_features(1) == (1,)
    assert numbers_of_features(10) == (1, 2, 3, 5, 7, 10)
    assert numbers_of_features(5000)[-1] == 100
