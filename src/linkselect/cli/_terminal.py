"""Print to the terminal: wrapped text, aligned tables, JSON and progress bars."""

import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import zip_longest
from typing import Any, TextIO, TypeVar

from linkselect._messages import shortened

# Longer lines are hard to read, however wide the terminal is.
WIDEST = 100
# Maximum length of names in tables, and the length below which they are not shortened.
LONGEST_NAME, SHORTEST_NAME = 60, 24
# Whether the command was given --quiet.
QUIET = ContextVar("QUIET", default=False)

# Includes characters that change the writing direction, which could disguise a name.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Wrapped lines are indented to the text after this prefix.
_LABEL = re.compile(r"^ *((Warning|Note): )?")
# No line breaks at these spaces: "p = 0.05", "10 %", "0.92 ± 0.07".
_GLUED = re.compile(r"(?<=[ (][pr]) (?=[=<])|(?<=[ (][pr] [=<]) | (?=[%±])|(?<=±) ")

Step = TypeVar("Step")


def line_width() -> int:
    """Return the maximum length of a line: the width of the terminal, at most 100 columns."""
    return min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)


def say(text: str = "", *, error: bool = False, stream: TextIO | None = None) -> None:
    """Print wrapped text to standard output, or to standard error if it is an error message.

    With --quiet, only errors are printed. Control characters from files are escaped, because they
    could alter the display of the terminal.
    """
    if error or not QUIET.get():
        lines = _CONTROL.sub(_visible, text).split("\n")
        text = "\n".join(part for line in lines for part in wrapped(line, line_width()))
        _print(text, sys.stderr if error else stream or sys.stdout)


def say_notes(notes: Iterable[str], label: str = "Note") -> None:
    """Print each note once, to standard error, so that a pipe receives only the result."""
    for note in dict.fromkeys(notes):
        say(f"{label}: {note}", stream=sys.stderr)


def say_json(value: Any) -> None:
    """Print plain data as JSON, and escape characters that the terminal cannot show."""
    can_encode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(plain(value), indent=2, ensure_ascii=not can_encode, allow_nan=False)
    _print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text), sys.stdout)


def plain(value: Any) -> Any:
    """Convert a value for JSON: NaN becomes null, and infinity becomes "inf" or "-inf"."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _print(text: str, stream: TextIO) -> None:
    try:
        print(text, file=stream)
    except BrokenPipeError:
        throw_away(stream)  # files still have to be written


def throw_away(stream: TextIO) -> None:
    """Discard further output to a stream whose reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _visible(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]


def wrapped(line: str, width: int) -> list[str]:
    """Wrap a line between words; words are never broken, so that paths can be copied.

    Examples
    --------
    >>> wrapped("Note: petal length is constant.", 20)
    ['Note: petal length', '      is constant.']
    """
    from rich.cells import cell_len

    indent = " " * (len(line) - len(_LABEL.sub("", line)))
    first, *words = _GLUED.sub("\xa0", line).split(" ")
    lines = [first]
    for word in words:
        longer = f"{lines[-1]} {word}"
        if lines[-1].strip() and cell_len(longer) > width:
            lines.append(indent + word)
        else:
            lines[-1] = longer
    return [line.replace("\xa0", " ") for line in lines]


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Return a table with aligned columns; those in `left` contain text, the others numbers.

    If the table is wider than the terminal, text is wrapped in the last column and shortened in the
    others. If necessary, the table is split into blocks that repeat the first columns.

    Examples
    --------
    >>> print(text_table(["rank", "feature"], [["1", "width"], ["2", "height"]], left=[1]))
    rank  feature
       1  width
       2  height
    """
    from rich.cells import cell_len

    table = [[_CONTROL.sub(_visible, cell).replace("\n", "\\n") for cell in row] for row in rows]
    table.insert(0, list(header))
    last, n_repeated, room = len(header) - 1, min(left) + 1, line_width()
    widths = [min(max(map(cell_len, column)), LONGEST_NAME) for column in zip(*table, strict=True)]
    widths[last] = max(cell_len(row[last]) for row in table)
    for place in sorted(left, reverse=True):
        excess = sum(widths) + 2 * last - room
        widths[place] -= max(min(excess, widths[place] - SHORTEST_NAME), 0)
    blocks = [list(range(n_repeated))]
    for place in range(n_repeated, len(header)):
        is_wide = sum(widths[i] + 2 for i in blocks[-1]) + widths[place] > room
        if is_wide and len(blocks[-1]) > n_repeated:
            blocks.append(list(range(n_repeated)))
        blocks[-1].append(place)

    def lines_of(row: Sequence[str], block: Sequence[int]) -> Iterator[str]:
        cells = [
            wrapped(row[i], widths[i]) if i == last else [_fitted(row[i], widths[i])] for i in block
        ]
        for texts in zip_longest(*cells, fillvalue=""):
            named = zip(block, texts, strict=True)
            yield "  ".join(
                (one.ljust if i in left else one.rjust)(widths[i] - cell_len(one) + len(one))
                for i, one in named
            ).rstrip()

    return "\n\n".join(
        "\n".join(line for row in table for line in lines_of(row, block)) for block in blocks
    )


def _fitted(text: str, width: int) -> str:
    """Shorten text to a width in terminal columns; wide characters occupy two columns."""
    from rich.cells import cell_len

    fitted, length = text, width
    while cell_len(fitted) > width:
        fitted, length = shortened(text, length), length - 1
    return fitted


@contextmanager
def progress(
    show: bool, time_left: bool = True
) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a progress bar.

    Parameters
    ----------
    show : bool
        Whether to show the progress bar. With --quiet, no progress bar is shown.
    time_left : bool
        Whether to show the remaining time, assuming that all steps take about the same time.

    Yields
    ------
    callable
        Function that takes the number of finished steps, the total number of steps (None if it is
        unknown) and a description of the current step.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeLeft()] if time_left else []
    hidden = QUIET.get() or not show
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=None)

        def report(done: int, total: int | None, doing: str) -> None:
            if not done:
                bar.reset(task, total=total)
            bar.update(task, completed=done, total=total, description=doing)

        yield report


def tracked(steps: Iterable[Step], show: bool, doing: Callable[[Step], str]) -> Iterator[Step]:
    """Iterate over steps, and describe the current step in a progress bar."""
    steps = list(steps)
    with progress(show) as report:
        for done, step in enumerate(steps):
            report(done, len(steps), doing(step))
            yield step
