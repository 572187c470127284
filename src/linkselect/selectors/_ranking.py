"""Rankings of features: order, ties and display as a table."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import many
from linkselect._notebook import panel, table
from linkselect._samples import Samples, as_samples

# Number of features listed in a notebook.
FEATURES_SHOWN = 10
# Scores of duplicate features differ by less than this, relative to their size.
TWIN_ROUNDING = 1e-9
# Relative change of a sum over at most 10^9 samples if the order of its terms changes.
SUM_ROUNDING = 1e-12


def best_first(scores: FloatArray, greater_is_better: bool) -> IntArray:
    """Return feature indices from the best to the worst score, with ties by index and NaN last."""
    keys = -scores if greater_is_better else scores
    order = np.argsort(keys)
    # A stable sort is several times slower, so only ties are sorted by index.
    ordered = keys[order]
    equal = ordered[1:] == ordered[:-1]
    ties = np.isnan(ordered)
    ties[1:] |= equal
    ties[:-1] |= equal
    tied = order[ties]
    order[ties] = tied[np.lexsort((tied, ordered[ties]))]
    return order


def with_equal_ties(scores: FloatArray, order: IntArray | None = None) -> FloatArray:
    """Give features whose scores agree up to rounding the score of the first of them.

    If the order of increasing scores is already known, pass it as `order` to avoid another sort.

    For example, binary features with the same number of ones have the same variance. However, the
    last digit of a sum depends on the positions of the ones and on the division of samples into
    parts.
    """
    ordered = np.sort(scores) if order is None else scores[order]
    with np.errstate(invalid="ignore"):
        near = np.diff(ordered) <= SUM_ROUNDING * np.abs(ordered[1:])
    near &= np.isfinite(ordered[1:])
    if not near.any():
        return scores
    # There are few runs of nearly equal scores, so they are looked up instead of sorting features.
    after, before = np.append(False, near), np.append(near, False)
    least, most = ordered[before & ~after], ordered[after & ~before]
    run = np.minimum(np.searchsorted(most, scores), len(most) - 1)
    is_near = (least[run] <= scores) & (scores <= most[run])
    features = np.flatnonzero(is_near)
    leaders = features[np.unique(run[features], return_index=True)[1]]
    return np.where(is_near, scores[leaders][run], scores)


def with_equal_twins(X: Any, scores: FloatArray, order: IntArray | None = None) -> FloatArray:
    """Assign the same score to duplicate features, namely the score of the first one.

    If the order of increasing scores is already known, pass it as `order` to avoid another sort. If
    no score changes, `scores` itself is returned.

    The last digit of a matrix product may depend on the position of a column. Without this step,
    the order of duplicate features would be determined by rounding instead of their index.
    """
    by_score = np.argsort(scores) if order is None else order
    ordered = scores[by_score]
    with np.errstate(invalid="ignore"):
        near = np.diff(ordered) <= TWIN_ROUNDING * np.abs(ordered[1:])
    if not near.any():
        return scores
    # Only features within runs of nearly equal scores are compared.
    in_run = np.append(near, False) | np.append(False, near)
    run = np.cumsum(np.append(True, ~near))[in_run]
    features = by_score[in_run]
    by_index = np.argsort(features)
    features, run = features[by_index], run[by_index]
    first: dict[tuple[int, Hashable], int] = {}
    keys = zip(run.tolist(), as_samples(X).column_keys(features, run), strict=True)
    twins = [first.setdefault(key, feature) for key, feature in zip(keys, features, strict=True)]
    if len(first) == len(features):
        return scores
    settled = scores.copy()
    settled[features] = scores[twins]
    return settled


def count_features(wanted: Any, n_features: int) -> int:
    """Convert `n_features_to_select` to a number of features; "auto" means half of them."""
    if isinstance(wanted, str):
        return max(1, n_features // 2)
    if isinstance(wanted, Integral):
        return int(wanted)
    # In floating point 0.29 * 100 is a little less than 29.
    return max(1, int(wanted * n_features + 1e-9))


@dataclass(frozen=True)
class Ranking:
    """Scores and order of the features, and the number of selected features.

    Attributes
    ----------
    scores : ndarray of shape (n_features,)
        The score of each feature.
    order : ndarray of shape (n_features,)
        Feature indices, sorted from best to worst.
    n_selected : int
        Number of selected features.
    fitted : dict
        Additional attributes of the fitted selector, by name.
    """

    scores: FloatArray
    order: IntArray
    n_selected: int
    fitted: dict[str, Any] = field(default_factory=dict)

    def attributes(self, X: Samples) -> dict[str, Any]:
        """Return the attributes of the fitted selector; all arrays are on the device of X."""
        ranking = np.empty(len(self.order), dtype=np.intp)
        ranking[self.order] = np.arange(1, len(self.order) + 1)
        found = {
            "scores_": self.scores,
            "order_": self.order,
            "ranking_": ranking,
            "n_features_": self.n_selected,
            "support_": ranking <= self.n_selected,
            **self.fitted,
        }
        arrays = {name: one for name, one in found.items() if isinstance(one, np.ndarray)}
        return found | {name: X.placed(array) for name, array in arrays.items()}


def ranking_frame(
    found: Ranking, names: NDArray[Any], library: str, more: dict[str, Any] | None = None
) -> Any:
    """Return a data frame of all features, sorted from best to worst."""
    if library not in ("pandas", "polars"):
        raise ValueError(f"library={library!r} is not supported; choose 'pandas' or 'polars'.")
    try:
        frames = import_module(library)
    except ImportError:
        package = "'linkselect[frame]'" if library == "pandas" else library
        raise ImportError(
            f"to_frame needs {library}, which is not installed: pip install {package}. Without "
            "it, order_, scores_ and get_feature_names_out() contain the same information."
        ) from None
    ranks = np.arange(1, len(found.order) + 1)
    return frames.DataFrame(
        {
            "feature": names[found.order],
            "score": found.scores[found.order],
            "rank": ranks,
            "selected": ranks <= found.n_selected,
            **(more or {}),
        }
    )


def ranking_view(found: Ranking, names: NDArray[Any], method: str, greater_is_better: bool) -> str:
    """Return an HTML table of the best features for a notebook.

    Parameters
    ----------
    found : Ranking
        The ranking to show.
    names : ndarray of shape (n_features,)
        Names of the features.
    method : str
        Name of the method.
    greater_is_better : bool
        Whether larger scores are better.
    """
    best = found.order[:FEATURES_SHOWN]
    rows = [
        (rank, names[feature], f"{found.scores[feature]:#.4g}", "✓" if kept else "")
        for rank, feature in enumerate(best, start=1)
        for kept in [rank <= found.n_selected]
    ]
    rest = len(found.order) - len(best)
    side = "Larger" if greater_is_better else "Smaller"
    note = f"{side} scores are better." + (f" {many(rest, 'more feature')}." if rest else "")
    title = f"{method} selects {found.n_selected:,} of {many(len(found.order), 'feature')}"
    return panel(title, table(["rank", "feature", "score", "selected"], rows, {1}, note))


def keep(selector: Any, number: int) -> None:
    """Change the number of features that a fitted selector keeps, without refitting."""
    selector.set_params(n_features_to_select=number)
    selector.n_features_, selector.support_ = number, selector.ranking_ <= number


def name_features(selector: Any, names: Sequence[str]) -> None:
    """Set the feature names of a fitted selector as if X had been a data frame."""
    selector.feature_names_in_ = np.array(names, dtype=object)
