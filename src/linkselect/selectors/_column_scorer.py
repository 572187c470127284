"""What selectors share that score each feature on its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._samples.degenerate import with_equal_ties
from linkselect._samples.one_pass import Surveyed
from linkselect._samples.sources import Stored
from linkselect._samples.stored_forms import by_column_parts
from linkselect._supervision import Supervision

# Takes X and `n_jobs`. Worker processes load it, so it is a function and no selector.
ColumnScore = Callable[..., FloatArray]


class ColumnScorer:
    """A selector whose score of a feature looks at no other one, nor at neighbours."""

    n_jobs: int | None

    def _column_score(self, known: Supervision) -> ColumnScore:
        """Return what computes the score of every feature."""
        raise NotImplementedError

    def _rows_that_count(self, known: Supervision) -> IntArray | None:
        """Return the only samples that the score looks at, sorted; None: all of them."""
        return None

    def _score(self, X: Matrix, known: Supervision) -> FloatArray:
        """Compute the score of every feature, unless that was done when X was surveyed."""
        score = self._column_score(known)
        if isinstance(X, Surveyed) and X.scores is not None:
            found = X.scores
        elif isinstance(X, Stored) and X.by_columns:
            found = by_column_parts(partial(score, n_jobs=1), X, self.n_jobs)
        else:
            found = score(X, n_jobs=self.n_jobs)
        return with_equal_ties(found)
