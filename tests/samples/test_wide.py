import tracemalloc

import numpy as np
import pytest

from linkselect import LaplacianScore
from linkselect._samples import as_samples
from linkselect._samples.distances import pair_distances
from linkselect.graphs import auto_sigma, nearest


def samples(kind, n_samples=40, n_features=900):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((n_samples, n_features))
    return {
        "float32": values.astype(np.float32),
        "far from 0": values + 1e8 * rng.random(n_features),
        "whole numbers": (3 * values).astype(np.int16),
        "copies": np.repeat(values[: n_samples // 4], 4, axis=0),
        # Products in float32 cannot resolve the distances.
        "nearly equal": values[0] + 1e-5 * values,
        "all equal": np.ones((n_samples, n_features)),
        "columns first": np.asfortranarray(values),
    }[kind]


KINDS = [
    "float32",
    "far from 0",
    "whole numbers",
    "copies",
    "nearly equal",
    "all equal",
    "columns first",
]


@pytest.mark.parametrize(
    ("kind", "options", "n_neighbors"),
    # With 300 nearly equal samples, float32 leaves too many candidates, so float64 is used.
    [*((kind, {}, 3) for kind in KINDS), ("nearly equal", {"n_samples": 300}, 1)],
)
def test_sums_over_columns_find_what_a_copy_finds(kind, options, n_neighbors, sizes):
    X = samples(kind, **options)
    if kind == "nearly equal":
        X[-1] = -X[-1]
    expected, sigma = nearest(X, n_neighbors), auto_sigma(X)
    sizes(COPY_BYTES=0, PIECE_WIDTH=70)
    for found, right in zip(nearest(X, n_neighbors, n_jobs=2), expected, strict=True):
        np.testing.assert_array_equal(found, right)
    assert auto_sigma(X, n_jobs=2) == sigma


def peak_of(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_wide_samples_need_little_additional_memory():
    X = np.random.default_rng(0).standard_normal((60, 300_000), dtype=np.float32)
    # First the copy for a search among more samples, then a fit without a copy.
    assert peak_of(lambda: as_samples(X).products(np.float32, 1)) < 1.4 * X.nbytes
    assert peak_of(lambda: LaplacianScore(n_jobs=1).fit(X)) < 0.8 * X.nbytes


@pytest.mark.parametrize("kind", KINDS)
def test_long_rows_are_compared_piece_by_piece(kind, shrink):
    X = samples(kind)
    left, right = np.triu_indices(len(X), k=1)
    expected = np.square(X[left].astype(float) - X[right]).sum(axis=1)
    shrink(300)
    found = pair_distances(X, left, right, n_jobs=2)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    # The bits are the same with one thread, for reversed pairs, and for a subset of the pairs.
    np.testing.assert_array_equal(pair_distances(X, right, left, n_jobs=1), found)
    np.testing.assert_array_equal(pair_distances(X, left[5:9], right[5:9], 1), found[5:9])
    assert pair_distances(X, left[:0], right[:0], 1).shape == (0,)
