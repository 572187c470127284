"""`linkselect compare`: several methods on one table."""

from __future__ import annotations

import math
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from linkselect._messages import many
from linkselect.cli import _supervision_input as supervision
from linkselect.cli._choices import (
    Choice,
    Seed,
    about_width,
    described,
    make_selector,
    method_named,
    parts_of,
)
from linkselect.cli._errors import InputError, UsageError, notes_of, problem_of
from linkselect.cli._output import DEFAULT_OUTPUT, Output, tracked
from linkselect.cli._preparation import (
    DEFAULT_PREPARATION,
    Preparation,
    Scale,
    keep_signs,
    settle_values,
)
from linkselect.cli._results import comparison_text, write_comparison
from linkselect.cli._tables import DEFAULT_READING, Reading, Table, read_table
from linkselect.cli._tables.picture_table import kept_beside

if TYPE_CHECKING:
    from linkselect.evaluation import Comparison
    from linkselect.pairs import Pairs

# More would hardly end on any table, and would tell no more.
_MOST_FITS = 10_000

# What is compared without --methods: from pairs, whether or not there are labels to measure on,
# else from labels of all or of some rows.
COMPARED: dict[str, tuple[str, ...]] = {
    "pairs": (
        "link_selector",
        "consensus_selector",
        "constraint",
        "lsdf",
        "compensated_laplacian",
        "similarity_constraint",
        "scgs",
        "variance",
    ),
    "all": ("link_selector", "fisher", "relieff", "mrmr", "laplacian", "variance"),
    "some": (
        "link_selector",
        "compensated_laplacian",
        "lsdf",
        "similarity_constraint",
        "scgs",
        "variance",
    ),
}

Classifier = Literal["1nn", "5nn", "logistic", "svm", "tree", "forest"]
OnConflict = Literal["raise", "drop"]


@dataclass(frozen=True)
class Measuring:
    """How accuracy is measured, and how pairs are held out.

    Parameters
    ----------
    splits
        How many random splits into training and test rows; with labels.
    test_size
        The share of test rows.
    classifier
        What measures accuracy.
    folds
        Into how many folds pairs are dealt out; each is held out once.
    repeats
        How often pairs are dealt out.
    """

    splits: int = 20
    test_size: float = 0.2
    classifier: Classifier = "1nn"
    folds: int = 5
    repeats: int = 4

    def check(self) -> None:
        """Refuse numbers that cannot be used."""
        if not 0 < self.test_size < 1 or self.splits < 2:
            raise UsageError("--test-size is a share between 0 and 1, and --splits 2 or more.")
        if self.folds < 2 or self.repeats < 1:
            raise UsageError("--folds is 2 or more, and --repeats 1 or more.")
        if max(self.splits, self.folds * self.repeats) > _MOST_FITS:
            raise UsageError(
                f"--splits, and --folds times --repeats, are at most {_MOST_FITS:,}: every method "
                "is fitted once in each."
            )


DEFAULT_MEASURING = Measuring()


def compare(
    table: Path,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    methods: Annotated[str | None, Parameter(name=("--methods", "--method"))] = None,
    n_features: str | None = None,
    top: int | None = None,
    pairs: Path | None = None,
    on_conflict: OnConflict = "raise",
    how: Annotated[Measuring, Parameter(name="*")] = DEFAULT_MEASURING,
    prepare: Annotated[Preparation, Parameter(name="*")] = DEFAULT_PREPARATION,
    seed: Seed = 0,
    output: Annotated[Output, Parameter(name="*")] = DEFAULT_OUTPUT,
) -> None:
    """Compare several methods on one table: how good, how alike, how stable, how fast.

    With --label, by accuracy on test rows; with --pairs, by pairs that are held out: how often a
    cannot-link is farther apart than a must-link in the first features.

    Parameters
    ----------
    table
        The table, with --label, --pairs or both.
    methods
        Their names with commas between them; `linkselect methods` lists them. Parameters may
        follow, as in relieff(n_neighbors=3), and package.module:Class names one of another library.
        Default: some that suit what is known.
    n_features
        Numbers of features with commas between them, at which methods are measured.
    top
        How many of the best features agreement and stability look at.
    pairs
        Pairs for the methods that use them, and to be held out: .csv or .json.
    on_conflict
        What to do about cannot-links that contradict must-links: end, or leave them out.
    seed
        Where random draws start from.
    """
    output.check({"the table": table, "--pairs": pairs})
    how.check()
    data = read_table(table, kept_beside(pairs, read))
    if top is not None and not 1 <= top <= len(data.names):
        raise UsageError(f"--top {top}, but {data.source} has {len(data.names)} features.")
    choices = _chosen(methods, "pairs" if pairs is not None else supervision.labelled_rows(data))
    links, about_pairs = (None, []) if pairs is None else supervision.pairs_of(pairs, data)
    selectors = {one.name: _selector(one, on_conflict, seed, prepare.scale) for one in choices}
    notes = [*data.notes, *about_pairs, *_check(selectors, data, links)]
    notes += chain.from_iterable(about_width(one, (), prepare.scale) for one in choices)
    data, prepare, more, seen = settle_values(data, prepare, max_memory=read.max_memory)
    keep_signs(selectors.values(), prepare, seen)
    links, about_conflicts = _without_conflicts(links, on_conflict)
    together, about_both = _together(selectors, data, links)
    more += supervision.about_design(data, links, read, prepare, tests=False)
    notes += [*more, *about_conflicts, *about_both]
    with supervision.blamed(choices):
        found, caught = _measure(
            selectors,
            data,
            _Steps(data.labels is not None, show_bar=output.shows_progress),
            how,
            seed,
            pairs=links,
            together=together,
            n_features=_numbers(n_features, data),
            top=top,
            prepare=prepare.transformer(data.is_sparse),
        )
    record = _record(found, data, prepare.describe(data.is_sparse), notes + caught)
    output.say_notes(record["notes"])
    output.say(record, lambda: comparison_text(found, record))
    write_comparison(found, data, record, output)
    output.say_written()


def _chosen(names: str | None, known: str) -> list[Choice]:
    if known == "no":
        raise UsageError(
            "Methods are compared on labels or on held-out pairs. Name the column of labels by "
            "--label, or give --pairs FILE."
        )
    wanted = COMPARED[known] if names is None else parts_of(names)
    found = {choice.name: choice for choice in map(method_named, wanted)}
    if not found:
        raise UsageError("--methods names no method. Write --methods fisher,relieff.")
    return list(found.values())


def _check(selectors: dict[str, Any], data: Table, links: Any) -> list[str]:
    """Refuse methods that lack what they need; return what should be said, each thing once."""
    methods = {name: described(selector) for name, selector in selectors.items()}
    notes = [
        note
        for name, method in methods.items()
        for note in supervision.check_supervision(name, method, data, links)
    ]
    on_labelled = [
        name for name, method in methods.items() if supervision.about_rows(name, method, data)
    ]
    if on_labelled:
        notes += supervision.about_rows(" and ".join(on_labelled), methods[on_labelled[0]], data)
    return list(dict.fromkeys(notes))


def _without_conflicts(links: Pairs | None, on_conflict: OnConflict) -> tuple[Any, list[str]]:
    """Leave out contradicted cannot-links if that was asked for, and say so."""
    if links is None or on_conflict == "raise" or not links.n_conflicts:
        return links, []
    about = f"{many(links.n_conflicts, 'contradicted cannot-link')} left out."
    return links.without_conflicts(), [about]


def _together(selectors: dict[str, Any], data: Table, links: Any) -> tuple[bool, list[str]]:
    """Tell whether methods use labels and pairs together, and say so; refuse a contradiction."""
    by_pairs = {name: one for name, one in selectors.items() if described(one).sees == "pairs"}
    if not by_pairs or links is None or data.labels is None:
        return False, []
    names = ", ".join(by_pairs)
    found = [supervision.together(one, data, links) for one in by_pairs.values()]
    if any(joined is None for joined, _ in found):  # labels imply too many pairs
        return False, [f"{names}: ranked by the pairs alone; labels measure accuracy."]
    return True, [f"{names}: {found[0][1][0]}"]


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


def _selector(choice: Choice, on_conflict: OnConflict, seed: int, scale: Scale) -> Any:
    takes_it = on_conflict != "raise" and "on_conflict" in choice.parameters
    settings = [f"on_conflict={on_conflict}"] if takes_it else ()
    return make_selector(choice, settings, seed=seed, scale=scale)


def _measure(
    selectors: dict[str, Any], data: Table, steps: _Steps, how: Measuring, seed: int, **options: Any
) -> tuple[Comparison, list[str]]:
    """Compare; return the result and the warnings."""
    from linkselect import evaluation

    codes = None
    if data.labels is not None:
        _check_split_size(data, how.test_size)
        codes = data.codes()
    with (
        warnings.catch_warnings(record=True) as caught,
        supervision.explained({"on_conflict": "--on-conflict drop", "sigma": "METHOD(sigma=auto)"}),
        steps.named(),
    ):
        warnings.simplefilter("always")
        found = evaluation.compare(
            selectors,
            data.X,
            codes,
            sample_ids=data.ids,
            groups=data.group_codes(),
            n_splits=how.splits,
            test_size=how.test_size,
            classifier=_classifier(how.classifier, seed),
            cv=evaluation.PairKFold(how.folds, n_repeats=how.repeats, random_state=seed),
            random_state=seed,
            track=steps,
            **options,
        )
    return found, notes_of(caught)


def _numbers(text: str | None, data: Table) -> list[int] | None:
    if text is None:
        return None
    parts = parts_of(text)
    n_all = len(data.names)
    if not parts or not all(part.isdecimal() and 1 <= int(part) <= n_all for part in parts):
        raise UsageError(f"--n-features {text}: write numbers from 1 to {n_all}, such as 1,2,5,10.")
    return sorted({int(part) for part in parts})


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


# What to do if a part has too few pairs, by what parts are called.
_TOO_FEW = {
    "split": "Only pairs with both ends among the training rows of a split count. Give more pairs, "
    "or pass a smaller --test-size or another --seed.",
    "fold": "The pairs of a fold are held out. Give more pairs, or pass other --folds.",
}


class _Steps:
    """The method and the split or fold at work, for a bar on a terminal and for errors."""

    def __init__(self, has_labels: bool, show_bar: bool) -> None:
        self._kinds = iter(("split", "fold") if has_labels else ("fold",))
        self._show_bar = show_bar
        self._at_work = self._hint = ""

    def __call__(self, steps: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        steps = list(steps)
        kind = next(self._kinds)
        self._hint = _TOO_FEW[kind]
        n_parts = 1 + max((part for _, part in steps), default=0)
        for method, part in tracked(steps, self._show_bar, itemgetter(0)):
            self._at_work = "" if part < 0 else f"{method}, {kind} {part + 1} of {n_parts}"
            yield method, part
        self._at_work = ""

    @contextmanager
    def named(self) -> Iterator[None]:
        """Add the method and the part to an error caused by a part with too few rows or pairs."""
        from linkselect.pairs import PairConflictError

        try:
            yield
        except ValueError as error:
            if isinstance(error, PairConflictError) or not self._at_work:
                raise
            problem = f"{self._at_work}: {problem_of(error)} {self._hint}"
            raise InputError(problem) from error


def _record(found: Comparison, data: Table, preparation: str, notes: list[str]) -> dict[str, Any]:
    """Collect what was done and found, as plain data."""
    from linkselect.report._schema import SCHEMA_VERSION

    return {
        "schema_version": SCHEMA_VERSION,
        "source": data.source,
        "classes": data.classes,
        "preparation": preparation,
        "call": shlex.join(["linkselect", *sys.argv[1:]]),
        **found.to_dict(),
        "rankings": {
            name: [data.names[place] for place in order] for name, order in found.rankings.items()
        },
        "notes": notes,
    }
