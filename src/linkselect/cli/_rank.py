"""`linkselect rank`: rank the features of a table."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from linkselect.cli import _by_parts as by_parts_of
from linkselect.cli import _choices as choices
from linkselect.cli import _supervision_input as supervision
from linkselect.cli._column_values import ColumnValues
from linkselect.cli._errors import InputError, UsageError, notes_of
from linkselect.cli._feature_count import keep_number, number_typed, prepare_number
from linkselect.cli._feature_options import (
    DEFAULT_FEATURES,
    FeatureOptions,
    about_copies,
    has_copies,
)
from linkselect.cli._output import DEFAULT_OUTPUT, Output, note_on_formulas
from linkselect.cli._preparation import (
    DEFAULT_PREPARATION,
    Preparation,
    keep_signs,
    settle_values,
)
from linkselect.cli._results import ranking_text, write_ranking
from linkselect.cli._selected import check_selected, write_selected
from linkselect.cli._tables import DEFAULT_READING, Reading, Table
from linkselect.cli._tables.picture_table import kept_beside
from linkselect.cli._tables.table import StoredTable
from linkselect.cli._terminal import say_notes, tracked

if TYPE_CHECKING:
    from linkselect.evaluation import FeaturePValues, NumberOfFeatures, Validation
    from linkselect.report._schema import Summary


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
    features: Annotated[FeatureOptions, Parameter(name="*")] = DEFAULT_FEATURES,
    seed: choices.Seed = 0,
    select: Path | None = None,
    validate: Annotated[bool, Parameter(negative="--no-validate")] = True,
    resamples: Annotated[int | None, Parameter(validator=validators.Number(gte=0))] = None,
    p_values: bool = False,
    permutations: Annotated[int, Parameter(validator=validators.Number(gte=19))] = 199,
    escape_formulas: bool = False,
    by_parts: bool = False,
    scheduler: str | None = None,
    output: Annotated[Output, Parameter(name="*")] = DEFAULT_OUTPUT,
) -> None:
    """Rank the features of a table and keep the best.

    Parameters
    ----------
    table
        A CSV, TSV (also .gz), Excel, Parquet, Feather, NPY, NPZ, MAT, ARFF, SVMlight or .h5ad
        (AnnData) file, a folder of pictures or of Parquet files, or a Zarr array. Parquet, NPY,
        Zarr and .h5ad data are read in parts if they do not fit in memory.
    method
        The ranking method. `linkselect methods` lists all methods. Specify a selector of another
        library as package.module:Class. The default, link_selector, uses all labels and pairs, and
        also works without them.
    n_features
        The number of features to keep, a fraction such as 0.1, or auto. With auto, at most 300
        features are kept, and the number is the method's own optimum if there is one. For
        link_selector, the optimum is the smallest number of features that explain 90 % of what all
        features explain. For methods without an optimum, auto uses half of the features or, if
        there are labels, the smallest number whose held-out accuracy is within 1 percentage point
        of the best.
    pairs
        A JSON file, or a CSV file with the header a,b,link, where link is must or cannot. If
        --label is also passed, methods that use pairs combine pairs and labels.
    settings
        A parameter of the method, such as sigma=1. Repeat the option to set several parameters.
    seed
        The random seed.
    select
        Write a table of only the selected features, unscaled, in any table format that --out
        supports.
    validate
        Estimate the reliability of the ranking: performance on held-out pairs or labels, a test
        against chance, selection frequencies, and highly correlated features. The validation
        fits the method another 12 to 220 times, depending on the size of the table.
    resamples
        The number of resamples for selection frequencies, each with half of the samples. The
        default is 10 to 50, depending on the method and the size of the table.
    p_values
        Permute the samples to compute p-values, adjusted p-values and false discovery rates.
    permutations
        The number of permutations for --p-values.
    escape_formulas
        In a CSV or TSV ranking, put a quote before names that a spreadsheet would evaluate as
        formulas. The table written by --select is not changed.
    by_parts
        Read a Parquet file or folder, NPY file, Zarr array or .h5ad file in parts even if it fits
        in memory.
    scheduler
        The address of a running Dask cluster that reads the parts, such as tcp://10.0.0.1:8786. The
        workers of the cluster need access to the same files.
    """
    output.check({"the table": table, "--pairs": pairs}, {"--select": select}, table)
    read = kept_beside(pairs, read)
    choice = None if method is None else choices.method_named(method)
    wanted = Wanted(n_features, features, seed, validate, resamples, permutations * p_values)
    why = by_parts_of.why_by_parts(table, read, by_parts, scheduler)
    check_selected(select, table, by_parts=why is not None)
    wanted.check(by_parts=why is not None)
    said = [] if why is None else [why]
    say_notes(said)
    with by_parts_of.opened(
        table, read, why is not None, scheduler, output.shows_progress
    ) as whole:
        job = _job(whole, read, choice, settings, pairs, prepare, wanted)
        job.notes.extend(_about_design(job, read, validate, p_values))
        summary = _rank(job, wanted, output, said)
        if select is not None:
            write_selected(select, job.selector, whole, read)
    if output.json:
        say_notes(summary["alarms"], "Warning")
    more = "" if output.out is not None else "\n--out FILE writes the whole ranking."
    output.say(summary, lambda: ranking_text(summary, job.data, job.links, job.choice.name) + more)
    notes = [*summary["notes"], *summary["warnings"]]
    if not escape_formulas:
        notes += note_on_formulas(job.data.names, output.out, select)
    say_notes(note for note in notes if note not in said)
    write_ranking(summary, output, escape_formulas, table, read.array)
    output.say_written(select)


@dataclass(frozen=True)
class Wanted:
    """The requested number of features, and options for validation."""

    n_features: str
    features: FeatureOptions
    seed: int
    validate: bool
    resamples: int | None
    n_permutations: int

    def check(self, by_parts: bool) -> None:
        """Raise an error if a table that is read in parts does not support the options."""
        self.features.check(by_parts)
        if by_parts and self.n_permutations:
            raise UsageError(
                "--p-values requires the table in memory, but it is read in parts. Allow more "
                "memory with --max-memory."
            )


@dataclass(frozen=True)
class RankingJob:
    """The method and the data to rank.

    `data` contains the rows and columns that the method uses. If the table is read in parts, its
    values are already prepared. `seen` describes the values before preparation. `links` contains
    the pairs from the file, and `used` contains the pairs that are passed to the method, which may
    include pairs that labels imply.
    """

    choice: choices.Choice
    selector: Any
    data: Table
    links: Any
    used: Any
    prepare: Preparation
    notes: list[str]
    seen: ColumnValues

    @property
    def by_parts(self) -> bool:
        """Whether the table is read in parts."""
        return isinstance(self.data, StoredTable)


def _job(
    whole: Table,
    read: Reading,
    choice: choices.Choice | None,
    settings: tuple[str, ...],
    pairs: Path | None,
    prepare: Preparation,
    wanted: Wanted,
) -> RankingJob:
    """Prepare the table, the pairs and the method, and check that they are compatible."""
    if whole.X.shape[0] < 2:
        raise InputError(f"{whole.source} has one row, but a ranking requires at least two.")
    links, about_pairs = (None, []) if pairs is None else supervision.pairs_of(pairs, whole)
    choice = choice or choices.method_named(choices.DEFAULT_METHOD)
    selector = choices.make_selector(choice, settings, seed=wanted.seed, scale=prepare.scale)
    method = choices.described(selector)
    notes = [*whole.notes, *about_pairs, *choices.about_width([choice], settings, prepare.scale)]
    notes += supervision.check_supervision({choice.name: selector}, whole, links)
    nothing_known = whole.labels is None and links is None
    if wanted.n_permutations and (method.sees == "nothing" or nothing_known):
        raise UsageError(
            f"--p-values permutes labels or pairs, but {choice.name} uses neither here. Pass "
            "--label or --pairs, and choose a method that uses them."
        )
    data, about = whole, supervision.about_rows({choice.name: selector}, whole)
    if about:
        if isinstance(whole, StoredTable):
            by_parts_of.check_labelled_fit(whole, read)
        data = whole.labelled()
    if isinstance(data, StoredTable):
        by_parts_of.check_reads_parts(choice, selector, data)
    data, prepare, about_values, seen = settle_values(data, prepare, wanted.seed, read.max_memory)
    keep_signs([selector], prepare, seen)
    if data.ids is None and data.X.shape[0] < whole.X.shape[0]:
        links = None  # unused by this method, and row numbers have changed
    selector = wanted.features.around(selector, data)
    used, about_both = supervision.together(selector, data, links)
    notes += [*about_both, *about, *about_values]
    return RankingJob(choice, selector, data, links, used, prepare, notes, seen)


def _about_design(job: RankingJob, read: Reading, validate: bool, p_values: bool) -> list[str]:
    """Return notes on how groups and batches are used."""
    if not job.by_parts:
        tests = validate or p_values
        return supervision.about_design(job.data, job.links, read, job.prepare, tests)
    unused = " --group and --batch are ignored." if read.group or read.batch else ""
    return [f"{by_parts_of.NOT_VALIDATED}{unused}"] if validate else []


def _rank(job: RankingJob, wanted: Wanted, output: Output, said: list[str]) -> Summary:
    """Fit the method, choose the number of features, validate, and summarize the result.

    A table that is read in parts is not validated. `said` contains notes that were already printed.
    """
    from linkselect._samples.parts import Parts
    from linkselect._samples.survey import Survey
    from linkselect.report import summarize

    data, links, by_parts = job.data, job.used, job.by_parts
    y = None if data.labels is None else data.codes()
    track = partial(tracked, show=output.shows_progress)
    known = {"pairs": links, "sample_ids": data.ids, "random_state": wanted.seed}
    batches = None
    if not by_parts:
        known["groups"], batches = data.group_codes(), data.batch_codes()
    job, X, number, seconds, warned = _selected(job, y, wanted, known, output.shows_progress)
    selector = job.selector
    found = significance = None
    if wanted.validate and not by_parts:
        known["track"] = partial(track, doing=lambda _: "validating")
        found = _validate(selector, X, y, number, known, batches, wanted.resamples)
    if wanted.n_permutations:
        known["track"] = partial(track, doing=lambda _: "permuting")
        significance = _p_values(job, X, y, wanted.n_permutations, {**known, "batches": batches})
    if by_parts:
        # With known minima and maxima, constant features are found without another pass.
        X = Parts(X, Survey(job.seen.low, job.seen.high))
    summary = summarize(
        selector,
        X,
        data.labels,
        links,
        sample_ids=data.ids,
        source=data.source,
        call=shlex.join(["linkselect", *sys.argv[1:]]),
        preparation=job.prepare.describe(data.is_sparse),
        notes=[*said, *job.notes],
        warnings=warned,
        seconds=seconds,
        view=output.report is not None and not by_parts,
        validation=found,
        number=number,
        values=X if by_parts else data.X,
        significance=significance,
    )
    summary["notes"] += about_copies(summary["ranking"]["reason"], summary["ranking"]["feature"])
    if by_parts:
        summary["data"]["n_missing"] = int(job.seen.n_missing.sum())
    return summary


def _selected(
    job: RankingJob, y: Any, wanted: Wanted, known: dict[str, Any], shows_progress: bool
) -> tuple[RankingJob, Any, NumberOfFeatures, float, list[str]]:
    """Fit the method and choose the number of features; refit without copies if necessary.

    Returns
    -------
    job : RankingJob
        The job with the final fitted selector.
    X : array or sparse matrix
        The values on which the selector was fitted.
    number : NumberOfFeatures
        The number of selected features.
    seconds : float
        The time for fitting the selector.
    warned : list of str
        Warnings issued during the fit.
    """
    selector, data, by_parts = job.selector, job.data, job.by_parts
    count = number_typed(wanted.n_features, data)
    prepare_number(selector, count, len(data.names))
    if shows_progress and not by_parts:
        _show_progress(selector)
    # The requirements of a method of another library are known only from its errors.
    labels = "If the method requires labels, specify the label column with --label COLUMN."
    else_try = labels if y is None and not job.choice.is_ours else ""
    with (
        supervision.explained(job.choice.options, by_parts, else_try),
        supervision.blamed([job.choice]),
    ):
        X, seconds, warned = _fit(job, y)
        track = partial(tracked, show=shows_progress, doing=lambda _: "validating")
        number = keep_number(selector, count, X, y, by_parts, **known, track=track)
    one_of_each = wanted.features.copies == "one" and not by_parts
    if one_of_each and not hasattr(selector, "copy_of_") and has_copies(selector, X):
        from sklearn.base import clone

        from linkselect import FeatureRules

        bare = clone(selector).set_params(n_features_to_select="auto")
        again = replace(job, selector=FeatureRules(bare, copies="one"))
        return _selected(again, y, wanted, known, shows_progress)
    return job, X, number, seconds, warned


def _p_values(
    job: RankingJob, X: Any, y: Any, n_permutations: int, known: dict[str, Any]
) -> FeaturePValues:
    from linkselect.evaluation import feature_p_values

    with supervision.explained(job.choice.options), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has already warned
        return feature_p_values(job.selector, X, y, n_permutations=n_permutations, **known)


def _show_progress(selector: Any) -> None:
    from linkselect._callbacks import HAS_CALLBACKS

    if HAS_CALLBACKS:
        from sklearn.callback import ProgressBar

        selector.set_callbacks(ProgressBar())


def _fit(job: RankingJob, y: Any) -> tuple[Any, float, list[str]]:
    """Fit the method; return the values for fitting, the time in seconds, and the warnings."""
    from linkselect.selectors._method import uses_groups
    from linkselect.selectors._ranking import name_features

    data, selector = job.data, job.selector
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = data.X if job.by_parts else job.prepare.applied(data)
        # Without --id-column, pairs refer to row numbers, even if the file contains an index.
        by_number = data.ids is None and job.by_parts
        ids = range(data.X.shape[0]) if by_number else data.ids
        start = time.perf_counter()
        groups = {"groups": data.group_codes()} if uses_groups(selector) else {}
        selector.fit(X, y, pairs=job.used, sample_ids=ids, **groups)
        seconds = time.perf_counter() - start
    name_features(selector, data.names)
    return X, seconds, notes_of(caught, selector.get_params(deep=False))


def _validate(
    selector: Any,
    X: Any,
    y: Any,
    number: NumberOfFeatures,
    known: dict[str, Any],
    batches: Any,
    n_resamples: int | None,
) -> Validation:
    from linkselect import evaluation

    # A search for fewer features may find different ones, so its folds are fitted again unless
    # each fold chooses its own number.
    rankings = number.rankings
    if rankings is not None and rankings.numbers is None and choices.described(selector).searches:
        rankings = None
    if number.rule == "own optimum" and selector.n_features_to_select != "auto":
        from linkselect.evaluation._number_of_features import rank_by_own_path

        rankings = rank_by_own_path(selector, X, y, **known)
    return evaluation.validate(
        selector, X, y, **known, batches=batches, rankings=rankings, n_resamples=n_resamples
    )
