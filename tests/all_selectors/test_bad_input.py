"""Common mistakes: each message states the value, the rule and what to do instead."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

import linkselect as ls
from tests.helpers.estimators import (
    INFORMATION,
    PAIRWISE,
    SUPERVISED,
    every_pair_selector,
    every_selector,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).random((12, 3))


@pytest.fixture
def y():
    return np.repeat([0, 1, 2], 4)


@pytest.fixture
def pairs():
    return ls.Pairs(must=[(0, 1), (4, 5)], cannot=[(0, 4), (1, 8)])


@every_selector
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: np.where(X[2, 1] == X, np.nan, X), "NaN"),
        (lambda X: np.where(X[2, 1] == X, np.inf, X), "infinity"),
        (lambda X: X.astype(object).astype(str).astype(object) + "x", "could not convert"),
        (lambda X: X[0], "Expected 2D array, got 1D array"),
        (lambda X: X[None], "Found array with dim 3"),
        (lambda X: X[:1], "1 sample"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X[:, :0], "0 feature"),
    ],
)
def test_invalid_X_is_refused(selector, spoil, message, X, y):
    spoilt = spoil(X)
    labels = y[: len(spoilt)] if spoilt.ndim == 2 else y
    with pytest.raises(ValueError, match=message):
        clone(selector).fit(spoilt, labels)


@pytest.mark.parametrize("selector", [*SUPERVISED, *INFORMATION], ids=repr)
def test_missing_labels_are_refused(selector, X, y, pairs):
    words = "requires y to be passed, but the target y is None"
    with pytest.raises(ValueError, match=words):
        selector.fit(X)
    with pytest.raises(ValueError, match=r"ConstraintScore\(\).fit\(X, pairs=pairs\)"):
        selector.fit(X, pairs=pairs)
    with pytest.raises(ValueError, match="y contains only the class 7"):
        selector.fit(X, np.full(12, 7))
    with pytest.raises(ValueError, match="y has 5 labels, but X has 12 rows. Pass one label"):
        selector.fit(X, y[:5])
    with pytest.raises(ValueError, match=r"y has 12 labels, but X has \d+ rows.*pass X.T"):
        selector.fit(X.T, y)
    with pytest.raises(
        ValueError, match=r"missing labels? \(None, NaN or empty text\).*such as SCGS"
    ):
        selector.fit(X, np.where(y == 0, np.nan, y))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        selector.fit(X, y + 0.5)


UNDEMANDING = (ls.LinkSelector, ls.ConstrainedLaplacianScore, ls.EnsembleCLS)
NEEDY = [s for s in PAIRWISE if not isinstance(s, UNDEMANDING)]


@pytest.mark.parametrize("selector", NEEDY, ids=repr)
def test_no_supervision_is_refused(selector, X):
    name = type(selector).__name__
    with pytest.raises(ValueError, match=rf"{name} needs .*neither pairs nor y.*pairs=Pairs\(must"):
        selector.fit(X)
    with pytest.raises(ValueError, match=rf"{name} needs .*there is none\."):
        selector.fit(X, pairs=ls.Pairs())
    with pytest.raises(ValueError, match=rf"{name} needs .*there is none\."):
        selector.fit(X, np.full(12, -1))


@pytest.mark.parametrize(
    ("selector", "pairs", "lacking"),
    [
        (ls.ConstraintScore(), ls.Pairs(must=[(0, 1)]), "a cannot-link"),
        (ls.ConstraintScore(), ls.Pairs(cannot=[(0, 1)]), "a must-link"),
        (ls.LaplacianConstraintScore(), ls.Pairs(must=[(0, 1)]), "a cannot-link"),
        (ls.LaplacianConstraintScore(), ls.Pairs(cannot=[(0, 1)]), "a must-link"),
        (ls.LSDF(), ls.Pairs(must=[(0, 1)]), "a cannot-link"),
    ],
)
def test_one_kind_of_pairs_is_missing(selector, pairs, lacking, X):
    with pytest.raises(ValueError, match=f"needs {lacking}, but there is none among the 2"):
        selector.fit(X, pairs=pairs)


def test_one_kind_of_pairs_is_enough_if_the_formula_is_defined(X):
    either = [
        ls.ConstraintScore(criterion="difference"),
        ls.ConstrainedLaplacianScore(),
        ls.ConstrainedLaplacianScore(variant="2014"),
        ls.CompensatedLaplacianScore(),
        ls.SCGS(),
        ls.EnsembleCLS(),
    ]
    must, cannot = ls.Pairs(must=[(0, 1)]), ls.Pairs(cannot=[(0, 1)])
    cases = [*((selector, must) for selector in either), *((one, cannot) for one in either)]
    for selector, pairs in [*cases, (ls.LSDF(), cannot)]:
        assert np.isfinite(selector.fit(X, pairs=pairs).scores_).all(), (selector, pairs)


def test_classes_with_one_sample_each_have_no_must_link(X):
    y = np.array([0, 1, 2] + [-1] * 9)
    with pytest.raises(ValueError, match="needs a must-link"):
        ls.ConstraintScore().fit(X, y)
    ls.LSDF().fit(X, y)
    ls.FisherScore().fit(X, [0] * 11 + [1])
    ls.FRLL(neighbors="per_class").fit(X, [0] * 11 + [1])


@every_pair_selector
def test_minus_one_means_unlabelled(selector, X):
    y = np.where(np.arange(12) < 6, -1, 1)
    with pytest.raises(ValueError, match=r"label -1.*means unlabelled here.*y == -1, 0, y"):
        selector.fit(X, y)


@every_pair_selector
def test_invalid_labels_are_refused(selector, X, y):
    with pytest.raises(ValueError, match="y has the value 0.5, but class labels must be whole"):
        selector.fit(X, y + 0.5)
    with pytest.raises(ValueError, match="y has 5 labels, but X has 12 rows"):
        selector.fit(X, y[:5])
    with pytest.raises(ValueError, match="one dimension"):
        selector.fit(X, np.column_stack([y, y]))


@every_pair_selector
def test_pairs_of_another_type_are_refused(selector, X):
    frame = pd.DataFrame({"a": [0], "b": [1], "link": ["must"]})
    for wrong, hint in [
        ([(0, 1)], r"Pairs\(must="),
        (np.array([[0, 1]]), r"Pairs\(must="),
        ({"must": [(0, 1)]}, r"Pairs\(\*\*pairs\)"),
        (frame, r"Pairs.from_frame\(frame\)"),
        ("pairs.csv", r"Pairs.from_csv\('pairs.csv'\)"),
    ]:
        with pytest.raises(TypeError, match=rf"must be a linkselect.Pairs, got .*Write {hint}"):
            selector.fit(X, pairs=wrong)


@every_pair_selector
def test_pairs_out_of_range_are_refused(selector, X):
    with pytest.raises(
        ValueError, match=r"contains row 12, but X has 12 rows \(0 to 11\).*sample_ids"
    ):
        selector.fit(X, pairs=ls.Pairs(must=[(0, 12)], cannot=[(1, 2)]))
    with pytest.raises(ValueError, match=r"contains row 'a'.*sample_ids"):
        selector.fit(X, pairs=ls.Pairs(must=[("a", "b")]))
    with pytest.raises(ValueError, match="contains row -1"):
        selector.fit(X, pairs=ls.Pairs(must=[(0, -1)]))


@every_pair_selector
def test_mismatched_sample_ids_are_refused(selector, X, pairs):
    with pytest.raises(ValueError, match="sample_ids has 3 ids for 12 samples"):
        selector.fit(X, pairs=pairs, sample_ids=[0, 1, 2])
    with pytest.raises(ValueError, match="Duplicate sample id 4"):
        selector.fit(X, pairs=pairs, sample_ids=[*range(11), 4])
    twice = pd.DataFrame(X, index=[0] * 12)
    with pytest.raises(ValueError, match="Duplicate sample id 0.*reset_index"):
        selector.fit(twice, pairs=pairs)
    as_text = [str(i) for i in range(12)]
    with pytest.raises(ValueError, match=r"No pair has both.*contains 0 \(int\).*'0' \(str\)"):
        selector.fit(X, pairs=pairs, sample_ids=as_text)


@every_pair_selector
def test_a_fold_that_loses_its_pairs(selector, X, pairs):
    with pytest.warns(UserWarning, match="Ignoring 3 of 4 pairs because X does not"):
        ls.ConstraintScore(criterion="difference").fit(
            X[2:], pairs=pairs, sample_ids=np.arange(2, 12)
        )
    with pytest.raises(ValueError, match="No pair has both of its samples in X"):
        selector.fit(X[6:], pairs=pairs, sample_ids=np.arange(6, 12))
    numbered = ls.Pairs(pairs.must, pairs.cannot, n_samples=12)
    with pytest.raises(ValueError, match="row numbers of 12 samples, but X has 8 rows"):
        selector.fit(X[:8], pairs=numbered)


def test_cross_validation_without_ids_is_refused_if_it_can_be_detected(X, y):
    pairs = ls.Pairs.from_labels(y)
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="use sample ids"),
    ):
        cross_validate(
            make_pipeline(ls.ConstraintScore(), KNeighborsClassifier(1)),
            X,
            y,
            cv=3,
            params={"pairs": pairs},
            error_score="raise",
        )


@every_pair_selector
def test_contradictory_pairs(selector, X):
    pairs = ls.Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2), (0, 5)])
    consistent = ls.Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 5)])
    expected = clone(selector).fit(X, pairs=consistent).scores_
    with pytest.raises(ValueError, match=r"cannot-link \(0, 2\).*0 = 1 = 2.*on_conflict"):
        selector.fit(X, pairs=pairs)
    with pytest.warns(UserWarning, match="0 = 1 = 2"):
        warned = clone(selector).set_params(on_conflict="warn").fit(X, pairs=pairs)
    np.testing.assert_array_equal(warned.scores_, expected)
    dropped = clone(selector).set_params(on_conflict="drop").fit(X, pairs=pairs)
    np.testing.assert_array_equal(dropped.scores_, expected)


@every_selector
def test_all_features_constant(selector, y):
    with pytest.warns(UserWarning, match="3 of 3 features are constant"):
        fitted = clone(selector).fit(np.ones((12, 3)), y)
    np.testing.assert_array_equal(fitted.order_, [0, 1, 2])


@pytest.mark.parametrize(
    "selector",
    [
        ls.LaplacianScore,
        ls.SpectralScore,
        ls.FRLL,
        ls.LSDF,
        ls.ConstrainedLaplacianScore,
        ls.CompensatedLaplacianScore,
        ls.SCGS,
        ls.EnsembleCLS,
    ],
)
def test_more_neighbours_than_samples(selector, X, y):
    with pytest.raises(ValueError, match="n_neighbors=12, but X has 12 samples.*from 1 to 11"):
        selector(n_neighbors=12).fit(X, y)
    selector(n_neighbors=11).fit(X, y)


@pytest.mark.parametrize(
    "selector",
    [
        ls.LaplacianScore,
        ls.LaplacianConstraintScore,
        ls.ConstrainedLaplacianScore,
        ls.CompensatedLaplacianScore,
    ],
)
def test_weights_that_all_underflow_are_refused(selector, X, y):
    with pytest.raises(ValueError, match=r'sigma=0\.001.*distance.*sigma="auto".*MinMaxScaler'):
        selector(sigma=1e-3).fit(X, y)


def test_a_radius_without_neighbours_is_refused(X):
    with pytest.raises(ValueError, match="radius=1e-06 is too small: the two closest samples are"):
        ls.LaplacianScore(radius=1e-6).fit(X)


@pytest.mark.parametrize(
    "selector",
    [
        ls.VarianceScore(0),
        ls.VarianceScore(1.5),
        ls.VarianceScore("all"),
        ls.LaplacianScore(sigma=0),
        ls.LaplacianScore(sigma=-1.0),
        ls.LaplacianScore(n_neighbors=0),
        ls.LaplacianScore(weights="cosine"),
        ls.SpectralScore(style=4),
        ls.ConstraintScore(criterion="product"),
        ls.ConstraintScore(weight=-1),
        ls.ConstraintScore(on_conflict="ignore"),
        ls.ConstrainedLaplacianScore(variant="2012"),
        ls.CompensatedLaplacianScore(gamma=2),
        ls.FRLL(neighbors="both"),
        ls.ReliefF(n_neighbors=0),
        ls.FisherMarkov(gamma=1.5),
        ls.MRMR(scheme="product"),
        ls.MRMR(discretize="kmeans"),
        ls.MRMR(discretize=3),
        ls.FCBF(threshold=1.0),
        ls.SCGS(sparsity=1.0),
        ls.SCGS(pair_weight=-1),
        ls.EnsembleCLS(n_estimators=0),
        ls.EnsembleCLS(max_samples=0),
        ls.EnsembleCLS(max_features=1.5),
    ],
    ids=repr,
)
def test_parameters_out_of_range(selector, X, y):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        selector.fit(X, y)


def test_more_features_than_there_are(X, y):
    with pytest.raises(ValueError, match="n_features_to_select=4, but X has 3 features"):
        ls.VarianceScore(4).fit(X)


def test_radius_with_neighbours_per_class(X, y):
    with pytest.raises(ValueError, match='requires neighbors="overall"'):
        ls.FRLL(radius=0.5, neighbors="per_class").fit(X, y)


@pytest.mark.parametrize("discrete", [[3], [-1], [True, False], [0.5], [[0, 1]], ["a"]])
def test_unknown_discrete_features_are_refused(discrete, X, y):
    with pytest.raises(ValueError, match="discrete=.*of X. Pass True, a mask of 3 Booleans"):
        ls.ReliefF(discrete=discrete).fit(X, y)


@pytest.mark.parametrize("method", [ls.MRMR, ls.FCBF])
def test_a_discretizer_that_changes_the_number_of_columns(method, X, y):
    with pytest.raises(ValueError, match=r'shape \(12, 15\) for X of shape .*encode="ordinal"'):
        method(discretize=KBinsDiscretizer(encode="onehot")).fit(X, y)


def test_no_predominant_feature(X, y):
    with pytest.warns(UserWarning, match=r"No feature is predominant.*threshold=0.99.*is kept"):
        fitted = ls.FCBF(threshold=0.99).fit(X, y)
    assert fitted.n_features_ == 1
    assert fitted.path_.size == 0
    assert fitted.scores_[fitted.order_[0]] == fitted.scores_.max()
    ls.FCBF(2, threshold=0.99).fit(X, y)


def test_a_failed_fit_leaves_the_object_as_it_was(X, y):
    selector = ls.ConstraintScore()
    with pytest.raises(ValueError, match="needs"):
        selector.fit(X, pairs=ls.Pairs(must=[(0, 1)]))
    assert not [name for name in vars(selector) if name.endswith("_")]
    before = vars(selector.fit(X, y)).copy()
    with pytest.raises(ValueError, match="needs"):
        selector.fit(X[:, :2], pairs=ls.Pairs(must=[(0, 1)]))
    assert vars(selector) == before
    assert selector.transform(X).shape == (12, 1)


@every_selector
def test_inputs_are_never_modified(selector, X, y, pairs):
    X.setflags(write=False)
    y.setflags(write=False)
    X_before, y_before = X.copy(), y.copy()
    selector.fit(X, y)
    selector.fit(X, y, pairs=pairs)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def test_one_class_and_None_elsewhere_counts_as_one_class(X):
    y = np.array([1] * 4 + [None] * 8, dtype=object)
    ls.ConstrainedLaplacianScore().fit(X, y)
    with pytest.raises(ValueError, match="LSDF needs a cannot-link.*Call LSDF"):
        ls.LSDF().fit(X, y)


@pytest.mark.parametrize("selector", SUPERVISED, ids=repr)
def test_labels_of_mixed_types_and_missing_ones(selector, X):
    with pytest.raises(ValueError, match=r"different types \(int, str\)"):
        selector.fit(X, np.array(["a", 1] * 6, dtype=object))
    for nothing in (None, pd.NA):
        y = np.array(["a", "b", nothing] * 4, dtype=object)
        with pytest.raises(ValueError, match="y has 4 missing labels.*such as SCGS"):
            selector.fit(X, y)


@every_pair_selector
def test_invalid_sample_ids_are_refused(selector, X, pairs):
    for wrong in (5, np.zeros((12, 2))):
        with pytest.raises(TypeError, match="sample_ids must be one hashable id per row"):
            selector.fit(X, pairs=pairs, sample_ids=wrong)


@every_selector
def test_values_whose_squares_overflow_are_refused(selector, X, y):
    # These methods square nothing, or only scaled values.
    if isinstance(selector, ls.ReliefF | ls.MRMR | ls.FCBF | ls.LinkSelector):
        clone(selector).fit(X * 1e160, y)
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sigma=1 is too small")  # which is also true
        with pytest.raises(ValueError, match="squares overflow.*Scale the features"):
            clone(selector).fit(X * 1e160, y)


@pytest.mark.parametrize("sigma", [1e-200, 1e200])
def test_extreme_widths(sigma, X, y):
    if sigma > 1:
        assert np.isfinite(ls.LaplacianScore(sigma=sigma).fit(X).scores_).all()
        return
    for selector in (ls.LaplacianScore(sigma=sigma), ls.LaplacianConstraintScore(sigma=sigma)):
        with pytest.raises(
            ValueError, match="With sigma=1e-200, all weights of the graph are 0 or nearly 0"
        ):
            selector.fit(X, y)


def test_a_radius_beyond_all_distances_joins_all_samples(X):
    everything = ls.LaplacianScore(radius=1e30, weights="binary").fit(X).scores_
    neighbours = ls.LaplacianScore(n_neighbors=11, weights="binary").fit(X).scores_
    np.testing.assert_allclose(everything, neighbours)


def test_zero_threads_are_refused(X):
    with pytest.raises(ValueError, match="'n_jobs' parameter"):
        ls.VarianceScore(n_jobs=0).fit(X)
