"""What a paper's experiments are made of: units of work, tables, figures."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from linkselect.evaluation import Curve

Parameters = tuple[tuple[str, Any], ...]


class Setup(NamedTuple):
    """What the runs of one experiment have in common: a unit without its run and seed."""

    experiment: str
    dataset: str
    method: str
    parameters: Parameters = ()

    def unit(self, run: int) -> Unit:
        """Return the unit of one run."""
        return Unit(self.experiment, self.dataset, self.method, run, self.parameters)


@dataclass(frozen=True)
class Unit:
    """One piece of work that is computed and stored as a whole.

    Parameters
    ----------
    experiment : str
        What is measured; tables and figures that share an experiment share its results.
    dataset, method : str
        The names that the paper's tables use.
    run : int
        Counts repetitions. Splits and draws follow from `seed`, `dataset` and `run` alone, so
        all methods of a run see the same.
    parameters : tuple of (str, value) pairs
        What else the result depends on, in plain JSON values.
    seed : int
        The seed of all random draws.
    """

    experiment: str
    dataset: str
    method: str
    run: int
    parameters: Parameters = ()
    seed: int = 0

    @property
    def key(self) -> str:
        """One text for each unit, the same on every machine."""
        return json.dumps(
            [self.experiment, self.dataset, self.method, self.run, self.parameters, self.seed]
        )

    @property
    def setup(self) -> Setup:
        """What this unit has in common with the other runs of its experiment."""
        return Setup(self.experiment, self.dataset, self.method, self.parameters)

    def random(self) -> np.random.Generator:
        """Return the generator of this run's draws, the same for every method."""
        return np.random.default_rng([self.seed, zlib.crc32(self.dataset.encode()), self.run])


def units_of(setups: Iterable[Setup], n_runs: int) -> list[Unit]:
    """Return the units of all runs of some setups."""
    return [setup.unit(run) for setup in setups for run in range(n_runs)]


# A result is plain JSON data, so that a store can keep it.
Results = Mapping[Unit, Mapping[str, Any]]


def grouped(results: Results) -> dict[Setup, list[Mapping[str, Any]]]:
    """Collect the results of each setup, by run."""
    found: dict[Setup, list[Mapping[str, Any]]] = {}
    for unit in sorted(results, key=lambda unit: unit.run):
        found.setdefault(unit.setup, []).append(results[unit])
    return found


def curve_of(runs: Sequence[Mapping[str, Any]]) -> Curve:
    """Return the accuracies of the runs of a setup, which name their numbers of features."""
    from linkselect.evaluation import Curve

    values = np.array([run["accuracy"] for run in runs])
    return Curve(np.array(runs[0]["n_features"]), values)


@dataclass(frozen=True)
class Cell:
    """A number of a table: the published one (None: the paper has none) and ours."""

    dataset: str
    method: str
    setting: str
    n_features: str
    published: float | None
    ours: float


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that our numbers can check: whether it held, and what was found."""

    text: str
    held: bool
    found: str


def no_claims(_results: Results) -> Sequence[Claim]:
    """Check nothing: the paper says nothing about this table or figure that can be checked."""
    return ()


@dataclass(frozen=True)
class Series:
    """A line, links between points (NaN ends one), points, or bars.

    Parameters
    ----------
    x, y : sequences
        The coordinates.
    spread : sequence of float, optional
        The half-width of a band around a line, or the length of a bar's error bars.
    drawn : {"line", "links", "points"}
        How a panel of lines shows it: links are thin and lie under everything else.
    """

    x: Sequence[Any]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    drawn: Literal["line", "links", "points"] = "line"


def mean_line(curve: Curve) -> Series:
    """Draw the mean of a curve over its runs as a line."""
    return Series(curve.n_features.tolist(), curve.mean.tolist())


@dataclass(frozen=True)
class Panel:
    """One pair of axes of a figure."""

    title: str
    xlabel: str
    ylabel: str
    series: Mapping[str, Series]
    kind: Literal["line", "bar"] = "line"
    logx: bool = False


def marked(method: str, marks: Mapping[str, str]) -> str:
    """Return a method's name, with its mark in parentheses if it has one."""
    return f"{method} ({marks[method]})" if method in marks else method


@dataclass(frozen=True)
class PaperTable:
    """A published table: the units that a number of runs needs, and the cells they give."""

    number: int
    title: str
    units: Callable[[int], Sequence[Unit]]
    cells: Callable[[Results], Sequence[Cell]]
    unit_name: str = "accuracy, %"
    claims: Callable[[Results], Sequence[Claim]] = no_claims
    marks: Mapping[str, str] = field(default_factory=dict)
    """A remark on a method, shown with its name everywhere, such as that it sees more labels."""

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return f"Table {self.number}"

    def shown_method(self, method: str) -> str:
        """Return a method's name with its mark."""
        return marked(method, self.marks)


@dataclass(frozen=True)
class Figure:
    """A published figure: the units that a number of runs needs, and the panels they give."""

    number: int
    title: str
    units: Callable[[int], Sequence[Unit]]
    panels: Callable[[Results], Sequence[Panel]]
    claims: Callable[[Results], Sequence[Claim]] = no_claims

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return f"Figure {self.number}"


@dataclass(frozen=True)
class Paper:
    """A paper: its tables, its figures, and the function that computes one unit."""

    name: str
    title: str
    compute: Callable[[Unit, Path | None], dict[str, Any]]
    tables: Mapping[int, PaperTable]
    figures: Mapping[int, Figure]
    default_runs: int = 100
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """What results depend on besides the unit, in plain JSON values: a stored result serves only
    while it is the same."""
    timed: Collection[str] = ()
    """The experiments whose result is a time: they run after all others, one at a time."""

    @property
    def protocol_text(self) -> str:
        """One text for each protocol, whatever the order of its parts."""
        return json.dumps(self.protocol, sort_keys=True)
