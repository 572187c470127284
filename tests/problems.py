"""Hypothesis strategies: small data with what real data have, ties, constants and twins."""

import numpy as np
from hypothesis import strategies as st

from linkselect import Pairs


@st.composite
def samples(draw, min_samples=8, max_samples=13, min_features=1):
    """Draw X with tied values, constant columns, repeated rows and shifted columns."""
    n = draw(st.integers(min_samples, max_samples))
    d = draw(st.integers(min_features, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    columns = []
    for _ in range(d):
        kind = draw(st.sampled_from(["normal", "grid", "constant", "binary", "shifted"]))
        columns.append(
            {
                "normal": lambda: rng.normal(size=n),
                "grid": lambda: rng.integers(-2, 3, n) / 2.0,
                "constant": lambda: np.full(n, rng.normal()),
                "binary": lambda: rng.integers(0, 2, n).astype(float),
                "shifted": lambda: rng.normal(size=n) + 100.0,
            }[kind]()
        )
    X = np.column_stack(columns)
    for _ in range(draw(st.integers(0, 3))):
        X[rng.integers(n)] = X[rng.integers(n)]
    return X


@st.composite
def labels(draw, n, unlabelled=True):
    """Draw labels with at least two classes, one of them with two samples."""
    low = -1 if unlabelled else 0
    y = np.array(draw(st.lists(st.integers(low, 2), min_size=n, max_size=n)))
    y[:3] = [0, 0, 1]
    return np.random.default_rng(draw(st.integers(0, 1000))).permutation(y)


@st.composite
def link_lists(draw, n):
    """Draw lists of must-links and cannot-links that do not contradict each other."""
    truth = draw(labels(n, unlabelled=False))
    pairs = Pairs.from_labels(truth)
    must = draw(st.lists(st.sampled_from(pairs.must), min_size=1, max_size=6))
    cannot = draw(st.lists(st.sampled_from(pairs.cannot), min_size=1, max_size=6))
    return must, cannot
