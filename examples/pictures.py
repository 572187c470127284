"""
Which pixels differ between classes?
====================================

Selected pixels form a mask over the picture. Three methods select pixels from three labelled
pictures per class, from 30 pairs, and without supervision.
"""

# %%
# If the folder ``LINKSELECT_DATA`` contains the ORL faces, the pictures are 400 faces of 40 people
# with 32 x 32 pixels; otherwise they are handwritten digits with 8 x 8 pixels.

import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from linkselect import ConstraintScore, LaplacianScore, Pairs, SimilarityConstraintScore, plot


def load_pictures():
    """Return pixels from 0 to 1, labels and the shape of a picture."""
    faces = Path(os.environ.get("LINKSELECT_DATA", ""), "orl_32x32.npz")
    if faces.exists():
        with np.load(faces, allow_pickle=False) as content:
            # The pictures are stored column by column.
            pictures = content["X"].reshape(-1, 32, 32).transpose(0, 2, 1)
            return pictures.reshape(-1, 1024) / 255, content["y"], (32, 32)
    digits = load_digits()
    X = digits.data[:600] / 16
    return X, digits.target[:600], (8, 8)


X, y, shape = load_pictures()
n_features = X.shape[1] // 5
train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# The supervision: three labels per class (-1 means unlabelled), 15 must-links and 15 cannot-links,
# or none.

random = np.random.default_rng(0)
few = np.full(len(y_train), -1)
for label in np.unique(y_train):
    few[random.permutation(np.flatnonzero(y_train == label))[:3]] = label
pairs = Pairs.from_labels(y_train, n_must=15, n_cannot=15, random_state=0)

selectors = {
    "similarity, 3 labels per class": SimilarityConstraintScore(n_features, mode="semi-supervised"),
    "constraint, 30 pairs": ConstraintScore(n_features),
    "Laplacian, no supervision": LaplacianScore(n_features),
}

# %%
# The masks over the mean picture. In brackets: the accuracy of 1-NN on the other half of the
# pictures with a fifth of the pixels. The selectors use little supervision; the classifier is
# always trained on all training labels, so that only the selected pixels differ.


def accuracy(columns):
    """Return the accuracy of 1-NN on the test half with some of the pixels."""
    return KNeighborsClassifier(1).fit(train[:, columns], y_train).score(test[:, columns], y_test)


figure, axes = plt.subplots(1, 4, figsize=(11, 3.4), layout="constrained")
axes[0].imshow(train.mean(axis=0).reshape(shape), cmap="gray")
axes[0].set(xticks=[], yticks=[])
axes[0].set_title(f"all {X.shape[1]} pixels\n({accuracy(slice(None)):.1%})", loc="left")
# Pixels at the border may be constant. They have no score and rank last; we silence the warning.
warnings.simplefilter("ignore", UserWarning)
for ax, (name, selector) in zip(axes[1:], selectors.items(), strict=True):
    supervision = {"y": few} if "labels" in name else {"pairs": pairs}
    selector.fit(train, **supervision)
    plot.mask(selector, shape, ax=ax, image=train.mean(axis=0))
    ax.set_title(f"{name}\n({accuracy(selector.get_support()):.1%})", loc="left")
plt.show()
