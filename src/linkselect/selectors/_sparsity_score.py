"""The Sparsity Score, which measures how well samples are reconstructed from other samples."""

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
    """Rank features by how well their values are reconstructed from those of other samples.

    Row i of the weights S reconstructs sample i from the other samples: its entries sum to 1, entry
    i is 0, and only few entries are nonzero. The score of a feature f is
    `|f - S f|^2 / mean((f - mean(f))^2)`; smaller is better.

    Not suitable for features in different units: standardise them first. Not suitable for many
    thousands of samples, since each sample is a separate optimisation problem. All features that
    are reconstructed exactly have the score 0. With `form="compensated"`, these may be most
    features if samples outnumber features; in this case, scale the features to [0, 1] or choose
    another form or graph.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    graph : {"l1", "l2", "lle"}, default="l1"
        Regularisation of the weights of a sample. "l1" minimises the sum of their absolute values,
        "l2" minimises the sum of their squares, and "lle" sets them to 0 outside the `n_neighbors`
        nearest samples.
    form : {"compensated", "tolerance"}, default="compensated"
        Treatment of reconstruction errors for `graph="l1"`. "compensated" adds the errors of a
        sample to the norm of its weights (equation 8 of the paper), which is always feasible.
        "tolerance" allows errors of at most `tolerance` (equation 7).
    tolerance : float, default=1e-3
        Maximum Euclidean reconstruction error of a sample for `form="tolerance"`. The default is
        usually too small if there are more features than samples; the error message then states the
        smallest possible value.
    n_neighbors : int, default=5
        Number of nearest neighbours for `graph="lle"`.
    regularization : float, default=1e-3
        Strength of the penalty on large weights for `graph="l2"` and `graph="lle"`.
    max_iter : int or "auto", default="auto"
        Maximum number of simplex steps per sample for `graph="l1"`, or of steps of SciPy's `nnls`
        for `form="tolerance"`. For n samples with d features, "auto" is
        `5 min(n, d + 1) sqrt(n + d)`, but at least 10,000. A `ConvergenceWarning` reports the
        number of samples that may not have been solved within this limit.
    solver : {"auto", "exact", "first_order"}, default="auto"
        Solver for `graph="l1"` with `form="compensated"`. "exact" solves one sample after another.
        "first_order" solves many samples at once, until each is certain to be within 1 % of its
        optimum. The ranking is nearly the same, and the computation takes at most a tenth of the
        time. "auto" uses "first_order" for more than 150 samples with more than 150 features, and
        solves again with "exact" the samples that have not converged.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    reconstruction_weights_ : csr_array of shape (n_samples, n_samples)
        The weight matrix S. The optimum may not be unique.
    n_iter_ : int
        Largest number of steps that a sample required; for `form="tolerance"`, the largest number
        of least-squares problems.

    See Also
    --------
    LaplacianScore : Uses a graph of neighbours instead of reconstructions.
    linkselect.graphs.reconstruction_weights : Computes only the weights.

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
        # Checked once the problem is known, so that the error can state a possible value.
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
                "With form='equality', every sample is reconstructed exactly, so all scores are 0 "
                "and features cannot be ranked.",
                "Choose form='compensated' or 'tolerance'. To compute only the weights, use "
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
            "n_iter_": max(int(found.n_iter.max()), 1),  # scikit-learn requires at least 1
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
                f"All {len(values)} non-constant features are reconstructed exactly and have the "
                "score 0, so they are ranked in column order.",
                hint="Scale the features to [0, 1] or less, or choose form='tolerance', "
                "graph='l2' or graph='lle'.",
                settings={"X": "minmax", "form": "tolerance", "graph": "lle"},
            )

    def _reconstruct(self, X: Samples, track: Track[Any]) -> Reconstruction:
        local = (self.n_neighbors, self.regularization)
        options = (self.graph, self.form, self.tolerance, *local, self.solver)
        check_reconstruction(X.shape[0], *options)
        return reconstruct(X, *options, self.max_iter, self.n_jobs, track)
