"""The class `Pairs` of must-links and cannot-links."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect.pairs import _consequences as following
from linkselect.pairs import _links
from linkselect.pairs import _pair_files as storage
from linkselect.pairs._conflicts import Conflict, Pair, PairConflictError, describe_conflicts
from linkselect.pairs._design import from_columns
from linkselect.pairs._groupings import Grouping, needed
from linkselect.pairs._ids import numbering
from linkselect.pairs._labels import links_of_labels
from linkselect.pairs._overview import count_pairs, pairs_view
from linkselect.pairs._pair_sets import among, are_equal, union


class Pairs:
    """Must-link and cannot-link pairs of samples.

    A must-link is a pair of samples of the same class; a cannot-link is a pair of samples of
    different classes [1]_. A sample is identified by its row number or by any hashable id.
    Duplicate pairs, including reversed pairs, count once, with the largest weight. `Pairs` is
    immutable: every method returns a new object.

    `Pairs` deliberately has no length and is not an array. Otherwise, scikit-learn would index it
    by the rows of a fold, although its entries are pairs and not rows.

    Parameters
    ----------
    must : array of shape (n_pairs, 2) or iterable of 2-tuples
        Pairs of samples that belong to the same class (must-links). An array of numbers or text
        takes the least memory.
    cannot : array of shape (n_pairs, 2) or iterable of 2-tuples
        Pairs of samples that belong to different classes (cannot-links).
    n_samples : int, optional
        The number of rows of the data that row numbers refer to. If it is given, fitting without
        ids raises an error if the data have a different number of rows, for example in a fold.
    adaptive : iterable of 2-tuples, default=()
        The pairs that were chosen by looking at the samples, for example by a query strategy. They
        are used for ranking like other pairs, but cannot be used for validation. Default: none.
    must_weights, cannot_weights : array-like of float, optional
        The positive weights of the pairs, in the order of `must` and `cannot`. A pair of weight 2
        counts as two pairs. Default: 1 for each.

    Attributes
    ----------
    must, cannot : tuple of 2-tuples
        The distinct must-links and cannot-links.
    must_weights, cannot_weights : tuple of float
        The weight of each link. Links implied by labels or by other links have weight 1.
    adaptive : tuple of 2-tuples
        The links that were chosen by looking at the samples, as they appear in `must` or `cannot`.
    n_must, n_cannot, n_adaptive : int
        The numbers of must-links, cannot-links and adaptive links.
    ids : tuple of hashable
        The samples that are in at least one pair.
    n_conflicts : int
        The number of cannot-links that contradict must-links.
    n_samples : int or None
        The number of rows of the data that row numbers refer to, if known.

    See Also
    --------
    ConstraintScore : Rank features by pairs only.
    ConstrainedLaplacianScore : Rank features by pairs and by samples without pairs.
    ConstrainedSpectralClustering : Cluster samples by affinities adjusted to pairs.
    COPKMeans : Cluster samples by k-means that satisfies all pairs.

    References
    ----------
    .. [1] K. Wagstaff and C. Cardie. Clustering with instance-level constraints. International
       Conference on Machine Learning (ICML), 1103-1110, 2000.

    Examples
    --------
    >>> from linkselect import Pairs
    >>> pairs = Pairs(must=[(0, 3), (3, 0), (1, 4)], cannot=[(0, 60)])
    >>> pairs
    Pairs(must=2, cannot=1)
    >>> pairs.must
    ((0, 3), (1, 4))
    >>> pairs.closure().cannot
    ((0, 60), (3, 60))
    """

    __slots__ = ("_adaptive", "_cannot", "_groupings", "_ids", "_must", "_weights", "n_samples")

    _ids: tuple[Hashable, ...]
    # Listed links, without those that labels imply.
    _must: IntArray
    _cannot: IntArray
    _adaptive: _links.Adaptive
    _weights: tuple[FloatArray, FloatArray]
    _groupings: tuple[Grouping, ...]
    n_samples: int | None

    def __init__(
        self,
        must: Iterable[Sequence[Hashable]] = (),
        cannot: Iterable[Sequence[Hashable]] = (),
        *,
        n_samples: int | None = None,
        adaptive: Iterable[Sequence[Hashable]] = (),
        must_weights: Iterable[float] | None = None,
        cannot_weights: Iterable[float] | None = None,
    ) -> None:
        codes = numbering()
        named = (("must", must), ("cannot", cannot), ("adaptive", adaptive))
        links = [_links.encode_links(some, kind, codes) for kind, some in named]
        weights = must_weights, cannot_weights
        self._set(*_links.checked(tuple(codes), links, weights, n_samples))

    @classmethod
    def _from_codes(cls, *parts: Any) -> Pairs:
        """Create pairs from the arguments of `_set`."""
        pairs = cls.__new__(cls)
        pairs._set(*parts)
        return pairs

    def _set(
        self,
        ids: tuple[Hashable, ...],
        must: IntArray,
        cannot: IntArray,
        n_samples: int | None = None,
        adaptive: Sequence[BoolArray | None] = (None, None),  # older pickles have 4 or 5 values
        groupings: tuple[Grouping, ...] = (),
        weights: Sequence[FloatArray | None] = (None, None),
    ) -> None:
        kept = needed(groupings)
        must, *more = _links.once(must, adaptive[0], weights[0], len(ids), kept, alike=True)
        cannot, *others = _links.once(cannot, adaptive[1], weights[1], len(ids), kept, alike=False)
        marks, own = zip(more, others, strict=True)
        values = ids, must, cannot, n_samples, marks, kept, own
        names = ("_ids", "_must", "_cannot", "n_samples", "_adaptive", "_groupings", "_weights")
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Cannot set {name}: Pairs is immutable. Create a new Pairs object.")

    def __getstate__(self) -> tuple[Any, ...]:
        links = self._ids, self._must, self._cannot, self.n_samples, self._adaptive
        return *links, self._groupings, self._weights

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        # Older versions stored labels in place of groupings, and listed all implied links as well.
        self._set(*(state if len(state) == 7 else state[:5]))

    def __repr__(self) -> str:
        adaptive = f", adaptive={self.n_adaptive}" if self.n_adaptive else ""
        return f"Pairs(must={self.n_must}, cannot={self.n_cannot}{adaptive})"

    def _repr_html_(self) -> str:
        return pairs_view(self)

    def __eq__(self, other: object) -> bool:
        return are_equal(self, other) if isinstance(other, Pairs) else NotImplemented

    def __hash__(self) -> int:
        return hash((frozenset(self.ids), self.n_must, self.n_cannot, self.n_adaptive))

    @property
    def must(self) -> tuple[Pair, ...]:
        """The must-links as 2-tuples of ids."""
        return self._decode(following.with_all_listed(self)._must)

    @property
    def cannot(self) -> tuple[Pair, ...]:
        """The cannot-links as 2-tuples of ids."""
        return self._decode(following.with_all_listed(self)._cannot)

    @property
    def must_weights(self) -> tuple[float, ...]:
        """The weight of each must-link."""
        return tuple(following.with_all_listed(self)._weights[0].tolist())

    @property
    def cannot_weights(self) -> tuple[float, ...]:
        """The weight of each cannot-link."""
        return tuple(following.with_all_listed(self)._weights[1].tolist())

    @property
    def adaptive(self) -> tuple[Pair, ...]:
        """The links that were chosen by looking at the samples, must-links first."""
        must, cannot = self._adaptive
        return self._decode(self._must[must]) + self._decode(self._cannot[cannot])

    @property
    def n_must(self) -> int:
        """The number of must-links."""
        return following.count_links(self)[0]

    @property
    def n_cannot(self) -> int:
        """The number of cannot-links."""
        return following.count_links(self)[1]

    @property
    def n_adaptive(self) -> int:
        """The number of links that were chosen by looking at the samples."""
        return sum(int(np.count_nonzero(marks)) for marks in self._adaptive)

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """The samples that are in at least one pair, in order of first appearance."""
        return tuple(self._ids[code] for code in following.named_by(self).tolist())

    def _decode(self, codes: IntArray) -> tuple[Pair, ...]:
        ids = self._ids
        return tuple((ids[a], ids[b]) for a, b in codes.tolist())

    def __or__(self, other: Pairs) -> Pairs:
        """Return the union of two sets of pairs.

        A pair that is in both sets gets the larger of its two weights, and is adaptive only if it
        is adaptive in both sets.
        """
        if not isinstance(other, Pairs):
            return NotImplemented
        return union(self, other)

    # -- consequences of the pairs ---------------------------------------------------------

    def components(self) -> tuple[tuple[Hashable, ...], ...]:
        """Return the groups of samples connected by must-links, largest first.

        A sample that is only in cannot-links forms its own group.

        Examples
        --------
        >>> Pairs(must=[(0, 3), (3, 5)], cannot=[(0, 9)]).components()
        ((0, 3, 5), (9,))
        """
        named = following.named_by(self)
        component = following.components_of(self)[named]
        groups = [
            tuple(self._ids[code] for code in named[group])
            for group in _links.members_of(component)
        ]
        return tuple(sorted(groups, key=len, reverse=True))

    @property
    def n_conflicts(self) -> int:
        """The number of cannot-links whose two samples are connected by must-links."""
        return following.count_conflicts(self)

    def conflicts(self, limit: int | None = None) -> tuple[Conflict, ...]:
        """Return the cannot-links that contradict must-links, each with the contradicting chain.

        Parameters
        ----------
        limit : int, optional
            The maximum number of conflicts to return. Default: all.

        Examples
        --------
        >>> pairs = Pairs(must=[("a", "b"), ("b", "c")], cannot=[("a", "c"), ("a", "d")])
        >>> for conflict in pairs.conflicts():
        ...     print(conflict)
        cannot-link ('a', 'c'), but must-links connect its samples: 'a' = 'b' = 'c'
        """
        return following.find_conflicts(self, limit)

    def without_conflicts(self) -> Pairs:
        """Return the pairs without the cannot-links that contradict must-links."""
        return following.leave_conflicts_out(self)

    def closure(self) -> Pairs:
        """Return the pairs together with all pairs that they imply.

        All samples of a group connected by must-links belong to the same class, so a cannot-link
        between two groups applies to all their members. Added pairs have weight 1, and are adaptive
        if any of the original pairs is adaptive.
        """
        if self.n_conflicts:
            raise PairConflictError(describe_conflicts(self))
        return following.close(self)

    def summary(
        self, sample_ids: Iterable[Hashable] | None = None, *, n_samples: int | None = None
    ) -> dict[str, Any]:
        """Count pairs, conflicts and groups among all samples or among those of one fold.

        Parameters
        ----------
        sample_ids : iterable of hashable, optional
            The ids of the samples that are present. Pairs with an absent sample are counted as
            lost.
        n_samples : int, optional
            The number of samples, from which `coverage` is computed. Not required if `sample_ids`
            is given or the pairs have `n_samples`.

        Returns
        -------
        dict
            `must` and `cannot` (pairs with both samples present), `conflicts`, `components`
            (groups of two or more samples), `samples` (in at least one pair), `coverage` (their
            share of all samples, None if unknown), `lost_must` and `lost_cannot`.

        Examples
        --------
        >>> pairs = Pairs(must=[(0, 3), (1, 4)], cannot=[(0, 60)])
        >>> pairs.summary(range(10))  # doctest: +NORMALIZE_WHITESPACE
        {'must': 2, 'cannot': 0, 'conflicts': 0, 'components': 2, 'samples': 4,
         'coverage': 0.4, 'lost_must': 0, 'lost_cannot': 1}
        """
        return count_pairs(self, sample_ids, n_samples)

    def restrict(self, sample_ids: Iterable[Hashable]) -> Pairs:
        """Return the pairs whose samples are both in `sample_ids`, which may be a mapping."""
        return among(self, sample_ids)

    def rows(self, row_of: Mapping[Hashable, int]) -> tuple[IntArray, IntArray]:
        """Return must-links and cannot-links as row numbers; omit pairs with absent samples."""
        lookup = np.array([row_of.get(sample, -1) for sample in self._ids], dtype=np.intp)
        listed = following.with_all_listed(self)
        must, cannot = lookup[listed._must], lookup[listed._cannot]
        return must[(must >= 0).all(axis=1)], cannot[(cannot >= 0).all(axis=1)]

    # -- conversion from and to other formats ------------------------------------------------

    @classmethod
    def from_labels(
        cls,
        y: ArrayLike,
        *,
        sample_ids: Iterable[Hashable] | None = None,
        n_must: int | None = None,
        n_cannot: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> Pairs:
        """Create the pairs that labels imply: all of them, or a random sample of each kind.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels; -1, None and NaN mean unlabelled.
        sample_ids : iterable of hashable, optional
            One id per label. Default: the index of a pandas Series, otherwise row numbers.
        n_must, n_cannot : int, optional
            The number of pairs to draw without replacement. Default: all.
        random_state : int, RandomState instance or None, default=None
            Determines the random draw.

        Returns
        -------
        Pairs
            Must-links within classes and cannot-links between them. If all pairs are included, they
            are stored as classes and listed only on request.

        Examples
        --------
        >>> Pairs.from_labels([0, 0, 1, -1]).cannot
        ((0, 2), (1, 2))
        >>> Pairs.from_labels([0, 0, 1, 1, 2], n_must=1, n_cannot=3, random_state=0)
        Pairs(must=1, cannot=3)
        """
        return cls._from_codes(*links_of_labels(y, sample_ids, n_must, n_cannot, random_state))

    from_columns = classmethod(from_columns)

    @classmethod
    def from_frame(cls, frame: Any) -> Pairs:
        """Read pairs from the columns `a`, `b` and `link` of a pandas or polars frame.

        `link` is `must` or `cannot`. An optional column `drawn` marks pairs as `adaptive` or
        `random`, and an optional column `weight` contains weights.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = [("p1", "p2", "must"), ("p1", "p7", "cannot")]
        >>> Pairs.from_frame(pd.DataFrame(rows, columns=["a", "b", "link"]))
        Pairs(must=1, cannot=1)
        """
        return cls._from_codes(*storage.read_frame(frame))

    @classmethod
    def from_csv(cls, path: str | PathLike[str], *, id_type: storage.IdType | None = None) -> Pairs:
        """Read a CSV file with the header `a,b,link`, where link is `must` or `cannot`.

        An optional column `drawn` marks pairs as `adaptive` or `random`, and an optional column
        `weight` contains weights.

        Parameters
        ----------
        path : str or path
            Path of the file. Semicolons or tabs may be used instead of commas.
        id_type : callable, optional
            Function that converts text in the file to an id, such as `str` or `int`. Default: `int`
            if every id in the file is a whole number, otherwise `str`. Pass `str` for text that
            looks like numbers. Spaces around an id are ignored.
        """
        return cls._from_codes(*storage.read_csv(path, id_type))

    def to_csv(self, path: str | PathLike[str], *, id_type: storage.IdType | None = None) -> None:
        """Write a CSV file with the header `a,b,link`, from which `from_csv` reads the same ids.

        If any pair is adaptive, a column `drawn` marks each as `adaptive` or `random`. If any
        weight differs from 1, a column `weight` contains the weights. Ids must be either all whole
        numbers, or all text without surrounding spaces. At least one text id must not look like a
        whole number. `n_samples` is not written.

        Parameters
        ----------
        path : str or path
            Path of the file.
        id_type : callable, optional
            The `id_type` for reading the file with `from_csv`, such as `str` for text that looks
            like numbers. Ids may then be any values that this function restores from their text.

        Raises
        ------
        TypeError
            If an id would be read as a different id. In this case, no file is written.
        """
        storage.write_csv(path, self, id_type)

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Pairs:
        """Read a JSON file `{"must": [[a, b], ...], "cannot": [[a, b], ...]}`.

        An optional list `adaptive` repeats the adaptive pairs. Optional lists `must_weights` and
        `cannot_weights` contain one weight per pair.
        """
        return cls(**storage.read_json(path))

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write a JSON file `{"must": [[a, b], ...], "cannot": [[a, b], ...]}`.

        Ids must be text, finite numbers, True or False, or tuples of these values and None;
        `from_json` reads the same ids. A list `adaptive` is written if any pair is adaptive, and
        weights are written if any of them differs from 1. `n_samples` is not written.

        Raises
        ------
        TypeError
            If an id would be read as a different id. In this case, no file is written.
        """
        storage.write_json(path, self)
