"""Zhang, Chen & Zhou (2008). Constraint Score: a new filter method for feature selection.

Pattern Recognition 41, 1440-1451. In the paper's protocol, features are not scaled. The first half
of each class is the training set of a 1-NN classifier, which is tested on the other samples. Each
number in a table is the mean accuracy over all numbers of features, followed by the standard
deviation over these numbers. The accuracies of Constraint Scores are averaged over 100 random draws
of pairs, half of which are must-links. Where the paper is ambiguous, we made these choices:

- The order of the samples of Sonar differs from that in the paper. Our Sonar file is sorted by the
  angle of the sonar, so the two halves of a class contain different angles. With these halves, the
  accuracy of Variance is 52.8 % (published: 79.3 %). We therefore train on every second sample.
- On face images, the numbers of features are 20, 40, ..., 1,000. Over all 4,096 features of ORL,
  the mean accuracy of Variance is 80.1 +- 9.9 % (published: 67.9 +- 9.9 %). With at most 1,000
  features, the mean is 67.2 +- 10.7 %, and the results of the other methods agree as well.
- The accuracy in figures 7 and 8 is the mean over the numbers of features, as in the tables.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect.evaluation import Curve, nearest_neighbor_curve
from linkselect.reproduction._datasets import load_dataset
from linkselect.reproduction._paper import (
    Cell,
    Figure,
    Panel,
    Paper,
    PaperTable,
    Parameters,
    Results,
    Series,
    Setup,
    Unit,
    curve_of,
    grouped,
    mean_line,
)
from linkselect.reproduction._published import published
from linkselect.reproduction._scaling import scale_by_maximum
from linkselect.reproduction._splits import every_second, first_half, random_pairs
from linkselect.selectors import ConstraintScore, FisherScore, LaplacianScore, VarianceScore

NAME = "constraint-score-2008"
EXPERIMENT = "2008 curve"
SMALL_SETS = ("Ionosphere", "Sonar", "Soybean", "Wine")
FACES = ("ORL", "YaleB")
PLAIN_METHODS = ("Variance", "Laplacian Score", "Fisher Score")
PAIR_METHODS = ("Constraint Score-1", "Constraint Score-2")
N_PAIRS = (4, 10, 40)
LEVELS = (4, 6, 8, 10, 14, 20, 30, 40)  # of labels or pairs, in figure 3
LINKS = tuple(range(5, 51, 5))  # figure 7
LAMBDA = 0.1  # unless it is varied
LAMBDAS = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)  # figure 8
MANY_FEATURES = 1000
COUNTS_OF_MANY = (20, 1001, 20)  # start, stop and step
ROWS_IN_ANOTHER_ORDER = ("Sonar",)

# Everything besides the unit that affects the results of `compute`. Change it with the code.
PROTOCOL = {
    "lambda": LAMBDA,
    "many features": MANY_FEATURES,
    "counts of many features": COUNTS_OF_MANY,
    "training rows": {"first half": "all others", "every second": ROWS_IN_ANOTHER_ORDER},
    "features": "raw",
    "classifier": "1-NN on the training rows",
    "Laplacian Score": "the class's defaults",
}


# -- one unit ---------------------------------------------------------------------------------


def compute(unit: Unit, data_dir: Path | None = None) -> dict[str, Any]:
    """Rank features on the training rows, and compute 1-NN accuracies by number of features."""
    parameters = dict(unit.parameters)
    dataset = load_dataset("ORL 64x64" if unit.dataset == "ORL" else unit.dataset, data_dir)
    X = scale_by_maximum(dataset.X) if "scaling" in parameters else dataset.X
    split = every_second if dataset.name in ROWS_IN_ANOTHER_ORDER else first_half
    train, test = split(dataset.y)
    order = _rank(unit, X[train], dataset.y[train])
    counts = _counts(X.shape[1])
    accuracies = nearest_neighbor_curve(
        X[train], dataset.y[train], X[test], dataset.y[test], order, counts
    )
    return {"n_features": counts.tolist(), "accuracy": np.round(100 * accuracies, 6).tolist()}


def _counts(n_features: int) -> IntArray:
    """Return the numbers of features to average over: all, or multiples of 20 on face images."""
    if n_features < MANY_FEATURES:
        return np.arange(1, n_features + 1)
    return np.arange(*COUNTS_OF_MANY)


def _rank(unit: Unit, X: FloatArray, y: NDArray[np.int64]) -> IntArray:
    """Rank the features on training rows by the method of the unit, and return them best first."""
    parameters = dict(unit.parameters)
    with warnings.catch_warnings():
        # Soybean and Ionosphere have constant features, which are ranked last.
        warnings.simplefilter("ignore", UserWarning)
        if unit.method in PAIR_METHODS:
            pairs = random_pairs(y, parameters["must"], parameters["cannot"], unit.random())
            selector = ConstraintScore(weight=parameters.get("lambda", LAMBDA))
            if unit.method == "Constraint Score-2":
                selector.set_params(criterion="difference")
            return selector.fit(X, pairs=pairs).order_
        if "labels" in parameters:
            rows = _labelled(y, parameters["labels"], unit.random())
            return FisherScore().fit(X[rows], y[rows]).order_
        scores = (VarianceScore(), LaplacianScore(), FisherScore())
        return dict(zip(PLAIN_METHODS, scores, strict=True))[unit.method].fit(X, y).order_


def _labelled(y: NDArray[np.int64], n_labels: int, random: np.random.Generator) -> IntArray:
    """Draw labelled rows until they include at least two classes."""
    while True:
        rows = random.choice(len(y), n_labels, replace=False)
        if len(np.unique(y[rows])) > 1:
            return rows


# -- units of tables and figures --------------------------------------------------------------


def _pairs(n_must: int, n_cannot: int, **other: Any) -> Parameters:
    return (("must", n_must), ("cannot", n_cannot), *other.items())


def _balanced(n_pairs: int, **other: Any) -> Parameters:
    return _pairs(n_pairs // 2, n_pairs // 2, **other)


def _setup(dataset: str, method: str, parameters: Parameters = ()) -> Setup:
    return Setup(EXPERIMENT, dataset, method, parameters)


def _units(setups: Iterable[Setup], runs: int) -> list[Unit]:
    """Return a unit for each run; deterministic methods have one run."""
    return [
        setup.unit(run)
        for setup in dict.fromkeys(setups)
        for run in range(runs if {"must", "labels"} & dict(setup.parameters).keys() else 1)
    ]


def _all_methods(datasets: Sequence[str], **other: Any) -> list[Setup]:
    """Return setups of the five methods on each data set, with 10 pairs."""
    plain = tuple(other.items())
    return [
        setup
        for dataset in datasets
        for setup in (
            *(_setup(dataset, method, plain) for method in PLAIN_METHODS),
            *(_setup(dataset, method, _balanced(10, **other)) for method in PAIR_METHODS),
        )
    ]


def _all_pairs(datasets: Sequence[str]) -> list[Setup]:
    """Return setups of both Constraint Scores on each data set, with 4, 10 and 40 pairs."""
    return [
        _setup(dataset, method, _balanced(n_pairs))
        for dataset in datasets
        for method in PAIR_METHODS
        for n_pairs in N_PAIRS
    ]


# -- from results to cells and panels ---------------------------------------------------------


def _curves(results: Results) -> dict[Setup, Curve]:
    return {setup: curve_of(runs) for setup, runs in grouped(results).items()}


def _mean(curve: Curve) -> float:
    return float(curve.mean.mean())


def _cells(number: int, results: Results) -> list[Cell]:
    curves = _curves(results)
    cells = []
    for row in published(NAME, number):
        parameters = _balanced(int(row.setting.split()[0])) if row.setting else ()
        curve = curves.get(_setup(row.dataset, row.method, parameters))
        if curve is None:  # not all data sets were run
            continue
        shown = f"{curve.n_features[0]}-{curve.n_features[-1]}"  # the range of the mean
        cells.append(Cell(row.dataset, row.method, row.setting, shown, row.value, _mean(curve)))
    return cells


def _accuracy_panels(setups: Sequence[Setup], results: Results) -> list[Panel]:
    """Return one panel for each data set, with accuracy by number of features."""
    curves = _curves(results)
    panels = []
    for dataset in dict.fromkeys(setup.dataset for setup in setups):
        series = {}
        for setup in setups:
            if setup.dataset == dataset:
                series[_label(setup, setups)] = mean_line(curves[setup])
        panels.append(Panel(dataset, "number of selected features", "accuracy, %", series))
    return panels


def _label(setup: Setup, setups: Sequence[Setup]) -> str:
    """Return the label of a line: the method, and the number of pairs if it varies."""
    levels = {other.parameters for other in setups if other.method == setup.method}
    if len(levels) == 1:
        return setup.method
    links = dict(setup.parameters)
    return f"{setup.method}, {links['must'] + links['cannot']} constraints"


# -- figures 3, 7 and 8: accuracy by other parameters than the number of features ------------------

# The points of a line: the value of the parameter, and the setup with this value.
Points = Sequence[tuple[float, Setup]]


class _Lines(NamedTuple):
    """Description of a panel without its results."""

    title: str
    xlabel: str
    points: Mapping[str, Points]
    logx: bool = False


def _figure(
    number: int, title: str, wanted: Sequence[_Lines], value: Callable[[Curve], float]
) -> Figure:
    """Return a figure that shows a summary value of each curve against the varied parameter."""

    def panels(results: Results) -> list[Panel]:
        curves = _curves(results)
        return [
            Panel(
                one.title,
                one.xlabel,
                "accuracy, %",
                {
                    name: Series([x for x, _ in points], [value(curves[s]) for _, s in points])
                    for name, points in one.points.items()
                },
                logx=one.logx,
            )
            for one in wanted
        ]

    setups = [setup for one in wanted for points in one.points.values() for _, setup in points]
    return Figure(number, title, partial(_units, setups), panels)


def _at_half(curve: Curve) -> float:
    return float(curve.mean[len(curve.n_features) // 2 - 1])


def _by_supervision(dataset: str) -> _Lines:
    """Describe a panel with varying numbers of labels or pairs, at most 24 for Soybean."""
    levels = [level for level in LEVELS if dataset != "Soybean" or level <= 24]
    labels = [(level, _setup(dataset, "Fisher Score", (("labels", level),))) for level in levels]
    pairs = {
        method: [(level, _setup(dataset, method, _balanced(level))) for level in levels]
        for method in PAIR_METHODS
    }
    return _Lines(dataset, "number of labels or pairs", {"Fisher Score": labels, **pairs})


def _by_links(varied: str, other: str) -> _Lines:
    """Describe a panel with varying numbers of links of one kind and 5 links of the other."""

    def setup(method: str, n_links: int, n_others: int) -> Setup:
        numbers = {varied: n_links, other: n_others}
        return _setup("Ionosphere", method, _pairs(numbers["must"], numbers["cannot"]))

    points: dict[str, Points] = {
        method: [(n, setup(method, n, 5)) for n in LINKS] for method in PAIR_METHODS
    }
    points |= {f"{one}, 50 of both": [(50, setup(one, 50, 50))] for one in PAIR_METHODS}
    return _Lines(f"Ionosphere, 5 {other}-links", f"number of {varied}-links", points)


def _by_lambda(dataset: str) -> _Lines:
    def setup(n_pairs: int, value: float) -> Setup:
        # Share the units of the tables, which have no parameter lambda.
        other = {} if value == LAMBDA else {"lambda": value}
        return _setup(dataset, "Constraint Score-2", _balanced(n_pairs, **other))

    points = {f"{n} constraints": [(value, setup(n, value)) for value in LAMBDAS] for n in N_PAIRS}
    return _Lines(dataset, "lambda", points, logx=True)


# -- the paper --------------------------------------------------------------------------------

_TABLES = {
    2: ("Five methods on UCI data, 10 constraints", _all_methods(SMALL_SETS)),
    3: ("Constraint Score with 4, 10 and 40 constraints on UCI data", _all_pairs(SMALL_SETS)),
    4: ("Five methods on faces, 10 constraints", _all_methods(FACES)),
    5: ("Constraint Score with 4, 10 and 40 constraints on faces", _all_pairs(FACES)),
}

_CURVES = {
    1: ("Accuracy on UCI data", _all_methods(SMALL_SETS)),
    2: ("Accuracy with 4, 10 and 40 constraints, UCI data", _all_pairs(SMALL_SETS)),
    4: ("Accuracy on faces", _all_methods(FACES)),
    5: ("Accuracy with 4, 10 and 40 constraints, faces", _all_pairs(FACES)),
    6: ("Accuracy on UCI data, scaled by maximum", _all_methods(SMALL_SETS, scaling="maximum")),
}

_OTHER_FIGURES = (
    _figure(
        3,
        "Accuracy with half of the features by amount of supervision",
        [_by_supervision(dataset) for dataset in SMALL_SETS],
        _at_half,
    ),
    _figure(
        7,
        "Unequal numbers of must-links and cannot-links",
        [_by_links("cannot", "must"), _by_links("must", "cannot")],
        _mean,
    ),
    _figure(
        8,
        "Accuracy of Constraint Score-2 by lambda",
        [_by_lambda(dataset) for dataset in ("Ionosphere", "ORL")],
        _mean,
    ),
)

_FIGURES = {
    number: Figure(number, title, partial(_units, setups), partial(_accuracy_panels, setups))
    for number, (title, setups) in _CURVES.items()
} | {figure.number: figure for figure in _OTHER_FIGURES}

PAPER = Paper(
    NAME,
    "Constraint Score: a new filter method for feature selection with pairwise constraints",
    compute,
    tables={
        number: PaperTable(number, title, partial(_units, setups), partial(_cells, number))
        for number, (title, setups) in _TABLES.items()
    },
    figures=dict(sorted(_FIGURES.items())),
    protocol=PROTOCOL,
)
