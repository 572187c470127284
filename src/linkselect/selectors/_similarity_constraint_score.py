"""The similarity-based constraint score."""

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from linkselect._arrays import BoolArray, IntArray
from linkselect._messages import warn_user
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect._search import targets
from linkselect._search.all_pairs import memory_needed
from linkselect._search.similarity import select_by_similarity
from linkselect._supervision import Supervision, refuse_weights
from linkselect.graphs import resolve_sigma
from linkselect.pairs._draws import generator_of
from linkselect.selectors._method import Need
from linkselect.selectors._parameters import SIGMA, with_parameters
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track
from linkselect.selectors._supervised_selectors import PairSelector

# Number of pairs used to match sigma, and of must-links used to check it.
PAIRS_FOR_SIGMA = 1_000_000


MUST_LINKS_TO_CHECK = 256


# Sigma is too small if, in at least this fraction of the features, half of the must-links have
# kernel values below VANISHED.
VANISHED = 1e-3


SHARE_OF_VANISHED = 0.1


# Above this size, a warning announces the matrices of all pairs.
MANY_BYTES = 2 << 30


@with_parameters
class SimilarityConstraintScore(PairSelector):
    """Select the features whose Gaussian kernel best matches a target similarity of samples.

    Let `w(F)` be the Gaussian kernel on a subset F of the features. The target similarity `T` is 1
    for two samples that should be alike and 0 for two that should differ. The score of F is the sum
    of `(w_ij(F) - T_ij)^2` over ordered pairs; smaller is better. At each step, forward selection
    adds the feature that gives the smallest score. Adding features decreases kernel values, which
    improves the match between groups and worsens it within groups. The score therefore has a
    minimum, and its position is the method's own number of features.

    `mode="supervised"` (eps^S) sums over must-links and cannot-links. From labels, these are all
    pairs of labelled samples; from pairs, exactly the given pairs, each multiplied by its weight.
    `mode="semi-supervised"` (eps^SS) sums over all pairs of samples and does not support weights.
    Every sample takes the group of its nearest prototype, by the distance in all features; ties go
    to the lower row number. From labels, the labelled samples are the prototypes, and classes are
    the groups. From pairs, the samples in pairs are the prototypes. Chains of must-links form the
    groups, and a sample that is only in cannot-links is a group of its own. Two groups count as
    different even without a cannot-link between them.

    The default `sigma` suits features scaled to [0, 1]. Without `max_pairs`, the method is not
    suitable for more than about 5,000 samples, since memory and time are quadratic in their number.
    If X is sparse, the samples used are converted to a dense array.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps the number of features at
        which the path has its smallest score. The search ends as soon as no smaller score is
        possible.
    mode : {"supervised", "semi-supervised"}, default="supervised"
        Whether samples without a label or pair are ignored, or assigned to their nearest prototype.
    sigma : float, "auto" or "target", default=1.0
        Width of the kernel `exp(-distance^2 / (2 sigma^2))`. "auto" sets `2 sigma^2` to the median
        squared distance between samples. "target" chooses the width for which the kernel of all
        features best matches the target similarity, with equal weights of must-links and
        cannot-links.
    max_pairs : int, optional
        Maximum number of pairs. If there are more, this number is drawn at random, and the scores
        are estimates of those for all pairs. Half of the drawn pairs are must-links and half are
        cannot-links, unless there are too few of one kind. Default: all pairs.
    random_state : int, RandomState instance or None, default=None
        Controls the random draw. Pass an int for reproducible results.
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
        "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each feature alone.
    order_ : ndarray of shape (n_features,)
        Features in order of selection, followed by the remaining features, sorted by their score at
        the last step.
    path_ : ndarray of shape (n_steps,)
        Score after adding each selected feature.
    standard_error_ : ndarray of shape (n_steps,)
        Standard error of each value of `path_`, which is 0 if all pairs were used.
    sigma_ : float
        Width of the kernel.

    See Also
    --------
    ConstraintScore : A fast score of single features.
    NearestNeighborSFS : Forward selection by accuracy.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from linkselect import Pairs, SimilarityConstraintScore
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)], cannot=[(0, 60), (51, 120)])
    >>> selector = SimilarityConstraintScore(sigma="target")
    >>> selector.fit(MinMaxScaler().fit_transform(X), pairs=pairs).order_
    array([3, 2, 1, 0])
    """

    searches = True
    path_has_optimum = True
    own_number = "the optimum of the method's own criterion"
    works_on = ("memory", "sparse", "device")
    _seconds = 3.0
    references = ("salmi2020",)
    _constant_is_undefined = False

    _instead_of_parts = (
        "Read the rows in pairs and a random sample of the other rows into memory with "
        "linkselect.open_stored(X).take(rows), and pass max_pairs if there are still many rows."
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "mode": [StrOptions({"supervised", "semi-supervised"})],
        "sigma": [*SIGMA, StrOptions({"target"})],
        "max_pairs": [None, Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    mode: Literal["supervised", "semi-supervised"] = "supervised"
    sigma: float | Literal["auto", "target"] = 1.0
    max_pairs: int | None = None
    random_state: int | np.random.RandomState | None = None

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        """Supervision that is required by the mode."""
        # In the semi-supervised mode every sample joins a group, so two groups are enough.
        return ("a must-link", "a cannot-link") if self.mode == "supervised" else ("two groups",)

    @property
    def uses_weights(self) -> bool:  # type: ignore[override]
        """Whether pair weights are used, which is the case only in the supervised mode."""
        return self.mode == "supervised"

    def _know(self, given: Given, n_samples: int) -> Supervision:
        if not self.uses_weights:
            refuse_weights(given.pairs, 'SimilarityConstraintScore(mode="semi-supervised")')
        return super()._know(given, n_samples)

    def _seconds_per_million(self, n_pairs: int) -> float:
        if n_pairs and self.mode == "supervised":
            # The search runs over the given pairs, not over all pairs of samples.
            return min(self._seconds, PairSelector._seconds * (1 + n_pairs / 100))
        return self._seconds

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        if self.n_features_to_select == "auto":
            return n_features
        wanted = count_features(self.n_features_to_select, n_features)
        return self._steps_for(wanted, n_features)

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        target = self._target(X, known)
        sigma = self._width(X, target)
        n_features = self._n_steps(*X.shape)
        until_minimum = self.n_features_to_select == "auto"
        found = select_by_similarity(
            X,
            target,
            sigma,
            n_features,
            first=self._first,
            until_minimum=until_minimum,
            track=track,
            n_jobs=self.n_jobs,
        )
        n_selected = count_features(self.n_features_to_select, X.shape[1])
        if until_minimum:
            least = max(1, len(self._first))
            n_selected = int(found.path[least - 1 :].argmin()) + least
        fitted = {"path_": found.path, "standard_error_": found.standard_error, "sigma_": sigma}
        return Ranking(found.scores, found.order, n_selected, fitted)

    def _target(self, X: Samples, known: Supervision) -> IntArray | targets.PairTarget:
        """Return groups if all pairs of their samples are used, otherwise a list of pairs."""
        generator = generator_of(self.random_state)
        if self.mode == "supervised" and known.must is not None and known.cannot is not None:
            own = known.all_weights if known.has_weights else None
            if self.max_pairs is None:
                return targets.pair_target(known.must, known.cannot, own=own)
            links = known.must, known.cannot
            return targets.draw_from_pairs(*links, self.max_pairs, generator, own)
        groups = known.classes
        if self.mode == "semi-supervised":
            groups = targets.nearest_prototypes(X, groups, self.n_jobs)
        if self.max_pairs is not None:
            return targets.draw_from_groups(groups, self.max_pairs, generator)
        n_samples = int(np.count_nonzero(groups >= 0))
        n_bytes = memory_needed(n_samples)
        if n_bytes > MANY_BYTES:
            warn_user(
                f"All pairs of {n_samples} samples need about {n_bytes / 2**30:.0f} GB of memory.",
                hint="To draw a random sample of pairs instead, pass max_pairs=1_000_000.",
                settings={"max_pairs": "1000000"},
            )
        return groups

    def _width(self, X: Samples, target: IntArray | targets.PairTarget) -> float:
        if self.sigma == "auto":
            return resolve_sigma("auto", X, self.n_jobs)
        if not isinstance(target, targets.PairTarget):
            n_pairs = PAIRS_FOR_SIGMA if self.sigma == "target" else 2 * MUST_LINKS_TO_CHECK
            target = targets.draw_from_groups(target, n_pairs, np.random.default_rng(0))
        if self.sigma == "target":
            return targets.match_sigma(X, target, self.n_jobs)
        self._check_width(X, target)
        return float(self.sigma)

    def _check_width(self, X: Samples, target: targets.PairTarget) -> None:
        """Warn if sigma is too small for the kernels of many features."""
        if target.n_must == 0:
            return
        some = np.unique(np.linspace(0, target.n_must - 1, MUST_LINKS_TO_CHECK).astype(np.intp))
        apart = targets.median_differences(X, target.first[some], target.second[some])
        limit = float(self.sigma) * np.sqrt(-2 * np.log(VANISHED))
        n_vanished = np.count_nonzero(apart > limit)
        if n_vanished < SHARE_OF_VANISHED * len(apart) or n_vanished == 0:
            return
        worst = int(apart.argmax())
        names = getattr(self, "feature_names_in_", None)
        feature = f"feature {worst}" if names is None else repr(names[worst])
        warn_user(
            f"sigma={self.sigma:g} is too small for {n_vanished} of {len(apart)} features. For "
            f"half of the must-links, the values of such a feature differ by more than {limit:.2g} "
            f"(in {feature}, by more than {apart[worst]:.3g}), so the kernel is below {VANISHED:g} "
            "for samples that should be alike.",
            hint="Scale the features to [0, 1] with MinMaxScaler, or "
            'pass sigma="auto" or sigma="target".',
            settings={"X": "minmax", "sigma": "auto"},
        )
