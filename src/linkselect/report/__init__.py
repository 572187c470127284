"""Reports: self-contained HTML pages and figures for publications."""

from linkselect.report._comparison_page import comparison_page, write_comparison
from linkselect.report._figures import comparison_figure, ranking_figure
from linkselect.report._page import render, write_report
from linkselect.report._summary import summarize

__all__ = [
    "comparison_figure",
    "comparison_page",
    "ranking_figure",
    "render",
    "summarize",
    "write_comparison",
    "write_report",
]
