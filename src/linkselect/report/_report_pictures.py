"""The pictures of a report, from its plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkselect._arrays import FloatArray
from linkselect.plot._dots import draw_scores
from linkselect.plot._feature_plots import draw_mask, draw_path
from linkselect.plot._groups import draw_groups, draw_histogram
from linkselect.plot._number_curve import draw_number, draw_ranked_scores
from linkselect.plot._scatter import draw_pairs
from linkselect.report._image_features import draw_both, draw_svg
from linkselect.report._schema import (
    CurveSummary,
    MaskSummary,
    MethodSummary,
    PathSummary,
    ProfilesSummary,
    ProfileSummary,
    Score,
    Summary,
    ViewSummary,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DOTS = 20


def report_pictures(summary: Summary) -> dict[str, str]:
    """Draw every picture that a summary has the data for."""
    drawn = {"scores": _scores(summary)}
    curve = summary["number_of_features"]["curve"]
    if curve is not None:
        drawn["number"] = _number(curve, summary)
    elif summary["path"] is None:
        drawn["number"] = _ranked_scores(summary)
    if summary["path"] is not None:
        drawn["path"] = _path(summary["path"], summary["method"])
    if summary["view"] is not None:
        drawn["pairs"] = _pairs(summary["view"])
    if summary["mask"] is not None:
        drawn["mask"] = _mask(summary["mask"])
    return drawn


def profile_pictures(profiles: ProfilesSummary) -> list[str]:
    """Draw one small picture for each feature."""
    return [_profile(one, place) for place, one in enumerate(profiles["features"])]


def numbers(values: Sequence[Score]) -> FloatArray:
    """Read back what JSON could not hold: None is no number, "inf" an infinite one."""
    return np.array([np.nan if value is None else float(value) for value in values], dtype=float)


def _scores(summary: Summary) -> str:
    ranking = summary["ranking"]
    names = ranking["feature"][:MOST_DOTS]
    values = numbers(ranking["score"][:MOST_DOTS])
    selected = np.array(ranking["selected"][:MOST_DOTS])
    greater = summary["method"]["greater_is_better"]

    def draw(ax: Axes, slim: bool) -> None:
        draw_scores(ax, names, values, selected, greater, 14 if slim else 28)

    title = f"Scores of the best {len(names)} features"
    return draw_both(draw, "scores", title, 0.25 * len(names) + 0.8, 0.22 * len(names) + 0.8)


def _number(curve: CurveSummary, summary: Summary) -> str:
    found = summary["validation"]
    estimate = None if found is None else found["estimate"]
    chance = None if estimate is None else estimate["chance"]

    def draw(ax: Axes, _slim: bool) -> None:
        draw_number(
            ax,
            curve["n_features"],
            curve["mean"],
            curve["standard_error"],
            summary["method"]["n_selected"],
            curve["measure"],
            chance,
        )

    return draw_both(draw, "number", f"{curve['measure']} by number of features", 3.2, 2.5)


def _ranked_scores(summary: Summary) -> str:
    method = summary["method"]
    values = numbers(summary["ranking"]["score"])

    def draw(ax: Axes, _slim: bool) -> None:
        draw_ranked_scores(ax, values, method["n_selected"], method["greater_is_better"])

    return draw_both(draw, "number", "Scores of all features by rank", 3.0, 2.4)


def _path(path: PathSummary, method: MethodSummary) -> str:
    errors = None if path["errors"] is None else numbers(path["errors"])

    def draw(ax: Axes, _slim: bool) -> None:
        values = numbers(path["values"])
        mark_best = path["has_optimum"]
        greater, n_selected = method["greater_is_better"], method["n_selected"]
        draw_path(ax, values, greater, n_selected, errors, mark_best=mark_best)

    return draw_both(draw, "path", "Criterion at each step", 3.2, 2.5)


def _pairs(view: ViewSummary) -> str:
    def draw(ax: Axes, slim: bool) -> None:
        points = np.array(view["points"], dtype=float)
        must, cannot = (
            np.array(links, dtype=np.intp).reshape(-1, 2)
            for links in (view["must"], view["cannot"])
        )
        draw_pairs(ax, points, must, cannot)
        first, second = view["labels"]
        ax.set_xlabel(first.replace("principal component", "component") if slim else first)
        ax.set_ylabel(second.replace("principal component", "component") if slim else second)

    return draw_both(draw, "pairs", "Pairs over a view of the samples", 4.6, 3.6)


def _mask(mask: MaskSummary) -> str:
    pixels = np.array(mask["pixels"], dtype=bool)
    height, width = pixels.shape

    def draw(ax: Axes) -> None:
        draw_mask(ax, pixels)

    return draw_svg(draw, "mask", "Selected pixels", 3.6, min(3.6 * height / width, 6.0))


def _profile(profile: ProfileSummary, place: int) -> str:
    groups, histogram = profile["groups"], profile["histogram"]

    def draw(ax: Axes) -> None:
        if histogram is None:
            labels = [group["label"] for group in groups]
            draw_groups(ax, labels, [group["quantiles"] for group in groups])
        else:
            draw_histogram(ax, histogram["counts"], histogram["low"], histogram["high"])

    height = 1.3 if histogram is not None else 0.26 * len(groups) + 0.42
    return draw_svg(draw, f"profile-{place}", profile["feature"], 2.5, height, letters=9)
