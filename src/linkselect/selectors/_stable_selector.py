"""StableSelector, which computes selection frequencies on resamples of the data."""

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
    """Rank features by their selection frequency on resamples of the data.

    The selector is fitted on all samples and on `n_resamples` draws without replacement. The score
    of a feature is its selection frequency, the fraction of draws in which it is selected; larger
    is better. Ties go by the mean rank. `kuncheva_` and `nogueira_` measure the agreement of the
    selections: 1 if they are always the same, about 0 if they agree as by chance.

    Halves are drawn in complementary pairs: every second draw contains the samples left out by the
    draw before. Samples joined by must-links or by a group stay together. Each class is divided
    evenly, with at least two samples in a draw. A draw uses the pairs with both ends among its
    samples: half of the must-links, and about a quarter of the cannot-links. Draws that cannot be
    ranked are left out.

    If samples depend on each other, for example because they come from the same patient, pass
    `fit(..., groups=patient)`. Otherwise, most patients are in both halves, and features that
    identify patients appear stable.

    `error_bound_` is the published bound `q^2 / ((2 t - 1) d)` on the number of falsely selected
    features, for q features selected in a draw on average, d features in all, and a smallest
    frequency t of a selected feature. It bounds the expected number of selected features whose
    selection probability in a draw is below q / d (Shah and Samworth). These are the false
    selections only if irrelevant features are exchangeable and are selected less often than
    others (Meinshausen and Buehlmann).

    Stability does not measure quality: a selector that always selects the first columns is
    perfectly stable.

    Parameters
    ----------
    estimator : selector
        The selector that is refitted on each draw. It is not modified.
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps all features with a
        selection frequency of at least `threshold`, or the best feature if there are none.
    n_resamples : int, default=50
        Number of draws.
    max_samples : float, default=0.5
        Fraction of the samples in a draw. The error bound is valid for halves.
    threshold : float, default=0.6
        Minimum selection frequency of the features that are kept by "auto".
    random_state : int, RandomState instance or None, default=None
        Controls the draws and every `random_state` of the estimator. Pass an int for reproducible
        results.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    estimator_ : selector
        The estimator after fitting on all samples.
    selection_frequencies_ : ndarray of shape (n_features,)
        Selection frequencies of the features, identical to `scores_`.
    frequency_errors_ : ndarray of shape (n_features,)
        Monte Carlo standard errors of the selection frequencies.
    n_resamples_ : int
        Number of draws that could be ranked.
    error_bound_ : float
        Bound on the expected number of selected features with a selection probability below q / d;
        NaN if a selected feature has a frequency of at most one half.
    kuncheva_ : float
        Kuncheva's index, the mean consistency of two draws. It is NaN if the number of selected
        features varies between draws, or if all features are selected.
    nogueira_ : float
        Nogueira's index, which is one minus the ratio of the variance of selections to its value
        for random selections. It is also defined if the number of selected features varies.

    See Also
    --------
    EnsembleCLS : Averages a score over random subsamples.

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
    own_number = "all features that are selected in enough resamples"
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
        # All samples first, so that invalid input raises the usual error, and only once.
        whole = seeded(self.estimator, rng).fit(X.values, **arguments_of(known, self.estimator))
        draws = draw_resamples(
            self.estimator, known, X.shape[0], self.n_resamples, rng, self.max_samples, groups
        )
        if groups is not None and all(len(draw.rows) == X.shape[0] for draw in draws):
            raise GuidedValueError(
                "There are too few groups, or too few groups in a class, to draw resamples.",
                "Pass groups with at least two groups in each class, or omit groups.",
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
