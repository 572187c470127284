"""What is made of a paper's tables and figures, in files: numbers, claims, and how they came about.

A folder keeps what was made of each part until that part is made again, so parts may be made one
by one and with different numbers of runs.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import linkselect
from linkselect.reproduction.paper import Cell, Claim, Unit

__all__ = [
    "COLUMNS",
    "Record",
    "made_of",
    "read_cells",
    "read_records",
    "write_cells",
    "write_records",
]

COLUMNS = ("dataset", "method", "setting", "n_features", "published", "ours", "difference")
RUNS_FILE, RUNS_COLUMNS = "runs.csv", ("part", "fewest_runs", "most_runs", "seed", "version")
CLAIMS_FILE, CLAIMS_COLUMNS = "claims.csv", ("part", "claim", "held", "found")


@dataclass(frozen=True)
class Record:
    """How a table or figure came about, and what it says about the paper's claims.

    Parameters
    ----------
    part : str
        What the paper calls it, such as "Table 3".
    fewest_runs, most_runs : int
        Methods that draw nothing have one run, costly ones fewer than others.
    seed : int
        Where the random draws started from.
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


def made_of(part: str, units: Iterable[Unit], seed: int, claims: Sequence[Claim] = ()) -> Record:
    """Return the record of a part that was made of these units."""
    kinds = Counter((u.experiment, u.dataset, u.method, u.parameters) for u in set(units))
    runs = kinds.values()
    return Record(part, min(runs, default=0), max(runs, default=0), seed, claims=tuple(claims))


def write_records(folder: Path, records: Iterable[Record]) -> None:
    """Write records into a folder, and keep those of parts that are not among them."""
    merged = read_records(folder) | {record.part: record for record in records}
    every = [merged[part] for part in sorted(merged, key=_place)]
    _write(
        folder / RUNS_FILE,
        RUNS_COLUMNS,
        [(r.part, r.fewest_runs, r.most_runs, r.seed, r.version) for r in every],
    )
    _write(
        folder / CLAIMS_FILE,
        CLAIMS_COLUMNS,
        [
            (record.part, claim.text, "yes" if claim.held else "no", claim.found)
            for record in every
            for claim in record.claims
        ],
    )


def read_records(folder: Path) -> dict[str, Record]:
    """Return the records of a folder by part, tables first."""
    claims: dict[str, list[Claim]] = {}
    for row in _read(folder / CLAIMS_FILE):
        claim = Claim(row["claim"], row["held"] == "yes", row["found"])
        claims.setdefault(row["part"], []).append(claim)
    return {
        row["part"]: Record(
            row["part"],
            int(row["fewest_runs"]),
            int(row["most_runs"]),
            int(row["seed"]),
            row["version"],
            tuple(claims.get(row["part"], ())),
        )
        for row in _read(folder / RUNS_FILE)
    }


def _place(part: str) -> tuple[bool, int]:
    kind, number = part.split()
    return kind == "Figure", int(number)


def write_cells(path: Path, cells: Sequence[Cell]) -> None:
    """Write a table as CSV."""
    rows: list[tuple[object, ...]] = []
    for cell in cells:
        names = (cell.dataset, cell.method, cell.setting, cell.n_features)
        if cell.published is None:
            rows.append((*names, "", f"{cell.ours:.6g}", ""))
        else:
            gap = cell.ours - cell.published
            rows.append((*names, cell.published, f"{cell.ours:.6g}", f"{gap:.6g}"))
    _write(path, COLUMNS, rows)


def read_cells(path: Path) -> list[Cell]:
    """Read a table that `write_cells` wrote."""
    return [
        Cell(
            row["dataset"],
            row["method"],
            row["setting"],
            row["n_features"],
            float(row["published"]) if row["published"] else None,
            float(row["ours"]),
        )
        for row in _read(path)
    ]


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a file so that another process reads all of it or none."""
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    part.replace(path)
