"""How often a selector chooses each feature on resamples of the data."""

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from linkselect._arrays import BoolArray
from linkselect._messages import GuidedValueError
from linkselect._resampling import DRAWS_PER_STEP, seeded
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect.selectors._parameters import AT_LEAST_1, N_JOBS, SHARE
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._resamples import draw_resamples, fit_resamples
from linkselect.selectors._selector import Track
from linkselect.selectors._stability import (
    error_bound,
    frequency_errors,
    kuncheva_index,
    nogueira_index,
)
from linkselect.selectors._wrapper import Wrapper, arguments_of


class StableSelector(Wrapper):
    """Rank features by how often a selector chooses them on resamples of the data.

    The selector is fitted on all samples and on `n_resamples` draws of them without replacement;
    the score of a feature is the share of draws in which it was selected; larger is better, ties
    go by the mean rank. `kuncheva_` and `nogueira_` say how alike the choices were: 1 for always
    the same, about 0 for chance.

    Halves come in complementary pairs: the second draw holds what the first one left, and so on.
    Samples that must-links or a group join stay together, and each class is divided evenly, with at
    least two samples in a draw. A pair counts in a draw that holds both of its ends: half of the
    must-links, and about a quarter of the cannot-links. Draws that hold too little to be ranked are
    left out.

    Samples that are alike for another reason than their features, such as those of one patient,
    need `fit(..., groups=patient)`: otherwise most patients are in both halves, and features that
    know patients look stable.

    `error_bound_` is the published bound on the number of wrongly selected features, q^2 / ((2 t -
    1) d), for q features selected in a draw on average, d in all, and the least frequency t of a
    selected one. It bounds the expected number of selected features whose selection probability in
    a draw is below q / d (Shah and Samworth). These are the false ones only if the false ones are
    exchangeable and are selected less often than others (Meinshausen and Buehlmann).

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
        The share of samples in a draw. The bound holds for halves.
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
    frequency_errors_ : ndarray of shape (n_features,)
        Their Monte Carlo standard errors.
    n_resamples_ : int
        How many draws could be ranked.
    error_bound_ : float
        At most so many of the selected features are expected to have a selection probability
        below q / d; NaN if one of them was selected in no more than half of the draws.
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
    _uses_groups = True
    own_number = "the features that are selected in enough resamples"
    references = ("meinshausen2010", "shah2013", "kuncheva2007", "nogueira2018")

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
        groups = known.groups
        # All samples first: what is wrong with the input is said once, and in the usual words.
        whole = seeded(self.estimator, rng).fit(X.values, **arguments_of(known, self.estimator))
        draws = draw_resamples(
            self.estimator, known, X.shape[0], self.n_resamples, rng, self.max_samples, groups
        )
        if groups is not None and all(len(draw.rows) == X.shape[0] for draw in draws):
            raise GuidedValueError(
                "No resample leaves a group out: there are too few groups, or too few in a class.",
                "Pass groups= with two groups or more in each class, or none.",
                "groups",
            )
        selected, mean_rank, errors = fit_resamples(draws, X, track, self.n_jobs)
        if not len(selected):
            raise errors[0]
        frequency = selected.mean(axis=0)
        order = np.lexsort((mean_rank, -frequency))
        wanted = count_features(self.n_features_to_select, X.shape[1])
        if self.n_features_to_select == "auto":
            wanted = max(1, int(np.count_nonzero(frequency >= self.threshold)))
        fitted = {
            "estimator_": whole,
            "selection_frequencies_": frequency,
            "frequency_errors_": frequency_errors(frequency, len(selected)),
            "n_resamples_": len(selected),
            "error_bound_": error_bound(selected, float(frequency[order[wanted - 1]])),
            "kuncheva_": kuncheva_index(selected),
            "nogueira_": nogueira_index(selected),
        }
        return Ranking(frequency, order, wanted, fitted)
