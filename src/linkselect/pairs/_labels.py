"""Class codes of labels, detection of missing labels, and links that labels imply."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_random_state

from linkselect._arrays import BoolArray, IntArray
from linkselect._messages import GuidedValueError, many, warn_user
from linkselect.pairs._draws import by_row, numbered_pairs
from linkselect.pairs._groupings import Grouping
from linkselect.pairs._ids import check_ids

# Text for a missing label, as in CSV files and after `astype(str)`. NA is not in the list because
# it can be a label, such as the code of Namibia.
NO_LABEL = ("", "nan", "NaN", "NAN")


def label_array(y: Any, minus_one: bool = True) -> NDArray[Any]:
    """Return labels as an array that preserves missing labels.

    By contrast, `numpy.asarray` converts NaN and -1 in a list of text to text, and ignores the mask
    of a masked array. Empty text and the text `"nan"` are also treated as missing labels.

    Parameters
    ----------
    y : array-like
        The labels.
    minus_one : bool, default=True
        Whether -1 means unlabelled; otherwise it becomes `"-1"` in a list of text.

    Examples
    --------
    >>> label_array(["a", float("nan"), "b"]).tolist()
    ['a', nan, 'b']
    """
    labels = np.asarray(y)
    if isinstance(y, np.ma.MaskedArray) and y.mask.any():
        labels = _without(labels, np.ma.getmaskarray(y))
    if labels.dtype.kind in "US" and labels.ndim == 1 and not hasattr(y, "dtype"):
        given = np.array(list(y), dtype=object)
        missing = np.array([is_missing(label, minus_one) for label in given], dtype=bool)
        labels = np.where(missing, given, labels.astype(object)) if missing.any() else labels
    empty = _is_empty_text(labels)
    return _without(labels, empty) if empty.any() else labels


def _without(labels: NDArray[Any], missing: BoolArray) -> NDArray[Any]:
    found = labels.astype(object)
    found[missing] = None
    return found


def _is_empty_text(labels: NDArray[Any]) -> BoolArray:
    """Return a mask of the labels that are empty text or other text for a missing label."""
    if labels.dtype.kind in "US":
        return np.isin(np.strings.strip(labels), np.array(NO_LABEL, dtype=labels.dtype.kind))
    if labels.dtype.kind == "O":
        found = [isinstance(one, str) and one.strip() in NO_LABEL for one in labels.flat]
        return np.array(found, dtype=bool).reshape(labels.shape)
    return np.zeros(labels.shape, dtype=bool)


def warn_of_text(y: Any, noun: str = "label", of: str = "") -> None:
    """Warn if text such as "nan" is treated as a missing label, because it may be a class name."""
    labels = np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    empty = _is_empty_text(labels)
    if empty.any():
        found = sorted({repr(str(label)) for label in labels[empty]})
        meant = "class" if noun == "label" else noun
        verb = "is" if empty.sum() == 1 else "are"
        warn_user(
            f"{empty.sum():,} of {many(labels.size, noun)}{of} {verb} {' or '.join(found)} and "
            f"{verb} treated as missing.",
            hint=f'If this text is a {meant}, rename it, for example to "none".',
        )


def encode_labels(y: ArrayLike, minus_one: bool = True) -> tuple[IntArray, NDArray[Any]]:
    """Convert labels to class codes, with -1 for unlabelled samples (-1, None, NaN or NaT).

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels, all of the same type.
    minus_one : bool, default=True
        Whether -1 means unlabelled; otherwise it is a class.

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        Class code of each sample, from 0 to n_classes - 1, or -1 if the sample is unlabelled.
    classes : ndarray of shape (n_classes,)
        The label of each class code.

    Examples
    --------
    >>> codes, classes = encode_labels(["b", "a", "b"])
    >>> codes.tolist(), classes.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    labels = label_array(y, minus_one)
    if labels.ndim != 1:
        raise GuidedValueError(
            f"y must have one dimension, got shape {labels.shape}.",
            "Pass one label per sample; for one-hot columns, pass y.argmax(axis=1).",
        )
    known = known_labels(labels, minus_one)
    codes = np.full(labels.shape, -1, dtype=np.intp)
    try:
        classes, codes[known] = np.unique(labels[known], return_inverse=True)
    except TypeError:
        types = sorted({type(label).__name__ for label in labels[known]})
        raise GuidedValueError(
            f"y has labels of different types ({', '.join(types)}), which cannot be sorted.",
            "Convert the labels to one type, for example with y.astype(str).",
        ) from None
    return codes, classes


def known_labels(labels: NDArray[Any], minus_one: bool = True) -> BoolArray:
    """Return a mask of the labels that are not missing, for an array made by `label_array`."""
    if labels.dtype.kind == "O":
        return np.array([not is_missing(label, minus_one) for label in labels], dtype=bool)
    known: BoolArray = labels == labels
    return known & (labels != -1) if minus_one and labels.dtype.kind in "fiu" else known


@dataclass(frozen=True)
class LoneClass:
    """The only class of y apart from the label -1, which may be intended as a second class.

    Attributes
    ----------
    label : object
        The label of the class.
    n_minus_one : int
        The number of samples with the label -1.
    """

    label: Any
    n_minus_one: int

    @classmethod
    def find(cls, y: ArrayLike, codes: IntArray, classes: NDArray[Any]) -> LoneClass | None:
        """Return the only class of y if other samples have the label -1, otherwise None."""
        if len(classes) != 1:
            return None
        unknown = label_array(y)[codes < 0]
        # pandas.NA cannot be compared.
        comparable = (label for label in unknown if type(label).__name__ != "NAType")
        n_minus_one = sum(not isinstance(label, str) and label == -1 for label in comparable)
        return cls(classes[0], n_minus_one) if n_minus_one else None

    @property
    def is_one(self) -> bool:
        """Whether the class is 1, because with labels -1 and 1, -1 rarely means unlabelled."""
        return bool(self.label == 1)

    @property
    def problem(self) -> str:
        """Explanation of how -1 is interpreted."""
        return (
            f"y has only one class, {self.label!s}, and {many(self.n_minus_one, 'sample')} with "
            "the label -1, which means unlabelled here."
        )

    @property
    def hint(self) -> str:
        """Advice on how to use -1 as a class."""
        return "If -1 is a class, rename it: y = np.where(y == -1, 0, y)."

    def error(self) -> GuidedValueError:
        """Return an error whose message contains the problem and the hint."""
        return GuidedValueError(self.problem, self.hint, "y")


def is_missing(label: Any, minus_one: bool = True) -> bool:
    """Return whether a label or id is None, NaN, NaT or pandas.NA, or -1 if `minus_one`."""
    # pandas.NA cannot be compared, so it is recognised by the name of its type.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, str | tuple):
        return False
    return bool(label != label) or (minus_one and bool(label == -1))


# -- links that labels imply: all of them, or a random number of each kind -------------------------


def links_of_labels(
    y: Any,
    sample_ids: Iterable[Hashable] | None,
    n_must: int | None,
    n_cannot: int | None,
    random_state: Any,
) -> tuple[Any, ...]:
    """Return the arguments of `Pairs._set`, which contain either drawn links or classes.

    The parameters are those of `Pairs.from_labels`.
    """
    warn_of_text(y)
    codes, classes = encode_labels(y)
    lone = LoneClass.find(y, codes, classes)
    if lone is not None and (lone.is_one or n_cannot):
        raise lone.error()
    if sample_ids is None and hasattr(y, "index") and not callable(y.index):
        sample_ids = y.index
    ids = check_ids(range(len(codes)) if sample_ids is None else sample_ids, len(codes))
    numbered = ids == tuple(range(len(codes)))
    n_samples = len(codes) if numbered else None
    if n_must is None and n_cannot is None:
        nothing = np.empty((0, 2), dtype=np.intp)
        return ids, nothing, nothing, n_samples, (None, None), (Grouping(codes, codes),)
    must, cannot = draw_links(codes, n_must, n_cannot, check_random_state(random_state))
    return ids, must, cannot, n_samples, (None, None), ()


def draw_links(
    codes: IntArray, n_must: int | None, n_cannot: int | None, rng: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Draw must-links within classes and cannot-links between classes without listing all links.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class number of each sample, from 0, or -1 if it has no class.
    n_must, n_cannot : int or None
        The number of links to draw without replacement, or None for all links.
    rng : RandomState
        Random number generator for the draw.

    Returns
    -------
    must, cannot : ndarray of shape (n_links, 2)
        Row numbers of the samples, sorted within each link and across links.
    """
    by_class = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    sizes = np.bincount(codes[by_class]) if by_class.size else np.zeros(0, dtype=np.intp)
    must = by_class[_draw_within(sizes, n_must, rng)]
    cannot = by_class[_draw_between(sizes, n_cannot, rng)]
    return by_row(must), by_row(cannot)


def _draw(total: int, wanted: Any, kind: str, rng: np.random.RandomState) -> IntArray:
    """Draw distinct pair numbers below `total` without listing all numbers."""
    if wanted is None:
        return np.arange(total)
    if not isinstance(wanted, int | np.integer) or not 0 <= wanted <= total:
        raise GuidedValueError(
            f"n_{kind}={wanted!r}, but the labels imply {many(total, f'{kind}-link')}.",
            f"Choose a number from 0 to {total}, or None for all links.",
            f"n_{kind}",
        )
    if wanted == 0:
        return np.empty(0, dtype=np.intp)
    return np.sort(sample_without_replacement(total, wanted, random_state=rng))


def _draw_within(sizes: IntArray, wanted: int | None, rng: np.random.RandomState) -> IntArray:
    """Draw pairs of positions in the same class, for samples that are sorted by class."""
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    number = _draw(int(ends[-1]) if len(ends) else 0, wanted, "must", rng)
    group = np.searchsorted(ends, number, side="right")
    # Within a class, pairs are numbered along the lower triangle: pair t is in the last row b with
    # b (b - 1) / 2 <= t. The square root may be off by one for large t, which is corrected.
    t = number - (ends - sizes * (sizes - 1) // 2)[group]
    b = ((1 + np.sqrt(8.0 * t + 1)) // 2).astype(np.intp)
    b -= b * (b - 1) // 2 > t
    b += b * (b + 1) // 2 <= t
    start = (np.cumsum(sizes) - sizes)[group]
    return np.column_stack([start + t - b * (b - 1) // 2, start + b])


def _draw_between(sizes: IntArray, wanted: int | None, rng: np.random.RandomState) -> IntArray:
    """Draw pairs of positions in different classes, for samples that are sorted by class."""
    # The partners of each sample are all samples of later classes.
    start = np.repeat(np.cumsum(sizes), sizes)
    count = sizes.sum() - start
    number = _draw(int(count.sum()), wanted, "cannot", rng)
    return numbered_pairs(number, start, count)
