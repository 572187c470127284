"""The IDs of the samples that questions are about, and the values that query strategies use."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import LEAST_WIDTH, slices
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._samples import Samples as AnySamples
from linkselect._samples import as_samples
from linkselect._samples.checks import check_samples, check_spread, explained_overflow
from linkselect.asking._answers import Rows, in_order
from linkselect.pairs._conflicts import Pair
from linkselect.pairs._ids import check_ids, plain_id

Progress = Callable[[int, int], None]

# The smallest number of progress reports, if there are enough features.
STEPS = 20


# The class name that scikit-learn's checks use in their messages.
_Asked = type("PairQueries", (BaseEstimator,), {})


class SampleValues:
    """The matrix X, which is not copied if it is an array or CSR, and the variance of each feature.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    progress : callable, optional
        A function that is called while X is read, with the number of completed steps and the total
        number of steps.

    Attributes
    ----------
    X : matrix of shape (n_samples, n_features)
        The checked samples.
    constant : ndarray of bool of shape (n_features,)
        Whether each feature is constant.
    spread : ndarray of shape (n_features,)
        Twice the variance, which is the mean squared difference between two samples.
    """

    def __init__(self, X: Any, progress: Progress | None = None) -> None:
        checked = _Asked()
        samples = check_samples(checked, X)
        self.n_samples, self.n_features = samples.shape
        self.feature_names = getattr(checked, "feature_names_in_", None)
        check_spread(samples, self.feature_names)
        self.constant = samples.constant_columns()
        with explained_overflow():
            self.spread = _spread(samples, progress)
        self.spread[self.constant] = 0.0
        # From here on, X is read by rows only.
        self.X = samples.rows_first
        self._by_rows = as_samples(self.X)
        # Subtracting any sample preserves the precision of features with a large offset.
        self.centre = self.rows(np.arange(1))[0]

    def rows(self, rows: IntArray, features: IntArray | None = None) -> FloatArray:
        """Copy some rows, with all or some features, to a dense float64 array."""
        return self._by_rows.cells(rows, features)

    def standardized(self, rows: IntArray) -> FloatArray:
        """Copy some rows, centre the non-constant features and divide them by sqrt(`spread`)."""
        varies = ~self.constant
        values = self.rows(rows)[:, varies]
        values -= self.centre[varies]
        values /= np.sqrt(self.spread[varies])
        return values

    def distances(self, row: int, others: IntArray, features: IntArray) -> FloatArray:
        """Return squared distances from a row to others, with features scaled to equal variance."""
        gaps = self.rows(others, features) - self.rows(np.array([row]), features)
        gaps /= np.sqrt(self.spread[features])
        return np.asarray(np.square(gaps).sum(axis=1))


def _spread(X: AnySamples, progress: Progress | None) -> FloatArray:
    """Return twice the variance of each feature, block by block."""
    spread = np.empty(X.shape[1])
    one_group = np.zeros(X.shape[0], dtype=np.intp), None
    parts = slices(X.shape[1], max(X.shape[1] // STEPS, LEAST_WIDTH))
    for done, columns in enumerate(parts, start=1):
        spread[columns] = X.choose(columns).from_moments(
            lambda alone: 2.0 * alone.scatter[0] / alone.mass[0], (one_group,), 1
        )
        if progress is not None:
            progress(done, len(parts))
    return spread


class SampleNames:
    """Map sample IDs to rows.

    Parameters
    ----------
    sample_ids : iterable of hashable or None
        The ID of each sample; None to use row numbers.
    n_samples : int
        The number of samples.

    Attributes
    ----------
    ids : tuple of hashable
        The ID of each sample.
    are_rows : bool
        Whether the IDs are row numbers.
    """

    def __init__(self, sample_ids: Iterable[Hashable] | None, n_samples: int) -> None:
        self.are_rows = sample_ids is None
        self.ids = check_ids(range(n_samples) if sample_ids is None else sample_ids, n_samples)
        self.row_of = {sample: row for row, sample in enumerate(self.ids)}

    def checked(self, pair: Any) -> Pair:
        """Return a pair of two different sample IDs, or raise an error if it is invalid."""
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise GuidedTypeError(
                f"pair={pair!r}, but a pair has two samples.", "Pass a tuple of two IDs.", "pair"
            )
        a, b = plain_id(pair[0]), plain_id(pair[1])
        for sample in (a, b):
            if not isinstance(sample, Hashable) or sample not in self.row_of:
                raise GuidedValueError(
                    f"The pair ({a!r}, {b!r}) contains {sample!r}, which is not one of the "
                    f"{len(self.ids)} samples. For example, {self.ids[0]!r} is a valid ID.",
                    "Use the IDs in sample_ids, or row numbers if there are no IDs.",
                    "pair",
                )
        if a == b:
            raise GuidedValueError(
                f"The pair ({a!r}, {b!r}) contains the same sample twice.",
                "Pass two different samples.",
                "pair",
            )
        return a, b

    def rows(self, pair: Pair) -> Rows:
        """Return the rows of a pair."""
        return self.row_of[pair[0]], self.row_of[pair[1]]

    def key(self, pair: Pair) -> Rows:
        """Return the rows of a pair, smaller row first."""
        return in_order(*self.rows(pair))
