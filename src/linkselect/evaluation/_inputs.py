"""What the measures are given: samples, pairs in the order of their rows, and selectors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names, _num_samples, check_consistent_length

from linkselect._arrays import IntArray, Matrix
from linkselect._checks import Given, check_spread, refuse_stored, without_mask
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect._resampling import seeded
from linkselect._samples import as_samples
from linkselect._supervision import by_rows, present_pairs
from linkselect.evaluation._pair_folds import LEAVE_CONFLICTS_OUT, PairKFold
from linkselect.pairs import PairConflictError, Pairs, describe_conflicts
from linkselect.selectors._method import describe


def check_matrix(X: Any) -> Matrix:
    """Check samples as the selectors do; return them as an array or in CSR."""
    refuse_stored("This measure", X)
    names = _get_feature_names(X)
    found = check_array(
        without_mask(X),
        accept_sparse=("csr", "csc"),
        dtype="numeric",  # integers stay integers until distances are computed
        ensure_min_samples=2,
        input_name="X",
    )
    check_spread(found, names)
    return as_samples(found).rows_first


def check_selector(selector: Any) -> None:
    """Refuse what is not an instance of a selector, such as its class or its name."""
    if isinstance(selector, type) or not (
        hasattr(selector, "fit") and hasattr(selector, "get_params")
    ):
        raise GuidedTypeError(
            f"{selector!r} is not a selector.",
            "Pass one that is not fitted yet, such as ConstraintScore().",
            "selector",
        )


def check_cv(cv: Any) -> None:
    """Refuse splits of anything but pairs."""
    if cv is not None and not isinstance(cv, PairKFold):
        raise GuidedTypeError(
            f"cv={cv!r}, but it says how pairs are held out.",
            "Pass a PairKFold, such as PairKFold(5, random_state=0).",
            "cv",
        )


def order_of(fitted: Any) -> IntArray:
    """Return the features of a fitted selector, best first."""
    if not hasattr(fitted, "order_"):
        name = type(fitted).__name__
        raise GuidedValueError(
            f"{name} has no order_ after fitting, so which features are best is not known.",
            f"Put it into a selector that ranks, such as StableSelector({name}()).",
            "selector",
        )
    return np.asarray(fitted.order_)


def reproducible(selector: Any, seed: int = 0) -> Any:
    """Copy a selector with a seed wherever `random_state` is None, also inside it.

    Otherwise two fits differ by their draws, too, and not only by what they are told.
    """
    return seeded(selector, np.random.RandomState(seed), only_unset=True)


def read_given(selector: Any, X: Any, y: Any, pairs: Any, sample_ids: Any) -> Given:
    """Read what is told beside X, as `fit` would; pairs in the order of their rows."""
    n_samples = _num_samples(X)
    if y is not None:
        check_consistent_length(X, y)
    if pairs is None or describe(selector).sees not in ("pairs", "nothing"):
        return Given(y)
    given = Given.read(X, y, pairs, sample_ids)
    held, ids = ordered_pairs(pairs, n_samples, given.sample_ids, ids_are_index=given.ids_are_index)
    return Given(y, held, ids)


def ordered_pairs(
    pairs: Pairs,
    n_samples: int,
    sample_ids: Iterable[Hashable] | None = None,
    *,
    ids_are_index: bool = False,
) -> tuple[Pairs, tuple[Hashable, ...]]:
    """Return the pairs among the samples in the order of their rows, and the id of each row.

    What is measured does not depend on the order in which pairs are listed, or their ends named.
    """
    held, row_of = present_pairs(pairs, n_samples, sample_ids, ids_are_index=ids_are_index)
    ids = tuple(row_of)
    return by_rows(held, row_of, ids), ids


def in_order_of_rows(
    pairs: Pairs,
    n_samples: int,
    sample_ids: Iterable[Hashable] | None = None,
    *,
    ids_are_index: bool = False,
    selectors: Iterable[Any] = (),
) -> Pairs:
    """Return the pairs among the samples by row number, in an order that says nothing.

    Contradicted cannot-links are left out if that is what every selector that sees pairs does.
    """
    held, ids = ordered_pairs(pairs, n_samples, sample_ids, ids_are_index=ids_are_index)
    if held.n_conflicts:
        ways = {way for one in selectors for way in _ways_with_conflicts(one)}
        if not ways or "raise" in ways:  # said here, where samples still have their ids
            raise PairConflictError(describe_conflicts(held), LEAVE_CONFLICTS_OUT)
        held = held.without_conflicts()
    row_of = {sample: row for row, sample in enumerate(ids)}
    return by_rows(held, row_of, tuple(range(n_samples)), n_samples)


def _ways_with_conflicts(selector: Any) -> list[str]:
    """List what a selector does about conflicts, or those inside it that look at pairs."""
    if describe(selector).sees != "pairs":
        return []
    members = getattr(selector, "estimators", None)
    if isinstance(members, list | tuple):
        return [way for _, member in members for way in _ways_with_conflicts(member)]
    if hasattr(selector, "estimator"):
        return _ways_with_conflicts(selector.estimator)
    return [getattr(selector, "on_conflict", "raise")]
