"""Pair sums of the similarity criterion, computed for many candidate features at once."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from linkselect._arrays import FloatArray

# The polynomial that approximates the kernel is valid for differences of at most sigma, plus a
# margin for the rounding of scaled values.
WIDEST = 1.01
LARGEST_EXPONENT = WIDEST**2 / 2
# Largest number of values in one float32 sum; these sums are added in float64. Must-links are
# summed for several features side by side, where short sums cost no extra time.
MUST_LINKS_PER_SUM = 32
CANNOT_LINKS_PER_SUM = 256
# Bounds of relative errors, derived in docs/bounds.md. The error of a kernel value, in units of
# 2^-24, has three parts: 3 for the difference, which is off by 1.5 and at most 1; 7 for the
# polynomial; 2 for its product with the kernel of the other features.
KERNEL_ROUNDING = 16 * 2.0**-24
MUST_ROUNDING = (MUST_LINKS_PER_SUM + 4) * 2.0**-24
CANNOT_ROUNDING = 2 * KERNEL_ROUNDING + (CANNOT_LINKS_PER_SUM + 4) * 2.0**-24
# Smaller kernel values are set to 0: their squares would be subnormal numbers, which are slow.
TINY = 1e-16


class PairSums(NamedTuple):
    """Compiled functions for sums over pairs i < j of samples that are sorted by group."""

    must_parts: Callable[..., FloatArray]
    """Function for the sum of `(1 - w k)^2` over pairs within groups, for several features."""
    cannot_parts: Callable[..., FloatArray]
    """Function for the sum of `(w k)^2` over pairs between groups, for several features."""


def _kernel_coefficients() -> NDArray[np.float32]:
    """Return a polynomial approximation of `exp(-x)` with a relative error below 2^-26."""
    fitted = Chebyshev.interpolate(lambda x: np.exp(-x), 5, domain=[0, LARGEST_EXPONENT])
    return fitted.convert(kind=Polynomial).coef.astype(np.float32)


@cache
def pair_sums() -> PairSums | None:
    """Return the compiled functions, or None if numba is not installed."""
    try:
        from numba import njit
    except ImportError:
        return None

    c0, c1, c2, c3, c4, c5 = _kernel_coefficients()
    one = np.float32(1)

    @njit(inline="always")
    def kernel(difference: Any) -> Any:
        x = difference * difference
        return c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))

    # Reordering of sums must be allowed for vectorisation; the error bound holds for any order.
    compiled = njit(nogil=True, fastmath={"reassoc", "nsz", "contract"})

    @compiled
    def must_parts(samples: Any, similarity: Any, group_end: Any) -> Any:
        totals = np.zeros(samples.shape[1])
        part = np.zeros(samples.shape[1], np.float32)
        for i in range(samples.shape[0]):
            for start in range(i + 1, group_end[i], MUST_LINKS_PER_SUM):
                part[:] = 0
                for j in range(start, min(start + MUST_LINKS_PER_SUM, group_end[i])):
                    a, b, weight = samples[i], samples[j], similarity[i, j]
                    for feature in range(part.size):
                        error = one - weight * kernel(a[feature] - b[feature])
                        part[feature] += error * error
                totals += part
        return totals

    @compiled
    def cannot_parts(columns: Any, similarity: Any, group_end: Any) -> Any:
        totals = np.zeros(columns.shape[0])
        for i in range(columns.shape[1]):
            for start in range(group_end[i], columns.shape[1], CANNOT_LINKS_PER_SUM):
                # Slice first: the loop is vectorised only if its index starts at 0.
                weights = similarity[i, start : start + CANNOT_LINKS_PER_SUM]
                for feature in range(columns.shape[0]):
                    others = columns[feature, start : start + CANNOT_LINKS_PER_SUM]
                    own = columns[feature, i]
                    part = np.float32(0)
                    for j in range(others.size):
                        error = weights[j] * kernel(own - others[j])
                        part += error * error
                    totals[feature] += part
        return totals

    return PairSums(must_parts, cannot_parts)
