"""The working score of features: the Constraint Score of the closure, shrunk while answers are few.

With `a` and `b` the mean squared difference of a feature over the must-links and the cannot-links
that follow from the answers, `v` twice its variance, and `w_a` and `w_b` the share of five pairs
that there are of each kind, at most 1, the score is
`(w_a a + (1 - w_a) v + 0.05 v) / (w_b b + (1 - w_b) v + 0.05 v)`; smaller is better.
"""

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import column_slices
from linkselect._forms import laplacian_form, ratio
from linkselect._samples.moments import moments
from linkselect.asking._answers import Known
from linkselect.asking._asked_samples import SampleValues
from linkselect.graphs._graph_types import Edges
from linkselect.selectors._ranking import best_first

# Pairs of a kind from which on their own mean counts in full.
ENOUGH = 5
# The share of the typical difference on both sides of the quotient: without it, one answer could
# make a feature perfect.
SHRUNK = 0.05
MOST = 20


def best_features(samples: SampleValues, known: Known) -> IntArray:
    """Return the features of the best working score: a third of them, from 2 to 20.

    Constant features are not among them, since they tell no samples apart.
    """
    n_best = max(2, min(MOST, samples.n_features // 3))
    order = best_first(working_scores(samples, known), greater_is_better=False)
    return order[~samples.constant[order]][:n_best]


def working_scores(samples: SampleValues, known: Known) -> FloatArray:
    """Score every feature; NaN if it is constant."""
    together, n_together, apart, n_apart = closure_scatter(samples, known)
    typical = samples.spread
    above = _shrunk(together, n_together, typical)
    below = _shrunk(apart, n_apart, typical)
    return ratio(above, below)


def _shrunk(total: FloatArray, count: float, typical: FloatArray) -> FloatArray:
    weight = min(count, ENOUGH) / ENOUGH
    return weight * total / max(count, 1.0) + (1.0 - weight + SHRUNK) * typical


def closure_scatter(
    samples: SampleValues, known: Known
) -> tuple[FloatArray, float, FloatArray, float]:
    """Sum squared differences over all pairs that follow, and count them; must-links first.

    Groups have sums: inside one of n samples the squared differences add up to n times its scatter,
    and between two to `m scatter + n scatter' + m n (mean - mean')^2`.
    """
    together, apart = np.zeros(samples.n_features), np.zeros(samples.n_features)
    if not len(known.linked):
        return together, 0.0, apart, 0.0
    codes = known.group[known.linked]
    size = np.bincount(codes).astype(np.float64)
    left, right = known.apart.T
    partners = np.zeros(len(size))  # how many samples are apart from each of a group
    np.add.at(partners, left, size[right])
    np.add.at(partners, right, size[left])
    between = Edges(len(size), left, right, size[left] * size[right])
    values = samples.rows(known.linked)
    for columns in column_slices(values):
        groups = moments(values[:, columns], codes)
        together[columns] = size @ groups.scatter
        # Means count from a value that all share, so that a large offset costs no digits.
        means = groups.means_minus(values[0, columns])
        apart[columns] = partners @ groups.scatter + laplacian_form(means, between, n_jobs=1)
    n_together = float((size * (size - 1.0)).sum() / 2.0)
    return together, n_together, apart, float(between.weights.sum())
