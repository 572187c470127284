"""Fit without warnings, compare scores between kinds of storage, and stop searches early."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from linkselect._callbacks import HAS_CALLBACKS

needs_callbacks = pytest.mark.skipif(
    not HAS_CALLBACKS, reason="scikit-learn has callbacks from 1.9 on"
)
STORAGE = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]


def fitted(selector, X, y=None, pairs=None):
    """Fit without the warnings about constant or undefined features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return selector.fit(X, y, pairs=pairs)


def agrees(selector, X, expected, y=None, pairs=None):
    """Check that scores are equal for every storage; constants are NaN in both or in neither."""
    for store in STORAGE:
        found = fitted(selector, store(X), y, pairs).scores_
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * tiny(X))


def tiny(X):
    """Return an absolute tolerance, from the spread of the data, for values that cancel to 0."""
    return 1e-3 * max(np.ptp(X, axis=0).max(), 1e-3)


def ended_after(n_steps):
    """Return a `track` that ends a search after some steps, as a callback would."""

    def track(steps):
        for number, step in enumerate(steps, start=1):
            yield step
            if number == n_steps:
                return

    return track
