"""Make pairs for `linkselect pairs make` from labels, or from the design of a study."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from linkselect._messages import many
from linkselect.cli._errors import InputError, UsageError, notes_of, shown
from linkselect.cli._supervision_input import explained
from linkselect.cli._tables import Reading, read_rows, read_text_column
from linkselect.cli._tables.metadata import metadata_file
from linkselect.cli._tables.reading import TableFile

if TYPE_CHECKING:
    from linkselect.pairs import Pairs


@dataclass(frozen=True)
class Design:
    """Columns that define pairs.

    Parameters
    ----------
    same
        The column whose equal values define must-links, such as the patient.
    different
        The column whose different values define cannot-links.
    across
        The column, such as the batch, whose values differ between the rows of a must-link and agree
        between the rows of a cannot-link.
    max_pairs
        Draw at most this many pairs of each kind. Default: all.
    """

    same: str | None = None
    different: str | None = None
    across: str | None = None
    max_pairs: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None


NO_DESIGN = Design()


class _Columns(dict[str, "list[str | None]"]):
    """Columns that are accessed by name, and the row ids as `index`, as in a DataFrame."""

    index: Sequence[Hashable]


def source_of(table: Path | None, read: Reading) -> tuple[Path, Reading]:
    """Return the file that contains the columns, and the options for reading it."""
    if table is not None:
        if read.metadata is not None and read.label is None:
            raise UsageError(
                "--same and --different refer to columns of one file. Omit the table to use the "
                "columns of --metadata."
            )
        return table, read
    if read.metadata is None:
        raise UsageError("Pass the table that contains the columns, or --metadata FILE.")
    return metadata_file(read).path, replace(read, metadata=None, transpose=False)


def check_options(read: Reading, design: Design, must: int | None, cannot: int | None) -> None:
    """Reject combinations of options in which one option would be ignored."""
    by_design = design.same is not None or design.different is not None
    if (read.label is None) != by_design:
        raise UsageError(
            "Choose the columns that define pairs: either --label, or --same for must-links, "
            "--different for cannot-links, or both."
        )
    if read.label is None:
        needed, instead = "--label", "With --same or --different, use --across and --max-pairs."
        unused = {"--must": must, "--cannot": cannot, "--batch": read.batch}
    else:
        needed, instead = "--same or --different", "With --label, use --must, --cannot and --batch."
        unused = {"--across": design.across, "--max-pairs": design.max_pairs}
    for option, value in unused.items():
        if value is not None:
            raise UsageError(f"{option} needs {needed}. {instead}")


def by_labels(
    source: Path, read: Reading, must: int | None, cannot: int | None, seed: int
) -> tuple[Pairs, list[str]]:
    """Draw pairs from labels; with --batch, must-links between and cannot-links within batches."""
    from linkselect.pairs import Pairs

    data = read_rows(source, read)
    assert data.labels is not None
    if data.batches is None:
        with explained({"n_must": "--must", "n_cannot": "--cannot"}):
            codes, numbers = data.codes(), {"n_must": must, "n_cannot": cannot}
            return Pairs.from_labels(codes, sample_ids=data.ids, **numbers, random_state=seed), []
    assert read.label is not None
    assert read.batch is not None
    columns = _Columns({read.label: data.labels.tolist(), read.batch: data.batches.tolist()})
    columns.index = range(len(data.labels)) if data.ids is None else data.ids
    found, notes = Pairs(), []
    for role, option, number in (("same", "--must", must), ("different", "--cannot", cannot)):
        if number == 0:
            continue
        wanted: dict[str, Any] = {role: read.label, "across": read.batch, "max_pairs": number}
        try:
            with explained({"max_pairs": option}):
                some = Pairs.from_columns(columns, **wanted, random_state=seed)
        except InputError as error:
            if number is not None:
                raise
            notes.append(str(error))
            continue
        n_drawn = some.n_must + some.n_cannot
        if number is not None and n_drawn < number:
            where = "across" if role == "same" else "within"
            raise InputError(
                f"{option} {number:,}, but only {many(n_drawn, 'pair')} can be drawn {where} the "
                f"values of {shown(read.batch)}. Choose fewer, or omit {option} to draw all pairs."
            )
        found |= some
    if not found.ids:
        raise InputError(" ".join(notes) or "--must 0 and --cannot 0 leave no pairs to draw.")
    return found, notes


def by_design(source: Path, read: Reading, design: Design, seed: int) -> tuple[Pairs, list[str]]:
    """Make the pairs of a study design, and return them with notes."""
    from linkselect.pairs import Pairs

    roles = {"same": design.same, "different": design.different, "across": design.across}
    named = {role: name for role, name in roles.items() if name is not None}
    columns = _Columns(
        {name: _texts(source, read, name, f"--{role}") for role, name in named.items()}
    )
    # Also without --id-column: the rows of an .h5ad file have names.
    columns.index = read_rows(source, read).ids or range(len(next(iter(columns.values()))))
    with warnings.catch_warnings(record=True) as caught, explained({"max_pairs": "--max-pairs"}):
        warnings.simplefilter("always")
        found = Pairs.from_columns(columns, **named, max_pairs=design.max_pairs, random_state=seed)
    return found, notes_of(caught)


def _texts(source: Path, read: Reading, column: str, option: str) -> list[str | None]:
    """Read a column as text, with None for missing values."""
    marks = {"", *TableFile(source, read).missing}
    texts = read_text_column(source, read, column, option)
    return [None if text in marks else text for text in texts]
