"""`linkselect compare`: several methods on one table."""

from __future__ import annotations

import math
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from linkselect.cli.choices import Choice, make_selector, method_named
from linkselect.cli.errors import InputError, UsageError, problem_of
from linkselect.cli.output import (
    DEFAULT_OUTPUT,
    Output,
    say,
    say_json,
    text_table,
    to_json,
    write_columns,
    write_safely,
)
from linkselect.cli.preparation import DEFAULT_PREPARATION, Preparation, check_values
from linkselect.cli.supervision_input import check_pairs, check_supervision, explained, read_pairs
from linkselect.cli.tables import DEFAULT_READING, Reading, Table, read_table

if TYPE_CHECKING:
    from linkselect.evaluation import Comparison

__all__ = ["compare"]

Classifier = Literal["1nn", "5nn", "logistic", "svm", "tree", "forest"]
OnConflict = Literal["raise", "drop"]


@dataclass(frozen=True)
class Measuring:
    """How accuracy is measured.

    Parameters
    ----------
    splits
        How many random splits into training and test rows.
    test_size
        The share of test rows.
    classifier
        What measures accuracy.
    """

    splits: int = 20
    test_size: float = 0.2
    classifier: Classifier = "1nn"


DEFAULT_MEASURING = Measuring()


def compare(
    table: Path,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    methods: str,
    n_features: str | None = None,
    top: int | None = None,
    pairs: Path | None = None,
    on_conflict: OnConflict = "raise",
    how: Annotated[Measuring, Parameter(name="*")] = DEFAULT_MEASURING,
    prepare: Annotated[Preparation, Parameter(name="*")] = DEFAULT_PREPARATION,
    seed: int = 0,
    output: Annotated[Output, Parameter(name="*")] = DEFAULT_OUTPUT,
) -> None:
    """Compare several methods on one table: accuracy, agreement, stability, time.

    Parameters
    ----------
    table
        The table, with --label.
    methods
        Their names with commas between them; `linkselect methods` lists them.
    n_features
        Numbers of features with commas between them, at which accuracy is measured.
    top
        How many of the best features agreement and stability look at.
    pairs
        Pairs for the methods that use them: .csv or .json.
    on_conflict
        What to do about cannot-links that contradict must-links: end, or leave them out.
    seed
        Where random draws start from.
    """
    output.check({"the table": table, "--pairs": pairs})
    choices = _chosen(methods)
    if not 0 < how.test_size < 1 or how.splits < 2:
        raise UsageError("--test-size is a share between 0 and 1, and --splits 2 or more.")
    data = read_table(table, read)
    links = None if pairs is None else read_pairs(pairs, data.ids is not None)
    notes = check_pairs(links, data, pairs) + _check(choices, data, links)
    _check_split_size(data, how.test_size)
    check_values(data, prepare.impute)
    found, caught = _measure(
        {choice.name: _selector(choice, on_conflict, seed) for choice in choices},
        data,
        _Steps(how.splits, show_bar=output.shows_progress),
        pairs=links,
        n_features=_numbers(n_features, data),
        top=_top(top, data),
        test_size=how.test_size,
        prepare=prepare.transformer(data.is_sparse),
        classifier=_classifier(how.classifier, seed),
        random_state=seed,
    )
    notes += caught
    record = _record(found, data, prepare.describe(data.is_sparse), notes)
    output.say_notes(notes)
    if output.json:
        say_json(record)
    elif not output.quiet:
        say(_as_text(found, record))
    if output.out is not None:
        _write(output.out, found, record)
    if output.report is not None:
        _write_report(output.report, found, data, record["call"])


def _chosen(names: str) -> list[Choice]:
    found = {choice.name: choice for choice in map(method_named, _parts(names))}
    if not found:
        raise UsageError("--methods names no method. Write --methods fisher,relieff.")
    return list(found.values())


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _check(choices: list[Choice], data: Table, links: Any) -> list[str]:
    """Refuse methods that lack what they need; return what should be said, each thing once."""
    if data.labels is None:
        raise UsageError("Accuracy is measured on labels. Name their column by --label.")
    notes: list[str] = []
    for choice in choices:
        if choice.method.wraps:
            raise UsageError(f"{choice.name} works around another method; compare that one.")
        # Rows without a label are left out for methods that need labels.
        if choice.needs != "labels" or None not in data.labels:
            notes += check_supervision(choice.name, choice.method, data, links)
    return list(dict.fromkeys(notes))


def _check_split_size(data: Table, test_size: float) -> None:
    """Refuse splits in which training or test rows are fewer than classes."""
    n_labelled = int((data.codes() >= 0).sum())
    n_test = math.ceil(test_size * n_labelled)
    n_classes = len(data.classes)
    if min(n_test, n_labelled - n_test) < n_classes:
        raise UsageError(
            f"--test-size {test_size:g} of {n_labelled} labelled rows makes {n_test} test rows and "
            f"{n_labelled - n_test} training rows, but each need {n_classes} or more, one for each "
            "class. Choose a share nearer to 0.5."
        )


def _selector(choice: Choice, on_conflict: OnConflict, seed: int) -> Any:
    takes_it = on_conflict != "raise" and "on_conflict" in choice.parameters
    return make_selector(choice, [f"on_conflict={on_conflict}"] if takes_it else (), seed=seed)


def _measure(
    selectors: dict[str, Any], data: Table, steps: _Steps, **how: Any
) -> tuple[Comparison, list[str]]:
    """Compare; return the result and the warnings."""
    from linkselect import evaluation

    with (
        warnings.catch_warnings(record=True) as caught,
        explained({"on_conflict": "--on-conflict drop"}),
        steps.named(),
    ):
        warnings.simplefilter("always")
        found = evaluation.compare(
            selectors,
            data.X,
            data.codes(),
            sample_ids=data.ids,
            n_splits=steps.n_splits,
            track=steps,
            **how,
        )
    return found, list(dict.fromkeys(str(one.message) for one in caught))


def _numbers(text: str | None, data: Table) -> list[int] | None:
    if text is None:
        return None
    parts = _parts(text)
    n_all = len(data.names)
    if not parts or not all(part.isdecimal() and 1 <= int(part) <= n_all for part in parts):
        raise UsageError(f"--n-features {text}: write numbers from 1 to {n_all}, such as 1,2,5,10.")
    return sorted({int(part) for part in parts})


def _top(top: int | None, data: Table) -> int | None:
    if top is not None and not 1 <= top <= len(data.names):
        raise UsageError(f"--top {top}, but {data.source} has {len(data.names)} features.")
    return top


def _classifier(name: Classifier, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "1nn": None,
        "5nn": KNeighborsClassifier(5),
        "logistic": LogisticRegression(max_iter=1000),
        "svm": LinearSVC(random_state=seed),
        "tree": DecisionTreeClassifier(random_state=seed),
        "forest": RandomForestClassifier(random_state=seed),
    }[name]


class _Steps:
    """The method and the split at work, for a bar on a terminal and for errors."""

    def __init__(self, n_splits: int, show_bar: bool) -> None:
        self.n_splits = n_splits
        self._show_bar = show_bar
        self._at_work: tuple[str, int] | None = None

    def __call__(self, steps: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        for step in _progress(list(steps)) if self._show_bar else steps:
            self._at_work = step
            yield step
        self._at_work = None

    @contextmanager
    def named(self) -> Iterator[None]:
        """Add the method and the split to an error caused by a split with too few rows."""
        from linkselect.pairs import PairConflictError

        try:
            yield
        except PairConflictError:
            raise
        except ValueError as error:
            if self._at_work is None or self._at_work[1] < 0:
                raise
            method, split = self._at_work
            raise InputError(
                f"{method}, split {split + 1} of {self.n_splits}: {problem_of(error)} Only pairs "
                "with both ends among the training rows of a split count. Give more pairs, or pass "
                "a smaller --test-size or another --seed."
            ) from error


def _progress(steps: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Show a bar that counts steps and names the method at work."""
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        task = bar.add_task("", total=len(steps))
        for step in steps:
            bar.update(task, description=step[0])
            yield step
            bar.advance(task)


def _record(found: Comparison, data: Table, preparation: str, notes: list[str]) -> dict[str, Any]:
    rankings = {
        name: [data.names[place] for place in order] for name, order in found.rankings.items()
    }
    return {
        "source": data.source,
        "classes": data.classes,
        "preparation": preparation,
        "call": shlex.join(["linkselect", *sys.argv[1:]]),
        **found.to_dict(),
        "rankings": rankings,
        "notes": notes,
    }


def _as_text(found: Comparison, record: dict[str, Any]) -> str:
    head = (
        f"{record['source']}: {found.n_samples:,} rows, {found.n_features:,} features, "
        f"{len(record['classes'])} classes. {record['preparation']}"
    )
    parts = [head, "\n".join(found.summary), _accuracy_table(found), _methods_table(found)]
    if len(found.methods) > 1:
        parts += [
            _matrix(found, found.spearman, "Rank correlation (Spearman), fitted on all rows"),
            _matrix(found, found.overlap, f"Share of the best {found.top} features in common"),
        ]
    return "\n\n".join(parts)


def _accuracy_table(found: Comparison) -> str:
    counts = found.accuracy[found.leader].n_features.tolist()
    rows = [
        [name, *(f"{100 * mean:.1f}±{100 * spread:.1f}" for mean, spread in _points(found, name))]
        for name in [*found.mean_accuracy, *(set(found.accuracy) - set(found.methods))]
    ]
    table = text_table(["features", *map(str, counts)], rows, left=[0])
    return f"Accuracy in %, mean ± standard deviation over splits\n{table}"


def _points(found: Comparison, name: str) -> Iterator[tuple[float, float]]:
    curve = found.accuracy[name]
    return zip(curve.mean.tolist(), curve.spread.tolist(), strict=True)


def _methods_table(found: Comparison) -> str:
    rows = [
        [
            name,
            f"{100 * mean:.1f} %",
            _number(found.stability[name]),
            f"{found.seconds[name]:.3f} s",
            found.saw[name],
        ]
        for name, mean in found.mean_accuracy.items()
    ]
    header = ["method", "mean accuracy", "stability", "time", "used"]
    return text_table(header, rows, left=[0, 4])


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.2f}"


def _matrix(found: Comparison, values: Any, title: str) -> str:
    rows = [[name, *map(_number, row)] for name, row in zip(found.methods, values, strict=True)]
    return f"{title}\n{text_table(['', *found.methods], rows, left=[0])}"


def _write(path: Path, found: Comparison, record: dict[str, Any]) -> None:
    if path.suffix.lower() == ".json":
        write_safely(path, lambda part: part.write_text(to_json(record) + "\n", "utf-8"))
        return
    rows = [
        (name, split, count, value)
        for name, curve in found.accuracy.items()
        for split, values in enumerate(curve.values.tolist())
        for count, value in zip(curve.n_features.tolist(), values, strict=True)
    ]
    keys = ("method", "split", "n_features", "accuracy")
    write_columns(path, dict(zip(keys, map(list, zip(*rows, strict=True)), strict=True)))


def _write_report(path: Path, found: Comparison, data: Table, call: str) -> None:
    from linkselect.report import comparison_page

    page = comparison_page(found, names=data.names, source=data.source, call=call)
    write_safely(path, lambda part: part.write_text(page, "utf-8", newline="\n"))
