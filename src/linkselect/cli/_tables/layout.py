"""What the first lines of a text table tell: names, separator, where values start."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._tables.column_kinds import NUMBER
from linkselect.cli._tables.features import unique_names
from linkselect.cli._tables.reading import MISSING, Reading, TableFile

_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
_LONGEST_HEADER = 64 << 20
# Blank lines and comments before the header, and lines that a quoted name may go over.
_MOST_SKIPPED = 10_000
_MOST_IN_NAME = 1_000


@dataclass(frozen=True)
class Layout:
    """How the values of a text table are laid out.

    Parameters
    ----------
    names : tuple of str
        The columns.
    separator : str
        What stands between values.
    opened : callable
        Open the file where its values begin.
    line_length : float
        The mean length of a line, in bytes.
    quote : str
        What stands around values that hold the separator.
    comment : str
        How lines begin that hold no values; empty if there are none.
    n_before : int
        Lines before those of this table, for messages.
    numbered : bool
        Whether the names are only numbers that we gave.
    nulls : tuple of str
        What stands for a missing value.
    notes : tuple of str
        What should be said about the header.
    """

    names: tuple[str, ...]
    separator: str
    opened: Callable[[], Any]
    line_length: float
    quote: str = '"'
    comment: str = ""
    n_before: int = 0
    numbered: bool = False
    nulls: tuple[str, ...] = MISSING
    notes: tuple[str, ...] = ()


def check_options(how: Reading) -> None:
    """Refuse options that no text table can be read with."""
    try:
        "x".encode(how.encoding)
    except (LookupError, ValueError):
        known = "is not known as an encoding of text. Try latin-1"
        raise UsageError(f"--encoding {how.encoding!r} {known}.") from None
    if codecs.lookup(how.encoding).name.startswith(("utf-16", "utf-32")):
        raise UsageError(
            f"--encoding {how.encoding}: UTF-16 is recognized by its first bytes, so leave "
            "--encoding out. If that fails, save the table as UTF-8."
        )
    if len(how.decimal) != 1 or how.decimal.isalnum() or how.decimal in '+-"\r\n':
        raise UsageError(f"--decimal {how.decimal!r} must be one sign, such as a comma.")


def open_stream(path: Path, start: int = 0) -> Any:
    """Open a text table at a place, unpacked; UTF-16 that says so becomes UTF-8."""
    file: Any = gzip.GzipFile(path) if is_packed(path) else path.open("rb")
    if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        with file:
            file.seek(0)
            try:
                file = io.BytesIO(file.read().decode("utf-16").encode())
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path.name} begins like UTF-16 text, but is not. Save it as UTF-8."
                ) from error
    file.seek(start)
    return file


def is_packed(path: Path) -> bool:
    """Tell whether a table is compressed, by how its name ends."""
    return path.suffix.lower() == ".gz"


def look(file: TableFile) -> Layout:
    """Find the layout: names, separator, and where values start."""
    path, how = file.path, file.how
    with open_stream(path) as stream:
        start, n_before, told = _first_line(stream, path, how)
        place = stream.tell()
        first = stream.readline(_LONGEST_HEADER)
        lines = first + stream.read(1 << 20)
    header = _decode(start, path, how, n_before).strip("\ufeff\r\n")
    separator = told or _separator(header, path, how)
    cells = _cells(header, separator, path)
    notes: list[str] = []
    if how.no_header:
        place, n_before, lines = place - len(start), n_before - 1, start + lines
        names = tuple(f"x{i}" for i in range(len(cells)))
    else:
        cells, notes = _with_row_names(cells, first, separator, path, how)
        _check_header(cells, header, path)
        names, renamed = unique_names(cells)
        notes += renamed
    return Layout(
        names,
        separator,
        partial(open_stream, path, place),
        max(1.0, len(lines) / max(1, lines.count(b"\n"))),
        n_before=n_before,
        numbered=how.no_header,
        notes=tuple(notes),
    )


def _with_row_names(
    cells: list[str], first: bytes, separator: str, path: Path, how: Reading
) -> tuple[list[str], list[str]]:
    """Add a column without a name if the header is one shorter than the first line, as R does."""
    values = _cells(_decode(first, path, how, 2).strip("\r\n"), separator, path) if first else []
    if len(values) != len(cells) + 1 or (values and not values[-1]):
        return cells, []
    return ["", *cells], [
        "the header is one name shorter than the lines, as R writes it: the first value of each "
        "line is the name of the row."
    ]


def _first_line(file: IO[bytes], path: Path, how: Reading) -> tuple[bytes, int, str | None]:
    """Read the first line that is neither blank nor a comment.

    Return it, the number of lines up to there, and the separator if a line such as `sep=;`, which
    Excel reads, names it.
    """
    start, n_lines, separator = _skip_to_header(file, path)
    if start.count(b'"') % 2:  # a quoted name may hold a line break
        start, n_lines = _to_closing_quote(start, n_lines, file, path)
    if not start.strip():
        raise InputError(f"{path} is empty.")
    if b"\r" in re.sub(rb'"[^"]*"', b"", start).rstrip(b"\r\n"):
        raise InputError(
            f"{path.name}: its lines end in CR alone, as on old Macs. Save it with line ends of "
            "today (LF or CRLF)."
        )
    return start, n_lines, None if how.separator else separator


def _skip_to_header(file: IO[bytes], path: Path) -> tuple[bytes, int, str | None]:
    """Read on to the header; return it, its line, and the separator that a line names."""
    separator = None
    n_bytes = 0
    for n_lines in range(1, _MOST_SKIPPED + 1):
        line = file.readline(_LONGEST_HEADER)
        if not line or not _is_no_header(line):
            return line, n_lines, separator
        named = re.fullmatch(rb"(?:\xef\xbb\xbf)?sep=(.)\s*", line)
        separator = named[1].decode("latin-1") if named else separator
        n_bytes += len(line)
        if n_bytes > _LONGEST_HEADER:
            break
    raise InputError(
        f"{path.name}: {n_lines:,} lines at the start are blank or comments, and none names the "
        "columns. Delete them, or is this not a table?"
    )


def _to_closing_quote(start: bytes, n_lines: int, file: IO[bytes], path: Path) -> tuple[bytes, int]:
    """Read the rest of a header whose quoted name goes over lines."""
    parts, n_bytes = [start], len(start)
    is_open = True
    while is_open and len(parts) <= _MOST_IN_NAME and n_bytes < _LONGEST_HEADER:
        line = file.readline(_LONGEST_HEADER)
        if not line:
            break
        parts.append(line)
        n_bytes += len(line)
        is_open ^= bool(line.count(b'"') % 2)
    if is_open:
        raise InputError(
            f"{path.name}, line {n_lines}: a quote opens in the names of the columns and does not "
            "close. Close it, or delete it."
        )
    return b"".join(parts), n_lines + len(parts) - 1


def _is_no_header(line: bytes) -> bool:
    """Tell whether a line is blank, a comment, or Excel's line that names the separator."""
    text = line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")
    is_comment = text.startswith(b"#") and not re.search(rb"[,;\t|]", text)
    return not text or is_comment or re.fullmatch(rb"sep=.", text) is not None


def _cells(header: str, separator: str, path: Path) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=separator))]
    except csv.Error as error:
        raise InputError(
            f"{path.name}: the first line {shown(header)} cannot be split into names: {error}. "
            "Is the separator right (--separator)?"
        ) from None


def _decode(line: bytes, path: Path, how: Reading, number: int) -> str:
    if b"\0" in line:
        raise InputError(
            f"{path.name}, line {number}: zero bytes, which no text table holds. Is it a text file?"
        )
    try:
        return line.decode(how.encoding)
    except UnicodeDecodeError as error:
        raise wrong_encoding(f"{path.name}, line {number}", error, how) from None


def wrong_encoding(where: str, error: UnicodeDecodeError, how: Reading) -> InputError:
    """Return the error that says which byte is not in the encoding."""
    odd = error.object[error.start]
    around = error.object[max(0, error.start - 12) : error.start + 12].decode("latin-1")
    return InputError(
        f"{where}: the byte 0x{odd:02x} in {shown(around)} is not {how.encoding} text. Save the "
        "table as UTF-8, or say how it is encoded, such as --encoding latin-1."
    )


def _separator(header: str, path: Path, how: Reading) -> str:
    if how.separator is not None:
        separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(how.separator, how.separator)
        if len(separator) != 1:
            raise UsageError(f"--separator {how.separator!r} must be one character, or tab.")
    else:
        separator = _found_separator(header, path, how)
    if separator == how.decimal:
        raise UsageError(
            f"--decimal {how.decimal}: in {path.name} the same sign stands between the values. "
            "Leave --decimal out, or name what stands between them by --separator."
        )
    return separator


def _found_separator(header: str, path: Path, how: Reading) -> str:
    kind = Path(path.stem).suffix if is_packed(path) else path.suffix
    if kind.lower() in _SEPARATORS:
        return _SEPARATORS[kind.lower()]
    bare = re.sub(r'"[^"]*"', "", header)
    found = max(",;\t|", key=bare.count)
    if bare.count(found):
        return found
    if len(bare.split()) > 1:
        raise InputError(
            f"{path.name}: the first line {shown(header)} has no comma, semicolon, tab or bar. "
            "If values are separated by single spaces, pass --separator space; if it is a title, "
            "delete it."
        )
    return next(sign for sign in ",;" if sign != how.decimal)  # one column: any will do


def _check_header(names: Sequence[str], header: str, path: Path) -> None:
    counting = [[str(i + first) for i in range(len(names))] for first in (0, 1)]
    if all(map(NUMBER.fullmatch, names)) and list(names) not in counting:
        raise InputError(
            f"{path.name}: the first line has only numbers ({shown(header)}), but it should name "
            "the columns. Add a line of names, or pass --no-header; columns are then called x0, "
            "x1, ... and --label takes a number, such as -1 for the last."
        )
