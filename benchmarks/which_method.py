"""Compare all methods by the supervision they use: the tables of docs/which_method.md.

    python benchmarks/which_method.py            # all data that come with scikit-learn, 10 splits
    python benchmarks/which_method.py --splits 5 --only wine
    python benchmarks/which_method.py --write    # put the tables on the page

Half of the samples rank the features, scaled to [0, 1]; 1-NN with the best few of them, trained on
the labels of the same half, is tested on the other half. Only the classifier sees all labels of
that half; the selector uses the supervision named in the heading of the table.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls
from measured_pages import show

PAGE = Path(__file__).parents[1] / "docs" / "which_method.md"


@dataclass(frozen=True)
class Case:
    """Samples, labels and the number of features to select."""

    X: np.ndarray
    y: np.ndarray
    n_features: int


def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:800])
    return Case(X[rows][:, X[rows].std(axis=0) > 0], y[rows], 10)


def wide():
    """Make 1,000 features of which 10 are informative, and 200 samples, as in gene data."""
    X, y = make_classification(
        n_samples=200,
        n_features=1000,
        n_informative=10,
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=2.0,
        random_state=0,
    )
    return Case(X, y, 20)


def redundant():
    """Return breast cancer with five slightly noisy copies of every feature."""
    X, y = load_breast_cancer(return_X_y=True)
    X = np.repeat(X / X.std(axis=0), 5, axis=1)
    return Case(X + 0.05 * np.random.default_rng(0).normal(size=X.shape), y, 5)


def interaction():
    """Make 30 features: the class is the sign of the product of two, each useless alone."""
    X = np.random.default_rng(0).normal(size=(400, 30))
    return Case(X, (X[:, 0] * X[:, 1] > 0).astype(int), 2)


CASES: dict[str, Callable[[], Case]] = {
    "breast cancer": lambda: Case(*load_breast_cancer(return_X_y=True), 3),
    "wine": lambda: Case(*load_wine(return_X_y=True), 3),
    "digits": digits,
    "wide": wide,
    "redundant": redundant,
    "interaction": interaction,
}

PAIR_METHODS = [
    ls.LinkSelector(),
    ls.ConstraintScore(),
    ls.ConstraintScore(criterion="difference"),
    ls.LSDF(),
    ls.LaplacianConstraintScore(),
    ls.ConstrainedLaplacianScore(),
    ls.ConstrainedLaplacianScore(variant="2014"),
    ls.CompensatedLaplacianScore(),
    ls.SCGS(),
    ls.EnsembleCLS(random_state=0),
    ls.SimilarityConstraintScore(),
    ls.SimilarityConstraintScore(mode="semi-supervised"),
]
PAIRS, FEW = "From 10 must-links and 10 cannot-links", "From 3 labels per class"
ALL, NONE = "From all labels", "Without supervision"
METHODS = {
    PAIRS: PAIR_METHODS,
    FEW: [*PAIR_METHODS, ls.NearestNeighborSFS()],
    ALL: [
        ls.LinkSelector(),
        ls.FisherScore(),
        ls.FRLL(),
        ls.FisherMarkov(),
        ls.ReliefF(),
        ls.MRMR(),
        ls.FCBF(),
        ls.TraceRatio(),
        ls.NearestNeighborSFS(),
        ls.Redundancy(ls.FisherScore()),
        ls.ConstraintScore(),
        ls.LSDF(),
        SelectKBest(f_classif),
        SelectKBest(mutual_info_classif),
    ],
    NONE: [  # last, since the Sparsity Score takes longer than all others together
        ls.LinkSelector(),
        ls.VarianceScore(),
        ls.LaplacianScore(),
        ls.SpectralScore(style=3),
        ls.SparsityScore(),
    ],
}


def supervision(kind, y, draw):
    """Return the arguments that `fit` gets in addition to X."""
    random = np.random.default_rng(draw)
    if kind == NONE:
        return {}
    if kind == PAIRS:
        return {"pairs": ls.Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=draw)}
    if kind == ALL:
        return {"y": y}
    known = [random.permutation(np.flatnonzero(y == label))[:3] for label in np.unique(y)]
    few = np.full(len(y), -1)
    few[np.concatenate(known)] = y[np.concatenate(known)]
    return {"y": few}


def best_features(selector, n_features, X, known):
    parameter = "k" if isinstance(selector, SelectKBest) else "n_features_to_select"
    fitted = clone(selector).set_params(**{parameter: n_features}).fit(X, **known)
    return np.flatnonzero(fitted.get_support())


def halves(case, draw):
    train, test, y_train, y_test = train_test_split(
        case.X, case.y, test_size=0.5, stratify=case.y, random_state=draw
    )
    scaler = MinMaxScaler().fit(train)
    return scaler.transform(train), scaler.transform(test), y_train, y_test


def accuracy(features, train, test, y_train, y_test):
    model = KNeighborsClassifier(1).fit(train[:, features], y_train)
    return 100 * model.score(test[:, features], y_test)


def measure(case, selector, kind, n_splits):
    """Return the mean accuracy and the mean time of a fit in seconds."""
    accuracies, seconds = [], []
    for draw in range(n_splits):
        data = halves(case, draw)
        known = supervision(kind, data[2], draw)
        start = time.perf_counter()
        chosen = best_features(selector, case.n_features, data[0], known)
        seconds.append(time.perf_counter() - start)
        accuracies.append(accuracy(chosen, *data))
    return np.mean(accuracies), np.mean(seconds)


def reference(case, n_splits):
    """Return the mean accuracy with all features, and with random features."""
    everything = np.arange(case.X.shape[1])
    found = []
    for draw in range(n_splits):
        data = halves(case, draw)
        chance = np.random.default_rng(draw).permutation(everything)[: case.n_features]
        found.append((accuracy(everything, *data), accuracy(chance, *data)))
    return np.mean(found, axis=0)


def name_of(selector):
    """Return the name of a selector on the page, without empty parentheses and keywords."""
    if isinstance(selector, SelectKBest):
        return f"SelectKBest({selector.score_func.__name__})"
    return repr(selector).removesuffix("()").replace("estimator=", "").replace("'", '"')


def row(name, accuracies):
    return f"| {name} | {' | '.join(f'{one:.1f}' for one in accuracies)} |"


def table(kind, cases, references, n_splits):
    """Return the lines of one table; progress and times of fits go to standard error."""
    lines = [
        f"### {kind}",
        "",
        f"| method | {' | '.join(cases)} |",
        "|---" * (len(cases) + 1) + "|",
    ]
    for selector in METHODS[kind]:
        found = [measure(case, selector, kind, n_splits) for case in cases.values()]
        lines.append(row(f"`{name_of(selector)}`", [accuracy for accuracy, _ in found]))
        seconds = sum(seconds for _, seconds in found)
        print(f"{kind}: {name_of(selector)}, {seconds:.2f} s", file=sys.stderr)
    everything, chance = zip(*references, strict=True)
    return [*lines, row("*all features*", everything), row("*random features*", chance)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write and options.only != list(CASES):
        parser.error("--write needs all data sets; leave out --only.")
    warnings.simplefilter("ignore")  # such as constant features
    cases = {name: CASES[name]() for name in options.only}
    references = [reference(case, options.splits) for case in cases.values()]
    for (name, case), (everything, chance) in zip(cases.items(), references, strict=True):
        n, d = case.X.shape
        print(
            f"{name}: {n} x {d}, {case.n_features} chosen; all features {everything:.1f}, "
            f"random features {chance:.1f}"
        )
    tables = {kind: table(kind, cases, references, options.splits) for kind in METHODS}
    print()
    show(tables, PAGE, options.write)


if __name__ == "__main__":
    main()
