"""Ask about pairs that are drawn at random."""

from __future__ import annotations

import numpy as np

from linkselect.asking._known import Rows
from linkselect.asking._situation import Situation

TRIES = 200


def apart(now: Situation) -> Rows | None:
    """Draw two samples that no pair names; if fewer are left, two of which nothing is known.

    A pair validates only what was learnt from pairs of other samples.
    """
    fresh = np.flatnonzero(~now.known.named)
    if len(fresh) < 2:
        return at_random(now)
    rng = np.random.default_rng([now.seed, now.n_answers])
    a, b = rng.choice(fresh, 2, replace=False).tolist()
    return a, b


def at_random(now: Situation) -> Rows | None:
    """Draw two samples until nothing is known about them."""
    rng = np.random.default_rng([now.seed, now.n_answers])
    for a, b in rng.integers(now.samples.n_samples, size=(TRIES, 2)).tolist():
        if a != b and not now.known.decided(a, b):
            return a, b
    # Little is left: look for it, from a random sample on.
    every = np.arange(now.samples.n_samples)
    for row in np.roll(now.order, int(rng.integers(len(every)))).tolist():
        left = now.known.open_rows(row, every)
        if len(left):
            return row, int(rng.choice(left))
    return None
