"""Interface of the similarity criterion, and functions shared by its implementations."""

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
    """Base class for the similarity criterion of the features selected so far.

    The criterion of a subset F is `sum_ij c_ij (w_ij(F) - T_ij)^2`, where `w(F)` is the Gaussian
    kernel on the columns F, `T` the target similarity (1 or 0) and `c` a weight. These are
    equations 33 and 36 of Salmi, Hammouche & Macaire (2020); their equation 32 is the square root.
    If feature r is added, the kernel is multiplied by the kernel of that feature, `v = w k_r`, and
    the criterion changes by `sum c (w - v) (2 T - w - v)`. Candidates are compared by this change.
    """

    n_features: int

    @abstractmethod
    def criterion(self) -> float:
        """Return the value of the criterion for the features selected so far."""

    @abstractmethod
    def magnitude(self) -> float:
        """Return an upper bound on the change of the criterion that any candidate causes."""

    def tie(self) -> float:
        """Return the difference below which directly evaluated changes count as tied."""
        return TIE_ROUNDING * self.magnitude() + CRITERION_ROUNDING * self.criterion()


def form_rounding(n_samples: int, n_terms: int) -> float:
    """Return a relative error bound for the difference of two changes of the criterion.

    The bound is derived in docs/bounds.md.
    """
    return max(PRODUCT_ROUNDING, (5 * n_samples + 8 * n_terms**2 + 2048) * 2.0**-53)


def lowest_of_ties(features: IntArray, values: FloatArray, rounding: float) -> int:
    """Return the feature with the lowest index among those with minimal value up to rounding."""
    return int(features[values <= values.min() + rounding].min())


def one_feature_kernel(difference: Any, sigma: float) -> Any:
    """Compute the Gaussian kernel of one feature from its differences, in place.

    The differences, rather than the values, are divided by sigma. If a feature has a large offset,
    rounding of scaled values would lose digits, whereas the difference of two close values is
    exact.
    """
    difference /= sigma
    np.multiply(difference, difference, out=difference)
    difference *= -0.5
    return np.exp(difference, out=difference)
