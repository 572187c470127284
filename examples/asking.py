"""
Ask a person about digits
=========================

A person sees two samples and answers whether they are alike; each answer updates the ranking of the
features. `linkselect ask` shows the questions on a page. Here the labels simulate the person, so
that the accuracy can be measured.
"""

# %%
# The classes are unknown. `PairQueries` chooses the next pair of digits: it draws a sample and
# compares it with the most similar groups of alike samples, using the features that `LinkSelector`
# selects from the answers so far. Every fifth question is drawn at random, because only answers to
# random questions can validate a ranking.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from linkselect import ConstraintScore, plot
from linkselect.asking import PairQueries

digits = load_digits()
X, y = digits.data, digits.target
# Some pixels at the border are empty in all images of the questions.
warnings.filterwarnings("ignore", ".*rank last")


def answer(queries, n_answers):
    """Answer questions as a person who recognises every digit."""
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
# The selected pixels after 40 answers:

selector = ConstraintScore(n_features_to_select=20).fit(X, pairs=queries.pairs)
plot.mask(selector, (8, 8))
plt.show()

# %%
# How much does this order of questions improve on random pairs? We compare the accuracy of 1-NN on
# the 20 best pixels, averaged over ten simulated people. This is one data set with few runs;
# docs/asking_simulation.md reports more data sets, wrong and unsure answers, and losses.

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
# To ask a real person, run `linkselect ask` in a terminal, or in a notebook::
#
#     from linkselect import labelling
#     queries = labelling.open_page(X, image_shape=(8, 8))
