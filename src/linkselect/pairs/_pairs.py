"""The value `Pairs`: which samples belong together and which do not."""

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
    """Hold must-link and cannot-link pairs of samples [1]_.

    A sample is named by its row number or by any hashable id. A pair given twice, or the
    other way round, counts once, with its larger weight. Pairs are never changed: every method
    returns a new value.

    `Pairs` has no length and is not an array, on purpose: scikit-learn would cut it to the rows
    of a fold, although its entries name samples and not rows.

    Parameters
    ----------
    must : array of shape (n_pairs, 2) or iterable of 2-tuples
        Samples that belong together (must-links). An array of numbers or text takes the least
        memory.
    cannot : array of shape (n_pairs, 2) or iterable of 2-tuples
        Samples that do not (cannot-links).
    n_samples : int, optional
        The number of rows that row numbers refer to. If given, fitting on another number of
        rows without ids is an error: this catches row numbers that reach a fold.
    adaptive : iterable of 2-tuples, default=()
        Those of the pairs that were chosen by looking at the samples, as strategies of asking do.
        They serve a ranking as any pair does, but cannot validate it. Default: none.
    must_weights, cannot_weights : array-like of float, optional
        How much each pair counts: a pair of weight 2 counts as much as two pairs. Positive numbers,
        in the order of `must` and `cannot`. Default: 1 for each.

    Attributes
    ----------
    must, cannot : tuple of 2-tuples
        The links, each of them once.
    must_weights, cannot_weights : tuple of float
        The weight of each link. Links that follow from labels or other links have weight 1.
    adaptive : tuple of 2-tuples
        The links that were chosen by looking at the samples, each as it is listed there.
    n_must, n_cannot, n_adaptive : int
        How many there are.
    ids : tuple of hashable
        Every sample that some pair names.
    n_conflicts : int
        How many cannot-links the must-links contradict.
    n_samples : int or None
        The number of rows that row numbers refer to, if it is known.

    See Also
    --------
    ConstraintScore : Rank features by pairs alone.
    ConstrainedLaplacianScore : Rank features by pairs and by samples without any.
    ConstrainedSpectralClustering : Cluster samples by affinities that pairs change.
    COPKMeans : Cluster samples by k-means that never breaks a pair.

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
    # Listed links; those that labels imply are not among them.
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
        """Make pairs of what `_set` takes."""
        pairs = cls.__new__(cls)
        pairs._set(*parts)
        return pairs

    def _set(
        self,
        ids: tuple[Hashable, ...],
        must: IntArray,
        cannot: IntArray,
        n_samples: int | None = None,
        adaptive: Sequence[BoolArray | None] = (None, None),  # older pickles end before or here
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
        raise AttributeError(f"Pairs cannot be changed; make a new one instead of setting {name}.")

    def __getstate__(self) -> tuple[Any, ...]:
        links = self._ids, self._must, self._cannot, self.n_samples, self._adaptive
        return *links, self._groupings, self._weights

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        # Where the groupings are, older versions had labels, and listed all that these imply.
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
        """Every sample that some pair names, in order of first appearance."""
        return tuple(self._ids[code] for code in following.named_by(self).tolist())

    def _decode(self, codes: IntArray) -> tuple[Pair, ...]:
        ids = self._ids
        return tuple((ids[a], ids[b]) for a, b in codes.tolist())

    def __or__(self, other: Pairs) -> Pairs:
        """Return the pairs of both.

        One that is in both has the larger weight, and is adaptive only if it is so in both.
        """
        if not isinstance(other, Pairs):
            return NotImplemented
        return union(self, other)

    # -- what follows from the pairs -------------------------------------------------------

    def components(self) -> tuple[tuple[Hashable, ...], ...]:
        """Return the groups of samples that must-links join, largest first.

        A sample that is named by cannot-links only is a group of its own.

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
        """The number of cannot-links whose ends are joined by must-links."""
        return following.count_conflicts(self)

    def conflicts(self, limit: int | None = None) -> tuple[Conflict, ...]:
        """Find the cannot-links whose ends are joined by must-links, each with the chain.

        Parameters
        ----------
        limit : int, optional
            Explain at most this many. Default: all.

        Examples
        --------
        >>> pairs = Pairs(must=[("a", "b"), ("b", "c")], cannot=[("a", "c"), ("a", "d")])
        >>> for conflict in pairs.conflicts():
        ...     print(conflict)
        cannot-link ('a', 'c'), but must-links join its ends: 'a' = 'b' = 'c'
        """
        return following.find_conflicts(self, limit)

    def without_conflicts(self) -> Pairs:
        """Leave out the cannot-links that the must-links contradict."""
        return following.leave_conflicts_out(self)

    def closure(self) -> Pairs:
        """Add every pair that follows from the others.

        Samples that a chain of must-links joins all belong together, and a cannot-link between two
        such groups holds for all their members. If some pairs are adaptive, all added ones are.
        Added pairs have weight 1.
        """
        if self.n_conflicts:
            raise PairConflictError(describe_conflicts(self))
        return following.close(self)

    def summary(
        self, sample_ids: Iterable[Hashable] | None = None, *, n_samples: int | None = None
    ) -> dict[str, Any]:
        """Count what the pairs say, over all samples or those of one fold.

        Parameters
        ----------
        sample_ids : iterable of hashable, optional
            The samples that are present. Pairs with an absent end are counted as lost.
        n_samples : int, optional
            The number of samples, for the share that the pairs touch. Not needed with
            `sample_ids` or if the pairs carry their own `n_samples`.

        Returns
        -------
        dict
            `must`, `cannot` (pairs that hold), `conflicts`, `components` (groups of two or
            more samples), `samples` (named by a pair), `coverage` (their share of all, None
            if that is not known), `lost_must` and `lost_cannot`.

        Examples
        --------
        >>> pairs = Pairs(must=[(0, 3), (1, 4)], cannot=[(0, 60)])
        >>> pairs.summary(range(10))  # doctest: +NORMALIZE_WHITESPACE
        {'must': 2, 'cannot': 0, 'conflicts': 0, 'components': 2, 'samples': 4,
         'coverage': 0.4, 'lost_must': 0, 'lost_cannot': 1}
        """
        return count_pairs(self, sample_ids, n_samples)

    def restrict(self, sample_ids: Iterable[Hashable]) -> Pairs:
        """Keep the pairs whose two ends are among `sample_ids`; a mapping of them is not listed."""
        return among(self, sample_ids)

    def rows(self, row_of: Mapping[Hashable, int]) -> tuple[IntArray, IntArray]:
        """Return must and cannot as row numbers, without pairs that have an absent end."""
        lookup = np.array([row_of.get(sample, -1) for sample in self._ids], dtype=np.intp)
        listed = following.with_all_listed(self)
        must, cannot = lookup[listed._must], lookup[listed._cannot]
        return must[(must >= 0).all(axis=1)], cannot[(cannot >= 0).all(axis=1)]

    # -- from and to other forms -------------------------------------------------------------

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
        """Make the pairs that labels imply: all of them, or a random number of each.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels; -1, None and NaN mean unlabelled.
        sample_ids : iterable of hashable, optional
            One id per label. Default: the index of a pandas Series, else row numbers.
        n_must, n_cannot : int, optional
            How many pairs to draw without replacement. Default: all.
        random_state : int, RandomState instance or None, default=None
            Determines the draw.

        Returns
        -------
        Pairs
            Must-links inside classes, cannot-links between them. If all of them are meant, they
            are kept as classes and listed only when asked for.

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
        """Take the columns `a`, `b` and `link`, must or cannot, of a pandas or polars frame.

        A column `drawn`, if there is one, says which pairs are adaptive and which random, and a
        column `weight` how much each counts.

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

        If there is a column `drawn`, it says which pairs are `adaptive` and which `random`; a
        column `weight` says how much each counts.

        Parameters
        ----------
        path : str or path
            The file; semicolons or tabs may stand in place of the commas.
        id_type : callable, optional
            Makes an id of the text in the file, such as `str` or `int`. Default: whole
            numbers if every id in the file is written as one, else text. Pass `str` for ids
            that are text but look like numbers. Spaces around an id do not count.
        """
        return cls._from_codes(*storage.read_csv(path, id_type))

    def to_csv(self, path: str | PathLike[str], *, id_type: storage.IdType | None = None) -> None:
        """Write a CSV file with the header `a,b,link`; `from_csv` gives the same ids back.

        If some pair is adaptive, a column `drawn` says which are `adaptive` and which `random`; if
        some weight is not 1, a column `weight` holds them.
        Ids are all whole numbers, or all text without spaces around it that does not look
        like a whole number everywhere. `n_samples` is not written.

        Parameters
        ----------
        path : str or path
            The file.
        id_type : callable, optional
            What will be passed to `from_csv`, such as `str` for text that looks like numbers.
            Then ids may be anything that it makes of their text.

        Raises
        ------
        TypeError
            If an id would come back as another one. Nothing is written then.
        """
        storage.write_csv(path, self, id_type)

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Pairs:
        """Read a JSON file `{"must": [[a, b], ...], "cannot": [[a, b], ...]}`.

        If there is a list `adaptive`, it repeats the pairs that are adaptive; `must_weights` and
        `cannot_weights` hold one number for each pair.
        """
        return cls(**storage.read_json(path))

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write a JSON file `{"must": [[a, b], ...], "cannot": [[a, b], ...]}`.

        Ids are text, finite numbers, True or False, or tuples of these and None; `from_json`
        gives the same ids back. A list `adaptive` is written if some pair is, and weights if some
        are not 1. `n_samples` is not.

        Raises
        ------
        TypeError
            If an id would come back as another one. Nothing is written then.
        """
        storage.write_json(path, self)
