"""Read text tables in CSV or TSV format, which may be compressed with gzip.

Lines are split into one long column of cells, row by row, which Arrow converts to numbers. The
run time depends on the number of cells, but not on the number of columns.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import many
from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._tables.column_kinds import COMMA, GROUPED
from linkselect.cli._tables.features import Parts, assemble, from_transposed
from linkselect.cli._tables.layout import Layout, decoded, is_packed, look, open_stream
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import Roles, Table, assign_roles, without_marks

if TYPE_CHECKING:
    import pyarrow as pa

# Errors that a damaged or truncated compressed file raises.
_BROKEN = (EOFError, OSError, zlib.error)
# Bytes read at a time, cells made at a time from lines with quotes, and the memory in bytes that
# each byte of a longer line takes while the line is split.
_BLOCK = 4 << 20
_CELLS = 1 << 18
_PER_BYTE = 16
# Maximum size of blank lines in bytes: a gigabyte of them compresses to a small file.
_MOST_BLANK = 64 << 20
_MOST_COMMAS = 1_000
_Found = TypeVar("_Found", Parts, "_Rows")


def read_delimited(file: TableFile) -> Table:
    """Read a text table whose first line contains the column names."""
    try:
        layout = look(file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{file.name} is damaged or truncated: {error}") from error
    if not is_packed(file.path):
        n_rows = file.path.stat().st_size / layout.line_length
        file.check(n_rows, len(layout.names) if file.wanted == "all" else 1)
    if file.how.transpose:
        return _read_transposed(file, layout)
    if file.wanted != "metadata":
        _check_label(file, layout)
    return read_values(file, layout)


def read_values(file: TableFile, layout: Layout) -> Table:
    """Read the values of a text table, and detect a decimal comma."""
    roles = assign_roles(layout.names, file, layout.numbered)
    file, parts, notes = _by_decimal_sign(
        lambda how: _read_numbers(how, layout, roles), file, layout
    )
    marks = file.missing
    for cells in _batches(file, layout) if parts.texts else ():
        for place, texts in parts.texts.items():
            texts += _without_missing(cells.columns([place]), marks)
    return assemble(parts, layout.names, file, notes)


def _by_decimal_sign(
    read: Callable[[TableFile], tuple[_Found, set[str]]], file: TableFile, layout: Layout
) -> tuple[TableFile, _Found, list[str]]:
    """Read numbers, using a decimal comma if this makes more columns numeric."""
    notes = list(layout.notes)
    found, commas = read(file)
    # A comma as in 1,5 cannot be a thousands separator.
    if file.how.decimal == "." and not all(map(GROUPED.fullmatch, commas)):
        with_comma = replace(file, how=replace(file.how, decimal=","))
        other, _ = read(with_comma)
        if len(other.texts) < len(found.texts):
            file, found = with_comma, other
            # If commas separate the columns, only a quoted value can contain one.
            which = "Commas inside quotes" if layout.separator == "," else "Commas"
            notes.append(f"{which} are read as decimal separators, as in {shown(min(commas))}.")
    return file, found, notes


def _without_missing(values: pa.StringArray, marks: Sequence[str]) -> Iterator[str | None]:
    return (None if one in marks else one for one in map(str.strip, values.to_pylist()))


def _read_numbers(file: TableFile, layout: Layout, roles: Roles) -> tuple[Parts, set[str]]:
    """Read the features that are numeric in every row; leave the lists of the others empty.

    The function also returns values with a comma that cannot be read as numbers.
    """
    features = np.array(roles.features, dtype=np.intp)
    is_text = np.zeros(len(features), dtype=bool)
    commas: set[str] = set()
    blocks: list[FloatArray] = []
    others: dict[str, list[str]] = {role: [] for role in roles.others}
    lines: list[IntArray] = []
    n_rows = 0
    for cells in _batches(file, layout):
        lines.append(cells.lines)
        n_rows += len(cells.lines)
        file.check(n_rows, max(1, len(features)))
        for role, place in roles.others.items():
            others[role] += cells.columns([place]).to_pylist()
        block = np.full((len(cells.lines), len(features)), np.nan)
        commas |= _fill(block, cells, features, is_text, file)
        blocks.append(block)
    if not n_rows:
        raise InputError(f"{file.name} has {many(len(layout.names), 'column')}, but no rows.")
    numbers, line_of = np.concatenate(blocks), np.concatenate(lines)
    parts = Parts(
        without_marks(numbers[:, ~is_text] if is_text.any() else numbers, file.how.missing),
        features[~is_text].tolist(),
        {place: [] for place in features[is_text].tolist()},
        others,
        lambda row: f"line {line_of[row]}",
        layout.separator,
    )
    return parts, commas


def _fill(
    block: FloatArray, cells: _Cells, features: IntArray, is_text: BoolArray, file: TableFile
) -> set[str]:
    """Fill a block with the numbers of some rows, and mark features with other values as text.

    The function returns some of the non-numeric values that contain a comma.
    """
    import pyarrow as pa

    numbers, commas = np.flatnonzero(~is_text), set[str]()
    with suppress(pa.ArrowInvalid):  # usually all features are numeric
        block[:, numbers] = _as_numbers(cells, features[numbers], file)
        return commas
    for i in numbers:
        try:
            block[:, [i]] = _as_numbers(cells, features[[i]], file)
        except pa.ArrowInvalid:
            is_text[i] = True
            if len(commas) < _MOST_COMMAS:
                values = cells.columns(features[[i]]).unique().to_pylist()
                commas.update(filter(COMMA.fullmatch, values))
    return commas


def _as_numbers(cells: _Cells, places: IntArray, file: TableFile) -> FloatArray:
    """Read columns as numbers, with NaN for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = cells.columns(places)
    values = pc.if_else(pc.is_in(values, pa.array(file.missing)), None, values)
    if file.how.decimal != ".":
        values = pc.replace_substring(values, ".", "?")
        values = pc.replace_substring(values, file.how.decimal, ".")
    numbers: FloatArray = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers.reshape(len(cells.lines), len(places))


def _check_label(file: TableFile, layout: Layout) -> None:
    """Raise an error with a hint if the label names a row instead of a column."""
    label, found = file.how.label, None
    elsewhere = () if file.metadata is None else file.metadata.columns
    if label is None or label in (*layout.names, *elsewhere) or layout.numbered:
        return
    with suppress(InputError):  # an unknown label is the more useful error
        for cells in _batches(file, layout):
            firsts = cells.columns([0]).to_pylist()
            if label in firsts:
                found = cells.lines[firsts.index(label)]
                break
    if found is not None:
        raise InputError(
            f"{file.name} has no column {shown(label)}, but line {found} begins with it. "
            "If rows are features and columns are samples, pass --transpose."
        )


def _read_transposed(file: TableFile, layout: Layout) -> Table:
    """Read a table whose lines are features; each line starts with the name of its feature."""
    if layout.numbered:
        raise UsageError("--transpose needs names in the first line. Omit --no-header.")
    if file.how.label in layout.names[1:]:
        raise InputError(
            f"{file.name}: {shown(file.how.label)} is a column, so the rows are already samples. "
            "Omit --transpose."
        )
    if len(layout.names) == 1:
        raise InputError(f"{file.name} has only one column, the names, so there are no samples.")
    file, rows, notes = _by_decimal_sign(lambda how: _read_rows(how, layout), file, layout)
    before, marks = 0, file.missing
    for cells in _batches(file, layout) if rows.texts else ():
        here, samples = range(before, before + len(cells.lines)), cells.turned()
        for row in rows.texts.keys() & set(here):
            rows.texts[row] += _without_missing(samples.columns([row - before]), marks)
        before = here.stop
    names, ids = [layout.names[0], *rows.names], layout.names[1:]
    return from_transposed(names, ids, rows.numbers, rows.texts, rows.asked, file, notes)


class _Rows(NamedTuple):
    """The lines of a transposed table.

    For each line, `names` has an entry and `numbers` has a column. `texts` maps the position of
    each line of text to an empty list, and `asked` maps the position of each line named in an
    option to its texts.
    """

    names: list[str]
    numbers: FloatArray
    texts: dict[int, list[str | None]]
    asked: dict[int, list[str]]


def _read_rows(file: TableFile, layout: Layout) -> tuple[_Rows, set[str]]:
    """Read a transposed table; also return non-numeric values that contain a comma."""
    n_samples, wanted = len(layout.names) - 1, {name for name, _ in file.named.values()}
    rows = _Rows([], np.empty((n_samples, 0)), {}, {})
    blocks: list[FloatArray] = []
    commas: set[str] = set()
    for cells in _batches(file, layout):
        names, samples, before = cells.columns([0]).to_pylist(), cells.turned(), len(rows.names)
        block, is_text = np.full((n_samples, len(names)), np.nan), np.zeros(len(names), dtype=bool)
        if file.wanted == "all":
            commas |= _fill(block, samples, np.arange(len(names)), is_text, file)
        blocks.append(block)
        rows.names.extend(names)
        rows.texts.update((before + i, []) for i in np.flatnonzero(is_text).tolist())
        for i, name in enumerate(names):
            if name in wanted:
                rows.asked[before + i] = samples.columns([i]).to_pylist()
        file.check(len(rows.names), n_samples)
    if not rows.names:
        raise InputError(f"{file.name} has {many(len(layout.names), 'column')}, but no rows.")
    return rows._replace(numbers=np.hstack(blocks)), commas


# -- from lines to cells ---------------------------------------------------------------------


class _Cells(NamedTuple):
    """Some rows of a table: the line number of each row, and the text of all cells, row by row."""

    lines: IntArray
    values: pa.StringArray

    def columns(self, places: Sequence[int] | IntArray) -> pa.StringArray:
        """Return the texts of some columns, row by row."""
        n_columns = len(self.values) // max(1, len(self.lines))
        if len(places) == n_columns:
            return self.values
        wanted = np.arange(len(self.lines))[:, None] * n_columns + np.asarray(places, np.intp)
        return self.values.take(wanted.ravel())

    def turned(self) -> _Cells:
        """Return the transposed cells without the first column."""
        places = np.arange(len(self.values)).reshape(len(self.lines), -1)[:, 1:].T
        return _Cells(np.arange(len(places)), self.values.take(places.ravel()))


def _batches(file: TableFile, layout: Layout) -> Iterator[_Cells]:
    """Read a table in batches of lines; error messages state the line."""
    n_lines, n_blank = layout.n_before, 0
    try:
        with open_stream(file.path, layout.start) as stream:
            while block := stream.read(_BLOCK) + _line(stream, file):  # whole lines
                text = decoded(block, n_lines, file)
                if layout.comment:
                    text = re.sub(f"(?m)^{layout.comment}.*", "", text)
                if layout.quote in text or not layout.separator.isascii():
                    rest = _lines(stream, n_lines + text.count("\n"), file)
                    lines = chain(io.StringIO(text, newline=""), rest)
                    yield from _by_csv(lines, n_lines, file, layout)
                    return
                cells = _split(text.encode(), n_lines, file, layout)
                n_lines += text.count("\n")
                n_blank += 0 if len(cells.lines) else len(block)
                if n_blank > _MOST_BLANK:
                    raise InputError(
                        f"{file.name} has more than {_MOST_BLANK >> 20} MB of blank lines. Is it "
                        "damaged?"
                    )
                if len(cells.lines):
                    yield cells
    except _BROKEN as error:
        raise InputError(f"{file.name} is damaged or truncated: {error}") from error


def _lines(stream: io.BufferedIOBase, n_lines: int, file: TableFile) -> Iterator[str]:
    while line := _line(stream, file):
        yield decoded(line, n_lines, file)
        n_lines += 1


def _line(stream: io.BufferedIOBase, file: TableFile) -> bytes:
    """Read to the end of a line, and reject a line that does not fit in memory."""
    most = min(file.limit // _PER_BYTE, 1 << 30)
    line = stream.readline(most + 1)
    if len(line) > most:
        file.refuse("one of its lines needs more")
    return line


def _split(block: bytes, n_lines: int, file: TableFile, layout: Layout) -> _Cells:
    """Split lines without quotes at every separator, and skip blank lines."""
    import pyarrow as pa

    block = block if block.endswith(b"\n") else block + b"\n"
    codes = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero((codes == ord(layout.separator)) | (codes == ord("\n")))
    line_ends = np.flatnonzero(codes[ends] == ord("\n"))
    n_cells = np.diff(line_ends, prepend=-1)
    n_bytes = np.diff(ends[line_ends], prepend=-1) - 1
    blank = (n_bytes == 0) | ((n_bytes == 1) & (codes[ends[line_ends] - 1] == ord("\r")))
    wrong = np.flatnonzero(~blank & (n_cells != len(layout.names)))
    if len(wrong):
        raise _wrong_length(int(n_cells[wrong[0]]), n_lines + 1 + int(wrong[0]), file, layout)
    # Each cell includes its separator, which is trimmed along with the spaces.
    places = np.append(np.int32(0), ends + 1).astype(np.int32)
    values = pa.StringArray.from_buffers(len(ends), pa.py_buffer(places), pa.py_buffer(block))
    if blank.any():
        values = values.filter(pa.array(np.repeat(~blank, n_cells)))
    lines = n_lines + 1 + np.flatnonzero(~blank)
    return _Cells(lines, _trimmed(values, layout.separator))


def _by_csv(
    lines: Iterator[str], n_lines: int, file: TableFile, layout: Layout
) -> Iterator[_Cells]:
    """Split lines in which quoted values may contain separators and line breaks."""
    import pyarrow as pa

    if layout.comment:
        lines = ("\n" if line.startswith(layout.comment) else line for line in lines)
    reader = csv.reader(lines, delimiter=layout.separator, quotechar=layout.quote, strict=True)
    places: list[int] = []
    values: list[str] = []
    last = n_lines
    try:
        for row in reader:
            last = n_lines + reader.line_num
            if row and len(row) != len(layout.names):
                raise _wrong_length(len(row), last, file, layout)
            if row:
                places.append(last)
                values += row
            if len(values) >= _CELLS:
                yield _Cells(np.array(places), _trimmed(pa.array(values, pa.string())))
                places, values = [], []
    except csv.Error as error:
        unclosed = "a quote opens here and is never closed"
        why = unclosed if next(lines, None) is None else str(error)
        where = f"{file.name}, line {last + 1}"
        raise InputError(f"{where}: {why}. Close or delete the quote.") from error
    if values:
        yield _Cells(np.array(places), _trimmed(pa.array(values, pa.string())))


def _trimmed(values: pa.StringArray, separator: str = "") -> pa.StringArray:
    import pyarrow.compute as pc

    return pc.ascii_trim(values, f" \t\r\n{separator}")


def _wrong_length(n_values: int, line: int, file: TableFile, layout: Layout) -> InputError:
    title = "If the first line is a title, delete it. " if len(layout.names) == 1 else ""
    return InputError(
        f"{file.name}, line {line} has {many(n_values, 'value')}, but the table has "
        f"{many(len(layout.names), 'column')}. {title}Every line needs one value for each column, "
        f"separated by {shown(layout.separator)}; quote values that contain this separator."
    )
