"""Low-rank approximations of the Gaussian kernels of single features."""

import numpy as np

from linkselect._arrays import FloatArray

# Features in [0, 1] never need more terms for sigma >= 0.1. Narrower kernels leave a remainder,
# which the caller must account for.
MAX_TERMS = 64
# A feature needs no further term when the diagonal of the remainder is below this.
TOLERANCE = 1e-14


def kernel_terms(
    columns: FloatArray, max_terms: int = MAX_TERMS
) -> tuple[list[FloatArray], FloatArray]:
    """Split the Gaussian kernel of each feature into rank-1 terms, sorted by decreasing size.

    For a feature with values `f`, the kernel `exp(-(f_i - f_j)^2 / 2)` equals `sum_p t_p t_p' + R`.
    The terms are obtained by a pivoted Cholesky factorisation and rotated so that they are
    orthogonal and the first few terms contain most of the kernel. The remainder `R` is positive
    semidefinite. Therefore, for every positive semidefinite `A`, the sum `sum_p t_p' A t_p` over
    the first terms is a lower bound on `sum_ij A_ij k_ij`.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_samples)
        Feature values divided by sigma, one feature per row.
    max_terms : int
        Maximum number of terms per feature.

    Returns
    -------
    terms : list of ndarray of shape (n_features, n_samples)
        The p-th term of feature r is `terms[p][r]`. It is zero if fewer terms suffice for the
        feature.
    remainder : ndarray of shape (n_features,)
        The largest diagonal entry of `R`, which is an upper bound on all entries of `R`.
    """
    factor = _pivoted_cholesky(columns)
    _, rotation = np.linalg.eigh(factor @ factor.transpose(0, 2, 1))
    # `eigh` sorts eigenvalues in ascending order.
    leading_first = rotation[:, :, ::-1].transpose(0, 2, 1)[:, :max_terms]
    turned = leading_first @ factor
    remainder = 1.0 - np.einsum("rpi,rpi->ri", turned, turned).min(axis=1)
    # Copies allow the caller to release single terms.
    terms = [turned[:, p].copy() for p in range(turned.shape[1])]
    return terms, np.maximum(remainder, 0.0)


def _pivoted_cholesky(columns: FloatArray) -> FloatArray:
    """Factorise the kernels of all features by a pivoted Cholesky decomposition."""
    n_features, n_samples = columns.shape
    feature = np.arange(n_features)
    diagonal = np.ones((n_features, n_samples))
    # The diagonal is constant initially; a central sample is the best first pivot.
    middle = (columns.max(axis=1) + columns.min(axis=1)) / 2
    pivot = np.abs(columns - middle[:, None]).argmin(axis=1)
    rows: list[FloatArray] = []
    while len(rows) < min(MAX_TERMS, n_samples):
        row = columns - columns[feature, pivot][:, None]
        row *= row
        row *= -0.5
        np.exp(row, out=row)
        for earlier in rows:
            row -= earlier * earlier[feature, pivot][:, None]
        height = diagonal[feature, pivot]
        unfinished = height > TOLERANCE
        row *= np.where(unfinished, 1 / np.sqrt(np.where(unfinished, height, 1.0)), 0.0)[:, None]
        rows.append(row)
        diagonal -= row * row
        pivot = diagonal.argmax(axis=1)
        if diagonal[feature, pivot].max() <= TOLERANCE:
            break
    return np.stack(rows, axis=1)
