"""Detect the layout of a text table: column names, separator, and start of the values."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._tables.column_kinds import NUMBER
from linkselect.cli._tables.features import header_names
from linkselect.cli._tables.reading import Reading, TableFile

_LONGEST_HEADER = 64 << 20
# Maximum number of blank lines and comments before the header, and of lines in a quoted name.
_MOST_SKIPPED = 10_000
_MOST_IN_NAME = 1_000


@dataclass(frozen=True)
class Layout:
    """Layout of a text table.

    Parameters
    ----------
    names : tuple of str
        The column names.
    separator : str
        The separator between values.
    start : int
        The byte at which the values start.
    line_length : float
        The mean length of a line in bytes.
    quote : str
        The quote character around values that contain the separator.
    comment : str
        The prefix of comment lines; empty if there are no comments.
    n_before : int
        The number of lines before the values, for messages.
    numbered : bool
        Whether the file has no header, so that columns are named x0, x1, ...
    notes : tuple of str
        Notes on the header.
    """

    names: tuple[str, ...]
    separator: str
    start: int
    line_length: float
    quote: str = '"'
    comment: str = ""
    n_before: int = 0
    numbered: bool = False
    notes: tuple[str, ...] = ()


def _check_options(how: Reading) -> None:
    """Reject invalid values of --encoding and --decimal."""
    try:
        "x".encode(how.encoding)
    except (LookupError, ValueError):
        problem = f"--encoding {how.encoding!r} is not a known text encoding. Try latin-1."
        raise UsageError(problem) from None
    if codecs.lookup(how.encoding).name.startswith(("utf-16", "utf-32")):
        raise UsageError(
            f"--encoding {how.encoding} is detected automatically. Omit --encoding; if that fails, "
            "save the table as UTF-8."
        )
    if len(how.decimal) != 1 or how.decimal.isalnum() or how.decimal in '+-"\r\n':
        raise UsageError(
            f"--decimal {how.decimal!r} must be one punctuation mark, such as a comma."
        )


def open_stream(path: Path, start: int = 0) -> Any:
    """Open a text table at a byte offset, decompress it, and convert UTF-16 with a BOM to UTF-8."""
    file: Any = gzip.GzipFile(path) if is_packed(path) else path.open("rb")
    if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        with file:
            file.seek(0)
            try:
                file = io.BytesIO(file.read().decode("utf-16").encode())
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path.name} starts like UTF-16 text, but is not valid. Save it as UTF-8."
                ) from error
    file.seek(start)
    return file


def is_packed(path: Path) -> bool:
    """Return whether a table is compressed, judging by its file extension."""
    return path.suffix.lower() == ".gz"


def look(file: TableFile) -> Layout:
    """Detect the layout of a text table from its first lines."""
    _check_options(file.how)
    with open_stream(file.path) as stream:
        start, n_before, named = _first_line(stream, file)
        place = stream.tell()
        first = stream.readline(_LONGEST_HEADER)
        lines = first + stream.read(1 << 20)
    if b"\0" in start + first:
        raise InputError(
            f"{file.name}: the first lines contain null bytes, so this is not a text file. Save "
            "the table as CSV."
        )
    header = decoded(start, n_before - 1, file).strip("\ufeff\r\n")
    separator = named or _separator(header, file)
    cells = _cells(header, separator, file.name)
    notes: list[str] = []
    if file.how.no_header:
        place, n_before, lines = place - len(start), n_before - 1, start + lines
        names = tuple(f"x{i}" for i in range(len(cells)))
    else:
        values = _cells(decoded(first, n_before, file).strip("\r\n"), separator, file.name)
        if len(values) == len(cells) + 1 and values[-1]:
            cells = ["", *cells]
            notes.append(
                "The header has one name fewer than the other lines have values, as R writes it, "
                "so the first value of each line is read as the row name."
            )
        _check_header(cells, header, file.name)
        names, renamed = header_names(cells, file)
        notes += renamed
    return Layout(
        names,
        separator,
        place,
        max(1.0, len(lines) / max(1, lines.count(b"\n"))),
        n_before=n_before,
        numbered=file.how.no_header,
        notes=tuple(notes),
    )


def _first_line(stream: IO[bytes], file: TableFile) -> tuple[bytes, int, str | None]:
    """Read the first line that is neither blank nor a comment.

    The function returns the line, the number of lines read, and the separator if it is declared by
    a line such as `sep=;`, which Excel understands.
    """
    start, n_lines, separator = _skip_to_header(stream, file.name)
    if start.count(b'"') % 2:  # a quoted name may hold a line break
        start, n_lines = _to_closing_quote(start, n_lines, stream, file.name)
    if not start.strip():
        raise InputError(f"{file.path} is empty.")
    if b"\r" in re.sub(rb'"[^"]*"', b"", start).rstrip(b"\r\n"):
        raise InputError(
            f"{file.name}: lines end in CR alone, as on classic Mac OS. Save the file with LF or "
            "CRLF line endings."
        )
    return start, n_lines, None if file.how.separator else separator


def _skip_to_header(stream: IO[bytes], source: str) -> tuple[bytes, int, str | None]:
    """Return the header, its line number, and the separator if a line declares it."""
    separator = None
    n_bytes = 0
    for n_lines in range(1, _MOST_SKIPPED + 1):
        line = stream.readline(_LONGEST_HEADER)
        text = line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r\n")
        named = re.fullmatch(rb"sep=(.)\s*", line.removeprefix(codecs.BOM_UTF8))
        is_comment = text.startswith(b"#") and not re.search(rb"[,;\t|]", text)
        if not line or (text and not is_comment and not named):
            return line, n_lines, separator
        separator = named[1].decode("latin-1") if named else separator
        n_bytes += len(line)
        if n_bytes > _LONGEST_HEADER:
            break
    raise InputError(
        f"{source}: the first {n_lines:,} lines are blank or comments, and there is no header. "
        "Delete these lines, or check that the file is a table."
    )


def _to_closing_quote(
    start: bytes, n_lines: int, stream: IO[bytes], source: str
) -> tuple[bytes, int]:
    """Read the rest of a header in which a quoted name spans several lines."""
    parts, n_bytes = [start], len(start)
    is_open = True
    while is_open and len(parts) <= _MOST_IN_NAME and n_bytes < _LONGEST_HEADER:
        line = stream.readline(_LONGEST_HEADER)
        if not line:
            break
        parts.append(line)
        n_bytes += len(line)
        is_open ^= bool(line.count(b'"') % 2)
    if is_open:
        raise InputError(
            f"{source}, line {n_lines}: a quote in the header is never closed. Close or delete "
            "the quote."
        )
    return b"".join(parts), n_lines + len(parts) - 1


def _cells(line: str, separator: str, source: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=separator))]
    except csv.Error as error:
        raise InputError(
            f"{source}: the first line {shown(line)} cannot be split into names: {error}. "
            "Check --separator."
        ) from None


def decoded(block: bytes, n_before: int, file: TableFile) -> str:
    """Decode lines of a table; error messages state the line and the byte."""
    try:
        return block.decode(file.how.encoding)
    except UnicodeDecodeError as error:
        line = n_before + 1 + block.count(b"\n", 0, error.start)
        around = block[max(0, error.start - 12) : error.start + 12].decode("latin-1")
        raise InputError(
            f"{file.name}, line {line}: byte 0x{block[error.start]:02x} in {shown(around)} is not "
            f"valid {file.how.encoding}. Save the table as UTF-8, or pass its encoding, such as "
            "--encoding latin-1."
        ) from error


def _separator(header: str, file: TableFile) -> str:
    how = file.how
    if how.separator is not None:
        separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(how.separator, how.separator)
        if len(separator) != 1:
            raise UsageError(f"--separator {how.separator!r} must be one character, tab or space.")
    else:
        separator = _found_separator(header, file)
    if separator == how.decimal:
        raise UsageError(
            f"--decimal {how.decimal}: {file.name} uses the same character as separator. Omit "
            "--decimal, or pass --separator."
        )
    return separator


def _found_separator(header: str, file: TableFile) -> str:
    if file.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    bare = re.sub(r'"[^"]*"', "", header)
    found = max(",;\t|", key=bare.count)
    if bare.count(found):
        return found
    if len(bare.split()) > 1:
        raise InputError(
            f"{file.name}: the first line {shown(header)} has no comma, semicolon, tab or bar. "
            "If spaces separate the values, pass --separator space; if the line is a title, "
            "delete it."
        )
    return next(sign for sign in ",;" if sign != file.how.decimal)  # one column: any works


def _check_header(names: Sequence[str], header: str, source: str) -> None:
    counting = [[str(i + first) for i in range(len(names))] for first in (0, 1)]
    if all(map(NUMBER.fullmatch, names)) and list(names) not in counting:
        raise InputError(
            f"{source}: the first line has only numbers ({shown(header)}), but should contain the "
            "column names. Add a line of names; or pass --no-header, which names columns x0, x1, "
            "..., and pass a number to --label, such as -1 for the last column."
        )
