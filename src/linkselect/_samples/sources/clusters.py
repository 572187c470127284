"""Computations on a Dask cluster: detection of the active client, and tasks for parts.

Data are not sent to workers in advance with `client.scatter`, because they are lost if a worker
dies. The result of a task, in contrast, is then recomputed.
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
# The number of seconds without any worker before giving up: a cluster may be restarting.
WORKERS_GONE = 60.0
POLL_SECONDS = 0.5


def _as_it_is(result: Any) -> Any:
    return result


@dataclass(frozen=True, eq=False)
class Job:
    """Functions that process parts of stored samples and merge the results.

    Attributes
    ----------
    samples : Stored
        The samples.
    numbers : list of int
        The numbers of the parts.
    function, merge, finish : callable
        The functions that are applied to a part, to a list of results and to the final result.
    inputs : list of tuple
        Additional arguments of the function, one tuple for each part.
    what : str
        The name of the task, which is shown in progress reports.
    shared : Job or None
        A job whose result is passed as the last argument in every call of the function.
    fan_in : int
        The number of results that are merged at a time.
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
    """Return the active Dask client; None if there is no running, synchronous client.

    Within a task, None is returned, because a task that waits for other tasks would block its
    worker.
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
    """Run a job on the workers of a client, and return its result."""
    leaves, top = task_tree(job)
    *open_leaves, last = client.compute([*leaves, top])
    total, gone_since = len(open_leaves), None
    report = report or (lambda done, total, what: None)
    try:
        report(0, total, job.what)
        while not ended(last):
            open_leaves = release_ended(open_leaves)
            report(total - len(open_leaves), total, job.what)
            # Time is counted from the first check that finds no workers. Since the check before,
            # much time may have passed on a machine that was asleep or busy.
            gone_since = None if client.nthreads() else gone_since or time.monotonic()
            if gone_since is not None and time.monotonic() - gone_since > WORKERS_GONE:
                raise no_workers(client)
        if last.status == "finished":
            report(total, total, job.what)
        return result_of(last, job, open_leaves)
    finally:
        # The scheduler cancels tasks, running or not, if no client waits for their results.
        for future in (last, *open_leaves):
            future.release()


def ended(future: Any) -> bool:
    """Wait briefly for a task, and return whether it has ended."""
    from distributed import CancelledError, wait

    with suppress(CancelledError):
        try:
            wait(future, timeout=POLL_SECONDS)
        except TimeoutError:
            return False
    return True


def release_ended(futures: list[Any]) -> list[Any]:
    """Release finished tasks, so that their memory can be freed, and return the remaining tasks."""
    still_open = []
    for future in futures:
        if future.status == "finished":
            future.release()
        else:
            still_open.append(future)
    return still_open


def result_of(future: Any, job: Job, leaves: list[Any]) -> Any:
    """Return the result of a completed task, or raise its error with an explanation.

    The argument `leaves` contains the tasks that process parts and have not been released.
    """
    from distributed import CancelledError, KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise workers_killed(job) from error
    except CancelledError as error:
        raise GuidedError(
            "The Dask scheduler is unreachable, or the tasks of this fit were cancelled.",
            "Restart the cluster, connect a new client, and fit again.",
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
    """Return the tasks of a job: a list with one task per part, and the task for the result."""
    from dask import delayed

    token = uuid.uuid4().hex
    name = f"linkselect-{job.what.replace(' ', '-')}"
    shared = () if job.shared is None else (task_tree(job.shared)[1],)
    # The common input of all tasks is a task of its own, so that each task stays small.
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
    """Limit BLAS to one thread while any task is running in this process.

    The limit set by `one_blas_thread` would end with the task that set it, even if other tasks are
    still running. With several threads, BLAS would sum in a different order and change the last
    bits of the results.
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
    """Process one part in a worker."""
    with _limit:
        return job.function(job.samples.part_given(number, blocks), *inputs, *shared)


def run_merge(job: Job, results: list[Any]) -> Any:
    """Merge results in a worker."""
    return merge_group(job.merge, results)


def no_workers(client: Any) -> GuidedError:
    """Return the error for a cluster without workers."""
    return GuidedError(
        f"No Dask worker has been available for {WORKERS_GONE:.0f} s (scheduler "
        f"{client.scheduler.address}). No model was fitted.",
        "Start workers and fit again, or close the client to use the threads of this process.",
        "client",
    )


def workers_killed(job: Job) -> GuidedError:
    """Return the error for a part that killed every worker that processed it."""
    samples = job.samples
    part_bytes = max(samples.source.held_bytes(part) for part in samples.parts)
    return GuidedError(
        f"Dask workers died repeatedly while processing a part of {job.samples.label}. The usual "
        f"reason is insufficient memory: a part takes {part_bytes / 2**20:,.0f} MiB, and "
        "processing it requires several times as much. The samples consist of "
        f"{many(len(samples.parts), 'part')}. No model was fitted. Give every worker more memory "
        "or fewer threads, or store the samples in smaller chunks.",
    )
