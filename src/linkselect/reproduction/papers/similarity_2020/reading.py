"""Results of many units as curves: what the tables and figures of 2020 read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkselect.arrays import FloatArray
from linkselect.evaluation.curves import Curve
from linkselect.reproduction.measures import n_kept
from linkselect.reproduction.paper import Results, Unit
from linkselect.reproduction.papers.similarity_2020.protocol import SETS, counts_of

__all__ = ["Kind", "curves_of", "kinds", "mean_over_kept", "paths_of", "units_of", "values_at"]

Parameters = tuple[tuple[str, Any], ...]


class Kind(NamedTuple):
    """What the runs of one experiment have in common."""

    experiment: str
    dataset: str
    method: str
    parameters: Parameters = (("p", 3),)


def kinds(
    experiment: str, datasets: Iterable[str], methods: Sequence[str], ps: Sequence[int] = (3,)
) -> list[Kind]:
    """Combine data sets, methods and numbers of prototypes."""
    return [
        Kind(experiment, dataset, method, (("p", p),))
        for dataset in datasets
        for p in ps
        for method in methods
    ]


def units_of(of: Iterable[Kind], n_runs: int) -> list[Unit]:
    """Return the units of so many runs."""
    return [
        Unit(kind.experiment, kind.dataset, kind.method, run, kind.parameters)
        for kind in of
        for run in range(n_runs)
    ]


def grouped(results: Results) -> dict[Kind, list[tuple[Unit, Any]]]:
    """Collect the results of each kind, by run."""
    found: dict[Kind, list[tuple[Unit, Any]]] = defaultdict(list)
    for unit in sorted(results, key=lambda unit: unit.run):
        kind = Kind(unit.experiment, unit.dataset, unit.method, unit.parameters)
        found[kind].append((unit, results[unit]))
    return found


def curves_of(results: Results) -> dict[Kind, Curve]:
    """Return the accuracies of each kind, one row for each run."""
    return {
        kind: Curve(counts_of(runs[0][0]), np.array([result["accuracy"] for _, result in runs]))
        for kind, runs in grouped(results).items()
        if "accuracy" in runs[0][1]
    }


def paths_of(results: Results) -> dict[Kind, FloatArray]:
    """Return the score after each chosen feature, averaged over runs, of each kind that has it.

    Runs end at different numbers where features without a score are left out; the mean ends
    with the shortest.
    """
    found = {}
    for kind, runs in grouped(results).items():
        paths = [result["path"] for _, result in runs if "path" in result]
        if paths:
            shortest = min(map(len, paths))
            found[kind] = np.mean([path[:shortest] for path in paths], axis=0)
    return found


def mean_over_kept(curve: Curve, dataset: str) -> FloatArray:
    """Average each run over 1, 2, ... features up to the r %.

    Between the numbers at which it was measured a curve is taken as straight.
    """
    wanted = np.arange(1, n_kept(SETS[dataset].n_features) + 1)
    return np.array([np.interp(wanted, curve.n_features, row).mean() for row in curve.values])


def values_at(curve: Curve, n_features: int) -> FloatArray:
    """Return each run's value with so many features, interpolated where it was not measured."""
    return np.array([np.interp(n_features, curve.n_features, row) for row in curve.values])
