"""Values against the number of features: what every comparison measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

# The name of the curve of features in random order, which every method should beat.
RANDOM = "random choice"


@dataclass(frozen=True)
class Curve:
    """Values over numbers of features, one row for each run.

    Parameters
    ----------
    n_features : array of int, shape (n_points,)
        The numbers of features, ascending.
    values : array of float, shape (n_runs, n_points)
        What was measured in each run with each number of features.
    """

    n_features: NDArray[Any]
    values: NDArray[Any]

    @property
    def mean(self) -> NDArray[Any]:
        """The mean over runs, at each number of features."""
        return self.values.mean(axis=0)

    @property
    def spread(self) -> NDArray[Any]:
        """The standard deviation over runs, at each number of features."""
        return self.values.std(axis=0)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return everything as plain data that JSON can hold."""
        return {
            "n_features": self.n_features.tolist(),
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
            "values": self.values.tolist(),
        }


def numbers_of_features(n_all: int, most: int = 100) -> tuple[int, ...]:
    """Return numbers of features to measure at: 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100.

    Examples
    --------
    >>> numbers_of_features(12)
    (1, 2, 3, 5, 7, 10, 12)
    """
    last = min(n_all, most)
    steps = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
    return (*(step for step in steps if step < last), last)
