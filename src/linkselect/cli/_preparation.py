"""What is done to the values of a table before features are ranked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import many
from linkselect.cli._column_values import ColumnValues, first_place, look_at_values
from linkselect.cli._errors import InputError, UsageError, notes_of, shown
from linkselect.cli._tables import Table
from linkselect.cli._tables.limits import bytes_needed, memory_limit, readable_size
from linkselect.cli._tables.parts import INTO_MEMORY, library_errors
from linkselect.cli._tables.table import StoredTable

if TYPE_CHECKING:
    from linkselect._samples.sources.stored import Stored

Scale = Literal["minmax", "standard", "none"]
Impute = Literal["median", "mean", "none"]

# A median is taken over so many rows, and over fewer if that would take more bytes. Its standard
# error is then 1.25 / sqrt(20,000), less than 1 % of the standard deviation of its column.
MOST_ROWS = 20_000
MOST_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Preparation:
    """What to do to the values of a table first.

    Parameters
    ----------
    scale
        What to do to each feature first.
    impute
        What to put where a value is missing, by column; `none` refuses missing values.
    center_batches
        Subtract from each feature its mean within the batch of the row first, with --batch. Where
        batches and classes coincide, that removes what distinguishes the classes, too.
    """

    scale: Scale = "minmax"
    impute: Impute = "median"
    center_batches: bool = False

    def transformer(self, sparse: bool) -> Any:
        """Return what fills and scales, as one scikit-learn transformer; None if it is nothing."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        from linkselect._samples.unit_scaling import FitUnits, unit_scaler

        steps: list[Any] = []
        if self.scale != "none":
            steps.append(FitUnits())
        if self.impute != "none":
            from sklearn.impute import SimpleImputer

            steps.append(SimpleImputer(strategy=self.impute, keep_empty_features=True))
        if self.scale == "minmax":
            steps.append(unit_scaler(sparse))
        if self.scale == "standard":
            steps.append(StandardScaler(with_mean=not sparse))
        return make_pipeline(*steps) if steps else None

    def applied(self, table: Table) -> Any:
        """Return the values of a table, filled and scaled."""
        transformer = self.transformer(table.is_sparse)
        if transformer is None:
            return table.X
        try:
            with np.errstate(over="raise"):
                return transformer.fit_transform(table.X)
        except FloatingPointError:
            raise _too_large() from None

    def describe(self, sparse: bool) -> str:
        """Say in one sentence what is done to the values."""
        scaled = {
            "minmax": "divided by its largest absolute value" if sparse else "scaled to [0, 1]",
            "standard": "scaled to variance 1" + ("" if sparse else " and mean 0"),
            "none": "taken as it is",
        }[self.scale]
        if self.center_batches:
            as_is = self.scale == "none"
            scaled = f"centred within each batch{'' if as_is else f' and {scaled}'}"
        filled = f"; missing values were filled with its {self.impute}"
        return f"Each feature was {scaled}{'' if self.impute == 'none' else filled}."


DEFAULT_PREPARATION = Preparation()


def settle_values(
    table: Table, prepare: Preparation, seed: int = 0, max_memory: str | None = None
) -> tuple[Table, Preparation, list[str], ColumnValues]:
    """Refuse infinite values, and missing ones unless they are to be filled.

    A table that is read by parts is also filled and scaled, another one centred if that is asked
    for.

    Returns the table without columns that have no value, what is or was done to the others, what
    should be said, and what the values were before.
    """
    is_stored = isinstance(table, StoredTable)
    _check_centring(table, prepare, max_memory)
    with library_errors():
        moments = prepare.scale == "standard" or prepare.impute == "mean"
        seen = look_at_values(table.X, moments and is_stored)
        if np.isinf([seen.low, seen.high]).any():
            row, column = first_place(table.X, np.isinf)
            name = shown(table.names[column])
            raise InputError(
                f"{table.source}, row {row + 1}: column {name} is infinite. Correct it or empty "
                f"the cell, or leave the column out with --drop {name}."
            )
    empty = seen.n_missing == seen.n_rows
    rounded = _rounded_columns(table, seen)
    notes = [_about_rounding(table, rounded)] if len(rounded) else []
    if prepare.center_batches:
        table, about_batches = _centred(table)
        notes += about_batches
        seen = look_at_values(table.X, moments=False)
    if empty.any():
        notes.append(_about_empty(table, np.flatnonzero(empty)))
        kept = np.flatnonzero(~empty)
        table, seen = table.with_features(kept), seen.choose(kept)
    if prepare.scale == "none":
        _refuse_faint(table, seen.extent)
    X = table.X
    if seen.n_missing.any():
        notes.append(_about_missing(table, seen.n_missing, prepare.impute))
    else:
        prepare = replace(prepare, impute="none")
    if not is_stored:
        return table, prepare, notes, seen
    if seen.n_missing.any():
        values, about = _replacements(X, seen, prepare, seed)
        X, notes = X.filled(values), [*notes, *about]
        seen = _with_filled(seen, values)
    return replace(table, X=_scaled(X, seen, prepare)), prepare, notes, seen


def _check_centring(table: Table, prepare: Preparation, max_memory: str | None) -> None:
    """Refuse to centre inside batches where there are none, or where it does not fit."""
    if not prepare.center_batches:
        return
    if table.batches is None:
        raise UsageError(
            "--center-batches subtracts the mean of each batch. Name the column of batches by "
            "--batch COLUMN."
        )
    if isinstance(table, StoredTable):
        raise UsageError(
            f"--center-batches needs the table in memory, but {table.source} is read by parts: "
            f"{INTO_MEMORY}."
        )
    needed, limit = bytes_needed(*table.X.shape), memory_limit(max_memory)
    if table.is_sparse and needed > limit:
        raise InputError(
            f"{table.source} is sparse, and --center-batches makes it dense: that takes "
            f"{readable_size(needed)}, more than the limit of {readable_size(limit)}. Allow more "
            "with --max-memory, or leave --center-batches out."
        )


def _centred(table: Table) -> tuple[Table, list[str]]:
    """Subtract the mean of each batch; return what should be said about it."""
    from linkselect import center_batches

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = center_batches(table.X, table.batch_codes())
    notes = notes_of(caught)
    if table.is_sparse:
        notes.append("the table is sparse; centred within batches it is dense.")
    return replace(table, X=X), notes


def keep_signs(selectors: Iterable[Any], prepare: Preparation, seen: ColumnValues) -> None:
    """Tell methods that scale by themselves of negative values: in [0, 1] they look like counts.

    Parameters
    ----------
    selectors : iterable of selectors
        Their `scale` is set if it is "auto".
    prepare : Preparation
        What is done to the values.
    seen : ColumnValues
        What they were before.
    """
    if prepare.scale != "minmax" or not (seen.low < 0).any():
        return
    for selector in selectors:
        if selector.get_params(deep=False).get("scale") == "auto":
            selector.set_params(scale="range")


def _rounded_columns(table: Table, seen: ColumnValues) -> IntArray:
    """List columns of whole numbers that float64 rounds, as floats already: by their size."""
    from linkselect._samples import as_samples
    from linkselect._samples.samples import LARGEST_EXACT

    X, extreme = table.X, np.fmax(-seen.low, seen.high)
    if isinstance(table, StoredTable):
        return np.flatnonzero((extreme > LARGEST_EXACT) & X.whole)
    if X.dtype.kind != "f" or table.is_sparse:
        return as_samples(X).rounded_columns()
    # Larger ones no type of whole numbers holds, so that they are measurements.
    large = np.flatnonzero((extreme >= LARGEST_EXACT) & (extreme < 2.0**64))
    values = X[:, large]
    return large[((values == np.trunc(values)) | np.isnan(values)).all(axis=0)]


def _about_rounding(table: Table, places: IntArray) -> str:
    """Say which columns hold whole numbers that are too large to be told apart."""
    verb = "has" if len(places) == 1 else "have"
    return (
        f"{many(len(places), 'column')} {verb} whole numbers above 2^53, whose small differences "
        f"are lost ({_listed(table, places)}); leave ids out with --drop, or subtract the least "
        "value of the column before."
    )


def _too_large() -> InputError:
    """Return the error for a feature that cannot be scaled."""
    return InputError(
        "A feature is too large to be scaled or filled: it spans more than 1.8e308. Divide its "
        "values, or leave it out with --drop."
    )


def _refuse_faint(table: Table, extent: FloatArray) -> None:
    """Refuse what the library refuses, too, but by name; scaling changes such columns first."""
    from linkselect._samples.samples import FAINT

    faint = np.flatnonzero((extent > 0) & (extent < FAINT))
    if len(faint):
        varies = "varies" if len(faint) == 1 else "vary"
        raise InputError(
            f"{table.source}: {many(len(faint), 'feature')} {varies} by less than {FAINT:g} "
            f"({_listed(table, faint)}), and the squares of so small differences underflow to 0. "
            "Scale the features by --scale minmax, or leave columns out by --drop."
        )


def _about_empty(table: Table, empty: IntArray) -> str:
    """Say which columns have no value; refuse a table in which all are so."""
    if len(empty) == len(table.names):
        raise InputError(
            f"{table.source}: no feature has a value in any row. Are values written in a way that "
            "means missing here, such as NA or ?"
        )
    return f"left out {many(len(empty), 'column')} without any value: {_listed(table, empty)}."


def _about_missing(table: Table, n_missing: IntArray, impute: Impute) -> str:
    """Say where values are missing and were filled, or refuse them."""
    places = np.flatnonzero(n_missing)
    many_of = f"{n_missing.sum():,} of {table.X.shape[0] * len(table.names):,} values"
    where = f"in {len(places):,} of {len(table.names):,} columns ({_listed(table, places)})"
    if impute == "none":
        first = first_place(table.X, np.isnan)[0] + 1
        raise InputError(
            f"{table.source}: {many_of} are missing {where}, the first in row {first:,}. Fill them "
            "with --impute median or mean, or leave columns out with --drop."
        )
    worst = int(n_missing.argmax())
    share = n_missing[worst] / table.X.shape[0]
    most = f" {shown(table.names[worst])} lacks {share:.0%} of its values." if share > 0.5 else ""
    return (
        f"{many_of} were missing {where} and filled with the {impute} of their column; "
        f"--impute none refuses such a table.{most}"
    )


def _listed(table: Table, places: IntArray) -> str:
    names = ", ".join(shown(table.names[place]) for place in places[:3])
    return names + (", ..." if len(places) > 3 else "")


# -- tables that are read by parts --------------------------------------------------------------


def _replacements(
    X: Stored, seen: ColumnValues, prepare: Preparation, seed: int
) -> tuple[FloatArray, list[str]]:
    """Return what is put where values are missing; of columns without gaps it does not matter."""
    if prepare.impute == "mean":
        return seen.mean, []
    columns = np.flatnonzero(seen.n_missing)
    n_rows = min(seen.n_rows, MOST_ROWS, max(X.allowed(MOST_BYTES) // (8 * len(columns)), 100))
    rows = np.sort(np.random.default_rng(seed).choice(seen.n_rows, n_rows, replace=False))
    with library_errors():
        drawn = X.choose(columns).take(rows)
    known = ~np.isnan(drawn).all(axis=0)
    values = np.array(seen.low)
    # A column with so few values that none was drawn gets the middle of its range.
    values[columns] = (seen.low[columns] + seen.high[columns]) / 2
    values[columns[known]] = np.nanmedian(drawn[:, known].astype(np.float64), axis=0)
    if n_rows == seen.n_rows:
        return values, []
    return values, [
        f"medians were estimated from {n_rows:,} rows, drawn by --seed, since the table is read by "
        "parts; --impute mean is exact."
    ]


def _with_filled(seen: ColumnValues, values: FloatArray) -> ColumnValues:
    """Return what is seen of the values after the missing ones were filled."""
    n_known = seen.n_rows - seen.n_missing
    gap = values - seen.mean
    return replace(
        seen,
        mean=seen.mean + gap * seen.n_missing / seen.n_rows,
        squares=seen.squares + gap**2 * n_known * seen.n_missing / seen.n_rows,
    )


def _scaled(X: Stored, seen: ColumnValues, prepare: Preparation) -> Stored:
    if prepare.scale == "none":
        return X
    constant = seen.low == seen.high
    if not np.isfinite(seen.extent).all():
        raise _too_large()
    if prepare.scale == "minmax":
        return X.scaled(seen.low, np.where(constant, 1.0, seen.extent))
    deviation = np.sqrt(seen.squares / seen.n_rows)
    return X.scaled(seen.mean, np.where(constant, 1.0, deviation))
