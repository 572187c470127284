"""Numbers that were published in the papers."""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from linkselect.reproduction._paper import Cell


class Published(NamedTuple):
    """A published number, with its data set, method and setting as in the table."""

    paper: str
    table: int
    dataset: str
    method: str
    setting: str
    value: float
    std: float | None
    n_features: str

    def cell(self, ours: float, *, comparable: bool = True) -> Cell:
        """Return a table cell with our number and, if comparable, the published number."""
        value = self.value if comparable else None
        return Cell(self.dataset, self.method, self.setting, self.n_features, value, ours)


def published(paper: str, table: int) -> list[Published]:
    """Return the numbers of a published table, in the same order as in the table.

    Parameters
    ----------
    paper : str
        The name of the paper, such as ``"constraint-score-2008"``.
    table : int
        The number of the table.

    Returns
    -------
    list of Published
        The numbers; empty if the table is unknown or has no numbers.

    Examples
    --------
    >>> from linkselect.reproduction._published import published
    >>> first = published("constraint-score-2008", 2)[0]
    >>> first.dataset, first.method, first.value, first.std
    ('Ionosphere', 'Variance', 82.2, 3.8)
    """
    return [row for row in _all_rows() if (row.paper, row.table) == (paper, table)]


@cache
def _all_rows() -> tuple[Published, ...]:
    text = files("linkselect.reproduction").joinpath("published.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.reader(text.splitlines()[1:]):
        paper, table, dataset, method, setting, value, std, n_features = row
        numbers = float(value), float(std) if std else None
        found.append(Published(paper, int(table), dataset, method, setting, *numbers, n_features))
    return tuple(found)
