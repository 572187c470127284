"""LinkSelector, the method of this library for pairs, labels, both or neither."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from linkselect._arrays import BoolArray
from linkselect._blocks import count_threads, one_blas_thread
from linkselect._messages import warn_user
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect._samples.scaling import Scale, find_scaling
from linkselect._search.explained import choose, pose
from linkselect._search.observations import observe
from linkselect._supervision import Supervision
from linkselect.selectors._parameters import POSITIVE, with_parameters
from linkselect.selectors._ranking import Ranking, count_features, with_equal_ties, with_equal_twins
from linkselect.selectors._selector import Track
from linkselect.selectors._supervised_selectors import PairSelector

# "auto" keeps the fewest features that explain this share of what all features explain, but not
# more than this number.
SHARE, MOST_FEATURES = 0.9, 300


@with_parameters
class LinkSelector(PairSelector):
    """Select features that together explain most of the variation expected from pairs and labels.

    Features are scaled and centred. Each feature f is modelled as a draw from a Gaussian process
    over the samples with covariance `K = FF'`, where F contains all features. Pairs and labels are
    noisy observations of f: a must-link states that `f_i - f_j = 0`, and a label states that f_i is
    the value of its class. A link of weight w counts w times. The links have a combined weight of
    at most ten, which limits the effect of a few wrong links among many. Given these observations,
    f has the second moment `T = E[ff' | known]`. The value of a set S of features is the part of T
    that a ridge regression on these features explains, `tr(T F_S (F_S'F_S + r I)^-1 F_S')`; larger
    is better. Features are added one by one, each time the one with the largest gain.

    A feature therefore gains little if it varies within must-links or classes, or if it repeats
    features selected before. Samples without a pair or label contribute through K. Without
    supervision, `T = K`, and the selected features are those that best represent all others. To use
    labels and pairs together, pass `pairs=pairs | Pairs.from_labels(y)`; if pairs are given, `y`
    itself is ignored.

    Cannot-links only separate groups: if must-links join eight or more samples into each of two or
    more groups with cannot-links between them, the groups count as labels, except those that a
    cannot-link contradicts. No other use of cannot-links that was tested improved the selection.

    Not suitable for finding all relevant features: of several equivalent features it selects one,
    so small changes of the data may exchange them.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps the smallest number of
        features that explain 90 % of the variation explained by all features, but at most 300.
    noise : float, default=0.03
        Variance of the observation noise, relative to the mean squared distance of a sample from
        the overall mean. Values between 0.01 and 0.1 change accuracy by less than one percentage
        point.
    scale : {"auto", "range", "counts"}, default="auto"
        Scaling of features. "range" scales features to [0, 1]. "counts" divides features by their
        standard deviation, takes square roots and scales rows to unit norm; values must not be
        negative. "auto" uses "counts" if no value is negative and more than half of the values of
        non-constant features are 0, otherwise "range".
    on_conflict : {"raise", "warn", "drop"}, default="raise"
        Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
        "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Variation explained by each feature alone, as a fraction of the variation explained by all
        features.
    order_ : ndarray of shape (n_features,)
        Features in order of selection, followed by the remaining features, sorted by the gain from
        adding each of them. Constant features are last. Features that are equal up to rounding are
        in column order.
    path_ : ndarray of shape (n_steps,)
        Variation explained by the features selected up to each step, as a fraction of the variation
        explained by all features.

    See Also
    --------
    ConsensusSelector : The mean rank of several published methods.
    Redundancy : Avoid redundant features with any score.

    Notes
    -----
    Without supervision and without ridge, this is greedy column subset selection [1]_. With all
    labels, and without noise and ridge, it is orthogonal least squares [2]_ on the class
    indicators, in the form of the library fastcan [3]_. Must-links shrink the directions along
    which linked samples differ, as in relevant component analysis [4]_. With a large ridge, the
    criterion is the unnormalised kernel target alignment [5]_ of the selected features with T.

    Products of samples and products of features give the same selection; the smaller matrix is
    used. If both numbers exceed 10,000, or a wide table does not fit into memory, 256 to 4,096
    random sums of samples [6]_ replace the samples. The standard error of a product of two
    uncorrelated features is then 6 % to 1.6 % of its largest possible value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LinkSelector, Pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs(must=[(0, 3), (51, 60)])
    >>> selector = LinkSelector(n_features_to_select=2).fit(X, pairs=pairs)
    >>> selector.order_
    array([2, 3, 1, 0])
    """

    greater_is_better = True
    searches = True
    own_number = "the fewest features that together explain 90 % of what all explain, at most 300"
    _keeps_own_number = True
    works_on = ("memory", "sparse", "device", "parts")
    uses_weights = True
    references = (
        "farahat2011",
        "chen1991",
        "zhang2022",
        "barhillel2005",
        "cristianini2001",
        "clarkson2013",
    )
    # Features are scaled first, so small differences do not underflow.
    _squares_differences = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairSelector._parameter_constraints,
        "noise": POSITIVE,
        "scale": [StrOptions({"auto", "range", "counts"})],
    }

    noise: float = 0.03
    scale: Scale = "auto"

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        if self.n_features_to_select == "auto":
            return min(n_features, max(MOST_FEATURES, len(self._first)))
        return max(len(self._first), count_features(self.n_features_to_select, n_features))

    def _know(self, given: Given, n_samples: int) -> Supervision:
        known = super()._know(given, n_samples)
        if known.has_cannot and not known.has_must and given.pairs is not None:
            warn_user(
                "LinkSelector learns from must-links, but only cannot-links were passed. The "
                "ranking is the same as without pairs.",
                hint="Add must-links, or use a method without this requirement, such as LSDF().",
            )
        return known

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        n_steps = self._n_steps(*X.shape)
        varies = int(np.count_nonzero(~constant))
        if not varies:
            path = np.full(n_steps, np.nan)
            everything = np.arange(X.shape[1])
            return Ranking(np.full(X.shape[1], np.nan), everything, n_steps, {"path_": path})
        scaling = find_scaling(X, constant, self.scale, self.n_jobs)
        n_threads = count_threads(self.n_jobs)
        automatic = self.n_features_to_select == "auto"
        with one_blas_thread():
            problem = pose(X, scaling, observe(known), self.noise, n_threads)
            share = SHARE if automatic else np.inf
            n_most = min(n_steps, varies + int(np.count_nonzero(constant[list(self._first)])))
            found = choose(problem, n_most, constant, first=self._first, share=share, track=track)
        scores = np.where(constant, np.nan, found.scores)
        scores = with_equal_twins(X, with_equal_ties(scores))
        n_selected = len(found.path) if automatic else n_steps
        return Ranking(scores, found.order, n_selected, {"path_": found.path})
