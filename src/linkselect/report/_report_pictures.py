"""Figures of a report, drawn from a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from linkselect._arrays import FloatArray
from linkselect.evaluation._significance import p_text
from linkselect.plot._dots import draw_frequencies, draw_groups, draw_histogram, draw_scores
from linkselect.plot._feature_plots import draw_mask, draw_number, draw_path, draw_ranked_scores
from linkselect.plot._pair_plots import draw_pairs
from linkselect.report._image_features import draw_both, draw_svg
from linkselect.report._schema import ProfilesSummary, Score, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DOTS = 20
Draw = Callable[[Summary, "Axes", bool], None]


def report_pictures(summary: Summary) -> dict[str, str]:
    """Draw all figures for which the summary contains data."""
    n_dots = min(MOST_DOTS, len(summary["ranking"]["feature"]))

    def picture(draw: Draw, name: str, title: str, height: float, slim_height: float) -> str:
        return draw_both(partial(draw, summary), name, title, height, slim_height)

    high, slim_high = 0.25 * n_dots + 0.8, 0.22 * n_dots + 0.8
    title = f"Scores of the best {n_dots} features"
    drawn = {"scores": picture(draw_best, "scores", title, high, slim_high)}
    curve = summary["number_of_features"]["curve"]
    if curve is not None:
        title = f"{curve['measure']} by number of features"
        drawn["number"] = picture(_draw_number, "number", title, 3.2, 2.5)
    elif summary["path"] is None:
        title = "Scores of all features by rank"
        drawn["number"] = picture(_draw_ranked, "number", title, 3.0, 2.4)
    if summary["path"] is not None:
        drawn["path"] = picture(draw_criterion, "path", "Criterion at each step", 3.2, 2.5)
    if summary["view"] is not None:
        title = "Pairs over a view of the samples"
        drawn["pairs"] = picture(_draw_view, "pairs", title, 4.6, 3.6)
    if summary["mask"] is not None:
        pixels = np.array(summary["mask"]["pixels"], dtype=bool)
        height = min(3.6 * pixels.shape[0] / pixels.shape[1], 6.0)
        draw = partial(draw_mask, selected=pixels)
        drawn["mask"] = draw_svg(draw, "mask", "Selected pixels", 3.6, height)
    return drawn


def profile_pictures(profiles: ProfilesSummary) -> list[str]:
    """For each feature, draw a small figure of its groups or its histogram."""
    drawn = []
    for place, one in enumerate(profiles["features"]):
        histogram, draw = one["histogram"], partial(draw_groups, groups=one["groups"])
        height = 0.26 * len(one["groups"]) + 0.42
        if histogram is not None:
            height, draw = 1.3, partial(draw_histogram, **histogram)
        drawn.append(draw_svg(draw, f"profile-{place}", one["feature"], 2.5, height, letters=9))
    return drawn


def numbers(values: Sequence[Score]) -> FloatArray:
    """Convert scores loaded from JSON: None becomes NaN, and "inf" becomes infinity."""
    return np.array([np.nan if value is None else float(value) for value in values], dtype=float)


def draw_best(summary: Summary, ax: Axes, slim: bool, longest_name: int | None = None) -> None:
    """Draw the scores and, if known, the selection frequencies of the best features."""
    ranking = summary["ranking"]
    draw_scores(
        ax,
        ranking["feature"][:MOST_DOTS],
        numbers(ranking["score"][:MOST_DOTS]),
        np.array(ranking["selected"][:MOST_DOTS]),
        summary["method"]["greater_is_better"],
        longest_name or (14 if slim else 28),
    )
    if "frequency" in ranking and not slim:
        p_values = ranking.get("adjusted")
        draw_frequencies(
            ax,
            np.array(ranking["frequency"][:MOST_DOTS]),
            np.array(ranking["frequency_error"][:MOST_DOTS]),
            None if p_values is None else [p_text(p) for p in p_values[:MOST_DOTS]],
        )


def draw_held_out(summary: Summary, ax: Axes, measure: str, chance: float | None = None) -> None:
    """Draw the performance on held-out data by number of features."""
    curve = summary["number_of_features"]["curve"]
    assert curve is not None
    counts, mean, error = curve["n_features"], curve["mean"], curve["standard_error"]
    draw_number(ax, counts, mean, error, summary["method"]["n_selected"], measure, chance)


def _draw_number(summary: Summary, ax: Axes, _slim: bool) -> None:
    found, curve = summary["validation"], summary["number_of_features"]["curve"]
    estimate = None if found is None else found["estimate"]
    assert curve is not None
    draw_held_out(summary, ax, curve["measure"], None if estimate is None else estimate["chance"])


def _draw_ranked(summary: Summary, ax: Axes, _slim: bool) -> None:
    method = summary["method"]
    values = numbers(summary["ranking"]["score"])
    draw_ranked_scores(ax, values, method["n_selected"], method["greater_is_better"])


def draw_criterion(summary: Summary, ax: Axes, _slim: bool) -> None:
    """Draw the criterion of a search after each added feature."""
    path, method = summary["path"], summary["method"]
    assert path is not None
    errors = None if path["errors"] is None else numbers(path["errors"])
    values, greater = numbers(path["values"]), method["greater_is_better"]
    draw_path(ax, values, greater, method["n_selected"], errors, mark_best=path["has_optimum"])


def _draw_view(summary: Summary, ax: Axes, slim: bool) -> None:
    view = summary["view"]
    assert view is not None
    must, cannot = (
        np.array(links, dtype=np.intp).reshape(-1, 2) for links in (view["must"], view["cannot"])
    )
    labels = [
        one.replace("principal component", "component") if slim else one for one in view["labels"]
    ]
    draw_pairs(ax, np.array(view["points"], dtype=float), labels, must, cannot)
