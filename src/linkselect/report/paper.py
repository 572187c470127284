"""One page for each paper: its tables beside ours, its figures, its claims."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import linkselect
from linkselect.experiments.agreement import compared, difference, n_within
from linkselect.experiments.paper import Cell, Claim
from linkselect.report.page import render_page

__all__ = [
    "Content",
    "FigureContent",
    "Page",
    "TableContent",
    "agreement_text",
    "paper_page",
    "shown",
    "shown_difference",
]


@dataclass(frozen=True)
class TableContent:
    """A table with our numbers."""

    number: int
    title: str
    unit_name: str
    cells: Sequence[Cell]
    claims: Sequence[Claim] = ()

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return f"Table {self.number}"


@dataclass(frozen=True)
class FigureContent:
    """A figure as the text of an SVG file."""

    number: int
    title: str
    svg: str
    claims: Sequence[Claim] = ()

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return f"Figure {self.number}"


Content = TableContent | FigureContent


@dataclass(frozen=True)
class Page:
    """What a paper's page shows, and how its numbers came about."""

    name: str
    title: str
    runs: int
    seed: int
    contents: Sequence[Content]


@dataclass(frozen=True)
class _Row:
    """A line of a table: one data set in one setting, a cell or None for each method."""

    dataset: str
    setting: str
    cells: Sequence[Cell | None]


def paper_page(page: Page) -> str:
    """Return a paper's page as HTML that needs no other file."""
    return render_page(
        "paper.html",
        page=page,
        tables=[part for part in page.contents if isinstance(part, TableContent)],
        figures=[part for part in page.contents if isinstance(part, FigureContent)],
        version=linkselect.__version__,
        agreement=agreement_text,
        closeness=_closeness,
        methods=_methods,
        picture=_picture,
        rows=_rows,
        shown=shown,
        shown_difference=shown_difference,
    )


def shown(value: float | None, unit_name: str) -> str:
    """Write a number with as many digits as the papers print."""
    if value is None:
        return "-"
    if "%" in unit_name or abs(value) >= 100:
        return f"{value:.1f}"
    return f"{value:.3g}"


def shown_difference(cell: Cell, unit_name: str) -> str:
    """Write ours less the published number, with its sign."""
    gap = difference(cell)
    if gap is None:
        return "-"
    text = shown(abs(gap), unit_name)
    if not text.strip("0."):
        return text
    return f"+{text}" if gap > 0 else f"-{text}"


def agreement_text(cells: Sequence[Cell], unit_name: str) -> str:
    """Say how many numbers agree: within 2 and 4 points, or within 5 and 10 % of other units.

    Examples
    --------
    >>> from linkselect.experiments.paper import Cell
    >>> agreement_text([Cell("Wine", "Variance", "", "", 95.4, 98.3)], "accuracy, %")
    '0 of 1 within 2 points, 1 within 4 points'
    """
    known = compared(cells)
    if not known:
        return "The paper prints no numbers for this table"
    if "%" in unit_name:
        near, far = n_within(known, 2.0), n_within(known, 4.0)
        return f"{near} of {len(known)} within 2 points, {far} within 4 points"
    near, far = n_within(known, 0.05, relative=True), n_within(known, 0.1, relative=True)
    return f"{near} of {len(known)} within 5 %, {far} within 10 %"


def _closeness(cell: Cell, unit_name: str) -> str:
    """Name the style of a difference: near, fair or far."""
    if cell.published is None:
        return "unknown"
    relative = "%" not in unit_name
    steps = (("near", 0.05 if relative else 2.0), ("fair", 0.1 if relative else 4.0))
    for name, distance in steps:
        if n_within([cell], distance, relative=relative):
            return name
    return "far"


def _methods(table: TableContent) -> list[str]:
    return list(dict.fromkeys(cell.method for cell in table.cells))


def _rows(table: TableContent) -> list[_Row]:
    """Turn the list of cells into lines with one column for each method."""
    methods = _methods(table)
    # Where a setting has several numbers of features, each number is a line of its own.
    names = [(cell.dataset, cell.setting, cell.method) for cell in table.cells]
    by_features = len(set(names)) < len(names)
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in table.cells:
        setting = cell.setting
        if by_features and cell.n_features:
            setting = f"{setting}, {cell.n_features} features".lstrip(", ")
        found.setdefault((cell.dataset, setting), {})[cell.method] = cell
    return [
        _Row(dataset, setting, [line.get(method) for method in methods])
        for (dataset, setting), line in found.items()
    ]


def _picture(figure: FigureContent) -> str:
    """Return the figure as an address that holds the figure itself."""
    return f"data:image/svg+xml;base64,{base64.b64encode(figure.svg.encode()).decode()}"
