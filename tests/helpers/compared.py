"""A classification problem and a poor method for tests of `compare`."""

import numpy as np

from linkselect import VarianceScore


def two_classes(n=120, d=12, seed=0):
    """Return two classes that differ in the first two features; the last has a large variance."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, :2] += 3.0 * y[:, None]
    X[:, -1] *= 10.0
    return X, y


class Worst(VarianceScore):
    """Rank uninformative features first."""

    def _score(self, X, known):
        return np.arange(X.shape[1], dtype=float)
