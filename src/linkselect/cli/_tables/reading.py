"""Options for reading a table, and the file to read with its memory limit."""

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

# Arrow takes 30 KB for each column to convert a CSV file with this many columns to Parquet, and
# fails if their names do not fit in a block.
_MANY_COLUMNS = 10_000
# A name that needs no escaping inside double quotes in a shell.
_PLAIN_NAME = re.compile(r"[\w.,@ -]+")
# Values that mark missing features and labels in a text file.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "?")


@dataclass(frozen=True)
class Reading:
    """Options for reading a table.

    Parameters
    ----------
    label
        The column of class labels. An empty cell, NA, NaN or ? marks an unlabelled row. If columns
        have no names, give a column number, starting at 0. In NPZ, MAT and SVMlight files, give the
        name of an array, such as y; in .h5ad files, give a column of obs.
    bins
        Bin numeric labels into this many classes of about equal size, or "all" to treat every value
        as a class.
    id_column
        The column with the row ids that are used in pairs. Default: row numbers from 0, or the
        obs_names of .h5ad files.
    metadata
        A second table with one row for each sample, joined by --id-column. The columns of --label,
        --group and --batch may be in either table.
    group
        The column of groups that are never split between training and test rows, such as patients.
    batch
        The column of batches, such as plates.
    drop
        Columns to leave out, separated by commas. Repeat the option for a name that contains a
        comma.
    encode
        Encode non-numeric columns: dates as days, yes and no as 1 and 0, and text with up to 10
        values as one column for each value.
    missing
        Another value that marks missing data, in addition to NA, NaN, ? and an empty cell. Repeat
        the option for several values.
    unlabelled
        A label that marks unlabelled rows, such as -1.
    transpose
        Treat rows as features and columns as samples, as in gene expression tables.
    separator
        The separator of a text table: one character, tab or space. Default: detected.
    decimal
        The decimal separator of a text table.
    encoding
        The encoding of a text table.
    no_header
        Treat the first line of a text table as values, not as column names.
    array
        The array with the features in an NPZ or MAT file, if it is not X; the layer of an .h5ad
        file, or raw; or the sheet of an Excel file, if it is not the first.
    max_memory
        The maximum memory for the table, such as 500MB or 4GB. Default: three quarters of the free
        memory.
    features
        The features to compute from a folder of pictures, separated by commas: color, texture, hog
        (histograms of edge orientations) or pixels. Default: color,texture,hog.
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
    # The file of picture features, which is next to the pairs and is set by each command.
    picture_store: Annotated[Path | None, Parameter(parse=False)] = None


DEFAULT_READING = Reading()


@dataclass(frozen=True)
class TableFile:
    """A file to read, with the options and the memory limit.

    Parameters
    ----------
    path : Path
        The file.
    how : Reading
        The options of the command line.
    wanted : str
        The content to read: "all"; "rows" for labels and ids without features, so that other
        columns may contain any values; "text" for the label column as text; or "metadata" for the
        columns named in options, as text.
    label_option : str
        The option that names the label column.
    nulls : tuple of str
        Values that mark missing data in files of this format.
    metadata : Metadata, optional
        The metadata, once they have been read; their columns may be absent from this file.
    """

    path: Path
    how: Reading = DEFAULT_READING
    wanted: Literal["all", "rows", "text", "metadata"] = "all"
    label_option: str = "--label"
    nulls: tuple[str, ...] = MISSING
    metadata: "Metadata | None" = None

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.path.name or self.path.resolve().name

    @property
    def named(self) -> dict[str, tuple[str, str]]:
        """For each role specified by an option: the column and the name of the option."""
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
        """The description, in messages, of a name in the header of a text table."""
        if self.how.transpose:
            return "sample id"
        return "feature name" if self.wanted == "all" else "column name"

    @property
    def feature(self) -> str:
        """The word for a feature of this file in messages: "row" or "column"."""
        return "row" if self.how.transpose else "column"

    @property
    def as_text(self) -> bool:
        """Whether labels are kept as unchanged text, to be joined or displayed."""
        return self.wanted in ("text", "metadata") or self.how.metadata is not None

    @cached_property
    def limit(self) -> int:
        """The memory limit for reading the file, in bytes."""
        return memory_limit(self.how.max_memory)

    @property
    def missing(self) -> tuple[str, ...]:
        """Values that mark missing data: those defined by the format or given by --missing."""
        return (*self.nulls, *(mark for mark in self.how.missing if mark not in self.nulls))

    def check(self, n_rows: float, n_columns: float, itemsize: int = 8) -> None:
        """Raise an error if a table of this shape does not fit in memory."""
        needed = bytes_needed(n_rows, n_columns, itemsize)
        if needed > self.limit:
            self.refuse(
                f"about {n_rows:,.0f} rows x {n_columns:,.0f} columns need {readable_size(needed)}",
                by_parts=n_columns < _MANY_COLUMNS or has_parts(self.path),
            )

    def check_bytes(self, n_bytes: int, what: str, by_parts: bool = True) -> None:
        """Raise an error if `what`, which needs this many bytes, does not fit in memory."""
        if n_bytes > self.limit:
            self.refuse(f"{what} needs {readable_size(n_bytes)}", by_parts)

    def refuse(self, why: str, by_parts: bool = True) -> NoReturn:
        """Raise the error for a table that does not fit in memory, with advice."""
        raise InputError(
            f"{self.name} does not fit in the memory limit of {readable_size(self.limit)}: {why}. "
            "Raise --max-memory, or use fewer rows or columns."
            f"{self._other_way() if by_parts else ''}"
        )

    @contextmanager
    def within_limit(self) -> Iterator[None]:
        """Enforce the memory limit while reading, since a file may declare a wrong size."""
        try:
            with limited_memory(self.limit):
                yield
        except MemoryError:
            self.refuse("reading it needs more")

    def _other_way(self) -> str:
        """Explain how a table of another format can be read in parts."""
        if has_parts(self.path):
            return " Only linkselect rank reads such tables in parts."
        advice = " linkselect rank reads Parquet tables of any size in parts"
        kinds = {".csv": "csv", ".feather": "feather", ".arrow": "feather"}
        kind = kinds.get(self.path.suffix.lower())
        if kind is None or not _PLAIN_NAME.fullmatch(self.name):
            return f"{advice}: save the table as Parquet."
        code = (
            f"import pyarrow.dataset as d; d.write_dataset(d.dataset({self.name!r}, "
            f"format={kind!r}), {self.path.stem!r}, format='parquet')"
        )
        commas = ", if commas separate its columns" if kind == "csv" else ""
        advice += f". Run this command in the folder of the table to convert it{commas}"
        return f'{advice}: python -c "{code}"'


def has_parts(path: Path) -> bool:
    """Return whether a table can be read in parts, judging by its name."""
    return path.is_dir() or path.suffix.lower() in (".parquet", ".pq", ".npy", ".zarr", ".h5ad")
