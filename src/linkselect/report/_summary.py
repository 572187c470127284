"""Summarize a fitted selector as plain data, independent of the layout of a report."""

from __future__ import annotations

import platform
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

import linkselect
from linkselect._arrays import IntArray
from linkselect._display import check_shape, checked_names
from linkselect._messages import GuidedTypeError, about_constant, many
from linkselect._samples import Samples, as_samples
from linkselect._samples.checks import index_of, refuse_stored
from linkselect._search.correlations import COPY, FEWEST_FOR_COPIES
from linkselect.pairs import Pairs
from linkselect.report import _schema as schema
from linkselect.report._schema import MOST_LISTED, SCHEMA_VERSION, plain_number, plain_text
from linkselect.report._used_summary import describe_profiles, describe_supervision, describe_view
from linkselect.report._validation_summary import alarms, describe_validation
from linkselect.selectors._feature_rules import FeatureRules
from linkselect.selectors._foreign import Ranked
from linkselect.selectors._method import classes_seen, describe
from linkselect.selectors._reasons import feature_reasons, unstable_features

if TYPE_CHECKING:
    from linkselect.evaluation import FeaturePValues, NumberOfFeatures, Validation

LITTLE_COVERAGE = 0.05
TIED = (
    "The last selected feature and the next one have the same score, so the choice between them "
    "is arbitrary."
)


def summarize(
    selector: Any,
    X: Any,
    y: ArrayLike | None = None,
    pairs: Pairs | None = None,
    *,
    sample_ids: Iterable[Hashable] | None = None,
    feature_names: Sequence[str] | None = None,
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
    significance: FeaturePValues | None = None,
) -> schema.Summary:
    """Summarize a fitted selector as plain data for a report.

    The summary can be stored as JSON: a missing score is None, and an infinite score is the string
    "inf" or "-inf".

    Parameters
    ----------
    selector : fitted selector
        A selector of this library.
    X, y, pairs
        The data on which the selector was fitted.
    sample_ids : iterable of hashable, optional
        The sample IDs used in the pairs. Default: the index of a pandas DataFrame, otherwise row
        numbers.
    feature_names : sequence of str, optional
        One name per feature. Default: the column names of the X passed to `fit`, otherwise x0, x1,
        ...
    source : str, optional
        The source of the data, such as the name of a file.
    call : str, optional
        The command or code that reproduces the result. Default: the Python code.
    preparation : str, optional
        A description of how the data were prepared.
    image_shape : (int, int), optional
        Height and width of the images if each feature is a pixel. The report then shows the
        selected pixels.
    image_order : {"C", "F"}, default="C"
        Whether pixels are ordered by rows ("C") or by columns ("F").
    notes : sequence of str, optional
        Notes on the data. Default: a note on labels and pairs that the method ignores.
    warnings : sequence of str, default=()
        Warnings issued by `fit`.
    seconds : float, optional
        Time for fitting the selector, in seconds.
    view : bool, default=True
        Whether to include data for figures of the samples and of single features.
    validation : Validation, optional
        The result of `linkselect.evaluation.validate`. If the selected features are unstable or
        perform no better than others, `alarms` contains a warning.
    number : NumberOfFeatures, optional
        The result of `linkselect.evaluation.choose_number`.
    values : array, sparse matrix or frame, optional
        The samples before preparation, in their original units. Default: X.
    significance : FeaturePValues, optional
        The result of `linkselect.evaluation.feature_p_values`.

    Returns
    -------
    dict
        A dictionary with the keys `schema_version`, `source`, `call`, `version`, `method`, `data`,
        `supervision`, `ranking`, `path`, `view`, `mask`, `validation`, `number_of_features`,
        `profiles`, `alarms`, `notes`, `warnings` and `seconds`.
        `linkselect.report._schema.Summary` defines the types of the values.

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
    ids, values = _checked_ids(selector, X, sample_ids), X if values is None else values
    names = [plain_text(name) for name in checked_names(selector, feature_names)]
    classes, used_pairs, ignored = _used(selector, y, pairs)
    data = _describe_data(selector, X, values, names, preparation)
    supervision = describe_supervision(classes, used_pairs, ids)
    ranking = _describe_ranking(selector, names, X, validation, significance)
    found = describe_validation(validation, names)
    shown = (_selected(selector), names, values, classes, used_pairs, ids)
    return {
        "schema_version": SCHEMA_VERSION,
        "source": None if source is None else plain_text(source),
        "call": plain_text(call or _python_call(selector, classes, used_pairs, sample_ids)),
        "version": _versions(),
        "method": _describe_method(selector),
        "data": data,
        "supervision": supervision,
        "ranking": ranking,
        "path": _describe_path(selector),
        "view": describe_view(X, used_pairs, ids) if view and used_pairs is not None else None,
        "mask": _describe_mask(selector, image_shape, image_order),
        "validation": found,
        "number_of_features": describe_number(selector, number),
        "profiles": describe_profiles(*shown) if view else None,
        "alarms": alarms(found, data["n_features"]),
        "notes": list(_notes(notes, ignored, selector, data, supervision, ranking)),
        "warnings": [plain_text(warning) for warning in warnings],
        "seconds": None if seconds is None else round(seconds, 4),
    }


def _selected(selector: Any) -> IntArray:
    order = np.asarray(selector.order_)
    return order[np.asarray(selector.get_support())[order]]


def _checked_ids(
    selector: Any, X: Any, sample_ids: Iterable[Hashable] | None
) -> tuple[Hashable, ...]:
    """Check the selector and the samples, and return the sample IDs."""
    check_is_fitted(selector)
    if not hasattr(selector, "order_"):
        raise GuidedTypeError(
            f"{type(selector).__name__} has no order_.",
            "Pass a fitted linkselect selector, or a step of a Pipeline: pipeline['selector'].",
        )
    if not isinstance(X, Samples):  # the command line passes tables that it reads in parts
        refuse_stored("A report", X, "Use the command line: linkselect rank FILE --report.")
    found = index_of(X) if sample_ids is None else sample_ids
    return tuple(range(as_samples(X).shape[0])) if found is None else tuple(found)


def _used(selector: Any, y: Any, pairs: Pairs | None) -> tuple[Any, Pairs | None, Sequence[str]]:
    """Return the classes or pairs that the method uses, and a note on ignored supervision."""
    sees = describe(selector).sees
    if sees == "pairs" and pairs is not None:
        ignored = [] if y is None else ["The labels were ignored because pairs were given."]
        return None, pairs, ignored
    classes = None if sees == "nothing" or y is None else classes_seen(selector, y)
    unused = ["labels"] if y is not None and classes is None else []
    unused += ["pairs"] if pairs is not None else []
    sentence = f"{type(selector).__name__} ignores {' and '.join(unused)}."
    return classes, None, [sentence] if unused else []


def _versions() -> dict[str, str]:
    return {
        "linkselect": linkselect.__version__,
        "scikit-learn": sklearn.__version__,
        "SciPy": scipy.__version__,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
    }


def _plain_value(value: Any) -> float | bool | str | None:
    """Convert a parameter for JSON; types that JSON does not support become Python code."""
    if value is None or isinstance(value, bool | str):
        return plain_text(value) if isinstance(value, str) else value
    if isinstance(value, int | float | np.number) and np.isfinite(value):
        return value.item() if isinstance(value, np.number) else value
    return plain_text(repr(value))


def _describe_method(selector: Any) -> schema.MethodSummary:
    method, n_selected = describe(selector), int(selector.get_support().sum())
    rules = {}
    if isinstance(selector, FeatureRules):  # describe the wrapped method
        rules = {name: getattr(selector, name) for name in ("keep", "exclude", "groups", "copies")}
        selector, method = selector.estimator, describe(selector.estimator)
    if isinstance(selector, Ranked):  # a thin wrapper of a selector of another library
        selector = selector.estimator
    kind = type(selector)
    usual = {} if method.wraps else kind().get_params(deep=False)
    given = {name: value for name, value in rules.items() if value is not None}
    parameters: list[schema.Parameter] = [
        {
            "name": name,
            "value": _plain_value(value),
            "usual": name in usual and repr(usual[name]) == repr(value),
        }
        for name, value in (selector.get_params(deep=False) | given).items()
    ]
    return {
        "name": kind.__name__,
        "about": (kind.__doc__ or "").strip().split("\n")[0],
        "parameters": parameters,
        "greater_is_better": method.greater_is_better,
        "n_selected": n_selected,
    }


def _describe_data(
    selector: Any, X: Any, unprepared: Any, names: list[str], preparation: str | None
) -> schema.DataSummary:
    numbers = [f"x{place}" for place in range(len(names))]
    samples = as_samples(X)
    where = {"parts": "stored", "sparse": "sparse"}.get(samples.kind, "dense")
    n_missing = 0 if where == "stored" else as_samples(unprepared).count_missing()
    constant = np.flatnonzero(samples.constant_columns())
    return {
        "n_samples": samples.shape[0],
        "n_features": len(names),
        "kind": f"{where}, {samples.dtype}",
        "named": hasattr(selector, "feature_names_in_") or names != numbers,
        "preparation": None if preparation is None else plain_text(preparation),
        "n_missing": n_missing,
        "n_constant": len(constant),
        "constant": [names[feature] for feature in constant[:MOST_LISTED]],
    }


def _describe_ranking(
    selector: Any,
    names: list[str],
    X: Any,
    validation: Validation | None,
    significance: FeaturePValues | None,
) -> schema.RankingSummary:
    order = np.asarray(selector.order_).tolist()
    selected = selector.get_support()
    reasons = _reasons(selector, names, X, validation)
    found: dict[str, list[Any]] = {
        "feature": [names[feature] for feature in order],
        "score": [plain_number(selector.scores_[feature]) for feature in order],
        "rank": list(range(1, len(order) + 1)),
        "selected": [bool(selected[feature]) for feature in order],
    }
    if validation is not None and validation.frequencies:
        found["frequency"] = [validation.frequencies[feature] for feature in order]
        errors = validation.frequency_errors
        found["frequency_error"] = [round(errors[feature], 6) for feature in order]
    if significance is not None:
        found["p_value"] = significance.p_values[order].tolist()
        found["adjusted"] = significance.adjusted[order].tolist()
        found["q_value"] = significance.q_values[order].tolist()
    found["reason"] = [reasons[feature] for feature in order]
    return found  # type: ignore[return-value]


def _reasons(
    selector: Any, names: list[str], X: Any, validation: Validation | None
) -> NDArray[np.object_]:
    """Return the reason why each feature was or was not selected, in column order."""
    own = getattr(selector, "reasons_", None)
    left_out = {} if validation is None else dict(validation.left_out)
    copy_of = getattr(selector, "copy_of_", np.full(len(names), -1)).copy()
    samples = as_samples(X)
    enough = samples.shape[0] >= FEWEST_FOR_COPIES
    for feature, twin in left_out.items():
        if enough and abs(twin.correlation) >= COPY and copy_of[feature] < 0:
            copy_of[feature] = twin.feature
    excluded = None if own is None else np.array([one == "excluded" for one in own])
    return feature_reasons(
        np.asarray(selector.order_),
        int(selector.n_features_),
        samples.constant_columns(),
        names,
        copy_of=copy_of,
        excluded=excluded,
        correlated={feature: twin.feature for feature, twin in left_out.items()},
        unstable=unstable_features(selector),
    )


def _describe_path(selector: Any) -> schema.PathSummary | None:
    values = getattr(selector, "path_", None)
    if values is None or len(values) < 2:
        return None
    errors = getattr(selector, "standard_error_", None)
    return {
        "values": [plain_number(value) for value in values],
        "errors": None if errors is None else [plain_number(error) for error in errors],
        "has_optimum": describe(selector).path_has_optimum,
    }


def _describe_mask(
    selector: Any, shape: tuple[int, int] | None, order: Literal["C", "F"]
) -> schema.MaskSummary | None:
    if shape is None:
        return None
    selected = selector.get_support()
    pixels = selected.reshape(check_shape(shape, len(selected)), order=order)
    return {"pixels": pixels.astype(int).tolist()}


def _python_call(selector: Any, y: Any, pairs: Pairs | None, sample_ids: Any) -> str:
    inner = [selector.estimator] if describe(selector).wraps else []
    kinds = [type(one).__name__ for one in (selector, *inner)]
    names = ", ".join(sorted(name for name in kinds if name in linkselect.__all__))
    given = "X" if y is None else "X, y"
    given += "" if pairs is None else ", pairs=pairs"
    given += "" if pairs is None or sample_ids is None else ", sample_ids=sample_ids"
    return f"from linkselect import {names}\n\nselector = {selector!r}\nselector.fit({given})"


def _notes(
    given: Sequence[str] | None,
    ignored: Sequence[str],
    selector: Any,
    data: schema.DataSummary,
    supervision: schema.SupervisionSummary,
    ranking: schema.RankingSummary,
) -> Iterator[str]:
    """Yield the given notes (default: on ignored supervision), then notes on data and ranking."""
    n_constant, n_unscored = data["n_constant"], sum(one is None for one in ranking["score"])
    yield from map(plain_text, ignored if given is None else given)
    if n_conflicts := supervision.get("n_conflicts"):
        yield f"Ignored {many(n_conflicts, 'cannot-link')} in conflict with must-links."
    if given is None and (n_lost := supervision.get("lost")):  # given notes report them
        yield f"Ignored {many(n_lost, 'pair')} with samples that are not in the data."
    if supervision["kind"] != "none" and supervision["coverage"] < LITTLE_COVERAGE:
        yield f"Only {supervision['coverage']:.1%} of the samples have a label or occur in a pair."
    # If values were imputed, the preparation describes it.
    if data["n_missing"] and data["preparation"] is None:
        yield f"The data contain {many(data['n_missing'], 'missing value')}."
    yield from about_constant(n_constant, data["n_features"])
    if n_unscored > n_constant:
        yield f"Placed {many(n_unscored, 'feature')} without a score at the end of the ranking."
    # After a search or repeated draws, features with equal scores are not tied.
    knows_more = describe(selector).searches or hasattr(selector, "selection_frequencies_")
    if not knows_more and _tied_at_the_cut(ranking):
        yield TIED


def _tied_at_the_cut(ranking: schema.RankingSummary) -> bool:
    scores, n_selected = ranking["score"], sum(ranking["selected"])
    if not 0 < n_selected < len(scores) or scores[n_selected] is None:
        return False
    return bool(scores[n_selected - 1] == scores[n_selected])


def describe_number(selector: Any, number: NumberOfFeatures | None) -> schema.NumberSummary:
    """Describe how the number of features was chosen; `number` is None if `fit` chose it."""
    n_features, curve = int(selector.get_support().sum()), None
    rule: schema.Rule = "given"
    own = getattr(selector, "own_number", "")
    if number is not None:
        n_features, curve = number.n_features, _curve(number)
        rule, reason = number.rule, number.reason
    elif getattr(selector, "n_features_to_select", None) != "auto":
        reason = "The number of features was set by n_features_to_select."
    elif own:
        rule, reason = "own optimum", f"{own[0].upper()}{own[1:]}."
    else:
        rule, reason = "half", "By default, half of the features are selected."
    return {"n_features": n_features, "rule": rule, "reason": reason, "curve": curve}


def _curve(number: NumberOfFeatures) -> schema.CurveSummary | None:
    if number.curve is None or number.measure is None or number.rankings is None:
        return None
    values = number.curve.values
    # Repeated folds hold out the same rows, so they do not reduce the standard error.
    n_folds = number.rankings.held_out.n_folds
    error = values.std(axis=0, ddof=1) / np.sqrt(n_folds) if len(values) > 1 else 0 * values[0]
    return {
        "measure": number.measure,
        "n_features": number.curve.n_features.tolist(),
        "mean": np.round(number.curve.mean, 6).tolist(),
        "standard_error": np.round(error, 6).tolist(),
    }
