"""Results of many units as curves: what the tables and figures of the paper are made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray
from linkselect.evaluation._curves import Curve
from linkselect.reproduction._paper import Parameters, Results, Setup, Unit
from linkselect.reproduction._papers.similarity_2020.measures import n_kept
from linkselect.reproduction._papers.similarity_2020.problems import SETS
from linkselect.reproduction._papers.similarity_2020.protocol import counts_of


def setup_of(
    experiment: str, dataset: str, method: str, p: int = 3, others: Parameters = ()
) -> Setup:
    """Return a setup with p prototypes of each class, and further parameters."""
    return Setup(experiment, dataset, method, (("p", p), *others))


def setups_of(
    experiment: str, datasets: Iterable[str], methods: Sequence[str], ps: Sequence[int] = (3,)
) -> list[Setup]:
    """Combine data sets, methods and numbers of prototypes."""
    return [
        setup_of(experiment, dataset, method, p)
        for dataset in datasets
        for p in ps
        for method in methods
    ]


def units_of(setups: Iterable[Setup], n_runs: int) -> list[Unit]:
    """Return the units of all runs of some setups."""
    return [setup.unit(run) for setup in setups for run in range(n_runs)]


def grouped(results: Results) -> dict[Setup, list[tuple[Unit, Any]]]:
    """Collect the results of each setup, by run."""
    found: dict[Setup, list[tuple[Unit, Any]]] = defaultdict(list)
    for unit in sorted(results, key=lambda unit: unit.run):
        found[unit.setup].append((unit, results[unit]))
    return found


def curves_of(results: Results) -> dict[Setup, Curve]:
    """Return the accuracies of each setup, one row for each run."""
    return {
        setup: Curve(counts_of(runs[0][0]), np.array([result["accuracy"] for _, result in runs]))
        for setup, runs in grouped(results).items()
        if "accuracy" in runs[0][1]
    }


def paths_of(results: Results) -> dict[Setup, FloatArray]:
    """Return the score after each chosen feature, averaged over runs, of each setup that has it.

    Runs end at different numbers if features without a score are left out; the mean ends with
    the shortest.
    """
    found = {}
    for setup, runs in grouped(results).items():
        paths = [result["path"] for _, result in runs if "path" in result]
        if paths:
            shortest = min(map(len, paths))
            found[setup] = np.mean([path[:shortest] for path in paths], axis=0)
    return found


def mean_over_kept(curve: Curve, dataset: str) -> FloatArray:
    """Average each run over 1, 2, ... features up to the r %.

    A curve is interpolated between the numbers at which it was measured.
    """
    wanted = np.arange(1, n_kept(SETS[dataset].n_features) + 1)
    return np.array([np.interp(wanted, curve.n_features, row).mean() for row in curve.values])


def values_at(curve: Curve, n_features: int) -> FloatArray:
    """Return each run's value with `n_features`, interpolated if it was not measured there."""
    return np.array([np.interp(n_features, curve.n_features, row) for row in curve.values])
