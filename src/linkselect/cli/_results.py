"""Print and write the results of `linkselect rank` and `linkselect compare`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkselect._messages import many, pairs_text, shortened
from linkselect.cli._output import Output, escape_formula
from linkselect.cli._terminal import text_table

if TYPE_CHECKING:
    from linkselect.cli._tables import Table
    from linkselect.evaluation import Comparison, Measure
    from linkselect.report._schema import Summary

# The number of printed features; files and JSON contain all.
_SHOWN = 20
# The columns of the ranking that are printed if they were computed, with their titles.
_MEASURES = {"frequency": "frequency", "adjusted": "adjusted p", "q_value": "q"}
_TITLES = {
    "accuracy": "Accuracy in %, mean ± standard deviation over splits",
    "AUC": "AUC of held-out pairs, mean ± standard deviation over folds (chance is 0.5)",
}


def ranking_text(summary: Summary, data: Table, links: Any, method: str) -> str:
    """Describe the ranking: warnings, data, the best features and their validation."""
    from linkselect._display import score_text
    from linkselect.report._validation_summary import selected_line, validation_lines

    n_selected = summary["method"]["n_selected"]
    direction = "larger" if summary["method"]["greater_is_better"] else "smaller"
    lines = [f"Warning: {alarm}" for alarm in summary["alarms"]]
    lines += [
        f"{data.source}: {many(summary['data']['n_samples'], 'row')}, "
        f"{many(summary['data']['n_features'], 'feature')}{_supervision_text(data, links)}",
        f"{summary['data']['preparation']} Method: {method}; {direction} scores are better.",
        "",
    ]
    n_shown = min(_SHOWN, n_selected)
    ranking = summary["ranking"]
    score = [score_text(one, 6, missing="none", infinity="inf") for one in ranking["score"]]
    columns = {"rank": map(str, ranking["rank"]), "feature": ranking["feature"], "score": score}
    measured = {key: ranking[key] for key in _MEASURES if key in ranking}  # type: ignore[literal-required]
    columns |= {
        _MEASURES[key]: [f"{one:.{2 if key == 'frequency' else 3}f}" for one in values[:n_shown]]
        for key, values in measured.items()
    }
    rows = [list(row) for row in zip(*columns.values(), strict=False)][:n_shown]
    lines.append(text_table(list(columns), rows, left=[1]))
    if n_selected > n_shown:
        lines.append(f"  ... and {n_selected - n_shown:,} more.")
    if validated := validation_lines(summary):
        lines += ["", *validated]
    return "\n".join([*lines, "", selected_line(summary)])


def _supervision_text(data: Table, links: Any) -> str:
    """Describe the classes and pairs of the rows, whether or not the method uses them."""
    text = ""
    if data.labels is not None:
        classes = data.classes
        text += f", {many(len(classes), 'class')} ({', '.join(map(shortened, classes[:4]))}"
        text += ", ...)" if len(classes) > 4 else ")"
        n_unlabelled = sum(label is None for label in data.labels)
        text += f", {many(n_unlabelled, 'row')} unlabelled" if n_unlabelled else ""
    if links is not None:
        links = links if data.ids is None else links.restrict(data.ids)
        text += f", {pairs_text(links.n_must, links.n_cannot)}"
    return text


def write_ranking(
    summary: Summary, output: Output, escape_formulas: bool, table: Path, array: str | None
) -> None:
    """Write the requested files: the ranking, the report and the figure.

    Parameters
    ----------
    summary : dict
        The result of `summarize`.
    output : Output
        The files to write.
    escape_formulas : bool
        Whether to put a quote before names that a spreadsheet would evaluate as formulas.
    table : Path
        The input table. An .h5ad output is a copy of this table.
    array : str or None
        The name of the ranked array or layer of the table.
    """
    from linkselect.report import ranking_figure, render
    from linkselect.report._figures import figure_caption

    def columns(kind: str) -> dict[str, Any]:
        ranking = summary["ranking"]
        # A column of numbers can contain infinity, which JSON stores as text.
        scores = [math.nan if score is None else float(score) for score in ranking["score"]]
        names: list[str] = ranking["feature"]
        if escape_formulas and kind in (".csv", ".tsv"):
            names = [escape_formula(name) for name in names]
        return {**ranking, "feature": names, "score": scores}

    def copy(path: Path) -> None:
        from linkselect.cli._annotated_copy import write_annotated

        write_annotated(path, table, array, summary)

    output.write(
        summary,
        columns,
        lambda: render(summary),
        lambda: (ranking_figure(summary, output.figure_width), figure_caption(summary)),
        copy,
    )


# -- comparisons -----------------------------------------------------------------------------


def comparison_text(found: Comparison, record: dict[str, Any]) -> str:
    """Describe a comparison in sentences and tables."""
    n_classes = f", {many(len(record['classes']), 'class')}" if record["classes"] else ""
    head = (
        f"{record['source']}: {many(found.n_samples, 'row')}, "
        f"{many(found.n_features, 'feature')}{n_classes}. {record['preparation']}"
    )
    parts = [head, "\n".join(found.summary), *map(_curves, found.measures), _methods(found)]
    if len(found.methods) > 1:
        parts += [
            _matrix(found, found.spearman, "Rank correlation (Spearman), fitted on all rows"),
            _matrix(found, found.overlap, f"Proportion of the best {found.top} features in common"),
        ]
    return "\n\n".join(parts)


def _curves(measure: Measure) -> str:
    counts = measure.curves[measure.leader].n_features.tolist()
    factor, digits = (100, 1) if measure.name == "accuracy" else (1, 2)
    rows = []
    others = [name for name in measure.curves if name not in measure.methods]
    for name in [*measure.means, *others]:
        curve = measure.curves[name]
        points = zip(curve.mean.tolist(), curve.spread.tolist(), strict=True)
        cells = (f"{factor * mean:.{digits}f}±{factor * by:.{digits}f}" for mean, by in points)
        rows.append([name, *cells])
    table = text_table(["features", *map(str, counts)], rows, left=[0])
    return f"{_TITLES[measure.name]}\n{table}"


def _methods(found: Comparison) -> str:
    means = {f"mean {measure.name}": measure for measure in found.measures}
    held_out = found.held_out_pairs
    errors = {} if held_out is None else held_out.standard_error
    rows = [
        [
            name,
            *(measure.mean_text(name) for measure in means.values()),
            *([] if held_out is None else [_number(errors.get(name, math.nan))]),
            _number(found.stability[name]),
            f"{found.seconds[name]:.3f} s",
        ]
        for name in found.ranked
    ]
    error = [] if held_out is None else ["standard error"]
    header = ["method", *means, *error, "stability", "time"]
    return text_table(header, rows, left=[0])


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.2f}".replace("-0.00", "0.00")


def _matrix(found: Comparison, values: Any, title: str) -> str:
    # Columns are labelled with row numbers, because names would be too wide.
    numbers = [f"{place:2}" for place in range(1, len(found.methods) + 1)]
    names = [f"{number} {name}" for number, name in zip(numbers, found.methods, strict=True)]
    rows = [[name, *map(_number, row)] for name, row in zip(names, values, strict=True)]
    return f"{title}\n{text_table(['', *numbers], rows, left=[0])}"


def _columns(found: Comparison) -> dict[str, list[Any]]:
    """Return curves as a table: one row per method, split or fold, and number of features."""
    columns = {
        measure.name.lower(): {
            (name, split, count): value
            for name, curve in measure.curves.items()
            for split, values in enumerate(curve.values.tolist())
            for count, value in zip(curve.n_features.tolist(), values, strict=True)
        }
        for measure in found.measures
    }
    places = list(dict.fromkeys(place for column in columns.values() for place in column))
    by_name: dict[str, list[Any]] = {
        name: [place[at] for place in places]
        for at, name in enumerate(("method", "split", "n_features"))
    }
    return by_name | {key: [one.get(place) for place in places] for key, one in columns.items()}


def write_comparison(
    found: Comparison, data: Table, record: dict[str, Any], output: Output
) -> None:
    """Write the requested files: the curves, the report and the figure."""
    from linkselect.report import comparison_figure, comparison_page
    from linkselect.report._figures import comparison_caption

    output.write(
        record,
        lambda _: _columns(found),
        lambda: comparison_page(found, names=data.names, source=data.source, call=record["call"]),
        lambda: (comparison_figure(found, output.figure_width), comparison_caption(found)),
    )
