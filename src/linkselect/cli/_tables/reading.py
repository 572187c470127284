"""How a table is read, and the file it is read from: who reads it, and in how much memory."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from cyclopts import Parameter

from linkselect.cli._errors import InputError
from linkselect.cli._tables.limits import bytes_needed, limited_memory, memory_limit, readable_size

if TYPE_CHECKING:
    from linkselect.cli._tables.metadata import Metadata

# To turn a CSV file of so many columns into Parquet takes Arrow 30 KB for each, and fails if
# their names do not fit in a block.
_MANY_COLUMNS = 10_000
# A name that a shell takes as it is, inside double quotes.
_PLAIN_NAME = re.compile(r"[\w.,@ -]+")
# What stands for a missing value in a text file, in features as in labels.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "?")


@dataclass(frozen=True)
class Reading:
    """How to read a table.

    Parameters
    ----------
    label
        The column of class labels. An empty cell, NA, NaN or ? means: not labelled. If columns
        have no names, their number from 0; in NPZ, MAT and SVMlight files the name of the array,
        such as y; in .h5ad files a column of obs.
    bins
        Cut labels that are numbers into this many classes of about equal size; `all` takes every
        value as a class.
    id_column
        The column by which pairs name rows. Without it they name row numbers from 0, or obs_names
        of .h5ad files.
    metadata
        A second table with one row for each sample, joined by --id-column. The columns of --label,
        --group and --batch may be in either table.
    group
        The column of groups that are never split, such as patients.
    batch
        The column of batches, such as plates.
    drop
        Columns to leave out, with commas between them. Give it again for a name with a comma.
    encode
        Use columns that are not numeric: dates as days, yes and no as 1 and 0, text of up to 10
        values as one column for each value.
    missing
        A value that means: missing, beside NA, NaN, ? and an empty cell. Give it once for each.
    unlabelled
        A label that means: not labelled, such as -1.
    transpose
        Rows are features and columns are samples, as in tables of genes.
    separator
        What stands between the values of a text table, if it is not found by itself.
    decimal
        The decimal sign of a text table.
    encoding
        The encoding of a text table.
    no_header
        The first line of a text table holds values, not names.
    array
        Which array of an NPZ or MAT file holds the features, if it is not X; which layer of an
        .h5ad file, or raw; which sheet of an Excel file, if it is not the first.
    max_memory
        How much memory the table may take, such as 500MB or 4GB. Otherwise three quarters of
        what is free.
    features
        What to measure in a folder of pictures: color, texture, hog (directions of lines) or
        pixels, with commas between them. Otherwise color,texture,hog.
    """

    label: str | None = None
    bins: str | None = None
    id_column: str | None = None
    metadata: Path | None = None
    group: str | None = None
    batch: str | None = None
    drop: tuple[str, ...] = ()
    encode: bool = False
    missing: tuple[str, ...] = ()
    unlabelled: str | None = None
    transpose: bool = False
    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    no_header: bool = False
    array: Annotated[str | None, Parameter(alias="--sheet")] = None
    max_memory: str | None = None
    features: str | None = None
    # Where what was measured in pictures is kept: beside the pairs, by each command itself.
    picture_store: Annotated[Path | None, Parameter(parse=False)] = None


DEFAULT_READING = Reading()


@dataclass(frozen=True)
class TableFile:
    """A file that is read: where it is, how it is read, and how much memory that may take.

    Parameters
    ----------
    path : Path
        The file.
    how : Reading
        What was typed.
    wanted : str
        "all"; "rows" for labels and ids without features, so that columns may hold anything; "text"
        for one column as text, which is named as the label; or "metadata" for text of those columns
        that were named and are there.
    label_option : str
        The option that named the label.
    nulls : tuple of str
        What stands for a missing value in files of this kind.
    metadata : Metadata, optional
        What --metadata says, once it was read: a column that is there may be absent here.
    """

    path: Path
    how: Reading = DEFAULT_READING
    wanted: Literal["all", "rows", "text", "metadata"] = "all"
    label_option: str = "--label"
    nulls: tuple[str, ...] = MISSING
    metadata: "Metadata | None" = None

    @property
    def name(self) -> str:
        """What messages call the file."""
        return self.path.name or self.path.resolve().name

    @property
    def named(self) -> dict[str, tuple[str, str]]:
        """The column that was named for each role, and the option that named it."""
        how = self.how
        named = {
            "label": (how.label, self.label_option),
            "ids": (how.id_column, "--id-column"),
            "group": (how.group, "--group"),
            "batch": (how.batch, "--batch"),
        }
        return {role: (name, by) for role, (name, by) in named.items() if name is not None}

    @property
    def in_header(self) -> str:
        """What the header of a text table names."""
        if self.how.transpose:
            return "sample id"
        return "feature name" if self.wanted == "all" else "column name"

    @property
    def feature(self) -> str:
        """What holds a feature in the file."""
        return "row" if self.how.transpose else "column"

    @property
    def as_text(self) -> bool:
        """Whether labels stay as they are written, to be joined or shown."""
        return self.wanted in ("text", "metadata") or self.how.metadata is not None

    @cached_property
    def limit(self) -> int:
        """The bytes that reading it may take."""
        return memory_limit(self.how.max_memory)

    @property
    def missing(self) -> tuple[str, ...]:
        """What stands for a missing value: the usual marks, and those of --missing."""
        return (*self.nulls, *(mark for mark in self.how.missing if mark not in self.nulls))

    def check(self, n_rows: float, n_columns: float, itemsize: int = 8) -> None:
        """Refuse a table of this many numbers if it does not fit."""
        needed = bytes_needed(n_rows, n_columns, itemsize)
        if needed > self.limit:
            self.refuse(
                f"it holds about {n_rows:,.0f} rows x {n_columns:,.0f} columns, "
                f"which needs {readable_size(needed)}",
                by_parts=n_columns < _MANY_COLUMNS or has_parts(self.path),
            )

    def check_bytes(self, n_bytes: int, what: str, by_parts: bool = True) -> None:
        """Refuse something of this many bytes if it does not fit."""
        if n_bytes > self.limit:
            self.refuse(f"{what} unpacks to {readable_size(n_bytes)}", by_parts)

    def refuse(self, why: str, by_parts: bool = True) -> NoReturn:
        """Raise the error that says why a table does not fit, and whether parts of it would."""
        raise InputError(
            f"{self.name}: too large for the memory that may be used "
            f"({readable_size(self.limit)}): {why}. Allow more with --max-memory, or make the "
            f"table smaller: fewer rows or columns.{self._other_way() if by_parts else ''}"
        )

    @contextmanager
    def within_limit(self) -> Iterator[None]:
        """Make the system refuse memory beyond the limit: what a file declares may be a lie."""
        try:
            with limited_memory(self.limit):
                yield
        except MemoryError:
            self.refuse("reading it took more than that")

    def _other_way(self) -> str:
        """Say how a table of another kind can be read by parts."""
        if has_parts(self.path):
            return " Only linkselect rank reads such tables by parts."
        said = " linkselect rank reads Parquet by parts, whatever its size"
        kinds = {".csv": "csv", ".feather": "feather", ".arrow": "feather"}
        kind = kinds.get(self.path.suffix.lower())
        if kind is None or not _PLAIN_NAME.fullmatch(self.name):
            return f"{said}: save the table so."
        code = (
            f"import pyarrow.dataset as d; d.write_dataset(d.dataset({self.name!r}, "
            f"format={kind!r}), {self.path.stem!r}, format='parquet')"
        )
        commas = ", if commas separate its columns" if kind == "csv" else ""
        said += f". This, where the table is, writes a folder of it{commas}"
        return f'{said}: python -c "{code}"'


def has_parts(path: Path) -> bool:
    """Tell whether a table is of a kind that can be read by parts, by its name."""
    return path.is_dir() or path.suffix.lower() in (".parquet", ".pq", ".npy", ".zarr", ".h5ad")
