"""Write results to files: tables, JSON, reports and figures."""

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from linkselect._files import written_whole
from linkselect._messages import many
from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._terminal import QUIET, plain, say, say_json

# The start of a cell that a spreadsheet evaluates as a formula, with full-width characters.
_FORMULA = re.compile(r"[\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")
_SIGNED_NUMBER = re.compile(r"[-+]\d+(\.\d*)?([eE][-+]?\d+)?")
COLUMN_FILES = (".csv", ".tsv", ".json", ".parquet", ".feather")
PAGE_FILES = (".html", ".htm")
FIGURE_FILES = (".pdf", ".svg", ".png")
# The number of cells that are written to a text file at a time.
_CELLS = 1 << 18


@dataclass(frozen=True)
class Output:
    """Options for the output of a result.

    Parameters
    ----------
    out
        The output file. A .json file contains the complete result; a .csv, .tsv, .parquet or
        .feather file contains the table of ranks or accuracies. If the input is an .h5ad file, an
        .h5ad output is a copy of it that also contains the ranking.
    report
        Write an .html report with tables, figures and the command.
    figure
        Write a figure for a publication as .pdf, .svg or .png.
    figure_width
        The width of the figure: one journal column (3.5 inches) or two columns (7.2 inches).
    json
        Print the result as JSON.
    """

    out: Path | None = None
    report: Path | None = None
    figure: Path | None = None
    figure_width: Literal["single", "double"] = "single"
    json: bool = False

    def check(
        self,
        inputs: Mapping[str, Path | None],
        more: Mapping[str, Path | None] | None = None,
        copied: Path | None = None,
    ) -> None:
        """Check that every output can be written, before the computation starts.

        Parameters
        ----------
        inputs : dict of str to path
            The input files, keyed by their names in messages.
        more : dict of str to path, optional
            Further output tables, keyed by their options.
        copied : path, optional
            The input table. An .h5ad output is a copy of this table that contains the results.
        """
        tables = {"--out": self.out, **(more or {})}
        for option, path in tables.items():
            is_copy = option == "--out" and copied is not None and _is_h5ad(path)
            if is_copy and not _is_h5ad(copied):
                raise UsageError(
                    f"--out {path}: an .h5ad output is a copy of the input, but {copied} is not an "
                    f".h5ad file. Choose {', '.join(COLUMN_FILES)}."
                )
            check_target(path, option, (".h5ad",) if is_copy else COLUMN_FILES)
        check_target(self.report, "--report", PAGE_FILES)
        check_target(self.figure, "--figure", FIGURE_FILES)
        check_apart(inputs, {**tables, "--report": self.report, "--figure": self.figure})
        if self.figure is not None and find_spec("matplotlib") is None:
            raise InputError("--figure requires matplotlib: pip install 'linkselect[plot]'")

    @property
    def shows_progress(self) -> bool:
        """Whether to show progress bars, which need a terminal and are omitted with --json."""
        return sys.stdout.isatty() and not (self.json or QUIET.get())

    def say(self, record: Any, text: Callable[[], str]) -> None:
        """Print the result as JSON, or as text unless --quiet is given."""
        if self.json:
            say_json(record)
        elif not QUIET.get():
            say(text())

    def write(
        self,
        record: Any,
        columns: Callable[[str], Mapping[str, Any]],
        page: Callable[[], str],
        figure: Callable[[], tuple[Any, str]],
        copied: Callable[[Path], None] | None = None,
    ) -> None:
        """Write the requested files.

        Parameters
        ----------
        record : dict
            The complete result as plain data.
        columns : callable
            Function that returns the result as a table, given the file extension.
        page : callable
            Function that returns the HTML report.
        figure : callable
            Function that returns a figure and its caption.
        copied : callable, optional
            Function that writes a copy of the input table with the results.
        """
        if self.out is not None:
            kind = self.out.suffix.lower()
            if copied is not None and _is_h5ad(self.out):
                copied(self.out)
            elif kind == ".json":
                write_json(self.out, record)
            else:
                write_columns(self.out, columns(kind))
        if self.report is not None:
            write_page(self.report, page())
        if self.figure is not None:
            from linkselect.plot._style import paper_style, save_figure

            drawn, caption = figure()
            form: Any = self.figure.suffix.lower().removeprefix(".")
            with paper_style():
                write_safely(self.figure, lambda part: save_figure(drawn, part, form, caption))

    def say_written(self, *more: Path | None) -> None:
        """Print the names of the written files, including those in `more`."""
        written = [str(path) for path in (self.out, *more, self.report, self.figure) if path]
        if written and not self.json:
            say(f"Written: {', '.join(written)}")


DEFAULT_OUTPUT = Output()


def _is_h5ad(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() == ".h5ad"


def check_target(path: Path | None, option: str, endings: Sequence[str]) -> None:
    """Check that a file can be written, before the computation starts."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise UsageError(
            f"{option} {path}: the extension determines the format. Choose {', '.join(endings)}."
        )
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder. Pass the path of a file.")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: folder {path.parent} does not exist. Create it first.")


def check_apart(inputs: Mapping[str, Path | None], targets: Mapping[str, Path | None]) -> None:
    """Raise an error if an output would overwrite an input or another output."""
    taken = {name: path for name, path in inputs.items() if path is not None}
    for option, path in targets.items():
        if path is None:
            continue
        for other, its_path in taken.items():
            same = os.path.realpath(path) == os.path.realpath(its_path)
            if same or (path.exists() and its_path.exists() and path.samefile(its_path)):
                raise UsageError(f"{option} {path} is the same file as {other}. Choose another.")
            # The next run would read such a file as a part of the table in this folder.
            is_part = path.suffix.lower() == ".parquet" or path.name == "zarr.json"
            if is_part and its_path.is_dir() and path.resolve().is_relative_to(its_path.resolve()):
                raise UsageError(
                    f"{option} {path} is inside {its_path}, where it would become a part of the "
                    "table. Choose another folder."
                )
        taken[option] = path


def _is_formula(text: str) -> bool:
    return bool(_FORMULA.match(text)) and not _SIGNED_NUMBER.fullmatch(text)


def escape_formula(text: str) -> str:
    """Put a quote before text that a spreadsheet would evaluate as a formula.

    Spreadsheets do not display the quote.

    Examples
    --------
    >>> [escape_formula(text) for text in ("=1+1", "@SUM(A1)", "width", "-1.5")]
    ["'=1+1", "'@SUM(A1)", 'width', '-1.5']
    """
    return f"'{text}" if _is_formula(text) else text


def note_on_formulas(names: Iterable[str], *written: Path | None) -> list[str]:
    """Return a note on names that a spreadsheet would evaluate, if CSV or TSV is written."""
    if not any(path is not None and path.suffix.lower() in (".csv", ".tsv") for path in written):
        return []
    odd = [name for name in names if _is_formula(name)]
    if not odd:
        return []
    return [
        f"A spreadsheet would evaluate {many(len(odd), 'name')}, such as {shown(odd[0])}, as a "
        "formula. --escape-formulas puts a quote before such names in --out, but not in --select."
    ]


def write_safely(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically; error messages contain the path of the requested file."""
    try:
        with written_whole(path) as part:
            write(part)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_page(path: Path, page: str) -> None:
    """Write an HTML page to a file atomically."""
    write_safely(path, lambda part: part.write_text(page, "utf-8", newline="\n"))


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write named columns of equal length in the format given by the file extension."""
    if path.suffix.lower() == ".json":
        rows = zip(*columns.values(), strict=True)
        write_json(path, [dict(zip(columns, row, strict=True)) for row in rows])
    else:
        write_pieces(path, [columns])


def write_json(path: Path, value: Any) -> None:
    """Write plain data to a JSON file atomically."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # File names may contain bytes that are not valid text; JSON escapes their surrogates.
    write_safely(path, lambda part: part.write_bytes(text.encode("utf-8", "backslashreplace")))


def write_pieces(path: Path, pieces: Iterable[Mapping[str, Any]]) -> None:
    """Write consecutive pieces of named columns in the format given by the file extension."""
    kind = path.suffix.lower()
    write = _write_text if kind in (".csv", ".tsv") else _write_arrow
    write_safely(path, lambda part: write(part, kind, pieces))


def _write_text(path: Path, kind: str, pieces: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="," if kind == ".csv" else "\t", lineterminator="\n")
        for number, columns in enumerate(pieces):
            if number == 0:
                writer.writerow(columns)
            n_rows = len(next(iter(columns.values())))
            # Rows are written in batches, because Python objects take much more memory than arrays.
            height = max(_CELLS // len(columns), 1)
            for start in range(0, n_rows, height):
                some = (_text_cells(values[start : start + height]) for values in columns.values())
                writer.writerows(zip(*some, strict=True))


def _text_cells(values: Any) -> list[Any]:
    """Return values as cells of a text file; missing values become empty cells."""
    listed = values if isinstance(values, list) else values.tolist()
    return ["" if value is None or value != value else value for value in listed]


def _write_arrow(path: Path, kind: str, pieces: Iterable[Mapping[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    opened = pyarrow.parquet.ParquetWriter if kind == ".parquet" else pa.ipc.new_file
    with ExitStack() as stack:
        writer: Any = None
        for columns in pieces:
            table = pa.table({name: _arrow_column(values) for name, values in columns.items()})
            if writer is None:
                writer = stack.enter_context(opened(str(path), table.schema))
            writer.write_table(table)


def _arrow_column(values: Any) -> Any:
    import pyarrow as pa

    # The type of text is explicit, because all labels of the first piece may be missing.
    is_text = isinstance(values, list) and all(one is None or type(one) is str for one in values)
    return pa.array(values, pa.string()) if is_text else pa.array(values)
