"""`linkselect rank` on a table that is read in parts because it does not fit in memory."""

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
from linkselect.cli._tables import Reading, Table, open_parts, read_table
from linkselect.cli._tables.limits import bytes_needed, memory_limit, readable_size
from linkselect.cli._tables.parts import INTO_MEMORY, size_of
from linkselect.cli._tables.reading import TableFile, has_parts
from linkselect.cli._tables.table import StoredTable
from linkselect.cli._terminal import progress

# Seconds to wait for a scheduler.
CONNECT_SECONDS = 10
_ADDRESS = "`dask scheduler` prints the address, for example tcp://10.0.0.1:8786."
NOT_VALIDATED = (
    "The ranking was not validated, because validation would read the table many times. Validate "
    "the ranking on a sample of the rows instead."
)
# Bytes of memory for reading in parts, measured and rounded up: a constant, the rows of a search or
# of pairs, and two terms per thread. Rows and thread pieces refer to pieces of the usual size.
_ALWAYS, _ROWS_HELD = 32 << 20, 300 << 20
_THREAD, _THREAD_PIECES = 16 << 20, 280 << 20
# A line of Zarr chunks is in memory three times: encoded, decoded, and as a matrix.
_COPIES_OF_LINE = 3
# Bytes for each row: labels and IDs as text with their codes, or row numbers only.
_ROW_WITH_TEXT, _ROW = 200, 24
# Pieces of a quarter of the usual size are as fast; a sixteenth takes about 25 % more time.
_GOOD_SHARE, _LEAST_SHARE = 1 / 4, 1 / 16
# The smallest limit; the libraries that read files need this much themselves.
_LEAST_LIMIT = 96 << 20


def why_by_parts(path: Path, read: Reading, asked_for: bool, scheduler: str | None) -> str | None:
    """Return the reason for reading a table in parts; None if it is read as a whole."""
    asked = "--scheduler" if scheduler is not None else "--by-parts" * asked_for
    if not path.exists():
        return None  # reading it raises the error
    if not has_parts(path):
        if asked:
            raise UsageError(
                f"{asked}: {path.name} cannot be read in parts. Only Parquet files and folders, "
                "NPY files, Zarr arrays and .h5ad files can be read in parts."
            )
        return None
    if asked:
        return f"{path.name} is read in parts because of {asked}."
    limit = memory_limit(read.max_memory)
    try:
        needed = size_of(TableFile(path, read))
    except InputError:
        return None  # reading it raises the error
    if needed <= limit or read.transpose:
        return None
    return (
        f"{path.name} is read in parts, because it would require {readable_size(needed)} of memory "
        f"and the limit is {readable_size(limit)}."
    )


@contextmanager
def opened(
    path: Path, read: Reading, by_parts: bool, scheduler: str | None, bar: bool
) -> Iterator[Table]:
    """Read a table into memory, or open it so that this computer or a cluster reads it in parts.

    Parameters
    ----------
    path, read
        The table and the options for reading it.
    by_parts : bool
        Whether to read the table in parts.
    scheduler : str or None
        The address of a Dask cluster that reads the parts.
    bar : bool
        Whether to show a progress bar.
    """
    if not by_parts:
        yield read_table(path, read)
        return
    with (
        nullcontext() if scheduler is None else _connected(scheduler),
        parts_shown() if bar else nullcontext(),
    ):
        table = open_parts(path, read)
        # The workers of a cluster have their own limits.
        if scheduler is not None or not isinstance(table, StoredTable):
            yield table
            return
        from threadpoolctl import threadpool_limits

        from linkselect._blocks import blas_threads

        n_threads, share = pieces_for(table, memory_limit(read.max_memory), blas_threads())
        with threadpool_limits(n_threads, user_api="blas"):
            yield replace(table, X=table.X.within(share))


def pieces_for(table: StoredTable, limit: int, most_threads: int) -> tuple[int, float]:
    """Return the number of reading threads, and the size of pieces relative to the usual size."""
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
        f"{table.source}: reading the table in parts requires {readable_size(least)} of memory "
        f"({readable_size(of_rows)} for labels, IDs and row numbers), but the limit is "
        f"{readable_size(limit)}. Pass --max-memory {math.ceil(least / 2**20)}MB."
    )


# -- methods ---------------------------------------------------------------------------------


def check_reads_parts(choice: Choice, selector: Any, table: StoredTable) -> None:
    """Check that a method does not require the whole table in memory."""
    if "parts" in described(selector).works_on:
        return
    able = [name for name, one in methods().items() if "parts" in one.method.works_on]
    raise UsageError(
        f"{choice.name} requires the table in memory, but {table.source} is read in parts. Choose "
        f"a method that supports this ({', '.join(able)}), or {INTO_MEMORY}."
    )


def check_labelled_fit(table: StoredTable, read: Reading) -> None:
    """Check that the labelled rows of a table fit in memory."""
    n_labelled = int((table.codes() >= 0).sum())
    needed = bytes_needed(n_labelled, len(table.names))
    limit = memory_limit(read.max_memory)
    if needed > limit:
        raise InputError(
            f"{table.source}: the {n_labelled:,} labelled rows require {readable_size(needed)} of "
            f"memory, but the limit is {readable_size(limit)}. Choose a method that also uses "
            "unlabelled rows, such as --method link_selector or lsdf, or raise the limit with "
            "--max-memory."
        )


# -- clusters and progress -------------------------------------------------------------------


@contextmanager
def _connected(scheduler: str) -> Iterator[None]:
    """Connect to a running Dask cluster, and disconnect at the end."""
    try:
        import distributed
    except ImportError:
        raise InputError("--scheduler requires Dask: pip install 'linkselect[dask]'") from None
    try:
        # A client with an invalid address would raise an error when it is deleted.
        distributed.comm.get_address_host_port(scheduler)
    except ValueError as error:
        raise UsageError(
            f"--scheduler {scheduler!r} is not the address of a Dask scheduler "
            f"({_first_line(error)}). {_ADDRESS}"
        ) from error
    # Dask would log a traceback for a lost connection, which is reported in one line instead.
    logging.disable(logging.ERROR)
    try:
        try:
            # A default client would change Dask's settings even if no scheduler answers.
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
    """Show a progress bar with the remaining time for each pass over the table."""
    from linkselect._samples.sources.running import reporting

    with progress(True) as report:
        shown = reporting.set(report)
        try:
            yield
        finally:
            reporting.reset(shown)
