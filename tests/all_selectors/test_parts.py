"""Results do not depend on the size of the parts in which they are computed.

In most tests, the data fit into a single block, tile or chunk. Here there are many, with one or a
few rows each, and the last one is shorter.
"""

import importlib

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import get_tags

from linkselect._blocks import LEAST_WIDTH
from linkselect._samples.devices import to_numpy
from tests.helpers.estimators import PAIRWISE, PARTLY_LABELLED, every_selector
from tests.helpers.fitting import fitted
from tests.helpers.problems import partly_labelled


def stores_for(selector):
    """Return the ways in which the samples may be stored."""
    stores = [np.asarray, sparse.csr_array]
    if get_tags(selector).array_api_support:
        stores.append(importlib.import_module("array_api_strict").asarray)
    return stores


def fit_stored(selector, store):
    """Fit a copy to samples whose first feature shows the class; a few values are 0."""
    # More columns than the smallest block has.
    X, y = partly_labelled(3, 20, LEAST_WIDTH + 1)
    X = np.where(np.abs(X) < 0.1, 0.0, X)
    if not isinstance(selector, tuple(map(type, [*PAIRWISE, *PARTLY_LABELLED]))):
        y = np.arange(20) % 3
    with config_context(array_api_dispatch=True):
        return fitted(clone(selector), store(X), y)


@every_selector
def test_every_selector(selector, shrink):
    stores = stores_for(selector)
    whole = [fit_stored(selector, store) for store in stores]
    for more, several in ((0, stores), (5, stores[:1])):
        shrink(more)
        for store, expected in zip(several, whole, strict=False):
            found = fit_stored(selector, store)
            scores = to_numpy(expected.scores_)
            assert_allclose(to_numpy(found.scores_), scores, rtol=1e-9, atol=1e-12)
            # If all categories differ, scores are equal, and rounding determines the order.
            if not getattr(selector, "discrete", False):
                assert_array_equal(to_numpy(found.order_), to_numpy(expected.order_))
