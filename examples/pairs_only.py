"""
Pairs only, without classes
===========================

The classes and their number are unknown, but a person who compares two samples can often decide
whether they belong together. That is enough to rank features.
"""

# %%
# Wine samples with names, and twelve pairs that a person has compared.

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import MinMaxScaler

from linkselect import COPKMeans, LinkSelector, Pairs, plot

X, y = load_wine(return_X_y=True, as_frame=True)
X.index = [f"bottle {number}" for number in range(len(X))]
X = MinMaxScaler().set_output(transform="pandas").fit_transform(X)


def bottles(*numbers):
    """Return the names of two bottles."""
    return tuple(f"bottle {number}" for number in numbers)


pairs = Pairs(
    must=[bottles(1, 20), bottles(20, 40), bottles(70, 90), bottles(90, 110), bottles(140, 160)],
    cannot=[
        bottles(1, 70),
        bottles(20, 140),
        bottles(40, 110),
        bottles(70, 140),
        bottles(90, 150),
        bottles(110, 170),
        bottles(30, 100),
    ],
)
print(pairs.summary(X.index))

# %%
# The closure adds the pairs that follow from the others. Contradictions are reported:

closed = pairs.closure()
print(closed, closed.n_conflicts, "conflicts")
doubtful = pairs | Pairs(cannot=[bottles(1, 40)])
print(doubtful.conflicts()[0])

# %%
# The samples on their first two principal components. Solid lines are must-links, dashed lines are
# cannot-links.

plot.pairs(pairs, X)
plt.show()

# %%
# The ranking. The index of the frame identifies the samples, so no ids need to be passed.

selector = LinkSelector(n_features_to_select=4).fit(X, pairs=pairs)
print(selector.to_frame().head())
plot.scores(selector)
plt.show()

# %%
# A check against the true classes, which the person does not know: cluster the samples with and
# without the selection.

for name, table in {"all features": X, "selected features": selector.transform(X)}.items():
    clusters = COPKMeans(3, random_state=0).fit(table, pairs=pairs, sample_ids=X.index).labels_
    alike = sum(y[clusters == cluster].value_counts().max() for cluster in range(3))
    print(f"{name}: {alike / len(y):.1%} of the bottles are in a cluster dominated by their class")
