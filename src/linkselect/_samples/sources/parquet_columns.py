"""The types of the columns of a Parquet file, and their conversion to NumPy arrays."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import GuidedValueError
from linkselect._samples.sources.choosing import chosen_columns

# A message names at most this many columns; a table may have thousands of the same kind.
NAMED = 5


@dataclass(frozen=True, eq=False)
class FileColumns:
    """The columns of a Parquet file as described in the footer of the file.

    Attributes
    ----------
    label : str
        The name used for the file in messages.
    schema : pyarrow.Schema
        The names and types of the columns.
    names : list of str
        The names of the columns, which are cached because pyarrow rebuilds the list on every
        access.
    index : tuple of str or range
        The levels of the index that pandas would use. Each is the name of a column, or a range that
        is not stored as a column.
    group_rows : list of int
        The number of rows in every row group.
    metadata : pyarrow.parquet.FileMetaData
        The complete footer.
    """

    label: str
    schema: Any
    names: list[str]
    index: tuple[str | range, ...]
    group_rows: list[int]
    metadata: Any

    def chosen(
        self, columns: Sequence[str | int] | None, without: Sequence[str | int]
    ) -> list[str]:
        """Return the names of the columns to use as features, in order."""
        if columns is None:
            without = [*without, *(name for name in self.index if isinstance(name, str))]
        places = chosen_columns(self.label, len(self.names), self.names, columns, without)
        found, times = [self.names[place] for place in places], Counter(self.names)
        twice = sorted(name for name in found if times[name] > 1)
        if twice:
            raise GuidedValueError(
                f"{self.label} has several columns named {twice[0]!r}.", "Rename them.", "X"
            )
        return found


def columns_of(label: str, metadata: Any) -> FileColumns:
    """Extract the description of the columns from the footer of a Parquet file."""
    schema = metadata.schema.to_arrow_schema()
    names = schema.names
    pandas = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    stored = [_index(one, names) for one in pandas.get("index_columns", ())]
    index = tuple(one for one in stored if one is not None)
    rows = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    return FileColumns(label, schema, names, index, rows, metadata)


def _index(described: Any, names: Collection[str]) -> str | range | None:
    """Return a level of the pandas index from its metadata, as a column name or a range."""
    if isinstance(described, str):
        return described if described in names else None
    try:
        return range(described["start"], described["stop"], described["step"])
    except (KeyError, TypeError, ValueError):
        return None


def joint_type(names: Sequence[str], files: Sequence[FileColumns], label: str) -> np.dtype[Any]:
    """Return the common dtype of the given columns in all files.

    Raise an error if a column is not numeric or if files have different columns.
    """
    types: set[np.dtype[Any]] = set()
    for file in files:
        if not file.schema.equals(files[0].schema):
            _check_same_columns(files[0], file)
        types.update(_types(names, file, label))
    return np.result_type(*types) if types else np.dtype(np.float64)


def _types(names: Sequence[str], file: FileColumns, label: str) -> list[np.dtype[Any]]:
    fields = {field.name: field.type for field in file.schema}
    found = {name: _number_type(fields[name]) for name in names}
    refused = [name for name, dtype in found.items() if dtype is None]
    if refused:
        shown = ", ".join(f"'{name}' ({fields[name]})" for name in refused[:NAMED])
        more = f" and {len(refused) - NAMED:,} more" if len(refused) > NAMED else ""
        listed = ", ".join(repr(name) for name in refused[:NAMED])
        raise GuidedValueError(
            f"{file.label} has columns that are not numeric: {shown}{more}.",
            f"Exclude them: open_stored({label!r}, without=[{listed}{', ...' if more else ''}]).",
            "X",
        )
    with_nulls = _with_nulls([name for name in names if found[name].kind in "biu"], file)
    return [np.dtype(np.float64) if name in with_nulls else found[name] for name in names]


def _number_type(kind: Any) -> Any:
    """Return the NumPy dtype for an Arrow type, or None if the type is not numeric."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind):
        return _number_type(kind.value_type)
    if kinds.is_boolean(kind):
        return np.dtype(np.bool_)
    # All values of the null type are missing.
    if kinds.is_float16(kind) or kinds.is_null(kind):
        return np.dtype(np.float32)
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    return np.dtype(np.float64) if kinds.is_decimal(kind) else None


def _with_nulls(names: Sequence[str], file: FileColumns) -> set[str]:
    """Return the columns that may have missing values according to the file's statistics."""
    metadata = file.metadata
    leaves = {metadata.schema.column(j).path: j for j in range(metadata.num_columns)}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]

    def may_lack(name: str) -> bool:
        found = (group.column(leaves[name]).statistics for group in groups)
        return any(one is None or not one.has_null_count or one.null_count for one in found)

    return {name for name in names if may_lack(name)}


def _check_same_columns(first: FileColumns, file: FileColumns) -> None:
    for one, other in ((first, file), (file, first)):
        known = set(other.names)
        lacking = next((name for name in one.names if name not in known), None)
        if lacking is not None:
            raise GuidedValueError(
                f"{other.label} lacks the column '{lacking}', which {one.label} has.",
                "All Parquet files in a folder must have the same columns.",
                "X",
            )


def to_numbers(column: Any, target: NDArray[Any], name: str) -> None:
    """Copy an Arrow array into a NumPy array; missing values become NaN."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        # Codes outside the dictionary would read arbitrary memory.
        column.validate(full=True)
        column = column.dictionary_decode()
    if column.null_count and target.dtype.kind in "biu":
        raise ValueError(f"column '{name}' has missing values, but the file states there are none")
    kind = column.type
    if column.null_count or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    target[:] = column.to_numpy(zero_copy_only=False)


def joined(pieces: Sequence[Any], name: str, labels: Sequence[str]) -> NDArray[Any]:
    """Concatenate one column of several files, which may store it with different types.

    Parameters
    ----------
    pieces : sequence of pyarrow.ChunkedArray
        The column as read from each file.
    name : str
        The name of the column.
    labels : sequence of str
        The names used for the files in messages.
    """
    import pyarrow as pa

    tables = []
    for piece in pieces:
        # Offsets outside the buffers would read arbitrary memory.
        piece.validate(full=True)
        kind = piece.type
        plain = piece.cast(kind.value_type) if pa.types.is_dictionary(kind) else piece
        tables.append(pa.table({name: plain}))
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        kinds = {str(piece.type): label for piece, label in zip(pieces, labels, strict=True)}
        listed = ", ".join(f"{kind} in {label}" for kind, label in kinds.items())
        raise GuidedValueError(
            f"The column {name!r} has types that cannot be combined: {listed}.",
            "Write this column with the same type in all files.",
            "X",
        ) from None
    return np.asarray(whole[name].to_numpy())
