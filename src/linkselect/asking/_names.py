"""The ids of samples and their rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect.asking._known import Rows
from linkselect.pairs._conflicts import Pair
from linkselect.pairs._ids import check_ids, plain_id


class Names:
    """Find the rows of samples that a person or a program names.

    Parameters
    ----------
    sample_ids : iterable of hashable or None
        The id of each row; None if they are row numbers.
    n_samples : int
        The number of rows.

    Attributes
    ----------
    ids : tuple of hashable
        The id of each row.
    are_rows : bool
        Whether no ids were given.
    """

    def __init__(self, sample_ids: Iterable[Hashable] | None, n_samples: int) -> None:
        self.are_rows = sample_ids is None
        self.ids = check_ids(range(n_samples) if sample_ids is None else sample_ids, n_samples)
        self.row_of = {sample: row for row, sample in enumerate(self.ids)}

    def checked(self, pair: Any) -> Pair:
        """Return a pair of ids of two different samples."""
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise GuidedTypeError(
                f"pair={pair!r}, but a pair is two samples.", "Pass a tuple of two ids.", "pair"
            )
        a, b = plain_id(pair[0]), plain_id(pair[1])
        for sample in (a, b):
            if not isinstance(sample, Hashable) or sample not in self.row_of:
                raise GuidedValueError(
                    f"The pair ({a!r}, {b!r}) names {sample!r}, which is not among the "
                    f"{len(self.ids)} samples, such as {self.ids[0]!r}.",
                    "Name samples by sample_ids, or by row number if there are none.",
                    "pair",
                )
        if a == b:
            raise GuidedValueError(
                f"The pair ({a!r}, {b!r}) is one sample twice.",
                "Name two different samples.",
                "pair",
            )
        return a, b

    def rows(self, pair: Pair) -> Rows:
        """Return the rows of a pair."""
        return self.row_of[pair[0]], self.row_of[pair[1]]

    def key(self, pair: Pair) -> Rows:
        """Return the rows of a pair, smaller first, whichever way round it stands."""
        a, b = self.rows(pair)
        return (a, b) if a < b else (b, a)
