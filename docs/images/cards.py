"""Draw the small figures of the documentation: `python docs/images/cards.py`."""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
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
    """Return the scaled features of the breast cancer data as a frame, and the classes."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return MinMaxScaler().set_output(transform="pandas").fit_transform(X), y


def genes(axes):
    """Draw the best genes of scanpy's 700 blood cells, ranked from three labels per cell type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import scanpy

        cells = scanpy.datasets.pbmc68k_reduced()
    kinds = cells.obs["bulk_labels"].to_numpy(dtype=object)
    order = np.random.default_rng(0).permutation(len(kinds))
    few = np.full(len(kinds), None, dtype=object)
    for kind in np.unique(kinds):
        few[order[kinds[order] == kind][:3]] = kind
    values = pd.DataFrame(cells.X, columns=cells.var_names)
    selector = LinkSelector(n_features_to_select=8).fit(values, few)
    plot.scores(selector, n=8, ax=axes)
    axes.set_title("Genes ranked from 3 labels per cell type", loc="left")


def pixels(axes):
    """Draw the pixels of handwritten digits that twenty pairs select."""
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
    """Draw and save the figures."""
    plt.rcParams.update({"svg.hashsalt": "linkselect", "svg.fonttype": "path", "font.size": 9})
    warnings.simplefilter("ignore", UserWarning)
    for draw in (genes, pixels, how_many):
        figure, axes = plt.subplots(figsize=(4.2, 2.6), layout="constrained")
        figure.set_facecolor("white")
        draw(axes)
        figure.savefig(FOLDER / f"{draw.__name__}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
