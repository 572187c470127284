"""Write a table that contains only the selected features."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._output import write_columns, write_pieces
from linkselect.cli._tables import Reading, Table
from linkselect.cli._tables.limits import memory_limit, readable_size
from linkselect.cli._tables.parts import library_errors
from linkselect.cli._tables.table import StoredTable

BY_PARTS = (".parquet", ".feather", ".csv", ".tsv")


def check_selected(path: Path | None, table: Path, by_parts: bool) -> None:
    """Check that a table that is read in parts can be written in the requested format."""
    if path is not None and by_parts and path.suffix.lower() not in BY_PARTS:
        raise UsageError(
            f"--select {path}: {table.name} is read in parts, so the output can be written only as "
            f"{', '.join(BY_PARTS)}."
        )


def write_selected(path: Path, selector: Any, data: Table, read: Reading) -> None:
    """Write the IDs, the selected features (unscaled, in their original order) and the labels."""
    places = {name: place for place, name in enumerate(data.names)}
    kept = np.array(sorted(places[name] for name in selector.get_feature_names_out()))
    data = data.with_features(kept)
    if isinstance(data, StoredTable):
        if data.X.by_columns:
            _check_size(data, path, read, "is written at once because it has few rows")
        with library_errors():
            write_pieces(
                path, (_columns(data, values, rows, read) for rows, values in _pieces(data))
            )
        return
    if data.is_sparse:
        _check_size(data, path, read, "is sparse, but is written as a dense table")
    X = data.X.toarray() if data.is_sparse else data.X
    columns = _columns(data, X, slice(None), read)
    if path.suffix.lower() == ".json":
        columns = {name: np.asarray(values).tolist() for name, values in columns.items()}
    write_columns(path, columns)


def _columns(data: Table, X: NDArray[Any], rows: slice, read: Reading) -> dict[str, Any]:
    """Return some rows as named columns, where X contains the features of these rows."""
    columns: dict[str, Any] = {}
    if data.ids is not None:
        columns[read.id_column or "id"] = list(data.ids[rows])
    columns |= dict(zip(data.names, X.T, strict=True))
    if data.labels is not None:
        columns[read.label or "label"] = data.labels[rows].tolist()
    return columns


def _check_size(data: Table, path: Path, read: Reading, why: str) -> None:
    n_rows, n_features = data.X.shape
    # A value takes 8 bytes in an array and 32 in a list.
    needed = 40 * n_rows * n_features
    limit = memory_limit(read.max_memory)
    if needed > limit:
        raise InputError(
            f"--select {path}: {data.source} {why}. {n_rows:,} rows x {n_features:,} selected "
            f"features require {readable_size(needed)}, but the limit is {readable_size(limit)}. "
            "Select fewer with --n-features, or raise the limit with --max-memory."
        )


def _pieces(data: StoredTable) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows of each piece and their values in all columns."""
    if data.X.by_columns:
        yield slice(0, data.X.shape[0]), np.asarray(data.X)
        return
    from linkselect._samples.sources.running import reporting

    report, parts = reporting.get(), data.X.parts
    for done, part in enumerate(parts):
        if report is not None:
            report(done, len(parts), "writing the selected features")
        yield from part.slabs()
