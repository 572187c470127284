"""The files of a paper's tables and figures: numbers, claims, and how they were made.

A folder keeps each table and figure until it is made again, so that they may be made one by one and
with different numbers of runs.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import linkselect
from linkselect._files import written_whole
from linkselect._messages import GuidedValueError
from linkselect.reproduction._paper import Cell, Claim, Unit

STORE_FILE = "results.sqlite"
COLUMNS = ("dataset", "method", "setting", "n_features", "published", "ours", "difference")
RUNS_FILE, RUNS_COLUMNS = "runs.csv", ("part", "fewest_runs", "most_runs", "seed", "version")
CLAIMS_FILE, CLAIMS_COLUMNS = "claims.csv", ("part", "claim", "held", "found")


@dataclass(frozen=True)
class Record:
    """How a table or figure was made, and which of the paper's claims held.

    Parameters
    ----------
    part : str
        What the paper calls it, such as "Table 3".
    fewest_runs, most_runs : int
        Methods that draw nothing have one run, costly ones fewer than others.
    seed : int
        The seed of the random draws.
    version : str
        The version of the library.
    claims : sequence of Claim
        Sentences of the paper, checked.
    """

    part: str
    fewest_runs: int
    most_runs: int
    seed: int
    version: str = linkselect.__version__
    claims: Sequence[Claim] = ()

    def __str__(self) -> str:
        return f"{self.runs}, seed {self.seed}, linkselect {self.version}"

    @property
    def runs(self) -> str:
        """The number of runs in words."""
        if self.most_runs == 0:
            return "no random draws"
        most = "1 run" if self.most_runs == 1 else f"{self.most_runs} runs"
        return most if self.fewest_runs == self.most_runs else f"{self.fewest_runs} to {most}"


class FolderError(GuidedValueError):
    """A folder for results that cannot be made."""


def make_folder(folder: Path) -> None:
    """Make the folder if it does not exist, with those above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        problem = f"The results need a folder, but {folder} is a file."
        raise FolderError(problem, "Name another one by out=.") from None
    except OSError as error:
        problem = f"The folder {folder} cannot be made ({error.strerror})."
        raise FolderError(problem, "Name another one by out=.") from error


def table_file(folder: Path, number: int) -> Path:
    """Return the path of a table's numbers."""
    return folder / f"table-{number}.csv"


def figure_name(number: int) -> str:
    """Return the name of a figure's files, without the ending."""
    return f"figure-{number}"


def made_of(part: str, units: Iterable[Unit], seed: int, claims: Sequence[Claim] = ()) -> Record:
    """Return the record of a part that was made of these units."""
    runs = Counter(unit.setup for unit in set(units)).values()
    return Record(part, min(runs, default=0), max(runs, default=0), seed, claims=tuple(claims))


def write_records(folder: Path, records: Iterable[Record]) -> None:
    """Write records into a folder, and keep those of parts that are not among them."""
    merged = read_records(folder) | {record.part: record for record in records}
    every = [merged[part] for part in sorted(merged, key=_place)]
    runs = [[getattr(record, column) for column in RUNS_COLUMNS] for record in every]
    _write(folder / RUNS_FILE, RUNS_COLUMNS, runs)
    claims = [
        (record.part, claim.text, "yes" if claim.held else "no", claim.found)
        for record in every
        for claim in record.claims
    ]
    _write(folder / CLAIMS_FILE, CLAIMS_COLUMNS, claims)


def read_records(folder: Path) -> dict[str, Record]:
    """Return the records of a folder by part, tables first."""
    claims: dict[str, list[Claim]] = {}
    for row in _read(folder / CLAIMS_FILE):
        claim = Claim(row["claim"], row["held"] == "yes", row["found"])
        claims.setdefault(row["part"], []).append(claim)
    found = {}
    for row in _read(folder / RUNS_FILE):
        part, fewest, most, seed, version = row.values()
        held = tuple(claims.get(part, ()))
        found[part] = Record(part, int(fewest), int(most), int(seed), version, held)
    return found


def _place(part: str) -> tuple[bool, int]:
    word, number = part.split()
    return word == "Figure", int(number)


def write_cells(path: Path, cells: Sequence[Cell]) -> None:
    """Write a table as CSV."""
    rows: list[tuple[object, ...]] = []
    for cell in cells:
        names = (cell.dataset, cell.method, cell.setting, cell.n_features)
        gap = f"{cell.ours - cell.published:.6g}" if cell.published is not None else ""
        rows.append((*names, cell.published, f"{cell.ours:.6g}", gap))
    _write(path, COLUMNS, rows)


def read_cells(path: Path) -> list[Cell]:
    """Read a table that `write_cells` wrote."""
    found = []
    for row in _read(path):
        dataset, method, setting, n_features, published, ours, _ = row.values()
        known = float(published) if published else None
        found.append(Cell(dataset, method, setting, n_features, known, float(ours)))
    return found


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with written_whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
