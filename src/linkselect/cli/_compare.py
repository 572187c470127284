"""`linkselect compare`: compare methods on one table."""

from __future__ import annotations

import math
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from linkselect._messages import about_constant, many
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
from linkselect.cli._output import DEFAULT_OUTPUT, Output
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
from linkselect.cli._terminal import say_notes, tracked

if TYPE_CHECKING:
    from linkselect.evaluation import Comparison
    from linkselect.pairs import Pairs

# More fits would take too long without improving the precision noticeably.
_MOST_FITS = 10_000

# The methods that are compared by default if there are pairs (with or without labels), or labels of
# all or of some rows.
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
    """Options for measuring accuracy and for holding out pairs.

    Parameters
    ----------
    splits
        The number of random splits into training and test rows; used with --label.
    test_size
        The proportion of test rows.
    classifier
        The classifier whose accuracy is measured.
    folds
        The number of folds into which the pairs are divided. Each fold is held out once.
    repeats
        The number of times that the pairs are split into folds.
    """

    splits: int = 20
    test_size: float = 0.2
    classifier: Classifier = "1nn"
    folds: int = 5
    repeats: int = 4

    def check(self) -> None:
        """Check that the numbers of splits, folds and repeats and the test size are valid."""
        if not 0 < self.test_size < 1 or self.splits < 2:
            raise UsageError("--test-size must be between 0 and 1, and --splits at least 2.")
        if self.folds < 2 or self.repeats < 1:
            raise UsageError("--folds must be at least 2, and --repeats at least 1.")
        if max(self.splits, self.folds * self.repeats) > _MOST_FITS:
            raise UsageError(
                f"--splits, and --folds times --repeats, must be at most {_MOST_FITS:,}, because "
                "every method is fitted once for each split or fold."
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
    """Compare methods on one table by accuracy, agreement, stability and time.

    With --label, methods are compared by their accuracy on test rows. With --pairs, they are
    compared by the AUC of held-out pairs, which is the probability that two cannot-linked rows are
    farther apart than two must-linked rows.

    Parameters
    ----------
    table
        The table, to be used with --label, --pairs or both.
    methods
        The methods, separated by commas. `linkselect methods` lists all methods. Parameters follow
        the name in parentheses, as in relieff(n_neighbors=3). Specify a selector of another library
        as package.module:Class. By default, methods that can use the labels and pairs are compared.
    n_features
        The numbers of features at which the methods are evaluated, separated by commas.
    top
        The number of best features from which agreement and stability are computed.
    pairs
        A .csv or .json file of pairs for fitting the methods and, when held out, for evaluating
        them.
    on_conflict
        Whether cannot-links that contradict must-links raise an error or are dropped.
    seed
        The random seed.
    """
    output.check({"the table": table, "--pairs": pairs})
    how.check()
    data = read_table(table, kept_beside(pairs, read))
    if top is not None and not 1 <= top <= len(data.names):
        raise UsageError(f"--top must be between 1 and {len(data.names)}, the number of features.")
    choices = _chosen(methods, "pairs" if pairs is not None else supervision.labelled_rows(data))
    links, about_pairs = (None, []) if pairs is None else supervision.pairs_of(pairs, data)
    selectors = {one.name: _selector(one, on_conflict, seed, prepare.scale) for one in choices}
    notes = [*data.notes, *about_pairs, *supervision.check_supervision(selectors, data, links)]
    notes += [*supervision.about_rows(selectors, data), *about_width(choices, (), prepare.scale)]
    data, prepare, more, seen = settle_values(data, prepare, max_memory=read.max_memory)
    keep_signs(selectors.values(), prepare, seen)
    links, about_conflicts = _without_conflicts(links, on_conflict)
    together, about_both = _together(selectors, data, links)
    more += supervision.about_design(data, links, read, prepare, tests=False)
    n_constant = int((seen.low == seen.high).sum())
    notes += [*more, *about_conflicts, *about_both, *about_constant(n_constant, len(data.names))]
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
    output.say(record, lambda: comparison_text(found, record))
    say_notes(record["notes"])
    write_comparison(found, data, record, output)
    output.say_written()


def _chosen(names: str | None, known: str) -> list[Choice]:
    if known == "no":
        raise UsageError(
            "A comparison requires labels or pairs. Specify the label column with --label COLUMN, "
            "or pass --pairs FILE."
        )
    wanted = COMPARED[known] if names is None else parts_of(names)
    found = {choice.name: choice for choice in map(method_named, wanted)}
    if not found:
        raise UsageError("--methods is empty. For example, pass --methods fisher,relieff.")
    return list(found.values())


def _without_conflicts(links: Pairs | None, on_conflict: OnConflict) -> tuple[Any, list[str]]:
    """Drop cannot-links that contradict must-links if requested; also return a note."""
    if links is None or on_conflict == "raise" or not links.n_conflicts:
        return links, []
    about = f"Ignored {many(links.n_conflicts, 'cannot-link')} in conflict with must-links."
    return links.without_conflicts(), [about]


def _together(selectors: dict[str, Any], data: Table, links: Any) -> tuple[bool, list[str]]:
    """Return whether methods use labels and pairs together, and a note if they do not."""
    by_pairs = [one for one in selectors.values() if described(one).sees == "pairs"]
    if not by_pairs or links is None or data.labels is None:
        return False, []
    joined = [supervision.together(one, data, links)[0] for one in by_pairs]
    if any(one is None for one in joined):  # labels imply too many pairs
        return False, ["Labels are used only to measure accuracy, not by methods that use pairs."]
    return True, []


def _check_split_size(data: Table, test_size: float) -> None:
    """Check that there are at least as many training rows and test rows as classes."""
    n_labelled = int((data.codes() >= 0).sum())
    n_test = math.ceil(test_size * n_labelled)
    n_classes = len(data.classes)
    if min(n_test, n_labelled - n_test) < n_classes:
        raise UsageError(
            f"--test-size {test_size:g} splits {n_labelled} labelled rows into {n_test} test rows "
            f"and {n_labelled - n_test} training rows, but at least {n_classes} of each are "
            "required, one per class. Choose a proportion closer to 0.5."
        )


def _selector(choice: Choice, on_conflict: OnConflict, seed: int, scale: Scale) -> Any:
    takes_it = on_conflict != "raise" and "on_conflict" in choice.parameters
    settings = [f"on_conflict={on_conflict}"] if takes_it else ()
    return make_selector(choice, settings, seed=seed, scale=scale)


def _measure(
    selectors: dict[str, Any], data: Table, steps: _Steps, how: Measuring, seed: int, **options: Any
) -> tuple[Comparison, list[str]]:
    """Compare the methods, and return the result and the warnings."""
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
        raise UsageError(f"--n-features {text}: use numbers from 1 to {n_all}, such as 1,2,5,10.")
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


# Advice if a split or fold has too few pairs.
_TOO_FEW = {
    "split": "In each split, only pairs of two training rows are used. Add pairs, or choose a "
    "smaller --test-size or another --seed.",
    "fold": "In each fold, some pairs are held out. Add pairs, or change --folds.",
}


class _Steps:
    """Track the current method and split or fold, for the progress bar and error messages."""

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
        """Add the current method and split or fold to errors about too few rows or pairs."""
        from linkselect.pairs import PairConflictError

        try:
            yield
        except ValueError as error:
            if isinstance(error, PairConflictError) or not self._at_work:
                raise
            problem = f"{self._at_work}: {problem_of(error)} {self._hint}"
            raise InputError(problem) from error


def _record(found: Comparison, data: Table, preparation: str, notes: list[str]) -> dict[str, Any]:
    """Collect the settings and results of a comparison as plain data."""
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
