"""Features that repeat others."""

import numpy as np

from linkselect.search import least_redundant


def test_copies_rank_last_and_constants_do_no_harm():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) + 1e8
    X = np.column_stack([X, -X, np.full(30, 0.1), 1e-160 * X[:, 0]])
    merit = np.array([1, 0.9, 0.8, 1, 0.9, 0.8, 0.85, 0.95])
    found = least_redundant(X, merit, 0.5, 8)
    assert set(found.order[:4]) == {0, 1, 2, 6}
