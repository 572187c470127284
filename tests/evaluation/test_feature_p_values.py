"""P-values of single features: compared with the definition, on noise and with a signal."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression

import linkselect as ls
from linkselect.evaluation import feature_p_values
from linkselect.evaluation._feature_p_values import _p_values
from linkselect.evaluation._permutation import Arrangements
from linkselect.evaluation._permuted_scores import for_scores
from linkselect.selectors._method import describe
from tests.helpers.estimators import INFORMATION, SEARCHES

N_SAMPLES, N_FEATURES = 30, 12


def problem(seed=0, n_features=N_FEATURES):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N_SAMPLES, n_features)), rng.permutation(np.arange(N_SAMPLES) % 3)
    X[:, 2] += 1.5 * y
    return X, y, ls.Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=seed)


def known_by(kind):
    _, y, pairs = problem()
    some = np.where(np.arange(N_SAMPLES) < 20, y, -1)
    both = pairs | ls.Pairs.from_labels(np.where(np.arange(N_SAMPLES) < 8, y, -1))
    return {
        "labels": (y, None),
        "some labels": (some, None),
        "pairs": (None, pairs),
        "both": (None, both),
    }[kind]


def same(one, other):
    for name in ("p_values", "adjusted", "q_values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.n_permutations == other.n_permutations


# -- the definition --------------------------------------------------------------------------------


def literal_scores(selector, X, y, pairs, n_permutations, random_state):
    """Fit to permuted rows of X, with labels and pairs in place."""
    seed = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.RandomState(seed)
    labelled = None if y is None else np.flatnonzero(y >= 0)
    ways = Arrangements.of(len(X), rows=labelled)
    orders = [np.arange(len(X)), *(ways.draw(rng) for _ in range(n_permutations))]
    found = [selector.fit(X[to], y, pairs=pairs).scores_ for to in orders]
    return np.array(found) * (1 if describe(selector).greater_is_better else -1)


def literal_p_values(scores):
    n, n_features = len(scores) - 1, scores.shape[1]
    z = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    slack = 1e-9
    p_values = [(1 + sum(z[1:, j] >= z[0, j] - slack)) / (1 + n) for j in range(n_features)]
    best_first = sorted(range(n_features), key=lambda j: -z[0, j])
    adjusted, before = np.empty(n_features), 0.0
    for step, j in enumerate(best_first):
        maxima = [max(z[b, k] for k in best_first[step:]) for b in range(1, n + 1)]
        p = (1 + sum(value >= z[0, j] - slack for value in maxima)) / (1 + n)
        adjusted[j] = before = max(before, p)
    null = z[1:].ravel()
    pooled = np.array(
        [(1 + sum(null >= z[0, j] - slack)) / (1 + null.size) for j in range(n_features)]
    )
    q_values = [
        min(1, *(p * n_features / sum(pooled <= p) for p in pooled[pooled >= pooled[j]]))
        for j in range(n_features)
    ]
    return np.array(p_values), adjusted, np.array(q_values)


@pytest.mark.parametrize(
    ("selector", "kind"),
    [
        (ls.FisherScore(), "labels"),
        (ls.LinkSelector(), "some labels"),
        (ls.LinkSelector(), "pairs"),
        (ls.LinkSelector(), "both"),
        (ls.ConstraintScore(), "pairs"),
        (ls.ConstraintScore(), "both"),
        (ls.LSDF(n_neighbors=3), "some labels"),
        (ls.Redundancy(ls.ConstraintScore()), "pairs"),
        (ls.NearestNeighborSFS(3), "some labels"),
    ],
    ids=str,
)
def test_equals_the_definition(selector, kind):
    X, (y, pairs) = problem()[0], known_by(kind)
    found = feature_p_values(selector, X, y, pairs=pairs, n_permutations=39, random_state=5)
    expected = literal_p_values(literal_scores(selector, X, y, pairs, 39, 5))
    np.testing.assert_allclose(found.p_values, expected[0])
    np.testing.assert_allclose(found.adjusted, expected[1])
    np.testing.assert_allclose(found.q_values, expected[2])
    assert found.p_values.min() < 0.2


def test_scores_of_odd_shapes_equal_the_definition():
    scores = np.random.default_rng(0).exponential(size=(60, 25)) ** 2
    expected = literal_p_values(scores)
    for found, one in zip(_p_values(scores.copy()), expected, strict=True):
        np.testing.assert_allclose(found, one)


def test_by_hand():
    # Both columns have mean 0 and standard deviation 1.
    scores = np.array([[1.5, 0.0], [-0.5, 1.0], [-0.5, -1.0], [-0.5, 0.0]])
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    p_values, adjusted, _ = _p_values(scores.copy())
    np.testing.assert_allclose(p_values, [1 / 4, 3 / 4])
    np.testing.assert_allclose(adjusted, [1 / 4, 3 / 4])


def test_adjusted_ones_are_in_the_order_of_the_statistic_and_at_least_the_plain_ones():
    scores = np.random.default_rng(1).normal(size=(100, 40))
    z = (scores[0] - scores.mean(axis=0)) / scores.std(axis=0)
    p_values, adjusted, q_values = _p_values(scores.copy())
    order = np.argsort(-z)
    assert (np.diff(adjusted[order]) >= 0).all()
    assert (np.diff(q_values[order]) >= -1e-12).all()
    assert (adjusted >= p_values).all()


def test_scores_that_differ_by_rounding_are_equal():
    scores = 1e6 + np.zeros((20, 2))
    scores[10:, 0] += 1.0
    scores[0, 0] = 1e6 + 1.0 + 1e-6
    scores[0, 1] += 1e-7
    p_values, adjusted, q_values = _p_values(scores)
    np.testing.assert_allclose(p_values, [11 / 20, 1.0])
    assert adjusted[1] == 1.0
    assert q_values[1] == 1.0


def test_missing_and_infinite_scores():
    scores = np.random.default_rng(2).normal(size=(50, 5))
    scores[:, 0] = np.nan  # a constant feature
    scores[0, 1] = np.nan  # a missing score counts as the worst
    scores[0, 2] = np.inf  # the best score
    scores[7, 3], scores[0, 3] = np.nan, scores[1:, 3].max() + 1
    scores[:, 4] = np.inf  # the same in all permutations
    p_values, adjusted, q_values = _p_values(scores)
    np.testing.assert_allclose(p_values, [1, 1, 1 / 50, 1 / 50, 1])
    assert np.isfinite([*adjusted, *q_values]).all()
    np.testing.assert_array_equal(adjusted[[0, 1, 4]], 1)
    np.testing.assert_array_equal(q_values[[0, 1, 4]], 1)


def test_a_permutation_without_scores_counts_against_every_feature():
    scores = np.random.default_rng(3).normal(size=(20, 3))
    scores[0] = 9.0
    scores[5] = np.inf
    p_values, adjusted, q_values = _p_values(scores)
    np.testing.assert_allclose(p_values, 2 / 20)
    np.testing.assert_allclose(adjusted, 2 / 20)
    np.testing.assert_allclose(q_values, (1 + 3) / (1 + 19 * 3))


def test_a_permutation_that_cannot_be_fitted_is_one_without_scores():
    class Refusing(ls.FisherScore):
        def _rank(self, X, known, constant, track):
            if known.classes[0] != known.classes[1]:
                raise ValueError("no")
            return super()._rank(X, known, constant, track)

    X, y, _ = problem()
    X[:, 2] += 3 * y
    alike = np.flatnonzero(y == y[0])[1]
    y[[1, alike]] = y[[alike, 1]]
    found = feature_p_values(Refusing(), X, y, n_permutations=40)
    assert (found.p_values > 0.4).all()
    assert (found.adjusted > 0.4).all()


# -- invariances ----------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", [*SEARCHES, *INFORMATION], ids=repr)
def test_scores_of_searches_do_not_depend_on_the_number_of_features(selector):
    X, y, _ = problem()
    one = for_scores(selector).fit(X, y)
    assert one.n_features_to_select == 1
    np.testing.assert_allclose(one.scores_, selector.fit(X, y).scores_, rtol=1e-12)


@pytest.mark.parametrize("selector", [ls.LinkSelector(), ls.ConstraintScore()], ids=repr)
def test_shift_and_scale_of_a_feature_and_threads_do_not_matter(selector):
    X, _, pairs = problem()
    found = feature_p_values(selector, X, pairs=pairs, n_permutations=40, n_jobs=1)
    same(found, feature_p_values(selector, X + 3, pairs=pairs, n_permutations=40, n_jobs=3))
    if isinstance(selector, ls.ConstraintScore):
        same(found, feature_p_values(selector, 4 * X, pairs=pairs, n_permutations=40))


def test_names_of_samples_do_not_matter():
    X, _, pairs = problem()
    names = [("patient", row) for row in range(N_SAMPLES)]
    links = (
        [tuple(names[i] for i in link) for link in kind] for kind in (pairs.must, pairs.cannot)
    )
    named = ls.Pairs(*links)
    found = feature_p_values(ls.ConstraintScore(), X, pairs=pairs, n_permutations=40)
    other = feature_p_values(
        ls.ConstraintScore(), X, pairs=named, sample_ids=iter(names), n_permutations=40
    )
    same(found, other)


def test_the_order_of_samples_matters_by_chance_only():
    """The permutations differ, but a clear signal is found with any seed."""
    X, y, _ = problem()
    X[:, 2] += 3 * y
    order = np.random.default_rng(0).permutation(N_SAMPLES)
    for samples, labels in ((X, y), (X[order], y[order])):
        found = feature_p_values(ls.FisherScore(), samples, labels, n_permutations=99)
        assert np.flatnonzero(found.adjusted <= 0.01).tolist() == [2]


def test_sparse_samples_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y, pairs = problem()
    X = np.where(X > 0, X, 0)
    found = feature_p_values(ls.ConstraintScore(), X, pairs=pairs, n_permutations=40)
    same(
        found, feature_p_values(ls.ConstraintScore(), csr_array(X), pairs=pairs, n_permutations=40)
    )
    frame = pandas.DataFrame(X, index=[f"s{row}" for row in range(N_SAMPLES)])
    words = pandas.Series(np.array(["a", "b", "c"])[y], index=frame.index)
    one = feature_p_values(ls.FisherScore(), frame, words, n_permutations=40)
    same(one, feature_p_values(ls.FisherScore(), X, y, n_permutations=40))
    named = ls.Pairs(
        [(f"s{i}", f"s{j}") for i, j in pairs.must], [(f"s{i}", f"s{j}") for i, j in pairs.cannot]
    )
    same(found, feature_p_values(ls.ConstraintScore(), frame, pairs=named, n_permutations=40))


def test_a_selector_of_another_library():
    X, y, _ = problem()
    found = feature_p_values(SelectKBest(k=2), X, y, n_permutations=99)
    assert found.p_values.argmin() == 2
    assert found.p_values[2] == 0.01
    numbers = X[:, 4] + np.random.default_rng(0).normal(size=N_SAMPLES)
    by_number = feature_p_values(SelectKBest(f_regression, k=2), X, numbers, n_permutations=99)
    assert by_number.p_values[4] == 0.01


def test_what_a_method_draws_is_the_same_in_each_fit():
    X, y, pairs = problem()
    selector = ls.EnsembleCLS(n_estimators=3)
    given = {"pairs": pairs, "n_permutations": 20, "random_state": 3}
    same(feature_p_values(selector, X, **given), feature_p_values(selector, X, **given))
    assert selector.random_state is None
    none, zero = (
        feature_p_values(ls.FisherScore(), X, y, n_permutations=20, random_state=seed)
        for seed in (None, 0)
    )
    same(none, zero)


# -- noise and signal ------------------------------------------------------------------------------


def test_on_noise_few_features_are_called_relevant():
    rng, wrong, means = np.random.default_rng(0), 0, []
    for seed in range(40):
        X, y = rng.normal(size=(40, 60)), rng.permutation(np.arange(40) % 2)
        found = feature_p_values(ls.FisherScore(), X, y, n_permutations=59, random_state=seed)
        wrong += (found.adjusted < 0.05).any()
        means.append(found.p_values.mean())
    assert wrong <= 6
    assert abs(np.mean(means) - 0.5) < 0.03


def test_a_planted_signal_is_found():
    rng = np.random.default_rng(1)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 300))
    X[:, :8] += 1.2 * y[:, None]
    known = np.where(np.arange(100) < 60, y, -1)
    found = feature_p_values(ls.LinkSelector(), X, known, n_permutations=99)
    assert (found.q_values[:8] <= 0.1).sum() >= 6
    assert (found.q_values[8:] <= 0.1).sum() <= 2
    assert (found.adjusted[8:] > 0.05).all()


def test_a_constant_feature_is_never_relevant():
    X, y, pairs = problem()
    X[:, 5] = 3.0
    for known in ({"y": y}, {"pairs": pairs}):
        with pytest.warns(UserWarning, match="constant"):
            found = feature_p_values(ls.LinkSelector(), X, n_permutations=40, **known)
        assert found.p_values[5] == found.adjusted[5] == found.q_values[5] == 1
        assert found.p_values.min() < 0.2


# -- groups and batches ----------------------------------------------------------------------------


def test_replicates_are_exchanged_as_a_whole():
    rng = np.random.default_rng(2)
    patient = np.repeat(np.arange(12), 4)
    y = (np.arange(12) % 2)[patient]
    wrong = {True: 0, False: 0}
    for seed in range(20):
        X = rng.normal(size=(12, 20))[patient] + 0.1 * rng.normal(size=(48, 20))
        for grouped in wrong:
            groups = patient if grouped else None
            found = feature_p_values(
                ls.FisherScore(), X, y, groups=groups, n_permutations=59, random_state=seed
            )
            wrong[grouped] += (found.adjusted < 0.05).any()
    assert wrong[True] <= 4
    assert wrong[False] >= 15


def test_rows_stay_in_their_batch():
    rng = np.random.default_rng(3)
    batch = np.arange(60) % 2
    y = (rng.random(60) < np.where(batch, 0.8, 0.2)).astype(int)
    X = rng.normal(size=(60, 20)) + 3 * batch[:, None]
    inside = feature_p_values(ls.FisherScore(), X, y, batches=batch, n_permutations=99)
    across = feature_p_values(ls.FisherScore(), X, y, n_permutations=99)
    assert (inside.adjusted > 0.05).all()
    assert (across.adjusted < 0.05).all()


# -- errors ----------------------------------------------------------------------------------------


def test_what_cannot_be_tested_is_refused():
    X, y, pairs = problem()
    with pytest.raises(ValueError, match="VarianceScore uses neither pairs nor labels"):
        feature_p_values(ls.VarianceScore(), X, y)
    with pytest.raises(ValueError, match="Testing LinkSelector requires supervision"):
        feature_p_values(ls.LinkSelector(), X)
    with pytest.raises(ValueError, match="Pass y"):
        feature_p_values(ls.FisherScore(), X, pairs=pairs)
    with pytest.raises(TypeError, match="is not a selector"):
        feature_p_values(ls.FisherScore, X, y)
    with pytest.raises(ValueError, match="n_permutations == 0, must be >= 1"):
        feature_p_values(ls.FisherScore(), X, y, n_permutations=0)
    asked = ls.Pairs(pairs.must, pairs.cannot, adaptive=pairs.must[:3])
    with pytest.raises(ValueError, match="3 pairs of 20 were chosen by looking at the samples"):
        feature_p_values(ls.LinkSelector(), X, pairs=asked)


def test_too_few_ways_are_refused():
    X, y, pairs = problem()
    with pytest.raises(ValueError, match="fewer than 40 distinct permutations"):
        feature_p_values(ls.FisherScore(), X, y, groups=np.arange(N_SAMPLES) % 4)
    with pytest.raises(ValueError, match="fewer than 40 distinct permutations"):
        feature_p_values(ls.FisherScore(), X, y, batches=np.arange(N_SAMPLES))
    with pytest.raises(ValueError, match="fewer than 40 distinct permutations"):
        feature_p_values(ls.LinkSelector(), X, pairs=pairs, batches=np.arange(N_SAMPLES))
    inside = ls.Pairs([(0, 1), (2, 3)], [(4, 5)])
    with pytest.raises(ValueError, match="every pair lies within a single group"):
        feature_p_values(ls.LSDF(), X, pairs=inside, groups=np.arange(N_SAMPLES) // 2)
    with pytest.raises(ValueError, match="missing"):
        feature_p_values(ls.FisherScore(), X, y, batches=[None] * N_SAMPLES)


def test_a_method_that_ignores_labels_finds_nothing():
    X, y, _ = problem()
    found = feature_p_values(VarianceThreshold(), X, y, n_permutations=20)
    np.testing.assert_array_equal(found.p_values, 1)
    np.testing.assert_array_equal(found.q_values, 1)


# -- the store -------------------------------------------------------------------------------------


class StoppedError(Exception):
    pass


def stopping_after(n_steps):
    def track(steps):
        for done, step in enumerate(steps):
            if done == n_steps:
                raise StoppedError
            yield step

    return track


def counting(counts):
    def track(steps):
        for step in steps:
            counts.append(step)
            yield step

    return track


def test_a_stopped_call_continues(tmp_path):
    X, _, pairs = problem()
    file = tmp_path / "kept"
    given = {"pairs": pairs, "n_permutations": 40, "random_state": 1}
    whole = feature_p_values(ls.LinkSelector(), X, **given)
    with pytest.raises(StoppedError):
        feature_p_values(ls.LinkSelector(), X, **given, store=file, track=stopping_after(3))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    counts = []
    same(whole, feature_p_values(ls.LinkSelector(), X, **given, store=file, track=counting(counts)))
    assert len(counts) == 2  # out of five steps
    before, counts = file.read_bytes(), []
    same(whole, feature_p_values(ls.LinkSelector(), X, **given, store=file, track=counting(counts)))
    fewer = feature_p_values(ls.LinkSelector(), X, **{**given, "n_permutations": 20}, store=file)
    assert fewer.n_permutations == 20
    assert not counts
    assert file.read_bytes() == before
    given["n_permutations"] = 50
    more = feature_p_values(ls.LinkSelector(), X, **given, store=file)
    same(more, feature_p_values(ls.LinkSelector(), X, **given))


def test_a_store_that_cannot_be_written_is_said_before_the_permutations(tmp_path):
    X, y, _ = problem()
    counts = []
    with pytest.raises(FileNotFoundError):
        feature_p_values(
            ls.FisherScore(), X, y, store=tmp_path / "no" / "kept.npz", track=counting(counts)
        )
    assert not counts


def test_a_store_of_another_call_or_a_damaged_one_stays(tmp_path):
    X, y, pairs = problem()
    file = tmp_path / "kept.npz"
    given = {"n_permutations": 10, "store": file}
    feature_p_values(ls.ConstraintScore(), X, pairs=pairs, **given)
    before = file.read_bytes()
    batches = np.arange(N_SAMPLES) % 2
    for call in (
        lambda: feature_p_values(ls.ConstraintScore(), X + 1, pairs=pairs, **given),
        lambda: feature_p_values(ls.ConstraintScore(), X, y, **given),
        lambda: feature_p_values(ls.LSDF(), X, pairs=pairs, **given),
        lambda: feature_p_values(ls.ConstraintScore(), X, pairs=pairs, random_state=1, **given),
        lambda: feature_p_values(ls.ConstraintScore(), X, pairs=pairs, batches=batches, **given),
    ):
        with pytest.raises(ValueError, match="for other data, another method or another seed"):
            call()
    assert file.read_bytes() == before
    for content in (before[:200], b"", b"a,b\n1,2\n", before.replace(b"call", b"hall")):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged or was not written by feature_p_values"):
            feature_p_values(ls.ConstraintScore(), X, pairs=pairs, **given)
        assert file.read_bytes() == content
