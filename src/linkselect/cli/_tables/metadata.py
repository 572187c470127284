"""Join a second table with one row for each sample, matched by sample ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import first_few, many
from linkselect.cli._errors import InputError, UsageError, nearest, shown
from linkselect.cli._tables.label_column import describe_rows
from linkselect.cli._tables.reading import Reading, TableFile
from linkselect.cli._tables.table import Table, make_ids

# Options that apply to the main table only.
_OF_TABLE: dict[str, Any] = {"metadata": None, "transpose": False, "no_header": False}
_OF_TABLE |= {"drop": (), "separator": None, "array": None}
_MOST_NAMED = 3
_PLACES = {"label": "labels", "group": "groups", "batch": "batches"}


@dataclass(frozen=True)
class Metadata:
    """Metadata of samples, as text.

    Parameters
    ----------
    file : TableFile
        The file.
    columns : tuple of str
        The names of all columns of the file.
    ids : tuple of str
        The sample id of each row.
    values : dict of str to array
        The columns of the file that are named in options, keyed by their role.
    notes : tuple of str
        Notes on how the file was read.
    """

    file: TableFile
    columns: tuple[str, ...]
    ids: tuple[str, ...]
    values: dict[str, NDArray[Any]]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, file: TableFile) -> Metadata:
        """Check a metadata file that was read as a table."""
        if table.ids is None:
            raise InputError(
                f"{file.name} has no id column to join it by. Save it as CSV with an id column."
            )
        some = {role: getattr(table, place) for role, place in _PLACES.items()}
        rows = [row for row, sample in enumerate(table.ids) if sample]
        ids = make_ids((table.ids[row] for row in rows), file.how.id_column, file.name) or ()
        values = {role: of[rows] for role, of in some.items() if of is not None}
        notes = [f"{file.name}: {note}" for note in table.notes]
        n_empty = len(table.ids) - len(ids)
        if n_empty:
            notes.append(f"{file.name}: Skipped {many(n_empty, 'row')} without an id.")
        return cls(file, table.left_out, ids, values, tuple(notes))

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row number of each sample."""
        return {sample: row for row, sample in enumerate(self.ids)}

    def why_no_column(self, name: str, option: str, file: TableFile, names: Sequence[str]) -> str:
        """Return the message for a column that is in neither file, or for a missing id column."""
        if option != "--id-column":
            hint = nearest(name, [*self.columns, *names])
            which = f"{file.name} nor {self.file.name}"
            return f"Neither {which} has a column {shown(name)} ({option}). {hint}"
        samples = [one for one in names if one in self.row_of]
        hint = f"{nearest(name, names)} The id column must have the same name in both files."
        if samples:
            listed = _first(samples, 2)
            hint = f"Its columns are samples of {self.file.name} ({listed}): pass --transpose."
        where = f"{file.name} has no column {shown(name)} ({option})"
        return f"{where}, by which {self.file.name} is joined. {hint}"

    def joined(self, table: Table, file: TableFile) -> Table:
        """Return the table with the labels, groups and batches of the metadata."""
        if table.ids is None:
            raise InputError(
                f"{file.name} has no sample ids, so {self.file.name} cannot be joined to it."
            )
        rows = np.array([self.row_of.get(sample, -1) for sample in table.ids], dtype=np.intp)
        if (rows < 0).all():
            raise InputError(self._why_nothing_in_common(table, file))
        known: dict[str, Any] = {}
        notes = [*table.notes, *self.notes, *self._about_join(table, rows, file)]
        for role, place in _PLACES.items():
            source = self.file if role in self.values else file
            plain = replace(source, how=replace(file.how, metadata=None), wanted="rows")
            described, more = describe_rows({role: self._column(role, table, rows, file)}, plain)
            known[place] = described[place]
            notes += more
        return replace(table, **known, notes=tuple(notes))

    def _column(
        self, role: str, table: Table, rows: NDArray[np.intp], file: TableFile
    ) -> NDArray[Any] | None:
        """Return the value of a role, such as the label, for each row, combined from both files."""
        here: NDArray[Any] | None = getattr(table, _PLACES[role])
        if role not in self.values:
            return here
        assert table.ids is not None
        there = self.values[role][rows]
        there[rows < 0] = None
        if here is None:
            return there
        marks = {"", None, *file.missing}
        plain = [[None if one in marks else one for one in some] for some in (here, there)]
        for row, (one, other) in enumerate(zip(*plain, strict=True)):
            if one is not None and other is not None and one != other:
                name, option = file.named[role]
                where = f"sample {shown(table.ids[row])}: {shown(one)} and {shown(other)}"
                raise InputError(
                    f"{file.name} and {self.file.name} both have a column {shown(name)} "
                    f"({option}), but differ for {where}. Rename or delete one of the columns."
                )
        # A value that is missing in one file may be in the other.
        return np.where([one is None for one in plain[0]], there, here)

    def _why_nothing_in_common(self, table: Table, file: TableFile) -> str:
        assert table.ids is not None
        one, other = shown(table.ids[0]), shown(next(iter(self.ids), ""))
        turned = self.row_of.keys() & set(table.names)
        hint = "Check that --id-column refers to the right column."
        if turned and file.how.transpose:
            hint = "The rows are already samples: omit --transpose."
        elif turned:
            hint = "The columns of the table are the samples: pass --transpose."
        return (
            f"{file.name} and {self.file.name} have no samples in common: the first is {one} in "
            f"the table and {other} in the metadata. {self._about_spelling(table.ids) or hint}"
        )

    def _about_spelling(self, absent: Sequence[str]) -> str:
        """Suggest the sample that the first misspelt id probably refers to."""
        from linkselect.pairs._ids import spelt_otherwise

        known = set(absent)
        found = spelt_otherwise(absent, [one for one in self.ids if one not in known])
        if not found:
            return ""
        one, other = next(iter(found.items()))
        more = f" (and {many(len(found) - 1, 'similar case')})" if len(found) > 1 else ""
        return (
            f"{shown(one)} is probably {shown(other)} in {self.file.name}{more}: write ids the "
            "same way in both files."
        )

    def _about_join(self, table: Table, rows: NDArray[np.intp], file: TableFile) -> list[str]:
        """Return notes on samples that are in only one of the files."""
        assert table.ids is not None
        notes = []
        lacking = [table.ids[row] for row in np.flatnonzero(rows < 0)]
        if lacking:
            notes.append(
                f"{len(lacking):,} of {many(len(rows), 'sample')} in {file.name} not found in "
                f"{self.file.name} ({_first(lacking)}): kept without metadata. "
                f"{self._about_spelling(lacking)}".rstrip()
            )
        present = set(table.ids)
        more = [sample for sample in self.ids if sample not in present]
        if more:
            notes.append(
                f"{many(len(more), 'sample')} in {self.file.name} not found in {file.name}: "
                f"skipped ({_first(more)})."
            )
        if not self.values:
            notes.append(
                f"{self.file.name} is ignored: --label, --group and --batch name none of its "
                f"columns ({_first(self.columns, 8)})."
            )
        return notes


def metadata_file(how: Reading) -> TableFile:
    """Return the metadata file; only its ids and the columns named in options are read."""
    assert how.metadata is not None
    if how.id_column is None:
        raise UsageError(
            f"--metadata {how.metadata.name} is joined by sample ids. Use --id-column to choose "
            "the column of ids."
        )
    return TableFile(how.metadata, replace(how, **_OF_TABLE), "metadata")


def _first(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    return first_few([shown(name) for name in names], most)
