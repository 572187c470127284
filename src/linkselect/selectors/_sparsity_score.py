"""The Sparsity Score: features that the other samples reconstruct well."""

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from linkselect import scores
from linkselect._arrays import BoolArray, FloatArray
from linkselect._messages import GuidedValueError, warn_user
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs._reconstruction import (
    Reconstruction,
    check_reconstruction,
    n_reconstruction_steps,
    reconstruct,
)
from linkselect.selectors._parameters import AT_LEAST_1, NEIGHBORS, with_parameters
from linkselect.selectors._ranking import Ranking
from linkselect.selectors._selector import RankingSelector, Track


@with_parameters
class SparsityScore(RankingSelector):
    """Rank features by how well the other samples reconstruct them.

    Row i of the weights S reconstructs sample i from the others: its entries sum to 1, the i-th is
    0, and few of the others are not 0. The score of a feature f is
    `|f - S f|^2 / mean((f - mean(f))^2)`; smaller is better.

    Not for features of different units: standardise them first. Not for many thousands of samples
    either: each is an optimisation problem of its own. Features that are reconstructed exactly
    all score 0, and with `form="compensated"` that may be most of them if samples outnumber
    features; scale features to [0, 1] then, or choose another form or graph.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    graph : {"l1", "l2", "lle"}, default="l1"
        What makes the weights of a sample small: the sum of their absolute values, the sum of
        their squares, or that they are 0 outside the `n_neighbors` nearest samples.
    form : {"compensated", "tolerance"}, default="compensated"
        For `graph="l1"`: whether the errors of a reconstructed sample are added to the norm of its
        weights (eq. 8 of the paper, always possible), or are at most `tolerance` (eq. 7).
    tolerance : float, default=1e-3
        The largest Euclidean error of a reconstructed sample for `form="tolerance"`. It is usually
        too small if features outnumber samples; then the error names the smallest possible one.
    n_neighbors : int, default=5
        The number of neighbours for `graph="lle"`.
    regularization : float, default=1e-3
        How strongly the graphs "l2" and "lle" keep weights small.
    max_iter : int or "auto", default="auto"
        The largest number of simplex steps for one sample of `graph="l1"`, or of steps of SciPy's
        `nnls` for `form="tolerance"`. For n samples of d features "auto" is
        `5 min(n, d + 1) sqrt(n + d)`, and at least 10,000. Samples that are not certain to be
        solved by then are counted in a `ConvergenceWarning`.
    solver : {"auto", "exact", "first_order"}, default="auto"
        For `graph="l1"` with `form="compensated"`: "exact" solves sample by sample; "first_order"
        solves many samples at once, each until it is certain to be within 1 % of its optimum,
        which ranks features alike and takes a tenth of the time or less. "auto" takes the latter
        for more than 150 samples of more than 150 features, and solves exactly what it leaves open.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Attributes
    ----------
    reconstruction_weights_ : csr_array of shape (n_samples, n_samples)
        The weights S. Optima need not be unique.
    n_iter_ : int
        The largest number of steps that a sample took; for `form="tolerance"` the largest number of
        least squares problems.

    See Also
    --------
    LaplacianScore : A graph of neighbours instead of reconstructions.
    linkselect.graphs.reconstruction_weights : The weights alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from linkselect import SparsityScore
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SparsityScore(n_features_to_select=2).fit(scale(X))
    >>> selector.scores_.round(2)
    array([0.  , 0.  , 0.29, 0.21])
    >>> selector.reconstruction_weights_.shape
    (150, 150)
    """

    _seconds = 60.0
    references = ("liu2012",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankingSelector._parameter_constraints,
        "graph": [StrOptions({"l1", "l2", "lle"})],
        "form": [StrOptions({"compensated", "tolerance"})],
        # Checked when the problem is known, so that the error can name a way out.
        "tolerance": [Real],
        "regularization": [Real],
        "n_neighbors": NEIGHBORS,
        "max_iter": [*AT_LEAST_1, StrOptions({"auto"})],
        "solver": [StrOptions({"auto", "exact", "first_order"})],
    }

    graph: Literal["l1", "l2", "lle"] = "l1"
    form: Literal["compensated", "tolerance"] = "compensated"
    tolerance: float = 1e-3
    n_neighbors: int = 5
    regularization: float = 1e-3
    max_iter: int | Literal["auto"] = "auto"
    solver: Literal["auto", "exact", "first_order"] = "auto"

    def _validate_params(self) -> None:
        # Eq. 5 of the paper, which `reconstruction_weights` offers.
        if str(self.form) == "equality":
            raise GuidedValueError(
                "form='equality' reconstructs every sample exactly, so that all scores are 0 and "
                "no feature is better than another.",
                "Choose form='compensated' or 'tolerance'; the weights alone are "
                "linkselect.graphs.reconstruction_weights(X, form='equality').",
                "form",
            )
        super()._validate_params()

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return n_reconstruction_steps(n_samples, n_features, self.graph, self.form, self.solver)

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        found = self._reconstruct(X, track)
        fitted = {
            "reconstruction_weights_": found.weights,
            "n_iter_": max(int(found.n_iter.max()), 1),  # scikit-learn demands one
        }
        values = scores.sparsity(X, found.weights, self.n_jobs)
        found.warn_unsolved()
        ranking = self._by_score(X, values, constant, fitted)
        self._warn_without_order(ranking.scores)
        return ranking

    def _warn_without_order(self, values: FloatArray) -> None:
        values = values[~np.isnan(values)]
        if len(values) > 1 and not values.any():
            warn_user(
                f"All {len(values)} features that vary are reconstructed exactly and score 0, so "
                "their order is that of the columns.",
                hint="Scale the features to [0, 1] or less, or choose form='tolerance', "
                "graph='l2' or graph='lle'.",
                settings={"X": "minmax", "form": "tolerance", "graph": "lle"},
            )

    def _reconstruct(self, X: Samples, track: Track[Any]) -> Reconstruction:
        local = (self.n_neighbors, self.regularization)
        options = (self.graph, self.form, self.tolerance, *local, self.solver)
        check_reconstruction(X.shape[0], *options)
        return reconstruct(X, *options, self.max_iter, self.n_jobs, track)
