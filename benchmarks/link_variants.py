"""Measure variants of LinkSelector that did not help, for docs/decisions/link_selector.md.

    python benchmarks/link_variants.py --draws 4 --write    # about 5 minutes on one core

Uses only the data sets on which LinkSelector was designed, with all features and the same halves
and pairs as pairs_alone.py. Each variant changes one thing. Its gain is the mean difference over
data sets, with its standard error.
"""

import argparse
import os
import warnings
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.linear_model import RidgeClassifier

import linkselect as ls
from linkselect._samples import Samples
from linkselect._samples.scaled_columns import HeldColumns
from linkselect._samples.scaling import find_scaling
from linkselect._search import explained, observations
from linkselect._supervision import from_labels, from_pairs, nothing
from linkselect.evaluation import nearest_neighbor_curve
from measured_pages import show
from pairs_alone import COUNTS, known, read, split
from pairs_alone_tables import CHOSEN_ON

PAGE = Path(__file__).parents[1] / "docs" / "decisions" / "link_selector.md"
NOISE, STEPS = 0.03, 50
BY_KIND = (
    "nothing",
    "20 pairs",
    "100 pairs",
    "100 pairs, 10 % wrong",
    "3 labels per class",
    "all labels",
)


# -- the parts that variants replace ------------------------------------------------------------


def scaled(X, how="auto"):
    """Return features scaled and centred as in LinkSelector, or in another way."""
    constant = np.ptp(X, axis=0) == 0
    if how in ("auto", "range"):
        scaling = find_scaling(Samples(X), constant, how, 1)
        F = scaling.rows(X)
    elif how == "standard":
        F = X / np.where(constant, np.inf, X.std(axis=0))
    elif how == "ranks":
        F = np.argsort(np.argsort(X, axis=0), axis=0) / len(X)
        F[:, constant] = 0.0
    else:  # the range of all but the outermost 2 %
        low, high = np.quantile(X, [0.02, 0.98], axis=0)
        flat = high <= low
        low, high = np.where(flat, X.min(axis=0), low), np.where(flat, X.max(axis=0), high)
        F = (np.clip(X, low, high) - low) / np.where(constant, np.inf, high - low)
    return F - F.mean(axis=0)


def supervision(told, n_samples):
    if "pairs" in told:
        return from_pairs(told["pairs"], n_samples, on_conflict="drop")
    return from_labels(told["y"], n_samples) if "y" in told else nothing(n_samples)


def pose(F, told, noise=NOISE):
    found = observations.observe(supervision(told, len(F)))
    return explained.by_samples(HeldColumns(np.ascontiguousarray(F.T)), found, noise)


def differences(links, n_samples):
    links, columns = np.array(links, dtype=int).reshape(-1, 2), np.arange(len(links))
    Q = np.zeros((n_samples, len(links)))
    Q[links[:, 0], columns], Q[links[:, 1], columns] = 1.0, -1.0
    return Q


def stretched(problem, Q, weight):
    """Add variance along differences, `weight` times their own."""
    along = problem.moment @ Q
    total = np.sum(Q * along)
    return problem._replace(moment=problem.moment + weight * (along @ along.T) / (total or np.inf))


def sharpened(problem, power):
    values, vectors = np.linalg.eigh(problem.moment)
    return problem._replace(moment=vectors * np.maximum(values, 0.0) ** power @ vectors.T)


def grouped(F, y, apart):
    """Treat labels as must-links inside classes, and class means as cannot-links."""
    groups = [np.flatnonzero(y == one) for one in np.unique(y[y >= 0])]
    every = np.hstack([np.eye(len(F))[:, some] - 1.0 / len(some) * _at(some, F) for some in groups])
    problem = pose(F, {})
    size = np.trace(problem.kernel) / len(F)
    cross = every.T @ problem.kernel
    targets = np.zeros((every.shape[1], 0))
    moment = explained.condition(problem.kernel, cross, cross @ every, targets, NOISE * size)
    problem = problem._replace(moment=moment)
    means = np.column_stack([_at(some, F)[:, 0] / len(some) for some in groups])
    left, right = np.triu_indices(len(groups), 1)
    return stretched(problem, means[:, left] - means[:, right], 1.0) if apart else problem


def _at(rows, F):
    found = np.zeros((len(F), 1))
    found[rows] = 1.0
    return found


# -- variants -----------------------------------------------------------------------------------


def order(problem, ridge=explained.RIDGE):
    constant = ~problem.columns.values.any(axis=1)
    with patch.object(explained, "RIDGE", ridge):
        return explained.choose(problem, min(STEPS, (~constant).sum()), constant).order


def in_full(F, _data, told):
    """Give every must-link its full weight, whatever their number."""
    with patch.object(observations, "MOST_LINKS", np.inf):
        return order(pose(F, told))


def links_only(F, _data, told):
    """Treat no group of linked samples as a class."""
    with patch.object(observations, "FEWEST_IN_CLASS", np.inf):
        return order(pose(F, told))


def closed(F, _data, told):
    return order(pose(F, {"pairs": told["pairs"].without_conflicts().closure()}))


def in_turns(F, data, told):
    """Take the features of LinkSelector and of the consensus alternately."""
    other = ls.ConsensusSelector(random_state=0, on_conflict="drop").fit(data.train, **told).order_
    both = np.column_stack([order(pose(F, told)), other]).ravel()
    return both[np.sort(np.unique(both, return_index=True)[1])]


PAIRS, LABELS = ("20 pairs", "100 pairs", "100 pairs, 10 % wrong"), BY_KIND[-2:]
# The kinds of supervision of each variant, and its order of features.
VARIANTS = {
    "cannot-links stretch the moment": (
        PAIRS,
        lambda F, d, t: order(stretched(pose(F, t), differences(t["pairs"].cannot, len(F)), 1.0)),
    ),
    "the same, three times as much": (
        PAIRS,
        lambda F, d, t: order(stretched(pose(F, t), differences(t["pairs"].cannot, len(F)), 3.0)),
    ),
    "every must-link counts in full": (PAIRS[1:], in_full),
    "no group of linked samples is a class": (PAIRS, links_only),
    "closure of the pairs": (PAIRS, closed),
    "in turns with the consensus": (PAIRS, in_turns),
    "labels as groups": (LABELS, lambda F, d, t: order(grouped(F, t["y"], False))),
    "labels as groups, means apart": (LABELS, lambda F, d, t: order(grouped(F, t["y"], True))),
    **{
        f"noise {noise:g}": (BY_KIND[1:], lambda F, d, t, noise=noise: order(pose(F, t, noise)))
        for noise in (0.01, 0.1, 0.3)
    },
    **{
        f"ridge {ridge:g}": (BY_KIND, lambda F, d, t, ridge=ridge: order(pose(F, t), ridge))
        for ridge in (0.1, 0.25, 1.0)
    },
    **{
        f"moment to the power {p:g}": (
            BY_KIND,
            lambda F, d, t, p=p: order(sharpened(pose(F, t), p)),
        )
        for p in (0.5, 2.0)
    },
    **{
        f"scaling: {how}": (BY_KIND, lambda F, d, t, how=how: order(pose(scaled(d.X, how), t)))
        for how in ("range", "without outliers", "standard", "ranks")
    },
}


# -- accuracies ---------------------------------------------------------------------------------


def accuracy(data, features):
    """Return the accuracy of 1-NN and of a ridge classifier, in per cent, over 5 to 50 features."""
    counts = [n for n in COUNTS if n <= len(features)]
    samples = data.train, data.y, data.test, data.y_test
    linear = [
        RidgeClassifier()
        .fit(data.train[:, features[:n]], data.y)
        .score(data.test[:, features[:n]], data.y_test)
        for n in counts
    ]
    nearest = nearest_neighbor_curve(*samples, features, counts)
    return 100 * np.array([np.mean(nearest), np.mean(linear)])


def measure(name, draws):
    """Return the gain of each variant on one data set, by kind of supervision."""
    found, (X, y) = {}, read(name)
    for draw in range(draws):
        data = split(X, y, draw)
        F = scaled(data.X)
        for kind in BY_KIND:
            told = known(kind, data.y, draw)
            usual = accuracy(data, order(pose(F, told)))
            found.setdefault(("LinkSelector", kind), []).append(usual)
            for label, (kinds, variant) in VARIANTS.items():
                if kind in kinds:
                    gain = accuracy(data, variant(F, data, told)) - usual
                    found.setdefault((label, kind), []).append(gain)
    return {key: np.mean(some, axis=0) for key, some in found.items()}


def cell(values, label):
    if not values:
        return "-"
    mean, error = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / len(values) ** 0.5
    if label == "LinkSelector":
        return " / ".join(f"{one:.1f}" for one in mean)
    return " / ".join(f"{one:+.1f} ({wide:.1f})" for one, wide in zip(mean, error, strict=True))


def table(found, draws):
    """Return the lines of the table."""
    lines = [
        f"Accuracy (%) of 1-NN / of a linear classifier on {len(found)} data sets, {draws} draws",
        "each. Variants: difference from `LinkSelector` in percentage points, with its standard",
        "error in brackets.",
        "",
        f"| variant | {' | '.join(BY_KIND)} |",
        "|---" * (len(BY_KIND) + 1) + "|",
    ]
    for label in ("LinkSelector", *VARIANTS):
        cells = (
            cell([one[label, kind] for one in found if (label, kind) in one], label)
            for kind in BY_KIND
        )
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--sets", nargs="+", default=CHOSEN_ON, choices=CHOSEN_ON)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = [measure(name, options.draws) for name in options.sets]
    show({"variants": table(found, options.draws)}, PAGE, options.write)


if __name__ == "__main__":
    main()
