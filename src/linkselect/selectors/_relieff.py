"""ReliefF, which compares nearest hits and nearest misses."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from linkselect import scores
from linkselect._arrays import BoolArray, FloatArray
from linkselect._messages import GuidedValueError, many
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.selectors._parameters import NEIGHBORS, with_parameters
from linkselect.selectors._supervised_selectors import LabelSelector


@with_parameters
class ReliefF(LabelSelector):
    """Rank features by how much they differ between nearby samples of different classes (ReliefF).

    The score of a feature is an average over all samples. For each sample, it adds the mean
    difference from the `n_neighbors` nearest samples of each other class c, weighted by
    `prior_c / (1 - prior_own)`, and subtracts the mean difference from the nearest samples of the
    same class; larger is better. The difference between two samples is `|f_i - f_j| / range` in a
    numeric feature; in a discrete feature, it is 0 for equal and 1 for different values. The
    nearest samples have the smallest sum of differences over all features; ties go by row. With two
    classes and one neighbour, this is Relief on all samples. The label -1 is an ordinary class
    here.

    Not suitable for data with many irrelevant features, which dominate the distances used to find
    neighbours. Time is quadratic in the number of samples. If a class has fewer than `n_neighbors`
    samples, all of them are used.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    n_neighbors : int, default=5
        Number of nearest samples used from each class. The default in other implementations is 10.
    discrete : bool or array-like, optional
        The categorical features, given by a mask or indices; True if all features are categorical.
        Default: no feature is categorical.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    FRLL : Uses squared differences between neighbours, without class priors.

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
            f"discrete={discrete!r} is not valid for the {many(n_features, 'feature')} of X.",
            f"Pass True, a mask of {n_features} Booleans, or indices from 0 to {n_features - 1}.",
            "discrete",
        )
    mask[given] = True
    return mask
