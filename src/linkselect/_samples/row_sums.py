"""Inner products of scaled features and weighted sums of rows, computed in a single pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, issparse

from linkselect._arrays import FloatArray
from linkselect._samples.devices import device_of
from linkselect._samples.moments import Moments
from linkselect._samples.scaling import Scaling, one_group

if TYPE_CHECKING:
    from linkselect._samples.samples import Samples


class RowSums(NamedTuple):
    """Sums over the scaled and centred rows."""

    products: Any
    """Inner products of all features, of shape (n_features, n_features)."""
    some_products: Any
    """Inner products with every row weighted by its count; None if all counts are 0."""
    mixed: Any
    """Weighted sums of rows, of shape (n_sums, n_features)."""


def row_sums(
    X: Samples, scaling: Scaling, weights: csr_array, counts: FloatArray, n_jobs: int | None
) -> RowSums:
    """Compute inner products of scaled and centred features, and weighted sums of rows.

    Parameters
    ----------
    X : Samples
        Samples of any kind, except those that are read by columns.
    scaling : Scaling
        The scaling of the features.
    weights : csr_array of shape (n_samples, n_sums)
        The weight of each row in each sum.
    counts : ndarray of float of shape (n_samples,)
        The weight of each row in `some_products`.
    n_jobs : int or None
        The number of threads.
    """
    n_samples = X.shape[0]
    masses = csr_array(np.column_stack([np.ones(n_samples), counts]))
    weights = hstack([masses, weights], format="csr")
    # Values near 0 lose fewer digits. The rest of the mean is subtracted at the end.
    has_means = not scaling.roots and X.kind != "sparse"
    origin = _means(X, scaling, n_jobs) if has_means else np.zeros(X.shape[1])
    work = partial(_sums_of_rows, scaling=scaling, origin=origin)
    all_equal = bool((counts == counts[0]).all())
    # If all counts are equal, the second products follow from the first.
    apart = np.zeros_like(counts) if all_equal else counts
    products, of_some, sums = X.reduce_rows(work, add_up, (weights, apart), n_jobs)
    mean = sums[0, :] / n_samples
    masses = X.placed(np.asarray(weights.sum(axis=0)).ravel())
    mixed = (sums - masses[:, None] * mean[None, :])[2:, :]
    products -= (n_samples * mean)[:, None] * mean[None, :]
    if all_equal:
        return RowSums(products, products * float(counts[0]) if counts[0] else None, mixed)
    # The weighted sum of (t - mean)(t - mean)' follows from that of tt'.
    cross = (sums[1, :] - masses[1] / 2.0 * mean)[:, None] * mean[None, :]
    return RowSums(products, of_some - cross - cross.T, mixed)


def mixed_rows(X: Samples, scaling: Scaling, weights: csr_array, n_jobs: int | None) -> Any:
    """Compute weighted sums of the scaled and centred rows, of shape (n_sums, n_features)."""
    n_samples = X.shape[0]
    weights = hstack([csr_array(np.ones((n_samples, 1))), weights], format="csr")
    (sums,) = X.reduce_rows(partial(_mixed, scaling=scaling), add_up, (weights,), n_jobs)
    masses = X.placed(np.asarray(weights.sum(axis=0)).ravel())
    return (sums - masses[:, None] * (sums[0, :] / n_samples)[None, :])[1:, :]


def add_up(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add tuples of sums, element by element."""
    return tuple(sum(kind[1:], start=kind[0]) for kind in zip(*parts, strict=True))


def _means(X: Samples, scaling: Scaling, n_jobs: int | None) -> FloatArray:
    # Squares of huge values may overflow, but only an approximate mean is needed.
    with np.errstate(over="ignore", invalid="ignore"):
        means = X.fetched(X.from_moments(_mean, ((one_group(X), None),), n_jobs))
        found = (means * scaling.unit - scaling.low) * scaling.factor
    return np.where(np.isfinite(found), found, 0.5)


def _mean(alone: Moments) -> Any:
    return alone.means_minus(0.0)[0, :]


def _sums_of_rows(
    values: Any, weights: csr_array, counts: FloatArray, *, scaling: Scaling, origin: FloatArray
) -> tuple[Any, ...]:
    """Return the inner products, weighted inner products and row sums for a block of rows."""
    rows, here = scaling.rows(values), device_of(values)
    if not issparse(rows):
        rows = rows - (origin if here is None else here.put(origin))
    mixed = _weighted(weights, rows)
    products = _dense(rows.T @ rows)
    some = counts > 0
    if not some.any():
        return products, 0.0, mixed
    chosen = rows[some] if here is None else rows[here.put(some)]
    return products, _dense(chosen.T @ _counted(chosen, counts[some])), mixed


def _counted(rows: Any, counts: FloatArray) -> Any:
    here = device_of(rows)
    if issparse(rows):
        return diags_array(counts) @ rows
    return (counts if here is None else here.put(counts))[:, None] * rows


def _mixed(values: Any, weights: csr_array, *, scaling: Scaling) -> tuple[Any]:
    return (_weighted(weights, scaling.rows(values)),)


def _weighted(weights: csr_array, rows: Any) -> Any:
    here = device_of(rows)
    return _dense(weights.T @ rows) if here is None else here.put(weights.T.toarray()) @ rows


def _dense(product: Any) -> Any:
    return product.toarray() if issparse(product) else product
