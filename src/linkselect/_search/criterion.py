"""The interface of the similarity criterion, and functions that its implementations share."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray

# A generous bound of rounding errors in float64 products and sums, relative to the sum of
# magnitudes. Candidates with closer values are evaluated pair by pair.
PRODUCT_ROUNDING = 1e-12
# Two candidates tie if their directly evaluated changes differ by less than TIE_ROUNDING times the
# sum of magnitudes (the rounding error of the sums) or CRITERION_ROUNDING times the criterion (its
# last digit).
TIE_ROUNDING = 1e-14
CRITERION_ROUNDING = 2.0**-53


class SimilarityCriterion(ABC):
    """The kernel of the features selected so far, and the change by one more feature.

    The criterion of a subset F is `sum_ij c_ij (w_ij(F) - T_ij)^2`, where `w(F)` is the Gaussian
    kernel on the columns F, `T` the target similarity (1 or 0) and `c` a weight. These are
    equations 33 and 36 of Salmi, Hammouche & Macaire (2020); their equation 32 is the square root.
    Adding feature r multiplies the kernel by the kernel of that feature alone, `v = w k_r`, and
    changes the criterion by `sum c (w - v) (2 T - w - v)`. Candidates are compared by this change.
    """

    n_features: int

    @abstractmethod
    def criterion(self) -> float:
        """Return the criterion of the features selected so far."""

    @abstractmethod
    def magnitude(self) -> float:
        """Return an upper bound of the change by any candidate."""

    def tie(self) -> float:
        """Return the difference below which directly evaluated changes count as tied."""
        return TIE_ROUNDING * self.magnitude() + CRITERION_ROUNDING * self.criterion()


def form_rounding(n_samples: int, n_terms: int) -> float:
    """Return a relative error bound for the difference of two changes computed in float64.

    docs/bounds.md derives the bound.
    """
    return max(PRODUCT_ROUNDING, (5 * n_samples + 8 * n_terms**2 + 2048) * 2.0**-53)


def lowest_of_ties(features: IntArray, values: FloatArray, rounding: float) -> int:
    """Return the lowest-numbered feature among those whose value is minimal up to rounding."""
    return int(features[values <= values.min() + rounding].min())


def one_feature_kernel(difference: Any, sigma: float) -> Any:
    """Compute kernel values from the differences of one feature, in place.

    Differences are divided by sigma, not the values themselves: with a large offset, rounding the
    values would lose digits, while the difference of two close values is exact.
    """
    difference /= sigma
    np.multiply(difference, difference, out=difference)
    difference *= -0.5
    return np.exp(difference, out=difference)
