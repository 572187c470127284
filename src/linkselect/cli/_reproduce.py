"""`linkselect reproduce`: a paper's tables and figures, beside what it printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkselect.cli._choices import Seed
from linkselect.cli._errors import InputError, UsageError, nearest
from linkselect.cli._output import progress, say

if TYPE_CHECKING:
    from rich.console import Console

    from linkselect.reproduction import Made
    from linkselect.reproduction._paper import Cell, Claim, Paper, Table
    from linkselect.reproduction._results_folder import Record

# The papers have 100; all runs are listed before the first begins.
_MOST_RUNS = 10_000

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
    seed: Seed = 0,
) -> None:
    """Repeat a paper's experiments, and show its numbers beside ours.

    Each finished piece of work is kept in OUT/results.sqlite at once. The same command resumes
    what was stopped, and two processes may work into the same folder.

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
        The seed of all random draws.
    """
    known = _load(paper)
    if table is not None and figure is not None:
        raise UsageError("Give --table or --figure, not both; without either, all are made.")
    if runs is not None and runs > _MOST_RUNS:
        raise UsageError(f"--runs {runs}: at most {_MOST_RUNS:,} are made.")
    _check_folder(data_dir)
    from linkselect.reproduction import make

    everything = table is None and figure is None
    folder = Path("reproduction") / paper if out is None else out
    with _command_errors(folder), progress(sys.stderr.isatty(), time_left=False) as report:
        made = make(
            paper,
            tables=None if everything else _listed(table),
            figures=None if everything else _listed(figure),
            runs=runs,
            jobs=_n_cores() if jobs is None else jobs,
            data_dir=data_dir,
            out=folder,
            seed=seed,
            progress=lambda one: report(one.done, one.total, _time_left(one.seconds_left)),
        )
    _show(made, known)


def _load(name: str) -> Paper:
    from linkselect.reproduction._papers import PAPERS, load_paper

    if name not in PAPERS:
        raise UsageError(f"There is no paper {name!r}. {nearest(name, PAPERS)}")
    return load_paper(name)


def _listed(number: int | None) -> list[int]:
    return [] if number is None else [number]


def _n_cores() -> int:
    import joblib

    return int(joblib.cpu_count())


def _check_folder(data_dir: Path | None) -> None:
    """Report a mistyped folder before its sets are looked for elsewhere."""
    named = data_dir or os.environ.get("LINKSELECT_DATA")
    if named and not Path(named).is_dir():
        option = "--data-dir" if data_dir else "LINKSELECT_DATA"
        raise InputError(f"There is no folder {str(named)!r}, which {option} names.")


@contextmanager
def _command_errors(folder: Path) -> Iterator[None]:
    """Turn the errors of the work into those of the command."""
    from linkselect._messages import GuidedValueError
    from linkselect.reproduction._results_folder import STORE_FILE, FolderError
    from linkselect.reproduction._runs import UnitError, WorkerError
    from linkselect.reproduction._store import StoreError

    try:
        yield
    except FolderError as error:
        raise InputError(f"{error.problem} Name another one by --out.") from error
    except GuidedValueError as error:
        raise UsageError(error.problem) from error
    except (UnitError, StoreError, WorkerError, ImportError) as error:
        raise InputError(str(error)) from error
    except KeyboardInterrupt:
        kept = folder / STORE_FILE
        say(f"What was finished is in {kept}; the same command resumes the work.", error=True)
        raise


# -- what is printed ------------------------------------------------------------------------------


def _show(made: Made, paper: Paper) -> None:
    from rich.console import Console

    # In a pipe there is no width to keep to, and names cut short cannot be searched for.
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_IN_A_PIPE)
    for number, cells in made.cells.items():
        table = paper.tables[number]
        console.print(_as_rich(table, cells, made.records[table.name]))
        _print_claims(made.records[table.name].claims, console)
    for number, (png, svg) in made.pictures.items():
        figure = paper.figures[number]
        record = made.records[figure.name]
        title = f"{figure.name}. {figure.title} ({record.runs})"
        console.print(title, style="bold", markup=False, highlight=False)
        console.print(f"  {png}\n  {svg}", markup=False, highlight=False, soft_wrap=True)
        _print_claims(record.claims, console)
    ending = f"Everything is in {made.folder}; begin with {made.page.name}."
    console.print(ending, markup=False, highlight=False, soft_wrap=True)


def _as_rich(table: Table, cells: Sequence[Cell], record: Record) -> Any:
    """Lay a table out for the terminal, with each data set's name in its first line only."""
    import rich.box
    import rich.table

    from linkselect.reproduction._agreement import agreement_text

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

    from linkselect.reproduction._agreement import unit_of
    from linkselect.reproduction._paper_page import shown, shown_difference

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


def _time_left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"
