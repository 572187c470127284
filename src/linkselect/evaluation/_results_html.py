"""A comparison as a notebook shows it: the sentences, and a line for each method."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from linkselect._messages import many
from linkselect._notebook import panel, table

if TYPE_CHECKING:
    from linkselect.evaluation._result import Comparison


def comparison_view(found: Comparison) -> str:
    """Write a comparison as HTML."""
    rows = [
        [
            name,
            *(measure.mean_text(name) for measure in found.measures),
            _number(found.stability[name]),
            f"{found.seconds[name]:.3f} s",
            found.saw[name],
        ]
        for name in found.ranked
    ]
    beside = (("a random choice", "by_chance"), ("all features", "with_all"))
    rows += [
        [what, *(each.value_text(getattr(each, value)) for each in found.measures), "", "", ""]
        for what, value in beside
    ]
    names = [f"mean {measure.name}" for measure in found.measures]
    header = ["method", *names, "stability", "time", "used"]
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in found.summary)
    return panel(
        f"{many(len(found.methods), 'method')} on {many(found.n_samples, 'sample')} with "
        f"{many(found.n_features, 'feature')}",
        table(header, rows, {0, len(header) - 1}),
        said,
    )


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.2f}"
