"""Read text tables: CSV, TSV, and these compressed by gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from linkselect.cli.errors import InputError, UsageError, shown
from linkselect.cli.tables.batches import gather, way_out
from linkselect.cli.tables.limits import Budget
from linkselect.cli.tables.table import (
    MISSING,
    Reading,
    Roles,
    RowsOnly,
    Table,
    assign_roles,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Layout", "read_delimited", "read_values"]

_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
# A block holds whole lines; with small ones the columns' overhead is felt.
_BLOCK = 4 << 20
_LONGEST_HEADER = 64 << 20
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """How the values of a text table are laid out.

    Parameters
    ----------
    names : tuple of str
        The columns.
    separator, quote : str
        What stands between values, and around values that hold it.
    block : int
        Bytes to read at a time: several lines, whatever their length.
    n_before : int
        Lines before those of this table, for messages.
    numbered : bool
        Whether the names are only numbers that we gave.
    nulls : tuple of str
        What stands for a missing number.
    null_labels : bool
        Whether the same stands for a missing label. Otherwise only an empty cell does.
    """

    names: tuple[str, ...]
    separator: str
    block: int = _BLOCK
    quote: str = '"'
    n_before: int = 0
    numbered: bool = False
    nulls: tuple[str, ...] = MISSING
    null_labels: bool = False


def read_delimited(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a text table whose first line names the columns."""
    _check_options(how)
    try:
        layout, start, line_length = _look(path, how)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path.name} is damaged or cut off: {error}") from error
    if path.suffix != ".gz":
        n_rows = path.stat().st_size / line_length
        budget.check(n_rows, 1 if isinstance(how, RowsOnly) else len(layout.names))
    return read_values(partial(_open, path, start), layout, how, budget)


def _check_options(how: Reading) -> None:
    try:
        "x".encode(how.encoding)
    except (LookupError, ValueError):
        known = "is not known as an encoding of text. Try latin-1"
        raise UsageError(f"--encoding {how.encoding!r} {known}.") from None
    if codecs.lookup(how.encoding).name.startswith(("utf-16", "utf-32")):
        raise UsageError(f"--encoding {how.encoding} is not read. Save the table as UTF-8.")
    if len(how.decimal) != 1 or how.decimal.isalnum() or how.decimal in '+-"\r\n':
        raise UsageError(f"--decimal {how.decimal!r} must be one sign, such as a comma.")


def read_values(
    open_values: Callable[[], Any], layout: Layout, how: Reading, budget: Budget
) -> Table:
    """Read the values of a text table from the stream that `open_values` opens."""
    import pyarrow as pa

    roles = assign_roles(layout.names, how, budget.source, layout.numbered)
    try:
        with open_values() as stream:
            batches = _batches(stream, layout, roles, how)
            return gather(batches, layout.names, roles, how, budget)
    except (pa.ArrowInvalid, UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        # Arrow says little about where; a second, slow look finds line, column and value.
        with open_values() as stream:
            raise _explain(stream, layout, roles, how, budget.source, error) from error


def _open(path: Path, start: int = 0) -> Any:
    file: Any = gzip.GzipFile(path) if path.suffix == ".gz" else path.open("rb")
    file.seek(start)
    return file


def _batches(
    stream: IO[bytes], layout: Layout, roles: Roles, how: Reading
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.csv

    features = set(roles.features)
    types = {
        name: pa.float64() if place in features else pa.string()
        for place, name in enumerate(layout.names)
    }
    reader = pyarrow.csv.open_csv(
        stream,
        read_options=pyarrow.csv.ReadOptions(
            block_size=layout.block,
            column_names=layout.names,
            encoding=how.encoding,
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=layout.separator,
            quote_char=layout.quote,
            newlines_in_values=True,
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types,
            null_values=layout.nulls,
            strings_can_be_null=layout.null_labels,
            decimal_point=how.decimal,
        ),
    )
    with reader:
        yield from reader


# -- what the first lines tell ---------------------------------------------------------------


def _look(path: Path, how: Reading) -> tuple[Layout, int, float]:
    """Find the layout, where values start, and the mean length of a line."""
    with _open(path) as file:
        start, n_before = _first_line(file, path)
        place = 0 if how.no_header else file.tell()
        lines = (start if how.no_header else b"") + file.read(1 << 20)
    header = _decode(start, path, how).strip("\ufeff\r\n")
    separator = _separator(header, path, how)
    cells = _cells(header, separator, path)
    names = tuple(f"x{i}" for i in range(len(cells))) if how.no_header else tuple(cells)
    if not how.no_header:
        _check_header(names, header, path)
    line = max(1.0, len(lines) / max(1, lines.count(b"\n")))
    block = max(_BLOCK, 4 * int(line), 2 * len(start))
    n_before = 0 if how.no_header else n_before
    layout = Layout(names, separator, block, n_before=n_before, numbered=how.no_header)
    return layout, place, line


def _first_line(file: IO[bytes], path: Path) -> tuple[bytes, int]:
    """Read the first line that is not blank; return it and the number of lines up to there."""
    start = file.readline(_LONGEST_HEADER)
    n_lines = 1
    while start and not start.strip(b"\xef\xbb\xbf \t\r\n"):
        start = file.readline(_LONGEST_HEADER)
        n_lines += 1
    # A quoted name may hold a line break.
    while start.count(b'"') % 2 and len(start) < _LONGEST_HEADER:
        more = file.readline(_LONGEST_HEADER)
        start += more
        n_lines += 1
        if not more:
            break
    if not start.strip():
        raise InputError(f"{path} is empty.")
    if b"\r" in re.sub(rb'"[^"]*"', b"", start).rstrip(b"\r\n"):
        raise InputError(
            f"{path.name}: its lines end in CR alone, as on old Macs. Save it with line ends of "
            "today (LF or CRLF)."
        )
    return start, n_lines


def _cells(header: str, separator: str, path: Path) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=separator))]
    except csv.Error as error:
        raise InputError(
            f"{path.name}: the first line {shown(header)} cannot be split into names: {error}. "
            "Is the separator right (--separator)?"
        ) from None


def _decode(line: bytes, path: Path, how: Reading) -> str:
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path} is UTF-16 text. Save it as UTF-8.")
    if b"\0" in line:
        raise InputError(f"{path} is not a text table: its first line holds zero bytes.")
    try:
        return line.decode(how.encoding)
    except UnicodeDecodeError as error:
        raise _wrong_encoding(path.name, error, how) from None


def _wrong_encoding(source: str, error: UnicodeDecodeError, how: Reading) -> InputError:
    odd = error.object[error.start]
    return InputError(
        f"{source} is not {how.encoding} text: it has the byte 0x{odd:02x}. Save it as UTF-8, or "
        "say how it is encoded, such as --encoding latin-1."
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
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if kind.lower() in _SEPARATORS:
        return _SEPARATORS[kind.lower()]
    bare = re.sub(r'"[^"]*"', "", header)
    found = max(",;\t|", key=bare.count)
    if bare.count(found):
        return found
    if len(bare.split()) > 1:
        raise InputError(
            f"{path.name}: the first line {shown(header)} has no comma, semicolon, tab or bar. "
            "If values are separated by single spaces, pass --separator space."
        )
    return next(sign for sign in ",;" if sign != how.decimal)  # one column: any will do


def _check_header(names: Sequence[str], header: str, path: Path) -> None:
    counting = [[str(i + first) for i in range(len(names))] for first in (0, 1)]
    if all(map(_NUMBER.fullmatch, names)) and list(names) not in counting:
        raise InputError(
            f"{path.name}: the first line has only numbers ({shown(header)}), but it should name "
            "the columns. Add a line of names, or pass --no-header; columns are then called x0, "
            "x1, ... and --label takes a number, such as -1 for the last."
        )


# -- what is wrong ---------------------------------------------------------------------------


def _explain(
    stream: IO[bytes],
    layout: Layout,
    roles: Roles,
    how: Reading,
    source: str,
    error: Exception,
) -> InputError:
    """Find the first line that cannot be read, and say what is wrong with it."""
    lines = io.TextIOWrapper(stream, encoding=how.encoding, newline="")
    reader = csv.reader(lines, delimiter=layout.separator, quotechar=layout.quote)
    try:
        for row in reader:
            wrong = _wrong_row(row, layout, roles, how) if row else None
            if wrong:
                line = layout.n_before + reader.line_num
                return InputError(f"{source}, line {line}: {wrong}")
    except UnicodeDecodeError as odd:
        return _wrong_encoding(source, odd, how)
    except (EOFError, OSError, zlib.error) as broken:
        return InputError(f"{source} is damaged or cut off: {broken}")
    except csv.Error as odd:
        return InputError(
            f"{source}, line {layout.n_before + reader.line_num}: {odd}. Is there a quote that "
            "never closes?"
        )
    finally:
        lines.close()
    if "Empty CSV" in str(error):
        return InputError(f"{source} has {len(layout.names)} columns, but no rows.")
    return InputError(f"{source} cannot be read: {str(error).splitlines()[0]}")


def _wrong_row(row: list[str], layout: Layout, roles: Roles, how: Reading) -> str | None:
    if len(row) != len(layout.names):
        return (
            f"{len(row)} values, but there are {len(layout.names)} columns. Every line needs one "
            f"value for each column, with {shown(layout.separator)} between them."
        )
    for place in roles.features:
        value = row[place].strip()
        plain = value.replace(how.decimal, ".") if how.decimal != "." else value
        if value not in MISSING and not _NUMBER.fullmatch(plain):
            name = layout.names[place]
            hint = _about_comma(value, layout, how) or way_out(name)
            return f"column {shown(name)} has the value {shown(value)}, not a number. {hint}"
    return None


def _about_comma(value: str, layout: Layout, how: Reading) -> str | None:
    grouped = re.fullmatch(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", value)
    decimal = re.fullmatch(r"-?\d+,\d+", value) and "," not in (how.decimal, layout.separator)
    hints = [
        "Write numbers without a sign between thousands." if grouped else "",
        "Is the comma a decimal sign? Pass --decimal , then." if decimal else "",
    ]
    return " ".join(filter(None, hints)) or None
