"""The experiments of Salmi, Hammouche & Macaire (2020): rankings and their accuracy."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect.evaluation import Curve, nearest_neighbor_curve
from linkselect.reproduction._paper import Parameters, Results, Setup, Unit, grouped
from linkselect.reproduction._papers.similarity_2020.clustering import (
    N_NEIGHBORS,
    clustering_curve,
    label_by_prototypes,
)
from linkselect.reproduction._papers.similarity_2020.methods import (
    N_NEAREST,
    N_RELIEF_NEIGHBORS,
    SIGMA,
    WEIGHT_OF_C2,
    ranking_of,
)
from linkselect.reproduction._papers.similarity_2020.problems import (
    SETS,
    LabelledSplit,
    correct_new_must_links,
    n_kept,
    new_must_links,
    problem_of,
    spread_counts,
)
from linkselect.selectors._ranking import Ranking

# The number of points of a clustering curve, limited because each requires an eigendecomposition.
N_POINTS = 25

# Everything besides the unit that affects the results of `compute`. Change it with the code.
PROTOCOL = {
    "sets": {name: list(data) for name, data in SETS.items()},
    "training rows": "the first of each class, class by class",
    "Image Segmentation": "classes numbered by appearance in each of its two files",
    "features": "[0, 1] over all rows, missing values by the training median",
    "kept": "r % rounded up",
    "clustering": {
        "points": N_POINTS,
        "neighbors": N_NEIGHBORS,
        "normalisation": "symmetric",
        "sigma": 1.0,
        "eigenvectors": "as many as classes, without the first",
        "rows": "scaled to length 1",
        "class": "of the nearest prototype",
    },
    "Laplacian Score and SPEC": {"graph": "complete, with itself", "sigma": SIGMA, "style": 1},
    "C3, C5, C6, C7": {"neighbors": N_NEAREST, "of them itself": 1},
    "EnsCLS": "worst features first",
    "ReliefF": {"neighbors": N_RELIEF_NEIGHBORS},
    "C2": {"weight": WEIGHT_OF_C2},
    "SFS-1NN": "1-NN on the prototypes, scored by the classes of all training rows",
}


# -- numbers of runs and features ---------------------------------------------------------------


def semi_supervised_runs(n_runs: int) -> int:
    """Return the number of runs for clustering experiments: at most 20, because they are slow."""
    return min(n_runs, 20)


def n_selected(unit: Unit | Setup) -> int:
    """Return the largest number of features in a curve: r %, or more if a table requires it."""
    data = SETS[unit.dataset]
    special = data.semi_supervised if unit.experiment == "clustering" else data.supervised
    if dict(unit.parameters)["p"] != 3 and special is not None:
        return special
    compared = unit.method in ("SFS-1NN", "ReliefF", "mRMR")
    return n_kept(data.n_features) if compared else max(n_kept(data.n_features), special or 0)


def counts_of(unit: Unit | Setup) -> IntArray:
    """Return the numbers of features at which the accuracy of a unit is computed."""
    if unit.experiment != "clustering":
        return np.arange(1, n_selected(unit) + 1)
    data = SETS[unit.dataset]
    special = [] if data.semi_supervised is None else [data.semi_supervised]
    if dict(unit.parameters)["p"] != 3:
        return np.array(special)
    return np.union1d(spread_counts(n_kept(data.n_features), N_POINTS - 1), special).astype(np.intp)


# -- the experiments --------------------------------------------------------------------------


def _prototype_curve(unit: Unit, problem: LabelledSplit) -> dict[str, Any]:
    """Compute the accuracy of 1-NN trained on the prototypes only (section 5.2)."""
    n_features = n_selected(unit)
    found = ranking_of(unit, problem, n_features)
    known = problem.labels >= 0
    curve = nearest_neighbor_curve(
        problem.X[known],
        problem.labels[known],
        problem.X_test,
        problem.y_test,
        found.order[:n_features],
    )
    return {"accuracy": np.round(100 * curve, 6), **_path(unit, found)}


def _clustering_curve(unit: Unit, problem: LabelledSplit) -> dict[str, Any]:
    """Compute the accuracy of 1-NN trained on rows labelled by clustering (section 5.3)."""
    counts = counts_of(unit)
    found = ranking_of(unit, problem, int(counts[-1]))
    curve = clustering_curve(
        problem.X, problem.labels, problem.X_test, problem.y_test, found.order, counts
    )
    return {"accuracy": np.round(100 * curve, 6), **_path(unit, found)}


def _path(unit: Unit, found: Ranking) -> dict[str, Any]:
    """Return the score after each selected feature; table 8 is based on these scores."""
    return {"path": found.fitted["path_"]} if unit.method.startswith("eps") else {}


def _new_must_links(unit: Unit, problem: LabelledSplit) -> dict[str, Any]:
    groups = label_by_prototypes(problem.X, problem.labels)
    p = dict(unit.parameters)["p"]
    n_must = len(np.unique(problem.y)) * p * (p - 1)
    return {
        "|M|": n_must,
        "NML": new_must_links(groups, n_must),
        "CNML": correct_new_must_links(groups, problem.y, n_must),
    }


def _run_time(unit: Unit, problem: LabelledSplit) -> dict[str, Any]:
    start = time.perf_counter()
    ranking_of(unit, problem, dict(unit.parameters)["m"])
    return {"seconds": time.perf_counter() - start}


def _score_path(unit: Unit, problem: LabelledSplit) -> dict[str, Any]:
    """Return the score of the first 1, 2, ... features: eps, or the mean of their scores."""
    n_features = SETS[unit.dataset].n_features
    found = ranking_of(unit, problem, n_features)
    if unit.method.startswith("eps"):
        n_rows = len(problem.y) if unit.method == "eps^SS" else np.sum(problem.labels >= 0)
        return {"path": found.fitted["path_"] / n_rows**2}
    ordered = found.scores[found.order]
    ordered = ordered[np.isfinite(ordered)]
    return {"path": np.cumsum(ordered) / np.arange(1, len(ordered) + 1)}


EXPERIMENTS: dict[str, Callable[[Unit, LabelledSplit], dict[str, Any]]] = {
    "prototypes": _prototype_curve,
    "clustering": _clustering_curve,
    "new must-links": _new_must_links,
    "run time": _run_time,
    "score path": _score_path,
}


def compute(unit: Unit, data_dir: Path | None = None) -> dict[str, Any]:
    """Compute the result of one unit, with accuracies in per cent."""
    found = EXPERIMENTS[unit.experiment](unit, problem_of(unit, data_dir))
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in found.items()
    }


# -- curves from the results of many units ---------------------------------------------------------


def setup_of(
    experiment: str, dataset: str, method: str, p: int = 3, others: Parameters = ()
) -> Setup:
    """Return a setup with p prototypes of each class and additional parameters."""
    return Setup(experiment, dataset, method, (("p", p), *others))


def setups_of(
    experiment: str, datasets: Iterable[str], methods: Sequence[str], ps: Sequence[int] = (3,)
) -> list[Setup]:
    """Return setups for all combinations of data sets, methods and numbers of prototypes."""
    return [
        setup_of(experiment, dataset, method, p)
        for dataset in datasets
        for p in ps
        for method in methods
    ]


def curves_of(results: Results) -> dict[Setup, Curve]:
    """Return the accuracy curve of each setup, with one row per run."""
    return {
        setup: Curve(counts_of(setup), np.array([result["accuracy"] for result in runs]))
        for setup, runs in grouped(results).items()
        if "accuracy" in runs[0]
    }


def paths_of(results: Results) -> dict[Setup, FloatArray]:
    """Return the mean score over runs after each selected feature, for all setups with scores.

    The mean ends where the shortest run ends, because the number of features without a score may
    differ between runs.
    """
    found = {}
    for setup, runs in grouped(results).items():
        paths = [result["path"] for result in runs if "path" in result]
        if paths:
            shortest = min(map(len, paths))
            found[setup] = np.mean([path[:shortest] for path in paths], axis=0)
    return found


def mean_over_kept(curve: Curve, dataset: str) -> FloatArray:
    """Return the mean accuracy of each run over 1, 2, ... features, up to r % of all features.

    Curves are interpolated between the numbers of features at which they were computed.
    """
    wanted = np.arange(1, n_kept(SETS[dataset].n_features) + 1)
    return np.array([np.interp(wanted, curve.n_features, row).mean() for row in curve.values])


def values_at(curve: Curve, n_features: int) -> FloatArray:
    """Return the accuracy of each run with `n_features` features, interpolated if necessary."""
    return np.array([np.interp(n_features, curve.n_features, row) for row in curve.values])
