"""EnsCLS: a constrained Laplacian score over bags and subspaces."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from linkselect import scores
from linkselect.arrays import Matrix
from linkselect.forms import constant_columns
from linkselect.scores.ensemble import MEMBERS_PER_STEP, draw_bag, draw_subspaces
from linkselect.selectors.parameters import AT_LEAST_1, NEIGHBORS, SHARE, SIGMA
from linkselect.selectors.ranking import Ranking, best_first, count_features
from linkselect.selectors.selector import PairSelector, Track
from linkselect.supervision import OnConflict, Supervision

__all__ = ["EnsembleCLS"]


class EnsembleCLS(PairSelector):
    """Rank features by the mean of a constrained Laplacian score over bags and subspaces.

    `ConstrainedLaplacianScore(variant="2014")` is computed on `n_estimators` members, each a bag
    of the samples and a random subspace of the features, and averaged per feature; smaller is
    better (EnsCLS, as told in 2020). Features are dealt out in shuffled rounds, so each is in some
    member, and in at most one more than another; a subspace is made larger than `max_features`
    where there are too few members for that.

    A bag never loses the supervision: with pairs it keeps every sample that a pair names, with
    labels it draws `max_samples` of each class, at least two. The other samples are drawn by
    `max_samples`. All without replacement, since a sample drawn twice would be its own
    neighbour. Not where pairs name all samples: then the bags are all alike.

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
        Samples are neighbours where either is among this many nearest of the other in the bag.
    sigma : float or "auto", default=1.0
        The width in the weight `exp(-distance^2 / (2 sigma^2))`. "auto": `2 sigma^2` is the
        median squared distance in each member.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        What to do where must-links contradict a cannot-link: stop, or leave the cannot-link out
        with or without a warning.
    random_state : int, RandomState instance or None, default=None
        Determines bags and subspaces.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import EnsembleCLS, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> EnsembleCLS(random_state=0).fit(X, pairs=pairs).order_
    array([2, 3, 0, 1])
    """

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

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] = "auto",
        *,
        n_estimators: int = 50,
        max_samples: float = 0.7,
        max_features: float = 0.5,
        n_neighbors: int = 5,
        sigma: float | Literal["auto"] = 1.0,
        on_conflict: OnConflict = "raise",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.on_conflict = on_conflict
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        return -(-self.n_estimators // MEMBERS_PER_STEP)

    def _rank(self, X: Matrix, known: Supervision, track: Track) -> Ranking:
        rng = check_random_state(self.random_state)
        n_features, n_members = X.shape[1], self.n_estimators
        least = self.n_neighbors + 1
        bags = [draw_bag(known, self.max_samples, least, rng) for _ in range(n_members)]
        size = max(
            count_features(float(self.max_features), n_features), -(-n_features // n_members)
        )
        subspaces = draw_subspaces(n_features, size, n_members, rng)
        found = scores.ensemble_constrained_laplacian(
            X, known, bags, subspaces, self.n_neighbors, self.sigma, self.n_jobs, track
        )
        self._warn(found, constant_columns(X))
        n_selected = count_features(self.n_features_to_select, n_features)
        return Ranking(found, best_first(found, self.greater_is_better), n_selected)
