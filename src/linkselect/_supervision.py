"""What a method may know: labels, partial labels or pairs, turned into one frozen value."""

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

# The methods that use weights of pairs: those whose formula sums over pairs.
BY_WEIGHT = (
    "LinkSelector, ConstraintScore, LSDF, LaplacianConstraintScore, SCGS or "
    "SimilarityConstraintScore (supervised)"
)


@dataclass(frozen=True)
class Supervision:
    """Say which samples belong together and which do not.

    Attributes
    ----------
    classes : ndarray of shape (n_samples,)
        The class of each sample, from 0, or -1 if nothing is known. With pairs, samples
        that a chain of must-links joins form a class.
    listed_must, listed_cannot : ndarray of shape (n_pairs, 2) or None
        Pairs of rows. None means that they follow from the classes: listing them would take
        memory quadratic in the number of labels.
    lone_class : LoneClass or None
        Labels that may not mean what they say, for an error if they turn out to be too few.
    groupings : tuple of Grouping
        With pairs, the labels from which some of the pairs were made; these are not listed.
    must_weights, cannot_weights : ndarray of shape (n_pairs,) or None
        The weights of listed pairs; None if all are 1.
    contradicted : ndarray of bool of shape (n_samples,) or None
        The ends of listed cannot-links that must-links contradict, which are left out; None if
        there are none.
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
        """All must-links, listed ones first; None if they follow from the classes."""
        return self._all_links(self.listed_must, alike=True)

    @cached_property
    def cannot(self) -> IntArray | None:
        """All cannot-links, listed ones first; None if they follow from the classes."""
        return self._all_links(self.listed_cannot, alike=False)

    @property
    def has_weights(self) -> bool:
        """Whether some weight is not 1."""
        return self.must_weights is not None or self.cannot_weights is not None

    @property
    def all_weights(self) -> tuple[FloatArray, FloatArray]:
        """The weights of all must-links and cannot-links; implied ones have weight 1."""
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
        """What to add to an error if this turns out to be too little; empty if nothing."""
        lone = self.lone_class
        return "" if lone is None else f"{lone.problem} {lone.hint}"

    @property
    def unlabelled(self) -> BoolArray:
        """The samples with no label, or with bare pairs those in no pair."""
        return self.classes < 0

    @property
    def n_groups(self) -> int:
        """How many classes there are, or with bare pairs how many groups of must-links."""
        return len(np.unique(self.classes[~self.unlabelled]))

    @property
    def has_must(self) -> bool:
        """Whether there is a must-link."""
        if self.listed_must is None:
            return bool((group_sizes(self.classes) > 1).any())
        inside = any((group_sizes(classes) > 1).any() for classes, _ in self.groupings)
        return inside or len(self.listed_must) > 0

    @property
    def has_cannot(self) -> bool:
        """Whether there is a cannot-link."""
        if self.listed_cannot is None:
            return self.n_groups > 1
        across = any(parts.max(initial=-1) > parts[parts >= 0].min() for _, parts in self.groupings)
        return across or len(self.listed_cannot) > 0


def restrict(known: Supervision, rows: IntArray) -> Supervision:
    """Keep what is known about some rows, renumbered in their order."""
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
    """Know nothing about any sample."""
    return Supervision(np.full(n_samples, -1, dtype=np.intp))


def from_labels(y: ArrayLike, n_samples: int) -> Supervision:
    """Read labels, of which -1, None and NaN mean unlabelled."""
    codes, labels = encode_labels(y)
    check_length(len(codes), n_samples)
    lone = LoneClass.find(y, codes, labels)
    if lone is not None and lone.is_one:
        raise lone.error()
    return Supervision(codes, lone_class=lone)


def check_labels(y: Any) -> Any:
    """Refuse what cannot be class labels; -1, None and NaN are looked at later."""
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
                f"y has the value {odd:g}, but classes are whole numbers or text, with -1, None or "
                "NaN for unlabelled samples.",
                "Cut a continuous target into classes first.",
            )
    return labels


def check_all_labelled(name: str, y: NDArray[Any]) -> None:
    """Refuse labels of which some are missing, for the method of that name."""
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
            "Use a method that takes some labels, such as SCGS or LSDF, or pass the labelled "
            "samples only.",
            "y",
        )


def check_length(n_labels: int, n_samples: int, n_features: int | None = None) -> None:
    """Refuse labels that are not one for each sample."""
    if n_labels == n_samples:
        return
    hint = "Pass one label per row, -1 where it is unknown."
    if n_features is not None:
        hint = "Pass one label per row."
    if n_labels == n_features:
        hint = "It has as many columns: pass X.T if they are the samples."
    raise GuidedValueError(f"y has {n_labels} labels, but X has {n_samples} rows.", hint)


def from_pairs(
    pairs: Pairs,
    n_samples: int,
    sample_ids: Iterable[Hashable] | None = None,
    on_conflict: OnConflict = "raise",
    *,
    ids_are_index: bool = False,
) -> Supervision:
    """Find the rows that pairs speak of, and join them into classes by must-links.

    `ids_are_index` tells that the ids were not passed, but are the index of a pandas X.
    """
    told, row_of = present_pairs(pairs, n_samples, sample_ids, ids_are_index=ids_are_index)
    held = _settle_conflicts(told, on_conflict)
    rows = np.array([row_of.get(sample, -1) for sample in held._ids], dtype=np.intp)
    contradicted = None if held is told else np.zeros(n_samples, dtype=bool)
    if contradicted is not None:
        contradicted[rows[told._cannot[inside(told._cannot, following.components_of(told))]]] = True
    groupings = needed([one.at(rows, n_samples) for one in held._groupings])
    must, cannot = rows[held._must], rows[held._cannot]
    classes = np.full(n_samples, -1, dtype=np.intp)
    named = rows[following.named_by(held)]
    component = must_components(must, n_samples, groupings)
    classes[named] = np.unique(component[named], return_inverse=True)[1]
    of_must, of_cannot = (own if (own != 1.0).any() else None for own in held._weights)
    parts = must, cannot, None, groupings, of_must, of_cannot, contradicted
    return Supervision(classes, *parts)


def refuse_weights(pairs: object, name: str) -> None:
    """Refuse pairs with weights, for what does not use them."""
    if isinstance(pairs, Pairs) and any((own != 1.0).any() for own in pairs._weights):
        raise GuidedValueError(
            f"{name} does not use weights of pairs.",
            f"Leave must_weights and cannot_weights out, or use a method that does: {BY_WEIGHT}.",
            "weights",
        )


def present_pairs(
    pairs: Pairs,
    n_samples: int,
    sample_ids: Iterable[Hashable] | None = None,
    *,
    ids_are_index: bool = False,
) -> tuple[Pairs, Mapping[Hashable, int]]:
    """Return the pairs with both ends among the samples, and the row of each sample.

    The others are left out. A warning counts them if more than half are, if the ids are the index
    of a plain `fit`, or if an absent id is present under another type or spelling.
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
    held = pairs.restrict(row_of)
    # An index may be that of a fold only if pairs are routed there; ids may be passed to any fold.
    may_be_fold = not ids_are_index or get_config()["enable_metadata_routing"]
    _report_lost(pairs, held, row_of, may_be_fold)
    return held, row_of


def by_rows(
    held: Pairs,
    row_of: Mapping[Hashable, int],
    ids: Sequence[Hashable],
    n_samples: int | None = None,
) -> Pairs:
    """Sort pairs, and the ends of each, by their rows; name the rows by ids."""
    listed = following.with_all_listed(held)
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
    """Refuse what is not a `Pairs`, and say how to make one of it."""
    if not isinstance(pairs, Pairs):
        raise GuidedTypeError(
            f"pairs must be a linkselect.Pairs, got {type(pairs).__name__}.",
            _how_to_make(pairs),
            "pairs",
        )


def _how_to_make(pairs: object) -> str:
    """Say how to make `Pairs` of what was passed in their place."""
    if hasattr(pairs, "columns"):
        return "Write Pairs.from_frame(frame), whose columns are a, b and link."
    if isinstance(pairs, str | PathLike):
        return f"Write Pairs.from_csv({str(pairs)!r}), or from_json."
    if isinstance(pairs, Mapping):
        return "Write Pairs(**pairs) if its keys are must and cannot."
    return "Write Pairs(must=[(0, 3)], cannot=[(0, 60)])."


def check_index(pairs: Pairs, index: tuple[Hashable, ...]) -> None:
    """Refuse pairs of row numbers if the ids are an index that does not number the rows."""
    n_samples = len(index)
    if pairs.n_samples == n_samples and index != tuple(range(n_samples)):
        raise GuidedValueError(
            f"The pairs number the rows of {n_samples} samples, but the index of X does not: "
            f"it starts with {index[0]!r}.",
            f"Pass sample_ids=range({n_samples}) if pairs mean row numbers, or make the pairs with "
            "the ids of the index: Pairs.from_labels(y, sample_ids=X.index).",
        )


class _RowNumbers(Mapping[Hashable, int]):
    """The rows by their numbers, without listing them: there may be a billion."""

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples

    def __getitem__(self, sample: Hashable) -> int:
        # As in a dictionary of numbers, 3.0 and True are found.
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
        # Routed pairs may have come to a fold, whose rows have other numbers than those that were
        # meant, and nothing here could tell.
        raise GuidedValueError(
            "With metadata routing on, the pairs may have come to a fold of a cross-validation, in "
            "which their row numbers would mean other samples.",
            "Name samples by id: pass sample_ids=, which is routed along. If X is never split, "
            f"write Pairs(must, cannot, n_samples={n_samples}).",
        )
    if pairs.n_samples is not None and pairs.n_samples != n_samples:
        raise GuidedValueError(
            f"The pairs number the rows of {pairs.n_samples} samples, but X has {n_samples} rows, "
            "so the numbers would mean other samples.",
            "In cross-validation name samples by id: pass sample_ids=, or a pandas X whose index "
            "holds the ids.",
        )
    row_of = _RowNumbers(n_samples)
    for sample in pairs.ids:
        if sample not in row_of:
            pair = following.pair_that_names(pairs, {sample})
            raise GuidedValueError(
                f"Pair {pair} names row {sample!r}, but X has {n_samples} rows "
                f"(0..{n_samples - 1}).",
                "Pass sample_ids= if pairs are given by id.",
            )
    return row_of


def _report_lost(
    pairs: Pairs, held: Pairs, row_of: Mapping[Hashable, int], may_be_fold: bool
) -> None:
    n_given = pairs.n_must + pairs.n_cannot
    n_lost = n_given - held.n_must - held.n_cannot
    if n_lost == 0:
        return
    gone = {sample: None for sample in pairs.ids if sample not in row_of}
    if n_lost == n_given:
        present = next(iter(row_of))
        lost = following.pair_that_names(pairs, gone)
        absent = next(sample for sample in lost if sample in gone)
        raise GuidedValueError(
            f"None of the {n_given} pairs has both ends among the {len(row_of)} samples: pair "
            f"{lost!r} names {absent!r} ({type(absent).__name__}), X has samples like "
            f"{present!r} ({type(present).__name__}).",
            "In a fold, give more pairs or use larger folds; otherwise check sample_ids (default: "
            "the index of a pandas X).",
        )
    other = spelt_otherwise(tuple(gone), row_of)
    others = pairs.restrict([sample for sample in pairs.ids if sample not in other])
    n_plain = n_lost - (n_given - others.n_must - others.n_cannot)
    if other:
        here, there = next(iter(other.items()))
        warn_user(
            f"{n_lost - n_plain} of {n_given} pairs are left out since X spells samples "
            f"otherwise: {here!r} ({type(here).__name__}) is absent, but {there!r} "
            f"({type(there).__name__}) is there.",
            hint="Write the ids in pairs as in sample_ids (default: the index of a pandas X).",
        )
    if n_plain > (n_given / 2 if may_be_fold else 0):
        lost = following.pair_that_names(others, gone)
        absent = next(sample for sample in lost if sample in gone)
        warn_user(
            f"{n_plain} of {n_given} pairs have an end that is not among the {len(row_of)} "
            f"samples and are left out, such as {absent!r} of the pair {lost!r}.",
            LeftOutPairsWarning,
            hint="In cross-validation give more pairs or use larger folds."
            if may_be_fold
            else "Pass sample_ids=X.index if X holds only some of the samples on purpose.",
        )


def _settle_conflicts(pairs: Pairs, on_conflict: OnConflict) -> Pairs:
    if not pairs.n_conflicts:
        return pairs
    if on_conflict != "drop":
        error = PairConflictError(describe_conflicts(pairs))
        if on_conflict == "raise":
            raise error
        left = "It was" if pairs.n_conflicts == 1 else "They were"
        warn_user(f"{error.problem} {left} left out.", LeftOutPairsWarning, hint=error.hint)
    return pairs.without_conflicts()
