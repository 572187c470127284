"""The data of the tasks: generated, or real with generated data of the same shape as fallback."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[3] / "shared" / "data"))


@dataclass(frozen=True)
class Problem:
    """The input of every contender of a task, prepared outside the timed calls."""

    X: np.ndarray
    y: np.ndarray | None = None
    data: str = "generated"
    given: dict = field(default_factory=dict)


def labelled(n_samples, n_features, n_classes=2, share=0.1):
    """Gaussian noise in which some features shift with the class, by different amounts."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_samples)
    X = rng.normal(size=(n_samples, n_features))
    n_good = max(int(share * n_features), 2)
    X[:, :n_good] += y[:, None] * rng.uniform(0.1, 1.0, n_good)
    return Problem(np.ascontiguousarray(X[:, rng.permutation(n_features)]), y)


def labelled_units(n_samples, n_features):
    """The same with every feature in [0, 1]: skfeature's ReliefF does not divide by ranges."""
    made = labelled(n_samples, n_features)
    X = made.X - made.X.min(axis=0)
    return Problem(X / X.max(axis=0), made.y)


def equal_scatter(n_samples, n_features):
    """Features of equal within-class scatter, so that single ratios determine the best subset."""
    made = labelled(n_samples, n_features)
    centred = made.X.copy()
    for label in np.unique(made.y):
        centred[made.y == label] -= made.X[made.y == label].mean(axis=0)
    return Problem(made.X / np.sqrt((centred**2).mean(axis=0)), made.y)


def ten_classes(n_samples, n_features):
    return labelled(n_samples, n_features, 10)


def scaled(n_samples, n_features):
    """Features of different spread, so that no two variances are alike."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features)) * rng.uniform(0.5, 2.0, n_features)
    return Problem(X + rng.normal(size=n_features))


def neighbor_graph(n_samples, n_features):
    """Noise, and the width of the weights: both sides get the same."""
    made = labelled(n_samples, n_features)
    return Problem(made.X, given={"sigma": float(np.sqrt(n_features))})


def states(n_samples, n_features, n_classes=3):
    """Features in three states, as mRMR and FCBF want them."""
    from linkselect._search.discretize import states_of

    made = labelled(n_samples, n_features, n_classes)
    return Problem(np.ascontiguousarray(states_of(made.X, "deviation"), dtype=np.int64), made.y)


def states_and_values(n_samples, n_features):
    """States for those who count, values for those who correlate."""
    made = states(n_samples, n_features)
    return Problem(made.X, made.y, given={"values": labelled(n_samples, n_features, 3).X})


def states_by_uncertainty(n_samples, n_features):
    """Columns in the order in which FCBF visits them."""
    from linkselect import FCBF

    made = states(n_samples, n_features)
    uncertainty = FCBF(discretize=None).fit(made.X, made.y).scores_
    order = np.argsort(-uncertainty, kind="stable")
    return Problem(np.ascontiguousarray(made.X[:, order]), made.y)


def classification(n_samples, n_features):
    """A few informative features, and five folds that all contenders share."""
    X, y = make_classification(
        n_samples, n_features, n_informative=8, n_classes=3, shuffle=True, random_state=0
    )
    return Problem(X, y, given={"splits": list(StratifiedKFold(5).split(X, y))})


def pixels(file, n_samples, n_features, n_levels, name):
    """Random rows and pixels of images, the same for all; generated without the file."""
    rng = np.random.default_rng(0)
    path = DATA / file
    if path.exists():
        with np.load(path) as content:
            X = content["X"]
        rows = np.sort(rng.permutation(len(X))[:n_samples])
        columns = np.sort(rng.permutation(X.shape[1])[:n_features])
        data = name
    else:
        hidden = rng.normal(size=(n_samples, 20)) @ rng.normal(size=(20, n_features))
        X = np.clip(hidden * 40 + 60, 0, n_levels - 1)
        rows, columns = np.arange(n_samples), np.arange(n_features)
        data = f"generated, in the shape of {name}"
    chosen = np.ascontiguousarray(X[np.ix_(rows, columns)], dtype=np.float64)
    return Problem(chosen / (n_levels - 1), data=data)


def mnist(n_samples, n_features):
    return pixels("mnist.npz", n_samples, n_features, 256, "MNIST")


def faces(n_samples, n_features):
    return pixels("yaleb_32x32.npz", n_samples, n_features, 256, "Extended Yale B, 32 x 32")
