"""What the two ways to evaluate the similarity criterion have in common."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray

# What products and sums in float64 may be off by, relative to the summed magnitudes, with room to
# spare: candidates closer than this are evaluated pair by pair.
PRODUCT_ROUNDING = 1e-12
# Two candidates whose directly evaluated changes are closer than the first of these, relative to
# the same magnitudes, or than the second, relative to the criterion, are a tie: the first is what
# the sums may be off by, the second is where the criterion itself has no more digits.
TIE_ROUNDING = 1e-14
CRITERION_ROUNDING = 2.0**-53


class SimilarityCriterion(ABC):
    """The kernel of the features chosen so far, and what one more feature would change.

    The criterion of a subset F is `sum_ij c_ij (w_ij(F) - T_ij)^2`: `w(F)` is the Gaussian kernel
    on the columns F, `T` the target similarity (1 or 0), `c` a weight. These are equations 33 and
    36 of Salmi, Hammouche & Macaire (2020); their equation 32 is the root. Adding feature r
    multiplies the kernel by the kernel of that feature alone, `v = w k_r`, and changes the
    criterion by `sum c (w - v) (2 T - w - v)`, which is what candidates are compared by.
    """

    n_features: int

    @abstractmethod
    def criterion(self) -> float:
        """Return the criterion of the features chosen so far."""

    @abstractmethod
    def magnitude(self) -> float:
        """Bound the change that any candidate can make."""

    def tie(self) -> float:
        """Return the difference below which directly evaluated changes are a tie."""
        return TIE_ROUNDING * self.magnitude() + CRITERION_ROUNDING * self.criterion()


def form_rounding(n_samples: int, n_terms: int) -> float:
    """Bound how far two changes by float64 products may be off together, as a share of all.

    `docs/bounds.md` derives it.
    """
    return max(PRODUCT_ROUNDING, (5 * n_samples + 8 * n_terms**2 + 2048) * 2.0**-53)


def lowest_of_ties(features: IntArray, values: FloatArray, rounding: float) -> int:
    """Return the lowest of the features whose value is the least up to rounding."""
    return int(features[values <= values.min() + rounding].min())


def one_feature_kernel(difference: Any, sigma: float) -> Any:
    """Turn differences of a feature into kernel values, in place.

    Differences are divided by sigma, never the values themselves: rounding a value costs the
    digits that a large offset leaves, while the difference of two close values is exact.
    """
    difference /= sigma
    np.multiply(difference, difference, out=difference)
    difference *= -0.5
    return np.exp(difference, out=difference)
