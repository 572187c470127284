"""Selectors on stored samples: the same scores as in memory, whatever the parts."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import linkselect as ls
from linkselect import evaluation, plot, report
from linkselect._samples import as_samples
from linkselect._samples.sources.stored import Part
from tests.helpers.estimators import SELECTORS, WRAPPERS
from tests.helpers.fitting import needs_callbacks

N_SAMPLES, N_FEATURES = 90, 7
pytestmark = pytest.mark.usefixtures("small_draws")


@pytest.fixture
def small_parts(shrink_parts):
    shrink_parts(600)


@pytest.fixture
def small_columns(shrink_parts):
    """Cut 24 samples into parts of 40 columns."""
    shrink_parts(24 * 40 * 8)


@pytest.fixture
def few_rows_held(sizes):
    """Keep almost no rows of stored samples in memory."""
    sizes(HELD_BYTES=0)


@pytest.fixture
def reads(monkeypatch):
    """Record the number of a part each time it is read."""
    numbers = []

    def counted(method):
        return lambda part, *given: numbers.append(part.number) or method(part, *given)

    for name in ("slabs", "pick"):
        monkeypatch.setattr(Part, name, counted(getattr(Part, name)))
    return numbers


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def samples(rng):
    classes = rng.integers(0, 3, N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES)) + np.outer(classes, np.linspace(0, 1, N_FEATURES))
    return X, classes


def stored(folder, X):
    np.save(folder / "X.npy", X)
    return ls.open_stored(folder / "X.npy")


def some_labels(classes):
    return np.where(np.arange(len(classes)) % 6 == 0, classes, -1)


def told(selector, classes):
    """Return the kinds of supervision that a selector can use."""
    sees = selector.sees
    if sees == "nothing":
        return [{}]
    if sees == "labels":
        return [{"y": classes}]
    few = some_labels(classes)
    return [{"y": few}, {"pairs": ls.Pairs.from_labels(few)}]


READ_PARTS = [each for each in SELECTORS if "parts" in each.works_on]
IN_MEMORY = [each for each in [*SELECTORS, *WRAPPERS] if "parts" not in each.works_on]


def test_which_selectors_read_parts():
    assert {type(each).__name__ for each in READ_PARTS} == {
        "LinkSelector",
        "VarianceScore",
        "FisherScore",
        "FisherMarkov",
        "ConstraintScore",
        "LaplacianScore",
        "SpectralScore",
        "LSDF",
        "ConstrainedLaplacianScore",
        "CompensatedLaplacianScore",
    }


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("max_queries", [None, 60])
@pytest.mark.parametrize("selector", READ_PARTS, ids=repr)
@pytest.mark.usefixtures("small_parts")
def test_the_same_scores_as_in_memory(selector, max_queries, offset, samples, tmp_path):
    X, classes = samples
    X = X + offset
    on_disk = stored(tmp_path, X)
    assert len(on_disk.parts) > 8
    selector = clone(selector)
    options = selector.get_params()
    if max_queries is not None:
        if "max_queries" not in options or options.get("radius") is not None:
            pytest.skip("This method has no queries to draw.")
        selector.set_params(max_queries=max_queries, random_state=0)
    elif options.get("radius") is not None:
        pytest.skip("A radius requires all samples in memory.")
    for known in told(selector, classes):
        here = clone(selector).fit(X, **known)
        there = clone(selector).fit(on_disk, **known)
        # Moments are merged in another order, and an offset of 1e8 leaves eight digits to X.
        assert_allclose(there.scores_, here.scores_, rtol=1e-10)
        assert_array_equal(there.order_, here.order_)
        if max_queries is not None and hasattr(here, "standard_errors_"):
            assert_allclose(there.standard_errors_, here.standard_errors_, rtol=1e-6)


@pytest.mark.parametrize("selector", READ_PARTS, ids=repr)
@pytest.mark.usefixtures("small_columns")
def test_few_wide_samples_are_read_by_columns(selector, rng, tmp_path):
    if selector.get_params().get("radius") is not None:
        pytest.skip("A radius requires all samples in memory.")
    classes = np.arange(24) // 6 % 2
    X = 0.3 * rng.random((24, 350)) + 0.7 * classes[:, None]
    on_disk = stored(tmp_path, X)
    assert on_disk.by_columns
    assert len(on_disk.parts) > 8
    for known in told(selector, classes):
        here, there = clone(selector).fit(X, **known), clone(selector).fit(on_disk, **known)
        assert_allclose(there.scores_, here.scores_, rtol=1e-12)
        assert_array_equal(there.order_, here.order_)


@pytest.mark.parametrize("selector", IN_MEMORY, ids=repr)
def test_other_selectors_need_samples_in_memory(selector, samples, tmp_path):
    X, classes = samples
    with pytest.raises(TypeError, match=r"requires all samples in memory, but X\.npy") as caught:
        clone(selector).fit(stored(tmp_path, X), classes)
    assert "open_stored(X).take(rows)" in caught.value.hint


def test_measures_that_need_samples_in_memory(samples, tmp_path):
    X, classes = samples
    pairs, X = ls.Pairs.from_labels(some_labels(classes)), stored(tmp_path, X)
    selector = ls.ConstraintScore()
    for measure in (
        lambda: evaluation.validate(selector, X, pairs=pairs),
        lambda: evaluation.compare({"constraint": selector}, X, classes),
        lambda: evaluation.pair_worth(selector, X, pairs),
        lambda: evaluation.suspect_pairs(X, pairs),
        lambda: report.summarize(clone(selector).fit(X, pairs=pairs), X, pairs=pairs),
        lambda: plot.pairs(pairs, X),
    ):
        with pytest.raises(TypeError, match="requires all samples in memory"):
            measure()


@pytest.mark.usefixtures("small_parts")
def test_a_consensus_reads_once_for_all_its_members(samples, tmp_path, reads):
    X, classes = samples
    members = [
        ("variance", ls.VarianceScore()),
        ("fisher", ls.FisherScore()),
        ("constraint", ls.ConstraintScore()),
    ]
    consensus = ls.ConsensusSelector(estimators=members)
    here = clone(consensus).fit(X, classes).scores_
    on_disk = stored(tmp_path, X)
    assert_allclose(clone(consensus).fit(on_disk, classes).scores_, here)
    assert sorted(reads) == list(range(len(on_disk.parts)))


@pytest.mark.parametrize(
    "selector",
    [ls.VarianceScore(), ls.FisherScore(), ls.FisherMarkov(), ls.ConstraintScore()],
    ids=repr,
)
@pytest.mark.usefixtures("small_columns")
def test_wide_samples_are_read_once(selector, rng, tmp_path, reads):
    classes = np.arange(24) // 6 % 2
    on_disk = stored(tmp_path, rng.random((24, 350)))
    for known in told(selector, classes):
        reads.clear()
        clone(selector).fit(on_disk, **known)
        assert sorted(reads) == list(range(len(on_disk.parts)))


@pytest.mark.usefixtures("small_parts")
def test_rows_in_pairs_are_taken_when_all_are_read(samples, tmp_path, reads):
    X, classes = samples
    # Rows without a pair are not squared, neither in memory nor in parts.
    X[-1] = 1e200
    pairs = ls.Pairs.from_labels(some_labels(classes))
    here, on_disk = ls.ConstraintScore().fit(X, pairs=pairs), stored(tmp_path, X)
    there = ls.ConstraintScore().fit(on_disk, pairs=pairs)
    assert sorted(reads) == list(range(len(on_disk.parts)))
    assert_array_equal(there.scores_, here.scores_)


def test_scores_of_another_selector_are_not_taken(rng, tmp_path):
    X, none = as_samples(stored(tmp_path, rng.random((24, 350)))), np.full(24, -1)
    first = X.surveyed(none, score=ls.VarianceScore()._column_score(None))
    assert first.scores is not None
    assert first.surveyed(none).scores is None


@pytest.mark.parametrize("make", [stored, lambda _, X: X], ids=["stored", "memory"])
@pytest.mark.usefixtures("small_parts")
def test_rounding_does_not_order_features_of_zeros_and_ones(make, rng, tmp_path):
    X = np.zeros((300, 12), dtype=bool)
    classes = np.arange(300) // 150
    for feature in X.T:
        for one in (0, 1):  # as many ones in each class
            feature[150 * one + rng.permutation(150)[:47]] = True
    for selector in (ls.VarianceScore(), ls.FisherMarkov(), ls.ConstraintScore()):
        found = selector.fit(make(tmp_path, X), classes)
        assert len(set(found.scores_)) == 1
        assert_array_equal(found.order_, np.arange(12))


@pytest.mark.usefixtures("small_parts", "few_rows_held")
@pytest.mark.filterwarnings("ignore:1 of 7 features is constant")
def test_parts_without_a_labelled_sample_and_with_huge_values(samples, tmp_path):
    X, _ = samples
    X[:, 2] = 1e200  # its square overflows, but it is constant
    pairs = ls.Pairs(must=[(70, 71), (72, 74)], cannot=[(70, 72)])
    selector = ls.CompensatedLaplacianScore()
    here = clone(selector).fit(X, pairs=pairs).scores_
    assert_allclose(selector.fit(stored(tmp_path, X), pairs=pairs).scores_, here, rtol=1e-10)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "infinity")])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.usefixtures("small_parts")
def test_values_that_are_not_finite_are_named(value, word, wide, samples, tmp_path):
    X, classes = samples
    X = np.hstack([X] * 20) if wide else X.copy()
    selector = ls.FisherScore().fit(X, classes)
    before = selector.scores_.copy()
    X[80, 5] = value
    where = f"contains {word}: X.npy has {word} in column 5, row 80"
    with pytest.raises(ValueError, match=where):
        selector.fit(stored(tmp_path, X), classes)
    # The failed fit has changed nothing.
    assert_array_equal(selector.scores_, before)


@pytest.mark.usefixtures("small_parts")
def test_constant_and_equal_features(samples, tmp_path):
    X, classes = samples
    X = np.column_stack([X, np.full(len(X), 3.0), X[:, 2], -X[:, 2], 0.0 * X[:, 0], -0.0 * X[:, 0]])
    with pytest.warns(UserWarning, match="3 of 12 features are constant"):
        found = ls.FisherScore().fit(stored(tmp_path, X), classes)
    assert np.isnan(found.scores_[[7, 10, 11]]).all()
    assert found.scores_[8] == found.scores_[2]
    assert found.ranking_[2] + 1 == found.ranking_[8]


@pytest.mark.usefixtures("small_parts")
def test_copies_in_other_parts_tie_even_if_another_feature_has_the_same_score(rng, tmp_path):
    X = rng.random((14, 30))
    X[:, 7] = X[:, 28] = X[:, 3]
    X[:, 20] = 2 * X[:, 3]
    here, there = (ls.LaplacianScore().fit(samples) for samples in (X, stored(tmp_path, X)))
    assert len(set(there.scores_[[3, 7, 28]])) == 1
    assert_array_equal(there.order_, here.order_)


def test_attributes_of_an_earlier_fit_are_removed(samples):
    X, _ = samples
    selector = ls.LaplacianScore(max_queries=50, random_state=0).fit(X)
    assert hasattr(selector, "standard_errors_")
    selector.set_params(max_queries=None).fit(X[:, :4])
    assert not hasattr(selector, "standard_errors_")
    assert selector.n_features_in_ == 4


@pytest.mark.usefixtures("few_rows_held")
def test_pairs_among_more_rows_than_are_held(samples, tmp_path):
    X, classes = samples
    pairs = ls.Pairs.from_labels(some_labels(classes))
    here, there = (ls.ConstraintScore().fit(data, pairs=pairs) for data in (X, stored(tmp_path, X)))
    assert_allclose(there.scores_, here.scores_, rtol=1e-12)


def test_faint_and_huge_features_are_refused(samples, tmp_path):
    X, classes = samples
    faint = X.copy()
    faint[:, 1] *= 1e-100
    with pytest.raises(ValueError, match="varies by less than 1e-90: feature 1"):
        ls.FisherScore().fit(stored(tmp_path, faint), classes)
    with pytest.raises(ValueError, match="squares overflow"):
        ls.FisherScore().fit(stored(tmp_path, X * 1e200), classes)


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "?"])
@pytest.mark.usefixtures("small_parts")
def test_narrow_types(dtype, samples, tmp_path):
    X, classes = samples
    X = (20 * X).astype(dtype)
    for selector in (ls.FisherScore(), ls.LaplacianScore(max_queries=50, random_state=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            here = clone(selector).fit(X, classes)
            there = clone(selector).fit(stored(tmp_path, X), classes)
        assert_allclose(there.scores_, here.scores_, rtol=1e-10)


@pytest.mark.usefixtures("small_parts")
def test_transform_reads_nothing(samples, tmp_path, reads):
    X, classes = samples
    on_disk = stored(tmp_path, X)
    selector = ls.FisherScore(n_features_to_select=3).fit(on_disk, classes)
    reads.clear()
    small = selector.transform(on_disk)
    assert not reads
    assert small.shape == (N_SAMPLES, 3)
    assert_array_equal(np.asarray(small), X[:, selector.get_support()])
    # The result can be passed to the next selector.
    ls.VarianceScore().fit(small)
    with pytest.raises(ValueError, match="X has 3 features, but FisherScore is expecting 7"):
        selector.transform(small)


def test_transform_refuses_what_it_was_not_fitted_to(samples, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, _ = samples
    names = list("abcdefg")
    parquet.write_table(pa.table(dict(zip(names, X.T, strict=True))), tmp_path / "X.parquet")
    reverse = pa.table({name: X[:, names.index(name)] for name in names[::-1]})
    parquet.write_table(reverse, tmp_path / "other.parquet")
    selector = ls.VarianceScore(n_features_to_select=2).fit(tmp_path / "X.parquet")
    assert selector.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names should match .* column 0 .* is 'g'"):
        selector.transform(tmp_path / "other.parquet")
    small = selector.transform(tmp_path / "X.parquet")
    assert small.names == selector.get_feature_names_out().tolist()
    with pytest.raises(TypeError, match="inverse_transform requires all samples in memory"):
        selector.inverse_transform(small)
    selector.set_output(transform="pandas")
    with pytest.raises(ValueError, match="all of X.parquet would be read into a data frame"):
        selector.transform(tmp_path / "X.parquet")


def test_folds_take_their_rows_into_memory(samples, tmp_path, monkeypatch):
    X, classes = samples
    model = make_pipeline(ls.FisherScore(n_features_to_select=3), KNeighborsClassifier())
    here = cross_val_score(model, X, classes, cv=3)
    with monkeypatch.context() as patch:
        patch.setattr("linkselect._samples.sources.stored.Stored.__array__", _must_not_be_called)
        there = cross_val_score(model, stored(tmp_path, X), classes, cv=3)
    assert_array_equal(there, here)


def _must_not_be_called(*_):
    raise AssertionError


def test_the_survey_merges_what_parts_hold(samples, tmp_path, small_parts):
    X, classes = samples
    codes = some_labels(classes)
    X_there = as_samples(stored(tmp_path, X + 1e8)).surveyed(codes)
    found = X_there.survey
    assert_array_equal(found.low, (X + 1e8).min(axis=0))
    assert_array_equal(found.high, (X + 1e8).max(axis=0))
    for code in (-1, 0, 1, 2):
        own = (X + 1e8)[codes == code]
        assert found.moments.mass[code + 1] == len(own)
        assert_allclose(
            found.moments.scatter[code + 1], ((own - own.mean(0)) ** 2).sum(0), rtol=1e-6
        )
    # A survey of the same classes is reused; one of other classes is not.
    assert X_there.surveyed(codes) is X_there
    assert X_there.surveyed(np.full(N_SAMPLES, -1)) is X_there
    assert_array_equal(X_there.surveyed(classes).codes, classes)
    others = np.where(codes == 2, -1, codes)
    assert_array_equal(X_there.surveyed(others).codes, others)


@needs_callbacks
def test_progress_is_reported_for_every_part(samples, tmp_path, small_parts):
    X, _ = samples
    on_disk, listener = stored(tmp_path, X), Listener()
    ls.LaplacianScore(max_queries=50, random_state=0).set_callbacks(listener).fit(on_disk)
    assert listener.ended.count("read") == 1
    assert listener.ended.count("search neighbours") == 2
    assert listener.ended.count("add up") == 1
    assert listener.ended.count("part") == 4 * len(on_disk.parts)


class Listener:
    """Record the tasks of a fit that have ended."""

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        """Do nothing."""

    def on_fit_task_begin(self, estimator, context, **_):
        """Do nothing."""

    def on_fit_task_end(self, estimator, context, **_):
        self.ended.append(context.task_name)
        return False

    def teardown(self, estimator, context):
        """Do nothing."""
