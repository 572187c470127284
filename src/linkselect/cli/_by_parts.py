"""`linkselect rank` on a table that is read by parts: when, by whom, and with which method."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from linkselect.cli._choices import Choice, described, methods
from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._output import progress
from linkselect.cli._tables import Reading, Table, open_parts, read_table
from linkselect.cli._tables.limits import bytes_needed, memory_limit, readable_size
from linkselect.cli._tables.parts import INTO_MEMORY, size_of
from linkselect.cli._tables.reading import TableFile, has_parts
from linkselect.cli._tables.table import StoredTable

# Seconds until a scheduler that does not answer counts as absent.
CONNECT_SECONDS = 10
_ADDRESS = "The address looks like tcp://10.0.0.1:8786, and `dask scheduler` prints it."
NOT_VALIDATED = (
    "the ranking was not validated: that fits the method again many times, and the table is read "
    "by parts. A table of some of the rows can be validated."
)
# What reading by parts takes in all: always, for the rows of a search or of pairs, and in each
# thread; the last two of pieces of the usual size. Measured, and rounded up.
_ALWAYS, _ROWS_HELD = 32 << 20, 300 << 20
_THREAD, _THREAD_PIECES = 16 << 20, 280 << 20
# A line of Zarr's chunks is held as it is stored, decoded, and as a matrix.
_COPIES_OF_LINE = 3
# Labels and ids as text, and what is made of them; the numbers of rows without.
_ROW_WITH_TEXT, _ROW = 200, 24
# Pieces of a quarter of the usual size cost no more time, pieces of a sixteenth about a quarter.
_GOOD_SHARE, _LEAST_SHARE = 1 / 4, 1 / 16
# A limit below counts as this: the libraries that read take as much themselves.
_LEAST_LIMIT = 96 << 20


def why_by_parts(path: Path, read: Reading, asked_for: bool, scheduler: str | None) -> str | None:
    """Say why a table is read by parts; None if it is not."""
    asked = "--scheduler" if scheduler is not None else "--by-parts" * asked_for
    if not path.exists():
        return None  # reading it says so
    if not has_parts(path):
        if asked:
            raise UsageError(
                f"{asked}: {path.name} cannot be read by parts. Parquet files and folders of them, "
                "NPY files, Zarr arrays and .h5ad files can."
            )
        return None
    if asked:
        return f"{path.name} is read by parts, as {asked} says."
    limit = memory_limit(read.max_memory)
    try:
        needed = size_of(TableFile(path, read))
    except InputError:
        return None  # reading it says what is wrong
    if needed <= limit or read.transpose:
        return None
    return (
        f"{path.name} would take {readable_size(needed)} in memory, more than the limit of "
        f"{readable_size(limit)}: it is read by parts."
    )


@contextmanager
def opened(
    path: Path, read: Reading, by_parts: bool, scheduler: str | None, bar: bool
) -> Iterator[Table]:
    """Read a table, or open it to be read by parts: by a cluster, or so that `--max-memory` holds.

    Parameters
    ----------
    path, read
        The table.
    by_parts : bool
        Whether it is read by parts.
    scheduler : str or None
        The address of a Dask cluster that reads them.
    bar : bool
        Whether to show how much of the parts was read.
    """
    if not by_parts:
        yield read_table(path, read)
        return
    with (
        nullcontext() if scheduler is None else _connected(scheduler),
        parts_shown() if bar else nullcontext(),
    ):
        table = open_parts(path, read)
        # The workers of a cluster have limits of their own.
        if scheduler is not None or not isinstance(table, StoredTable):
            yield table
            return
        from threadpoolctl import threadpool_limits

        from linkselect._blocks import blas_threads

        n_threads, share = pieces_for(table, memory_limit(read.max_memory), blas_threads())
        with threadpool_limits(n_threads, user_api="blas"):
            yield replace(table, X=table.X.within(share))


def pieces_for(table: StoredTable, limit: int, most_threads: int) -> tuple[int, float]:
    """Return by how many threads a table is read, and which share of the usual size pieces have."""
    has_text = table.labels is not None or table.ids is not None
    of_rows = table.X.shape[0] * (_ROW_WITH_TEXT if has_text else _ROW)
    in_thread = _THREAD + _COPIES_OF_LINE * table.X.source.line_bytes()
    left = max(limit, _LEAST_LIMIT) - _ALWAYS - of_rows
    for n_threads in range(most_threads, 0, -1):
        share = (left - n_threads * in_thread) / (_ROWS_HELD + n_threads * _THREAD_PIECES)
        if share >= (_GOOD_SHARE if n_threads > 1 else _LEAST_SHARE):
            return n_threads, min(share, 1.0)
    least = _ALWAYS + of_rows + in_thread + _LEAST_SHARE * (_ROWS_HELD + _THREAD_PIECES)
    raise InputError(
        f"{table.source}: reading it by parts takes {readable_size(least)}, of which "
        f"{readable_size(of_rows)} are for the labels, ids and numbers of its rows; more than the "
        f"limit of {readable_size(limit)}. Allow it with --max-memory {math.ceil(least / 2**20)}MB."
    )


# -- methods ---------------------------------------------------------------------------------


def check_reads_parts(choice: Choice, selector: Any, table: StoredTable) -> None:
    """Refuse a method that needs all of a table in memory."""
    if "parts" in described(selector).works_on:
        return
    able = [name for name, one in methods().items() if "parts" in one.method.works_on]
    raise UsageError(
        f"{choice.name} needs the table in memory, but {table.source} is read by parts. These "
        f"methods can read parts: {', '.join(able)}. Or {INTO_MEMORY}."
    )


def check_labelled_fit(table: StoredTable, read: Reading) -> None:
    """Refuse to take the labelled rows of a table into memory if they do not fit."""
    n_labelled = int((table.codes() >= 0).sum())
    needed = bytes_needed(n_labelled, len(table.names))
    limit = memory_limit(read.max_memory)
    if needed > limit:
        raise InputError(
            f"{table.source}: the {n_labelled:,} labelled rows would take {readable_size(needed)} "
            f"in memory, more than the limit of {readable_size(limit)}. Choose a method that reads "
            "parts with some labels, such as --method link_selector or lsdf, or allow more with "
            "--max-memory."
        )


# -- who reads, and how far it is ------------------------------------------------------------


@contextmanager
def _connected(scheduler: str) -> Iterator[None]:
    """Let a running Dask cluster do the work, and leave it at the end."""
    try:
        import distributed
    except ImportError:
        raise InputError("--scheduler needs Dask: pip install 'linkselect[dask]'") from None
    try:
        # A client with such an address would leave an error behind when it is dropped.
        distributed.comm.get_address_host_port(scheduler)
    except ValueError as error:
        raise UsageError(
            f"--scheduler {scheduler!r} is no address of a Dask scheduler ({_first_line(error)}). "
            f"{_ADDRESS}"
        ) from error
    # It would log a traceback when a connection is lost, of which we say one line ourselves.
    logging.disable(logging.ERROR)
    try:
        try:
            # As a default it would leave its mark in Dask's settings even if nothing answers.
            client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise InputError(
                f"--scheduler {scheduler}: no Dask scheduler answered within {CONNECT_SECONDS} s "
                f"({_first_line(error)}). {_ADDRESS}"
            ) from error
        with client, client.as_current():
            yield
    finally:
        logging.disable(logging.NOTSET)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


@contextmanager
def parts_shown() -> Iterator[None]:
    """Show a bar with what was read and the time left, for each time of reading."""
    from linkselect._samples.sources.running import reporting

    with progress(True) as report:
        shown = reporting.set(report)
        try:
            yield
        finally:
            reporting.reset(shown)
