"""Gaussian kernels of single features as short sums of outer products."""

import numpy as np

from linkselect._arrays import FloatArray

# More terms than this are never needed for features in [0, 1] and sigma >= 0.1; a kernel so
# narrow that they do not suffice keeps a remainder, which the caller accounts for.
MAX_TERMS = 64
# A feature needs no further term once the diagonal of what is left of its kernel is below this.
TOLERANCE = 1e-14


def kernel_terms(
    columns: FloatArray, max_terms: int = MAX_TERMS
) -> tuple[list[FloatArray], FloatArray]:
    """Split the Gaussian kernel of every feature into terms, the largest first.

    For a feature with values `f` the kernel `exp(-(f_i - f_j)^2 / 2)` equals
    `sum_p t_p t_p' + R`: a pivoted Cholesky factorisation, turned so that the terms are
    orthogonal and the first few carry most of the kernel. `R` is positive semidefinite, so for
    every positive semidefinite `A` the sums `sum_p t_p' A t_p` over the first terms are lower
    bounds of `sum_ij A_ij k_ij`, whatever the number of terms.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_samples)
        Feature values divided by sigma, one feature per row.
    max_terms : int
        How many terms to keep at most.

    Returns
    -------
    terms : list of ndarray of shape (n_features, n_samples)
        `terms[p][r]` is the p-th term of feature r; zero if a feature needs fewer.
    remainder : ndarray of shape (n_features,)
        The largest entry on the diagonal of `R`, which bounds every entry of `R`.
    """
    factor = _pivoted_cholesky(columns)
    _, rotation = np.linalg.eigh(factor @ factor.transpose(0, 2, 1))
    # eigh sorts upwards.
    leading_first = rotation[:, :, ::-1].transpose(0, 2, 1)[:, :max_terms]
    turned = leading_first @ factor
    remainder = 1.0 - np.einsum("rpi,rpi->ri", turned, turned).min(axis=1)
    # Copies, so that the caller can let go of single terms.
    terms = [turned[:, p].copy() for p in range(turned.shape[1])]
    return terms, np.maximum(remainder, 0.0)


def _pivoted_cholesky(columns: FloatArray) -> FloatArray:
    """Factor the kernels of all features side by side; shape (n_features, n_terms, n_samples)."""
    n_features, n_samples = columns.shape
    feature = np.arange(n_features)
    diagonal = np.ones((n_features, n_samples))
    # The diagonal is constant at the start; a central sample is the best first pivot.
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
