"""Checks of what is passed to `compare`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkselect._arrays import IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError, many
from linkselect.evaluation._curves import RANDOM
from linkselect.evaluation._inputs import check_cv
from linkselect.evaluation._pair_folds import PairKFold
from linkselect.pairs import is_missing, label_array
from linkselect.selectors._method import describe


def check_methods(selectors: Mapping[str, Any]) -> None:
    """Refuse an empty comparison, what does not rank, and the name of the random choice."""
    if not isinstance(selectors, Mapping):
        raise GuidedTypeError(
            f"The methods to compare have names, but a {type(selectors).__name__} has none.",
            'Write {"fisher": FisherScore(), "laplacian": LaplacianScore()}.',
            "selectors",
        )
    if not selectors:
        raise GuidedValueError("There is no method to compare.", "Name one or more.")
    for name, one in selectors.items():
        if isinstance(one, type) or not (hasattr(one, "fit") and hasattr(one, "get_support")):
            raise GuidedTypeError(
                f"The method {name!r} is {one!r}, which is not a selector: it has no fit and "
                "get_support.",
                "Pass an object such as FisherScore() or SelectKBest().",
            )
    if RANDOM in selectors:
        raise GuidedValueError(
            f"A method is called {RANDOM!r}, but that is what features in random order are called "
            "in the result.",
            "Choose another name.",
        )


def check_measurable(
    selectors: Mapping[str, Any], has_labels: bool, pairs: Any, cv: PairKFold | None
) -> None:
    """Refuse a comparison with nothing to measure on, and methods that lack labels."""
    check_cv(cv)
    if has_labels:
        return
    if pairs is None:
        raise GuidedValueError(
            "Methods are compared on labels or on held-out pairs, but there are neither.",
            "Pass y, or pairs=.",
        )
    lacking = [name for name, one in selectors.items() if "labels" in describe(one).needs]
    if lacking:
        need = "needs" if len(lacking) == 1 else "need"
        raise GuidedValueError(
            f"{', '.join(lacking)} {need} labels, but there are only pairs.",
            "Leave out what needs labels, or pass y.",
        )


def check_classes(codes: IntArray, y: Any) -> None:
    """Refuse labels that cannot be split into training and test rows of every class.

    Parameters
    ----------
    codes : array of int
        Classes from 0; -1 for unlabelled rows.
    y : array-like
        The labels as they were passed; -1 among them may have been meant as a class.
    """
    sizes = np.bincount(codes[codes >= 0])
    if len(sizes) >= 2 and sizes.min() >= 2:
        return
    unlabelled = label_array(y)[codes < 0]
    has_minus_one = not all(is_missing(label, minus_one=False) for label in unlabelled)
    n_classes = f"{len(sizes)} {'class' if len(sizes) == 1 else 'classes'}"
    raise GuidedValueError(
        f"y has {n_classes}, the smallest with {many(sizes.min() if len(sizes) else 0, 'sample')}; "
        "a comparison needs two classes or more, each with two samples or more.",
        "-1 means unlabelled here; if it is a class, pass y.astype(str)." if has_minus_one else "",
    )


def check_numbers(top: int, n_splits: int, test_size: float) -> None:
    """Refuse numbers of best features, of splits and of test rows that cannot be used."""
    if top < 1:
        raise GuidedValueError(
            f"top={top}, but at least one feature is compared.", "Choose 1 or more."
        )
    if n_splits < 2:
        raise GuidedValueError(f"n_splits={n_splits}, but a test needs two splits or more.")
    if not 0 < test_size < 1:
        raise GuidedValueError(f"test_size={test_size}, but it is a share between 0 and 1.")
