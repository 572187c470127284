"""Pan, Wang, Song, Niu & Gu (2013). Fast feature ranking and its application to face recognition.

The paper compares the accuracies of 1-NN and a linear SVM on three sets of face images, and the run
times of the methods. It reports its results only as curves, so we check its claims about these
curves. Five-fold cross-validation is repeated ten times. On Extended YaleB and PIE, each repetition
uses 15 random images of each of ten people. Within each fold, the training rows are used to rank
the features and to tune the cost of the SVM by 3-fold cross-validation.

FRLL computes nearest neighbours within each class and among the other classes. Equations 1 and 2 of
the paper do not state this rule, but it follows from the sentence "for classes with too few samples
(<5), all data points are used as neighbors".
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect.evaluation._curves import nearest_neighbor_curve
from linkselect.reproduction._classifiers import cross_validated_curve, linear_svm_curve
from linkselect.reproduction._datasets import load_dataset
from linkselect.reproduction._paper import (
    Claim,
    Figure,
    Panel,
    Paper,
    Results,
    Series,
    Setup,
    Unit,
    grouped,
    units_of,
)
from linkselect.reproduction._splits import prototypes
from linkselect.selectors import FCBF, FRLL, MRMR, ReliefF, TraceRatio

NAME = "frll-2013"
DATASETS = ("Yale", "YaleB", "PIE")
OURS = ("FRLL-Q", "FRLL-D")
MRMRS = ("MRMR-Diff", "MRMR-Quot")
METHODS = (*OURS, "RELIEF-F", "SFisherScore", "FCBF", *MRMRS)
TIMED = ("FRLL-Q", "RELIEF-F", "FCBF")
COUNTS = (5, 10, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 600, 800, 1024)
VERY_FEW = 10
COSTS = (0.1, 1.0, 10.0)
N_FOLDS_FOR_COST = 3
IMAGES_PER_CLASS = 15
N_FOLDS = 5
N_NEIGHBORS = 5
TIMED_CLASSES = (2, 7, 15)
TIMED_SIZES = (3, 4, 5, 6, 7)
N_TIMINGS = 3

# Everything besides the unit that affects the results of `compute`. Change it with the code.
PROTOCOL = {
    "counts": COUNTS,
    "costs": COSTS,
    "folds": N_FOLDS,
    "folds for the cost": N_FOLDS_FOR_COST,
    "images of each class": IMAGES_PER_CLASS,
    "neighbors": N_NEIGHBORS,
    "neighbors sought": "per class",
    "features": "pixels / 255",
    "ranked": "on the training rows of each fold",
    "timings": N_TIMINGS,
}

Classifier = Literal["nearest", "svm"]


def curve_units(runs: int) -> list[Unit]:
    """Return a unit for each data set, method and repetition of the cross-validation."""
    setups = [Setup("curves", dataset, method) for dataset in DATASETS for method in METHODS]
    return units_of(setups, runs)


def time_units(runs: int) -> list[Unit]:
    """Return a unit for each number of classes, number of images per class, method and run."""
    setups = [
        Setup("time", "Yale", method, (("n_classes", n_classes), ("n_per_class", size)))
        for n_classes in TIMED_CLASSES
        for size in TIMED_SIZES
        for method in TIMED
    ]
    return units_of(setups, runs)


def compute(unit: Unit, data_dir: Path | None) -> dict[str, Any]:
    """Compute the accuracies or the run time of one method on one data set."""
    data = load_dataset(unit.dataset, data_dir)
    pixels = data.X / 255.0
    return (_time if unit.experiment == "time" else _accuracies)(unit, pixels, data.y)


def _accuracies(unit: Unit, X: NDArray[Any], y: NDArray[Any]) -> dict[str, Any]:
    random = unit.random()
    if np.bincount(y).min() > IMAGES_PER_CLASS:
        drawn = prototypes(y, IMAGES_PER_CLASS, random)
        X, y = X[drawn], y[drawn]
    by_subsets = unit.method == "SFisherScore"
    rank = _best_subsets if by_subsets else partial(_order, unit.method)
    both = _both_curves_of_subsets if by_subsets else _both_curves
    found = cross_validated_curve(X, y, rank, both, COUNTS, N_FOLDS, random)
    return {"n_features": list(COUNTS), "nearest": found[0].tolist(), "svm": found[1].tolist()}


def _best_subsets(X: NDArray[Any], y: NDArray[Any]) -> Any:
    """Return the best subset of each size, because the subset-level score gives no ranking."""
    return [TraceRatio(count).fit(X, y).order_ for count in COUNTS]


def _both_curves_of_subsets(*given: Any) -> NDArray[Any]:
    """Return the accuracies of 1-NN and the SVM, using a separate subset for each subset size."""
    *rows, subsets, n_features = given
    each = zip(subsets, n_features, strict=True)
    return np.hstack([_both_curves(*rows, order, [count]) for order, count in each])


def _both_curves(*given: Any) -> NDArray[Any]:
    """Return the accuracies of 1-NN and the SVM; the arguments are those of `linear_svm_curve`."""
    svm = partial(linear_svm_curve, costs=COSTS, n_folds=N_FOLDS_FOR_COST)
    return np.array([curve(*given) for curve in (nearest_neighbor_curve, svm)])


def _order(method: str, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    fitted = _selector(method).fit(X, y)
    # The paper ranks all features by the first step of FCBF, before any are removed.
    return np.argsort(-fitted.scores_, kind="stable") if method == "FCBF" else fitted.order_


def _selector(method: str) -> Any:
    frll: dict[str, Any] = {"neighbors": "per_class", "n_neighbors": N_NEIGHBORS}
    selectors = {
        "FRLL-Q": FRLL(**frll),
        "FRLL-D": FRLL(criterion="difference", **frll),
        "RELIEF-F": ReliefF(n_neighbors=N_NEIGHBORS),
        "FCBF": FCBF(),
        "MRMR-Diff": MRMR(COUNTS[-1]),
        "MRMR-Quot": MRMR(COUNTS[-1], scheme="quotient"),
    }
    return selectors[method]


def _time(unit: Unit, X: NDArray[Any], y: NDArray[Any]) -> dict[str, Any]:
    """Return the shortest time of several fits, because other processes only slow a fit down."""
    wanted = dict(unit.parameters)
    rows = y < wanted["n_classes"]
    drawn = prototypes(y[rows], wanted["n_per_class"], unit.random())
    train, labels = X[rows][drawn], y[rows][drawn]
    seconds = []
    for _ in range(N_TIMINGS):
        start = time.perf_counter()
        _selector(unit.method).fit(train, labels)
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds)}


def _curves(results: Results, classifier: Classifier) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the mean curve for each data set and method, in per cent."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for setup, runs in grouped(results).items():
        mean = 100 * np.mean([run[classifier] for run in runs], axis=0)
        found.setdefault(setup.dataset, {})[setup.method] = mean
    return found


def curve_panels(results: Results) -> list[Panel]:
    """Return one panel of accuracy curves for each classifier and data set."""
    both: tuple[tuple[Classifier, str], ...] = (("nearest", "1-NN"), ("svm", "linear SVM"))
    return [
        Panel(
            f"{dataset}, {shown}",
            "number of features",
            "accuracy, %",
            {name: Series(list(COUNTS), curve.tolist()) for name, curve in curves.items()},
            logx=True,
        )
        for classifier, shown in both
        for dataset, curves in _curves(results, classifier).items()
    ]


def time_panels(results: Results) -> list[Panel]:
    """Return one panel of run times for each number of classes."""
    seconds = _seconds(results)
    return [
        Panel(
            f"{n_classes} classes of Yale",
            "number of samples",
            "milliseconds",
            {
                method: Series(
                    [n_classes * size for size in TIMED_SIZES],
                    [1000 * seconds[n_classes, size, method] for size in TIMED_SIZES],
                )
                for method in TIMED
            },
        )
        for n_classes in TIMED_CLASSES
    ]


def _seconds(results: Results) -> dict[tuple[int, int, str], float]:
    found = {}
    for setup, runs in grouped(results).items():
        wanted = dict(setup.parameters)
        # Other processes only increase a time.
        shortest = min(run["seconds"] for run in runs)
        found[wanted["n_classes"], wanted["n_per_class"], setup.method] = shortest
    return found


def curve_claims(results: Results) -> list[Claim]:
    """Check the claims of section 3.1 about figure 1."""
    nearest, svm = _curves(results, "nearest"), _curves(results, "svm")
    claims = []
    for dataset, curves in nearest.items():
        leader = "FRLL-D" if dataset == "PIE" else "FRLL-Q"
        text = f"On {dataset}, 1-NN is most accurate with {leader}"
        claims.append(_best_claim(text, curves, (leader,)))
        claims.append(_overall_claim(dataset, curves))
        claims.append(_few_claim(dataset, curves))
        claims.append(_decline_claim(dataset, curves))
    if "Yale" in svm:
        text = "On Yale, the SVM is most accurate with FRLL"
        claims.append(_best_claim(text, svm["Yale"], OURS))
    claims += [
        _gain_claim(dataset, nearest[dataset], svm[dataset])
        for dataset in nearest
        if dataset != "Yale"
    ]
    return claims


def _best_claim(text: str, curves: Mapping[str, NDArray[Any]], expected: Sequence[str]) -> Claim:
    best = {name: float(curve.max()) for name, curve in curves.items()}
    ours = max(expected, key=lambda name: best[name])
    other = max((name for name in best if name not in expected), key=lambda name: best[name])
    found = [
        f"{name} {best[name]:.2f} % at {COUNTS[int(curves[name].argmax())]} features"
        for name in (ours, other)
    ]
    return Claim(text, best[ours] > best[other], ", ".join(found))


def _overall_claim(dataset: str, curves: Mapping[str, NDArray[Any]]) -> Claim:
    means = {name: float(curve.mean()) for name, curve in curves.items()}
    ahead = [name for name in means if name not in OURS and means[name] >= means[OURS[0]]]
    both_lead = min(means[name] for name in OURS) > max(
        mean for name, mean in means.items() if name not in OURS
    )
    best_other = max((n for n in means if n not in OURS), key=lambda name: means[name])
    shown = [f"{name} {means[name]:.2f} %" for name in (*OURS, best_other)]
    more = f"; ahead of FRLL-Q: {', '.join(ahead)}" if ahead else ""
    text = f"FRLL-Q and FRLL-D have the highest mean 1-NN accuracies on {dataset}"
    return Claim(text, both_lead, f"{', '.join(shown)}{more}")


def _few_claim(dataset: str, curves: Mapping[str, NDArray[Any]]) -> Claim:
    theirs = np.maximum(*(curves[name] for name in MRMRS))
    ours = np.maximum(*(curves[name] for name in OURS))
    few = COUNTS.index(VERY_FEW)
    behind = np.flatnonzero(theirs > ours)
    since = COUNTS[behind[-1] + 1 :] if len(behind) else COUNTS
    later = f"catches up at {since[0]}" if since else "never catches up"
    found = f"{VERY_FEW} features: MRMR {theirs[few]:.2f} %, FRLL {ours[few]:.2f} %; FRLL {later}"
    text = f"With very few features, MRMR is comparable to FRLL or better on {dataset}"
    return Claim(text, bool(theirs[few] >= ours[few] - 1.0), found)


def _decline_claim(dataset: str, curves: Mapping[str, NDArray[Any]]) -> Claim:
    gains = [f"{name} {curves[name].max() - curves[name][-1]:+.1f}" for name in OURS]
    held = all(curves[name].max() > curves[name][-1] for name in OURS)
    text = f"On {dataset}, 1-NN is less accurate with all features than with the best number"
    return Claim(text, held, f"best minus all features: {', '.join(gains)} points")


def _gain_claim(
    dataset: str, nearest: Mapping[str, NDArray[Any]], svm: Mapping[str, NDArray[Any]]
) -> Claim:
    def gain(curves: Mapping[str, NDArray[Any]]) -> float:
        best = {name: float(curve.max()) for name, curve in curves.items()}
        others = max(value for name, value in best.items() if name not in OURS)
        return max(best[name] for name in OURS) - others

    before, after = gain(nearest), gain(svm)
    text = f"On {dataset}, the lead of FRLL is smaller with the SVM than with 1-NN"
    found = f"{after:+.2f} points with the SVM, {before:+.2f} with 1-NN"
    return Claim(text, after < before, found)


def time_claims(results: Results) -> list[Claim]:
    """Check the claims of section 3.2 about figure 2."""
    seconds = _seconds(results)

    def total(n_classes: int, method: str) -> float:
        return 1000 * sum(seconds[n_classes, size, method] for size in TIMED_SIZES)

    def shown(n_classes: int) -> str:
        return ", ".join(f"{method} {total(n_classes, method):.1f} ms" for method in TIMED)

    slower = total(2, "FRLL-Q") > total(2, "RELIEF-F")
    claims = [Claim("With 2 classes, FRLL-Q is slower than RELIEF-F", slower, shown(2))]
    for n_classes in TIMED_CLASSES[1:]:
        fastest = min(TIMED, key=lambda method: total(n_classes, method)) == "FRLL-Q"
        text = f"With {n_classes} classes, FRLL-Q is the fastest method"
        claims.append(Claim(text, fastest, shown(n_classes)))
    return claims


PAPER = Paper(
    name=NAME,
    title="Fast feature ranking and its application to face recognition (2013)",
    compute=compute,
    tables={},
    figures={
        1: Figure(1, "Accuracy by number of features", curve_units, curve_panels, curve_claims),
        2: Figure(2, "Time to rank 1,024 features", time_units, time_panels, time_claims),
    },
    default_runs=10,
    protocol=PROTOCOL,
    timed=("time",),
)
