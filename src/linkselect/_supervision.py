"""Immutable representation of supervision by labels, partial labels or pairs."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._messages import (
    GuidedTypeError,
    GuidedValueError,
    LeftOutPairsWarning,
    many,
    warn_user,
)
from linkselect.pairs import LoneClass, PairConflictError, Pairs
from linkselect.pairs import _consequences as following
from linkselect.pairs._conflicts import describe_conflicts
from linkselect.pairs._groupings import Grouping, group_sizes, list_links, needed
from linkselect.pairs._ids import check_ids, spelt_otherwise
from linkselect.pairs._labels import encode_labels, is_missing, label_array, warn_of_text
from linkselect.pairs._links import first_of_each, inside, must_components

OnConflict = Literal["raise", "warn", "drop"]

# The methods that use the weights of pairs, because their formulas are sums over pairs.
BY_WEIGHT = (
    "LinkSelector, ConstraintScore, LSDF, LaplacianConstraintScore, SCGS or "
    "SimilarityConstraintScore (supervised)"
)


@dataclass(frozen=True)
class Supervision:
    """Information on which samples belong to the same class and which do not.

    Attributes
    ----------
    classes : ndarray of shape (n_samples,)
        Class number of each sample, from 0, or -1 for samples without supervision. With pairs,
        samples connected by must-links form a class.
    listed_must, listed_cannot : ndarray of shape (n_pairs, 2) or None
        Pairs of row numbers. None means that the classes imply the pairs: a list of all pairs
        would need memory quadratic in the number of labels.
    lone_class : LoneClass or None
        The only labelled class, if the label -1 may be intended as a second class. Errors about too
        few labels mention this class.
    groupings : tuple of Grouping
        If there are pairs, the labels that imply additional pairs; these are not listed.
    must_weights, cannot_weights : ndarray of shape (n_pairs,) or None
        The weights of listed pairs; None if all are 1.
    contradicted : ndarray of bool of shape (n_samples,) or None
        Mask of the samples in listed cannot-links that are ignored because they contradict
        must-links; None if there are no such cannot-links.
    """

    classes: IntArray
    listed_must: IntArray | None = None
    listed_cannot: IntArray | None = None
    lone_class: LoneClass | None = None
    groupings: tuple[Grouping, ...] = ()
    must_weights: FloatArray | None = None
    cannot_weights: FloatArray | None = None
    contradicted: BoolArray | None = None

    @cached_property
    def must(self) -> IntArray | None:
        """All must-links, listed links first; None if the classes imply them."""
        return self._all_links(self.listed_must, alike=True)

    @cached_property
    def cannot(self) -> IntArray | None:
        """All cannot-links, listed links first; None if the classes imply them."""
        return self._all_links(self.listed_cannot, alike=False)

    @property
    def has_weights(self) -> bool:
        """Whether any weight differs from 1."""
        return self.must_weights is not None or self.cannot_weights is not None

    @property
    def all_weights(self) -> tuple[FloatArray, FloatArray]:
        """The weights of all must-links and cannot-links; implied links have weight 1."""
        must, cannot = (
            np.ones(0 if links is None else len(links)) for links in (self.must, self.cannot)
        )
        if self.must_weights is not None:
            must[: len(self.must_weights)] = self.must_weights
        if self.cannot_weights is not None:
            cannot[: len(self.cannot_weights)] = self.cannot_weights
        return must, cannot

    def _all_links(self, listed: IntArray | None, *, alike: bool) -> IntArray | None:
        if listed is None or not self.groupings:
            return listed
        kinds = (grouping.classes if alike else grouping.parts for grouping in self.groupings)
        implied = [list_links(codes, alike=alike) for codes in kinds]
        return first_of_each(np.concatenate([listed, *implied]), len(self.classes))

    @property
    def hint(self) -> str:
        """A hint for errors about too few labels; often empty."""
        lone = self.lone_class
        return "" if lone is None else f"{lone.problem} {lone.hint}"

    @property
    def unlabelled(self) -> BoolArray:
        """Whether each sample is unlabelled or, with pairs, is not in any pair."""
        return self.classes < 0

    @property
    def n_groups(self) -> int:
        """The number of classes or, with pairs, of groups connected by must-links."""
        return len(np.unique(self.classes[~self.unlabelled]))

    @property
    def has_must(self) -> bool:
        """Whether there is at least one must-link."""
        if self.listed_must is None:
            return bool((group_sizes(self.classes) > 1).any())
        inside = any((group_sizes(classes) > 1).any() for classes, _ in self.groupings)
        return inside or len(self.listed_must) > 0

    @property
    def has_cannot(self) -> bool:
        """Whether there is at least one cannot-link."""
        if self.listed_cannot is None:
            return self.n_groups > 1
        across = any(parts.max(initial=-1) > parts[parts >= 0].min() for _, parts in self.groupings)
        return across or len(self.listed_cannot) > 0


def restrict(known: Supervision, rows: IntArray) -> Supervision:
    """Return the supervision of the given rows, which are renumbered in the given order."""
    place = np.full(len(known.classes), -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))

    def renumber(
        links: IntArray | None, weights: FloatArray | None
    ) -> tuple[IntArray | None, FloatArray | None]:
        if links is None:
            return None, None
        kept = (place[links] >= 0).all(axis=1)
        return place[links][kept], None if weights is None else weights[kept]

    must, must_weights = renumber(known.listed_must, known.must_weights)
    cannot, cannot_weights = renumber(known.listed_cannot, known.cannot_weights)
    groupings = needed([Grouping(*(codes[rows] for codes in one)) for one in known.groupings])
    contradicted = None if known.contradicted is None else known.contradicted[rows]
    parts = must, cannot, known.lone_class, groupings, must_weights, cannot_weights, contradicted
    return Supervision(known.classes[rows], *parts)


def nothing(n_samples: int) -> Supervision:
    """Return a supervision in which all samples are unlabelled."""
    return Supervision(np.full(n_samples, -1, dtype=np.intp))


def from_labels(y: ArrayLike, n_samples: int) -> Supervision:
    """Create the supervision from labels, where -1, None and NaN mean unlabelled."""
    codes, labels = encode_labels(y)
    check_length(len(codes), n_samples)
    lone = LoneClass.find(y, codes, labels)
    if lone is not None and lone.is_one:
        raise lone.error()
    return Supervision(codes, lone_class=lone)


def check_labels(y: Any) -> Any:
    """Return y as an array; raise an error if it contains values that are not class labels."""
    warn_of_text(y)
    labels = label_array(y)
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{labels}\n")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.dtype.kind == "f":
        whole = labels[labels == labels]
        if np.isinf(whole).any() or (whole != np.floor(whole)).any():
            odd = whole[np.isinf(whole) | (whole != np.floor(whole))][0]
            raise GuidedValueError(
                f"y has the value {odd:g}, but class labels must be whole numbers or text, or -1, "
                "None or NaN for unlabelled samples.",
                "Bin a continuous target into classes first.",
            )
    return labels


def check_all_labelled(name: str, y: NDArray[Any]) -> None:
    """Raise an error if any label is missing, because the method `name` requires all labels."""
    if y.dtype.kind in "fmM":
        n_missing = int(np.count_nonzero(y != y))
    elif y.dtype.kind == "O":
        n_missing = sum(is_missing(label, minus_one=False) for label in y)
    else:
        return
    if n_missing:
        raise GuidedValueError(
            f"y has {many(n_missing, 'missing label')} (None, NaN or empty text), but {name} needs "
            "a label for every sample.",
            "Use a method for partial labels, such as SCGS or LSDF, or pass only the labelled "
            "samples.",
            "y",
        )


def check_length(n_labels: int, n_samples: int, n_features: int | None = None) -> None:
    """Raise an error unless there is one label per sample."""
    if n_labels == n_samples:
        return
    hint = "Pass one label per row, or -1 for rows whose label is unknown."
    if n_features is not None:
        hint = "Pass one label per row."
    if n_labels == n_features:
        hint = f"If the {many(n_labels, 'column')} of X are the samples, pass X.T."
    problem = f"y has {many(n_labels, 'label')}, but X has {many(n_samples, 'row')}."
    raise GuidedValueError(problem, hint)


def from_pairs(
    pairs: Pairs,
    n_samples: int,
    sample_ids: Iterable[Hashable] | None = None,
    on_conflict: OnConflict = "raise",
    *,
    ids_are_index: bool = False,
) -> Supervision:
    """Create the supervision from pairs, where must-links join samples into classes.

    `ids_are_index` states whether the ids are the index of a pandas X and were not passed.
    """
    present, row_of = present_pairs(pairs, n_samples, sample_ids, ids_are_index=ids_are_index)
    kept = _settle_conflicts(present, on_conflict)
    rows = np.array([row_of.get(sample, -1) for sample in kept._ids], dtype=np.intp)
    contradicted = None if kept is present else np.zeros(n_samples, dtype=bool)
    if contradicted is not None:
        ignored = present._cannot[inside(present._cannot, following.components_of(present))]
        contradicted[rows[ignored]] = True
    groupings = needed([one.at(rows, n_samples) for one in kept._groupings])
    must, cannot = rows[kept._must], rows[kept._cannot]
    classes = np.full(n_samples, -1, dtype=np.intp)
    named = rows[following.named_by(kept)]
    component = must_components(must, n_samples, groupings)
    classes[named] = np.unique(component[named], return_inverse=True)[1]
    of_must, of_cannot = (own if (own != 1.0).any() else None for own in kept._weights)
    parts = must, cannot, None, groupings, of_must, of_cannot, contradicted
    return Supervision(classes, *parts)


def refuse_weights(pairs: object, name: str) -> None:
    """Raise an error if pairs have weights, because the method `name` does not use them."""
    if isinstance(pairs, Pairs) and any((own != 1.0).any() for own in pairs._weights):
        raise GuidedValueError(
            f"{name} does not use weights of pairs.",
            f"Omit must_weights and cannot_weights, or use a method with weights: {BY_WEIGHT}.",
            "weights",
        )


def present_pairs(
    pairs: Pairs,
    n_samples: int,
    sample_ids: Iterable[Hashable] | None = None,
    *,
    ids_are_index: bool = False,
) -> tuple[Pairs, Mapping[Hashable, int]]:
    """Return the pairs whose two samples are in X, and a mapping from sample ids to rows.

    A warning reports the number of ignored pairs in three cases: more than half of all pairs are
    ignored, the ids are the index of X while metadata routing is off, or an absent id occurs in X
    with another type or spelling.
    """
    check_is_pairs(pairs)
    if sample_ids is None:
        row_of: Mapping[Hashable, int] = _row_numbers(pairs, n_samples)
    elif isinstance(sample_ids, range) and sample_ids == range(n_samples):
        row_of = _RowNumbers(n_samples)
    else:
        ids = check_ids(sample_ids, n_samples)
        if ids_are_index:
            check_index(pairs, ids)
        row_of = {sample: row for row, sample in enumerate(ids)}
    present = pairs.restrict(row_of)
    # If ids were passed or pairs are routed, absent ids may belong to another fold.
    may_be_fold = not ids_are_index or get_config()["enable_metadata_routing"]
    _report_lost(pairs, present, row_of, may_be_fold)
    return present, row_of


def by_rows(
    pairs: Pairs,
    row_of: Mapping[Hashable, int],
    ids: Sequence[Hashable],
    n_samples: int | None = None,
) -> Pairs:
    """Sort the samples in each pair and all pairs by row, and replace row numbers with `ids`."""
    listed = following.with_all_listed(pairs)
    links, marks, weights = [], [], []
    for rows, adaptive, own in zip(
        listed.rows(row_of), listed._adaptive, listed._weights, strict=True
    ):
        ends = np.sort(rows, axis=1)
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        links.append(ends[order])
        marks.append(adaptive[order])
        weights.append(own[order])
    return Pairs._from_codes(tuple(ids), *links, n_samples, marks, (), weights)


def check_is_pairs(pairs: object) -> None:
    """Raise an error with a hint unless `pairs` is a `Pairs` object."""
    if not isinstance(pairs, Pairs):
        raise GuidedTypeError(
            f"pairs must be a linkselect.Pairs, got {type(pairs).__name__}.",
            _how_to_make(pairs),
            "pairs",
        )


def _how_to_make(pairs: object) -> str:
    """Return a hint on how to create `Pairs` from an object of another type."""
    if hasattr(pairs, "columns"):
        return "Write Pairs.from_frame(frame), where the frame has the columns a, b and link."
    if isinstance(pairs, str | PathLike):
        return f"Write Pairs.from_csv({str(pairs)!r}) or Pairs.from_json({str(pairs)!r})."
    if isinstance(pairs, Mapping):
        return "Write Pairs(**pairs) if the keys of the dictionary are must and cannot."
    return "Write Pairs(must=[(0, 3)], cannot=[(0, 60)])."


def check_index(pairs: Pairs, index: tuple[Hashable, ...]) -> None:
    """Raise an error if the pairs contain row numbers, but the index of X contains other ids."""
    n_samples = len(index)
    if pairs.n_samples == n_samples and index != tuple(range(n_samples)):
        raise GuidedValueError(
            "The pairs contain row numbers, but the index of X contains other ids: it starts with "
            f"{index[0]!r}.",
            f"Pass sample_ids=range({n_samples}) to match the pairs by row number, or create pairs "
            "with the ids in the index: Pairs.from_labels(y, sample_ids=X.index).",
        )


class _RowNumbers(Mapping[Hashable, int]):
    """Mapping of each row number to itself, which takes no memory even for a billion rows."""

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples

    def __getitem__(self, sample: Hashable) -> int:
        # 3.0 and True are valid keys, as in a dictionary of numbers.
        number = sample if isinstance(sample, int | float | np.integer | np.floating) else -1
        if 0 <= number < self.n_samples and int(number) == number:
            return int(number)
        raise KeyError(sample)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(range(self.n_samples))

    def __len__(self) -> int:
        return self.n_samples


def _row_numbers(pairs: Pairs, n_samples: int) -> Mapping[Hashable, int]:
    if pairs.n_samples is None and get_config()["enable_metadata_routing"]:
        # Pairs may have been routed to a fold, in which row numbers refer to other samples. This
        # cannot be detected here.
        raise GuidedValueError(
            "Metadata routing is enabled. In a fold of a cross-validation, the row numbers in the "
            "pairs would refer to other samples.",
            "Use sample ids in the pairs and pass sample_ids=. If X is never "
            f"split, write Pairs(must, cannot, n_samples={n_samples}).",
        )
    if pairs.n_samples is not None and pairs.n_samples != n_samples:
        raise GuidedValueError(
            f"The pairs contain row numbers of {many(pairs.n_samples, 'sample')}, but X has "
            f"{many(n_samples, 'row')}, so the numbers would refer to other samples.",
            "In cross-validation, use sample ids in the pairs and pass sample_ids=, or a pandas X "
            "with the ids as its index.",
        )
    row_of = _RowNumbers(n_samples)
    for sample in pairs.ids:
        if sample not in row_of:
            pair = following.pair_that_names(pairs, {sample})
            raise GuidedValueError(
                f"Pair {pair} contains row {sample!r}, but X has {many(n_samples, 'row')} "
                f"(0 to {n_samples - 1}).",
                "If the pairs contain sample ids, pass sample_ids=.",
            )
    return row_of


def _report_lost(
    pairs: Pairs, kept: Pairs, row_of: Mapping[Hashable, int], may_be_fold: bool
) -> None:
    n_given = pairs.n_must + pairs.n_cannot
    n_lost = n_given - kept.n_must - kept.n_cannot
    if n_lost == 0:
        return
    gone = {sample: None for sample in pairs.ids if sample not in row_of}
    if n_lost == n_given:
        present = next(iter(row_of))
        lost = following.pair_that_names(pairs, gone)
        absent = next(sample for sample in lost if sample in gone)
        raise GuidedValueError(
            f"No pair has both of its samples in X. For example, pair {lost!r} contains {absent!r} "
            f"({type(absent).__name__}), whereas X has samples such as {present!r} "
            f"({type(present).__name__}).",
            "In cross-validation, pass more pairs or use larger folds. Otherwise, check sample_ids "
            "(default: the index of a pandas X).",
        )
    other = spelt_otherwise(tuple(gone), row_of)
    others = pairs.restrict([sample for sample in pairs.ids if sample not in other])
    n_plain = n_lost - (n_given - others.n_must - others.n_cannot)
    if other:
        here, there = next(iter(other.items()))
        warn_user(
            f"Ignoring {n_lost - n_plain:,} of {many(n_given, 'pair')} because sample ids differ "
            f"in type or spelling: {here!r} ({type(here).__name__}) in the pairs, but {there!r} "
            f"({type(there).__name__}) in X.",
            hint="Use the same ids in pairs and in sample_ids (default: the index of a pandas X).",
        )
    if n_plain > (n_given / 2 if may_be_fold else 0):
        lost = following.pair_that_names(others, gone)
        absent = next(sample for sample in lost if sample in gone)
        warn_user(
            f"Ignoring {n_plain:,} of {many(n_given, 'pair')} because X does not contain both "
            f"samples. For example, pair {lost!r} contains {absent!r}, which is not in X.",
            LeftOutPairsWarning,
            hint="In cross-validation, pass more pairs or use larger folds."
            if may_be_fold
            else "If X intentionally contains only some of the samples, pass sample_ids=X.index.",
        )


def _settle_conflicts(pairs: Pairs, on_conflict: OnConflict) -> Pairs:
    if not pairs.n_conflicts:
        return pairs
    if on_conflict != "drop":
        error = PairConflictError(describe_conflicts(pairs))
        if on_conflict == "raise":
            raise error
        these = "It is" if pairs.n_conflicts == 1 else "They are"
        warn_user(f"{error.problem} {these} ignored.", LeftOutPairsWarning, hint=error.hint)
    return pairs.without_conflicts()
