"""What is computed in parts is the same whatever the size of a part.

Blocks, tiles and chunks are larger than what most tests compute, so that there only one of each is
seen. Here there are many, of one row or a few, and the last of them is shorter.
"""

import importlib

import numpy as np
import pytest
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

# Each with its smallest value that makes sense.
SIZES = {
    "_blocks.BLOCK_SIZE": 1,
    "_samples.samples.BLOCK_SIZE": 1,
    "_samples.sparse.BLOCK_WIDTH": 1,
    "_samples.sparse.EDGE_CHUNK": 1,
    "_samples.distances.EDGE_CHUNK": 1,
    "_samples.moments.BLOCK_SIZE": 1,
    "_samples.neighbors.TILE_SIZE": 1,
    "_samples.distances.CHUNK_SIZE": 1,
    "_samples.distances.PIECE_SIZE": 1,
    "_samples.neighbors.PRODUCT_WIDTH": 1,
    "_samples.neighbors.MUTUAL_TILE_SIZE": 1,
    "_samples.neighbors.LEAST_QUERIES": 1,
    "graphs._reconstruction.MAX_TILE": 1,
    "graphs._reconstruction.MAX_NEAR_TILE": 1,
    "graphs._reconstruction.TILES_PER_STEP": 1,
    "graphs._reconstruction.LOCAL_TILE_BYTES": 1,
    "_samples.device_neighbors.TILE_SIZE": 1,
    "_samples.device_neighbors.BLOCK_SIZE": 1,
    "_samples.device_neighbors.DIFFERENCES_AT_ONCE": 1,
    "_samples.device.BLOCK_SIZE": 16,
    "scores._relief.ROWS_PER_BLOCK": 1,
    "scores._relief.TILE_SIDE": 1,
    "_search.all_pairs.ROWS_PER_BLOCK": 1,
    "_search.all_pairs.FEATURES_PER_BLOCK": 1,
    "_search.all_pairs.VALUES_PER_COARSE_SUM": 1,
    "_search.device_similarity.BLOCK_SIZE": 1,
    "_search.device_similarity.TERMS_SIZE": 1,
    "_search.information.STATES_AS_BITS": 0,
    "_search.information.CELLS_AS_BITS": 1,
    "_search.listed_pairs.VALUES_PER_BLOCK": 1,
    "_search.nearest_neighbor.DISTANCES_PER_BLOCK": 1,
    "_search.nearest_neighbor.MAX_KEPT_DISTANCES": 0,
    "_search.nearest_neighbor.N_NEAREST": 1,
    "_search.screening.FEATURES_PER_TASK": 1,
    "_search.screening.FIRST_LOOK": 2,
    "_search.screening.FEW": 1,
    "_search.trace_ratio.SIZES_AT_ONCE": 1,
}


@pytest.fixture
def shrink(monkeypatch):
    """Return a function that makes all parts small from there on."""

    def to(more):
        for name, least in SIZES.items():
            monkeypatch.setattr(f"linkselect.{name}", least + more)

    return to


def stores_for(selector):
    """Return how the samples may be stored."""
    stores = [np.asarray, sparse.csr_array]
    if get_tags(selector).array_api_support:
        stores.append(importlib.import_module("array_api_strict").asarray)
    return stores


def fit_stored(selector, store):
    """Fit a copy to samples whose first feature shows the class; a few values are 0."""
    # More columns than a block has at least.
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
            # Categories that are all different give equal scores, which rounding puts in order.
            if not getattr(selector, "discrete", False):
                assert_array_equal(to_numpy(found.order_), to_numpy(expected.order_))
