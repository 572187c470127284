"""
Few labels: do unlabelled samples help?
=======================================

Only three samples per class are labelled. Supervised scores use the six labels;
semi-supervised scores also use the structure of the unlabelled samples.
"""

# %%
# The breast cancer data, scaled to [0, 1]. Features are selected on one half of the samples and
# tested on the other. In y, -1, None or NaN means unlabelled.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

from linkselect import (
    LSDF,
    ConstrainedLaplacianScore,
    ConstraintScore,
    FisherScore,
    LaplacianScore,
    LinkSelector,
    SimilarityConstraintScore,
    plot,
)
from linkselect.evaluation import Curve

X, y = load_breast_cancer(return_X_y=True)
X = MinMaxScaler().fit_transform(X)


def draw_labels(y, n_per_class, random):
    """Keep a few labels per class, and mark all other samples as unlabelled."""
    few = np.full(len(y), -1)
    for label in np.unique(y):
        few[random.permutation(np.flatnonzero(y == label))[:n_per_class]] = label
    return few


# %%
# The accuracy of 1-NN against the number of features, over five draws of labels. The classifier is
# trained on all labels of its half, so that only the selected features differ.

sizes = np.array([1, 3, 5, 10, 20, 30])
methods = {
    "LinkSelector": LinkSelector(30),
    "constraint": ConstraintScore(),
    "LSDF": LSDF(),
    "constrained Laplacian": ConstrainedLaplacianScore(),
    "similarity": SimilarityConstraintScore(30, mode="semi-supervised"),
    "Fisher, six labels": FisherScore(),
    "Laplacian, no label": LaplacianScore(),
}
found = {name: [] for name in methods}
for draw in range(5):
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=draw)
    few = draw_labels(y_train, 3, np.random.default_rng(draw))
    for name, selector in methods.items():
        labelled = few >= 0 if name.startswith("Fisher") else slice(None)
        order = selector.fit(train[labelled], few[labelled]).order_
        found[name].append(
            [
                KNeighborsClassifier(1)
                .fit(train[:, order[:size]], y_train)
                .score(test[:, order[:size]], y_test)
                for size in sizes
            ]
        )

curves = {name: Curve(sizes, np.array(values)) for name, values in found.items()}
plot.curves(curves)
plt.show()

# %%
# The mean over the numbers of features, best first. Five draws cannot resolve differences of one
# percentage point or less.

for name, curve in sorted(curves.items(), key=lambda item: -item[1].mean.mean()):
    print(f"{name:24} {curve.mean.mean():.3f}")
