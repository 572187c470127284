"""`linkselect rank`: rank the features of a table."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from linkselect.cli.choices import (
    Choice,
    about_width,
    default_method,
    make_selector,
    method_named,
)
from linkselect.cli.errors import InputError, notes_of
from linkselect.cli.figures import write_ranking_figure
from linkselect.cli.number_of_features import keep_number, number_typed, prepare_number
from linkselect.cli.output import (
    DEFAULT_OUTPUT,
    Output,
    escape_formula,
    note_on_formulas,
    say,
    say_json,
    text_table,
    to_json,
    write_columns,
    write_safely,
)
from linkselect.cli.preparation import DEFAULT_PREPARATION, Preparation, settle_values
from linkselect.cli.seeds import Seed
from linkselect.cli.startup import without_pandas
from linkselect.cli.supervision_input import (
    blamed,
    check_pairs,
    check_supervision,
    explained,
    labelled_rows,
    read_pairs,
    rows_for,
)
from linkselect.cli.tables import DEFAULT_READING, Reading, Table, read_table
from linkselect.cli.tables.limits import Budget, readable_size
from linkselect.messages import many

if TYPE_CHECKING:
    from linkselect.evaluation import NumberOfFeatures, Validation
    from linkselect.report.schema import Summary
    from linkselect.selectors.method import Method

__all__ = ["rank"]

_SHOWN = 20


def rank(
    table: Path,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    method: str | None = None,
    n_features: str = "auto",
    pairs: Path | None = None,
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    prepare: Annotated[Preparation, Parameter(name="*")] = DEFAULT_PREPARATION,
    seed: Seed = 0,
    select: Path | None = None,
    validate: Annotated[bool, Parameter(negative="--no-validate")] = True,
    escape_formulas: bool = False,
    output: Annotated[Output, Parameter(name="*")] = DEFAULT_OUTPUT,
) -> None:
    """Rank the features of a table and keep the best.

    Parameters
    ----------
    table
        CSV, TSV (also .gz), Excel, Parquet, Feather, NPY, NPZ, MAT, ARFF or SVMlight.
    method
        How to rank; `linkselect methods` lists them. Without it: fisher for labels,
        consensus_selector for pairs, scgs(fit_intercept=true) for some labels, laplacian for none.
        One of another library: package.module:Class.
    n_features
        How many features to keep: a number, a fraction such as 0.1, or auto. That is the method's
        own optimum if it has one; with labels the smallest number within 1 point of the best
        held-out accuracy; else half of them, at most 300.
    pairs
        A CSV file with the header a,b,link (must or cannot), or a JSON file.
    settings
        A parameter of the method, such as sigma=1. Give it once for each.
    seed
        Where random draws start from, in methods that make them.
    select
        Write the table with the selected features only, unscaled, in one of the formats of --out.
    validate
        Say how far to trust the ranking: an estimate on held-out pairs or labels beside chance, how
        often features are selected again, and which say the same. It fits the method again, 8 to 35
        times by the size of the table.
    escape_formulas
        Put a quote before names in the CSV or TSV ranking that a spreadsheet would run as a
        formula. Never in --select.
    """
    output.check({"the table": table, "--pairs": pairs}, {"--select": select})
    choice = None if method is None else method_named(method)
    task = _task(table, read, choice, settings, pairs, prepare, seed)
    fitted, summary = _rank(task, n_features, seed, validate, output)
    output.say_notes([*_doubts(summary), *task.notes, *_ties(summary), *fitted.warnings])
    if not escape_formulas:
        output.say_notes(note_on_formulas(task.data.names, output.out, select))
    if output.json:
        say_json(summary)
    elif not output.quiet:
        say(_as_text(summary, task.choice, task.data, task.links))
        if output.out is None:
            say("--out FILE writes the whole ranking.")
    if output.out is not None:
        _write_ranking(output.out, summary, escape_formulas)
    if select is not None:
        _write_selected(select, fitted.selector, task.whole, read)
    if output.report is not None:
        _write_report(output.report, summary)
    if output.figure is not None:
        write_ranking_figure(output.figure, summary, output.figure_width)
    output.say_written(select)


@dataclass(frozen=True)
class Task:
    """What is ranked and how: `data` are the rows and columns of `whole` that the method uses."""

    choice: Choice
    selector: Any
    whole: Table
    data: Table
    links: Any
    prepare: Preparation
    notes: list[str]


def _task(
    table: Path,
    read: Reading,
    choice: Choice | None,
    settings: tuple[str, ...],
    pairs: Path | None,
    prepare: Preparation,
    seed: int,
) -> Task:
    """Read what is there, choose a method by it if none was named, and check that both fit."""
    whole = read_table(table, read)
    links = None if pairs is None else read_pairs(pairs, whole.ids is not None)
    if choice is None:
        choice = method_named(default_method(labelled_rows(whole), links is not None))
    selector = make_selector(choice, settings, seed=seed, scale=prepare.scale)
    method = _describe(selector)
    notes = [*whole.notes, *check_pairs(links, whole, pairs)]
    notes += about_width(choice, settings, prepare.scale)
    notes += check_supervision(choice.name, method, whole, links)
    data, about_rows = rows_for(choice.name, method, whole)
    data, prepare, about_values = settle_values(data, prepare)
    if data.ids is None and data.X.shape[0] < whole.X.shape[0]:
        links = None  # it names rows by numbers that are others now, and is not looked at
    return Task(choice, selector, whole, data, links, prepare, [*notes, *about_rows, *about_values])


def _rank(
    task: Task, n_features: str, seed: int, validate: bool, output: Output
) -> tuple[Fitted, Summary]:
    """Fit the method, keep a number of features, and say how far to trust them."""
    data, links, selector = task.data, task.links, task.selector
    wanted = number_typed(n_features, data)
    prepare_number(selector, wanted, len(data.names))
    if output.shows_progress:
        _show_progress(selector)
    with explained(_options(task.choice)), blamed([task.choice]):
        fitted = _fit(selector, data, links, task.prepare.transformer(data.is_sparse))
    track = _progress if output.shows_progress else iter
    number = _keep_number(fitted, wanted, data, links, seed, track)
    found = _validate(fitted, data, links, seed, track, number) if validate else None
    return fitted, _summarize(
        fitted,
        data,
        links,
        validation=found,
        number=number,
        preparation=task.prepare.describe(data.is_sparse),
        notes=task.notes,
        view=output.report is not None,
        values=data.X,
    )


@dataclass(frozen=True)
class Fitted:
    """A fitted selector, the values it was fitted on, and what happened meanwhile."""

    selector: Any
    X: Any
    seconds: float
    warnings: list[str]


def _options(choice: Choice) -> dict[str, str]:
    """Return what to type for each parameter of a method."""
    settings = {name: f"--set {name}=VALUE" for name in choice.parameters}
    return {**settings, "sigma": "--set sigma=auto", "on_conflict": "--set on_conflict=drop"}


def _describe(selector: Any) -> Method:
    from linkselect.selectors.method import describe

    return describe(selector)


def _show_progress(selector: Any) -> None:
    from linkselect.callbacks import HAS_CALLBACKS

    if HAS_CALLBACKS:
        from sklearn.callback import ProgressBar

        selector.set_callbacks(ProgressBar())


def _fit(selector: Any, data: Table, links: Any, transformer: Any) -> Fitted:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = _prepared(data.X, transformer)
        y = None if data.labels is None else data.codes()
        start = time.perf_counter()
        selector.fit(X, y, pairs=links, sample_ids=data.ids)
        seconds = time.perf_counter() - start
    # A name for each column, as if X had been a frame: the report shows them.
    selector.feature_names_in_ = np.array(data.names, dtype=object)
    return Fitted(selector, X, seconds, notes_of(caught, selector.get_params(deep=False)))


def _keep_number(
    fitted: Fitted, wanted: int | float | str, data: Table, links: Any, seed: int, track: Any
) -> NumberOfFeatures:
    return keep_number(
        fitted.selector,
        wanted,
        fitted.X,
        None if data.labels is None else data.codes(),
        pairs=links,
        sample_ids=data.ids,
        random_state=seed,
        track=track,
    )


def _validate(
    fitted: Fitted, data: Table, links: Any, seed: int, track: Any, number: NumberOfFeatures
) -> Validation:
    from linkselect import evaluation

    # A search for fewer features may find others, so its folds are fitted again.
    rankings = None if _describe(fitted.selector).searches else number.rankings
    return evaluation.validate(
        fitted.selector,
        fitted.X,
        None if data.labels is None else data.codes(),
        pairs=links,
        sample_ids=data.ids,
        random_state=seed,
        track=track,
        rankings=rankings,
    )


def _progress(steps: Iterable[Any]) -> Iterator[Any]:
    """Show a bar that counts steps."""
    from rich.progress import track

    yield from track(list(steps), "validating", transient=True)


def _doubts(summary: Summary) -> list[str]:
    from linkselect.report.validation import warning_of

    found = summary["validation"]
    doubt = None if found is None else warning_of(found)
    return [] if doubt is None else [doubt]


def _ties(summary: Summary) -> list[str]:
    from linkselect.report.summary import TIED

    return [TIED] if TIED in summary["notes"] else []


def _prepared(X: Any, transformer: Any) -> Any:
    if transformer is None:
        return X
    try:
        with np.errstate(over="raise"):
            return transformer.fit_transform(X)
    except FloatingPointError:
        raise InputError(
            "A feature is too large to be scaled or filled: it spans more than 1.8e308. Divide its "
            "values, or leave it out with --drop."
        ) from None


def _summarize(fitted: Fitted, data: Table, links: Any, **what: Any) -> Summary:
    """Collect what was done and found, as plain data."""
    with without_pandas():
        from linkselect.report import summarize

    return summarize(
        fitted.selector,
        fitted.X,
        data.labels,
        links,
        sample_ids=data.ids,
        source=data.source,
        call=shlex.join(["linkselect", *sys.argv[1:]]),
        warnings=fitted.warnings,
        seconds=fitted.seconds,
        **what,
    )


def _as_text(summary: Summary, choice: Choice, data: Table, links: Any) -> str:
    from linkselect.report.validation import validation_lines
    from linkselect.views import score_text

    n_selected, n_all = summary["method"]["n_selected"], summary["data"]["n_features"]
    direction = "larger" if summary["method"]["greater_is_better"] else "smaller"
    lines = [
        f"{data.source}: {summary['data']['n_samples']:,} rows, {n_all:,} features"
        f"{_known_text(data, links)}",
        f"{summary['data']['preparation']} Method: {choice.name}; {direction} scores are better.",
        "",
    ]
    n_shown = min(_SHOWN, n_selected)
    ranking = summary["ranking"]
    rows = [
        [str(rank), feature, score_text(score, 6, missing="none", infinity="inf")]
        for rank, feature, score in islice(
            zip(ranking["rank"], ranking["feature"], ranking["score"], strict=True), n_shown
        )
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
    """Say what is known of the rows, whether or not the method looks at it."""
    text = ""
    if data.labels is not None:
        classes = data.classes
        text += f", {many(len(classes), 'class')} ({', '.join(classes[:4])}"
        text += ", ...)" if len(classes) > 4 else ")"
        n_unlabelled = sum(label is None for label in data.labels)
        text += f", {n_unlabelled:,} rows unlabelled" if n_unlabelled else ""
    if links is not None:
        text += f", {many(links.n_must, 'must-link')}, {many(links.n_cannot, 'cannot-link')}"
    return text


def _write_ranking(path: Path, summary: Summary, escape_formulas: bool = False) -> None:
    if path.suffix.lower() == ".json":
        write_safely(path, lambda part: part.write_text(to_json(summary) + "\n", "utf-8"))
        return
    ranking = summary["ranking"]
    # A column of numbers holds no text, but it can hold the infinity that JSON cannot.
    scores = [np.nan if score is None else float(score) for score in ranking["score"]]
    names: list[str] = ranking["feature"]
    if escape_formulas and path.suffix.lower() in (".csv", ".tsv"):
        names = [escape_formula(name) for name in names]
    write_columns(path, {**ranking, "feature": names, "score": scores})


def _write_selected(path: Path, selector: Any, data: Table, read: Reading) -> None:
    places = {name: place for place, name in enumerate(data.names)}
    kept = sorted(places[name] for name in selector.get_feature_names_out())
    X = data.X[:, kept]
    if data.is_sparse:
        _check_dense_size(X.shape, path, data, read)
        X = X.toarray()
    columns: dict[str, Any] = {}
    if data.ids is not None:
        columns[read.id_column or "id"] = list(data.ids)
    columns |= {data.names[place]: X[:, j].tolist() for j, place in enumerate(kept)}
    if data.labels is not None:
        columns[read.label or "label"] = data.labels.tolist()
    write_columns(path, columns)


def _check_dense_size(shape: tuple[int, int], path: Path, data: Table, read: Reading) -> None:
    # Eight bytes as an array, 32 as a list of numbers.
    needed = 40 * shape[0] * shape[1]
    limit = Budget.of(read.max_memory, data.source).limit
    if needed > limit:
        raise InputError(
            f"--select {path}: {data.source} is sparse, but is written with its zeros. "
            f"{shape[0]:,} rows x {shape[1]:,} selected features take {readable_size(needed)}, "
            f"and {readable_size(limit)} may be used. Keep fewer with --n-features, or allow more "
            "with --max-memory."
        )


def _write_report(path: Path, summary: Summary) -> None:
    from linkselect.report import render

    write_safely(path, lambda part: part.write_text(render(summary), "utf-8", newline="\n"))
