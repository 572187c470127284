"""ReliefF: nearest hits and nearest misses."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from linkselect import scores
from linkselect._arrays import BoolArray, FloatArray
from linkselect._messages import GuidedValueError
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.selectors._parameters import NEIGHBORS, with_parameters
from linkselect.selectors._supervised_selectors import LabelSelector


@with_parameters
class ReliefF(LabelSelector):
    """Rank features by how they differ to the nearest misses and to the nearest hits.

    Over every sample once, the score of a feature is the mean of its difference to the
    `n_neighbors` nearest of each other class c, weighted by `prior_c / (1 - prior_own)`, minus its
    mean difference to the nearest of its own class; larger is better. Two samples differ by
    `|f_i - f_j| / range`, or by 0 and 1 for equal and unequal values of a discrete feature; the
    nearest have the least sum of these over all features, ties by row. With two classes and one
    neighbour this is Relief, on all samples. Labels of -1 are a class like any other here.

    Not for many irrelevant features: they dominate the distances used to find neighbours. Time
    is quadratic in the number of samples. A class with fewer than `n_neighbors` samples gives all.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    n_neighbors : int, default=5
        How many nearest samples to take from every class. Other implementations default to 10.
    discrete : bool or array-like, optional
        The features that hold categories: True for all, a mask, or their indices. Default: none.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    See Also
    --------
    FRLL : Squared differences to neighbours, without priors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ReliefF
    >>> X, y = load_iris(return_X_y=True)
    >>> ReliefF().fit(X, y).order_
    array([3, 2, 0, 1])
    """

    greater_is_better = True
    _seconds = 1.0
    references = ("robnik2003", "kira1992")
    _constant_is_undefined = False
    _squares_differences = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "n_neighbors": NEIGHBORS,
        "discrete": ["boolean", "array-like", None],
    }

    n_neighbors: int = 5
    discrete: bool | ArrayLike | None = None

    @property
    def _takes_categories(self) -> bool:
        return self.discrete is not None and self.discrete is not False

    def _score(self, X: Samples, known: Supervision) -> FloatArray:
        discrete = _discrete_mask(self.discrete, X.shape[1])
        return scores.relieff(X, known.classes, self.n_neighbors, discrete, self.n_jobs)


def _discrete_mask(discrete: bool | ArrayLike | None, n_features: int) -> BoolArray:
    given = np.asarray(False if discrete is None else discrete)
    if given.dtype.kind == "b" and given.shape in ((), (n_features,)):
        return np.broadcast_to(given, n_features)
    mask = np.zeros(n_features, dtype=bool)
    whole = given.dtype.kind in "iu" and given.ndim == 1
    if given.size == 0:
        return mask
    if not whole or given.min() < 0 or given.max() >= n_features:
        raise GuidedValueError(
            f"discrete={discrete!r} does not name features: X has {n_features}.",
            f"Pass True, a mask of {n_features} booleans, or indices from 0 to {n_features - 1}.",
            "discrete",
        )
    mask[given] = True
    return mask
