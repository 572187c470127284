"""Reports: plain data becomes one self-contained page."""

from linkselect.report.comparison import comparison_page, write_comparison
from linkselect.report.page import render, write_report
from linkselect.report.summary import summarize

__all__ = ["comparison_page", "render", "summarize", "write_comparison", "write_report"]
