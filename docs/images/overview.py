"""Draw docs/images/overview.svg, the figure of the README: `python docs/images/overview.py`.

Left: the pixels of handwritten digits selected from the twenty pairs of the README. Right: the
accuracy of such selections over 20 draws from the first 800 digits, compared with methods that use
all labels or none, and with a random order.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from linkselect import FisherScore, LaplacianScore, LinkSelector, Pairs, plot
from linkselect.evaluation import Curve

SIZES = np.array([1, 2, 3, 5, 7, 10, 15, 20, 30, 40])
RANDOM = "random order"
METHODS = {
    "LinkSelector, 20 pairs": LinkSelector(40),
    "Fisher score, all labels": FisherScore(40),
    "Laplacian score, no labels": LaplacianScore(40),
}


def order_of(name, X, y, draw):
    """Return the ranking of the features by one method."""
    if name == RANDOM:
        return np.random.default_rng(draw).permutation(X.shape[1])
    pairs = Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=draw)
    return METHODS[name].fit(X, y, pairs=pairs).order_


def measure(X, y, n_draws=20):
    """Return the accuracy of 1-NN on the other half of the samples, for each method and size."""
    found = {name: [] for name in [*METHODS, RANDOM]}
    for draw in range(n_draws):
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=0.5, stratify=y, random_state=draw
        )
        for name, values in found.items():
            order = order_of(name, train, y_train, draw)
            values.append(
                [
                    KNeighborsClassifier(1)
                    .fit(train[:, order[:size]], y_train)
                    .score(test[:, order[:size]], y_test)
                    for size in SIZES
                ]
            )
    return {name: Curve(SIZES, np.array(values)) for name, values in found.items()}


def main():
    """Draw and save the figure."""
    plt.rcParams.update({"svg.hashsalt": "linkselect", "svg.fonttype": "path", "font.size": 9})
    warnings.simplefilter("ignore", UserWarning)  # pixels at the border are constant
    X, y = load_digits(return_X_y=True)
    X = X / 16
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.4), width_ratios=[1, 1.7], layout="constrained"
    )
    figure.set_facecolor("white")
    pairs = Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)
    chosen = LinkSelector(10).fit(X, pairs=pairs)
    plot.mask(chosen, (8, 8), ax=left, image=X.mean(axis=0))
    left.set_title("10 of 64 pixels, selected from 20 pairs", loc="left")
    plot.curves(measure(X[:800], y[:800]), ax=right)
    right.set_title("Accuracy of 1-NN with the best pixels, 20 draws", loc="left")
    target = Path(__file__).with_name("overview.svg")
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
