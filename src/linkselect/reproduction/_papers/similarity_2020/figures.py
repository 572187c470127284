"""Figures 1 to 10 of Salmi, Hammouche & Macaire (2020)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.graphs import nearest_edges
from linkselect.reproduction._paper import (
    Figure,
    Panel,
    Results,
    Series,
    Setup,
    Unit,
    marked,
    mean_line,
    units_of,
)
from linkselect.reproduction._papers.similarity_2020.clustering import label_by_prototypes
from linkselect.reproduction._papers.similarity_2020.methods import (
    COMPARED,
    CONSTRAINT_SCORES,
    SEES_MORE,
    WORST_FIRST,
)
from linkselect.reproduction._papers.similarity_2020.problems import SETS, SMALL_AND_ORL
from linkselect.reproduction._papers.similarity_2020.protocol import (
    curves_of,
    paths_of,
    semi_supervised_runs,
    setup_of,
    setups_of,
)

HIGH_DIMENSIONAL = tuple(name for name, data in SETS.items() if data.n_features >= 300)
SINGLE_SCORES = ("C1", "C2", "C3", "C4", "C5", "C6", "C7")
EPS = ("eps^S", "eps^SS")
SIGMAS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
NUMBER, ACCURACY = "number of features", "accuracy, %"


# -- figure 1: must-links and nearest neighbours ----------------------------------------------


def _link_panels(_results: Results) -> list[Panel]:
    """Return panels with two crescents of samples and the links of M, M^SS and 1-NN."""
    points, y, labels = _crescents()
    groups = label_by_prototypes(points, labels)
    near = nearest_edges(points, 1, 1)
    sets = {
        "(a) samples and prototypes": [],
        "(b) M": _inside(labels),
        "(c) M^SS": _inside(groups),
        "(d) nearest neighbours": list(zip(near.left, near.right, strict=True)),
    }
    return [
        Panel(title, "feature 1", "feature 2", _drawing(points, y, labels, links))
        for title, links in sets.items()
    ]


def _crescents() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(0)
    angles = np.linspace(0, np.pi, 11)
    upper = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.vstack([upper, [1.0, 0.2] - upper]) + random.normal(0, 0.06, (22, 2))
    y = np.repeat([0, 1], 11)
    labels = np.full(22, -1)
    prototypes = [1, 5, 9, 12, 16, 20]
    labels[prototypes] = y[prototypes]
    return points, y, labels


def _inside(labels: NDArray[Any]) -> list[tuple[int, int]]:
    """Return all pairs of samples with the same label."""
    groups = [np.flatnonzero(labels == label) for label in range(2)]
    return [pair for group in groups for pair in combinations(group.tolist(), 2)]


def _drawing(
    points: NDArray[Any], y: NDArray[Any], labels: NDArray[Any], links: Iterable[Sequence[int]]
) -> dict[str, Series]:
    segments = [points[list(pair)] for pair in links]
    drawing = {}
    if segments:
        gap = np.full((1, 2), np.nan)
        x, y_values = np.vstack(
            [part for segment in segments for part in (segment, gap)]
        ).T.tolist()
        drawing["must-link"] = Series(x, y_values, drawn="links")
    for label in range(2):
        for name, chosen in (("class", labels < 0), ("prototype of class", labels >= 0)):
            x, y_values = points[(y == label) & chosen].T.tolist()
            drawing[f"{name} {label + 1}"] = Series(x, y_values, drawn="points")
    return drawing


# -- figures 2, 3 and 9: scores by number of features -----------------------------------------

SCORE_SETUPS = {
    method: setup_of("score path", "Dermatology", method) for method in (*SINGLE_SCORES, *EPS)
}


def _path_panels(methods: Sequence[str], ylabel: str, results: Results) -> list[Panel]:
    paths = paths_of(results)
    return [
        Panel(method, NUMBER, ylabel, {method: _numbered(paths[SCORE_SETUPS[method]])})
        for method in methods
        if SCORE_SETUPS[method] in paths
    ]


def _numbered(values: NDArray[Any]) -> Series:
    return Series(list(range(1, len(values) + 1)), values.tolist())


# The experiment that computes the accuracy of the subsets selected by each score.
EVALUATED = {"eps^S": "prototypes", "eps^SS": "clustering"}


def _chosen_units(n_runs: int) -> list[Unit]:
    few = semi_supervised_runs(n_runs)
    measured = [setup_of(EVALUATED[method], "Dermatology", method) for method in EPS]
    return units_of([*(SCORE_SETUPS[method] for method in EPS), *measured], few)


def _chosen_panels(results: Results) -> list[Panel]:
    curves, paths = curves_of(results), paths_of(results)
    panels = []
    for method in EPS:
        accuracy = setup_of(EVALUATED[method], "Dermatology", method)
        score = SCORE_SETUPS[method]
        if accuracy in curves and score in paths:
            line = mean_line(curves[accuracy])
            panels.append(Panel(f"{method}: accuracy", NUMBER, ACCURACY, {"accuracy": line}))
            series = {"score": _numbered(paths[score])}
            panels.append(Panel(f"{method}: score", NUMBER, "score per pair", series))
    return panels


# -- curves of accuracy -----------------------------------------------------------------------


def _accuracy_panels(wanted: Mapping[str, Mapping[str, Setup]], results: Results) -> list[Panel]:
    """Return one panel for each title, with one line for each name that has results."""
    curves = curves_of(results)
    panels = []
    for title, lines in wanted.items():
        series = {
            name: mean_line(curves[setup]) for name, setup in lines.items() if setup in curves
        }
        if series:
            panels.append(Panel(title, NUMBER, ACCURACY, series))
    return panels


def _curves(
    number: int,
    title: str,
    wanted: Mapping[str, Mapping[str, Setup]],
    limit: Callable[[int], int] = int,
) -> Figure:
    setups = [setup for lines in wanted.values() for setup in lines.values()]
    return Figure(
        number,
        title,
        lambda n_runs: units_of(setups, limit(n_runs)),
        partial(_accuracy_panels, wanted),
    )


def _by_dataset(
    experiment: str, datasets: Sequence[str], methods: Sequence[str]
) -> dict[str, dict[str, Setup]]:
    return {
        dataset: {setup.method: setup for setup in setups_of(experiment, [dataset], methods)}
        for dataset in datasets
    }


def _with_wrapper() -> dict[str, dict[str, Setup]]:
    """Return the methods of figure 7 and the wrapper, which the paper shows as a baseline."""
    wanted = _by_dataset("clustering", HIGH_DIMENSIONAL, COMPARED["clustering"])
    name = f"SFS-1NN (1-NN on the prototypes; {SEES_MORE['SFS-1NN']})"
    return {
        dataset: {
            name: setup_of("prototypes", dataset, "SFS-1NN"),
            **{marked(method, WORST_FIRST): setup for method, setup in lines.items()},
        }
        for dataset, lines in wanted.items()
    }


def _by_sigma() -> dict[str, dict[str, Setup]]:
    # The other experiments use sigma=1, so this figure shares their units.
    widths = {sigma: () if sigma == 1.0 else (("sigma", sigma),) for sigma in SIGMAS}
    return {
        f"{dataset}, {method}": {
            f"sigma={sigma}": setup_of("prototypes", dataset, method, others=width)
            for sigma, width in widths.items()
        }
        for method in EPS
        for dataset in ("WBCD", "WDBC", "Dermatology")
    }


def _one_draw(methods: Sequence[str]) -> Callable[[int], Sequence[Unit]]:
    return lambda n_runs: units_of([SCORE_SETUPS[method] for method in methods], 1)


FIGURES = {
    1: Figure(1, "Must-links in the semi-supervised case", lambda n_runs: [], _link_panels),
    2: Figure(
        2,
        "Constraint scores by number of features, Dermatology",
        _one_draw(SINGLE_SCORES),
        partial(_path_panels, SINGLE_SCORES, "mean score"),
    ),
    3: Figure(
        3,
        "Similarity scores by number of features, Dermatology",
        _one_draw(EPS),
        partial(_path_panels, EPS, "score per pair"),
    ),
    4: _curves(
        4,
        "Supervised constraint scores",
        _by_dataset("prototypes", SMALL_AND_ORL, CONSTRAINT_SCORES["prototypes"]),
    ),
    5: _curves(
        5,
        "Supervised methods on data with many features (SFS-1NN uses all labels)",
        _by_dataset("prototypes", HIGH_DIMENSIONAL, COMPARED["prototypes"]),
    ),
    6: _curves(
        6,
        "Semi-supervised constraint scores",
        _by_dataset("clustering", SMALL_AND_ORL, CONSTRAINT_SCORES["clustering"]),
        semi_supervised_runs,
    ),
    7: _curves(
        7,
        "Semi-supervised and unsupervised methods on data with many features",
        _with_wrapper(),
        semi_supervised_runs,
    ),
    8: _curves(8, "Accuracy by the width sigma", _by_sigma()),
    9: Figure(9, "Accuracy and scores, Dermatology", _chosen_units, _chosen_panels),
    10: _curves(
        10,
        "Supervised and semi-supervised similarity score, 1-NN on the prototypes",
        _by_dataset("prototypes", SMALL_AND_ORL, EPS),
    ),
}
