"""Read text tables: CSV, TSV, and these compressed by gzip."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._tables.batches import gather
from linkselect.cli._tables.column_kinds import (
    NUMBER,
    MixedColumnError,
    is_decimal_comma,
    what_is_odd,
)
from linkselect.cli._tables.features import from_columns, missing_marks
from linkselect.cli._tables.layout import (
    Layout,
    check_options,
    is_packed,
    look,
    open_stream,
    wrong_encoding,
)
from linkselect.cli._tables.limits import Budget
from linkselect.cli._tables.table import Reading, Roles, RowsOnly, Table, assign_roles
from linkselect.cli._tables.wide import WIDE, read_wide

if TYPE_CHECKING:
    import pyarrow as pa

# What a damaged or cut compressed file raises.
_BROKEN = (EOFError, OSError, zlib.error)


def read_delimited(path: Path, how: Reading, budget: Budget) -> Table:
    """Read a text table whose first line names the columns."""
    check_options(how)
    try:
        layout, start, line_length = look(path, how)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path.name} is damaged or cut off: {error}") from error
    if not is_packed(path):
        n_rows = path.stat().st_size / line_length
        budget.check(n_rows, 1 if isinstance(how, RowsOnly) else len(layout.names))
    open_values = partial(open_stream, path, start)
    if how.transpose:
        return _read_transposed(open_values, layout, how, budget)
    _check_label(open_values, layout, how, budget.source)
    return read_values(open_values, layout, how, budget)


def read_values(
    open_values: Callable[[], Any], layout: Layout, how: Reading, budget: Budget
) -> Table:
    """Read the values of a text table from the stream that `open_values` opens."""
    import pyarrow as pa

    roles = assign_roles(layout.names, how, budget.source, layout.numbered)
    if len(layout.names) >= WIDE:
        try:
            return read_wide(open_values, layout, roles, how, budget)
        except (csv.Error, pa.ArrowInvalid, UnicodeDecodeError, *_BROKEN) as error:
            raise _explain(open_values, layout, (), how, budget.source, error) from error
    try:
        # Nearly always every feature is a number, and is read as such at once.
        return _gather(open_values, layout, roles, how, budget)
    except pa.ArrowInvalid:
        pass
    except (UnicodeDecodeError, *_BROKEN) as error:
        raise _explain(open_values, layout, (), how, budget.source, error) from error
    try:
        text, used, notes = _text_columns(open_values, layout, roles, how, budget.source)
        told = replace(layout, notes=(*layout.notes, *notes))
        return _gather(open_values, told, roles, used, budget, text)
    except MixedColumnError as error:
        raise _explain(open_values, layout, (error.place,), used, budget.source, error) from error
    except (pa.ArrowInvalid, UnicodeDecodeError, *_BROKEN) as error:
        raise _explain(open_values, layout, (), how, budget.source, error) from error


def _gather(
    open_values: Callable[[], Any],
    layout: Layout,
    roles: Roles,
    how: Reading,
    budget: Budget,
    text: Collection[int] = (),
) -> Table:
    with open_values() as stream:
        batches = _batches(stream, layout, roles, how, text)
        return gather(batches, layout.names, roles, how, budget, layout.nulls, layout.notes)


def _text_columns(
    open_values: Callable[[], Any], layout: Layout, roles: Roles, how: Reading, source: str
) -> tuple[set[int], Reading, list[str]]:
    """Find the features that are not numbers in every row; a decimal comma is recognized."""
    found, odd = _not_numbers(open_values, layout, roles, how, source)
    if how.decimal == "." and odd and is_decimal_comma(odd):
        with_comma = replace(how, decimal=",")
        still, _ = _not_numbers(open_values, layout, roles, with_comma, source)
        if still < found:
            # Between commas only a value in quotes can hold one.
            which = "commas inside quotes" if layout.separator == "," else "commas"
            note = f"{which} are read as decimal signs, such as in {shown(min(odd))}."
            return still, with_comma, [note]
    return found, how, []


def _not_numbers(
    open_values: Callable[[], Any], layout: Layout, roles: Roles, how: Reading, source: str
) -> tuple[set[int], set[str]]:
    """Return the features with a value that is no number, and such values with a comma."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: set[int] = set()
    odd: set[str] = set()
    breaks = False
    with open_values() as stream:
        for batch in _batches(stream, layout, roles, how, roles.features, nulls=True):
            for place in roles.features:
                values = pc.utf8_trim_whitespace(batch.column(place))
                if how.decimal != ".":
                    values = pc.replace_substring(values, ".", "?")
                    values = pc.replace_substring(values, how.decimal, ".")
                try:
                    values.cast(pa.float64())
                except pa.ArrowInvalid:
                    found.add(place)
                    odd.update(_with_comma(values))
                    breaks |= bool(pc.any(pc.match_substring(values, "\n")).as_py())
    if breaks:
        _check_quotes(open_values, layout, how, source)
    return found, odd


def _check_quotes(
    open_values: Callable[[], Any], layout: Layout, how: Reading, source: str
) -> None:
    """Refuse a quote that never closes: it would take the rest of the file for one value."""
    line = layout.n_before
    with open_values() as stream, suppress(UnicodeDecodeError):
        lines = io.TextIOWrapper(stream, encoding=how.encoding, newline="")
        reader = csv.reader(lines, delimiter=layout.separator, quotechar=layout.quote, strict=True)
        try:
            for _ in reader:
                line = layout.n_before + reader.line_num
        except csv.Error as error:
            if "end of data" in str(error):
                raise InputError(
                    f"{source}, line {line + 1}: a quote opens here and never closes, so that the "
                    "rest of the file would be one value. Close it, or delete it."
                ) from error


def _with_comma(values: pa.Array) -> list[str]:
    """Return values that look like numbers with a comma."""
    import pyarrow.compute as pc

    return [one for one in pc.unique(values).to_pylist() if one and re.fullmatch(r"-?\d+,\d+", one)]


def _check_label(open_values: Callable[[], Any], layout: Layout, how: Reading, source: str) -> None:
    """Say so if the label names a row, and not a column."""
    if how.label is None or how.label in layout.names or layout.numbered:
        return
    with open_values() as stream, suppress(UnicodeDecodeError, *_BROKEN):
        lines = io.TextIOWrapper(stream, encoding=how.encoding, newline="")
        for place, line in enumerate(lines, layout.n_before + 1):
            if line.split(layout.separator, 1)[0].strip(f" {layout.quote}") == how.label:
                raise InputError(
                    f"{source} has no column {shown(how.label)}, but line {place} begins with it. "
                    "If rows are features and columns are samples, pass --transpose."
                )


def _read_transposed(
    open_values: Callable[[], Any], layout: Layout, how: Reading, budget: Budget
) -> Table:
    """Read a table whose lines are features: the first value of each is its name."""
    if layout.numbered:
        raise UsageError("--transpose needs names in the first line; leave --no-header out.")
    if how.label in layout.names[1:]:
        raise InputError(
            f"{budget.source}: {shown(how.label)} is the name of a column, so rows are samples "
            "already. Leave --transpose out."
        )
    columns: list[list[str]] = []
    with open_values() as stream:
        lines = io.TextIOWrapper(stream, encoding=how.encoding, newline="")
        reader = csv.reader(lines, delimiter=layout.separator, quotechar=layout.quote)
        try:
            for row in reader:
                if len(row) not in (0, len(layout.names)):
                    line = layout.n_before + reader.line_num
                    raise InputError(f"{budget.source}, line {line}: {_wrong_length(row, layout)}")
                columns += [[cell.strip() for cell in row]] if row else []
                budget.check(len(columns), len(layout.names))
        except UnicodeDecodeError as error:
            raise wrong_encoding(budget.source, error, how) from error
        except (csv.Error, *_BROKEN) as error:
            raise InputError(f"{budget.source} is damaged or cut off: {error}") from error
    if not columns:
        raise InputError(f"{budget.source} has {len(layout.names)} columns, but no rows.")
    names = [layout.names[0], *(column[0] for column in columns)]
    cells = [list(layout.names[1:]), *(column[1:] for column in columns)]
    return from_columns(names, cells, how, budget, layout.notes)


def _batches(
    stream: IO[bytes],
    layout: Layout,
    roles: Roles,
    how: Reading,
    text: Collection[int],
    nulls: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Read lines, features as numbers but for those in `text`."""
    import pyarrow as pa
    import pyarrow.csv

    features = set(roles.features) - set(text)
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
            null_values=missing_marks(how, layout.nulls),
            strings_can_be_null=nulls,
            decimal_point=how.decimal,
        ),
    )
    with reader:
        yield from reader


# -- what is wrong ---------------------------------------------------------------------------


def _explain(
    open_values: Callable[[], Any],
    layout: Layout,
    features: Collection[int],
    how: Reading,
    source: str,
    error: Exception,
) -> InputError:
    """Find the first line that cannot be read, and say what is wrong with it.

    Arrow says little about where, so this takes a second, slow look.
    """
    with open_values() as stream:
        lines = io.TextIOWrapper(
            stream, encoding=how.encoding, errors="surrogateescape", newline=""
        )
        reader = csv.reader(lines, delimiter=layout.separator, quotechar=layout.quote)
        return _explained(reader, layout, features, how, source, error)


def _explained(
    reader: Any,
    layout: Layout,
    features: Collection[int],
    how: Reading,
    source: str,
    error: Exception,
) -> InputError:
    try:
        for row in reader:
            line = layout.n_before + reader.line_num
            _check_decoded(layout.separator.join(row), f"{source}, line {line}", how)
            wrong = _wrong_row(row, layout, features, how) if row else None
            if wrong:
                return InputError(f"{source}, line {line}: {wrong}")
    except InputError as odd:
        return odd
    except _BROKEN as broken:
        return InputError(f"{source} is damaged or cut off: {broken}")
    except csv.Error as odd:
        return InputError(
            f"{source}, line {layout.n_before + reader.line_num}: {odd}. Is there a quote that "
            "never closes?"
        )
    if "Empty CSV" in str(error):
        return InputError(f"{source} has {len(layout.names)} columns, but no rows.")
    if isinstance(error, InputError):
        return error
    why = (str(error) or type(error).__name__).splitlines()[0]
    return InputError(f"{source} cannot be read: {why}")


def _check_decoded(text: str, where: str, how: Reading) -> None:
    """Refuse text with bytes that its encoding does not have."""
    if text.isascii():
        return
    try:
        text.encode("utf-8", "surrogateescape").decode(how.encoding) if _escaped(text) else None
    except UnicodeDecodeError as odd:
        raise wrong_encoding(where, odd, how) from None


def _escaped(text: str) -> bool:
    return any("\udc80" <= sign <= "\udcff" for sign in text)


def _wrong_length(row: list[str], layout: Layout) -> str:
    title = "If the first line is a title, delete it. " if len(layout.names) == 1 else ""
    return (
        f"{len(row)} values, but there are {len(layout.names)} columns. {title}Every line needs "
        f"one value for each column, with {shown(layout.separator)} between them; put quotes "
        "around a value that holds it."
    )


def _wrong_row(
    row: list[str], layout: Layout, features: Collection[int], how: Reading
) -> str | None:
    if len(row) != len(layout.names):
        return _wrong_length(row, layout)
    marks = missing_marks(how, layout.nulls)
    for place in features:
        value = row[place].strip()
        plain = value.replace(how.decimal, ".") if how.decimal != "." else value
        if value not in marks and not NUMBER.fullmatch(plain):
            return what_is_odd(layout.names[place], value, how.decimal, layout.separator)
    return None
