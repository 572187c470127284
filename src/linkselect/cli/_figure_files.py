"""Write the figure of a ranking or of a comparison: .pdf, .svg or .png by the ending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkselect.cli._output import write_safely

if TYPE_CHECKING:
    from linkselect.evaluation import Comparison
    from linkselect.plot._published import Width
    from linkselect.report._schema import Summary


def write_ranking_figure(path: Path, summary: Summary, width: Width) -> None:
    """Draw the best features and the curve over their number, if there is one."""
    from linkselect.report._figures import figure_caption, ranking_figure

    _write(path, ranking_figure(summary, width), figure_caption(summary))


def write_comparison_figure(path: Path, found: Comparison, width: Width) -> None:
    """Draw the curves of the methods and how far they agree."""
    from linkselect.report._figures import comparison_caption, comparison_figure

    _write(path, comparison_figure(found, width), comparison_caption(found))


def _write(path: Path, figure: Any, caption: str) -> None:
    from linkselect.plot._published import paper_style, save_figure

    kind: Any = path.suffix.lower().removeprefix(".")
    with paper_style():
        write_safely(path, lambda part: save_figure(figure, part, kind, caption))
