"""`linkselect reproduce`: the tables and figures of a paper, compared with the published ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from linkselect.cli._choices import Seed
from linkselect.cli._errors import InputError, UsageError, nearest
from linkselect.cli._terminal import progress, say, text_table

if TYPE_CHECKING:
    from linkselect.reproduction import Made
    from linkselect.reproduction._paper import Cell, Claim, Paper, PaperTable

# The papers have 100. All runs are listed before the first starts, so there must be a limit.
_MOST_RUNS = 10_000


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
    """Repeat the experiments of a paper, and compare the results with the published numbers.

    Each finished run is saved in OUT/results.sqlite. After an interruption, the same command
    resumes. Several processes may share the same folder.

    Parameters
    ----------
    paper
        constraint-score-2008, sparsity-score-2012, frll-2013 or similarity-constraint-score-2020.
    table
        Reproduce only the table with this number. Default: all tables and figures.
    figure
        Reproduce only the figure with this number.
    runs
        The number of repetitions. Default: as in the paper.
    jobs
        The number of processes. Default: one per core. The results do not depend on this number.
    data_dir
        The folder with the data sets. Default: the folder LINKSELECT_DATA, or else the cache of
        downloaded sets.
    out
        The folder for results. Default: reproduction/PAPER.
    seed
        The random seed.
    """
    from linkselect.reproduction._papers import PAPERS, load_paper

    if paper not in PAPERS:
        raise UsageError(f"There is no paper {paper!r}. {nearest(paper, PAPERS)}")
    if table is not None and figure is not None:
        raise UsageError("Give --table or --figure, not both. Omit both to compute all results.")
    if runs is not None and runs > _MOST_RUNS:
        raise UsageError(f"--runs {runs:,} is too large. Choose at most {_MOST_RUNS:,}.")
    _check_folder(data_dir)
    import joblib

    from linkselect.reproduction import make

    everything = table is None and figure is None
    folder = Path("reproduction") / paper if out is None else out
    with _command_errors(folder), progress(sys.stderr.isatty(), time_left=False) as report:
        made = make(
            paper,
            tables=None if everything else [] if table is None else [table],
            figures=None if everything else [] if figure is None else [figure],
            runs=runs,
            jobs=int(joblib.cpu_count()) if jobs is None else jobs,
            data_dir=data_dir,
            out=folder,
            seed=seed,
            progress=lambda one: report(one.done, one.total, _time_left(one.seconds_left)),
        )
    _show(made, load_paper(paper))


def _check_folder(data_dir: Path | None) -> None:
    """Raise an error for a missing data folder, instead of searching for the data elsewhere."""
    named = data_dir or os.environ.get("LINKSELECT_DATA")
    if named and not Path(named).is_dir():
        option = "--data-dir" if data_dir else "LINKSELECT_DATA"
        raise InputError(f"There is no folder {str(named)!r} ({option}).")


@contextmanager
def _command_errors(folder: Path) -> Iterator[None]:
    """Convert errors of the reproduction to errors of the command line."""
    from linkselect._messages import GuidedValueError
    from linkselect.reproduction._results_folder import STORE_FILE, FolderError
    from linkselect.reproduction._runs import UnitError, WorkerError
    from linkselect.reproduction._store import StoreError

    try:
        yield
    except FolderError as error:
        raise InputError(f"{error.problem} Choose another folder with --out.") from error
    except GuidedValueError as error:
        raise UsageError(error.problem) from error
    except (UnitError, StoreError, WorkerError, ImportError) as error:
        raise InputError(str(error)) from error
    except KeyboardInterrupt:
        kept = folder / STORE_FILE
        say(f"Finished runs are saved in {kept}; run the same command to resume.", error=True)
        raise


# -- what is printed ------------------------------------------------------------------------------


def _show(made: Made, paper: Paper) -> None:
    from linkselect.reproduction._agreement import agreement_text

    for number, cells in made.cells.items():
        table = paper.tables[number]
        record = made.records[table.name]
        say(f"{table.name}. {table.title} ({table.unit_name})\n")
        say(_table_text(table, cells))
        say(f"\n{agreement_text(cells, table.unit_name)} ({record.runs})")
        _say_claims(record.claims)
    for number, (png, svg) in made.pictures.items():
        figure = paper.figures[number]
        record = made.records[figure.name]
        say(f"{figure.name}. {figure.title} ({record.runs})\n  {png}\n  {svg}")
        _say_claims(record.claims)
    say(f"All results are in {made.folder}; start with {made.page.name}.")


def _table_text(table: PaperTable, cells: Sequence[Cell]) -> str:
    """Format a table, with the name of each data set only in its first row."""
    from linkselect.reproduction._agreement import unit_of
    from linkselect.reproduction._paper_page import shown, shown_difference

    rows = []
    before = ""
    for cell in cells:
        unit = unit_of(cell, table.unit_name)
        rows.append(
            {
                "data set": "" if cell.dataset == before else cell.dataset,
                "method": table.shown_method(cell.method),
                "setting": cell.setting,
                "features": str(cell.n_features or ""),
                "published": shown(cell.published, unit),
                "ours": shown(cell.ours, unit),
                "difference": shown_difference(cell, unit),
            }
        )
        before = cell.dataset
    header = [name for name in rows[0] if any(row[name] for row in rows)]
    n_texts = len(header) - 3
    return text_table(header, [[row[name] for name in header] for row in rows], range(n_texts))


def _say_claims(claims: Sequence[Claim]) -> None:
    for claim in claims:
        say(f"  {'held' if claim.held else 'not held'}: {claim.text} ({claim.found})")
    say()


def _time_left(seconds: float | None) -> str:
    return "" if seconds is None else f"{timedelta(seconds=round(seconds))} left"
