"""`linkselect reproduce`: a paper's tables and figures, beside what it printed."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkselect.cli.errors import InputError, UsageError, nearest
from linkselect.cli.output import say

if TYPE_CHECKING:
    from rich.console import Console

    from linkselect.reproduction.paper import Cell, Claim, Figure, Paper, Results, Table
    from linkselect.reproduction.results_folder import Record
    from linkselect.reproduction.runs import Progress
    from linkselect.reproduction.store import Store

__all__ = ["reproduce"]

WIDTH_IN_A_PIPE = 200


def reproduce(
    paper: str,
    /,
    *,
    table: int | None = None,
    figure: int | None = None,
    runs: int | None = None,
    jobs: int | None = None,
    data_dir: Path | None = None,
    out: Path | None = None,
    seed: int = 0,
) -> None:
    """Repeat a paper's experiments, and show its numbers beside ours.

    Each finished piece of work is kept in OUT/results.sqlite at once. The same command goes on
    where it was stopped, and two processes may work into the same folder.

    Parameters
    ----------
    paper
        constraint-score-2008, sparsity-score-2012, frll-2013 or similarity-constraint-score-2020.
    table
        Only the table of this number. Without --table and --figure: everything.
    figure
        Only the figure of this number.
    runs
        How many repetitions. Default: as many as the paper has.
    jobs
        How many processes. Default: one for each core. Results do not depend on it.
    data_dir
        The folder of the data sets. Default: LINKSELECT_DATA, else the cache of fetched sets.
    out
        The folder for results. Default: reproduction/PAPER.
    seed
        Where random draws start from.
    """
    chosen = _load(paper)
    tables, figures = _chosen(chosen, table, figure)
    _check_numbers(runs, jobs, seed)
    _check_packages()
    _check_folder(data_dir)
    n_runs = chosen.default_runs if runs is None else runs
    n_jobs = _n_cores() if jobs is None else jobs
    folder = Path("reproduction") / paper if out is None else out
    _make_folder(folder)
    _run_or_say_why(_Request(chosen, tables, figures, n_runs, n_jobs, data_dir, folder, seed))


@dataclass(frozen=True)
class _Request:
    """What the command line asks for, checked."""

    paper: Paper
    tables: Sequence[Table]
    figures: Sequence[Figure]
    runs: int
    jobs: int
    data_dir: Path | None
    out: Path
    seed: int


def _load(name: str) -> Paper:
    from linkselect.reproduction.papers import PAPERS, load_paper

    if name not in PAPERS:
        raise UsageError(f"There is no paper {name!r}. {nearest(name, PAPERS)}")
    return load_paper(name)


def _chosen(
    paper: Paper, table: int | None, figure: int | None
) -> tuple[Sequence[Table], Sequence[Figure]]:
    if table is not None and figure is not None:
        raise UsageError("Give --table or --figure, not both; without either, all are made.")
    for kind, number, known in (("table", table, paper.tables), ("figure", figure, paper.figures)):
        if number is not None and number not in known:
            there = ", ".join(map(str, sorted(known))) or "none"
            raise UsageError(
                f"{paper.name} has no {kind} {number} with results. There are: {there}."
            )
    if table is not None:
        return [paper.tables[table]], []
    if figure is not None:
        return [], [paper.figures[figure]]
    return list(paper.tables.values()), list(paper.figures.values())


def _check_numbers(runs: int | None, jobs: int | None, seed: int) -> None:
    for name, value, least in (("runs", runs, 1), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value is not None and value < least:
            raise UsageError(f"--{name} must be {least} or more, but is {value}.")


def _check_packages() -> None:
    """Say what is missing before hours of work, not after."""
    for package, extra in (("matplotlib", "plot"), ("jinja2", "report")):
        if importlib.util.find_spec(package) is None:
            text = f"This command needs {package}: pip install 'linkselect[cli,plot,report]'"
            raise InputError(f"{text} (the extra '{extra}' brings it).")


def _n_cores() -> int:
    import joblib

    return int(joblib.cpu_count())


def _check_folder(data_dir: Path | None) -> None:
    """Say that a folder is mistyped before its sets are looked for elsewhere."""
    named = data_dir or os.environ.get("LINKSELECT_DATA")
    if named and not Path(named).is_dir():
        option = "--data-dir" if data_dir else "LINKSELECT_DATA"
        raise InputError(f"There is no folder {str(named)!r}, which {option} names.")


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"--out must be a folder, but {out} is a file.") from None
    except OSError as error:
        text = f"The folder {out} cannot be made ({error.strerror}). Name another one by --out."
        raise InputError(text) from error


def _run_or_say_why(request: _Request) -> None:
    from linkselect.reproduction.runs import UnitError
    from linkselect.reproduction.store import StoreError

    try:
        _run(request)
    except (UnitError, StoreError) as error:
        raise InputError(str(error)) from error
    except KeyboardInterrupt:
        kept = request.out / "results.sqlite"
        say(f"What was finished is in {kept}; the same command goes on from there.", error=True)
        raise


def _run(request: _Request) -> None:
    from rich.console import Console

    from linkselect.report.page import write_page
    from linkselect.reproduction.page import page_of, paper_page
    from linkselect.reproduction.results_folder import write_records

    # In a pipe there is no width to keep to, and names cut short cannot be searched for.
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_IN_A_PIPE)
    results = _compute(request)
    tables = [_make_table(table, results(table), request, console) for table in request.tables]
    figures = [_make_figure(item, results(item), request, console) for item in request.figures]
    write_records(request.out, [*tables, *figures])
    # The page has what earlier commands made as well.
    write_page(paper_page(page_of(request.paper, request.out)), request.out / "index.html")
    ending = f"Everything is in {request.out}; begin with index.html."
    console.print(ending, markup=False, highlight=False, soft_wrap=True)


def _compute(request: _Request) -> Callable[[Table | Figure], Results]:
    """Do all the work, and return a function that picks the results of one table or figure."""
    from linkselect.reproduction.runs import run_units

    parts: list[Table | Figure] = [*request.tables, *request.figures]
    units = [unit for part in parts for unit in part.units(request.runs)]
    # Tables look results up by their own units, whose seed is the default one.
    seeded = {unit: replace(unit, seed=request.seed) for unit in units}
    with _progress_bar() as progress:
        found = run_units(
            seeded.values(),
            request.paper.compute,
            _store(request),
            request.jobs,
            request.data_dir,
            progress,
            request.paper.timed,
        )
    return lambda part: {unit: found[seeded[unit]] for unit in part.units(request.runs)}


def _store(request: _Request) -> Store:
    from linkselect.reproduction.store import Store

    protocol = request.paper.protocol_text
    return Store(request.out / "results.sqlite", request.paper.name, protocol=protocol)


def _make_table(table: Table, results: Results, request: _Request, console: Console) -> Record:
    from linkselect.reproduction.results_folder import made_of, write_cells

    cells = table.cells(results)
    record = made_of(table.name, results, request.seed, table.claims(results))
    write_cells(request.out / f"table-{table.number}.csv", cells)
    console.print(_as_rich(table, cells, record))
    _print_claims(record.claims, console)
    return record


def _make_figure(figure: Figure, results: Results, request: _Request, console: Console) -> Record:
    from linkselect.reproduction.pictures import draw_panels, save_figure
    from linkselect.reproduction.results_folder import made_of

    record = made_of(figure.name, results, request.seed, figure.claims(results))
    drawn = draw_panels(figure.panels(results))
    png, svg = save_figure(drawn, request.out, f"figure-{figure.number}")
    title = f"{figure.name}. {figure.title} ({record.runs})"
    console.print(title, style="bold", markup=False, highlight=False)
    console.print(f"  {png}\n  {svg}", markup=False, highlight=False, soft_wrap=True)
    _print_claims(record.claims, console)
    return record


def _as_rich(table: Table, cells: Sequence[Cell], record: Record) -> Any:
    """Lay a table out for the terminal, with a data set's name where it begins."""
    import rich.box
    import rich.table

    from linkselect.reproduction.agreement import agreement_text

    shape = rich.table.Table(
        title=f"{table.name}. {table.title} ({table.unit_name})",
        title_justify="left",
        caption=f"{agreement_text(cells, table.unit_name)} ({record.runs})",
        caption_justify="left",
        box=rich.box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    columns = ["data set", "method"]
    columns += ["setting"] if any(cell.setting for cell in cells) else []
    columns += ["features"] if any(cell.n_features for cell in cells) else []
    for name in columns:
        shape.add_column(name, overflow="fold")
    for name in ("published", "ours", "difference"):
        shape.add_column(name, justify="right", no_wrap=True)
    before = ""
    for cell in cells:
        shape.add_row(*_texts(table, cell, columns, before))
        before = cell.dataset
    return shape


def _texts(table: Table, cell: Cell, columns: Sequence[str], before: str) -> list[str]:
    """Return a cell's line; `before` is the data set of the line above."""
    from rich.markup import escape

    from linkselect.reproduction.agreement import unit_of
    from linkselect.reproduction.page import shown, shown_difference

    unit = unit_of(cell, table.unit_name)
    names = {
        "data set": "" if cell.dataset == before else cell.dataset,
        "method": table.shown_method(cell.method),
        "setting": cell.setting,
        "features": cell.n_features,
    }
    numbers = (shown(cell.published, unit), shown(cell.ours, unit), shown_difference(cell, unit))
    return [*(escape(names[name]) for name in columns), *numbers]


def _print_claims(claims: Sequence[Claim], console: Console) -> None:
    from rich.markup import escape

    for claim in claims:
        verdict = "[green]held[/green]" if claim.held else "[red]not held[/red]"
        text = escape(f"{claim.text} ({claim.found})")
        console.print(f"  {verdict}: {text}", highlight=False)
    console.print()


@contextmanager
def _progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar with the time left on a terminal; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, left="")

        def show(progress: Progress) -> None:
            left = _time_left(progress.seconds_left)
            bar.update(task, completed=progress.done, total=progress.total, left=left)

        yield show


def _time_left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"
