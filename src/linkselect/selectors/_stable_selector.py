"""How often a selector chooses each feature on resamples of the data."""

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from linkselect._arrays import BoolArray, IntArray
from linkselect._blocks import map_threads, slices
from linkselect._resampling import DRAWS_PER_STEP, draw_bag, draw_some, draw_together, seeded
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect._supervision import Supervision, by_rows, nothing
from linkselect.pairs._consequences import some_listed
from linkselect.pairs._labels import encode_labels, label_array
from linkselect.selectors._method import describe
from linkselect.selectors._parameters import AT_LEAST_1, N_JOBS, SHARE
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track
from linkselect.selectors._stability import kuncheva_index, nogueira_index
from linkselect.selectors._wrapper import Wrapper, arguments_of


class StableSelector(Wrapper):
    """Rank features by how often a selector chooses them on resamples of the data.

    The selector is fitted on all samples and on `n_resamples` draws of them without replacement;
    the score of a feature is the share of draws in which it was selected; larger is better, ties
    go by the mean rank. `kuncheva_` and `nogueira_` say how alike the choices were: 1 for always
    the same, about 0 for chance.

    A draw keeps supervision. With labels, `max_samples` of each class are drawn, at least two.
    With pairs, `max_samples` of the must-links and of the cannot-links, at least one of each, with
    their samples and `max_samples` of the samples in no drawn pair; pairs follow their samples.
    With `pairs | Pairs.from_labels(y)`, labels are drawn as labels and the other links as pairs.

    Not a measure of how good a choice is: a selector that always picks the first columns is
    perfectly stable.

    Parameters
    ----------
    estimator : selector
        The selector to refit; it stays as it is.
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or all that are selected in at least
        the share `threshold` of the draws, the best one if there is none.
    n_resamples : int, default=50
        How many draws.
    max_samples : float, default=0.5
        The share of samples (and pairs) in a draw.
    threshold : float, default=0.6
        For "auto": how often a feature is selected that is kept.
    random_state : int, RandomState instance or None, default=None
        Determines the draws, and every `random_state` of the estimator.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Attributes
    ----------
    estimator_ : selector
        The estimator fitted on all samples.
    selection_frequencies_ : ndarray of shape (n_features,)
        The same as `scores_`.
    kuncheva_ : float
        The mean consistency of two draws; NaN if they selected different numbers of features,
        or all.
    nogueira_ : float
        One minus the variance of the selection over that of chance; also for different numbers.

    See Also
    --------
    EnsembleCLS : An average of scores over bags.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LSDF, Pairs, StableSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs.from_labels(y, n_must=30, n_cannot=30, random_state=0)
    >>> stable = StableSelector(LSDF(2), random_state=0).fit(X, pairs=pairs)
    >>> stable.selection_frequencies_, stable.kuncheva_
    (array([0., 0., 1., 1.]), 1.0)
    """

    greater_is_better = True
    own_number = "the features that are selected in enough resamples"
    references = ("meinshausen2010", "kuncheva2007", "nogueira2018")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Wrapper._parameter_constraints,
        "n_resamples": AT_LEAST_1,
        "max_samples": SHARE,
        "threshold": SHARE,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimator: Any,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        n_resamples: int = 50,
        max_samples: float = 0.5,
        threshold: float = 0.6,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.n_resamples = n_resamples
        self.max_samples = max_samples
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return -(-self.n_resamples // DRAWS_PER_STEP)

    def _rank(self, X: Samples, known: Given, constant: BoolArray, track: Track[Any]) -> Ranking:
        rng = check_random_state(self.random_state)
        # All samples first: what is wrong with the input is said once, and in the usual words.
        whole = seeded(self.estimator, rng).fit(X.values, **arguments_of(known, self.estimator))
        n_samples = X.shape[0]
        draws = [
            (seeded(self.estimator, rng), *self._draw(known, n_samples, rng))
            for _ in range(self.n_resamples)
        ]

        def work(draw: tuple[Any, IntArray, dict[str, Any]]) -> tuple[Any, Any]:
            selector, rows, arguments = draw
            fitted = selector.fit(X.take(rows).values, **arguments)
            support = fitted.get_support()
            return support, getattr(fitted, "ranking_", np.where(support, 1, 2))

        found: list[tuple[Any, Any]] = []
        for part in track(slices(len(draws), DRAWS_PER_STEP)):
            with warnings.catch_warnings():
                # Constant features and the like were reported for all samples.
                warnings.simplefilter("ignore")
                found += map_threads(work, draws[part], self.n_jobs)
        selected = np.array([support for support, _ in found])
        frequency = selected.mean(axis=0)
        order = np.lexsort((np.mean([rank for _, rank in found], axis=0), -frequency))
        wanted = count_features(self.n_features_to_select, X.shape[1])
        if self.n_features_to_select == "auto":
            wanted = max(1, int(np.count_nonzero(frequency >= self.threshold)))
        fitted = {
            "estimator_": whole,
            "selection_frequencies_": frequency,
            "kuncheva_": kuncheva_index(selected),
            "nogueira_": nogueira_index(selected),
        }
        return Ranking(frequency, order, wanted, fitted)

    def _draw(
        self, given: Given, n_samples: int, rng: np.random.RandomState
    ) -> tuple[IntArray, dict[str, Any]]:
        """Draw rows, and the supervision of these."""
        least = _most_neighbors(self.estimator) + 1
        if given.pairs is None or describe(self.estimator).sees in ("labels", "some labels"):
            return self._draw_by_labels(given.y, n_samples, least, rng)
        if given.pairs._groupings:
            known = given.supervision(n_samples, "drop")
            rows, pairs = draw_together(known, self.max_samples, least, rng)
            return rows, {"y": None, "pairs": pairs, "sample_ids": rows.tolist()}
        ids = range(n_samples) if given.sample_ids is None else tuple(given.sample_ids)
        row_of = {sample: row for row, sample in enumerate(ids)}
        # Equal pairs give equal draws, in whatever order they are listed.
        present = by_rows(given.pairs.restrict(ids), row_of, ids)
        must, cannot = (
            draw_some(n, self.max_samples, rng) for n in (present.n_must, present.n_cannot)
        )
        pairs = some_listed(present, must, cannot)
        classes = np.full(n_samples, -1, dtype=np.intp)
        classes[[row_of[sample] for sample in pairs.ids]] = 0
        # As with bare pairs, every named sample stays.
        links = np.empty((0, 2), dtype=np.intp)
        rows = draw_bag(Supervision(classes, links, links), self.max_samples, least, rng)
        return rows, {"y": None, "pairs": pairs, "sample_ids": [ids[row] for row in rows]}

    def _draw_by_labels(
        self, y: Any, n_samples: int, least: int, rng: np.random.RandomState
    ) -> tuple[IntArray, dict[str, Any]]:
        # A method that needs every label reads -1 as a class.
        minus_one = describe(self.estimator).sees != "labels"
        labels = None if y is None else label_array(y, minus_one).ravel()
        if labels is None or len(labels) != n_samples:  # a selector that ignores y let it pass
            return draw_bag(nothing(n_samples), self.max_samples, least, rng), {"y": None}
        classes, names = encode_labels(labels, minus_one)
        # No classes, but numbers that the selector ignores.
        known = nothing(n_samples) if len(names) > n_samples / 2 else Supervision(classes)
        rows = draw_bag(known, self.max_samples, least, rng)
        return rows, {"y": labels[rows]}


def _most_neighbors(selector: Any) -> int:
    """Return how many neighbours a selector, or one that it wraps, looks for in a draw."""
    values = selector.get_params(deep=True).items()
    return max((n for name, n in values if name.split("__")[-1] == "n_neighbors"), default=0)
