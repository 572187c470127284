"""Pairs that are implied by a study design, which is described by columns of a table."""

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

# More pairs than this are not listed unless they are stored as classes; they must be sampled.
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
    """Create the pairs that a study design implies, for example from replicate samples of patients.

    Rows with equal values of `same` but different values of `across` form must-links. Rows with
    different values of `different` but equal values of `across` form cannot-links. Without
    `across`, only `same` and `different` are compared. A row with a missing value is not part of
    any pair that depends on this value. None, NaN, NaT and pandas.NA are treated as missing. The
    text `""` or `"nan"` is also treated as missing, with a warning. The value -1 has no special
    meaning.

    Parameters
    ----------
    frame : pandas or polars frame, or dict of columns
        One row for each sample. The sample ids are the index of a pandas frame, or row numbers for
        other frames.
    same, different : str, optional
        The column whose equal values form must-links, and the column whose different values form
        cannot-links. At least one of them is required.
    across : str, optional
        The column whose values must differ within must-links and be equal within cannot-links, such
        as the batch.
    max_pairs : int, optional
        The maximum number of pairs of each kind; if there are more, pairs are drawn at random.
        Default: all pairs, up to 10 million. There is no limit if `same` and `different` are the
        same column and `across` is not given.
    random_state : int, RandomState instance or None, default=None
        Determines the random draw of pairs.

    Returns
    -------
    Pairs
        The pairs, sorted by row and with weight 1.

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
            "Pass one value for each sample, or None if the value is unknown.",
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
            "Neither same nor different was passed, so no pairs can be created.",
            'Pass one or both, for example same="patient" or different="disease".',
            "same",
        )
    is_number = isinstance(max_pairs, int | np.integer) and not isinstance(max_pairs, bool)
    if max_pairs is not None and not (is_number and max_pairs >= 1):
        raise GuidedValueError(
            f"max_pairs={max_pairs!r}, but the maximum number of pairs of each kind must be a "
            "whole number of at least 1.",
            "Omit max_pairs to keep all pairs.",
            "max_pairs",
        )


def _codes(frame: Any, name: Any, role: str) -> IntArray:
    """Return the values of a column as codes, in order of first appearance; -1 means missing."""
    # A lazy frame has no length.
    has_length = hasattr(frame, "__len__")
    if not (has_length and (isinstance(frame, Mapping) or hasattr(frame, "columns"))):
        raise GuidedTypeError(
            f"frame is a {type(frame).__name__}, but must be a pandas or polars frame or a dict of "
            "columns.",
            "Read or collect the data first, for example with pandas.read_csv(path, index_col=0).",
            "frame",
        )
    names = list(frame if isinstance(frame, Mapping) else frame.columns)
    if not isinstance(name, Hashable):
        raise GuidedTypeError(
            f"{role}={name!r}, but it must be the name of one column.",
            "First combine several columns into one.",
            role,
        )
    if name not in names:
        hint = nearest(str(name), map(str, names))
        raise GuidedValueError(f"{role}={name!r} is not a column of the frame.", hint, role)
    column = frame[name]
    if getattr(column, "ndim", 1) != 1:
        raise GuidedValueError(
            f"The frame has several columns named {name!r}, but {role} must refer to one column.",
            "Rename all but one.",
            role,
        )
    # Lists keep the type of each value; an array would convert numbers among text to text.
    values = column.to_list() if hasattr(column, "to_list") else column
    if not hasattr(values, "dtype"):
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise GuidedTypeError(
                f"The column {role}={name!r} is a {type(values).__name__}, but must be a list of "
                "values.",
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
            f"The column {role}={name!r} has values that cannot be compared, such as lists.",
            "Convert the values to text or numbers.",
            role,
        ) from None
    return codes


def _ids(frame: Any, n_rows: int) -> tuple[Any, ...]:
    """Return the index of a pandas frame, or row numbers for other frames."""
    ids = check_ids(getattr(frame, "index", range(n_rows)), n_rows)
    if any(is_missing(sample, minus_one=False) for sample in ids):
        raise GuidedValueError(
            "The index of the frame has a missing value, but the index provides the sample ids.",
            "Assign an id to every row, or use row numbers: frame.reset_index(drop=True).",
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
    """Return pairs of rows with equal `outer` and different `inner`; draw at most `most` pairs."""
    rows = np.flatnonzero((outer >= 0) & (inner >= 0))
    rows = rows[np.lexsort((inner[rows], outer[rows]))]
    if not len(rows):
        return np.empty((0, 2), dtype=np.intp)
    # In this order, the later partners of a row are one range: it starts after the rows with the
    # same `outer` and `inner`, and ends with the last row of the same `outer`.
    both = outer[rows] * (inner.max() + 1) + inner[rows]
    start = np.searchsorted(both, both, side="right")
    count = np.searchsorted(outer[rows], outer[rows], side="right") - start
    n_all = int(count.sum())
    if most is None and n_all > MOST_IMPLIED:
        raise GuidedValueError(
            f"The design implies {many(n_all, f'{kind}-link')}, but at most {MOST_IMPLIED:,} can "
            "be listed.",
            "Draw a random sample with max_pairs=100_000, or restrict the design with across.",
            "max_pairs",
        )
    drawn = draw_numbers(n_all, n_all if most is None else min(most, n_all), generator)
    return by_row(rows[numbered_pairs(drawn, start, count)])


def _check_found(pairs: Pairs, roles: Mapping[str, Any], columns: Mapping[Any, IntArray]) -> None:
    """Raise an error if a design implies no pairs; warn if one requested kind is missing."""
    same, different, across = roles["same"], roles["different"], roles["across"]
    problems = []
    if same is not None and not pairs.n_must:
        differ = f" but differ in {across}" if across is not None else ""
        problems.append(f"No two rows have the same {same}{differ}, so there are no must-links.")
    if different is not None and not pairs.n_cannot:
        within = f" with the same {across}" if across is not None else ""
        problems.append(f"No two rows{within} differ in {different}, so there are no cannot-links.")
    if not problems:
        return
    n_missing = {name: np.count_nonzero(own < 0) for name, own in columns.items()}
    lacking = [f"{n:,} in {name}" for name, n in n_missing.items() if n]
    if lacking:
        problems.append(f"Missing values: {', '.join(lacking)}.")
    hint = "Use other columns" + ("." if across is None else ", or omit across.")
    if not pairs.ids:
        raise GuidedValueError(" ".join(problems), hint, "frame")
    warn_user(" ".join(problems), hint=hint)
