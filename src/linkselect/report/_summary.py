"""What a report says, as plain data: nothing here knows how it will look."""

from __future__ import annotations

import platform
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

import linkselect
from linkselect._checks import index_of, refuse_stored
from linkselect._display import check_shape, pair_rows, two_dimensional_view
from linkselect._messages import GuidedTypeError, many
from linkselect._samples import Samples, as_samples
from linkselect.pairs import Pairs
from linkselect.report._number_summary import describe_number
from linkselect.report._plain import MOST_LISTED, plain_number, plain_text
from linkselect.report._profiles import describe_profiles
from linkselect.report._schema import (
    SCHEMA_VERSION,
    DataSummary,
    MaskSummary,
    MethodSummary,
    Parameter,
    PathSummary,
    ProfilesSummary,
    RankingSummary,
    Summary,
    SupervisionSummary,
    ValidationSummary,
    ViewSummary,
)
from linkselect.report._supervision_summary import describe_supervision
from linkselect.report._validation_summary import alarms, describe_validation
from linkselect.selectors._foreign import Ranked
from linkselect.selectors._method import classes_seen, describe

if TYPE_CHECKING:
    from linkselect.evaluation import NumberOfFeatures, Validation

# A picture with more would be a blot, and the page would be slow.
MOST_DRAWN_PAIRS = 300
MOST_DRAWN_SAMPLES = 1500
LITTLE_COVERAGE = 0.05
TIED = (
    "The last selected feature and the first one left out have the same score, so the choice "
    "between them is arbitrary."
)


def summarize(
    selector: Any,
    X: Any,
    y: ArrayLike | None = None,
    pairs: Pairs | None = None,
    *,
    sample_ids: Iterable[Hashable] | None = None,
    source: str | None = None,
    call: str | None = None,
    preparation: str | None = None,
    image_shape: tuple[int, int] | None = None,
    image_order: Literal["C", "F"] = "C",
    notes: Sequence[str] | None = None,
    warnings: Sequence[str] = (),
    seconds: float | None = None,
    view: bool = True,
    validation: Validation | None = None,
    number: NumberOfFeatures | None = None,
    values: Any = None,
) -> Summary:
    """Gather what a report says about a fitted selector, as plain data.

    Everything in it can be written as JSON: a missing score is None, an infinite one the text
    "inf" or "-inf".

    Parameters
    ----------
    selector : fitted selector
        One of this library.
    X, y, pairs
        What it was fitted on.
    sample_ids : iterable of hashable, optional
        The ids that the pairs use. Default: the index of a pandas frame, else row numbers.
    source : str, optional
        Where the data come from, such as the name of a file.
    call : str, optional
        What to type to get the same result. Default: the call in Python.
    preparation : str, optional
        What was done to the data before the selector was fitted.
    image_shape : (int, int), optional
        Height and width, if each feature is a pixel; the report then shows the mask.
    image_order : {"C", "F"}, default="C"
        Whether pixels run along rows or down columns.
    notes : sequence of str, optional
        What to say first, instead of which of y and pairs the method does not look at.
    warnings : sequence of str, default=()
        What the selector warned of when it was fitted.
    seconds : float, optional
        How long that took.
    view : bool, default=True
        Whether to gather what pictures of samples and of single features need.
    validation : Validation, optional
        What `linkselect.evaluation.validate` found. What speaks against the selected features is
        in `alarms`.
    number : NumberOfFeatures, optional
        Why so many features are selected, as `linkselect.evaluation.choose_number` found.
    values : array, sparse matrix or frame, optional
        X before it was prepared, in the units that a reader knows. Default: X.

    Returns
    -------
    dict
        `schema_version`, `source`, `call`, `version`, `method`, `data`, `supervision`, `ranking`,
        `path`, `view`, `mask`, `validation`, `number_of_features`, `profiles`, `alarms`, `notes`,
        `warnings` and `seconds`; `linkselect.report._schema.Summary` has the type of each.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore
    >>> from linkselect.report import summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> summary = summarize(FisherScore(n_features_to_select=2).fit(X, y), X, y)
    >>> summary["ranking"]["feature"]
    ['x2', 'x3', 'x0', 'x1']
    >>> summary["supervision"]["kind"]
    'labels'
    """
    _check_given(selector, X)
    values = X if values is None else values
    ids = _ids(X, sample_ids)
    used_y, used_pairs = _used(selector, y, pairs)
    data = _describe_data(selector, X, values, preparation)
    supervision = describe_supervision(selector, used_y, used_pairs, ids)
    ranking = _describe_ranking(selector)
    if notes is None:
        notes = _ignored(type(selector).__name__, (y, used_y), (pairs, used_pairs))
    found = _describe_validation(selector, validation)
    return {
        "schema_version": SCHEMA_VERSION,
        "source": None if source is None else plain_text(source),
        "call": plain_text(call or _python_call(selector, used_y, used_pairs, sample_ids)),
        "version": _versions(),
        "method": _describe_method(selector),
        "data": data,
        "supervision": supervision,
        "ranking": ranking,
        "path": _describe_path(selector),
        "view": _describe_view(X, used_pairs, ids) if view else None,
        "mask": _describe_mask(selector, image_shape, image_order),
        "validation": found,
        "number_of_features": describe_number(selector, number),
        "profiles": _describe_profiles(selector, values, used_y, used_pairs, ids) if view else None,
        "alarms": [] if found is None else alarms(found, data["n_features"]),
        "notes": [*map(plain_text, notes), *_notes(selector, data, supervision, ranking)],
        "warnings": [plain_text(warning) for warning in warnings],
        "seconds": None if seconds is None else round(seconds, 4),
    }


def _check_given(selector: Any, X: Any) -> None:
    check_is_fitted(selector)
    if not hasattr(selector, "order_"):
        raise GuidedTypeError(
            f"{type(selector).__name__} has no order_.",
            "Pass a fitted selector of linkselect, of a Pipeline its step: pipeline['selector'].",
        )
    if not isinstance(X, Samples):  # as the command line passes what it has read by parts
        refuse_stored("A report", X, "The command line writes one: linkselect rank FILE --report.")


def _n_samples(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _ids(X: Any, sample_ids: Iterable[Hashable] | None) -> tuple[Hashable, ...]:
    found = index_of(X) if sample_ids is None else sample_ids
    return tuple(range(_n_samples(X))) if found is None else tuple(found)


def _used(selector: Any, y: Any, pairs: Pairs | None) -> tuple[Any, Pairs | None]:
    """Return y or pairs, whichever the method looks at; pairs come first."""
    sees = describe(selector).sees
    if sees == "pairs" and pairs is not None:
        return None, pairs
    return (None if sees == "nothing" else y), None


def _ignored(name: str, y: tuple[Any, Any], pairs: tuple[Any, Any]) -> list[str]:
    """Say what was given, but not looked at; each comes as given and as used."""
    if y[0] is not None and y[1] is None and pairs[1] is not None:
        return ["The labels did not count, since pairs were given."]
    unused = [
        word
        for word, (given, used) in (("labels", y), ("pairs", pairs))
        if given is not None and used is None
    ]
    return [f"{name} does not look at {' or '.join(unused)}."] if unused else []


def _versions() -> dict[str, str]:
    return {
        "linkselect": linkselect.__version__,
        "scikit-learn": sklearn.__version__,
        "SciPy": scipy.__version__,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
    }


def _plain_value(value: Any) -> float | bool | str | None:
    """Return a parameter as JSON can hold it; what is no number, truth value or text as code."""
    if value is None or isinstance(value, bool | str):
        return plain_text(value) if isinstance(value, str) else value
    if isinstance(value, int | float | np.number) and np.isfinite(value):
        return value.item() if isinstance(value, np.number) else value
    return plain_text(repr(value))


def _describe_method(selector: Any) -> MethodSummary:
    method, n_selected = describe(selector), int(selector.get_support().sum())
    if isinstance(selector, Ranked):  # it only adds a ranking to a selector of another library
        selector = selector.estimator_
    kind = type(selector)
    usual = {} if method.wraps else kind().get_params(deep=False)
    parameters: list[Parameter] = [
        {
            "name": name,
            "value": _plain_value(value),
            "usual": name in usual and repr(usual[name]) == repr(value),
        }
        for name, value in selector.get_params(deep=False).items()
    ]
    return {
        "name": kind.__name__,
        "about": (kind.__doc__ or "").strip().split("\n")[0],
        "parameters": parameters,
        "greater_is_better": method.greater_is_better,
        "n_selected": n_selected,
    }


def _describe_data(selector: Any, X: Any, unprepared: Any, preparation: str | None) -> DataSummary:
    names = [plain_text(name) for name in _check_feature_names_in(selector)]
    samples = as_samples(X)
    where = {"parts": "stored", "sparse": "sparse"}.get(samples.kind, "dense")
    n_missing = 0 if where == "stored" else as_samples(unprepared).count_missing()
    constant = np.flatnonzero(samples.constant_columns())
    return {
        "n_samples": _n_samples(X),
        "n_features": len(names),
        "kind": f"{where}, {samples.dtype}",
        "named": hasattr(selector, "feature_names_in_"),
        "preparation": None if preparation is None else plain_text(preparation),
        "n_missing": n_missing,
        "n_constant": len(constant),
        "constant": [names[feature] for feature in constant[:MOST_LISTED]],
    }


def _describe_ranking(selector: Any) -> RankingSummary:
    order = np.asarray(selector.order_)
    names = _check_feature_names_in(selector)
    return {
        "feature": [plain_text(names[feature]) for feature in order],
        "score": [plain_number(selector.scores_[feature]) for feature in order],
        "rank": list(range(1, len(order) + 1)),
        "selected": [bool(chosen) for chosen in selector.get_support()[order]],
    }


def _describe_path(selector: Any) -> PathSummary | None:
    values = getattr(selector, "path_", None)
    if values is None or len(values) < 2:
        return None
    errors = getattr(selector, "standard_error_", None)
    return {
        "values": [plain_number(value) for value in values],
        "errors": None if errors is None else [plain_number(error) for error in errors],
        "has_optimum": describe(selector).path_has_optimum,
    }


def _describe_view(X: Any, pairs: Pairs | None, ids: tuple[Hashable, ...]) -> ViewSummary | None:
    """Place some samples in two dimensions: those of the drawn pairs, and others around them."""
    if pairs is None:
        return None
    links = pair_rows(pairs, X, ids)
    share = min(1.0, MOST_DRAWN_PAIRS / max(1, sum(map(len, links))))
    must, cannot = (_evenly(link, int(np.ceil(share * len(link)))) for link in links)
    named = np.unique(np.concatenate([must.ravel(), cannot.ravel()]))
    others = np.setdiff1d(np.arange(len(ids)), named)
    rows = np.union1d(named, _evenly(others, MOST_DRAWN_SAMPLES - len(named)))
    points, labels = two_dimensional_view(as_samples(X).take(rows).values)
    # Threads add in another order; fewer digits than that keep reports the same.
    width = float(np.abs(points).max()) or 1.0
    return {
        "points": np.round(points / width, 4).tolist(),
        "labels": list(labels),
        "must": np.searchsorted(rows, must).tolist(),
        "cannot": np.searchsorted(rows, cannot).tolist(),
        "n_must": len(links[0]),
        "n_cannot": len(links[1]),
    }


def _describe_profiles(
    selector: Any, X: Any, y: Any, pairs: Pairs | None, ids: tuple[Hashable, ...]
) -> ProfilesSummary:
    order = np.asarray(selector.order_)
    selected = order[np.asarray(selector.get_support())[order]]
    names = [plain_text(name) for name in _check_feature_names_in(selector)]
    classes = None if y is None else classes_seen(selector, y)
    return describe_profiles(selected, names, X, classes, pairs, ids)


def _evenly(items: NDArray[Any], n_wanted: int) -> NDArray[Any]:
    if n_wanted >= len(items):
        return items
    return items[np.linspace(0, len(items) - 1, max(n_wanted, 0)).astype(np.intp)]


def _describe_mask(
    selector: Any, shape: tuple[int, int] | None, order: Literal["C", "F"]
) -> MaskSummary | None:
    if shape is None:
        return None
    selected = selector.get_support()
    pixels = selected.reshape(check_shape(shape, len(selected)), order=order)
    return {"pixels": pixels.astype(int).tolist()}


def _describe_validation(selector: Any, validation: Validation | None) -> ValidationSummary | None:
    if validation is None:
        return None
    names = [plain_text(name) for name in _check_feature_names_in(selector)]
    return describe_validation(validation, names)


def _python_call(selector: Any, y: Any, pairs: Pairs | None, sample_ids: Any) -> str:
    inner = [selector.estimator] if describe(selector).wraps else []
    kinds = [type(one).__name__ for one in (selector, *inner)]
    names = ", ".join(sorted(name for name in kinds if name in linkselect.__all__))
    given = "X" if y is None else "X, y"
    given += "" if pairs is None else ", pairs=pairs"
    given += "" if pairs is None or sample_ids is None else ", sample_ids=sample_ids"
    return f"from linkselect import {names}\n\nselector = {selector!r}\nselector.fit({given})"


def _notes(
    selector: Any,
    data: DataSummary,
    supervision: SupervisionSummary,
    ranking: RankingSummary,
) -> list[str]:
    """Say in sentences what a reader should look at before trusting the ranking."""
    n_unscored = sum(score is None for score in ranking["score"])
    found = [
        (
            supervision.get("n_conflicts", 0) > 0,
            f"{many(supervision.get('n_conflicts', 0), 'cannot-link')} contradicted the "
            "must-links and did not count.",
        ),
        (
            supervision.get("lost", 0) > 0,
            f"{many(supervision.get('lost', 0), 'pair')} had an end that is not in the data "
            "and did not count.",
        ),
        (
            supervision["kind"] != "none" and supervision["coverage"] < LITTLE_COVERAGE,
            f"Only {supervision['coverage']:.1%} of the samples have a label or a pair.",
        ),
        # What was done about them is said where the preparation is described.
        (
            data["n_missing"] > 0 and data["preparation"] is None,
            f"The data lack {many(data['n_missing'], 'value')}.",
        ),
        (
            data["n_constant"] > 0,
            f"The data hold {many(data['n_constant'], 'constant feature')}, the same in every "
            "sample.",
        ),
        (n_unscored > 0, f"There is no score for {many(n_unscored, 'feature')}, ranked last."),
        (
            _chooses_by_score(selector) and _tied_at_the_cut(ranking),
            TIED,
        ),
    ]
    return [sentence for holds, sentence in found if holds]


def _chooses_by_score(selector: Any) -> bool:
    """Tell whether equal scores are a tie: a search, or many draws, know more than scores."""
    return not hasattr(selector, "path_") and not hasattr(selector, "selection_frequencies_")


def _tied_at_the_cut(ranking: RankingSummary) -> bool:
    scores, n_selected = ranking["score"], sum(ranking["selected"])
    if not 0 < n_selected < len(scores) or scores[n_selected] is None:
        return False
    return bool(scores[n_selected - 1] == scores[n_selected])
