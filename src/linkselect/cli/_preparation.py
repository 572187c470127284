"""Prepare the values of a table for ranking: impute, scale and centre."""

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

# The number of rows from which a median is estimated, limited by their size in bytes. For normal
# values, its standard error is 1.25 / sqrt(20,000), below 1 % of the standard deviation.
MOST_ROWS = 20_000
MOST_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Preparation:
    """Options for preparing the values of a table.

    Parameters
    ----------
    scale
        The scaling of each feature.
    impute
        The value that replaces missing values in a column. With `none`, missing values raise an
        error.
    center_batches
        Subtract the mean of each batch, as defined by --batch, from its rows. If batches coincide
        with classes, centring also removes the differences between classes.
    """

    scale: Scale = "minmax"
    impute: Impute = "median"
    center_batches: bool = False

    def transformer(self, sparse: bool) -> Any:
        """Return a scikit-learn transformer that imputes and scales; None if neither is needed."""
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
        """Return the imputed and scaled values of a table."""
        transformer = self.transformer(table.is_sparse)
        if transformer is None:
            return table.X
        try:
            with np.errstate(over="raise"):
                return transformer.fit_transform(table.X)
        except FloatingPointError:
            raise _too_large() from None

    def describe(self, sparse: bool) -> str:
        """Describe the preparation in one sentence."""
        scaled = {
            "minmax": "divided by its largest absolute value" if sparse else "scaled to [0, 1]",
            "standard": "scaled to variance 1" + ("" if sparse else " and mean 0"),
            "none": "not scaled",
        }[self.scale]
        if self.center_batches:
            scaled = (
                f"centred within each batch {'but' if self.scale == 'none' else 'and'} {scaled}"
            )
        filled = f"; missing values were replaced by the {self.impute}"
        return f"Each feature was {scaled}{'' if self.impute == 'none' else filled}."


DEFAULT_PREPARATION = Preparation()


def settle_values(
    table: Table, prepare: Preparation, seed: int = 0, max_memory: str | None = None
) -> tuple[Table, Preparation, list[str], ColumnValues]:
    """Check the values of a table and, if it is read in parts, prepare them.

    Infinite values raise an error. Missing values raise an error unless they are to be imputed.
    Columns that contain no values are dropped. If requested, batches are centred. Tables in memory
    are imputed and scaled later.

    Returns
    -------
    table : Table
        The remaining columns.
    prepare : Preparation
        The preparation, without imputation if no value is missing.
    notes : list of str
        Notes on the values.
    seen : ColumnValues
        A description of the values before imputation and scaling.
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
                f"{table.source}, row {row + 1}: the value of {name} is infinite. Correct or clear "
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
    """Check that there are batches to centre, and that the centred table fits in memory."""
    if not prepare.center_batches:
        return
    if table.batches is None:
        raise UsageError(
            "--center-batches subtracts the mean of each batch. Specify the column of batches with "
            "--batch COLUMN."
        )
    if isinstance(table, StoredTable):
        raise UsageError(
            f"--center-batches requires the table in memory, but {table.source} is read in parts. "
            f"{INTO_MEMORY.capitalize()}."
        )
    needed, limit = bytes_needed(*table.X.shape), memory_limit(max_memory)
    if table.is_sparse and needed > limit:
        raise InputError(
            f"{table.source} is sparse, but --center-batches requires a dense array of "
            f"{readable_size(needed)}, and the limit is {readable_size(limit)}. Raise the limit "
            "with --max-memory, or omit --center-batches."
        )


def _centred(table: Table) -> tuple[Table, list[str]]:
    """Subtract the mean of each batch from its rows; also return notes."""
    from linkselect import center_batches

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = center_batches(table.X, table.batch_codes())
    notes = notes_of(caught)
    if table.is_sparse:
        notes.append("Centring within batches converted the sparse table to a dense array.")
    return replace(table, X=X), notes


def keep_signs(selectors: Iterable[Any], prepare: Preparation, seen: ColumnValues) -> None:
    """Prevent methods with their own scaling from mistaking scaled negative values for counts.

    Parameters
    ----------
    selectors : iterable of selectors
        The parameter `scale` of these selectors is changed from "auto" to "range" if any value is
        negative before scaling.
    prepare : Preparation
        The preparation of the values.
    seen : ColumnValues
        A description of the values before preparation.
    """
    if prepare.scale != "minmax" or not (seen.low < 0).any():
        return
    for selector in selectors:
        if selector.get_params(deep=False).get("scale") == "auto":
            selector.set_params(scale="range")


def _rounded_columns(table: Table, seen: ColumnValues) -> IntArray:
    """Return the columns of integers that are too large to be exact in float64.

    In a floating-point array, such columns are recognized by the size of their values.
    """
    from linkselect._samples import as_samples
    from linkselect._samples.samples import LARGEST_EXACT

    X, extreme = table.X, np.fmax(-seen.low, seen.high)
    if isinstance(table, StoredTable):
        return np.flatnonzero((extreme > LARGEST_EXACT) & X.whole)
    if X.dtype.kind != "f" or table.is_sparse:
        return as_samples(X).rounded_columns()
    # Values above 2^64 exceed every integer type, so they must be measurements.
    large = np.flatnonzero((extreme >= LARGEST_EXACT) & (extreme < 2.0**64))
    values = X[:, large]
    return large[((values == np.trunc(values)) | np.isnan(values)).all(axis=0)]


def _about_rounding(table: Table, places: IntArray) -> str:
    """Return a note on columns of integers that are too large to be exact."""
    return (
        f"Integers above 2^53 lose precision in {many(len(places), 'column')} "
        f"({_listed(table, places)}). Leave IDs out with --drop, or subtract the minimum first."
    )


def _too_large() -> InputError:
    """Return the error for a feature whose range exceeds float64."""
    return InputError(
        "A feature cannot be scaled or imputed, because its range exceeds 1.8e308. Divide its "
        "values by a constant, or leave the feature out with --drop."
    )


def _refuse_faint(table: Table, extent: FloatArray) -> None:
    """Raise an error that lists the features whose range is too small for squared differences.

    The library raises a similar error without feature names. Scaling the features avoids this
    error.
    """
    from linkselect._samples.samples import FAINT

    faint = np.flatnonzero((extent > 0) & (extent < FAINT))
    if len(faint):
        raise InputError(
            f"{table.source}: the range of {many(len(faint), 'feature')} is below {FAINT:g} "
            f"({_listed(table, faint)}), so that squared differences underflow to 0. Scale the "
            "features with --scale minmax, or leave them out with --drop."
        )


def _about_empty(table: Table, empty: IntArray) -> str:
    """Return a note on columns without any values; raise an error if all columns are empty."""
    if len(empty) == len(table.names):
        raise InputError(
            f"{table.source}: all values of all features are missing. Check whether values are "
            "written as NA or ?, which are read as missing."
        )
    return f"Left out {many(len(empty), 'column')} without any value: {_listed(table, empty)}."


def _about_missing(table: Table, n_missing: IntArray, impute: Impute) -> str:
    """Return a note on missing values, or raise an error unless they are to be imputed."""
    places, n = np.flatnonzero(n_missing), n_missing.sum()
    many_of = f"{n:,} of {table.X.shape[0] * len(table.names):,} values {'is' if n == 1 else 'are'}"
    where = f"in {len(places):,} of {len(table.names):,} columns ({_listed(table, places)})"
    if impute == "none":
        first = first_place(table.X, np.isnan)[0] + 1
        raise InputError(
            f"{table.source}: {many_of} missing {where}, the first in row {first:,}. Use "
            "--impute median or mean to impute them, or --drop to leave columns out."
        )
    worst = int(n_missing.argmax())
    share = n_missing[worst] / table.X.shape[0]
    most = f" {shown(table.names[worst])} has {share:.0%} missing values." if share > 0.5 else ""
    return f"{many_of} missing {where}.{most} With --impute none, missing values raise an error."


def _listed(table: Table, places: IntArray) -> str:
    names = ", ".join(shown(table.names[place]) for place in places[:3])
    return names + (", ..." if len(places) > 3 else "")


# -- tables that are read in parts --------------------------------------------------------------


def _replacements(
    X: Stored, seen: ColumnValues, prepare: Preparation, seed: int
) -> tuple[FloatArray, list[str]]:
    """Return the value that replaces missing values in each column; also return notes.

    The entries for columns without missing values are arbitrary.
    """
    if prepare.impute == "mean":
        return seen.mean, []
    columns = np.flatnonzero(seen.n_missing)
    n_rows = min(seen.n_rows, MOST_ROWS, max(X.allowed(MOST_BYTES) // (8 * len(columns)), 100))
    rows = np.sort(np.random.default_rng(seed).choice(seen.n_rows, n_rows, replace=False))
    with library_errors():
        drawn = X.choose(columns).take(rows)
    known = ~np.isnan(drawn).all(axis=0)
    values = np.array(seen.low)
    # If all drawn values of a column are missing, the middle of its range replaces the median.
    values[columns] = (seen.low[columns] + seen.high[columns]) / 2
    values[columns[known]] = np.nanmedian(drawn[:, known].astype(np.float64), axis=0)
    if n_rows == seen.n_rows:
        return values, []
    return values, [
        f"Medians were estimated from {n_rows:,} random rows, because the table is read in parts. "
        "--impute mean uses all rows."
    ]


def _with_filled(seen: ColumnValues, values: FloatArray) -> ColumnValues:
    """Return the description of the values after imputation."""
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
