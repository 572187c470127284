"""How often single features are called relevant, with and without a signal; see calibration.py."""

from __future__ import annotations

import numpy as np

import linkselect as ls
from linkselect.evaluation import feature_p_values

N_SAMPLES, N_RELEVANT, SHIFT = 200, 15, 1.2
LEVEL, RATE = 0.05, 0.1
METHODS = {
    "link_selector": ls.LinkSelector(),
    "constraint": ls.ConstraintScore(),
    "fisher": ls.FisherScore(),
}
# Methods that need a label for every sample get only the labelled samples.
LABELLED_ONLY = {"fisher"}
DESIGNS = {
    "noise, 40 pairs": ("link_selector", "constraint"),
    "noise, half labelled": ("link_selector", "fisher"),
    "15 of 3,000 shifted, half labelled": ("link_selector", "fisher"),
}


def table(design, seed):
    """Draw samples and their supervision; with a signal, the first features are shifted."""
    rng = np.random.default_rng([seed, 32])
    has_signal = not design.startswith("noise")
    X = rng.normal(size=(N_SAMPLES, 3000 if has_signal else 2000))
    y = rng.permutation(np.arange(N_SAMPLES) % 2)
    if has_signal:
        X[:, :N_RELEVANT] += SHIFT * y[:, None]
    if design.endswith("pairs"):
        pairs = ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=seed)
        return X, {"pairs": pairs}
    known = np.where(rng.permutation(N_SAMPLES) < N_SAMPLES // 2, y, -1)
    return X, {"y": known}


def tested(design, method, seed):
    """Count the features called relevant, and how many of them are."""
    X, known = table(design, seed)
    if method in LABELLED_ONLY:
        rows = known["y"] >= 0
        X, known = X[rows], {"y": known["y"][rows]}
    found = feature_p_values(METHODS[method], X, random_state=seed, n_jobs=1, **known)
    n_relevant = 0 if design.startswith("noise") else N_RELEVANT
    called = found.q_values <= RATE
    return {
        "any": bool((found.adjusted[n_relevant:] < LEVEL).any()),
        "adjusted_right": int((found.adjusted[:n_relevant] < LEVEL).sum()),
        "right": int(called[:n_relevant].sum()),
        "wrong": int(called[n_relevant:].sum()),
    }
