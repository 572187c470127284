"""
Few samples, thousands of features
==================================

With 62 samples and thousands of features, a short list of features is easy to find and easily
wrong. Select inside cross-validation, and measure how often the same features are selected again.
"""

# %%
# If the folder ``LINKSELECT_DATA`` contains the colon data, the features are 2,000 genes of 62
# tissue samples. Otherwise they are 30 measurements of 62 tumours from scikit-learn, with all
# products of two and three of them.

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


def load_samples():
    """Return a name, the samples and their classes."""
    colon = Path(os.environ.get("LINKSELECT_DATA", ""), "colon.npz")
    if colon.exists():
        with np.load(colon, allow_pickle=False) as content:
            return "colon", content["X"].astype(float), content["y"]
    X, y = load_breast_cancer(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(y))[:62]
    products = PolynomialFeatures(3, include_bias=False).fit_transform(scale(X))
    return "breast cancer, with products", products[some], y[some]


name, X, y = load_samples()
print(f"{name}, {X.shape[0]} samples: {X.shape[1]} features")

# %%
# Inside cross-validation
# -----------------------
# Features that were selected with the test samples included make the accuracy look too high. In a
# pipeline, every fold selects its own features. ``Redundancy`` avoids highly correlated features.

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
# For comparison, the wrong way: select once on all samples, then cross-validate.

seen = FisherScore(20).fit_transform(X, y)
flattered = cross_val_score(without, seen, y, cv=folds).mean()
print(f"selected with the test samples included: {flattered:.3f}")

# %%
# Selection frequency
# -------------------
# We select 20 features on each of 30 random halves of the samples. The figure shows how often each
# feature is selected. Kuncheva's index is 1 if all halves agree, and about 0 by chance.

stable = StableSelector(FisherScore(20), n_resamples=30, random_state=0).fit(X, y)
print(f"Kuncheva {stable.kuncheva_:.2f}; {stable.n_features_} features selected in 60 % of halves")
ax = plot.scores(stable, n=20)
ax.set_xlabel("selection frequency")
plt.show()
