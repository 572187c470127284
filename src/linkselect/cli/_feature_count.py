"""Determine the number of features that `linkselect rank` keeps."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from linkselect.cli._choices import described
from linkselect.cli._errors import UsageError
from linkselect.cli._tables import Table

if TYPE_CHECKING:
    from linkselect.evaluation import NumberOfFeatures

# A search by accuracy is slow, and reaches its optimum after few steps.
MOST_STEPS_BY_ACCURACY = 100


def number_typed(text: str, data: Table) -> int | float | str:
    """Parse the number of features: a whole number, a fraction, or "auto"."""
    if text == "auto":
        return text
    n_all = len(data.names)
    try:
        count = float(text)
    except ValueError:
        count = -1.0
    if 0 < count < 1:
        return count
    if 1 <= count <= n_all and count.is_integer():
        return int(count)
    raise UsageError(
        f"--n-features {text}, but {data.source} has {n_all} features. Choose a whole number from "
        f"1 to {n_all}, a fraction below 1 such as 0.5, or auto."
    )


def prepare_number(selector: Any, wanted: int | float | str, n_features: int) -> None:
    """Set the number of features for the first fit, before a rule chooses the final number.

    Searches and wrapped selectors are limited to the largest number that a rule can choose.
    """
    from linkselect.evaluation._number_of_features import largest_number

    if wanted != "auto":
        selector.set_params(n_features_to_select=wanted)
        return
    most = largest_number(n_features)
    method = described(selector)
    if method.wraps and "estimator__n_features_to_select" in selector.get_params():
        inner = selector.estimator
        if inner.n_features_to_select == "auto" and not getattr(inner, "own_number", ""):
            selector.set_params(estimator__n_features_to_select=most)
    if method.searches and not getattr(selector, "own_number", ""):
        steps = min(most, MOST_STEPS_BY_ACCURACY) if method.path_has_optimum else most
        selector.set_params(n_features_to_select=steps)


def keep_number(
    selector: Any, wanted: int | float | str, X: Any, y: Any, by_parts: bool, **known: Any
) -> NumberOfFeatures:
    """Choose the number of features, unless the user set it, and apply it to a fitted selector.

    Parameters
    ----------
    selector : fitted selector
        The selector, which is refitted if its result depends on the number of features.
    wanted : int, float or "auto"
        The value of --n-features.
    X, y
        The data on which the selector was fitted.
    by_parts : bool
        Whether X is read in parts, so that it must not be read again.
    **known
        Further arguments of `choose_number`.
    """
    from linkselect.evaluation import NumberOfFeatures, choose_number
    from linkselect.evaluation._number_of_features import number_without_labels, stated_number
    from linkselect.selectors._method import uses_groups
    from linkselect.selectors._ranking import keep, name_features
    from linkselect.selectors._selector import RankingSelector

    if wanted != "auto":
        why = "The number of features was set by --n-features."
        return NumberOfFeatures(int(selector.n_features_), "given", why)
    if by_parts and (stated := stated_number(selector)) is not None:
        return stated
    if by_parts:
        number = number_without_labels(len(selector.ranking_))
        why = "Half of the features, but at most 300, are kept if a table is read in parts."
        found = NumberOfFeatures(number, "half, at most 300", why)
    else:
        found = choose_number(selector, X, y, **known)
        if found.n_features == selector.n_features_:
            return found
    method = described(selector)
    ranks_alike = isinstance(selector, RankingSelector) and not (method.searches or method.wraps)
    if by_parts or ranks_alike:
        keep(selector, found.n_features)  # scores do not depend on the number
    else:
        names = selector.feature_names_in_
        selector.set_params(n_features_to_select=found.n_features)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first fit has already warned
            groups = {"groups": known["groups"]} if uses_groups(selector) else {}
            selector.fit(X, y, pairs=known["pairs"], sample_ids=known["sample_ids"], **groups)
        name_features(selector, names)
    return found
