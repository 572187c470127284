"""Tables on disk, and how many of their numbers agree with the published ones."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from linkselect.experiments.paper import Cell

__all__ = ["COLUMNS", "compared", "difference", "n_within", "read_cells", "write_cells"]

COLUMNS = ("dataset", "method", "setting", "n_features", "published", "ours", "difference")


def difference(cell: Cell) -> float | None:
    """Return ours less the published number, or None where there is none."""
    return None if cell.published is None else cell.ours - cell.published


def compared(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells that have a published number."""
    return [cell for cell in cells if cell.published is not None]


def n_within(cells: Iterable[Cell], distance: float, *, relative: bool = False) -> int:
    """Count the cells whose difference is at most a distance, or a share of the published one.

    Numbers are compared as the papers print them, to a tenth (a share: to a thousandth).
    """
    n_agreeing = 0
    for cell in cells:
        if cell.published is None:
            continue
        gap = abs(cell.ours - cell.published)
        shown = round(gap / abs(cell.published), 3) if relative else round(gap, 1)
        n_agreeing += shown <= distance
    return n_agreeing


def write_cells(path: Path, cells: Sequence[Cell]) -> None:
    """Write a table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for cell in cells:
            writer.writerow(
                [
                    cell.dataset,
                    cell.method,
                    cell.setting,
                    cell.n_features,
                    "" if cell.published is None else cell.published,
                    f"{cell.ours:.6g}",
                    "" if cell.published is None else f"{cell.ours - cell.published:.6g}",
                ]
            )


def read_cells(path: Path) -> list[Cell]:
    """Read a table that `write_cells` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Cell(
                row["dataset"],
                row["method"],
                row["setting"],
                row["n_features"],
                float(row["published"]) if row["published"] else None,
                float(row["ours"]),
            )
            for row in csv.DictReader(file)
        ]
