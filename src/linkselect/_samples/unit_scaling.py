"""Scaling of features to [0, 1] that also works for tiny or huge values and values far from 0."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from linkselect._arrays import Matrix

# scikit-learn scales ranges from 2**-16 to 2**64, and values up to 2**16 times their range, well.
SMALLEST, LARGEST, FARTHEST = -16, 64, 16


def scaled_to_one(X: Matrix) -> Matrix:
    """Scale dense features to [0, 1], or divide sparse features by their largest absolute value.

    Examples
    --------
    >>> scaled_to_one(np.array([[0.0, 0.0], [1.0, 2e-30], [4.0, 4e-30]])).tolist()
    [[0.0, 0.0], [0.25, 0.5], [1.0, 1.0]]
    """
    return unit_scaler(issparse(X)).fit_transform(FitUnits().fit_transform(X.astype(np.float64)))


def unit_scaler(sparse: bool) -> Any:
    """Return the scikit-learn scaler that is applied after `FitUnits`."""
    return MaxAbsScaler() if sparse else MinMaxScaler()


class FitUnits(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply columns with a tiny or huge range by a power of 2 to obtain a range close to 1.

    The scalers in scikit-learn treat a feature with a range below about 2e-15 as constant and
    overflow if the range is huge. Multiplication by a power of 2 does not change any digit. Dense
    columns with such a range, or far from zero, are also shifted so that their minimum is 0. All
    other columns and missing values remain unchanged.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Determine the columns to rescale, and the power of 2 and minimum of each."""
        X = self._checked(X, reset=True)
        self.columns_ = np.empty(0, dtype=np.intp)
        if X.dtype.kind != "f":
            return self  # the range of integers is at least 1
        low, high = _ends(X)
        with np.errstate(invalid="ignore"):
            # Half of the range is used, since the range of huge values may overflow. If half of a
            # tiny range underflows to 0, the range itself is used.
            halves = high / 2 - low / 2
            np.subtract(high, low, out=halves, where=halves == 0)
            exponents = np.frexp(halves)[1] + 1
            far = np.frexp(np.maximum(abs(low), abs(high)))[1] - exponents
            odd = (exponents < SMALLEST) | (exponents > LARGEST) | (far > FARTHEST)
            self.columns_ = np.flatnonzero(odd & (high > low))
        self.exponents_ = exponents[self.columns_]
        self.starts_ = low[self.columns_]
        return self

    def transform(self, X: Any) -> Matrix:
        """Rescale the columns determined by `fit`; return X itself if there are none."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if not len(self.columns_) or X.dtype.kind != "f":
            return X
        if issparse(X):
            powers = np.zeros(X.shape[1], dtype=np.intc)
            powers[self.columns_] = -self.exponents_
            found = X.copy()
            found.data = np.ldexp(X.data, powers[X.indices])
            return found
        X = X.copy()
        for column, exponent, start in zip(
            self.columns_, self.exponents_, self.starts_, strict=True
        ):
            values = X[:, column]
            # The first of the two operations must not overflow.
            if exponent > 0:
                X[:, column] = np.ldexp(values, -exponent) - np.ldexp(start, -exponent)
            else:
                X[:, column] = np.ldexp(values - start, -exponent)
        return X

    def _checked(self, X: Any, reset: bool) -> Matrix:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite="allow-nan",
        )


def _ends(X: Matrix) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the minimum and maximum of each column, ignoring NaN.

    For sparse columns, 0 and the largest absolute value are returned.
    """
    if not issparse(X):
        return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    largest = np.zeros(X.shape[1], dtype=X.dtype)
    np.fmax.at(largest, X.indices, np.abs(X.data))
    return np.zeros_like(largest), largest
