"""Compare two outputs, and describe the difference."""

from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import spearmanr


@dataclass(frozen=True)
class Agreement:
    """Whether outputs agree, and how much they differ."""

    same: bool
    found: str

    def as_dict(self):
        return asdict(self)


def same_scores(tolerance):
    """Compare scores: the largest difference, as a share of the largest score."""

    def compare(ours, other):
        if ours.shape != other.shape:
            return Agreement(False, f"{other.shape} in place of {ours.shape}")
        largest = np.abs(ours).max() or 1.0
        difference = float(np.abs(ours - other).max() / largest)
        return Agreement(difference <= tolerance, f"scores differ by {difference:.0e} at most")

    return compare


def same_order(tolerance, *, larger_is_better):
    """Compare an order with our scores, which must not improve along it."""

    def compare(ours, order):
        if sorted(order) != list(range(len(ours))):
            return Agreement(False, "not an order of all features")
        along = ours[order] if larger_is_better else -ours[order]
        risen = along - np.minimum.accumulate(along)
        worst = float(risen.max() / (np.abs(ours).max() or 1.0))
        if worst == 0:
            return Agreement(True, "same order")
        return Agreement(worst <= tolerance, f"orders differ where scores differ by {worst:.0e}")

    return compare


def same_ranking(least):
    """Compare scores by their rank correlation, where optima of one problem may differ."""

    def compare(ours, other):
        correlation = float(spearmanr(ours, other).statistic)
        return Agreement(correlation >= least, f"rank correlation {correlation:.3f}")

    return compare


def same_choice(*, ordered):
    """Compare the selected features, in the order of selection or as a set."""

    def compare(ours, other):
        shared = len(set(ours.tolist()) & set(other.tolist()))
        same = shared == len(ours) == len(other)
        if same and ordered and not np.array_equal(ours, other):
            places = int((ours == other).sum())
            return Agreement(False, f"same features, {places} of {len(ours)} in the same place")
        if same:
            return Agreement(True, f"same {len(ours)} features")
        most = max(len(ours), len(other))
        return Agreement(False, f"{shared} of {most} features shared")

    return compare


def same_neighbors(least):
    """Compare neighbours row by row, in any order, because ties may be decided differently."""

    def compare(ours, other):
        if ours.shape != other.shape:
            return Agreement(False, f"{other.shape} in place of {ours.shape}")
        same = (np.sort(ours, axis=1) == np.sort(other, axis=1)).all(axis=1)
        share = float(same.mean())
        return Agreement(share >= least, f"same neighbours in {share:.2%} of the rows")

    return compare
