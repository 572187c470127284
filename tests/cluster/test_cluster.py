"""The clusterers: scikit-learn's checks, the published formulas and the constraints."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import linkselect as ls
from linkselect.cluster import _spectral
from tests.helpers import literal
from tests.helpers.estimators import CLUSTERERS

every_clusterer = pytest.mark.parametrize("clusterer", CLUSTERERS, ids=repr)


@parametrize_with_checks(CLUSTERERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(n_per_cluster, centres, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(centres)), n_per_cluster)
    return np.asarray(centres)[truth] + rng.normal(size=(len(truth), len(centres[0]))), truth


# -- both --------------------------------------------------------------------------------------


@every_clusterer
@pytest.mark.parametrize("size", [1e200, 1e307])
def test_values_whose_squares_overflow_are_refused(clusterer, size):
    X, truth = blobs(10, [[0.0, 0.0], [9.0, 9.0]])
    with pytest.raises(ValueError, match="so large that their squares overflow"):
        clone(clusterer).fit(X / 9.0 * size, truth)


@every_clusterer
def test_labels_name_the_clusters(clusterer):
    X, truth = blobs(20, [[0.0, 0], [15, 0], [0, 15]])
    words = np.array(["zebra", "ant", "bee"], dtype=object)
    y = np.full(60, None, dtype=object)
    y[[0, 21, 45]] = words
    fitted = clusterer.fit(X, y)
    assert_array_equal(fitted.names_, ["ant", "bee", "zebra"])
    assert_array_equal(fitted.names_[fitted.labels_], words[truth])
    assert_array_equal(clusterer.fit_predict(X, y), fitted.labels_)
    numbers = np.where(pd.isna(y), -1, truth)
    assert_array_equal(clusterer.fit(X, numbers).labels_, truth)


@every_clusterer
def test_clusters_without_a_label_have_no_name(clusterer):
    X, truth = blobs(20, [[0.0, 0], [15, 0], [0, 15]])
    y = np.where(np.arange(60) == 45, 7, -1)
    fitted = clusterer.__class__(3, random_state=0).fit(X, y)
    assert_array_equal(fitted.names_, [7, None, None])
    assert_array_equal(fitted.labels_ == 0, truth == 2)
    assert_array_equal(clusterer.__class__(3, random_state=0).fit(X).names_, [None] * 3)


@every_clusterer
def test_pairs_by_id_in_a_pipeline_and_y_ignored_then(clusterer):
    X, truth = blobs(15, [[0.0, 0], [4, 0]])
    pairs = ls.Pairs.from_labels(truth, n_must=20, n_cannot=20, random_state=0)
    clusterer = clusterer.__class__(2, random_state=0)
    expected = clusterer.fit(X, pairs=pairs).labels_
    assert_array_equal(clusterer.fit(X, "not labels", pairs=pairs).labels_, expected)
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(30)])
    named = ls.Pairs(
        [(f"s{a}", f"s{b}") for a, b in pairs.must], [(f"s{a}", f"s{b}") for a, b in pairs.cannot]
    )
    assert_array_equal(clusterer.fit(frame, pairs=named).labels_, expected)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(MinMaxScaler(), clusterer)
        found = pipe.fit_predict(X, pairs=pairs)
    scaled = MinMaxScaler().fit_transform(X)
    assert_array_equal(found, clusterer.fit(scaled, pairs=pairs).labels_)


@every_clusterer
def test_sparse_pickle_and_same_seed(clusterer):
    X, truth = blobs(20, [[0.0, 0], [6, 0], [0, 6]])
    pairs = ls.Pairs.from_labels(truth, n_must=10, n_cannot=10, random_state=0)
    model = clusterer.__class__(3, random_state=0).fit(X, pairs=pairs)
    again = clusterer.__class__(3, random_state=0).fit(sparse.csr_array(X), pairs=pairs)
    assert_array_equal(again.labels_, model.labels_)
    assert_array_equal(pickle.loads(pickle.dumps(model)).labels_, model.labels_)


@every_clusterer
def test_contradictory_pairs_are_refused_with_the_chain(clusterer):
    X, _ = blobs(6, [[0.0, 0], [4, 0]])
    pairs = ls.Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2), (0, 7)])
    with pytest.raises(ValueError, match=r"cannot-link \(0, 2\).*0 = 1 = 2.*on_conflict"):
        clusterer.__class__(2).fit(X, pairs=pairs)
    dropped = clusterer.__class__(2, on_conflict="drop", random_state=0).fit(X, pairs=pairs)
    consistent = ls.Pairs(must=[(0, 1), (1, 2)], cannot=[(0, 7)])
    expected = clusterer.__class__(2, random_state=0).fit(X, pairs=consistent)
    assert_array_equal(dropped.labels_, expected.labels_)


@every_clusterer
def test_the_docstring_lists_what_fit_sets_and_cites_the_papers(clusterer):
    X, truth = blobs(6, [[0.0, 0], [4, 0]])
    fitted = clusterer.fit(pd.DataFrame(X, columns=["a", "b"]), truth)
    listed = type(clusterer).__doc__.partition("Attributes\n")[2]
    for name in vars(fitted):
        assert not name.endswith("_") or f"\n{name} : " in listed
    assert ".. [1] " in listed.partition("References\n")[2]


@every_clusterer
def test_more_clusters_than_samples(clusterer):
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="n_clusters=7, but X has 6 samples. Choose 1 to 6"):
        clusterer.__class__(7).fit(X)
    with pytest.raises(ValueError, match="n_clusters=8, but X has 6 samples"):
        clusterer.fit(X)
    assert len(set(clusterer.__class__(6, random_state=0).fit_predict(X))) == 6
    with pytest.raises(ValueError, match="parameter of .* must be"):
        clusterer.__class__(0).fit(X)


# -- spectral ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_samples", "normalization"), [(120, "additive"), (600, "symmetric")])
def test_spectral_clustering_of_samples_that_are_all_far_apart(n_samples, normalization):
    # Nearly equal eigenvalues: LAPACK finds no eigenvector, and ARPACK does not converge.
    X = np.random.default_rng(0).random((n_samples, 20))
    y = np.full(n_samples, -1)
    y[:6] = [0, 0, 0, 1, 1, 1]
    model = ls.ConstrainedSpectralClustering(
        n_neighbors=20, sigma=0.1, normalization=normalization, random_state=0
    )
    assert set(model.fit(X, y).labels_) == {0, 1}


def test_many_samples_that_are_all_far_apart(sizes):
    sizes(SAMPLES_AS_DENSE=150, MOST_SAMPLES_AS_DENSE=150)
    X = np.random.default_rng(0).random((200, 20))
    y = np.full(200, -1)
    y[:6] = [0, 0, 0, 1, 1, 1]
    model = ls.ConstrainedSpectralClustering(n_neighbors=20, sigma=0.1, normalization="symmetric")
    with pytest.raises(ValueError, match="Choose a larger sigma"):
        model.fit(X, y)


def test_affinity_and_normalisations_equal_the_formulas():
    X, _ = blobs(6, [[0.0, 0], [3, 0]])
    must, cannot = [(0, 1), (5, 2), (3, 11)], [(3, 4), (7, 0)]
    A = np.where(literal.near(X, 4), literal.gauss(X, 1.5), 0.0)
    for i, j in must:
        A[i, j] = A[j, i] = 1
    for i, j in cannot:
        A[i, j] = A[j, i] = 0
    model = ls.ConstrainedSpectralClustering(2, n_neighbors=4, sigma=1.5, random_state=0)
    found = model.fit(X, pairs=ls.Pairs(must, cannot)).affinity_matrix_
    assert_allclose(found.toarray(), A)
    degrees = A.sum(axis=1)
    expected = (A + degrees.max() * np.eye(12) - np.diag(degrees)) / degrees.max()
    assert_allclose(_spectral.additive(found).toarray(), expected)
    expected = np.diag(degrees**-0.5) @ A @ np.diag(degrees**-0.5)
    assert_allclose(_spectral.symmetric(found).toarray(), expected)


def test_affinity_from_labels_is_that_of_their_pairs():
    X, truth = blobs(8, [[0.0, 0], [3, 0]])
    y = np.where(np.arange(16) % 3, truth, -1)
    model = ls.ConstrainedSpectralClustering(2, n_neighbors=4, random_state=0)
    of_labels = model.fit(X, y).affinity_matrix_.toarray()
    of_pairs = model.fit(X, pairs=ls.Pairs.from_labels(y)).affinity_matrix_.toarray()
    assert_allclose(of_labels, of_pairs)


@pytest.mark.parametrize("n_samples", [40, 300])
def test_sparse_and_dense_eigenvectors_span_those_of_lapack(n_samples):
    X, _ = blobs(n_samples, [[0.0, 0], [3, 0]])
    model = ls.ConstrainedSpectralClustering(2, random_state=0).fit(X)
    matrix = _spectral.additive(model.affinity_matrix_)
    expected = np.linalg.eigh(matrix.toarray())[1][:, -3:]
    found = _spectral.leading_eigenvectors(matrix, 3)
    assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


@pytest.mark.parametrize("normalization", ["additive", "symmetric"])
def test_pairs_move_the_cut(normalization):
    """Four blobs in a row; pairs join the two inner blobs and the two outer blobs."""
    X, truth = blobs(15, [[0.0, 0], [6, 0], [12, 0], [18, 0]])
    wanted = np.isin(truth, [1, 2]).astype(int)
    y = np.where(np.arange(60) % 2, wanted, -1)
    model = ls.ConstrainedSpectralClustering(normalization=normalization, random_state=0)
    assert adjusted_rand_score(model.fit(X).labels_ > 3, wanted) < 0.5
    assert (model.fit(X, y).labels_ == wanted).mean() > 0.95


# -- COP-KMeans --------------------------------------------------------------------------------


@given(st.integers(2, 4), st.integers(6, 25), st.integers(0, 2**20))
def test_every_pair_is_honoured(n_clusters, n_samples, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n_samples)
    truth[:n_clusters] = np.arange(n_clusters)
    X = rng.integers(0, 4, (n_samples, 2)).astype(float)
    links = rng.integers(0, n_samples, (n_samples // 2, 2))
    links = links[links[:, 0] != links[:, 1]]
    alike = truth[links[:, 0]] == truth[links[:, 1]]
    must, cannot = links[alike], links[~alike]
    model = ls.COPKMeans(n_clusters, random_state=seed)
    try:
        model.fit(X, pairs=ls.Pairs(must.tolist(), cannot.tolist()))
    except ValueError:
        # For two clusters, an assignment is found whenever there is one.
        if n_clusters == 2:
            raise
        return
    labels = model.labels_
    assert (labels[must[:, 0]] == labels[must[:, 1]]).all()
    assert (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all()
    scatter = np.square(X - model.cluster_centers_[labels]).sum()
    assert model.inertia_ == pytest.approx(scatter)
    for c in np.unique(labels):
        assert_allclose(model.cluster_centers_[c], X[labels == c].mean(axis=0), atol=1e-12)


def test_without_pairs_it_is_k_means():
    X, truth = blobs(20, [[0.0, 0], [20, 0], [0, 20]])
    model = ls.COPKMeans(3, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, truth) == 1
    inside = sum(np.square(X[truth == c] - X[truth == c].mean(0)).sum() for c in range(3))
    assert_allclose(model.inertia_, inside)


def test_an_offset_does_not_hide_the_distances_of_the_start():
    X = np.random.default_rng(0).integers(0, 64, (60, 3)) + 100 * (np.arange(60) % 4)[:, None]
    here, there = (
        ls.COPKMeans(4, n_init=1, random_state=0).fit(X + offset) for offset in (0, 1e10)
    )
    assert_array_equal(here.labels_, there.labels_)
    assert_allclose(there.inertia_, here.inertia_)
    assert_allclose(there.cluster_centers_ - 1e10, here.cluster_centers_, atol=1e-5)


def test_complete_labels_are_followed():
    X, truth = blobs(10, [[0.0, 0], [0.5, 0]])
    assert_array_equal(ls.COPKMeans(random_state=0).fit_predict(X, truth), truth)


def test_it_says_why_it_fails():
    X = np.arange(6.0)[:, None]
    triangle = [(0, 1), (1, 2), (0, 2)]
    with pytest.raises(
        ValueError, match="No assignment exists: 3 groups must be in different clusters"
    ):
        ls.COPKMeans(2, random_state=0).fit(X, pairs=ls.Pairs(cannot=triangle))
    with pytest.raises(
        ValueError, match="n_clusters=5, but the must-links join the 6 samples into only 4 groups"
    ):
        ls.COPKMeans(5).fit(X, pairs=ls.Pairs(must=triangle))


def test_fewer_clusters_than_classes_merge_classes():
    X, truth = blobs(10, [[0.0, 0], [1, 0], [30, 0]])
    assert_array_equal(ls.COPKMeans(2, random_state=0).fit(X, truth).labels_, truth // 2)
