"""Draw the small pictures of the pages: `python docs/images/cards.py`."""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import MinMaxScaler

from linkselect import (
    FisherScore,
    LaplacianScore,
    LinkSelector,
    Pairs,
    compare,
    plot,
)

FOLDER = Path(__file__).parent


def breast_cancer():
    """Return the scaled features, with their names, and the classes."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return MinMaxScaler().set_output(transform="pandas").fit_transform(X), y


def ranking(axes):
    """Draw what six pairs say about the features of the breast cancer data, as in README."""
    X, _ = breast_cancer()
    pairs = Pairs(must=[(0, 1), (19, 20), (46, 48)], cannot=[(0, 19), (1, 46), (2, 20)])
    selector = LinkSelector(n_features_to_select=3).fit(X, pairs=pairs)
    plot.scores(selector, n=8, ax=axes)
    axes.set_title("Ranked from 6 pairs", loc="left")


def pixels(axes):
    """Draw the pixels of digits that twenty pairs choose."""
    X, y = load_digits(return_X_y=True)
    pairs = Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)
    chosen = LinkSelector(10).fit(X / 16, pairs=pairs)
    plot.mask(chosen, (8, 8), ax=axes, image=X.mean(axis=0))
    axes.set_title("10 of 64 pixels", loc="left")


def how_many(axes):
    """Draw accuracy against the number of features."""
    X, y = breast_cancer()
    methods = {"Fisher score": FisherScore(), "Laplacian score": LaplacianScore()}
    found = compare(methods, X.to_numpy(), y, n_features=[1, 2, 3, 5, 8, 12, 20, 30], n_splits=10)
    plot.curves(found.accuracy, ax=axes)
    axes.set_title("How many features?", loc="left")


def main():
    """Draw and write the pictures."""
    plt.rcParams.update({"svg.hashsalt": "linkselect", "svg.fonttype": "path", "font.size": 9})
    warnings.simplefilter("ignore", UserWarning)
    for draw in (ranking, pixels, how_many):
        figure, axes = plt.subplots(figsize=(4.2, 2.6), layout="constrained")
        figure.set_facecolor("white")
        draw(axes)
        figure.savefig(FOLDER / f"{draw.__name__}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
