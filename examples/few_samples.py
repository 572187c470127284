"""
Genes: few samples, thousands of features
=========================================

With 62 samples and 2,000 genes a list of genes is easily found and easily wrong. So the choice is
made inside cross-validation, and asked how often it would come out the same.
"""

# %%
# The colon data, if the folder ``LINKSELECT_DATA`` has them. Elsewhere as many of the tumours that
# come with scikit-learn: 30 measurements, and all products of two and three of them.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler, scale

from linkselect import MRMR, FisherScore, Redundancy, StableSelector, plot


def load_genes():
    """Return a name, the samples and their classes."""
    colon = Path(os.environ.get("LINKSELECT_DATA", ""), "colon.npz")
    if colon.exists():
        with np.load(colon, allow_pickle=False) as content:
            return "colon", content["X"].astype(float), content["y"]
    X, y = load_breast_cancer(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(y))[:62]
    products = PolynomialFeatures(3, include_bias=False).fit_transform(scale(X))
    return "breast cancer, with products", products[some], y[some]


name, X, y = load_genes()
print(f"{name}, {X.shape[0]} samples: {X.shape[1]} features")

# %%
# Inside cross-validation
# -----------------------
# A gene chosen with the test samples in sight flatters the accuracy. In a pipeline every fold
# chooses its own genes. ``Redundancy`` avoids genes that say the same thing twice.

folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
selectors = {
    "Fisher": FisherScore(20),
    "Fisher, less redundant": Redundancy(FisherScore(20)),
    "mRMR": MRMR(20),
}
for name, selector in selectors.items():
    model = make_pipeline(StandardScaler(), selector, KNeighborsClassifier(3))
    print(f"{name}: {cross_val_score(model, X, y, cv=folds).mean():.3f}")
without = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
print(f"all features: {cross_val_score(without, X, y, cv=folds).mean():.3f}")

# %%
# The wrong way, for comparison: genes chosen once with all samples, then cross-validation.

seen = FisherScore(20).fit_transform(X, y)
flattered = cross_val_score(without, seen, y, cv=folds).mean()
print(f"chosen in sight of the test samples: {flattered:.3f}")

# %%
# How often would it come out the same?
# -------------------------------------
# 30 draws of half of the samples, 20 genes each. The picture shows in which share of the draws a
# gene was chosen. Kuncheva's index is 1 where all draws chose the same, and about 0 by chance.

stable = StableSelector(FisherScore(20), n_resamples=30, random_state=0).fit(X, y)
print(f"Kuncheva {stable.kuncheva_:.2f}; chosen in 60 % of the draws: {stable.n_features_} genes")
ax = plot.scores(stable, n=20)
ax.set_xlabel("share of draws")
plt.show()
