"""What is known about the rows of a table: labels and pairs, checked against the method."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from linkselect.cli.choices import Method, methods
from linkselect.cli.errors import InputError, UsageError, shown
from linkselect.cli.startup import without_pandas
from linkselect.cli.tables import Table
from linkselect.cli.tables.limits import Budget
from linkselect.cli.tables.table import value_text

if TYPE_CHECKING:
    from linkselect.pairs import Pairs

__all__ = [
    "absent_ids",
    "check_pairs",
    "check_supervision",
    "explained",
    "labelled_rows",
    "read_pairs",
]


# Columns of these names are seldom features.
_LIKE_LABELS = {"class", "label", "labels", "target", "species", "diagnosis", "outcome"}
_LIKE_IDS = {"id", "index", "sample_id", "patient_id", "unnamed: 0"}


# How other programs write a missing value; in a label column it is text like any other.
_LIKE_NOTHING = {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?"}


def labelled_rows(table: Table) -> str:
    """Tell whether "all", "some" or "no" rows have a label."""
    if table.labels is None:
        return "no"
    return "some" if None in table.labels else "all"


def check_supervision(method: Method, table: Table, pairs: Pairs | None) -> list[str]:
    """Refuse a method that lacks what it needs; return what it will not look at."""
    if method.needs == "labels":
        _check_labels(method, table)
    if method.needs == "pairs or labels" and table.labels is None and pairs is None:
        raise UsageError(
            f"{method.name} needs pairs or labels. Give --pairs FILE, or --label COLUMN; "
            "laplacian and variance need neither."
        )
    notes = []
    if pairs is not None and method.uses in ("nothing", "labels"):
        notes.append(f"{method.name} does not look at pairs.")
    elif pairs is not None and table.labels is not None:
        notes.append(f"{method.name} is given pairs, so the labels are not used.")
    if table.labels is not None and method.uses == "nothing":
        notes.append(f"{method.name} does not look at labels.")
    suspects = [name for name in table.names if name.casefold() in _LIKE_LABELS | _LIKE_IDS]
    for name in suspects if table.labels is None else ():
        option = "--id-column" if name.casefold() in _LIKE_IDS else "--label"
        notes.append(
            f"the column {shown(name)} is ranked as a feature; if it is none, pass "
            f"{option} {shown(name)} or --drop {shown(name)}."
        )
    return notes + _suspect_labels(table.classes)


def _suspect_labels(classes: list[str]) -> list[str]:
    suspects = [name for name in classes if name in _LIKE_NOTHING]
    if "-1" in classes and len(classes) > 2:
        suspects.append("-1")
    return [
        f"the label {name} is a class here; --unlabelled {name} makes it mean: no label."
        for name in suspects
    ]


def _check_labels(method: Method, table: Table) -> None:
    if table.labels is None:
        raise UsageError(
            f"{method.name} needs the class of each row. Name the column by --label COLUMN, or "
            "choose a method that needs no labels, such as laplacian."
        )
    n_missing = sum(label is None for label in table.labels)
    if n_missing and not method.takes_some_labels:
        partial = [one.name for one in methods().values() if one.uses == "pairs or labels"]
        raise InputError(
            f"{table.source}: {n_missing} of {len(table.labels)} rows have no label, but "
            f"{method.name} needs one in every row. Methods that do with some labels: "
            f"{', '.join(partial)}."
        )
    if len(table.classes) < 2:
        raise InputError(
            f"{table.source}: every row has the label {shown(table.classes[0])}, but {method.name} "
            "compares classes."
        )


def read_pairs(path: Path, by_id: bool | None) -> Pairs:
    """Read pairs from CSV or JSON: ids as text if `by_id`, row numbers if not, as is if None."""
    with without_pandas():
        from linkselect.pairs import Pairs

    if not path.is_file():
        raise InputError(f"There is no pairs file {path}.")
    kind = path.suffix.lower()
    if kind not in (".csv", ".json"):
        raise InputError(
            f"{path.name}: pairs are read from .csv (a line a,b,link, then one line for each pair) "
            'or .json ({"must": [[a, b]], "cannot": [[a, c]]}).'
        )
    # Pairs take some twenty times their text in memory.
    Budget.of(None, path.name).check_bytes(20 * path.stat().st_size, "the file")
    try:
        kept = None if by_id is None else str
        pairs = Pairs.from_csv(path, id_type=kept) if kind == ".csv" else Pairs.from_json(path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from error
    except TypeError as error:
        form = '{"must": [[a, b]], "cannot": [[a, c]]}'
        raise InputError(f"{path.name} does not have the form {form}.") from error
    except (ValueError, RecursionError) as error:
        text = str(error).replace(str(path), path.name)
        named = text if path.name in text else f"{path.name}: {text}"
        raise InputError(named) from error
    if by_id is None:
        return pairs
    name = value_text if by_id else _row_number
    try:
        must = [(name(a), name(b)) for a, b in pairs.must]
        cannot = [(name(a), name(b)) for a, b in pairs.cannot]
    except ValueError as error:
        raise InputError(
            f"{path.name} names rows like {shown(pairs.ids[0])}, but without --id-column pairs "
            "name row numbers from 0. Name the column that holds these ids by --id-column."
        ) from error
    return Pairs(must, cannot)


def _row_number(sample: Hashable) -> int:
    if isinstance(sample, bool) or not isinstance(sample, int | str):
        raise ValueError(f"{sample!r} is none")
    return int(sample)


def absent_ids(pairs: Pairs, ids: Sequence[Hashable] | range) -> list[Hashable]:
    """List what pairs name and the table has not."""
    present = set(ids)
    return [sample for sample in pairs.ids if sample not in present]


def check_pairs(links: Pairs | None, data: Table, path: Path | None) -> list[str]:
    """Compare pairs with the rows of a table; return what should be said about them."""
    if links is None or path is None:
        return []
    absent = absent_ids(links, range(data.X.shape[0]) if data.ids is None else data.ids)
    if not absent:
        return []
    if data.ids is None:
        raise InputError(
            f"{path.name} names row {absent[0]}, but {data.source} has the rows 0 to "
            f"{data.X.shape[0] - 1}. Pass --id-column if pairs are given by id."
        )
    held = links.restrict(data.ids)
    n_held, n_all = held.n_must + held.n_cannot, links.n_must + links.n_cannot
    what = (
        f"{n_all - n_held} of {n_all} pairs in {path.name} name rows that {data.source} does not "
        f"have, such as {shown(absent[0])}"
    )
    if n_held == 0:
        raise InputError(f"{what}. Rows are called {shown(data.ids[0])} and so on there.")
    return [f"{what}; they are left out."]


@contextmanager
def explained(has_set: bool = True) -> Iterator[None]:
    """Turn what the library says about its input into an error of the command line.

    `has_set` tells whether the command sets the parameters of methods by --set.
    """
    from sklearn.utils._param_validation import InvalidParameterError

    from linkselect.pairs import PairConflictError

    try:
        yield
    except PairConflictError as error:
        what = str(error).partition(" Correct the pairs")[0]
        on_conflict = "--set on_conflict=drop" if has_set else "--on-conflict drop"
        raise InputError(
            f"{what} `linkselect pairs explain FILE` shows all; {on_conflict} leaves these "
            "cannot-links out."
        ) from error
    except InvalidParameterError as error:
        raise UsageError(f"--set: {error}") from error
    except ValueError as error:
        # The library ends with what to write in Python.
        text = str(error).partition(" Write ")[0]
        parameter = re.match(r"(\w+)=", text)
        hint = f" Set it by --set {parameter[0]}..." if parameter and has_set else ""
        raise InputError(text + hint) from error
