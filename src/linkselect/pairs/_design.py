"""Pairs from a design: columns that are equal, columns that differ, within or across others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._arrays import IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError, many, nearest, warn_user
from linkselect.pairs._draws import by_row, draw_numbers, generator_of, numbered_pairs
from linkselect.pairs._groupings import Grouping
from linkselect.pairs._ids import check_ids, numbering
from linkselect.pairs._labels import is_missing, known_labels, label_array, warn_of_text

if TYPE_CHECKING:
    from linkselect.pairs._pairs import Pairs

# More pairs than this are drawn, not listed, unless they are classes.
MOST_IMPLIED = 10_000_000


def from_columns(
    cls: type[Pairs],
    frame: Any,
    *,
    same: Any = None,
    different: Any = None,
    across: Any = None,
    max_pairs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Pairs:
    """Make the pairs that the design of a study implies, such as replicates of a patient.

    Rows with equal values of `same` that differ in `across` are must-links; rows with different
    values of `different` that are equal in `across` are cannot-links. Without `across`, only `same`
    and `different` count. A row without a value is in no pair that asks for it: None, NaN, NaT,
    pandas.NA, and with a warning the text `""` and `"nan"`. -1 is a value like any other.

    Parameters
    ----------
    frame : pandas or polars frame, or dict of columns
        One row for each sample. The index of a pandas frame holds the ids, else they are the
        numbers of the rows.
    same, different : str, optional
        The columns whose equal values make must-links, and whose different ones make
        cannot-links. At least one of them is needed.
    across : str, optional
        The column in which must-links differ and cannot-links do not, such as the batch.
    max_pairs : int, optional
        Draw at most so many pairs of each kind. Default: all, of which there may be 10 million;
        with one column as `same` and `different`, and no `across`, any number.
    random_state : int, RandomState instance or None, default=None
        Determines the draw.

    Returns
    -------
    Pairs
        With weights 1, sorted by row.

    Examples
    --------
    >>> from linkselect import Pairs
    >>> runs = {"patient": ["ann", "ann", "bob", None], "batch": [1, 2, 1, 1]}
    >>> Pairs.from_columns(runs, same="patient", different="patient", across="batch").must
    ((0, 1),)
    """
    _check_arguments(same, different, max_pairs)
    roles = {"same": same, "different": different, "across": across}
    columns: dict[Any, IntArray] = {}
    for role, name in roles.items():
        if name is not None and name not in columns:
            columns[name] = _codes(frame, name, role)
    n_rows = [len(own) for own in columns.values()]
    if len(set(n_rows)) > 1:
        raise GuidedValueError(
            f"The columns have different lengths: {', '.join(map(str, n_rows))}.",
            "Pass one value for each sample, None where it is unknown.",
            "frame",
        )
    ids = _ids(frame, n_rows[0])
    n_samples = len(ids) if ids == tuple(range(len(ids))) else None
    must = cannot = np.empty((0, 2), dtype=np.intp)
    if same == different and across is None and max_pairs is None:
        grouping = Grouping(columns[same], columns[same])
        found = cls._from_codes(ids, must, cannot, n_samples, (None, None), (grouping,))
    else:
        generator = generator_of(random_state)
        if same is not None:
            inner = columns.get(across, np.arange(len(ids)))
            must = _links(columns[same], inner, max_pairs, "must", generator)
        if different is not None:
            outer = columns.get(across, np.zeros(len(ids), dtype=np.intp))
            cannot = _links(outer, columns[different], max_pairs, "cannot", generator)
        found = cls._from_codes(ids, must, cannot, n_samples)
    _check_found(found, roles, columns)
    return found


def _check_arguments(same: Any, different: Any, max_pairs: Any) -> None:
    if same is None and different is None:
        raise GuidedValueError(
            "Neither same nor different names a column, so there is nothing to link.",
            'Name one or both, such as same="patient" or different="disease".',
            "same",
        )
    is_number = isinstance(max_pairs, int | np.integer) and not isinstance(max_pairs, bool)
    if max_pairs is not None and not (is_number and max_pairs >= 1):
        raise GuidedValueError(
            f"max_pairs={max_pairs!r}, but it is how many pairs of each kind to draw at most: a "
            "whole number from 1.",
            "Leave it out for all.",
            "max_pairs",
        )


def _codes(frame: Any, name: Any, role: str) -> IntArray:
    """Number the values of a column by their first rows; -1 where one is missing."""
    # A lazy frame has no length.
    has_length = hasattr(frame, "__len__")
    if not (has_length and (isinstance(frame, Mapping) or hasattr(frame, "columns"))):
        raise GuidedTypeError(
            f"frame is a {type(frame).__name__}, but columns are taken from a pandas or polars "
            "frame, or from a dict of them.",
            "Read or collect it first, such as by pandas.read_csv(path, index_col=0).",
            "frame",
        )
    names = list(frame if isinstance(frame, Mapping) else frame.columns)
    if not isinstance(name, Hashable):
        raise GuidedTypeError(
            f"{role}={name!r}, but it is the name of one column.",
            "Combine several into one column first.",
            role,
        )
    if name not in names:
        hint = nearest(str(name), map(str, names))
        raise GuidedValueError(f"{role}={name!r} is not a column of the frame.", hint, role)
    column = frame[name]
    if getattr(column, "ndim", 1) != 1:
        raise GuidedValueError(
            f"{role}={name!r} names several columns of the frame.", "Rename all but one.", role
        )
    # Lists hold values as they are: arrays would make text of numbers beside text.
    values = column.to_list() if hasattr(column, "to_list") else column
    if not hasattr(values, "dtype"):
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise GuidedTypeError(
                f"{role}={name!r} is a {type(values).__name__}, but a column is a list of values.",
                "Pass one value for each sample, in the order of the samples.",
                role,
            )
        values = np.fromiter(values, dtype=object, count=len(values))
    warn_of_text(values, "value", f" of {name!r}")
    labels = label_array(values, minus_one=False)
    known = known_labels(labels, minus_one=False)
    codes = np.full(len(labels), -1, dtype=np.intp)
    try:
        codes[known] = [*map(numbering().__getitem__, labels[known].tolist())]
    except TypeError:
        raise GuidedTypeError(
            f"{role}={name!r} has values that cannot be compared, such as lists.",
            "Write them as text or numbers.",
            role,
        ) from None
    return codes


def _ids(frame: Any, n_rows: int) -> tuple[Any, ...]:
    """Return the index of a pandas frame, else the numbers of the rows."""
    ids = check_ids(getattr(frame, "index", range(n_rows)), n_rows)
    if any(is_missing(sample, minus_one=False) for sample in ids):
        raise GuidedValueError(
            "The index of the frame has a missing value, but it holds the ids of the samples.",
            "Give every row an id, or write frame.reset_index(drop=True) to use row numbers.",
            "frame",
        )
    return ids


def _links(
    outer: IntArray,
    inner: IntArray,
    most: int | None,
    kind: str,
    generator: np.random.Generator,
) -> IntArray:
    """Link rows that are equal in `outer` and differ in `inner`, all or so many at random."""
    rows = np.flatnonzero((outer >= 0) & (inner >= 0))
    rows = rows[np.lexsort((inner[rows], outer[rows]))]
    if not len(rows):
        return np.empty((0, 2), dtype=np.intp)
    # In this order the later partners of a row are one range: from where its own values of both
    # end, to where its value of `outer` ends.
    both = outer[rows] * (inner.max() + 1) + inner[rows]
    start = np.searchsorted(both, both, side="right")
    count = np.searchsorted(outer[rows], outer[rows], side="right") - start
    n_all = int(count.sum())
    if most is None and n_all > MOST_IMPLIED:
        raise GuidedValueError(
            f"The design implies {many(n_all, f'{kind}-link')}, and at most {MOST_IMPLIED:,} are "
            "listed.",
            "Draw some of them by max_pairs=100_000, or narrow the design down by across.",
            "max_pairs",
        )
    drawn = draw_numbers(n_all, n_all if most is None else min(most, n_all), generator)
    return by_row(rows[numbered_pairs(drawn, start, count)])


def _check_found(pairs: Pairs, roles: Mapping[str, Any], columns: Mapping[Any, IntArray]) -> None:
    """Refuse a design that links nothing, and warn of a kind of links that it does not give."""
    same, different, across = roles["same"], roles["different"], roles["across"]
    problems = []
    if same is not None and not pairs.n_must:
        differ = f"have the same {same}" if across is None else f"of one {same} differ in {across}"
        problems.append(f"No two rows {differ}, so there are no must-links.")
    if different is not None and not pairs.n_cannot:
        within = "" if across is None else f" of one {across}"
        problems.append(f"No two rows{within} differ in {different}, so there are no cannot-links.")
    if not problems:
        return
    n_missing = {name: np.count_nonzero(own < 0) for name, own in columns.items()}
    lacking = [f"{n:,} in {name}" for name, n in n_missing.items() if n]
    if lacking:
        problems.append(f"Missing values: {', '.join(lacking)}.")
    hint = "Name other columns" + ("." if across is None else ", or leave across out.")
    if not pairs.ids:
        raise GuidedValueError(" ".join(problems), hint, "frame")
    warn_user(" ".join(problems), hint=hint)
