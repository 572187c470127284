"""Ensemble CLS (EnsCLS), a constrained Laplacian Score averaged over random subsamples."""

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
    """Rank features by a constrained Laplacian Score averaged over random subsamples (EnsCLS).

    Each member of the ensemble uses a random subset of the samples (a bag) and of the features (a
    subspace). The score of a feature is the mean of `ConstrainedLaplacianScore(variant="2014")`
    over the members that contain the feature; smaller is better. This is EnsCLS as described by
    Salmi, Hammouche & Macaire. Features are assigned to members in shuffled rounds, so that each is
    in at least one member and their counts differ by at most one. If `n_estimators` is too small
    for that, subspaces are larger than `max_features`.

    Bags preserve the supervision. With pairs, a bag contains every sample in a pair. With labels,
    it contains the fraction `max_samples` of each class, but at least two samples. The same
    fraction of all other samples is drawn. All draws are without replacement, because a repeated
    sample would be its own neighbour. Not suitable for pairs that include all samples, since all
    bags would be the same.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    n_estimators : int, default=50
        Number of members of the ensemble.
    max_samples : float, default=0.7
        Fraction of the samples in a bag.
    max_features : float, default=0.5
        Fraction of the features in a subspace.
    n_neighbors : int, default=5
        Number of nearest neighbours. Two samples in a bag are neighbours if either is among the
        `n_neighbors` nearest samples of the other.
    sigma : float or "auto", default=1.0
        Width of the Gaussian weights `exp(-distance^2 / (2 sigma^2))`. "auto" sets `2 sigma^2` to
        the median squared distance, separately in each member.
    random_state : int, RandomState instance or None, default=None
        Controls the random bags and subspaces. Pass an int for reproducible results.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
        "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    ConstrainedLaplacianScore : The score of a single member.
    StableSelector : Selection frequencies on resamples, for any selector.

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
    _undefined = "no member has variation over the pairs or the unlabelled samples"

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
        # Members in which a feature has no score are excluded from its mean.
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
        # Rounding may give a score to a feature that is constant in the bag; it has none.
        return np.where(some.constant_columns(), np.nan, found)
