"""Array types that all modules use."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Matrix = Any
"""A NumPy array, a memory map or a SciPy sparse matrix of shape (n_samples, n_features)."""
