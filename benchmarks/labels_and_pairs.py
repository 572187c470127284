"""Compare labels and pairs together with either alone, for a table in docs/pairs_alone.md.

    python benchmarks/labels_and_pairs.py --draws 5 --write    # about 4 minutes on one core

Three labels per class, 20 must-links between other samples, and both, by LinkSelector; otherwise as
in pairs_alone.py.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

import pairs_alone
from measured_pages import show

PAGE = Path(__file__).parents[1] / "docs" / "pairs_alone.md"
LABELS, LINKS = "3 labels per class", "20 must-links"
KINDS = (LABELS, LINKS, f"{LABELS} and {LINKS}")


def measured(name, n_draws):
    """Return the mean accuracy over draws, of shape (kinds, classifiers)."""
    X, y = pairs_alone.read(name)
    found = []
    for draw in range(n_draws):
        data = pairs_alone.split(X, y, draw)
        supervision = (pairs_alone.known(kind, data.y, draw) for kind in KINDS)
        orders = [
            pairs_alone.order_of("LinkSelector", data.X, data.train, one) for one in supervision
        ]
        found.append([pairs_alone.accuracy(data, order, forest_counts=())[:2] for order in orders])
    return np.mean(found, axis=0)


def row(group, values):
    """Return a row of means over data sets, and of leads over the better one on each set."""
    lead = values[:, 2] - values[:, :2].max(axis=1)
    error = lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
    means = [f"{nearest:.1f} / {linear:.1f}" for nearest, linear in values.mean(axis=0)]
    leads = [f"{m:+.1f} ({e:.1f})" for m, e in zip(lead.mean(axis=0), error, strict=True)]
    return " | ".join([f"| {group}, {len(values)} sets", *means, " / ".join(leads)]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    groups = {"held out": pairs_alone.HELD_OUT, "design": pairs_alone.CHOSEN_ON}
    found = {
        group: np.array([measured(name, options.draws) for name in names])
        for group, names in groups.items()
    }
    found["all"] = np.concatenate(list(found.values()))
    header = ["data sets", *KINDS, "both minus the better one on each set (standard error)"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    lines += [row(group, values) for group, values in found.items()]
    show({"labels and pairs": lines}, PAGE, options.write)


if __name__ == "__main__":
    main()
