"""Measures of the stability of selections over several runs."""

import numpy as np
from numpy.typing import ArrayLike

from linkselect._arrays import BoolArray, FloatArray
from linkselect._bibliography import cites


@cites("kuncheva2007")
def kuncheva_index(selected: BoolArray) -> float:
    """Compute the mean consistency of all pairs of selections of equal size (Kuncheva 2007).

    The consistency of two subsets of k out of d features with r features in common is
    `(r d - k^2) / (k (d - k))`. It is 1 for equal subsets and about 0 for random subsets. The
    result is NaN for fewer than two runs, for subsets of different sizes, and for subsets with all
    features or none.

    Parameters
    ----------
    selected : ndarray of bool of shape (n_runs, n_features)
        Mask of the features selected in each run.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool)
    >>> round(kuncheva_index(runs), 4)
    0.3333
    """
    n_runs, n_features = selected.shape
    sizes = selected.sum(axis=1)
    size = int(sizes[0])
    if n_runs < 2 or (sizes != size).any() or size in (0, n_features):
        return float("nan")
    # A feature chosen h times is common to h (h - 1) / 2 pairs of runs.
    times = selected.sum(axis=0)
    common = (times * (times - 1)).sum() / (n_runs * (n_runs - 1))
    return float((common * n_features - size**2) / (size * (n_features - size)))


@cites("nogueira2018")
def nogueira_index(selected: BoolArray) -> float:
    """Compute the stability index of Nogueira, Sechidis & Brown (2018).

    The index compares the variance of selections with its expected value for random selections. It
    is `1 - mean_f s_f^2 / (k/d (1 - k/d))`, where `s_f^2` is the unbiased variance of the selection
    of feature f, k is the mean number of selected features, and d is the number of all features.
    For subsets of equal size, it equals Kuncheva's index. The result is NaN for fewer than two
    runs, or if every run selects all features or every run selects none.

    Parameters
    ----------
    selected : ndarray of bool of shape (n_runs, n_features)
        Mask of the features selected in each run.

    Examples
    --------
    >>> import numpy as np
    >>> round(nogueira_index(np.array([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)), 4)
    0.4667
    """
    n_runs = len(selected)
    frequency = selected.mean(axis=0)
    chosen = frequency.mean()
    if n_runs < 2 or chosen in (0, 1):
        return float("nan")
    variance = n_runs / (n_runs - 1) * (frequency * (1 - frequency)).mean()
    return float(1 - variance / (chosen * (1 - chosen)))


def frequency_errors(shares: ArrayLike, n_runs: int) -> FloatArray:
    """Return the Monte Carlo standard errors of selection frequencies.

    Two selections and two rejections are added (Agresti & Coull), because a feature that was not
    selected in any draw could still be selected in the next draw.

    Examples
    --------
    >>> frequency_errors([1.0, 0.5], 96).round(3).tolist()
    [0.014, 0.05]
    """
    mean = (np.asarray(shares, dtype=np.float64) * n_runs + 2) / (n_runs + 4)
    return np.sqrt(mean * (1 - mean) / (n_runs + 4))


@cites("meinshausen2010", "shah2013")
def error_bound(selected: BoolArray, threshold: float) -> float:
    """Return a bound on the expected number of selected features of low selection probability.

    The bound is `q^2 / ((2 threshold - 1) d)` if q of d features are selected in a draw on average.
    It applies to the expected number of features whose selection probability is below q / d but
    whose selection frequency reaches the threshold. The result is NaN if the threshold is not above
    one half.

    Parameters
    ----------
    selected : ndarray of bool of shape (n_runs, n_features)
        Mask of the features selected in each of an even number of complementary halves.
    threshold : float
        Minimum selection frequency of a kept feature.

    Examples
    --------
    >>> runs = np.array([[1, 0, 0, 0, 0], [1, 0, 0, 0, 0]], dtype=bool)
    >>> error_bound(runs, 0.9)
    0.25
    """
    if threshold <= 0.5:
        return float("nan")
    n_selected, n_features = selected.sum(axis=1).mean(), selected.shape[1]
    return float(n_selected**2 / ((2 * threshold - 1) * n_features))
