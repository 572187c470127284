"""`linkselect rank`: rank the features of a table."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

import linkselect
from linkselect.cli.choices import Method, default_method, make_selector, method_named
from linkselect.cli.errors import UsageError, many
from linkselect.cli.output import (
    COLUMN_FILES,
    check_target,
    say,
    text_table,
    to_json,
    write_columns,
    write_safely,
)
from linkselect.cli.preparation import Impute, Scale, check_values, describe, transformer
from linkselect.cli.supervising import (
    check_pairs,
    check_supervision,
    explained,
    labelled_rows,
    read_pairs,
)
from linkselect.cli.tables import Reading, Table, read_table

__all__ = ["rank"]

_SHOWN = 20
DEFAULT_READING = Reading()


def rank(
    table: Path,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    method: str | None = None,
    n_features: str = "auto",
    pairs: Path | None = None,
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    scale: Scale = "minmax",
    impute: Impute = "none",
    seed: int = 0,
    out: Path | None = None,
    select: Path | None = None,
    report: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Rank the features of a table and keep the best.

    Parameters
    ----------
    table
        CSV, TSV (also .gz), Parquet, Feather, NPY, NPZ, MAT, ARFF or SVMlight.
    method
        How to rank; `linkselect methods` lists them. Without it: constraint for pairs, fisher
        for labels, constrained_laplacian for some labels, laplacian for none.
    n_features
        How many features to keep: a number, a fraction such as 0.1, or auto.
    pairs
        A CSV file with the header a,b,link (must or cannot), or a JSON file.
    settings
        A parameter of the method, such as sigma=1. Give it once for each.
    scale
        What to do to each feature first.
    impute
        What to put where a value is missing.
    seed
        Where random draws start from, in methods that make them.
    out
        Write the ranking here: .csv, .tsv, .json, .parquet or .feather.
    select
        Write the table with the selected features only, unscaled, in one of these formats.
    report
        Write a page with the ranking, pictures and the call here: .html.
    json
        Print the result as JSON and nothing else.
    quiet
        Print nothing but errors.
    """
    check_target(out, "--out", COLUMN_FILES)
    check_target(select, "--select", COLUMN_FILES)
    check_target(report, "--report", (".html", ".htm"))
    chosen = None if method is None else method_named(method)
    data = read_table(table, read)
    links = None if pairs is None else read_pairs(pairs, data.ids is not None)
    if chosen is None:
        chosen = method_named(default_method(labelled_rows(data), links is not None))
    notes = check_pairs(links, data, pairs)
    notes += check_supervision(chosen, data, links)
    check_values(data, impute)
    selector = make_selector(chosen, settings, _count(n_features, data), seed)
    show_progress = sys.stdout.isatty() and not (quiet or json)
    found = _fit(selector, data, links, transformer(impute, scale, _is_sparse(data)), show_progress)
    record = _record(found, chosen, data, links, describe(impute, scale, _is_sparse(data)))
    if not quiet:
        for note in [*notes, *found.warnings]:
            say(f"Note: {note}", error=True)
        say(to_json(record)) if json else say(_as_text(record, data))
    if out is not None:
        _write_ranking(out, record)
    if select is not None:
        _write_selected(select, found.selector, data, read)
    if report is not None:
        _write_report(report, found, data, links, record)


@dataclass(frozen=True)
class Fitted:
    """A fitted selector, the values it saw, and what happened meanwhile."""

    selector: Any
    X: Any
    seconds: float
    warnings: list[str]


def _is_sparse(data: Table) -> bool:
    return hasattr(data.X, "toarray")


def _count(text: str, data: Table) -> int | float | str:
    """Read the number of features: a whole number, a fraction, or "auto"."""
    n_all = len(data.names)
    try:
        count = "auto" if text == "auto" else int(text) if text.isdecimal() else float(text)
    except ValueError:
        count = -1
    if isinstance(count, str) or 1 <= count <= n_all or 0 < count < 1:
        return count
    raise UsageError(
        f"--n-features {text}, but {data.source} has {n_all} features. Choose 1 to {n_all}, a "
        "fraction such as 0.5, or auto."
    )


def _fit(selector: Any, data: Table, links: Any, prepare: Any, show_progress: bool) -> Fitted:
    X = data.X if prepare is None else prepare.fit_transform(data.X)
    if show_progress:
        from sklearn.callback import ProgressBar

        selector.set_callbacks(ProgressBar())
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, explained():
        warnings.simplefilter("always")
        y = None if data.labels is None else data.codes()
        selector.fit(X, y, pairs=links, sample_ids=data.ids)
    seconds = time.perf_counter() - start
    # A name for each column, as if X had been a frame: the report shows them.
    selector.feature_names_in_ = np.array(data.names, dtype=object)
    return Fitted(selector, X, seconds, list(dict.fromkeys(str(one.message) for one in caught)))


def _record(
    found: Fitted, method: Method, data: Table, links: Any, preparation: str
) -> dict[str, Any]:
    """Collect what was done and found, as plain data."""
    selector = found.selector
    parameters = selector.get_params(deep=False)
    labels = data.labels
    return {
        "source": data.source,
        "rows": data.X.shape[0],
        "features": data.X.shape[1],
        "classes": None if labels is None else dict(Counter(filter(None, labels.tolist()))),
        "unlabelled": None if labels is None else sum(label is None for label in labels),
        "pairs": None if links is None else links.summary(data.ids, n_samples=data.X.shape[0]),
        "method": method.name,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "larger_is_better": bool(selector.greater_is_better),
        "preparation": preparation,
        "selected": int(selector.n_features_),
        "seconds": round(found.seconds, 4),
        "call": shlex.join(["linkselect", *sys.argv[1:]]),
        "version": linkselect.__version__,
        "warnings": found.warnings,
        "ranking": [
            {
                "rank": rank,
                "feature": data.names[place],
                "score": float(selector.scores_[place]),
                "selected": bool(selector.support_[place]),
            }
            for rank, place in enumerate(selector.order_.tolist(), start=1)
        ],
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else repr(value)


def _as_text(record: dict[str, Any], data: Table) -> str:
    direction = "larger" if record["larger_is_better"] else "smaller"
    lines = [
        f"{record['source']}: {record['rows']:,} rows, {record['features']:,} features"
        f"{_describe_labels(record, data)}{_describe_pairs(record['pairs'])}",
        f"{record['preparation']} Method: {record['method']}; {direction} scores are better.",
        "",
    ]
    best = record["ranking"][: min(_SHOWN, record["selected"])]
    rows = [[str(one["rank"]), one["feature"], f"{one['score']:.6g}"] for one in best]
    lines.append(text_table(["rank", "feature", "score"], rows, left=[1]))
    if record["selected"] > len(best):
        lines.append(f"  ... and {record['selected'] - len(best):,} more.")
    kept = f"{record['selected']:,} of {record['features']:,} features are selected"
    lines += ["", f"{kept} ({record['seconds']:.2f} s). --out FILE writes the whole ranking."]
    return "\n".join(lines)


def _describe_labels(record: dict[str, Any], data: Table) -> str:
    if record["classes"] is None:
        return ""
    shown_classes = ", ".join(data.classes[:4]) + (", ..." if len(data.classes) > 4 else "")
    text = f", {len(data.classes)} classes ({shown_classes})"
    return f"{text}, {record['unlabelled']:,} rows unlabelled" if record["unlabelled"] else text


def _describe_pairs(pairs: dict[str, Any] | None) -> str:
    if pairs is None:
        return ""
    return f", {many(pairs['must'], 'must-link')}, {many(pairs['cannot'], 'cannot-link')}"


def _write_ranking(path: Path, record: dict[str, Any]) -> None:
    if path.suffix.lower() == ".json":
        write_safely(path, lambda part: part.write_text(to_json(record) + "\n", "utf-8"))
        return
    ranking = record["ranking"]
    keys = ("feature", "score", "rank", "selected")
    write_columns(path, {key: [one[key] for one in ranking] for key in keys})


def _write_selected(path: Path, selector: Any, data: Table, read: Reading) -> None:
    kept = np.flatnonzero(selector.support_)
    X = data.X[:, kept]
    X = X.toarray() if _is_sparse(data) else X
    columns: dict[str, Any] = {}
    if data.ids is not None:
        columns[read.id_column or "id"] = list(data.ids)
    columns |= {data.names[place]: X[:, j].tolist() for j, place in enumerate(kept)}
    if data.labels is not None:
        columns[read.label or "label"] = data.labels.tolist()
    write_columns(path, columns)


def _write_report(
    path: Path, found: Fitted, data: Table, links: Any, record: dict[str, Any]
) -> None:
    from linkselect.report import summarize, write_report

    summary = summarize(
        found.selector,
        found.X,
        data.labels,
        links,
        sample_ids=data.ids,
        source=data.source,
        call=record["call"],
        preparation=record["preparation"],
    )
    write_safely(path, lambda part: write_report(summary, part))
