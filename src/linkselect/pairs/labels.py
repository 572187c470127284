"""Labels as codes, and what counts as no label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkselect.arrays import IntArray
from linkselect.messages import GuidedValueError

__all__ = ["encode_labels", "is_missing"]


def encode_labels(y: ArrayLike) -> tuple[IntArray, NDArray[Any]]:
    """Number the classes of y, with -1 for unlabelled samples: those with -1, None or NaN.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of one type.

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        0 to n_classes - 1, or -1.
    classes : ndarray of shape (n_classes,)
        The label of each code.

    Examples
    --------
    >>> codes, classes = encode_labels(["b", "a", "b"])
    >>> codes.tolist(), classes.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise GuidedValueError(
            f"y must have one dimension, got shape {labels.shape}.",
            "Pass one label per sample; for one-hot columns, y.argmax(axis=1).",
        )
    if labels.dtype.kind == "O":
        known = np.array([not is_missing(label) for label in labels], dtype=bool)
    elif labels.dtype.kind in "fiu":
        known = (labels == labels) & (labels != -1)
    else:
        known = np.ones(labels.shape, dtype=bool)
    codes = np.full(labels.shape, -1, dtype=np.intp)
    try:
        classes, codes[known] = np.unique(labels[known], return_inverse=True)
    except TypeError:
        types = sorted({type(label).__name__ for label in labels[known]})
        raise GuidedValueError(
            f"y mixes labels of the types {', '.join(types)}, which have no common order.",
            "Make them one type, such as y.astype(str).",
        ) from None
    return codes, classes


def is_missing(label: Any, minus_one: bool = True) -> bool:
    """Tell whether a label or id is None, NaN or pandas.NA, or -1 if `minus_one`."""
    # pandas.NA refuses to be compared, so it is known by its type's name.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, str | tuple):
        return False
    return bool(label != label) or (minus_one and bool(label == -1))
