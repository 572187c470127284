"""Agreement between reproduced and published numbers.

The same rule applies to all papers: numbers are compared without rounding. A difference of 2.04
points is therefore not within 2 points, and even a small difference decides which method wins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkselect.reproduction._paper import Cell

AVERAGE_RANK, FEATURES, RANK_SUM = "average rank", "number of features", "rank sum"
LINKS, RATIO, SHARE, SECONDS = "number of links", "ratio", "share", "seconds"
UNITS_OF_MEASURES = {"|M|": LINKS, "NML": RATIO, "CNML": SHARE}
# Smaller differences are rounding errors.
TINY = 1e-9


@dataclass(frozen=True)
class Tolerance:
    """A tolerance for agreement, in percentage points or relative to the published number."""

    distance: float
    relative: bool = False

    def agrees(self, cell: Cell) -> bool:
        """Return whether our number is within the tolerance; False if no number was published."""
        gap = difference(cell)
        if gap is None or cell.published is None:
            return False
        allowed = self.distance * abs(cell.published) if self.relative else self.distance
        return abs(gap) <= allowed + TINY

    def __str__(self) -> str:
        return f"{100 * self.distance:.0f} %" if self.relative else f"{self.distance:g} points"


POINTS = (Tolerance(2.0), Tolerance(4.0))
SHARES = (Tolerance(0.05, relative=True), Tolerance(0.1, relative=True))
NEAR_NUMBERS = (Tolerance(0.15, relative=True),)


def unit_of(cell: Cell, table_unit: str) -> str:
    """Return the unit of a table cell, which may differ from the unit of the table.

    Examples
    --------
    >>> from linkselect.reproduction._paper import Cell
    >>> unit_of(Cell("Average rank", "C1", "", "", 2.5, 2.6), "accuracy, %")
    'average rank'
    """
    if cell.dataset == "Average rank":
        return AVERAGE_RANK
    if cell.setting.endswith(f": {FEATURES}"):
        return FEATURES
    return UNITS_OF_MEASURES.get(cell.method, table_unit)


def tolerances_of(unit: str) -> tuple[Tolerance, ...]:
    """Return the tolerances for a unit, smallest first; empty if single numbers are not compared.

    Run times are not compared because they were measured on different machines. For rank sums, only
    the winning methods are compared.
    """
    if unit.startswith((RANK_SUM, SECONDS)):
        return ()
    if unit in (AVERAGE_RANK, FEATURES):
        return NEAR_NUMBERS
    return POINTS if "%" in unit else SHARES


def difference(cell: Cell) -> float | None:
    """Return our number minus the published one, or None if there is no published number."""
    return None if cell.published is None else cell.ours - cell.published


def compared(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells that have a published number."""
    return [cell for cell in cells if cell.published is not None]


def same_winners(cells: Iterable[Cell]) -> dict[tuple[str, str], bool]:
    """Return, for each data set and setting, whether a published winner also wins here.

    The winner is the method with the lowest number.
    """
    rows: dict[tuple[str, str], list[Cell]] = {}
    for cell in compared(cells):
        rows.setdefault((cell.dataset, cell.setting), []).append(cell)
    return {name: _has_published_winner(row) for name, row in rows.items()}


def _has_published_winner(row: Sequence[Cell]) -> bool:
    # Published winners may tie.
    least = min(cell.published for cell in row if cell.published is not None)
    winners = [cell.ours for cell in row if cell.published == least]
    return min(winners) <= min(cell.ours for cell in row) + TINY


def agreement_text(cells: Iterable[Cell], table_unit: str) -> str:
    """Describe the agreement with the published numbers, separately for each unit.

    Examples
    --------
    >>> from linkselect.reproduction._paper import Cell
    >>> agreement_text([Cell("Wine", "Variance", "", "", 95.4, 98.3)], "accuracy, %")
    '0 of 1 within 2 points, 1 within 4 points'
    """
    by_unit: dict[str, list[Cell]] = {}
    for cell in compared(cells):
        by_unit.setdefault(unit_of(cell, table_unit), []).append(cell)
    if not by_unit:
        return "the paper reports no numbers for this table"
    texts = {unit: _of_one_unit(known, unit) for unit, known in by_unit.items()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{unit}: {text}" for unit, text in texts.items())


def _of_one_unit(cells: Sequence[Cell], unit: str) -> str:
    if unit.startswith(RANK_SUM):
        rows = same_winners(cells)
        return f"the published winner wins in {sum(rows.values())} of {len(rows)} rows"
    if unit.startswith(SECONDS):
        return "not compared, because the machines differ"
    first, *others = tolerances_of(unit)
    n_near = sum(map(first.agrees, cells))
    more = [f", {sum(map(step.agrees, cells))} within {step}" for step in others]
    return f"{n_near} of {len(cells)} within {first}{''.join(more)}"
