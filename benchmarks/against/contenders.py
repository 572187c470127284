"""One function per library and task: it takes the problem and returns the call that is timed.

Preparations such as a data frame are not timed. All contenders may use all cores. Libraries that
start processes are tried with and without them, and the faster variant is measured. Alternatives
are imported only here, and only by the process that measures them.
"""

import threading
import time
from itertools import combinations_with_replacement

import numpy as np

import linkselect as ls
from linkselect.graphs import nearest

N_NEIGHBORS = 10
N_NEAREST = 5


def with_or_without_processes(call):
    """Return the call with the number of processes, 1 or one per core, that is faster here."""
    seconds = {}
    for n_jobs in (-1, 1):
        start = time.perf_counter()
        call(n_jobs)
        seconds[n_jobs] = time.perf_counter() - start
    best = min(seconds, key=seconds.get)
    return lambda: call(best)


# linkselect


def our_variance(problem):
    return lambda: ls.VarianceScore().fit(problem.X).scores_


def our_fisher(problem):
    return lambda: ls.FisherScore().fit(problem.X, problem.y).scores_


def our_laplacian(problem):
    sigma = problem.given["sigma"]
    return lambda: ls.LaplacianScore(n_neighbors=N_NEAREST, sigma=sigma).fit(problem.X).scores_


def our_spectral(problem):
    selector = ls.SpectralScore(style=2, n_neighbors=N_NEAREST, sigma=problem.given["sigma"])
    return lambda: selector.fit(problem.X).scores_


def our_relieff(problem):
    return lambda: ls.ReliefF(n_neighbors=N_NEIGHBORS).fit(problem.X, problem.y).scores_


def our_information(problem):
    """Return mRMR for a single feature, whose scores are the relevance."""
    return lambda: ls.MRMR(1, discretize=None).fit(problem.X, problem.y).scores_


def our_mrmr(n_features):
    def prepare(problem):
        selector = ls.MRMR(n_features, discretize=None)
        return lambda: selector.fit(problem.X, problem.y).order_[:n_features]

    return prepare


def our_fcbf(problem):
    def call():
        fitted = ls.FCBF(discretize=None).fit(problem.X, problem.y)
        return fitted.order_[: fitted.n_features_]

    return call


def our_trace_ratio(n_features):
    def prepare(problem):
        selector = ls.TraceRatio(n_features)
        return lambda: selector.fit(problem.X, problem.y).order_[:n_features]

    return prepare


def our_sfs(n_features):
    def prepare(problem):
        selector = ls.NearestNeighborSFS(n_features, cv=problem.given["splits"])
        return lambda: np.sort(selector.fit(problem.X, problem.y).order_[:n_features])

    return prepare


def our_neighbors(problem):
    def call():
        _, right, _ = nearest(problem.X, N_NEAREST)
        return right.reshape(-1, N_NEAREST)

    return call


def our_sparsity(**options):
    def prepare(problem):
        return lambda: ls.SparsityScore(**options).fit(problem.X).scores_

    return prepare


# scikit-learn


def sklearn_variance(problem):
    from sklearn.feature_selection import VarianceThreshold

    return lambda: VarianceThreshold().fit(problem.X).variances_


def sklearn_f_classif(problem):
    """Return F times a constant, which is the Fisher Score."""
    from sklearn.feature_selection import f_classif

    n_samples, n_classes = len(problem.y), len(np.unique(problem.y))
    return lambda: f_classif(problem.X, problem.y)[0] * (n_classes - 1) / (n_samples - n_classes)


def sklearn_information(problem):
    from sklearn.feature_selection import mutual_info_classif

    def call(n_jobs):
        return mutual_info_classif(problem.X, problem.y, discrete_features=True, n_jobs=n_jobs)

    return with_or_without_processes(call)


def sklearn_sfs(n_features):
    def prepare(problem):
        from sklearn.feature_selection import SequentialFeatureSelector
        from sklearn.neighbors import KNeighborsClassifier

        options = {"n_features_to_select": n_features, "cv": problem.given["splits"]}

        def call(n_jobs):
            selector = SequentialFeatureSelector(KNeighborsClassifier(1), n_jobs=n_jobs, **options)
            return np.flatnonzero(selector.fit(problem.X, problem.y).get_support())

        return with_or_without_processes(call)

    return prepare


def sklearn_neighbors(problem):
    """Each sample comes first among its own neighbours, since no two are equal, and is dropped."""
    from sklearn.neighbors import NearestNeighbors

    def call():
        search = NearestNeighbors(n_neighbors=N_NEAREST + 1, algorithm="brute", n_jobs=-1)
        return search.fit(problem.X).kneighbors(return_distance=False)[:, :N_NEAREST]

    return call


# skfeature-chappers


def knn_weights(X, sigma):
    """Return its graph without self-loops."""
    from skfeature.utility.construct_W import construct_W

    options = {"metric": "euclidean", "neighbor_mode": "knn", "weight_mode": "heat_kernel"}
    weights = construct_W(X, **options, k=N_NEAREST, t=sigma)
    weights.setdiag(0)
    return weights


def skfeature_laplacian(problem):
    from skfeature.function.similarity_based.lap_score import lap_score

    sigma = problem.given["sigma"]
    return lambda: lap_score(problem.X, mode="index", W=knn_weights(problem.X, sigma))


def skfeature_spectral(problem):
    from skfeature.function.similarity_based.SPEC import spec

    sigma = problem.given["sigma"]
    return lambda: spec(problem.X, mode="raw", style=0, W=knn_weights(problem.X, sigma))


def skfeature_fisher(problem):
    from skfeature.function.similarity_based.fisher_score import fisher_score

    return lambda: fisher_score(problem.X, problem.y, mode="index")


def skfeature_relieff(problem):
    from skfeature.function.similarity_based.reliefF import reliefF

    n_samples = len(problem.y)
    return lambda: reliefF(problem.X, problem.y, mode="raw", k=N_NEIGHBORS) / n_samples


def skfeature_information(problem):
    from skfeature.utility.entropy_estimators import midd

    return lambda: np.array([midd(f, problem.y) for f in problem.X.T]) * np.log(2)


def skfeature_mrmr(n_features):
    """Call the function behind its `mrmr`, which returns ranks in place of indices."""

    def prepare(problem):
        from skfeature.function.information_theoretical_based.LCSI import lcsi

        options = {"gamma": 0, "n_selected_features": n_features, "mode": "index"}
        return lambda: lcsi(problem.X, problem.y, **options)

    return prepare


def skfeature_fcbf(problem):
    from skfeature.function.information_theoretical_based.FCBF import fcbf

    return lambda: fcbf(problem.X, problem.y, mode="index")


def skfeature_trace_ratio(n_features):
    def prepare(problem):
        from skfeature.function.similarity_based.trace_ratio import trace_ratio

        return lambda: trace_ratio(problem.X, problem.y, n_features, mode="index")

    return prepare


# fast-select, skrebate, mrmr_selection, fastcan, mlxtend


def fast_select_relieff(problem):
    from fast_select import ReliefF

    def call():
        selector = ReliefF(n_features_to_select=1, n_neighbors=N_NEIGHBORS, backend="cpu")
        return selector.fit(problem.X, problem.y).feature_importances_

    return call


def fast_select_mrmr(n_features):
    def prepare(problem):
        from fast_select import mRMR

        return lambda: mRMR(n_features, backend="cpu").fit(problem.X, problem.y).top_features_

    return prepare


def skrebate_relieff(problem):
    from skrebate import ReliefF

    def call(n_jobs):
        selector = ReliefF(n_features_to_select=1, n_neighbors=N_NEIGHBORS, n_jobs=n_jobs)
        return selector.fit(problem.X, problem.y).feature_importances_

    return with_or_without_processes(call)


def mrmr_selection(n_features):
    def prepare(problem):
        import pandas as pd
        from mrmr import mrmr_classif

        values = problem.given["values"]
        frame = pd.DataFrame(values, columns=[f"f{i}" for i in range(values.shape[1])])
        labels = pd.Series(problem.y)

        def call(n_jobs):
            chosen = mrmr_classif(frame, labels, K=n_features, n_jobs=n_jobs, show_progress=False)
            return np.array([int(name[1:]) for name in chosen])

        return with_or_without_processes(call)

    return prepare


def fastcan_search(n_features):
    def prepare(problem):
        from fastcan import FastCan

        classes = (problem.y[:, None] == np.unique(problem.y)) * 1.0
        return lambda: FastCan(n_features, verbose=0).fit(problem.given["values"], classes).indices_

    return prepare


def mlxtend_sfs(n_features):
    def prepare(problem):
        from mlxtend.feature_selection import SequentialFeatureSelector
        from sklearn.neighbors import KNeighborsClassifier

        options = {"k_features": n_features, "cv": problem.given["splits"]}

        def call(n_jobs):
            # A new object each time: fitting changes its parameters.
            selector = SequentialFeatureSelector(KNeighborsClassifier(1), n_jobs=n_jobs, **options)
            return np.array(sorted(selector.fit(problem.X, problem.y).k_feature_idx_))

        return with_or_without_processes(call)

    return prepare


# Work that every exact search must do


def products_alone(problem):
    """Multiply every pair of blocks of rows once, in float32, and discard the result.

    One pair per thread is faster than one pair at a time in the threads of BLAS.
    """
    from linkselect._blocks import map_threads

    rows = problem.X.astype(np.float32)
    blocks = np.array_split(rows, max(round(len(rows) / 1448), 1))
    buffers = threading.local()

    def multiply(pair):
        left, right = pair
        if not hasattr(buffers, "tile"):
            buffers.tile = np.empty((len(blocks[0]), len(blocks[0])), dtype=np.float32)
        np.matmul(left, right.T, out=buffers.tile[: len(left), : len(right)])

    def call():
        map_threads(multiply, combinations_with_replacement(blocks, 2))
        return np.zeros(0)

    return call
