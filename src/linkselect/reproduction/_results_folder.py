"""Files with the numbers, claims and runs of a paper's tables and figures.

Each table and figure remains in the folder until it is created again. Tables and figures can
therefore be created separately and with different numbers of runs.
"""

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
    """A record of the runs and the claims of a table or figure.

    Parameters
    ----------
    part : str
        The name of the table or figure, such as "Table 3".
    fewest_runs, most_runs : int
        The smallest and largest number of runs per method. Deterministic methods have one run, and
        slow methods have fewer runs than others.
    seed : int
        The seed of the random draws.
    version : str
        The version of the library that computed the results.
    claims : sequence of Claim
        The claims of the paper and whether they hold.
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
        """The number of runs as text."""
        if self.most_runs == 0:
            return "no random draws"
        most = "1 run" if self.most_runs == 1 else f"{self.most_runs} runs"
        return most if self.fewest_runs == self.most_runs else f"{self.fewest_runs} to {most}"


class FolderError(GuidedValueError):
    """Raised when the folder for results cannot be created."""


def make_folder(folder: Path) -> None:
    """Create the folder and its parents if they do not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        problem = f"Results are stored in a folder, but {folder} is a file."
        raise FolderError(problem, "Pass another folder as out=.") from None
    except OSError as error:
        problem = f"The folder {folder} cannot be created ({error.strerror})."
        raise FolderError(problem, "Pass another folder as out=.") from error


def table_file(folder: Path, number: int) -> Path:
    """Return the path of the CSV file of a table."""
    return folder / f"table-{number}.csv"


def figure_name(number: int) -> str:
    """Return the file name of a figure, without the extension."""
    return f"figure-{number}"


def made_of(part: str, units: Iterable[Unit], seed: int, claims: Sequence[Claim] = ()) -> Record:
    """Return the record of a table or figure computed from the given units."""
    runs = Counter(unit.setup for unit in set(units)).values()
    return Record(part, min(runs, default=0), max(runs, default=0), seed, claims=tuple(claims))


def write_records(folder: Path, records: Iterable[Record]) -> None:
    """Write records to a folder, and keep the records of other tables and figures."""
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
    """Return the records in a folder by name of table or figure; tables come first."""
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
    """Read a table written by `write_cells`."""
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
