"""Whether best features that stayed over the last 10 answers stay over the next 10 as well.

    python benchmarks/asking_kept.py

The page counts how many of the best features stayed; this is why it makes no forecast of it.
Here a person who is always right answers 60 questions of `PairQueries`; after every 10 the best
features by `LinkSelector` are compared with those before.
"""

import os
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import MinMaxScaler

from linkselect import LinkSelector
from linkselect.asking import PairQueries
from linkselect.labelling._labelling import number_of_best

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
STORED = ("image_segmentation", "sonar", "ionosphere", "dermatology")
SEEDS = range(6)
EVERY, N_ANSWERS = 10, 60
MOSTLY = 0.8


def data_sets():
    yield "digits", *load_digits(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    for name in STORED:
        if (DATA / f"{name}.npz").exists():
            with np.load(DATA / f"{name}.npz", allow_pickle=False) as content:
                X = content["X"].astype(float)
                yield name, np.where(np.isnan(X), np.nanmedian(X, axis=0), X), content["y"]


def best_features(X, y, seed):
    """Return the best features after every 10 answers."""
    queries = PairQueries(X, random_state=seed)
    found = []
    for n_answers in range(1, N_ANSWERS + 1):
        pair = queries.next_pair()
        queries.answer(pair, "alike" if y[pair[0]] == y[pair[1]] else "different")
        pairs = queries.pairs
        if n_answers % EVERY == 0 and pairs.n_must:
            selector = LinkSelector(number_of_best(X.shape[1])).fit(X, pairs=pairs)
            found.append(set(np.flatnonzero(selector.support_).tolist()))
    return found


def kept(X, y, seed):
    """Return the share of best features that stayed, over 10 answers and over the next 10."""
    best = best_features(X, y, seed)
    shares = [len(a & b) / len(a) for a, b in pairwise(best)]
    return list(pairwise(shares))


def main():
    warnings.simplefilter("ignore")
    every = []
    for name, X, y in data_sets():
        X = MinMaxScaler().fit_transform(X)
        found = [pair for seed in SEEDS for pair in kept(X, y, seed)]
        every += found
        print(f"{name}: {len(found)} checks, {np.mean(found):.2f} stayed on average", flush=True)
    now, then = np.array(every).T
    for what, chosen in (("at least", now >= MOSTLY - 1e-9), ("less than", now < MOSTLY - 1e-9)):
        again = then[chosen]
        print(
            f"{what} {MOSTLY:.0%} stayed ({chosen.sum()} checks): over the next 10 answers "
            f"{again.mean():.2f} stayed on average, at least {MOSTLY:.0%} in "
            f"{np.mean(again >= MOSTLY - 1e-9):.0%} of the cases"
        )


if __name__ == "__main__":
    main()
