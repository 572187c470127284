"""What is done to the values of a table before features are ranked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect.arrays import IntArray
from linkselect.cli.errors import InputError, shown
from linkselect.cli.tables import Table

__all__ = ["DEFAULT_PREPARATION", "Impute", "Preparation", "Scale", "check_values"]

Scale = Literal["minmax", "standard", "none"]
Impute = Literal["none", "median", "mean"]

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
        What to put where a value is missing.
    """

    scale: Scale = "minmax"
    impute: Impute = "none"

    def transformer(self, sparse: bool) -> Any:
        """Return what fills and scales, as one scikit-learn transformer; None if it is nothing."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

        steps: list[Any] = []
        if self.impute != "none":
            from sklearn.impute import SimpleImputer

            steps.append(SimpleImputer(strategy=self.impute, keep_empty_features=True))
        if self.scale == "minmax":
            # Zeros must stay zeros, or a sparse table is sparse no more.
            steps.append(MaxAbsScaler() if sparse else MinMaxScaler())
        if self.scale == "standard":
            steps.append(StandardScaler(with_mean=not sparse))
        return make_pipeline(*steps) if steps else None

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


def check_values(table: Table, impute: Impute) -> None:
    """Refuse infinite values, and missing ones that nobody asked to fill."""
    if table.X.dtype.kind != "f":
        return
    infinite, n_missing = _odd_stored(table.X) if table.is_sparse else _odd_values(table.X)
    if infinite is not None:
        row, column = infinite
        raise InputError(
            f"{table.source}, row {row + 1}: column {shown(table.names[column])} is "
            "infinite. Correct it, or empty the cell and pass --impute median."
        )
    if n_missing.any():
        _check_missing(table, n_missing, impute)


def _check_missing(table: Table, n_missing: IntArray, impute: Impute) -> None:
    places = np.flatnonzero(n_missing)
    if impute == "none":
        names = ", ".join(shown(table.names[place]) for place in places[:3])
        raise InputError(
            f"{table.source}: {n_missing.sum():,} values are missing in {len(places)} of "
            f"{len(table.names)} columns ({names}{', ...' if len(places) > 3 else ''}). Fill them "
            "with --impute median, or leave columns out with --drop."
        )
    empty = np.flatnonzero(n_missing == table.X.shape[0])
    if len(empty):
        name = table.names[empty[0]]
        raise InputError(
            f"{table.source}: column {shown(name)} has no value in any row. "
            f"Leave it out: --drop {shown(name)}."
        )


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
