"""What single features are like: constant, too faint to be squared, copies of each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse

from linkselect.arrays import BoolArray, FloatArray, IntArray, Matrix
from linkselect.blocks import BLOCK_SIZE, slices

__all__ = ["FAINT", "constant_columns", "faint_columns", "with_equal_twins"]

# Squares of smaller differences, and their products with small weights, come near the smallest
# numbers there are and lose their digits.
FAINT = 1e-90
# Scores of equal features differ by less than this, relative to their size.
TWIN_ROUNDING = 1e-9


def constant_columns(X: Matrix) -> BoolArray:
    """Tell which features have one value only, by comparing the values themselves."""
    if issparse(X):
        X = X.tocsc()
        low = X.min(axis=0).toarray().ravel()
        return low == X.max(axis=0).toarray().ravel()
    # Most features that vary show it in a few rows, so only the others are read to the end.
    constant = (X[: min(8, X.shape[0])] == X[0]).all(axis=0)
    left = np.flatnonzero(constant)
    for part in slices(len(left), max(BLOCK_SIZE // X.shape[0], 16)):
        constant[left[part]] = (X[:, left[part]] == X[0, left[part]]).all(axis=0)
    return constant


def with_equal_twins(X: Matrix, scores: FloatArray) -> FloatArray:
    """Give features with the very same values the same score, that of the first of them.

    The last digit of a matrix product may depend on a column's place. Without this, rounding would
    order the copies of a feature, and not their index.
    """
    by_score = np.argsort(scores, kind="stable")
    ordered = scores[by_score]
    with np.errstate(invalid="ignore"):
        near = np.diff(ordered) <= TWIN_ROUNDING * np.abs(ordered[1:])
    if not near.any():
        return scores
    content = _column_contents(X)
    settled = scores.copy()
    # Runs of near scores, from the first of them to one behind the last.
    edges = np.diff(np.concatenate([[False], near, [False]]).astype(np.int8))
    for start, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        first: dict[bytes, int] = {}
        for feature in np.sort(by_score[start : stop + 1]):
            settled[feature] = scores[first.setdefault(content(feature), feature)]
    return settled


def _column_contents(X: Matrix) -> Callable[[int], bytes]:
    """Return a function that gives equal bytes for equal features."""
    if not issparse(X):
        # Adding 0 turns -0.0 into 0.0, which it equals.
        return lambda feature: (X[:, feature] + 0).tobytes()
    columns = X.tocsc()
    columns.sort_indices()

    def content(feature: int) -> bytes:
        stored = slice(columns.indptr[feature], columns.indptr[feature + 1])
        return columns.indices[stored].tobytes() + columns.data[stored].tobytes()

    return content


def faint_columns(X: Matrix) -> IntArray:
    """List the features that vary, but by so little that squared differences underflow."""
    if X.dtype.kind != "f" or X.dtype.itemsize < 8:
        return np.empty(0, dtype=np.intp)  # narrow types hold no such numbers
    if issparse(X):
        stored = np.abs(X.data)
        if not ((stored > 0) & (stored < 1.0)).any():
            return np.empty(0, dtype=np.intp)
        X = X.tocsc()
        extent = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
        return np.flatnonzero((extent > 0) & (extent < FAINT))
    left = np.flatnonzero(_extent(X[: min(8, X.shape[0])]) < FAINT)
    found = [np.empty(0, dtype=np.intp)]
    for part in slices(len(left), max(BLOCK_SIZE // X.shape[0], 16)):
        extent = _extent(X[:, left[part]])
        found.append(left[part][(extent > 0) & (extent < FAINT)])
    return np.concatenate(found)


def _extent(block: FloatArray) -> FloatArray:
    # The range of huge values may overflow, and is anything but faint.
    with np.errstate(over="ignore"):
        return block.max(axis=0) - block.min(axis=0)
