"""Imputation and scaling of features before an experiment."""

import numpy as np

from linkselect._arrays import FloatArray, IntArray


def fill_missing(X: FloatArray, train: IntArray) -> FloatArray:
    """Replace missing values by the median of each feature in the training rows.

    If all training values of a feature are missing, its missing values are replaced by 0.
    """
    missing = np.isnan(X)
    if not missing.any():
        return X
    columns = np.flatnonzero(missing.any(axis=0))
    filled = X.copy()
    for column in columns:
        seen = X[train, column]
        seen = seen[~np.isnan(seen)]
        filled[missing[:, column], column] = np.median(seen) if seen.size else 0.0
    return filled


def scale_to_unit(X: FloatArray) -> FloatArray:
    """Scale each feature to [0, 1] over all rows; a constant feature becomes 0."""
    lowest = np.nanmin(X, axis=0)
    span = np.nanmax(X, axis=0) - lowest
    return (X - lowest) / np.where(span > 0, span, 1.0)


def scale_by_maximum(X: FloatArray) -> FloatArray:
    """Divide each feature by its maximum over all rows, unless the maximum is 0.

    This scaling is used in figure 6 of Zhang, Chen & Zhou (2008).
    """
    largest = np.nanmax(X, axis=0)
    return X / np.where(largest != 0, largest, 1.0)
