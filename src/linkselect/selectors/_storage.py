"""What a selector does with stored samples: survey them, report the parts, choose columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from linkselect._arrays import IntArray
from linkselect._checks import TAKE_ROWS, warn_of_rounding
from linkselect._fit_inputs import Given
from linkselect._messages import GuidedValueError
from linkselect._samples.degenerate import rounded_columns
from linkselect._samples.one_pass import Surveyed, survey
from linkselect._samples.sources import Stored
from linkselect._samples.sources.opening import select_columns
from linkselect._samples.sources.running import reporting
from linkselect._samples.stored_forms import can_hold
from linkselect._supervision import Supervision
from linkselect.selectors._column_scorer import ColumnScorer

INSTEAD_OF_PARTS = (
    f"{TAKE_ROWS} Or use a method that reads parts, such as ConstraintScore, FisherScore or "
    "LaplacianScore; the guide to large data lists them."
)
# With more classes than this, their moments would take as much memory as the samples.
MANY_CLASSES = 1000


def surveyed(selector: Any, X: Stored, known: Any) -> Surveyed:
    """Check that all stored samples are finite; what scores begin with comes along."""
    score = hold = None
    if isinstance(selector, ColumnScorer):
        # What is needed of a part is taken at once: it is not read a second time.
        if X.by_columns:
            score = selector._column_score(known)
        else:
            hold = selector._rows_that_count(known)
    if hold is not None and not can_hold(X, len(hold)):
        hold = hold[:0]  # they are read afterwards, some columns at a time
    n_jobs = getattr(selector, "n_jobs", None)
    found = survey(X, _classes(known, X.shape[0]), n_jobs, score, hold)
    if not selector.wraps:
        names: Any = X.names or range(X.shape[1])
        warn_of_rounding([names[place] for place in rounded_columns(found)])
    return found


def _classes(known: Any, n_samples: int) -> IntArray:
    """Return the classes whose moments a score may ask for; of bare pairs it asks for the rows."""
    if isinstance(known, Given):
        known = known.supervision(n_samples, "drop")
    from_labels = isinstance(known, Supervision) and known.must is None
    if from_labels and known.classes.max(initial=-1) < MANY_CLASSES:
        return known.classes
    return np.full(n_samples, -1, dtype=np.intp)


@contextmanager
def parts_reported(estimator: Any, task: Any) -> Iterator[None]:
    """Report every part that was read to the callbacks of a fit, and to who asked before."""
    reading, reported, before = task, 0, reporting.get()

    def report(done: int, total: int, what: str) -> None:
        nonlocal reading, reported
        if before is not None:
            before(done, total, what)
        if not done:
            reading, reported = task.subcontext(task_name=what, max_subtasks=total), 0
            reading.call_on_fit_task_begin(estimator=estimator)
        # A cluster may end several parts before it is asked again.
        while reported < done:
            part = reading.subcontext(task_name="part")
            part.call_on_fit_task_begin(estimator=estimator)
            part.call_on_fit_task_end(estimator=estimator)
            reported += 1
            if reported == total:
                reading.call_on_fit_task_end(estimator=estimator)

    token = reporting.set(report)
    try:
        yield
    finally:
        reporting.reset(token)


def chosen_columns(selector: Any, X: Any, stored: Stored) -> Any:
    """Return the selected columns of stored samples without reading anything.

    A dask array stays one; everything else becomes a `Stored`.
    """
    check_is_fitted(selector)
    container = _get_output_config("transform", selector)["dense"]
    if container != "default":
        raise GuidedValueError(
            f"set_output(transform={container!r}) would read all of {stored.label} into a frame.",
            "Write set_output(transform='default'), or convert what transform returns.",
            "X",
        )
    _check_columns(selector, stored)
    columns = np.flatnonzero(selector.get_support())
    return select_columns(X, columns)


def _check_columns(selector: Any, stored: Stored) -> None:
    """Refuse other columns than those of the fit, in the words of scikit-learn."""
    if stored.shape[1] != selector.n_features_in_:
        raise GuidedValueError(
            f"X has {stored.shape[1]} features, but {type(selector).__name__} is expecting "
            f"{selector.n_features_in_} features as input.",
            "Pass the columns that it was fitted to.",
            "X",
        )
    expected = getattr(selector, "feature_names_in_", None)
    if expected is None or stored.names is None or stored.names == list(expected):
        return
    place = next(j for j, name in enumerate(stored.names) if name != expected[j])
    raise GuidedValueError(
        "The feature names should match those that were passed during fit: column "
        f"{place} of {stored.label} is {stored.names[place]!r}, and was {expected[place]!r}.",
        "Pass the columns that it was fitted to, in the same order: open_stored(X, columns=...).",
        "X",
    )
