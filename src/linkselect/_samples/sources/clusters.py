"""Dask clients: which one is active, and how work on parts becomes their tasks.

No values are sent to workers beforehand (`client.scatter`): when a worker dies, what was sent is
lost for good, while the result of a task is computed again.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from linkselect._blocks import one_blas_thread
from linkselect._messages import GuidedError, many
from linkselect._samples.sources.merging import FAN_IN, merge_group

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Stored

Report = Callable[[int, int, str], None]
# Seconds without any worker until we give up: a cluster may be starting again.
WORKERS_GONE = 60.0
POLL_SECONDS = 0.5


def _as_it_is(result: Any) -> Any:
    return result


@dataclass(frozen=True, eq=False)
class Job:
    """A function for some parts of stored samples, and how its results are merged.

    Attributes
    ----------
    samples : Stored
        The samples.
    numbers : list of int
        The numbers of the parts.
    function, merge, finish : callable
        What is done to a part, to a list of results, and to the last one.
    inputs : list of tuple
        What the function gets besides the part, one tuple for each number.
    what : str
        The name of the tasks.
    shared : Job or None
        Its result is what every call of the function gets last.
    fan_in : int
        How many results are merged at a time.
    """

    samples: Stored
    numbers: list[int]
    function: Callable[..., Any]
    merge: Callable[[list[Any]], Any]
    inputs: list[Any]
    what: str
    finish: Callable[[Any], Any] = _as_it_is
    shared: Job | None = None
    fan_in: int = FAN_IN


def active_client() -> Any | None:
    """Return the Dask client that is active, if there is one that can be waited for here.

    Inside a task there is none: a task that waits for other tasks holds up its worker.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    with suppress(ValueError):
        distributed.get_worker()
        return None
    with suppress(ValueError):
        client = distributed.Client.current()
        return client if client.status == "running" and not client.asynchronous else None
    return None


def run_job(client: Any, job: Job, report: Report | None) -> Any:
    """Let the workers of a client do a job, and wait for it."""
    leaves, top = task_tree(job)
    *open_leaves, last = client.compute([*leaves, top])
    total, gone_since = len(open_leaves), None
    report = report or (lambda done, total, what: None)
    try:
        report(0, total, job.what)
        while not ended(last):
            open_leaves = release_ended(open_leaves)
            report(total - len(open_leaves), total, job.what)
            # Counted from the first look that finds none. From the last that finds one much time
            # may pass, such as on a machine that sleeps or is busy, while workers start again.
            gone_since = None if client.nthreads() else gone_since or time.monotonic()
            if gone_since is not None and time.monotonic() - gone_since > WORKERS_GONE:
                raise no_workers(client)
        if last.status == "finished":
            report(total, total, job.what)
        return result_of(last, job, open_leaves)
    finally:
        # The scheduler drops tasks whose results no client waits for, running or not.
        for future in (last, *open_leaves):
            future.release()


def ended(future: Any) -> bool:
    """Wait a little for a task, and say whether it has ended."""
    from distributed import CancelledError, wait

    with suppress(CancelledError):
        try:
            wait(future, timeout=POLL_SECONDS)
        except TimeoutError:
            return False
    return True


def release_ended(futures: list[Any]) -> list[Any]:
    """Return the tasks that still run or failed; results of others may leave memory once merged."""
    still_open = []
    for future in futures:
        if future.status == "finished":
            future.release()
        else:
            still_open.append(future)
    return still_open


def result_of(future: Any, job: Job, leaves: list[Any]) -> Any:
    """Return the result of a task that has ended, or its error in words that help.

    The leaves are the tasks of parts that have not been released.
    """
    from distributed import CancelledError, KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise workers_killed(job) from error
    except CancelledError as error:
        raise GuidedError(
            "The Dask scheduler went away, or the tasks of this fit were cancelled.",
            "Start the cluster again, connect a new client, and fit again.",
            "client",
        ) from error
    except GuidedError:
        raise
    except Exception as error:
        failed = [job.numbers[leaf.key[1]] for leaf in leaves if leaf.status == "error"]
        if failed and (where := job.samples.source.where_failed(job.samples.parts[failed[0]].rows)):
            error.add_note(where)
        raise


def task_tree(job: Job) -> tuple[list[Any], Any]:
    """Return the tasks of a job: one for every part, and the one that merges the last results."""
    from dask import delayed

    token = uuid.uuid4().hex
    name = f"linkselect-{job.what.replace(' ', '-')}"
    shared = () if job.shared is None else (task_tree(job.shared)[1],)
    # One task for what all tasks need, so that each of them stays small.
    samples = job.samples.without_blocks()
    light = replace(job, samples=samples, numbers=[], inputs=[], shared=None)
    common = delayed(light, name=f"{name}-common-{token}", traverse=False)
    leaf, merging = delayed(run_part, pure=False), delayed(run_merge, pure=False)
    leaves = []
    for place, number in enumerate(job.numbers):
        part = job.samples.parts[number]
        blocks = job.samples.source.blocks(part.rows, job.samples.columns_of(part))
        inputs = delayed(job.inputs[place], name=f"{name}-input-{token}-{place}", traverse=False)
        key = (f"{name}-{token}", place)
        leaves.append(leaf(common, number, inputs, shared, blocks, dask_key_name=key))
    level, results = 0, leaves
    while len(results) > 1:
        level += 1
        merged = f"{name}-merge-{token}"
        results = [
            merging(common, results[i : i + job.fan_in], dask_key_name=(merged, level, i))
            for i in range(0, len(results), job.fan_in)
        ]
    finish = delayed(job.finish, pure=False, name=f"{name}-finish-{token}")
    return leaves, finish(results[0], dask_key_name=f"{name}-result-{token}")


class BlasLimit:
    """Keep BLAS to one thread as long as any task of this process runs.

    The limit of `one_blas_thread` ends with whoever set it, while other tasks still run: with more
    threads BLAS adds in another order, and their bits would differ.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_tasks = 0
        self.limit = ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.n_tasks:
                self.limit.enter_context(one_blas_thread())
            self.n_tasks += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.n_tasks -= 1
            if not self.n_tasks:
                self.limit.close()


_limit = BlasLimit()


def run_part(job: Job, number: int, inputs: Any, shared: Any, blocks: Any) -> Any:
    """Do one part, in a worker."""
    with _limit:
        return job.function(job.samples.part_given(number, blocks), *inputs, *shared)


def run_merge(job: Job, results: list[Any]) -> Any:
    """Merge some results, in a worker."""
    return merge_group(job.merge, results)


def no_workers(client: Any) -> GuidedError:
    """Return the error for a cluster without workers."""
    return GuidedError(
        f"No Dask worker has been there for {WORKERS_GONE:.0f} s "
        f"(scheduler {client.scheduler.address}). Nothing was fitted.",
        "Start workers and fit again, or close the client to use the threads of this process.",
        "client",
    )


def workers_killed(job: Job) -> GuidedError:
    """Return the error for a part that ended every worker that tried it."""
    samples = job.samples
    part_bytes = max(samples.source.held_bytes(part) for part in samples.parts)
    return GuidedError(
        f"Dask workers died again and again at a part of {job.samples.label}. Most often their "
        f"memory is too small: a part takes {part_bytes / 2**20:,.0f} MiB, and working on it "
        f"several times that. {many(len(job.samples.parts), 'part')} were to be read; nothing "
        "was fitted. Give every worker more memory or fewer threads, or store the samples in "
        "smaller chunks.",
    )
