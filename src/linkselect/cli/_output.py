"""Write results: plain text for people, files for what comes next."""

import csv
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

from linkselect._files import written_whole
from linkselect.cli._errors import InputError, UsageError, shown

# Also characters that turn the direction of writing, which could show a name as another one.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# How a cell begins that a spreadsheet runs as a formula, also with wide letters.
_FORMULA = re.compile(r"[\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")
_SIGNED_NUMBER = re.compile(r"[-+]\d+(\.\d*)?([eE][-+]?\d+)?")
COLUMN_FILES = (".csv", ".tsv", ".json", ".parquet", ".feather")
PAGE_FILES = (".html", ".htm")
FIGURE_FILES = (".pdf", ".svg", ".png")
# How many cells of a text file are made at a time.
_CELLS = 1 << 18

Step = TypeVar("Step")


@dataclass(frozen=True)
class Output:
    """Where the result goes.

    Parameters
    ----------
    out
        Write the result here: .json for everything; .csv, .tsv, .parquet or .feather for its
        table of ranks or accuracies; of an .h5ad table, .h5ad for a copy with the ranking in it.
    report
        Write a page with tables, pictures and the call here: .html.
    figure
        Write a figure for a paper here: .pdf, .svg or .png.
    figure_width
        As wide as one column of a journal (3.5 inches) or as both (7.2 inches).
    json
        Print the result as JSON and nothing else.
    quiet
        Print nothing but errors, and JSON with --json.
    """

    out: Path | None = None
    report: Path | None = None
    figure: Path | None = None
    figure_width: Literal["single", "double"] = "single"
    json: bool = False
    quiet: bool = False

    def check(
        self,
        inputs: Mapping[str, Path | None],
        more: Mapping[str, Path | None] | None = None,
        copied: Path | None = None,
    ) -> None:
        """Refuse targets that cannot be written, before any work is done.

        Parameters
        ----------
        inputs : dict of str to path
            The files that are read, by what a message calls them.
        more : dict of str to path, optional
            Other tables that are written, by their options.
        copied : path, optional
            The table that --out may be a copy of, with the results in it.
        """
        tables = {"--out": self.out, **(more or {})}
        for option, path in tables.items():
            is_copy = option == "--out" and copied is not None and _is_h5ad(path)
            if is_copy and not _is_h5ad(copied):
                raise UsageError(
                    f"--out {path}: an .h5ad file is written as a copy of an .h5ad table, with the "
                    f"ranking in it, and {copied} is none. Choose {', '.join(COLUMN_FILES)}."
                )
            check_target(path, option, (".h5ad",) if is_copy else COLUMN_FILES)
        check_target(self.report, "--report", PAGE_FILES)
        check_target(self.figure, "--figure", FIGURE_FILES)
        check_apart(inputs, {**tables, "--report": self.report, "--figure": self.figure})
        if self.figure is not None and find_spec("matplotlib") is None:
            raise InputError("--figure needs matplotlib: pip install 'linkselect[plot]'")

    @property
    def shows_progress(self) -> bool:
        """Whether a person watches the output and may want to see how far the work is."""
        return sys.stdout.isatty() and not (self.quiet or self.json)

    def say(self, record: Any, text: Callable[[], str]) -> None:
        """Print the result, as JSON or as text for people."""
        if self.json:
            say_json(record)
        elif not self.quiet:
            say(text())

    def write(
        self,
        record: Any,
        columns: Callable[[str], Mapping[str, Any]],
        page: Callable[[], str],
        figure: Callable[[], tuple[Any, str]],
        copied: Callable[[Path], None] | None = None,
    ) -> None:
        """Write the files that were asked for.

        Parameters
        ----------
        record : dict
            The whole result as plain data.
        columns : callable
            Takes the ending of the file, and returns the table of the result.
        page : callable
            Returns the report.
        figure : callable
            Returns a figure and its caption.
        copied : callable, optional
            Writes a copy of the table with the results in it.
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
        """Name the files that were written, on the last line; `more` beside our own."""
        written = [str(path) for path in (self.out, *more, self.report, self.figure) if path]
        if written and not (self.quiet or self.json):
            say(f"Written: {', '.join(written)}")

    def say_notes(self, notes: Sequence[str]) -> None:
        """Print notes on the result beside it, unless nothing is to be said."""
        say_notes(() if self.quiet else notes)


DEFAULT_OUTPUT = Output()


def _is_h5ad(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() == ".h5ad"


def say(text: str = "", *, error: bool = False) -> None:
    """Print text for the person who typed the command.

    Control characters from a file are made visible: they could rewrite what a terminal shows.
    """
    _print(_CONTROL.sub(_visible, text), sys.stderr if error else sys.stdout)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes beside the result, so that a pipe holds the result alone."""
    for note in notes:
        say(f"Note: {note}", error=True)


def say_json(value: Any) -> None:
    """Print plain data as JSON, in characters that both JSON and the terminal can hold."""
    plain = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(_plain(value), indent=2, ensure_ascii=not plain, allow_nan=False)
    _print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text), sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    try:
        print(text, file=stream)
    except BrokenPipeError:
        throw_away(stream)  # files are still to be written


def throw_away(stream: TextIO) -> None:
    """Let the rest of an output go nowhere: whoever read it has enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _visible(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[int],
    widest: int | None = None,
) -> str:
    """Align columns of text: those in `left` to the left, numbers to the right.

    A cell is one line: control characters in it are made visible. Longer ones than `widest` are
    cut.

    Examples
    --------
    >>> print(text_table(["rank", "feature"], [["1", "width"], ["2", "height"]], left=[1]))
    rank  feature
       1  width
       2  height
    """
    rows = [[_one_line(cell, widest) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = (
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [header, *rows]
    )
    return "\n".join(lines)


def _one_line(cell: str, widest: int | None) -> str:
    text = _CONTROL.sub(_visible, cell).replace("\n", "\\n")
    return text if widest is None or len(text) <= widest else f"{text[: widest - 3]}..."


def _plain(value: Any) -> Any:
    """Replace what JSON lacks: NaN by null, infinity by "inf" or "-inf"."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def check_target(path: Path | None, option: str, endings: Sequence[str]) -> None:
    """Refuse a target that cannot be written, before any work is done."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise UsageError(
            f"{option} {path}: the ending says what is written; choose {', '.join(endings)}."
        )
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder. Name a file.")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}. Make it first.")


def check_apart(inputs: Mapping[str, Path | None], targets: Mapping[str, Path | None]) -> None:
    """Refuse to write over a file that is read, or two results into one file."""
    taken = {name: path for name, path in inputs.items() if path is not None}
    for option, path in targets.items():
        if path is None:
            continue
        for other, its_path in taken.items():
            same = os.path.realpath(path) == os.path.realpath(its_path)
            if same or (path.exists() and its_path.exists() and path.samefile(its_path)):
                raise UsageError(f"{option} {path} is the same file as {other}. Name another one.")
            # A table, or what describes an array, would be read as a part of the folder.
            is_part = path.suffix.lower() == ".parquet" or path.name == "zarr.json"
            if is_part and its_path.is_dir() and path.resolve().is_relative_to(its_path.resolve()):
                raise UsageError(
                    f"{option} {path} is inside {its_path}, which is read with all such files in "
                    "it. Name another folder."
                )
        taken[option] = path


def _is_formula(text: str) -> bool:
    return bool(_FORMULA.match(text)) and not _SIGNED_NUMBER.fullmatch(text)


def escape_formula(text: str) -> str:
    """Put a quote before a text that a spreadsheet would run; it is shown without it.

    Examples
    --------
    >>> [escape_formula(text) for text in ("=1+1", "@SUM(A1)", "width", "-1.5")]
    ["'=1+1", "'@SUM(A1)", 'width', '-1.5']
    """
    return f"'{text}" if _is_formula(text) else text


def note_on_formulas(names: Iterable[str], *written: Path | None) -> list[str]:
    """Say which names a spreadsheet would run, if one can open what is written."""
    if not any(path is not None and path.suffix.lower() in (".csv", ".tsv") for path in written):
        return []
    odd = [name for name in names if _is_formula(name)]
    if not odd:
        return []
    some = "1 name begins" if len(odd) == 1 else f"{len(odd):,} names begin"
    return [
        f"{some} like a formula, such as {shown(odd[0])}, and a spreadsheet would run it. "
        "--escape-formulas puts a quote before such names in the ranking of --out; --select keeps "
        "names as they are."
    ]


def write_safely(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all; an error names the file that was asked for."""
    try:
        with written_whole(path) as part:
            write(part)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_page(path: Path, page: str) -> None:
    """Write a page of HTML whole or not at all."""
    write_safely(path, lambda part: part.write_text(page, "utf-8", newline="\n"))


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write named columns of one length in the format that the file's ending names."""
    if path.suffix.lower() == ".json":
        rows = zip(*columns.values(), strict=True)
        write_json(path, [dict(zip(columns, row, strict=True)) for row in rows])
    else:
        write_pieces(path, [columns])


def write_json(path: Path, value: Any) -> None:
    """Write plain data as JSON, whole or not at all."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Names of files may hold bytes that are no text; JSON can escape what stands for them.
    write_safely(path, lambda part: part.write_bytes(text.encode("utf-8", "backslashreplace")))


def write_pieces(path: Path, pieces: Iterable[Mapping[str, Any]]) -> None:
    """Write named columns piece below piece, in the format that the file's ending names."""
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
            # Few at a time: as text and as Python's numbers they take much more memory.
            height = max(_CELLS // len(columns), 1)
            for start in range(0, n_rows, height):
                some = (_text_cells(values[start : start + height]) for values in columns.values())
                writer.writerows(zip(*some, strict=True))


def _text_cells(values: Any) -> list[Any]:
    """Return values as they are written to a text file, with empty cells for missing ones."""
    plain = values if isinstance(values, list) else values.tolist()
    return ["" if value is None or value != value else value for value in plain]


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

    # Text is named as such: all labels of the first rows may be missing.
    is_text = isinstance(values, list) and all(one is None or type(one) is str for one in values)
    return pa.array(values, pa.string()) if is_text else pa.array(values)


# -- how far the work is ---------------------------------------------------------------------


@contextmanager
def progress(
    show: bool, time_left: bool = True
) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a bar while something works.

    Parameters
    ----------
    show : bool
        Whether to show one at all.
    time_left : bool
        Whether it shows for how long it will go on, if all steps take about the same time.

    Yields
    ------
    callable
        It takes what is done, what there is to do if that is known, and what is being done.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeLeft()] if time_left else []
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not show) as bar:
        task = bar.add_task("", total=None)

        def report(done: int, total: int | None, doing: str) -> None:
            if not done:
                bar.reset(task, total=total)
            bar.update(task, completed=done, total=total, description=doing)

        yield report


def tracked(steps: Iterable[Step], show: bool, doing: Callable[[Step], str]) -> Iterator[Step]:
    """Count steps with a bar that says what is being done in each."""
    steps = list(steps)
    with progress(show) as report:
        for done, step in enumerate(steps):
            report(done, len(steps), doing(step))
            yield step
