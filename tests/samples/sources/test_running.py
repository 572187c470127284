"""Functions on parts in threads: order, merges, shared rows, progress, errors."""

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from linkselect._messages import GuidedValueError
from linkselect._samples.sources.merging import MergeTree, level_sizes
from linkselect._samples.sources.running import map_parts, reduce_parts, reporting
from tests.helpers import stored_samples as given


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    given.make_parts_small(monkeypatch, 400, 400)


@pytest.fixture
def X(tmp_path):
    return given.stored("npy", tmp_path, given.random_values())


def test_results_are_in_the_order_of_the_parts(X):
    found = map_parts(X, given.first_row, n_jobs=4)
    assert found == [part.rows.start for part in X.parts]
    assert len(found) > 20


@pytest.mark.parametrize("kind", ["npy", "zarr", "parquet", "dask"])
def test_the_bits_do_not_depend_on_the_number_of_threads(kind, tmp_path):
    X = given.stored(kind, tmp_path, given.random_values())
    found = {reduce_parts(X, given.rounding, given.join, n_jobs=n_jobs) for n_jobs in (1, 2, 4)}
    assert len(found) == 1
    # In a different order, the sums do differ.
    assert found != {sum(map_parts(X, given.rounding))}


def test_functions_get_the_values_of_their_part_and_the_shared_rows(X):
    labels = np.arange(200)
    rows = np.array([150, 3, 3])
    found = map_parts(X, given.inputs, per_part=lambda part: (labels[part.rows],), shared=rows)
    assert_array_equal(np.concatenate([labels for labels, _ in found]), labels)
    for _, taken in found:
        assert_array_equal(taken, given.random_values()[rows])


def test_progress_is_reported_by_the_thread_of_the_caller(X):
    seen = []

    def report(done, total, what):
        assert threading.current_thread() is threading.main_thread()
        seen.append((done, total, what))

    token = reporting.set(report)
    try:
        for n_jobs in (1, 3):
            seen.clear()
            map_parts(X, given.first_row, n_jobs=n_jobs)
            n_parts = len(X.parts)
            assert seen == [(done, n_parts, "part") for done in range(n_parts + 1)]
    finally:
        reporting.reset(token)


@pytest.mark.parametrize("with_progress", [False, True])
def test_an_error_ends_the_work(with_progress, X):
    started = []

    def work(part):
        started.append(part.number)
        raise GuidedValueError(f"part {part.number}")

    token = reporting.set((lambda *progress: None) if with_progress else None)
    try:
        with pytest.raises(GuidedValueError, match="part 0"):
            map_parts(X, work, n_jobs=1)
    finally:
        reporting.reset(token)
    assert started == [0]


def test_a_report_that_fails_ends_the_work(X):
    started, failing = [], threading.Event()

    def work(part):
        started.append(part.number)
        if part.number == 2:
            assert failing.wait(60)
        if part.number >= 2:
            time.sleep(0.2)  # for the error to arrive, which takes microseconds

    def stop(done, total, what):
        if done == 2:
            failing.set()
            raise KeyboardInterrupt

    token = reporting.set(stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            map_parts(X, work, n_jobs=1)
    finally:
        reporting.reset(token)
    assert started[:3] == [0, 1, 2]
    assert len(started) < len(X.parts)


@pytest.mark.parametrize("n_leaves", [1, 2, 8, 9, 64, 65, 100])
def test_the_tree_does_not_depend_on_who_comes_first(n_leaves):
    def merged(order):
        tree = MergeTree(n_leaves, lambda results: f"({' '.join(results)})")
        for place in order:
            tree.add(place, str(place))
        assert not tree.waiting
        return tree.top

    expected = merged(range(n_leaves))
    rng = np.random.default_rng(0)
    assert {merged(rng.permutation(n_leaves)) for _ in range(5)} == {expected}
    in_order = [int(word) for word in expected.replace("(", "").replace(")", "").split()]
    assert in_order == list(range(n_leaves))


def test_levels_end_with_one_result():
    assert level_sizes(100) == [100, 13, 2, 1]
    assert level_sizes(8) == [8, 1]
