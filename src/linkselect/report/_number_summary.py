"""Why so many features are selected, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect.report._schema import CurveSummary, NumberSummary

if TYPE_CHECKING:
    from linkselect.evaluation import NumberOfFeatures


def describe_number(selector: Any, number: NumberOfFeatures | None) -> NumberSummary:
    """Describe how the number of features was chosen; None if `fit` resolved the parameter."""
    if number is not None:
        return {
            "n_features": number.n_features,
            "rule": number.rule,
            "reason": number.reason,
            "curve": _curve(number),
        }
    n_features = int(selector.get_support().sum())
    if getattr(selector, "n_features_to_select", None) != "auto":
        reason = "The number was given by n_features_to_select."
        return {"n_features": n_features, "rule": "given", "reason": reason, "curve": None}
    own = getattr(selector, "own_number", "")
    return {
        "n_features": n_features,
        "rule": "own optimum" if own else "half",
        "reason": f"{own[0].upper()}{own[1:]}." if own else "Half of the features, the default.",
        "curve": None,
    }


def _curve(number: NumberOfFeatures) -> CurveSummary | None:
    if number.curve is None or number.measure is None or number.rankings is None:
        return None
    values = number.curve.values
    # Folds that are dealt again hold out the same rows, so they do not count as new ones.
    n_folds = number.rankings.held_out.n_folds
    error = values.std(axis=0, ddof=1) / np.sqrt(n_folds) if len(values) > 1 else 0 * values[0]
    return {
        "measure": number.measure,
        "n_features": number.curve.n_features.tolist(),
        "mean": np.round(number.curve.mean, 6).tolist(),
        "standard_error": np.round(error, 6).tolist(),
    }
