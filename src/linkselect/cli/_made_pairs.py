"""What `linkselect pairs make` draws: pairs by labels, or by the design of a study."""

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
    """Which columns make pairs.

    Parameters
    ----------
    same
        The column whose equal values make must-links, such as the patient.
    different
        The column whose different values make cannot-links.
    across
        The column in which must-links differ and cannot-links do not, such as the batch.
    max_pairs
        Draw at most so many pairs of each kind. Without it: all.
    """

    same: str | None = None
    different: str | None = None
    across: str | None = None
    max_pairs: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None


NO_DESIGN = Design()


class _Columns(dict[str, "list[str | None]"]):
    """Columns by name, with the ids of their rows as a frame has them."""

    index: Sequence[Hashable]


def source_of(table: Path | None, read: Reading) -> tuple[Path, Reading]:
    """Return the file that holds the columns, and how to read it; refuse a call that names none."""
    if table is not None:
        if read.metadata is not None and read.label is None:
            raise UsageError(
                "--same and --different name columns of one file. Leave the table out to take them "
                "from --metadata."
            )
        return table, read
    if read.metadata is None:
        raise UsageError("Name a table, or the file that holds the columns by --metadata FILE.")
    return metadata_file(read).path, replace(read, metadata=None, transpose=False)


def check_options(read: Reading, design: Design, must: int | None, cannot: int | None) -> None:
    """Refuse options of which one would be ignored."""
    by_design = design.same is not None or design.different is not None
    if (read.label is None) != by_design:
        raise UsageError(
            "Pairs are made of columns: name the one of the labels by --label; or that of "
            "must-links by --same, that of cannot-links by --different, or both, without --label."
        )
    if read.label is None:
        goes_with, instead = "--label", "With --same or --different: --across and --max-pairs."
        unused = {"--must": must, "--cannot": cannot, "--batch": read.batch}
    else:
        goes_with, instead = "--same or --different", "With --label: --must, --cannot and --batch."
        unused = {"--across": design.across, "--max-pairs": design.max_pairs}
    for option, value in unused.items():
        if value is not None:
            raise UsageError(f"{option} goes with {goes_with}. {instead}")


def by_labels(
    source: Path, read: Reading, must: int | None, cannot: int | None, seed: int
) -> tuple[Pairs, list[str]]:
    """Draw pairs by labels; if batches are named, must-links across and cannot-links within."""
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
                f"{option} {number:,}, but there are {many(n_drawn, 'such pair')} {where} the "
                f"values of {shown(read.batch)}. Ask for fewer, or leave {option} out for all."
            )
        found |= some
    if not found.ids:
        raise InputError(" ".join(notes) or "--must 0 and --cannot 0 leave no pair.")
    return found, notes


def by_design(source: Path, read: Reading, design: Design, seed: int) -> tuple[Pairs, list[str]]:
    """Make the pairs of a design, and return what should be said about them."""
    from linkselect.pairs import Pairs

    roles = {"same": design.same, "different": design.different, "across": design.across}
    named = {role: name for role, name in roles.items() if name is not None}
    columns = _Columns(
        {name: _texts(source, read, name, f"--{role}") for role, name in named.items()}
    )
    # Without an id column, too: the rows of an .h5ad file have names.
    columns.index = read_rows(source, read).ids or range(len(next(iter(columns.values()))))
    with warnings.catch_warnings(record=True) as caught, explained({"max_pairs": "--max-pairs"}):
        warnings.simplefilter("always")
        found = Pairs.from_columns(columns, **named, max_pairs=design.max_pairs, random_state=seed)
    return found, notes_of(caught)


def _texts(source: Path, read: Reading, column: str, option: str) -> list[str | None]:
    """Read a column as text, None for missing values."""
    marks = {"", *TableFile(source, read).missing}
    texts = read_text_column(source, read, column, option)
    return [None if text in marks else text for text in texts]
