"""Checks that the columns passed to `transform` are the same as those passed to `fit`."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linkselect._messages import GuidedValueError
from linkselect._samples.sources.annotated import is_annotated, names_of, unwrapped


def check_columns(estimator: Any, n_columns: int, names: Sequence[str] | None, label: str) -> None:
    """Raise the same error as scikit-learn if the columns differ from those passed to `fit`."""
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
        "Pass the columns used in fit, in the same order, with open_stored(X, columns=...).",
        "X",
    )


@contextmanager
def checked_matrix(estimator: Any, X: Any) -> Iterator[Any]:
    """Check the columns of an AnnData object and yield its matrix.

    Any other X is yielded unchanged.
    """
    if not is_annotated(X):
        yield X
        return
    names: Any = names_of(X)
    check_columns(estimator, X.n_vars, names, "the AnnData object")
    with warnings.catch_warnings():
        # A sparse matrix has no names, and they were checked above.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield unwrapped(X)
