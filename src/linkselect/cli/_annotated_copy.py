"""Write a copy of an .h5ad file that includes the results."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from linkselect._samples.sources.annotated import features_of, read_names
from linkselect._samples.sources.hdf5_datasets import opened
from linkselect.anndata._stored_results import COLUMNS, about, add_to_file
from linkselect.cli._output import write_safely
from linkselect.cli._tables.features import unique_names
from linkselect.cli._tables.h5ad import matrix_named
from linkselect.report._schema import Summary, plain_text

KEY = "linkselect"


def write_annotated(path: Path, table: Path, array: str | None, summary: Summary) -> None:
    """Copy an .h5ad file, and add the ranking to its table of features and an entry to `uns`.

    Parameters
    ----------
    path : Path
        The copy to write.
    table : Path
        The .h5ad file that was ranked.
    array : str or None
        The layer that was ranked.
    summary : dict
        The result of `summarize`.
    """
    axis = features_of(matrix_named(array))
    with opened(table) as file:
        names = unique_names(read_names(file, axis, table.name))[0]
    columns = _columns(summary, [plain_text(name) for name in names])
    parameters = {one["name"]: one["value"] for one in summary["method"]["parameters"]}
    record = about(
        summary["method"]["name"],
        summary["method"]["n_selected"],
        {"call": summary["call"], **parameters},
        summary["validation"],
        [*summary["alarms"], *summary["notes"], *summary["warnings"]],
        summary["version"],
    )

    def write(part: Path) -> None:
        shutil.copyfile(table, part)
        add_to_file(part, KEY, columns, record, axis)

    write_safely(path, write)


def _columns(summary: Summary, names: list[str]) -> dict[str, Any]:
    """Return the columns of the ranking in file order; dropped features have no rank."""
    ranking: dict[str, Any] = dict(summary["ranking"])
    place = {name: row for row, name in enumerate(names)}
    rows = [place[name] for name in ranking["feature"]]
    columns = {name: np.full(len(names), np.nan) for name in COLUMNS if name in ranking}
    for name, values in columns.items():
        values[rows] = np.array(ranking[name], dtype=float)  # NaN for None
    columns["selected"] = columns["selected"] == 1
    if len(rows) == len(names):
        columns["rank"] = columns["rank"].astype(np.int64)
    return columns
