"""Read text tables: CSV, TSV, and these compressed by gzip.

Whole lines are split into one column of cells, row after row, and Arrow turns that column into
numbers: what a table costs depends on how many cells it has, but not on how many columns.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._tables.column_kinds import is_decimal_comma
from linkselect.cli._tables.features import Parts, assemble, from_columns, without_marks
from linkselect.cli._tables.layout import Layout, check_options, is_packed, look, wrong_encoding
from linkselect.cli._tables.reading import Reading, TableFile, missing_marks
from linkselect.cli._tables.table import Roles, Table, assign_roles

if TYPE_CHECKING:
    import pyarrow as pa

# What a damaged or cut compressed file raises.
_BROKEN = (EOFError, OSError, zlib.error)
# Bytes that are read at a time, cells that are made of lines with quotes at a time, and the bytes
# that a byte of a longer line takes while it is split.
_BLOCK = 4 << 20
_CELLS = 1 << 18
_PER_BYTE = 16
# Bytes of blank lines: compressed, a gigabyte of them is small.
_MOST_BLANK = 64 << 20
_COMMA = re.compile(r"-?\d+,\d+")
_MOST_COMMAS = 1_000


def read_delimited(file: TableFile) -> Table:
    """Read a text table whose first line names the columns."""
    check_options(file.how)
    try:
        layout = look(file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{file.name} is damaged or cut off: {error}") from error
    if not is_packed(file.path):
        n_rows = file.path.stat().st_size / layout.line_length
        file.check(n_rows, len(layout.names) if file.wanted == "all" else 1)
    if file.how.transpose:
        return _read_transposed(file, layout)
    _check_label(file, layout)
    return read_values(file, layout)


def read_values(file: TableFile, layout: Layout) -> Table:
    """Read the values of a text table; a decimal comma is recognized."""
    roles = assign_roles(layout.names, file, layout.numbered)
    how, notes = file.how, list(layout.notes)
    found = _read_numbers(file, layout, roles, how)
    commas = found.commas
    if how.decimal == "." and commas and is_decimal_comma(commas):
        with_comma = replace(how, decimal=",")
        other = _read_numbers(file, layout, roles, with_comma)
        if other.is_text.sum() < found.is_text.sum():
            found, how = other, with_comma
            # Between commas only a value in quotes can hold one.
            which = "commas inside quotes" if layout.separator == "," else "commas"
            notes.append(f"{which} are read as decimal signs, such as in {shown(min(commas))}.")
    features = np.array(roles.features, dtype=np.intp)
    marks = missing_marks(how, layout.nulls)
    parts = Parts(
        without_marks(found.numbers, how.missing),
        features[~found.is_text].tolist(),
        _read_texts(file, layout, features[found.is_text].tolist(), marks),
        found.labels,
        found.ids,
        marks,
        lambda row: f"line {found.lines[row]}",
        layout.separator,
    )
    return assemble(parts, layout.names, roles, replace(file, how=how), notes)


@dataclass
class _Found:
    """The features that are numbers in every row, and what was found beside them.

    `is_text` tells which features have a value that is no number; `commas` are such values with a
    comma.
    """

    numbers: FloatArray
    is_text: BoolArray
    commas: set[str]
    labels: list[str] | None
    ids: list[str] | None
    lines: IntArray


def _read_numbers(file: TableFile, layout: Layout, roles: Roles, how: Reading) -> _Found:
    marks = missing_marks(how, layout.nulls)
    is_text = np.zeros(len(roles.features), dtype=bool)
    commas: set[str] = set()
    blocks: list[FloatArray] = []
    others: dict[int, list[str]] = {i: [] for i in (roles.label, roles.ids) if i is not None}
    lines: list[IntArray] = []
    n_rows = 0
    for cells in _batches(file, layout):
        n_rows += len(cells.lines)
        file.check(n_rows, max(1, len(roles.features)))
        lines.append(cells.lines)
        for place, values in others.items():
            values += cells.columns([place]).to_pylist()
        block = np.full((len(cells.lines), len(roles.features)), np.nan)
        _fill(block, cells, roles.features, is_text, how.decimal, marks, commas)
        blocks.append(block)
    if not n_rows:
        raise InputError(f"{file.name} has {len(layout.names)} columns, but no rows.")
    numbers = np.concatenate(blocks)
    return _Found(
        numbers[:, ~is_text] if is_text.any() else numbers,
        is_text,
        commas,
        None if roles.label is None else others[roles.label],
        None if roles.ids is None else others[roles.ids],
        np.concatenate(lines),
    )


def _fill(
    block: FloatArray,
    cells: _Cells,
    features: Sequence[int],
    is_text: BoolArray,
    decimal: str,
    marks: Sequence[str],
    commas: set[str],
) -> None:
    """Put the numbers of some rows into a block, and mark features that have other values."""
    import pyarrow as pa

    numbers = np.flatnonzero(~is_text).tolist()
    with suppress(pa.ArrowInvalid):  # nearly always all are numbers
        block[:, numbers] = _as_numbers(cells, [features[i] for i in numbers], decimal, marks)
        return
    for i in numbers:
        try:
            block[:, [i]] = _as_numbers(cells, [features[i]], decimal, marks)
        except pa.ArrowInvalid:
            is_text[i] = True
            if len(commas) < _MOST_COMMAS:
                values = cells.columns([features[i]]).unique().to_pylist()
                commas.update(filter(_COMMA.fullmatch, values))


def _as_numbers(
    cells: _Cells, places: Sequence[int], decimal: str, marks: Sequence[str]
) -> FloatArray:
    """Read columns as numbers, NaN for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = cells.columns(places)
    values = pc.if_else(pc.is_in(values, pa.array(marks)), None, values)
    if decimal != ".":
        values = pc.replace_substring(values, ".", "?")
        values = pc.replace_substring(values, decimal, ".")
    numbers: FloatArray = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers.reshape(len(cells.lines), len(places))


def _read_texts(
    file: TableFile, layout: Layout, places: Sequence[int], marks: Sequence[str]
) -> dict[int, list[str | None]]:
    """Read columns as text, None for missing values."""
    texts: dict[int, list[str | None]] = {place: [] for place in places}
    for cells in _batches(file, layout) if places else ():
        for place, texts_there in texts.items():
            some = (one.strip() for one in cells.columns([place]).to_pylist())
            texts_there += (None if one in marks else one for one in some)
    return texts


def _check_label(file: TableFile, layout: Layout) -> None:
    """Say so if the label names a row, and not a column."""
    label, found = file.how.label, None
    if label is None or label in layout.names or layout.numbered:
        return
    with suppress(InputError):  # that the label is no column is said first
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
    """Read a table whose lines are features: the first value of each is its name."""
    if layout.numbered:
        raise UsageError("--transpose needs names in the first line; leave --no-header out.")
    if file.how.label in layout.names[1:]:
        raise InputError(
            f"{file.name}: {shown(file.how.label)} is the name of a column, so rows are samples "
            "already. Leave --transpose out."
        )
    n_columns = len(layout.names)
    rows: list[list[str]] = []
    for cells in _batches(file, layout):
        values = cells.values.to_pylist()
        rows += [values[at : at + n_columns] for at in range(0, len(values), n_columns)]
        file.check(len(rows), n_columns)
    if not rows:
        raise InputError(f"{file.name} has {n_columns} columns, but no rows.")
    names = [layout.names[0], *(row[0] for row in rows)]
    columns = [list(layout.names[1:]), *(row[1:] for row in rows)]
    return from_columns(names, columns, file, layout.notes)


# -- from lines to cells ---------------------------------------------------------------------


class _Cells(NamedTuple):
    """Some rows of a table: the line of each row, and the texts of all, row after row."""

    lines: IntArray
    values: pa.StringArray

    def columns(self, places: Sequence[int]) -> pa.StringArray:
        """Return the texts of some columns, row after row."""
        n_columns = len(self.values) // max(1, len(self.lines))
        if len(places) == n_columns:
            return self.values
        wanted = np.arange(len(self.lines))[:, None] * n_columns + np.asarray(places, np.intp)
        return self.values.take(wanted.ravel())


def _batches(file: TableFile, layout: Layout) -> Iterator[_Cells]:
    """Read a table, some lines at a time; an error names the line."""
    n_lines, n_blank = layout.n_before, 0
    try:
        with layout.opened() as stream:
            while block := _block(stream, file):
                text = _decoded(block, n_lines, file)
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
                        f"{file.name} holds more than {_MOST_BLANK >> 20} MB of blank lines. Is it "
                        "damaged?"
                    )
                if len(cells.lines):
                    yield cells
    except _BROKEN as error:
        raise InputError(f"{file.name} is damaged or cut off: {error}") from error


def _block(stream: io.BufferedIOBase, file: TableFile) -> bytes:
    """Read whole lines."""
    return stream.read(_BLOCK) + _line(stream, file)


def _lines(stream: io.BufferedIOBase, n_lines: int, file: TableFile) -> Iterator[str]:
    while line := _line(stream, file):
        yield _decoded(line, n_lines, file)
        n_lines += 1


def _line(stream: io.BufferedIOBase, file: TableFile) -> bytes:
    """Read to the end of a line, and refuse one that does not fit."""
    most = min(file.limit // _PER_BYTE, 1 << 30)
    line = stream.readline(most + 1)
    if len(line) > most:
        file.refuse("a line is longer than that")
    return line


def _decoded(block: bytes, n_lines: int, file: TableFile) -> str:
    try:
        return block.decode(file.how.encoding)
    except UnicodeDecodeError as error:
        line = n_lines + 1 + block.count(b"\n", 0, error.start)
        raise wrong_encoding(f"{file.name}, line {line}", error, file.how) from error


def _split(block: bytes, n_lines: int, file: TableFile, layout: Layout) -> _Cells:
    """Split lines without quotes at every separator; blank lines hold no row."""
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
    # A cell reaches to its separator, which is cut off with the spaces.
    places = np.append(np.int32(0), ends + 1).astype(np.int32)
    values = pa.StringArray.from_buffers(len(ends), pa.py_buffer(places), pa.py_buffer(block))
    if blank.any():
        values = values.filter(pa.array(np.repeat(~blank, n_cells)))
    lines = n_lines + 1 + np.flatnonzero(~blank)
    return _Cells(lines, _trimmed(values, layout.separator))


def _by_csv(
    lines: Iterator[str], n_lines: int, file: TableFile, layout: Layout
) -> Iterator[_Cells]:
    """Split lines with quotes, in which a value may hold separators and line ends."""
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
        if next(lines, None) is None:
            raise InputError(
                f"{file.name}, line {last + 1}: a quote opens here and never closes, so that the "
                "rest of the file would be one value. Close it, or delete it."
            ) from error
        raise InputError(
            f"{file.name}, line {n_lines + reader.line_num}: {error}. Is there a quote that never "
            "closes?"
        ) from error
    if values:
        yield _Cells(np.array(places), _trimmed(pa.array(values, pa.string())))


def _trimmed(values: pa.StringArray, separator: str = "") -> pa.StringArray:
    import pyarrow.compute as pc

    return pc.ascii_trim(values, f" \t\r\n{separator}")


def _wrong_length(n_values: int, line: int, file: TableFile, layout: Layout) -> InputError:
    title = "If the first line is a title, delete it. " if len(layout.names) == 1 else ""
    return InputError(
        f"{file.name}, line {line}: {n_values} values, but there are {len(layout.names)} columns. "
        f"{title}Every line needs one value for each column, with {shown(layout.separator)} "
        "between them; put quotes around a value that holds it."
    )
