"""Write a table with the selected features only: at once, or by parts if it is read so."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._output import text_cells, write_columns, write_safely
from linkselect.cli._tables import Reading, Table
from linkselect.cli._tables.limits import memory_limit, readable_size
from linkselect.cli._tables.parts import StoredTable, library_errors

# Texts are lists, features are arrays.
Columns = dict[str, Any]
Add = Callable[[Columns], None]
# How many cells of a text file are made at a time.
CELLS = 1 << 18

BY_PARTS = (".parquet", ".feather", ".csv", ".tsv")


def check_selected(path: Path | None, table: Path, by_parts: bool) -> None:
    """Refuse what cannot be written, before any work is done."""
    if path is None:
        return
    if by_parts and path.suffix.lower() not in BY_PARTS:
        raise UsageError(
            f"--select {path}: {table.name} is read by parts, and such a table is written to "
            f"{', '.join(BY_PARTS)}."
        )


def write_selected(path: Path, selector: Any, data: Table, read: Reading) -> None:
    """Write ids, the selected features unscaled in their order, and labels."""
    places = {name: place for place, name in enumerate(data.names)}
    kept = np.array(sorted(places[name] for name in selector.get_feature_names_out()))
    data = data.with_features(kept)
    if isinstance(data, StoredTable):
        _write_by_parts(path, data, read)
        return
    if data.is_sparse:
        _check_size(data, path, read, "is sparse, but is written with its zeros")
    X = data.X.toarray() if data.is_sparse else data.X
    columns = _columns(data, X, slice(None), read)
    write_columns(path, {name: _listed(values) for name, values in columns.items()})


def _columns(data: Table, X: NDArray[Any], rows: slice, read: Reading) -> Columns:
    """Return some rows as named columns; X has the values of the features in these rows."""
    columns: Columns = {}
    if data.ids is not None:
        columns[read.id_column or "id"] = list(data.ids[rows])
    columns |= dict(zip(data.names, X.T, strict=True))
    if data.labels is not None:
        columns[read.label or "label"] = data.labels[rows].tolist()
    return columns


def _check_size(data: Table, path: Path, read: Reading, why: str) -> None:
    n_rows, n_features = data.X.shape
    # Eight bytes as an array, 32 as a list of numbers.
    needed = 40 * n_rows * n_features
    limit = memory_limit(read.max_memory)
    if needed > limit:
        raise InputError(
            f"--select {path}: {data.source} {why}. {n_rows:,} rows x {n_features:,} selected "
            f"features take {readable_size(needed)}, and {readable_size(limit)} may be used. Keep "
            "fewer with --n-features, or allow more with --max-memory."
        )


def _write_by_parts(path: Path, data: StoredTable, read: Reading) -> None:
    if data.X.by_columns:
        _check_size(data, path, read, "has more selected features than rows, written at once")
    kind = path.suffix.lower()
    opened = _arrow_file if kind in (".parquet", ".feather") else _text_file

    def write(part: Path) -> None:
        with library_errors(), opened(part, kind) as add:
            for rows, values in _pieces(data):
                add(_columns(data, values, rows, read))

    write_safely(path, write)


def _pieces(data: StoredTable) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield rows and their values, with all columns, one piece after the other."""
    if data.X.by_columns:
        yield slice(0, data.X.shape[0]), np.asarray(data.X)
        return
    from linkselect._samples.sources import reporting

    report, parts = reporting.get(), data.X.parts
    for done, part in enumerate(parts):
        if report is not None:
            report(done, len(parts), "write")
        yield from part.slabs()


@contextmanager
def _arrow_file(path: Path, kind: str) -> Iterator[Add]:
    import pyarrow as pa
    import pyarrow.parquet

    opened = pyarrow.parquet.ParquetWriter if kind == ".parquet" else pa.ipc.new_file
    with ExitStack() as stack:
        writer: Any = None

        def add(columns: Columns) -> None:
            nonlocal writer
            # Text is named as such: all labels of the first rows may be missing.
            table = pa.table(
                {
                    name: pa.array(values, pa.string()) if isinstance(values, list) else values
                    for name, values in columns.items()
                }
            )
            if writer is None:
                writer = stack.enter_context(opened(str(path), table.schema))
            writer.write_table(table)

        yield add


@contextmanager
def _text_file(path: Path, kind: str) -> Iterator[Add]:
    separator = "," if kind == ".csv" else "\t"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        has_header = False

        def add(columns: Columns) -> None:
            nonlocal has_header
            if not has_header:
                writer.writerow(columns)
                has_header = True
            n_rows = len(next(iter(columns.values())))
            # Few at a time: as text and as Python's numbers they take much more memory.
            height = max(CELLS // len(columns), 1)
            for start in range(0, n_rows, height):
                some = [_listed(values[start : start + height]) for values in columns.values()]
                writer.writerows(map(text_cells, zip(*some, strict=True)))

        yield add


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.tolist()
