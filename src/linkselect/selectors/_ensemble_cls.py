"""EnsCLS: a constrained Laplacian score over bags and subspaces."""

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from linkselect import scores
from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import map_threads, slices
from linkselect._resampling import DRAWS_PER_STEP, draw_bag, draw_subspaces
from linkselect._samples import Samples
from linkselect._supervision import Supervision, restrict
from linkselect.graphs import nearest_edges, resolve_sigma
from linkselect.selectors._parameters import AT_LEAST_1, NEIGHBORS, SHARE, SIGMA, with_parameters
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track
from linkselect.selectors._supervised_selectors import PairSelector


@with_parameters
class EnsembleCLS(PairSelector):
    """Rank features by the mean of a constrained Laplacian score over bags and subspaces.

    `ConstrainedLaplacianScore(variant="2014")` is computed on `n_estimators` members, each a bag
    of the samples and a random subspace of the features, and averaged per feature; smaller is
    better (EnsCLS, as Salmi, Hammouche & Macaire describe it). Features are dealt out in shuffled
    rounds, so each is in some member, and in at most one more than another; a subspace is larger
    than `max_features` if there are too few members for that.

    A bag never loses the supervision: with pairs it keeps every sample that a pair names, with
    labels it draws `max_samples` of each class, at least two. The other samples are drawn by
    `max_samples`. All without replacement, since a sample drawn twice would be its own
    neighbour. Not for pairs that name all samples: then the bags are all the same.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to keep: a number, a fraction, or half of them.
    n_estimators : int, default=50
        The number of members.
    max_samples : float, default=0.7
        The share of the samples in a bag.
    max_features : float, default=0.5
        The share of the features in a subspace.
    n_neighbors : int, default=5
        Two samples are neighbours if either is among the `n_neighbors` nearest samples of the
        other in the bag.
    sigma : float or "auto", default=1.0
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance in each member.
    random_state : int, RandomState instance or None, default=None
        Determines bags and subspaces.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do if must-links join the two ends of a cannot-link: "raise" an error, or drop
        that cannot-link with ("warn") or without ("drop") a warning.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    See Also
    --------
    ConstrainedLaplacianScore : One member.
    StableSelector : Resamples around any selector.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import EnsembleCLS, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> EnsembleCLS(random_state=0).fit(X, pairs=pairs).order_
    array([2, 3, 0, 1])
    """

    _seconds = 10.0
    references = ("benabdeslem2016", "salmi2020")
    _undefined = "in no member do they vary over the pairs or the free samples"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "n_estimators": AT_LEAST_1,
        "max_samples": SHARE,
        "max_features": SHARE,
        "n_neighbors": NEIGHBORS,
        "sigma": SIGMA,
        "random_state": ["random_state"],
    }

    n_estimators: int = 50
    max_samples: float = 0.7
    max_features: float = 0.5
    n_neighbors: int = 5
    sigma: float | Literal["auto"] = 1.0
    random_state: int | np.random.RandomState | None = None

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return -(-self.n_estimators // DRAWS_PER_STEP)

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        rng = check_random_state(self.random_state)
        n_features, n_members = X.shape[1], self.n_estimators
        least = self.n_neighbors + 1
        bags = [draw_bag(known, self.max_samples, least, rng) for _ in range(n_members)]
        size = max(
            count_features(float(self.max_features), n_features), -(-n_features // n_members)
        )
        subspaces = draw_subspaces(n_features, size, n_members, rng)
        total, n_scores = np.zeros(n_features), np.zeros(n_features)
        for part in track(slices(n_members, DRAWS_PER_STEP)):
            members = list(zip(bags[part], subspaces[part], strict=True))
            found = map_threads(partial(self._score_member, X, known), members, self.n_jobs)
            for subspace, values in zip(subspaces[part], found, strict=True):
                defined = ~np.isnan(values)
                total[subspace[defined]] += values[defined]
                n_scores[subspace[defined]] += 1
        # A member in which a feature has no score does not count for it.
        mean = np.where(n_scores > 0, total / np.maximum(n_scores, 1), np.nan)
        return self._by_score(X, mean, constant)

    def _score_member(
        self, X: Samples, known: Supervision, member: tuple[IntArray, IntArray]
    ) -> FloatArray:
        """Score the features of a subspace on the samples of a bag."""
        bag, subspace = member
        some = X.take(bag).choose(subspace)
        near = nearest_edges(some, self.n_neighbors, n_jobs=1)
        width = resolve_sigma(self.sigma, some)
        part = restrict(known, bag)
        found = scores.constrained_laplacian(some, near, part, width, "2014", n_jobs=1)
        # Rounding gives a feature that is constant in the bag a value: it has none.
        return np.where(some.constant_columns(), np.nan, found)
