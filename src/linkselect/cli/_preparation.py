"""What is done to the values of a table before features are ranked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import IntArray
from linkselect._messages import many
from linkselect.cli._errors import InputError, shown
from linkselect.cli._tables import Table

Scale = Literal["minmax", "standard", "none"]
Impute = Literal["median", "mean", "none"]

# How many values are checked at a time, so that the check makes no second table.
_BLOCK = 4 << 20


@dataclass(frozen=True)
class Preparation:
    """What to do to the values of a table first.

    Parameters
    ----------
    scale
        What to do to each feature first.
    impute
        What to put where a value is missing, by column; `none` refuses missing values.
    """

    scale: Scale = "minmax"
    impute: Impute = "median"

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
            raise too_large() from None

    def describe(self, sparse: bool) -> str:
        """Say in one sentence what is done to the values."""
        scaled = {
            "minmax": "divided by its largest absolute value" if sparse else "scaled to [0, 1]",
            "standard": "scaled to variance 1" + ("" if sparse else " and mean 0"),
            "none": "taken as it is",
        }[self.scale]
        filled = f"; missing values were filled with its {self.impute}"
        return f"Each feature was {scaled}{'' if self.impute == 'none' else filled}."


DEFAULT_PREPARATION = Preparation()


def settle_values(table: Table, prepare: Preparation) -> tuple[Table, Preparation, list[str]]:
    """Refuse infinite values, and missing ones unless they are to be filled.

    Returns the table without columns that have no value, what is to be done to the others, and
    what should be said.
    """
    from linkselect._samples import as_samples

    if prepare.scale == "none":
        refuse_faint(table, as_samples(table.X).faint_columns())
    nothing_to_fill = replace(prepare, impute="none")
    rounded = about_rounding(table, _rounded_columns(table))
    if table.X.dtype.kind != "f":
        return table, nothing_to_fill, rounded
    infinite, n_missing = _odd_stored(table.X) if table.is_sparse else _odd_values(table.X)
    if infinite is not None:
        raise infinite_value(table, *infinite)
    empty = n_missing == table.X.shape[0]
    notes = [*rounded, *about_empty(table, np.flatnonzero(empty))]
    if empty.any():
        table, n_missing = table.with_features(np.flatnonzero(~empty)), n_missing[~empty]
    if not n_missing.any():
        return table, nothing_to_fill, notes
    return table, prepare, [*notes, about_missing(table, n_missing, prepare.impute)]


def _rounded_columns(table: Table) -> IntArray:
    """List columns of whole numbers that float64 rounds, as floats already: by their size."""
    from linkselect._samples import as_samples
    from linkselect._samples.samples import LARGEST_EXACT

    X = table.X
    if X.dtype.kind != "f" or table.is_sparse:
        return as_samples(X).rounded_columns()
    with np.errstate(invalid="ignore"):
        extreme = np.fmax(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0))
        # Larger ones no type of whole numbers holds, so that they are measurements.
        large = np.flatnonzero((extreme >= LARGEST_EXACT) & (extreme < 2.0**64))
        values = X[:, large]
        return large[((values == np.trunc(values)) | np.isnan(values)).all(axis=0)]


def about_rounding(table: Table, places: IntArray) -> list[str]:
    """Say which columns hold whole numbers that are too large to be told apart."""
    if not len(places):
        return []
    verb = "has" if len(places) == 1 else "have"
    return [
        f"{many(len(places), 'column')} {verb} whole numbers above 2^53, whose small differences "
        f"are lost ({_listed(table, places)}); leave ids out with --drop, or subtract the least "
        "value of the column before."
    ]


def infinite_value(table: Table, row: int, column: int) -> InputError:
    """Return the error for an infinite value."""
    name = shown(table.names[column])
    return InputError(
        f"{table.source}, row {row + 1}: column {name} is infinite. Correct it or empty the "
        f"cell, or leave the column out with --drop {name}."
    )


def too_large() -> InputError:
    """Return the error for a feature that cannot be scaled."""
    return InputError(
        "A feature is too large to be scaled or filled: it spans more than 1.8e308. Divide its "
        "values, or leave it out with --drop."
    )


def refuse_faint(table: Table, faint: IntArray) -> None:
    """Refuse what the library refuses, too, but by name; scaling changes such columns first."""
    from linkselect._samples.samples import FAINT

    if len(faint):
        varies = "varies" if len(faint) == 1 else "vary"
        raise InputError(
            f"{table.source}: {many(len(faint), 'feature')} {varies} by less than {FAINT:g} "
            f"({_listed(table, faint)}), and the squares of so small differences underflow to 0. "
            "Scale the features by --scale minmax, or leave columns out by --drop."
        )


def about_empty(table: Table, empty: IntArray) -> list[str]:
    """Say which columns have no value; refuse a table in which all are so."""
    if not len(empty):
        return []
    if len(empty) == len(table.names):
        raise InputError(
            f"{table.source}: no feature has a value in any row. Are values written in a way that "
            "means missing here, such as NA or ?"
        )
    named = _listed(table, empty)
    return [f"left out {many(len(empty), 'column')} without any value: {named}."]


def about_missing(
    table: Table, n_missing: IntArray, impute: Impute, first_row: int | None = None
) -> str:
    """Say where values are missing and were filled, or refuse them."""
    places = np.flatnonzero(n_missing)
    many_of = f"{n_missing.sum():,} of {table.X.shape[0] * len(table.names):,} values"
    where = f"in {len(places):,} of {len(table.names):,} columns ({_listed(table, places)})"
    if impute == "none":
        begins = "" if first_row is None else f", the first in row {first_row + 1:,}"
        raise InputError(
            f"{table.source}: {many_of} are missing {where}{begins}. Fill them with --impute "
            "median or mean, or leave columns out with --drop."
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


def _odd_stored(X: Any) -> tuple[tuple[int, int] | None, IntArray]:
    """Find the first infinite value of a CSR matrix, and count missing values in each column."""
    n_missing = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    infinite = np.flatnonzero(np.isinf(X.data))
    if not len(infinite):
        return None, n_missing
    row = np.searchsorted(X.indptr, infinite[0], side="right") - 1
    return (int(row), int(X.indices[infinite[0]])), n_missing


def _odd_values(X: NDArray[Any]) -> tuple[tuple[int, int] | None, IntArray]:
    """Find the first infinite value of an array, and count missing values in each column."""
    n_missing = np.zeros(X.shape[1], dtype=np.intp)
    n_rows = max(1, _BLOCK // X.shape[1])
    for start in range(0, X.shape[0], n_rows):
        block = X[start : start + n_rows]
        infinite = np.isinf(block)
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            return (start + row, column), n_missing
        n_missing += np.isnan(block).sum(axis=0)
    return None, n_missing
