"""What `linkselect rank` prints and writes: text for people, tables and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._messages import many, pairs_text
from linkselect.cli._output import Output, escape_formula, text_table
from linkselect.cli._tables import Table

if TYPE_CHECKING:
    from linkselect.report._schema import Summary

_SHOWN = 20


def ranking_text(summary: Summary, data: Table, links: Any, method: str) -> str:
    """Say what speaks against the features, what was ranked and how, and show the best."""
    from linkselect._display import score_text
    from linkselect.report._validation_summary import validation_lines

    n_selected, n_all = summary["method"]["n_selected"], summary["data"]["n_features"]
    direction = "larger" if summary["method"]["greater_is_better"] else "smaller"
    lines = [f"Warning: {alarm}" for alarm in summary["alarms"]]
    lines += [
        f"{data.source}: {summary['data']['n_samples']:,} rows, {n_all:,} features"
        f"{_known_text(data, links)}",
        f"{summary['data']['preparation']} Method: {method}; {direction} scores are better.",
        "",
    ]
    n_shown = min(_SHOWN, n_selected)
    ranking = summary["ranking"]
    best = (ranking[name][:n_shown] for name in ("rank", "feature", "score"))
    rows = [
        [str(rank), feature, score_text(score, 6, missing="none", infinity="inf")]
        for rank, feature, score in zip(*best, strict=True)
    ]
    lines.append(text_table(["rank", "feature", "score"], rows, left=[1], widest=60))
    if n_selected > n_shown:
        lines.append(f"  ... and {n_selected - n_shown:,} more.")
    if summary["validation"] is not None:
        lines += ["", *validation_lines(summary["validation"])]
    kept = f"{n_selected:,} of {n_all:,} features are selected ({summary['seconds']:.2f} s)."
    reason = summary["number_of_features"]["reason"]
    lines += ["", f"{kept} {reason}"]
    return "\n".join(lines)


def _known_text(data: Table, links: Any) -> str:
    """Say what is known of the rows, whether or not the method looks at it.

    Pairs that name rows which the table does not have tell nothing about it.
    """
    text = ""
    if data.labels is not None:
        classes = data.classes
        text += f", {many(len(classes), 'class')} ({', '.join(classes[:4])}"
        text += ", ...)" if len(classes) > 4 else ")"
        n_unlabelled = sum(label is None for label in data.labels)
        text += f", {n_unlabelled:,} rows unlabelled" if n_unlabelled else ""
    if links is not None:
        links = links if data.ids is None else links.restrict(data.ids)
        text += f", {pairs_text(links.n_must, links.n_cannot)}"
    return text


def write_all(summary: Summary, output: Output, escape_formulas: bool) -> None:
    """Write the ranking, the page and the figure that were asked for."""
    from linkselect.report import ranking_figure, render
    from linkselect.report._figures import figure_caption

    def columns(kind: str) -> dict[str, Any]:
        ranking = summary["ranking"]
        # A column of numbers holds no text, but it can hold the infinity that JSON cannot.
        scores = [np.nan if score is None else float(score) for score in ranking["score"]]
        names: list[str] = ranking["feature"]
        if escape_formulas and kind in (".csv", ".tsv"):
            names = [escape_formula(name) for name in names]
        return {**ranking, "feature": names, "score": scores}

    output.write(
        summary,
        columns,
        lambda: render(summary),
        lambda: (ranking_figure(summary, output.figure_width), figure_caption(summary)),
    )
