"""HTML page of a paper with published and reproduced numbers, figures and claims."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import linkselect
from linkselect.report._page import render_page
from linkselect.reproduction._agreement import (
    AVERAGE_RANK,
    RANK_SUM,
    RATIO,
    SHARE,
    agreement_text,
    difference,
    tolerances_of,
    unit_of,
)
from linkselect.reproduction._paper import Cell, Figure, Paper, PaperTable
from linkselect.reproduction._results_folder import (
    Record,
    figure_name,
    read_cells,
    read_records,
    table_file,
)

FORMATS = {AVERAGE_RANK: ".2f", RATIO: ".1f", SHARE: ".4f"}


class TableContent(NamedTuple):
    """A table with its cells and its record of runs and claims."""

    table: PaperTable
    cells: Sequence[Cell]
    record: Record


class FigureContent(NamedTuple):
    """A figure with its SVG code and its record of runs and claims."""

    figure: Figure
    svg: str
    record: Record


class _Row(NamedTuple):
    """A table row for one data set and setting, with a cell or None for each method."""

    dataset: str
    setting: str
    cells: Sequence[Cell | None]


def paper_page(paper: Paper, folder: Path) -> str:
    """Return a self-contained HTML page with all of a paper's tables and figures from a folder.

    Only tables and figures that have both a file and a record are included.
    """
    records = read_records(folder)
    tables = []
    for number, table in paper.tables.items():
        file = table_file(folder, number)
        if table.name in records and file.exists():
            tables.append(TableContent(table, read_cells(file), records[table.name]))
    figures = []
    for number, figure in paper.figures.items():
        file = folder / f"{figure_name(number)}.svg"
        if figure.name in records and file.exists():
            svg = file.read_text(encoding="utf-8")
            figures.append(FigureContent(figure, svg, records[figure.name]))
    return render_page(
        "paper.html",
        "linkselect.reproduction",
        paper=paper,
        tables=tables,
        figures=figures,
        version=linkselect.__version__,
        agreement=agreement_text,
        closeness=_closeness,
        methods=_methods,
        picture=_picture,
        rows=_rows,
        shown=shown,
        shown_difference=shown_difference,
        unit_of=unit_of,
    )


def shown(value: float | None, unit: str) -> str:
    """Format a number with about as many digits as in the papers."""
    if value is None:
        return "-"
    if unit.startswith("number of"):
        return f"{value:.0f}" if value == round(value) else f"{value:.1f}"
    if unit in FORMATS:
        return f"{value:{FORMATS[unit]}}"
    if "%" in unit or unit.startswith(RANK_SUM) or abs(value) >= 100:
        return f"{value:.1f}"
    return f"{value:.3g}"


def shown_difference(cell: Cell, unit: str) -> str:
    """Format the signed difference between our number and the published number."""
    gap = difference(cell)
    if gap is None:
        return "-"
    text = shown(abs(gap), unit)
    if not text.strip("0."):
        return text
    return f"+{text}" if gap > 0 else f"-{text}"


def _closeness(cell: Cell, unit: str) -> str:
    """Return the style of a difference: near, fair or far, or unknown if it is not assessed."""
    tolerances = tolerances_of(unit)
    if cell.published is None or not tolerances:
        return "unknown"
    steps = zip(("near", "fair"), tolerances, strict=False)
    return next((name for name, tolerance in steps if tolerance.agrees(cell)), "far")


def _methods(content: TableContent) -> list[str]:
    return list(dict.fromkeys(cell.method for cell in content.cells))


def _rows(content: TableContent) -> list[_Row]:
    """Arrange cells in rows, with one column for each method."""
    methods = _methods(content)
    # If a setting has several numbers of features, there is one row for each.
    names = [(cell.dataset, cell.setting, cell.method) for cell in content.cells]
    by_features = len(set(names)) < len(names)
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in content.cells:
        setting = cell.setting
        if by_features and cell.n_features:
            setting = f"{setting}, {cell.n_features} features".lstrip(", ")
        found.setdefault((cell.dataset, setting), {})[cell.method] = cell
    return [
        _Row(dataset, setting, [line.get(method) for method in methods])
        for (dataset, setting), line in found.items()
    ]


def _picture(content: FigureContent) -> str:
    """Return the figure as a data URL."""
    return f"data:image/svg+xml;base64,{base64.b64encode(content.svg.encode()).decode()}"
