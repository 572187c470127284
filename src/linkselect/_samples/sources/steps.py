"""What is done to values of stored samples after they were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from linkselect._arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Scaling:
    """Subtract a shift from every column and divide it by a scale.

    Attributes
    ----------
    shift, scale : ndarray of shape (n_features,)
        One number for each column.
    """

    shift: FloatArray
    scale: FloatArray

    def choose(self, columns: slice | IntArray) -> Self:
        """Return the same for some of the columns."""
        return type(self)(self.shift[columns], self.scale[columns])

    def apply(self, values: FloatArray) -> None:
        """Change values in place."""
        values -= self.shift
        values /= self.scale


@dataclass(frozen=True, eq=False)
class Filling:
    """Put a number in place of every missing value.

    Attributes
    ----------
    values : ndarray of shape (n_features,)
        One number for each column.
    """

    values: FloatArray

    def choose(self, columns: slice | IntArray) -> Self:
        """Return the same for some of the columns."""
        return type(self)(self.values[columns])

    def apply(self, values: FloatArray) -> None:
        """Change values in place."""
        rows, columns = np.nonzero(np.isnan(values))
        values[rows, columns] = self.values[columns]


Step = Scaling | Filling
