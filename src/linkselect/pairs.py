"""Must-link and cannot-link pairs: what a person knows about which samples belong together."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Integral
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_random_state

from linkselect.arrays import BoolArray, IntArray

__all__ = ["Conflict", "PairConflictError", "Pairs", "encode_labels"]

Pair = tuple[Hashable, Hashable]


class Conflict(NamedTuple):
    """A cannot-link and the chain of must-links that contradicts it."""

    cannot: Pair
    chain: tuple[Hashable, ...]

    def __str__(self) -> str:
        names = [repr(sample) for sample in self.chain]
        if len(names) > 8:
            names[4:-3] = [f"... ({len(names) - 7} more) ..."]
        path = " = ".join(names)
        return f"cannot-link {self.cannot!r}, but must-links join its ends: {path}"


class PairConflictError(ValueError):
    """Raised when cannot-links contradict the must-links."""


class Pairs:
    """Hold must-link and cannot-link pairs of samples.

    A sample is named by its row number or by any hashable id. A pair given twice, or the
    other way round, counts once. Pairs are never changed: every method returns a new value.

    `Pairs` has no length and is no array on purpose: scikit-learn would cut it to the rows
    of a fold, although its entries name samples and not rows.

    Parameters
    ----------
    must : iterable of 2-tuples
        Samples that belong together.
    cannot : iterable of 2-tuples
        Samples that do not.
    n_samples : int, optional
        The number of rows that row numbers refer to. If given, fitting on another number of
        rows without ids is an error: this catches row numbers that reach a fold.

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

    __slots__ = ("_cannot", "_ids", "_must", "n_samples")

    _ids: tuple[Hashable, ...]
    _must: IntArray
    _cannot: IntArray
    n_samples: int | None

    def __init__(
        self,
        must: Iterable[Sequence[Hashable]] = (),
        cannot: Iterable[Sequence[Hashable]] = (),
        *,
        n_samples: int | None = None,
    ) -> None:
        codes: dict[Hashable, int] = {}
        must_codes = _encode(must, "must", codes)
        cannot_codes = _encode(cannot, "cannot", codes)
        _check_row_numbers(codes, n_samples)
        self._set(tuple(codes), must_codes, cannot_codes, n_samples)

    @classmethod
    def _from_codes(
        cls,
        ids: tuple[Hashable, ...],
        must: IntArray,
        cannot: IntArray,
        n_samples: int | None = None,
    ) -> Pairs:
        pairs = cls.__new__(cls)
        pairs._set(ids, must, cannot, n_samples)
        return pairs

    def _set(
        self, ids: tuple[Hashable, ...], must: IntArray, cannot: IntArray, n_samples: int | None
    ) -> None:
        values = {
            "_ids": ids,
            "_must": _once(must, len(ids)),
            "_cannot": _once(cannot, len(ids)),
            "n_samples": n_samples,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Pairs cannot be changed; make a new one instead of setting {name}.")

    def __getstate__(self) -> tuple[Any, ...]:
        return self._ids, self._must, self._cannot, self.n_samples

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)

    def __repr__(self) -> str:
        return f"Pairs(must={len(self._must)}, cannot={len(self._cannot)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[frozenset[frozenset[Hashable]], frozenset[frozenset[Hashable]]]:
        return frozenset(map(frozenset, self.must)), frozenset(map(frozenset, self.cannot))

    @property
    def must(self) -> tuple[Pair, ...]:
        """The must-links as 2-tuples of ids."""
        return self._decode(self._must)

    @property
    def cannot(self) -> tuple[Pair, ...]:
        """The cannot-links as 2-tuples of ids."""
        return self._decode(self._cannot)

    @property
    def n_must(self) -> int:
        """The number of must-links."""
        return len(self._must)

    @property
    def n_cannot(self) -> int:
        """The number of cannot-links."""
        return len(self._cannot)

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """Every sample that some pair names, in order of first appearance."""
        return tuple(self._ids[code] for code in self._named())

    def _named(self) -> IntArray:
        """Return the codes that some pair uses: labels bring samples that none names."""
        return np.unique(np.concatenate([self._must.ravel(), self._cannot.ravel()]))

    def _decode(self, codes: IntArray) -> tuple[Pair, ...]:
        ids = self._ids
        return tuple((ids[a], ids[b]) for a, b in codes.tolist())

    def __or__(self, other: Pairs) -> Pairs:
        """Return the pairs of both."""
        if not isinstance(other, Pairs):
            return NotImplemented
        if self.n_samples and other.n_samples and self.n_samples != other.n_samples:
            raise ValueError(
                f"Pairs over {self.n_samples} samples and pairs over {other.n_samples} samples "
                "number different rows. Name samples by id to join them."
            )
        codes = {sample: code for code, sample in enumerate(self._ids)}
        moved = np.array(
            [codes.setdefault(sample, len(codes)) for sample in other._ids], dtype=np.intp
        )
        return Pairs._from_codes(
            tuple(codes),
            np.concatenate([self._must, moved[other._must]]),
            np.concatenate([self._cannot, moved[other._cannot]]),
            self.n_samples or other.n_samples,
        )

    # -- what follows from the pairs -------------------------------------------------------

    def _components(self) -> IntArray:
        """Number the must-link component of each id."""
        return connected_components(_must_graph(self._must, len(self._ids)), directed=False)[1]

    def components(self) -> tuple[tuple[Hashable, ...], ...]:
        """Return the groups of samples that must-links join, largest first.

        A sample that is named by cannot-links only is a group of its own.

        Examples
        --------
        >>> Pairs(must=[(0, 3), (3, 5)], cannot=[(0, 9)]).components()
        ((0, 3, 5), (9,))
        """
        groups: dict[int, list[Hashable]] = {}
        component = self._components()
        for code in self._named():
            groups.setdefault(int(component[code]), []).append(self._ids[code])
        return tuple(sorted(map(tuple, groups.values()), key=len, reverse=True))

    @property
    def n_conflicts(self) -> int:
        """The number of cannot-links whose ends are joined by must-links."""
        return int(np.count_nonzero(self._contradicted()))

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
        contradicted = self._cannot[self._contradicted()][:limit]
        graph = _must_graph(self._must, len(self._ids))
        found: dict[int, Conflict] = {}
        searched = -1
        # One search serves all cannot-links that start at the same sample.
        for place in np.argsort(contradicted[:, 0], kind="stable").tolist():
            start, end = contradicted[place].tolist()
            if start != searched:
                parents = breadth_first_order(graph, start, directed=False)[1]
                searched = start
            chain = [end]
            while chain[-1] != start:
                chain.append(int(parents[chain[-1]]))
            samples = tuple(self._ids[code] for code in reversed(chain))
            found[place] = Conflict((samples[0], samples[-1]), samples)
        return tuple(found[place] for place in sorted(found))

    def _contradicted(self) -> BoolArray:
        component = self._components()
        return component[self._cannot[:, 0]] == component[self._cannot[:, 1]]

    def without_conflicts(self) -> Pairs:
        """Leave out the cannot-links that the must-links contradict."""
        return Pairs._from_codes(
            self._ids, self._must, self._cannot[~self._contradicted()], self.n_samples
        )

    def closure(self) -> Pairs:
        """Add every pair that follows from the others.

        Samples that a chain of must-links joins all belong together, and a cannot-link
        between two such groups holds for all their members.
        """
        if self.n_conflicts:
            raise PairConflictError(describe_conflicts(self))
        component = self._components()
        members = _members(component)
        must = [_all_pairs_within(group) for group in members]
        apart = np.unique(np.sort(component[self._cannot], axis=1), axis=0)
        cannot = [_all_pairs_between(members[a], members[b]) for a, b in apart.tolist()]
        return Pairs._from_codes(self._ids, _stack(must), _stack(cannot), self.n_samples)

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
            `sample_ids` or where the pairs carry their own `n_samples`.

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
        held = self
        if sample_ids is not None:
            present = set(sample_ids)
            n_samples = len(present)
            held = self.restrict(present)
        total = n_samples or self.n_samples
        n_named = len(held.ids)
        return {
            "must": held.n_must,
            "cannot": held.n_cannot,
            "conflicts": held.n_conflicts,
            "components": sum(len(group) > 1 for group in held.components()),
            "samples": n_named,
            "coverage": n_named / total if total else None,
            "lost_must": self.n_must - held.n_must,
            "lost_cannot": self.n_cannot - held.n_cannot,
        }

    def restrict(self, sample_ids: Iterable[Hashable]) -> Pairs:
        """Keep the pairs whose two ends are among `sample_ids`."""
        present = set(sample_ids)
        kept = np.array([sample in present for sample in self._ids], dtype=bool)
        return Pairs._from_codes(
            self._ids,
            self._must[kept[self._must].all(axis=1)],
            self._cannot[kept[self._cannot].all(axis=1)],
        )

    def rows(self, row_of: dict[Hashable, int]) -> tuple[IntArray, IntArray]:
        """Return must and cannot as row numbers, without pairs that have an absent end."""
        lookup = np.array([row_of.get(sample, -1) for sample in self._ids], dtype=np.intp)
        must, cannot = lookup[self._must], lookup[self._cannot]
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

        Examples
        --------
        >>> Pairs.from_labels([0, 0, 1, -1]).cannot
        ((0, 2), (1, 2))
        >>> Pairs.from_labels([0, 0, 1, 1, 2], n_must=1, n_cannot=3, random_state=0)
        Pairs(must=1, cannot=3)
        """
        codes, _ = encode_labels(y)
        if sample_ids is None and hasattr(y, "index") and not callable(y.index):
            sample_ids = y.index
        ids = check_ids(range(len(codes)) if sample_ids is None else sample_ids, len(codes))
        numbered = ids == tuple(range(len(codes)))
        rng = check_random_state(random_state)
        by_class = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
        sizes = np.bincount(codes[by_class]) if by_class.size else np.zeros(0, dtype=np.intp)
        must = by_class[_draw_within(sizes, n_must, rng)]
        cannot = by_class[_draw_between(sizes, n_cannot, rng)]
        by_row = [links[np.lexsort(links.T[::-1])] for links in map(_sorted_ends, (must, cannot))]
        return cls._from_codes(ids, by_row[0], by_row[1], len(codes) if numbered else None)

    @classmethod
    def from_csv(
        cls, path: str | PathLike[str], *, id_type: Callable[[str], Hashable] | None = None
    ) -> Pairs:
        """Read a CSV file with the header `a,b,link`, where link is `must` or `cannot`.

        Parameters
        ----------
        path : str or path
            The file.
        id_type : callable, optional
            Makes an id of the text in the file, such as `str` or `int`. Default: whole
            numbers if every id in the file is written as one, else text. Pass `str` for ids
            that are text but look like numbers. Spaces around an id do not count.
        """
        with open(path, newline="", encoding="utf-8-sig") as file:
            links = _read_csv(file, str(path))
        make = id_type or _guess_id_type(text for link in links.values() for text in link)
        must, cannot = ([(make(a), make(b)) for a, b in links[kind]] for kind in links)
        return cls(must, cannot)

    def to_csv(
        self, path: str | PathLike[str], *, id_type: Callable[[str], Hashable] | None = None
    ) -> None:
        """Write a CSV file with the header `a,b,link`; `from_csv` gives the same ids back.

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
        way_out = (
            "Name samples all by whole numbers or all by text without spaces around it, or use "
            "to_json. For text that looks like numbers pass id_type=str to to_csv and from_csv."
        )
        if id_type is None:
            self._check_types((int, str), "CSV", way_out)
        self._check_given_back(lambda ids: _through_csv(ids, id_type), "CSV", way_out)
        content = _csv_text(self.must, self.cannot).encode("utf-8")
        with open(path, "wb") as file:
            file.write(content)

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Pairs:
        """Read a JSON file `{"must": [[a, b], ...], "cannot": [[a, b], ...]}`."""
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if not isinstance(content, dict) or not content.keys() <= {"must", "cannot"}:
            raise ValueError(
                f'{path}: expected {{"must": [[a, b], ...], "cannot": [[a, b], ...]}}, '
                f"got {str(content)[:60]}."
            )
        links = (content.get(kind, ()) for kind in ("must", "cannot"))
        return cls(*([tuple(map(_tuples, pair)) for pair in link] for link in links))

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write a JSON file `{"must": [[a, b], ...], "cannot": [[a, b], ...]}`.

        Ids are text, finite numbers, True or False, or tuples of these and None; `from_json`
        gives the same ids back. `n_samples` is not written.

        Raises
        ------
        TypeError
            If an id would come back as another one. Nothing is written then.
        """
        way_out = "Name samples by text instead."
        self._check_types((int, float, bool, str, tuple), "JSON", way_out)
        self._check_given_back(_through_json, "JSON", way_out)
        content = json.dumps({"must": self.must, "cannot": self.cannot})
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    def _check_types(self, types: tuple[type, ...], format_name: str, way_out: str) -> None:
        # A kind of int, such as bool, would come back as something else; so the very type counts.
        for sample in self.ids:
            if type(sample) not in types:
                raise TypeError(
                    f"The id {_shown(sample)} is a {type(sample).__name__}, which {format_name} "
                    f"cannot hold; it holds {', '.join(kind.__name__ for kind in types)}. {way_out}"
                )

    def _check_given_back(
        self, through: Callable[[Sequence[Hashable]], list[Any]], format_name: str, way_out: str
    ) -> None:
        """Refuse an id that is not the same after it was written and read, which `through` does."""
        ids = self.ids
        try:
            back = through(ids)
        except Exception:
            # Each alone, to name the one that cannot go through.
            for sample in ids:
                try:
                    through([sample])
                except Exception as error:
                    raise TypeError(
                        f"The id {_shown(sample)} cannot be written as {format_name}: "
                        f"{str(error)[:100].rstrip('.')}. {way_out}"
                    ) from error
            raise
        for sample, found in zip(ids, back, strict=True):
            if not _same(sample, found):
                raise TypeError(
                    f"The id {_shown(sample)} would come back from {format_name} as "
                    f"{_shown(found)}. {way_out}"
                )


def describe_conflicts(pairs: Pairs) -> str:
    """Explain contradictory pairs in one message: how many, the first three, the way out."""
    n_conflicts = pairs.n_conflicts
    shown = "; ".join(map(str, pairs.conflicts(limit=3)))
    more = f"; and {n_conflicts - 3} more" if n_conflicts > 3 else ""
    return (
        f"{n_conflicts} of the cannot-links contradict the must-links: {shown}{more}. "
        'Correct the pairs (Pairs.conflicts() lists all), or pass on_conflict="drop" to leave '
        "these cannot-links out."
    )


def encode_labels(y: ArrayLike) -> tuple[IntArray, NDArray[Any]]:
    """Number the classes of y, with -1 for what is unlabelled: -1, None or NaN.

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        0 to n_classes - 1, or -1.
    classes : ndarray of shape (n_classes,)
        The label of each code.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(
            f"y must have one dimension, got shape {labels.shape}. Pass one label per sample; "
            "for one-hot columns, y.argmax(axis=1)."
        )
    if labels.dtype.kind == "O":
        known = np.array([not is_missing(label) for label in labels], dtype=bool)
    elif labels.dtype.kind in "fiu":
        known = (labels == labels) & (labels != -1)
    else:
        known = np.ones(labels.shape, dtype=bool)
    codes = np.full(labels.shape, -1, dtype=np.intp)
    try:
        classes, codes[known] = np.unique(labels[known], return_inverse=True)
    except TypeError:
        types = sorted({type(label).__name__ for label in labels[known]})
        raise ValueError(
            f"y mixes labels of the types {', '.join(types)}, which have no common order. "
            "Make them one type, such as y.astype(str)."
        ) from None
    return codes, classes


def check_ids(sample_ids: Iterable[Hashable], n_samples: int) -> tuple[Hashable, ...]:
    """Return the ids as a tuple, one for each of `n_samples`, none of them twice."""
    try:
        ids = tuple(_plain(sample) for sample in sample_ids)
        distinct = len(set(ids))
    except TypeError:
        raise TypeError(
            f"sample_ids must be one hashable id per row, such as numbers or text, "
            f"got {type(sample_ids).__name__} {str(sample_ids)[:40]}."
        ) from None
    if len(ids) != n_samples:
        raise ValueError(
            f"sample_ids has {len(ids)} entries, but there are {n_samples} samples. "
            "Pass one id per row."
        )
    if distinct < n_samples:
        repeated = Counter(ids).most_common(1)[0][0]
        raise ValueError(
            f"sample_ids names {repeated!r} more than once, so a pair cannot tell which row it "
            "means. Make ids unique (a pandas frame: reset_index(drop=True))."
        )
    return ids


def is_missing(label: Any, minus_one: bool = True) -> bool:
    """Tell whether a label or id is None, NaN or pandas.NA, or -1 if `minus_one`."""
    # pandas.NA refuses to be compared, so it is known by its type's name.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, str | tuple):
        return False
    return bool(label != label) or (minus_one and bool(label == -1))


def _read_csv(lines: Iterable[str], name: str) -> dict[str, list[tuple[str, str]]]:
    """Read the pairs of a CSV file as text, without spaces around it."""
    reader = csv.DictReader(lines, skipinitialspace=True)
    links: dict[str, list[tuple[str, str]]] = {"must": [], "cannot": []}
    try:
        if reader.fieldnames is None or not {"a", "b", "link"} <= set(reader.fieldnames):
            raise ValueError(
                f"{name}: the header is {reader.fieldnames}, but a pairs file starts with "
                "the line a,b,link."
            )
        for row in reader:
            a, b, link = ((row[column] or "").strip() for column in ("a", "b", "link"))
            if link.lower() not in links or not a or not b or None in row:
                raise ValueError(
                    f"{name}, line {reader.line_num}: {row['a']},{row['b']},{row['link']} "
                    "is not a pair. A line has two ids and then must or cannot, no more."
                )
            links[link.lower()].append((a, b))
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.reader.line_num}: {error}.") from error
    return links


def _csv_text(must: Iterable[Sequence[Hashable]], cannot: Iterable[Sequence[Hashable]]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["a", "b", "link"])
    writer.writerows((str(a), str(b), "must") for a, b in must)
    writer.writerows((str(a), str(b), "cannot") for a, b in cannot)
    return file.getvalue()


def _through_csv(
    ids: Sequence[Hashable], id_type: Callable[[str], Hashable] | None
) -> list[Hashable]:
    """Return what `from_csv` makes of ids that `to_csv` wrote."""
    content = _csv_text([(sample, sample) for sample in ids], ()).encode("utf-8")
    links = _read_csv(io.StringIO(content.decode("utf-8-sig"), newline=""), "the file")["must"]
    make = id_type or _guess_id_type(links)
    return [make(text) for text, _ in links]


def _through_json(ids: Sequence[Hashable]) -> list[Any]:
    """Return what `from_json` makes of ids that `to_json` wrote."""
    # Infinity and NaN would come back here, but are not JSON for other programs.
    return [_tuples(value) for value in json.loads(json.dumps(ids, allow_nan=False))]


def _same(a: Any, b: Any) -> bool:
    """Compare ids together with their types: 1, 1.0 and True are equal."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _shown(sample: object) -> str:
    """Quote an id for a message, cut to a width."""
    try:
        text = repr(sample)
    except (ValueError, RecursionError):  # such as a number of 5,000 digits
        return f"<{type(sample).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _tuples(value: Any) -> Any:
    """Turn the lists that JSON made of tuples back into tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _plain(sample: Any) -> Any:
    """Turn a NumPy scalar into the Python value that it equals, so that ids can be written."""
    return sample.item() if isinstance(sample, np.generic) else sample


def _encode(pairs: Iterable[Sequence[Hashable]], kind: str, codes: dict[Hashable, int]) -> IntArray:
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise TypeError(f"{kind} must be a list of pairs such as [(0, 3), (1, 4)], got {pairs!r}.")
    encoded = []
    for pair in pairs:
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise ValueError(
                f"{kind} has the entry {pair!r}; a pair is two samples, such as (0, 3)."
            )
        a, b = _plain(pair[0]), _plain(pair[1])
        for sample in (a, b):
            if not isinstance(sample, Hashable):
                raise TypeError(
                    f"{kind} has the pair ({a!r}, {b!r}); sample ids must be hashable, such as "
                    "numbers, text or tuples."
                )
            if is_missing(sample, minus_one=False):
                raise ValueError(
                    f"{kind} has the pair ({a!r}, {b!r}) with a missing sample id. Remove it."
                )
        if a == b:
            raise ValueError(
                f"{kind} has the pair ({a!r}, {b!r}), which links a sample to itself. Remove it."
            )
        encoded.append((codes.setdefault(a, len(codes)), codes.setdefault(b, len(codes))))
    return np.array(encoded, dtype=np.intp).reshape(-1, 2)


def _check_row_numbers(ids: Iterable[Hashable], n_samples: int | None) -> None:
    if n_samples is None:
        return
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r}, but it is the number of rows: 1 or more.")
    for sample in ids:
        if not isinstance(sample, Integral) or not 0 <= sample < n_samples:
            raise ValueError(
                f"A pair names {sample!r}, but with n_samples={n_samples} samples are named by "
                f"row numbers from 0 to {n_samples - 1}. Leave n_samples out to use ids."
            )


def _once(links: IntArray, n_ids: int) -> IntArray:
    """Keep the first of each pair, whichever way round it stands."""
    ends = np.sort(links, axis=1)
    _, first = np.unique(ends[:, 0] * max(n_ids, 1) + ends[:, 1], return_index=True)
    kept = links[np.sort(first)]
    kept.setflags(write=False)
    return kept


def _guess_id_type(pairs: Iterable[tuple[str, str]]) -> Callable[[str], Hashable]:
    return int if all(_is_number(text) for pair in pairs for text in pair) else str


def _is_number(text: str) -> bool:
    # "007" is a name and not the number 7, so only what int() writes back counts.
    try:
        return str(int(text)) == text
    except ValueError:
        return False


def _must_graph(must: IntArray, n_ids: int) -> csr_array:
    ones = np.ones(len(must), dtype=np.int8)
    return coo_array((ones, (must[:, 0], must[:, 1])), shape=(n_ids, n_ids)).tocsr()


def _members(component: IntArray) -> list[IntArray]:
    by_component = np.argsort(component, kind="stable")
    return np.split(by_component, np.cumsum(np.bincount(component))[:-1]) if len(component) else []


def _all_pairs_within(group: IntArray) -> IntArray:
    a, b = np.triu_indices(len(group), k=1)
    return np.column_stack([group[a], group[b]])


def _all_pairs_between(left: IntArray, right: IntArray) -> IntArray:
    return np.column_stack([np.repeat(left, len(right)), np.tile(right, len(left))])


def _stack(links: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty((0, 2), dtype=np.intp), *links])


def _sorted_ends(links: IntArray) -> IntArray:
    return np.sort(links, axis=1)


def _draw(total: int, wanted: int | None, kind: str, rng: np.random.RandomState) -> IntArray:
    """Draw numbers of pairs out of `total`, without listing all of them."""
    if wanted is None:
        return np.arange(total)
    if not isinstance(wanted, Integral) or not 0 <= wanted <= total:
        raise ValueError(
            f"n_{kind}={wanted!r} {kind}-links were asked for, but the labels imply {total}. "
            f"Ask for 0 to {total}, or None for all."
        )
    if wanted == 0:
        return np.empty(0, dtype=np.intp)
    return np.sort(sample_without_replacement(total, wanted, random_state=rng))


def _draw_within(sizes: IntArray, wanted: int | None, rng: np.random.RandomState) -> IntArray:
    """Draw pairs of positions inside consecutive classes of the given sizes."""
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    number = _draw(int(ends[-1]) if len(ends) else 0, wanted, "must", rng)
    group = np.searchsorted(ends, number, side="right")
    # Inside a class the pairs are numbered along the lower triangle: pair t lies in the row b
    # with b (b - 1) / 2 <= t. The square root may be off by one for large t; mend that.
    t = number - (ends - sizes * (sizes - 1) // 2)[group]
    b = ((1 + np.sqrt(8.0 * t + 1)) // 2).astype(np.intp)
    b -= b * (b - 1) // 2 > t
    b += b * (b + 1) // 2 <= t
    start = (np.cumsum(sizes) - sizes)[group]
    return np.column_stack([start + t - b * (b - 1) // 2, start + b])


def _draw_between(sizes: IntArray, wanted: int | None, rng: np.random.RandomState) -> IntArray:
    """Draw pairs of positions across consecutive classes of the given sizes."""
    later = sizes.sum() - np.cumsum(sizes)
    ends = np.cumsum(sizes * later)
    number = _draw(int(ends[-1]) if len(ends) else 0, wanted, "cannot", rng)
    group = np.searchsorted(ends, number, side="right")
    t = number - (ends - sizes * later)[group]
    n_later = later[group]
    stop = np.cumsum(sizes)[group]
    return np.column_stack([stop - sizes[group] + t // n_later, stop + t % n_later])
