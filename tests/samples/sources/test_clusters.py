"""Dask clients: the same bits for any number of workers, killed workers, and no workers."""

import gc
import os
import signal
import time
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import dask
import distributed
import numpy as np
import pytest

from linkselect import _blocks as blocks
from linkselect._messages import GuidedError, GuidedValueError
from linkselect._samples.sources import clusters
from linkselect._samples.sources.clusters import active_client
from linkselect._samples.sources.opening import find_stored
from linkselect._samples.sources.running import map_parts, reduce_parts, reporting
from linkselect.cli._errors import problem_of
from tests.helpers import stored_samples as given

KINDS = ("npy", "zarr", "hdf5", "parquet", "dask")

# A busy machine may delay the many processes of a cluster at any time, so a failed test is repeated
# once, which pytest reports. The warnings are about resources that killed workers leave open.
pytestmark = [
    pytest.mark.flaky(reruns=1),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    given.make_parts_small(monkeypatch, 600, 1000)


@pytest.fixture(scope="module")
def cluster():
    """Start a cluster of one process; tests may add more. A task may kill one worker, not two."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="1GB", dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        yield cluster
    # Resources of killed workers are collected here, and not during an unrelated test.
    gc.collect()


@contextmanager
def connected(cluster):
    """Connect to two workers, whatever workers the previous test has left."""
    with distributed.Client(cluster) as client:
        cluster.scale(2)
        client.wait_for_workers(2, timeout=300)
        yield client
    # A client that is closed inside its own block would leave its Dask settings to later tests.
    assert dask.config.get("scheduler", None) is None


@pytest.fixture
def gate(tmp_path):
    """Return a gate that blocks all tasks but two until the test opens it or ends."""
    gate = given.Gate(tmp_path, n_free=2)
    yield gate
    gate.open()


@pytest.fixture
def client(cluster):
    # The scope is not the module, because other tests must not find an active client.
    with connected(cluster) as client:
        yield client


def cut(labels, part):
    return (labels[part.rows],)


def results(sources):
    """Return the bits of some merged results, for every kind of stored samples."""
    labels = np.arange(200)
    shared = np.array([150, 3, 3])
    found = [
        reduce_parts(find_stored(source), given.rounding, given.join) for source in sources.values()
    ]
    for kind in ("npy", "dask"):
        X = find_stored(sources[kind]).choose([4, 1]).scaled([1, 2], [3, 4])
        found.append(map_parts(X, given.weighted, per_part=partial(cut, labels), shared=shared))
        found.append(X.take([199, 5, 5]).tobytes())
    return found


def test_bits_do_not_depend_on_the_number_of_workers(cluster, tmp_path):
    sources = {kind: given.store(kind, tmp_path, given.random_values()) for kind in KINDS}
    expected = results(sources)
    with distributed.Client(cluster) as client:
        assert active_client() is client
        assert results(sources) == expected
        cluster.scale(2)
        client.wait_for_workers(2, timeout=300)
        assert results(sources) == expected
    assert active_client() is None


def test_progress_comes_from_finished_parts(client, tmp_path, gate):
    X = given.stored("npy", tmp_path, given.random_values())
    seen = []

    def note(done, total, what):
        seen.append((done, total, what))
        if done:
            gate.open()

    token = reporting.set(note)
    try:
        map_parts(X, partial(given.held_rounding, gate=gate), what="wait")
    finally:
        reporting.reset(token)
    n_parts = len(X.parts)
    assert seen[0] == (0, n_parts, "wait")
    assert seen[-1] == (n_parts, n_parts, "wait")
    assert sorted(seen) == seen
    assert len({done for done, _, _ in seen}) > 2


def test_a_task_uses_its_own_threads(client, tmp_path):
    np.save(tmp_path / "X.npy", given.random_values())
    # A fit inside a task, such as in a search over a cluster, must not wait for other tasks.
    found = client.submit(given.sum_of, str(tmp_path / "X.npy")).result(timeout=120)
    assert found == pytest.approx(given.random_values().sum(dtype=np.float64))


def test_cancelled_tasks_are_an_error(client, tmp_path, gate):
    X = given.stored("npy", tmp_path, given.random_values())

    def cancel(done, total, what):
        client.cancel([distributed.Future(key, client) for key in list(client.futures)])

    token = reporting.set(cancel)
    try:
        with pytest.raises(GuidedError, match="scheduler is unreachable, or the tasks"):
            map_parts(X, partial(given.held_rounding, gate=gate))
    finally:
        reporting.reset(token)


def test_a_killed_worker_changes_nothing(cluster, tmp_path, gate):
    X = given.stored("dask", tmp_path, given.random_values())
    shared = np.arange(0, 200, 7)
    (tmp_path / "without").mkdir()
    free = given.Gate(tmp_path / "without", n_free=len(X.parts))
    expected = map_parts(X, partial(given.held_weighted, gate=free), shared=shared)
    done_at_kill = []

    def kill(done, total, what):
        if done >= 2 and not done_at_kill:
            done_at_kill.append(done)
            os.kill(next(iter(processes.values())), signal.SIGKILL)
            gate.open()

    with connected(cluster) as client:
        processes = client.run(os.getpid)
        token = reporting.set(kill)
        try:
            found = map_parts(X, partial(given.held_weighted, gate=gate), shared=shared)
        finally:
            reporting.reset(token)
        assert done_at_kill[0] < len(X.parts)
        assert client.run(os.getpid, on_error="ignore") != processes
    assert found == expected


def test_errors_of_a_part_arrive_whole(client, tmp_path):
    X = given.stored("parquet", tmp_path, given.random_values())
    (tmp_path / "X.parquet").unlink()
    with pytest.raises(GuidedValueError, match=r"X\.parquet was not found") as caught:
        map_parts(X, given.rounding)
    assert caught.value.parameter == "X"
    failing = find_stored(given.failing_at_row_50(given.random_values()))
    with pytest.raises(ZeroDivisionError) as caught:
        map_parts(failing, given.rounding)
    assert caught.value.__notes__ == [given.FAILED_AT_ROW_50]
    # The scheduler forgets results that no client waits for.
    given.wait_until(lambda: not client.who_has())


def test_tasks_are_small_and_named(client, tmp_path):
    X = given.stored("npy", tmp_path, given.random_values((1000, 13)))
    X = X.scaled(np.zeros(13), np.ones(13))
    leaves, top = clusters.task_tree(
        clusters.Job(
            X, list(range(len(X.parts))), given.rounding, given.join, [()] * len(X.parts), "round"
        )
    )
    assert all(leaf.key[0].startswith("linkselect-round-") for leaf in leaves)
    assert top.key.startswith("linkselect-round-result-")
    graph = dict(top.dask)
    sizes = {key: len(distributed.protocol.pickle.dumps(task)) for key, task in graph.items()}
    assert max(size for key, size in sizes.items() if "common" not in str(key)) < 2000


def test_part_that_kills_every_worker_is_an_error(client, tmp_path):
    X = given.stored("dask", tmp_path, given.random_values())
    with pytest.raises(GuidedError, match=r"workers died repeatedly .* a part of the dask"):
        map_parts(X, given.die)


def test_the_command_line_has_its_own_hint_for_a_cluster_without_workers(client):
    message = problem_of(clusters.no_workers(client))
    assert message.endswith("Restart the cluster or its workers, or omit --scheduler.")


def test_blas_keeps_to_one_thread_until_the_last_task_ends():
    def n_threads():
        return {library["num_threads"] for library in blocks._blas().info()}

    before = n_threads()
    limit = clusters.BlasLimit()
    limit.__enter__()
    limit.__enter__()
    assert n_threads() == {1}
    limit.__exit__()
    assert n_threads() == {1}
    limit.__exit__()
    assert n_threads() == before


def test_restarting_workers_are_waited_for(client, tmp_path, monkeypatch, gate):
    X = given.stored("npy", tmp_path, given.random_values())
    expected = map_parts(X, given.rounding)
    # A check that finds workers, a long time without a check, and then two that find none.
    looks, clock, nthreads = iter([1.0, 100.0, 101.0]), SimpleNamespace(now=0.0), client.nthreads

    def look():
        clock.now = next(looks, 102.0)
        if clock.now == 102.0:
            gate.open()
        return nthreads() if clock.now not in (100.0, 101.0) else {}

    monkeypatch.setattr(client, "nthreads", look)
    monkeypatch.setattr(clusters, "time", SimpleNamespace(monotonic=lambda: clock.now))
    assert map_parts(X, partial(given.held_rounding, gate=gate)) == expected
    assert clock.now == 102.0


def test_a_permanent_lack_of_workers_is_an_error(cluster, client, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "WORKERS_GONE", 1.0)
    X = given.stored("npy", tmp_path, given.random_values())
    cluster.scale(0)
    given.wait_until(lambda: not client.nthreads())
    start = time.monotonic()
    with pytest.raises(GuidedError, match=r"No Dask worker .* available for 1 s .*127\.0\.0\.1"):
        map_parts(X, given.rounding)
    assert time.monotonic() - start < 60, "it must not wait for the default time"
