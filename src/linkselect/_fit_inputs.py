"""What `fit` was given beside X, as one value on its way to `Supervision`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Self

from linkselect._checks import check_labels, index_of
from linkselect._messages import GuidedTypeError, warn_user
from linkselect._samples.sources import find_stored
from linkselect._supervision import OnConflict, Supervision, from_labels, from_pairs, nothing
from linkselect.pairs import Pairs


@dataclass(frozen=True)
class Given:
    """What `fit` was given beside X, as it came: a method that ignores a part does not check it.

    Attributes
    ----------
    y : array-like or None
        Labels.
    pairs : Pairs or None
        Must-links and cannot-links.
    sample_ids : iterable of hashable or None
        The id of each row, by which pairs name samples; None if row numbers do. It may be
        exhausted by reading it once.
    ids_are_index : bool
        Whether the ids were not passed, but are the index of a pandas X.

    Examples
    --------
    >>> from linkselect import Pairs
    >>> given = Given(y=[0, 0, 1, -1], pairs=Pairs(must=[(0, 3)]))
    >>> given.supervision(4).classes.tolist()
    [0, -1, -1, 0]
    >>> Given(y=[0, 0, 1, -1]).supervision(4).classes.tolist()
    [0, 0, 1, -1]
    """

    y: Any = None
    pairs: Pairs | None = None
    sample_ids: Iterable[Hashable] | None = None
    ids_are_index: bool = False

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any = None,
        pairs: Pairs | None = None,
        sample_ids: Iterable[Hashable] | None = None,
    ) -> Self:
        """Take the arguments of `fit`; ids default to the index of a pandas X, also if stored."""
        if isinstance(y, Pairs):
            raise GuidedTypeError(
                "The second argument is y, one label per sample, but it is a Pairs.",
                "Pass pairs by name: .fit(X, pairs=pairs), or .fit(X, y, pairs=pairs).",
                "y",
            )
        if isinstance(y, list | tuple) and y and all(_is_pair(one) for one in y):
            raise GuidedTypeError(
                f"The second argument is y, one label per sample, but it begins with {y[0]!r}.",
                f"Pass pairs by name: .fit(X, pairs=Pairs(must=[{y[0]!r}, ...], cannot=[...])).",
                "y",
            )
        index: Any = index_of(X)
        _warn_of_order(index, index_of(y))
        if sample_ids is not None:
            return cls(y, pairs, sample_ids)
        if pairs is not None and (stored := find_stored(X)) is not None:
            index = stored.index()
        return cls(y, pairs, index, ids_are_index=index is not None)

    @property
    def is_empty(self) -> bool:
        """Whether there are neither pairs nor labels."""
        return self.pairs is None and self.y is None

    def labels(self) -> Any:
        """Check the labels and return them; None if there are none or pairs take their place.

        A Pipeline hands y to every step: together with pairs it would silently turn them into full
        supervision. To use both, pass `pairs | Pairs.from_labels(y)`.
        """
        return check_labels(self.y) if self.pairs is None and self.y is not None else None

    def supervision(self, n_samples: int, on_conflict: OnConflict = "raise") -> Supervision:
        """Return what pairs say about the rows of X, else what labels say, else nothing.

        Parameters
        ----------
        n_samples : int
            The number of rows.
        on_conflict : {"raise", "warn", "drop"}, default="raise"
            What to do when must-links join the two ends of a cannot-link: "raise" an error, or drop
            that cannot-link with ("warn") or without ("drop") a warning.
        """
        if self.pairs is not None:
            return from_pairs(
                self.pairs,
                n_samples,
                self.sample_ids,
                on_conflict,
                ids_are_index=self.ids_are_index,
            )
        labels = self.labels()
        return nothing(n_samples) if labels is None else from_labels(labels, n_samples)


def _warn_of_order(of_samples: Any, of_labels: Any) -> None:
    """Warn if labels name the samples in another order: they go by position, as in scikit-learn."""
    if of_samples is None or of_labels is None or of_samples.equals(of_labels):
        return
    if len(of_samples) == len(of_labels) and set(of_samples) == set(of_labels):
        warn_user(
            "The index of y names the rows of X in another order, but labels go by position.",
            way_out="Pass y.loc[X.index] if each label belongs to the row of its index.",
        )


def _is_pair(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2
