"""Samples prepared for products, and what rounding may do to these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect._arrays import FloatArray, Matrix
from linkselect._blocks import slices
from linkselect._samples.devices import device_of, namespace_of

# Products over at most this many columns are added up, which bounds the rounding error of a
# product over millions of columns by that of a short one.
PRODUCT_WIDTH = 1024
# Sums of the length of a product, one after the other, that a distance in float64 is made of: the
# product itself, the norm, and the differences that decide, which count four times.
SUMS_IN_FLOAT64 = 6


@dataclass(frozen=True)
class Products:
    """Rows prepared for fast distances, with the error those distances may have.

    Attributes
    ----------
    rows : matrix of shape (n_samples, n_features)
        Centred (if dense) and scaled copy of the samples.
    norms : ndarray of shape (n_samples,)
        The squared norm of each row.
    scale : float
        `rows` times `scale` are the centred samples.
    errors : ndarray of shape (n_samples,)
        A distance between rows i and j is wrong by at most `errors[i] + errors[j]`.
    """

    rows: Matrix
    norms: FloatArray
    scale: float
    errors: FloatArray

    def take(self, chosen: Any) -> Products:
        """Return the chosen rows only; on a device these are named by number."""
        if device_of(self.norms) is None:
            return Products(self.rows[chosen], self.norms[chosen], self.scale, self.errors[chosen])
        take = namespace_of(self.norms).take
        rows, norms, errors = (
            take(part, chosen, axis=0) for part in (self.rows, self.norms, self.errors)
        )
        return Products(rows, norms, self.scale, errors)

    def distances(self, queries: Any, pool: Products) -> NDArray[Any]:
        """Compute squared distances to the rows of `pool`, without the queries' own squared norms.

        What is left out, the norm of the query, is the same for a whole row of the result.
        """
        rows = self.rows[queries]
        if issparse(rows):
            tile = (rows @ pool.rows.T).toarray()
            tile *= -2
            tile += pool.norms
            return tile
        tile = None
        for columns in slices(rows.shape[1], PRODUCT_WIDTH):
            part = rows[:, columns] @ pool.rows[:, columns].T
            tile = part if tile is None else np.add(tile, part, out=tile)
        assert tile is not None
        tile *= -2
        tile += pool.norms.astype(tile.dtype)
        return tile


def product_length(n_features: int) -> int:
    """Return how many roundings a product over so many columns goes through."""
    return min(n_features, PRODUCT_WIDTH) + -(-n_features // PRODUCT_WIDTH)


def product_errors(norms: Any, length: int, dtype: Any) -> Any:
    """Bound what products of so many terms do to distances, given the squared norms of the rows.

    `docs/bounds.md` derives it.
    """
    limits = np.finfo(dtype)
    # Norms, and the differences that decide, are summed in float64: beside products in float32
    # they are exact.
    sums = 1 if limits.bits == 32 else SUMS_IN_FLOAT64
    relative = (sums * length / 2 + 16) * float(limits.eps)
    return relative * norms + (length + 16) * float(limits.tiny)
