"""What is done to the values of a table before features are ranked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect.cli.errors import InputError, shown
from linkselect.cli.tables import Table

__all__ = ["Impute", "Scale", "check_values", "describe", "transformer"]

Scale = Literal["minmax", "standard", "none"]
Impute = Literal["none", "median", "mean"]

# Rows looked at a time, so that the search for odd values makes no second table.
_ROWS = 4096


def check_values(table: Table, impute: Impute) -> None:
    """Refuse infinite values, and missing ones that nobody asked to fill."""
    n_missing = np.zeros(len(table.names), dtype=np.intp)
    for start, block in _blocks(table.X):
        if np.isinf(block).any():
            row, column = np.argwhere(np.isinf(block))[0]
            raise InputError(
                f"{table.source}, row {start + row + 1}: column {shown(table.names[column])} is "
                "infinite. Correct it, or empty the cell and pass --impute median."
            )
        n_missing += np.isnan(block).sum(axis=0)
    if not n_missing.any():
        return
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


def _blocks(X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    if X.dtype.kind != "f":
        return
    for start in range(0, X.shape[0], _ROWS):
        block = X[start : start + _ROWS]
        yield start, (block.toarray() if issparse(block) else block)


def transformer(impute: Impute, scale: Scale, sparse: bool) -> Any:
    """Return what fills and scales, as one scikit-learn transformer; None if it is nothing."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    steps: list[Any] = []
    if impute != "none":
        from sklearn.impute import SimpleImputer

        steps.append(SimpleImputer(strategy=impute, keep_empty_features=True))
    if scale == "minmax":
        # Zeros must stay zeros, or a sparse table is sparse no more.
        steps.append(MaxAbsScaler() if sparse else MinMaxScaler())
    if scale == "standard":
        steps.append(StandardScaler(with_mean=not sparse))
    return make_pipeline(*steps) if steps else None


def describe(impute: Impute, scale: Scale, sparse: bool) -> str:
    """Say in one sentence what is done to the values."""
    scaled = {
        "minmax": "divided by its largest absolute value" if sparse else "scaled to [0, 1]",
        "standard": "scaled to variance 1" + ("" if sparse else " and mean 0"),
        "none": "taken as it is",
    }[scale]
    filled = "" if impute == "none" else f"; missing values were filled with its {impute}"
    return f"Each feature was {scaled}{filled}."
