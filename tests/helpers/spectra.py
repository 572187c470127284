"""Generated spectra: two narrow bands separate two classes, and each sample has a baseline."""

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from linkselect import Pairs

BANDS = (slice(70, 80), slice(200, 210))
N_SAMPLES, N_CHANNELS = 60, 300


def draw_spectra(seed):
    """Return spectra scaled to [0, 1], 20 pairs of each kind, and the channels of the bands.

    The baseline is a random parabola for each sample, as large as the difference between the
    classes in the bands. Neighbour graphs therefore follow the baseline, and so does every method
    that prefers features that are smooth on such a graph.
    """
    rng = np.random.default_rng(seed)
    classes = np.arange(N_SAMPLES) % 2
    place = np.linspace(0, 1, N_CHANNELS)
    offset, slope, bend = rng.normal(size=(3, N_SAMPLES, 1))
    X = offset + slope * place + bend * place**2
    X += rng.normal(scale=0.1, size=X.shape)
    inside = np.zeros(N_CHANNELS, dtype=bool)
    for band in BANDS:
        inside[band] = True
    X[:, inside] += classes[:, None]
    pairs = Pairs.from_labels(classes, n_must=20, n_cannot=20, random_state=seed)
    return MinMaxScaler().fit_transform(X), pairs, inside


def n_inside(selector, X, pairs, inside, n_best=20):
    """Count the best features that are in the bands."""
    return int(inside[selector.fit(X, pairs=pairs).order_[:n_best]].sum())
