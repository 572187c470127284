"""
Asking a person about digits
============================

Two samples are shown, a person says whether they are alike, and the features are ranked again.
`linkselect ask` does this on a page; here the person is simulated by the labels, so that the
answers can be counted.
"""

# %%
# Nobody knows the classes. `PairQueries` chooses which two digits to show next: it draws a sample
# and asks it against the groups of alike samples that it resembles most, in the features that
# `LinkSelector` chooses from the answers so far. Every fifth question is drawn at random: only
# those answers can validate a ranking.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from linkselect import ConstraintScore, plot
from linkselect.asking import PairQueries

digits = load_digits()
X, y = digits.data, digits.target
# Some pixels at the rim are empty in all images that are asked about.
warnings.filterwarnings("ignore", ".*rank last")


def answer(queries, n_answers):
    """Answer as a person would who knows all digits."""
    for _ in range(n_answers):
        a, b = queries.next_pair()
        queries.answer((a, b), "alike" if y[a] == y[b] else "different")
    return queries


queries = answer(PairQueries(X, random_state=0), 40)
print(queries.counts, len(queries.pairs.components()), "groups")

# %%
# The first questions:

figure, axes = plt.subplots(2, 6, figsize=(9, 3.2))
for column, asked in zip(axes.T, queries.history, strict=False):
    for ax, row in zip(column, asked.pair, strict=True):
        ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
        ax.set_axis_off()
    column[0].set_title(asked.answer, fontsize=10)
plt.show()

# %%
# Which pixels count, after 40 answers:

selector = ConstraintScore(n_features_to_select=20).fit(X, pairs=queries.pairs)
plot.mask(selector, (8, 8))
plt.show()

# %%
# What asking in this order is worth, against pairs drawn at random: the accuracy of the nearest
# neighbour in the 20 best pixels, over ten simulated persons. It is an average over few runs of one
# data set. docs/asking_simulation.md has more sets, wrong and unsure answers, and losses.

train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1


def accuracy(pairs):
    """Measure the 20 best pixels by the Constraint Score."""
    best = ConstraintScore().fit(X, pairs=pairs).order_[:20]
    model = KNeighborsClassifier(1).fit(X[train][:, best], y[train])
    return model.score(X[test][:, best], y[test])


for strategy in ("grow", "random"):
    found = [
        accuracy(answer(PairQueries(X, strategy=strategy, random_state=seed), 40).pairs)
        for seed in range(10)
    ]
    print(f"{strategy}: {np.mean(found):.3f} (standard deviation {np.std(found):.3f})")

# %%
# The same with a person instead of labels: `linkselect ask` in a terminal, or in a notebook::
#
#     from linkselect import labelling
#     queries = labelling.open_page(X, image_shape=(8, 8))
