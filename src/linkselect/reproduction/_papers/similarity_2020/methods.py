"""The methods compared by Salmi, Hammouche & Macaire (2020), and the samples each method may use.

Supervised methods use only the prototypes, semi-supervised methods use all training rows, and
unsupervised methods use the rows without a label.

Some scores differ from their original publications: each sample is connected to itself with weight
1, and this weight is part of its degree. Equation 1 of the paper states this rule for the complete
graph. For neighbour graphs, we inferred it from the results on CNAE-9, whose samples are so far
apart that this weight dominates. The paper reports 11.5 % for the Laplacian Score and 19.1 % for
C7, in agreement with this version (11.7 % and 19.2 %). Without self-connections, the scores reach
52 %.
"""

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._samples import as_samples
from linkselect._supervision import Supervision, from_labels
from linkselect.graphs import (
    Edges,
    compensated_graph,
    constrained_graph,
    degrees,
    gaussian_edges,
    kernel_graph,
    nearest_edges,
    reward_graph,
)
from linkselect.reproduction._paper import Unit
from linkselect.reproduction._papers.similarity_2020.problems import LabelledSplit
from linkselect.selectors import (
    LSDF,
    MRMR,
    SCGS,
    ConstraintScore,
    EnsembleCLS,
    LaplacianConstraintScore,
    NearestNeighborSFS,
    ReliefF,
    SimilarityConstraintScore,
)
from linkselect.selectors._ranking import Ranking, best_first, with_equal_twins

SIGMA = 1.0  # the width of all Gaussian weights
N_NEAREST = 5  # neighbours in C3, C5, C6 and C7, including the sample itself
WITH_ITSELF = 1.0
# The parameters of C7 in the paper.
GAMMA, COMPENSATION = 0.9, 0.5
N_RELIEF_NEIGHBORS = 5
WEIGHT_OF_C2 = 1.0

# The compared methods by experiment: in tables 2 and 5, and in tables 3 and 6.
CONSTRAINT_SCORES = {
    "prototypes": ("eps^S", "C1", "C2"),
    "clustering": ("eps^SS", "C3", "C4", "C5", "C6", "C7"),
}
COMPARED = {
    "prototypes": ("SFS-1NN", "ReliefF", "mRMR", "C1", "C2", "eps^S"),
    "clustering": ("Laplacian Score", "SPEC", "SCGS", "EnsCLS", "C4", "C7", "eps^SS"),
}

# Remarks that are shown with the names of methods.
SEES_MORE = {"SFS-1NN": "uses all training labels"}
WORST_FIRST = {"EnsCLS": "worst features first"}
RIGHT_ORDER = "EnsCLS, best first"

Method = Callable[[LabelledSplit, int], Ranking]


def ranking_of(unit: Unit, problem: LabelledSplit, n_features: int) -> Ranking:
    """Rank the features by the method of a unit, using the samples that this method may use.

    Parameters
    ----------
    unit : Unit
        A unit whose method is in `METHODS`. Its parameter "sigma" is the width of eps^S and eps^SS.
    problem : LabelledSplit
        The rows and labels.
    n_features : int
        The number of features that search methods select.

    Returns
    -------
    Ranking
        The ranking. For the search methods eps^S and eps^SS, `fitted` includes `path_`.
    """
    sigma = dict(unit.parameters).get("sigma")
    method = METHODS[unit.method] if sigma is None else _similarity(MODES[unit.method], sigma)
    with warnings.catch_warnings():
        # With so few rows, many features are constant, so warnings are not useful.
        warnings.simplefilter("ignore")
        return method(problem, n_features)


# -- selectors of the library, with the samples that they may use -------------------------------


def _on_prototypes(make: Callable[[int], Any]) -> Method:
    def rank(problem: LabelledSplit, n_features: int) -> Ranking:
        known = problem.labels >= 0
        return _fitted(make(n_features).fit(problem.X[known], problem.labels[known]))

    return rank


def _on_all_rows(make: Callable[[int], Any]) -> Method:
    return lambda problem, n_features: _fitted(make(n_features).fit(problem.X, problem.labels))


def _fitted(selector: Any) -> Ranking:
    path = {"path_": selector.path_} if hasattr(selector, "path_") else {}
    return Ranking(selector.scores_, selector.order_, selector.n_features_, path)


def _similarity(mode: Literal["supervised", "semi-supervised"], sigma: float) -> Method:
    def make(n_features: int) -> SimilarityConstraintScore:
        return SimilarityConstraintScore(n_features, mode=mode, sigma=sigma, n_jobs=1)

    return _on_prototypes(make) if mode == "supervised" else _on_all_rows(make)


def _wrapper(problem: LabelledSplit, n_features: int) -> Ranking:
    """Rank features by the wrapper SFS-1NN, which uses the true classes of all training rows."""
    rows = np.arange(len(problem.y))
    folds = [(rows[problem.labels >= 0], rows)]
    selector = NearestNeighborSFS(n_features, cv=folds, n_jobs=1)
    return _fitted(selector.fit(problem.X, problem.y))


def _ensemble(problem: LabelledSplit, n_features: int) -> Ranking:
    selector = EnsembleCLS(n_features, random_state=problem.seed)
    return _fitted(selector.fit(problem.X, problem.labels))


def _worst_first(problem: LabelledSplit, n_features: int) -> Ranking:
    """Rank features by EnsCLS in the opposite order, as the published numbers suggest.

    The published accuracies are 11.4 % on CNAE-9, which is chance level, and 34.1 % on Multiple
    Features. On these sets, the correct order reaches 48.8 % and 76.3 %, and the opposite order
    reaches 10.9 % and 35.6 %.
    """
    found = _ensemble(problem, n_features)
    return Ranking(found.scores, best_first(found.scores, True), n_features)


# -- scores as defined in this paper: one per feature, smaller is better --------------------------


def _laplacian_score(X: FloatArray) -> FloatArray:
    """Compute the Laplacian Score on the complete graph of equations 1 and 15."""
    return scores.laplacian(X, kernel_graph(X, SIGMA, n_jobs=1), 1)


def _spec(X: FloatArray) -> FloatArray:
    """Compute the SPEC score of the first style on the complete graph."""
    return scores.spectral(X, kernel_graph(X, SIGMA, n_jobs=1), 1, 1)


def _c5(X: FloatArray, known: Supervision) -> FloatArray:
    """Compute C5, the constrained Laplacian score (Benabdeslem & Hindawi, 2011)."""
    alike = constrained_graph(X, _neighbors(X), known, SIGMA, 1)
    weights = degrees(alike) + WITH_ITSELF
    return scores.weighted_constrained_laplacian(X, alike, known, weights, 1)


def _c6(X: FloatArray, known: Supervision) -> FloatArray:
    """Compute C6, the second constrained Laplacian score (Benabdeslem & Hindawi, 2014)."""
    near = _neighbors(X)
    alike = reward_graph(X, near, known, SIGMA, 1)
    weights = degrees(gaussian_edges(near, SIGMA)) + WITH_ITSELF
    return scores.weighted_constrained_laplacian(X, alike, known, weights, 1)


def _c7(X: FloatArray, known: Supervision) -> FloatArray:
    """Compute C7, the compensated Laplacian score."""
    alike = compensated_graph(_neighbors(X), known, SIGMA, GAMMA, COMPENSATION)
    weights = degrees(alike) + WITH_ITSELF
    return scores.weighted_compensated_laplacian(X, alike, known, weights, 1)


def _neighbors(X: FloatArray) -> Edges:
    return nearest_edges(X, N_NEAREST - 1, 1)


def _unsupervised(score: Callable[[FloatArray], FloatArray]) -> Method:
    def rank(problem: LabelledSplit, n_features: int) -> Ranking:
        X = problem.X[problem.labels < 0]
        return _ranked(X, score(X), n_features)

    return rank


def _semi_supervised(score: Callable[[FloatArray, Supervision], FloatArray]) -> Method:
    def rank(problem: LabelledSplit, n_features: int) -> Ranking:
        known = from_labels(problem.labels, len(problem.labels))
        return _ranked(problem.X, score(problem.X, known), n_features)

    return rank


def _ranked(X: FloatArray, scores: FloatArray, n_features: int) -> Ranking:
    """Rank features as selectors do: constant features come last, and equal features are tied."""
    defined = with_equal_twins(X, np.where(as_samples(X).constant_columns(), np.nan, scores))
    return Ranking(defined, best_first(defined, False), n_features)


MODES: dict[str, Literal["supervised", "semi-supervised"]] = {
    "eps^S": "supervised",
    "eps^SS": "semi-supervised",
}
METHODS: dict[str, Method] = {
    "SFS-1NN": _wrapper,
    "ReliefF": _on_prototypes(lambda n: ReliefF(n, n_neighbors=N_RELIEF_NEIGHBORS)),
    "mRMR": _on_prototypes(MRMR),
    "C1": _on_prototypes(ConstraintScore),
    "C2": _on_prototypes(lambda n: ConstraintScore(n, criterion="difference", weight=WEIGHT_OF_C2)),
    **{name: _similarity(mode, SIGMA) for name, mode in MODES.items()},
    "C3": _on_all_rows(lambda n: LSDF(n, n_neighbors=N_NEAREST - 1)),
    "C4": _on_all_rows(lambda n: LaplacianConstraintScore(n, sigma=SIGMA)),
    "C5": _semi_supervised(_c5),
    "C6": _semi_supervised(_c6),
    "C7": _semi_supervised(_c7),
    "Laplacian Score": _unsupervised(_laplacian_score),
    "SPEC": _unsupervised(_spec),
    "SCGS": _on_all_rows(SCGS),
    "EnsCLS": _worst_first,
    RIGHT_ORDER: _ensemble,
}
