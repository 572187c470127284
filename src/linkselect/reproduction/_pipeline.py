"""The function `make`, which creates the tables, figures and HTML page of a paper."""

import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from linkselect._messages import GuidedValueError
from linkselect.reproduction._datasets import folders
from linkselect.reproduction._paper import Cell, Figure, Paper, PaperTable, Results
from linkselect.reproduction._papers import PAPERS, load_paper
from linkselect.reproduction._results_folder import (
    STORE_FILE,
    Record,
    figure_name,
    made_of,
    make_folder,
    table_file,
    write_cells,
    write_records,
)
from linkselect.reproduction._runs import Progress, run_units
from linkselect.reproduction._store import Store

Part = TypeVar("Part", PaperTable, Figure)


@dataclass(frozen=True)
class Made:
    """The result of `make`.

    Attributes
    ----------
    paper : str
        The name of the paper.
    folder : Path
        The folder that contains all files.
    page : Path
        The path of the page, which shows all tables and figures in the folder.
    records : dict from str to Record
        The runs and claims for each table and figure; the keys are names such as "Table 2".
    cells : dict from int to sequence of Cell
        The published and reproduced numbers for each table number.
    pictures : dict from int to (Path, Path)
        The PNG and SVG files for each figure number.
    """

    paper: str
    folder: Path
    page: Path
    records: Mapping[str, Record]
    cells: Mapping[int, Sequence[Cell]]
    pictures: Mapping[int, tuple[Path, Path]]


def make(
    paper: str,
    *,
    tables: Iterable[int] | None = None,
    figures: Iterable[int] | None = None,
    runs: int | None = None,
    jobs: int = 1,
    data_dir: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Made:
    """Repeat the experiments of a paper, and write its tables, figures and page.

    The result of each method, data set and run is stored in `out/results.sqlite` as soon as it is
    computed. Repeating the same call therefore resumes an interrupted computation, and several
    processes can use the same folder. Tables and figures from earlier calls remain on the page.

    Parameters
    ----------
    paper : str
        "constraint-score-2008", "sparsity-score-2012", "frll-2013" or
        "similarity-constraint-score-2020".
    tables, figures : iterable of int, optional
        The numbers of the tables and figures to create; [] for none. Default: all.
    runs : int, optional
        The number of repetitions. Default: as in the paper.
    jobs : int, default=1
        The number of processes, which does not affect the results.
    data_dir : path, optional
        The folder that contains the data sets. Default: the folder specified by the environment
        variable LINKSELECT_DATA; otherwise, the folder for fetched sets.
    out : path, optional
        The folder for results. Default: reproduction/PAPER in the current folder.
    seed : int, default=0
        The seed of all random draws.
    progress : function, optional
        Function that is called with a `Progress` at the start and after each result.

    Returns
    -------
    Made
        The numerical results, the runs and claims for each table and figure, and the file paths.

    Raises
    ------
    GuidedValueError
        If the paper has no such table or figure, or an argument is invalid.
    DataNotFoundError
        If the data folder does not exist.
    UnitError
        If a run fails. Results that were computed before the failure are stored.
    StoreError
        If the file of stored results cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> from linkselect.reproduction import make
    >>> folder = tempfile.TemporaryDirectory()
    >>> name = "similarity-constraint-score-2020"
    >>> made = make(name, tables=[], figures=[1], out=folder.name)
    >>> [path.name for path in made.pictures[1]], made.page.name
    (['figure-1.png', 'figure-1.svg'], 'index.html')
    >>> folder.cleanup()
    """
    from linkselect.evaluation._pair_folds import check_whole

    chosen = _paper(paper)
    made_tables = _parts("table", tables, chosen.tables, paper)
    made_figures = _parts("figure", figures, chosen.figures, paper)
    runs = chosen.default_runs if runs is None else runs
    for name, value, least in (("runs", runs, 1), ("jobs", jobs, 1), ("seed", seed, 0)):
        check_whole(name, value, least)
    seed = int(seed)  # a NumPy integer cannot be written as JSON
    folder = Path("reproduction") / paper if out is None else Path(out)
    _check_packages(with_figures=bool(made_figures))
    folders(data_dir)
    make_folder(folder)
    parts: list[PaperTable | Figure] = [*made_tables, *made_figures]
    # Tables look up results by units with the default seed.
    seeded = {unit: replace(unit, seed=seed) for part in parts for unit in part.units(runs)}
    store = Store(folder / STORE_FILE, paper, protocol=chosen.protocol_text)
    data = None if data_dir is None else Path(data_dir)
    units = seeded.values()
    found = run_units(units, chosen.compute, store, jobs, data, progress, chosen.timed)
    results: dict[str, Results] = {
        part.name: {unit: found[seeded[unit]] for unit in part.units(runs)} for part in parts
    }
    cells = {table.number: tuple(table.cells(results[table.name])) for table in made_tables}
    for number, numbers in cells.items():
        write_cells(table_file(folder, number), numbers)
    pictures = {one.number: _draw(one, results[one.name], folder) for one in made_figures}
    records = {
        part.name: made_of(part.name, results[part.name], seed, part.claims(results[part.name]))
        for part in parts
    }
    write_records(folder, records.values())
    return Made(paper, folder, _write_page(chosen, folder), records, cells, pictures)


# -- checks ---------------------------------------------------------------------------------------


def _paper(name: str) -> Paper:
    if name not in PAPERS:
        hint = f"Choose one of: {', '.join(PAPERS)}."
        raise GuidedValueError(f"There is no paper {name!r}.", hint)
    return load_paper(name)


def _parts(word: str, wanted: Any, known: Mapping[int, Part], paper: str) -> list[Part]:
    if wanted is None:
        return list(known.values())
    if not isinstance(wanted, Iterable) or isinstance(wanted, str):
        raise GuidedValueError(
            f"{word}s={wanted!r}, but {word}s must be a list of numbers.",
            f"Write {word}s=[{wanted}], [] for none, or None for all.",
        )
    numbers = list(dict.fromkeys(wanted))
    for number in numbers:
        if number not in known:
            there = ", ".join(map(str, sorted(known))) or "none"
            raise GuidedValueError(
                f"{paper} has no {word} {number} with results. Available {word}s: {there}.",
                f"Choose from these, or omit {word}s to create all.",
            )
    return [known[number] for number in numbers]


def _check_packages(*, with_figures: bool) -> None:
    """Raise an error if a required package is missing, before the long computation begins."""
    needed = {"jinja2": "report"} | ({"matplotlib": "plot"} if with_figures else {})
    for package, extra in needed.items():
        if importlib.util.find_spec(package) is None:
            raise ImportError(
                f"The page and figures of a paper require {package}, which is not installed: "
                f"pip install 'linkselect[{extra}]'"
            )


# -- files ----------------------------------------------------------------------------------------


def _draw(figure: Figure, results: Results, folder: Path) -> tuple[Path, Path]:
    from linkselect.reproduction._paper_pictures import draw_panels, save_figure

    return save_figure(draw_panels(figure.panels(results)), folder, figure_name(figure.number))


def _write_page(paper: Paper, folder: Path) -> Path:
    """Write a page with all tables and figures in the folder, also those from earlier calls."""
    from linkselect.report._page import write_page
    from linkselect.reproduction._paper_page import paper_page

    path = folder / "index.html"
    write_page(paper_page(paper, folder), path)
    return path
