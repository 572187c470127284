"""The parts of a paper's experiments: units of work, tables, figures and claims."""

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
    """The experiment, data set, method and parameters that several runs share."""

    experiment: str
    dataset: str
    method: str
    parameters: Parameters = ()

    def unit(self, run: int) -> Unit:
        """Return the unit of work for one run."""
        return Unit(self.experiment, self.dataset, self.method, run, self.parameters)


@dataclass(frozen=True)
class Unit:
    """One run of a method on a data set; its result is computed and stored as a whole.

    Parameters
    ----------
    experiment : str
        The name of the experiment. Tables and figures of the same experiment share its results.
    dataset, method : str
        The names of the data set and the method in the paper's tables.
    run : int
        The number of the repetition. Random splits and draws depend only on `seed`, `dataset` and
        `run`, so they are the same for all methods.
    parameters : tuple of (str, value) pairs
        All other parameters that affect the result, as JSON values.
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
        """Text that identifies the unit and is the same on every machine."""
        return json.dumps(
            [self.experiment, self.dataset, self.method, self.run, self.parameters, self.seed]
        )

    @property
    def setup(self) -> Setup:
        """The setup of the unit, without its run and seed."""
        return Setup(self.experiment, self.dataset, self.method, self.parameters)

    def random(self) -> np.random.Generator:
        """Return the random generator of this run, with the same seed for every method."""
        return np.random.default_rng([self.seed, zlib.crc32(self.dataset.encode()), self.run])


def units_of(setups: Iterable[Setup], n_runs: int) -> list[Unit]:
    """Return the units of all runs of the given setups."""
    return [setup.unit(run) for setup in setups for run in range(n_runs)]


# Results are JSON values, so that they can be stored.
Results = Mapping[Unit, Mapping[str, Any]]


def grouped(results: Results) -> dict[Setup, list[Mapping[str, Any]]]:
    """Group results by setup, and sort each group by run number."""
    found: dict[Setup, list[Mapping[str, Any]]] = {}
    for unit in sorted(results, key=lambda unit: unit.run):
        found.setdefault(unit.setup, []).append(results[unit])
    return found


def curve_of(runs: Sequence[Mapping[str, Any]]) -> Curve:
    """Return the accuracy curve for all runs of a setup."""
    from linkselect.evaluation import Curve

    values = np.array([run["accuracy"] for run in runs])
    return Curve(np.array(runs[0]["n_features"]), values)


@dataclass(frozen=True)
class Cell:
    """A table cell: the published number, or None if there is none, and our number."""

    dataset: str
    method: str
    setting: str
    n_features: str
    published: float | None
    ours: float


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, whether it holds in our experiments, and the relevant numbers."""

    text: str
    held: bool
    found: str


def no_claims(_results: Results) -> Sequence[Claim]:
    """Return an empty sequence, for tables and figures about which the paper makes no claims."""
    return ()


@dataclass(frozen=True)
class Series:
    """The data of one element of a panel: a line, links between points, points or bars.

    Parameters
    ----------
    x, y : sequences
        The coordinates. NaN separates links.
    spread : sequence of float, optional
        The half-width of the band around a line, or half the length of the error bars.
    drawn : {"line", "links", "points"}
        The drawing style in a panel of lines. Links are drawn as thin lines in the background.
    """

    x: Sequence[Any]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    drawn: Literal["line", "links", "points"] = "line"


def mean_line(curve: Curve) -> Series:
    """Return a line that shows the mean of a curve over all runs."""
    return Series(curve.n_features.tolist(), curve.mean.tolist())


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, with its own axes."""

    title: str
    xlabel: str
    ylabel: str
    series: Mapping[str, Series]
    kind: Literal["line", "bar"] = "line"
    logx: bool = False


def marked(method: str, marks: Mapping[str, str]) -> str:
    """Return the name of a method, followed by its remark in parentheses if it has one."""
    return f"{method} ({marks[method]})" if method in marks else method


@dataclass(frozen=True)
class PaperTable:
    """A published table, with functions that return its units of work and compute its cells."""

    number: int
    title: str
    units: Callable[[int], Sequence[Unit]]
    cells: Callable[[Results], Sequence[Cell]]
    unit_name: str = "accuracy, %"
    claims: Callable[[Results], Sequence[Claim]] = no_claims
    marks: Mapping[str, str] = field(default_factory=dict)
    """Remarks to show with method names, for example that a method uses more labels than others."""

    @property
    def name(self) -> str:
        """The name of the table in the paper."""
        return f"Table {self.number}"

    def shown_method(self, method: str) -> str:
        """Return the name of a method with its remark."""
        return marked(method, self.marks)


@dataclass(frozen=True)
class Figure:
    """A published figure, with functions that return its units of work and compute its panels."""

    number: int
    title: str
    units: Callable[[int], Sequence[Unit]]
    panels: Callable[[Results], Sequence[Panel]]
    claims: Callable[[Results], Sequence[Claim]] = no_claims

    @property
    def name(self) -> str:
        """The name of the figure in the paper."""
        return f"Figure {self.number}"


@dataclass(frozen=True)
class Paper:
    """A paper with its tables, its figures and the function that computes one unit of work."""

    name: str
    title: str
    compute: Callable[[Unit, Path | None], dict[str, Any]]
    tables: Mapping[int, PaperTable]
    figures: Mapping[int, Figure]
    default_runs: int = 100
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """All settings that affect results but are not part of the unit, as JSON values. Stored results
    are used only if they were computed with the same protocol."""
    timed: Collection[str] = ()
    """Experiments that measure run times. They run after all other experiments, one at a time."""

    @property
    def protocol_text(self) -> str:
        """The protocol as text, which does not depend on the order of its entries."""
        return json.dumps(self.protocol, sort_keys=True)
