"""Checks that the columns passed to `transform` are those passed to `fit`."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linkselect._messages import GuidedValueError
from linkselect._samples.sources.annotated import is_annotated, names_of, unwrapped


def check_columns(estimator: Any, n_columns: int, names: Sequence[str] | None, label: str) -> None:
    """Raise an error worded as in scikit-learn if the columns differ from those of the fit."""
    if n_columns != estimator.n_features_in_:
        raise GuidedValueError(
            f"X has {n_columns} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input.",
            "Pass the columns used in fit.",
            "X",
        )
    expected = getattr(estimator, "feature_names_in_", None)
    if expected is None or names is None or list(names) == list(expected):
        return
    place = next(j for j, name in enumerate(names) if name != expected[j])
    raise GuidedValueError(
        "The feature names should match those that were passed during fit: column "
        f"{place} of {label} is {names[place]!r}, but was {expected[place]!r}.",
        "Pass the columns used in fit, in the same order: open_stored(X, columns=...).",
        "X",
    )


@contextmanager
def checked_matrix(estimator: Any, X: Any) -> Iterator[Any]:
    """Yield the matrix of an AnnData object after checking its columns; any other X unchanged."""
    if not is_annotated(X):
        yield X
        return
    names: Any = names_of(X)
    check_columns(estimator, X.n_vars, names, "the AnnData object")
    with warnings.catch_warnings():
        # A sparse matrix has no names, and they were checked above.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield unwrapped(X)
