"""The Constraint Score."""

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from linkselect import scores
from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import BLOCK_SIZE, map_threads, slices
from linkselect._forms import ratio
from linkselect._samples import Parts, Samples
from linkselect._supervision import Supervision, restrict
from linkselect.scores._left_out import squared_differences, sums_without_each
from linkselect.selectors._method import Need
from linkselect.selectors._parameters import AT_LEAST_0, with_parameters
from linkselect.selectors._ranking import with_equal_ties
from linkselect.selectors._selector import ColumnScore
from linkselect.selectors._supervised_selectors import PairSelector


@with_parameters
class ConstraintScore(PairSelector):
    """Rank features by how much they differ across must-links relative to cannot-links.

    Let `M` and `C` be the sums of `(f_i - f_j)^2` over must-links and over cannot-links. The score
    of a feature f is `M / C` (Constraint Score-1) or `M - weight * C` (Constraint Score-2); smaller
    is better.

    The difference depends on the scale of a feature; the ratio does not. The ratio is not suitable
    for very few pairs: it is unstable, and features that have equal values on all must-links by
    chance have the score 0. Salmi, Hammouche & Macaire call the two criteria C1 and C2.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    criterion : {"ratio", "difference"}, default="ratio"
        Whether the score is `M / C` or `M - weight * C`.
    weight : float, default=0.1
        Weight of cannot-links if `criterion="difference"`.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
        "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    LSDF : Also use unlabelled samples.
    SimilarityConstraintScore : Evaluate subsets instead of single features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import ConstraintScore, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> ConstraintScore().fit(X, pairs=pairs).order_
    array([2, 3, 1, 0])
    """

    uses_weights = True
    works_on = ("memory", "sparse", "device", "parts")
    _seconds = 0.02
    references = ("zhang2008",)
    _undefined = "both ends of every pair have the same value"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "criterion": [StrOptions({"ratio", "difference"})],
        "weight": AT_LEAST_0,
    }

    criterion: Literal["ratio", "difference"] = "ratio"
    weight: float = 0.1

    @property
    def _constant_is_undefined(self) -> bool:  # type: ignore[override]
        return self.criterion == "ratio"

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        """Supervision that is required by the criterion."""
        if self.criterion == "ratio":
            return ("a must-link", "a cannot-link")
        return ("a pair or a label",)

    def _rows_that_count(self, known: Supervision) -> IntArray | None:
        return None if known.listed_must is None else np.flatnonzero(~known.unlabelled)

    def _score(self, X: Samples, known: Supervision) -> FloatArray:
        rows = self._rows_that_count(known)
        if isinstance(X, Parts) and not X.by_columns and rows is not None:
            # The rows are read once for both kinds of pairs.
            score = partial(self._column_score(restrict(known, rows)), n_jobs=self.n_jobs)
            return with_equal_ties(X.map_rows(score, rows))
        return super()._score(X, known)

    def _column_score(self, known: Supervision) -> ColumnScore:
        if self.criterion == "ratio":
            return partial(scores.constraint_ratio, known=known)
        return partial(scores.constraint_difference, known=known, weight=self.weight)

    def _scores_without_each_pair(self, X: Samples, known: Supervision) -> FloatArray | None:
        if known.must is None or known.cannot is None:
            return None
        must, cannot = known.must, known.cannot
        n_must, n_pairs = len(must), len(must) + len(cannot)
        found = np.empty((n_pairs, X.shape[1]))
        rows, ends = np.unique(np.concatenate([must, cannot]), return_inverse=True)
        ends = ends.reshape(n_pairs, 2)
        weights = np.concatenate(known.all_weights)

        def work(columns: slice) -> None:
            block = X.block(columns, rows)
            changes = weights[:, None] * squared_differences(block, ends)
            without_must, together = sums_without_each(changes[:n_must])
            without_cannot, apart = sums_without_each(changes[n_must:])
            found[:n_must, columns] = self._criterion(without_must, apart)
            found[n_must:, columns] = self._criterion(together, without_cannot)

        # Every block contains all pairs and a slice of the features.
        map_threads(work, slices(X.shape[1], max(BLOCK_SIZE // n_pairs, 16)), self.n_jobs)
        if n_pairs == 1 or (self.criterion == "ratio" and n_must == 1):
            found[0] = np.nan
        if self.criterion == "ratio" and len(cannot) == 1:
            found[n_must] = np.nan
        return found

    def _criterion(self, together: FloatArray, apart: FloatArray) -> FloatArray:
        if self.criterion == "ratio":
            return ratio(together, apart)
        return together - self.weight * apart
