"""Rows of samples of any kind."""

from __future__ import annotations

from scipy.sparse import issparse

from linkselect._arrays import IntArray, Matrix
from linkselect._samples.devices import device_of
from linkselect._samples.sources.stored import Stored


def take_rows(X: Matrix, rows: IntArray) -> Matrix:
    """Return some rows of X, as the kind of matrix that it is; of stored samples in memory."""
    if isinstance(X, Stored):
        return X.take(rows)
    if (here := device_of(X)) is not None:
        return here.xp.take(X, here.put(rows), axis=0)
    return (X.tocsr() if issparse(X) else X)[rows]
