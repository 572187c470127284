"""Tests of the scripts that try alternative interpretations of the similarity score paper."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from linkselect.reproduction._papers.similarity_2020.clustering import label_by_clustering

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_every_variant_of_the_clustering_keeps_the_known_labels():
    readings = runpy.run_path(str(BENCHMARKS / "clustering_readings.py"))["readings"]
    X, y = make_blobs(90, centers=3, cluster_std=0.3, center_box=(0, 1.5), random_state=1)
    labels = np.full(90, -1)
    known = np.concatenate([np.flatnonzero(y == c)[:3] for c in range(3)])
    labels[known] = y[known]
    found = dict(readings(X, labels))
    assert len(found) == 1 + 2 * 3 * 2 * 2 * 2
    for reading, given in found.items():
        assert (given[known] == y[known]).all(), reading
        assert set(given) == {0, 1, 2}, reading
    chosen = "20 neighbours", "sigma 1", "symmetric", "without the first", "nearest prototype"
    assert_array_equal(found[chosen], label_by_clustering(X, labels))


def test_winners_are_shared_if_one_always_leads():
    script = runpy.run_path(str(BENCHMARKS / "winners.py"))
    rng = np.random.default_rng(0)
    always = np.array([[1.0] * 8, [2.0] * 8])
    never_the_same = np.array([[1.0, 2.0] * 4, [2.0, 1.0] * 4])
    rows = [(always, np.array([True, False]))] * 3
    assert script["n_shared"](script["winners"](rows, rng), [mark for _, mark in rows]) == 3
    even = [(never_the_same, np.array([True, False]))]
    pairs = [(script["winners"](even, rng), script["winners"](even, rng)) for _ in range(200)]
    assert np.mean([script["n_shared"](*pair) for pair in pairs]) == pytest.approx(0.55, abs=0.12)
