"""
Few labels: what the unlabelled samples are good for
====================================================

Three labels per class, and all other samples without one. A supervised score can use the six
labels only. Semi-supervised ones also look at how the others lie.
"""

# %%
# Breast cancer data, scaled to [0, 1]. Half of the samples are for the choice, half for the test.
# -1, None or NaN in y means unlabelled.

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
    """Forget all labels but a few of each class."""
    few = np.full(len(y), -1)
    for label in np.unique(y):
        few[random.permutation(np.flatnonzero(y == label))[:n_per_class]] = label
    return few


# %%
# The accuracy of the nearest neighbour against the number of features, over 5 draws of labels. The
# classifier knows all labels of its half: only the choice of features is compared.

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
# The mean over the sizes, from the best to the worst. Differences of a point or less are inside
# what five draws can tell.

for name, curve in sorted(curves.items(), key=lambda item: -item[1].mean.mean()):
    print(f"{name:24} {curve.mean.mean():.3f}")
