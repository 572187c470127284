"""`linkselect pairs`: make, check, explain, evaluate and convert pairs."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from linkselect._messages import many, shortened
from linkselect.cli import _output as output
from linkselect.cli._choices import Seed, described, make_selector, method_named
from linkselect.cli._errors import InputError, UsageError, notes_of, problem_of, shown
from linkselect.cli._feature_count import number_typed
from linkselect.cli._made_pairs import (
    NO_DESIGN,
    Design,
    by_design,
    by_labels,
    check_options,
    source_of,
)
from linkselect.cli._preparation import DEFAULT_PREPARATION, Impute, Preparation, settle_values
from linkselect.cli._supervision_input import (
    absent_ids,
    check_supervision,
    explained,
    pairs_of,
    read_pairs,
)
from linkselect.cli._tables import DEFAULT_READING, Reading, Table, read_rows, read_table
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._terminal import SHORTEST_NAME, say, say_json, say_notes, text_table

if TYPE_CHECKING:
    from linkselect.evaluation._pair_worth import PairWorth
    from linkselect.pairs import Pairs

_FILES = (".csv", ".json")
# Number of printed pairs; files and JSON contain all.
_SHOWN = 20


def make(
    table: Path | None = None,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    design: Annotated[Design, Parameter(name="*")] = NO_DESIGN,
    must: int | None = None,
    cannot: int | None = None,
    seed: Seed = 0,
    out: Path,
) -> None:
    """Make pairs from columns that contain labels or describe the design of a study.

    With --label, must-links connect rows of the same class, and cannot-links connect rows of
    different classes. If --batch is also given, must-links connect rows of different batches, and
    cannot-links connect rows of the same batch. With --same and --different, separate columns
    define must-links and cannot-links. Rows with a missing value in one of these columns are
    skipped.

    Parameters
    ----------
    table
        The table that contains the columns; not needed with --metadata. If both are given, the
        columns of --label and --batch may be in either file.
    must
        The number of must-links to draw with --label. Default: all.
    cannot
        The number of cannot-links to draw with --label. Default: all.
    seed
        The random seed.
    out
        The file to write: .csv or .json.
    """
    output.check_target(out, "--out", _FILES)
    output.check_apart({"the table": table, "the metadata": read.metadata}, {"--out": out})
    check_options(read, design, must, cannot)
    source, read = source_of(table, read)
    if read.label is not None:
        drawn, notes = by_labels(source, read, must, cannot, seed)
    else:
        drawn, notes = by_design(source, read, design, seed)
    _write(drawn, out)
    named = "obs_names" if read.id_column is None else f"the ids of {shown(read.id_column)}"
    by_number = isinstance(next(iter(drawn.ids), 0), int)
    say(f"{out}: {_counted(drawn)}, by {'row numbers from 0' if by_number else named}.")
    say_notes(notes)


def check(
    pairs: Path,
    table: Path | None = None,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    json: bool = False,
) -> None:
    """Check pairs for conflicts and, given a table, for missing rows and coverage.

    The exit code is 1 if there are conflicts or missing rows.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json.
    table
        The table with the rows to which the pairs refer.
    json
        Print only JSON.
    """
    ids: Any = None
    if table is not None:
        data = read_rows(table, read)
        ids = range(data.X.shape[0]) if data.ids is None else data.ids
    found = read_pairs(pairs, by_id=not isinstance(ids, range))
    absent = [] if ids is None else absent_ids(found, ids)
    held = found if ids is None else found.restrict(ids)
    record = {**found.summary(ids), "adaptive": held.n_adaptive, "absent": absent}
    say_json(record) if json else say(_describe(held, record, pairs, table is not None))
    if record["conflicts"] or absent:
        raise InputError(_what_is_wrong(record, pairs))


def _describe(held: Pairs, record: dict[str, Any], path: Path, against_table: bool) -> str:
    lines = [
        f"{path.name}: {_counted(held)}, "
        f"{many(record['samples'], 'sample')}, "
        f"{many(record['components'], 'group')} joined by must-links."
    ]
    if against_table:
        lines.append(f"The pairs cover {100 * (record['coverage'] or 0):.1f} % of the rows.")
    if held.n_adaptive:
        lines.append(
            "Adaptive pairs were chosen by looking at the samples, so they cannot validate a "
            "ranking."
        )
    return "\n".join(lines)


def _what_is_wrong(record: dict[str, Any], path: Path) -> str:
    parts = []
    if record["absent"]:
        names = ", ".join(map(shown, record["absent"][:5]))
        lost = record["lost_must"] + record["lost_cannot"]
        parts.append(
            f"{many(len(record['absent']), 'sample')} not in the table ({names}), "
            f"so {many(lost, 'pair')} cannot be used"
        )
    if record["conflicts"]:
        parts.append(
            f"{many(record['conflicts'], 'cannot-link')} in conflict with the must-links; "
            f"`linkselect pairs explain {path}` lists them"
        )
    return f"{path.name}: {'; '.join(parts)}."


def explain(pairs: Path, /, *, limit: int | None = None, json: bool = False) -> None:
    """Explain conflicts by showing the chain of must-links that contradicts each cannot-link.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json.
    limit
        The maximum number of conflicts to explain. Default: all.
    json
        Print only JSON.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit} must be at least 1. Omit --limit to explain all.")
    found = read_pairs(pairs, by_id=True)
    conflicts = found.conflicts(limit)
    if json:
        say_json([{"cannot": one.cannot, "chain": one.chain} for one in conflicts])
        return
    if not found.n_conflicts:
        say(f"{pairs.name}: no conflicts in {many(found.n_must + found.n_cannot, 'pair')}.")
        return
    say(f"{pairs.name}: {many(found.n_conflicts, 'cannot-link')} in conflict with the must-links.")
    for conflict in conflicts:
        a, b = conflict.cannot
        chain = " = ".join(map(str, conflict.chain))
        say(f"\n{a} and {b} have a cannot-link, but must-links connect them:\n  {chain}")
        n_links = many(len(conflict.chain) - 1, "must-link")
        say(f"  Remove the cannot-link, or one link in this chain of {n_links}.")


def worth(
    pairs: Path,
    table: Path,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    method: str = "constraint",
    n_features: str = "auto",
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    prepare: Annotated[Preparation, Parameter(name="*")] = DEFAULT_PREPARATION,
    seed: Seed = 0,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Report how the ranking changes when each pair in turn is left out.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json.
    table
        The table with the rows to which the pairs refer.
    method
        The ranking method, which must use pairs; `linkselect methods` lists the methods.
    n_features
        The number of features to keep: a number, a fraction such as 0.1, or auto for half of them.
    settings
        A parameter of the method, such as sigma=1. Repeat the option for several parameters.
    seed
        The random seed, for methods that use one.
    out
        Write all pairs to this file: .csv, .tsv, .json, .parquet or .feather.
    json
        Print only JSON.
    """
    choice = method_named(method)
    selector = make_selector(choice, settings, seed=seed, scale=prepare.scale)
    about = described(selector)
    if about.sees != "pairs":
        raise UsageError(
            f"{choice.name} does not use pairs. `linkselect methods` lists methods that do."
        )
    data, links, notes = _read_both(pairs, table, read, out)
    selector.set_params(n_features_to_select=number_typed(n_features, data))
    notes += check_supervision({choice.name: selector}, data, links)
    data, prepare, more, _ = settle_values(data, prepare)
    notes += more
    from linkselect.evaluation import pair_worth

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Two arrays of pairs x features are returned, and a third is temporary.
        needed = 24 * (links.n_must + links.n_cannot) * len(data.names)
        TableFile(table, read).check_bytes(needed, "the result for all pairs")
        with explained(choice.options):
            found = pair_worth(selector, prepare.applied(data), links, data.ids)
    notes += notes_of(caught, selector.get_params(deep=False))
    # Pairs without which the features cannot be ranked come first.
    found.sort(key=lambda one: (one.rank_shift == one.rank_shift, -one.rank_shift))
    records = [_record(one, data) for one in found]
    unknown = "no ranking without it"
    if len(records) == 1:
        unknown = "the only pair, so nothing to compare"
    if json:
        say_json({"method": choice.name, "n_features": len(data.names), "pairs": records})
    else:
        say(
            f"Change in the ranking without each pair ({choice.name}, "
            f"{many(len(data.names), 'feature')}; -1 is one rank better):\n"
        )
        header = ["pair", "link", "mean shift", "replaced", "largest changes in rank"]
        _say_pairs(header, [_worth_row(one, unknown) for one in records], left=[0, 1, 4])
        say_notes(notes)
    _write_records(out, [{**one, "moved": _moved_text(one, unknown)} for one in records])


def _record(one: PairWorth, data: Table) -> dict[str, Any]:
    moved = [{"feature": data.names[at], "places": int(one.rank_change[at])} for at in one.moved]
    needed = not len(one.rank_change)
    return {
        "a": one.a,
        "b": one.b,
        "link": one.link,
        "rank_shift": None if needed else one.rank_shift,
        "n_replaced": None if needed else int(one.n_replaced),
        "moved": moved,
    }


def _moved_text(record: dict[str, Any], unknown: str, n_moved: int | None = None) -> str:
    """List the features whose rank changes, and each change; a minus sign means a better rank."""
    if record["rank_shift"] is None:
        return unknown
    moved, length = record["moved"][:n_moved], SHORTEST_NAME if n_moved else sys.maxsize
    return ", ".join(f"{shortened(one['feature'], length)} {one['places']:+d}" for one in moved)


def _worth_row(record: dict[str, Any], unknown: str) -> list[str]:
    shift, n_replaced = record["rank_shift"], record["n_replaced"]
    return [
        f"{record['a']} {record['b']}",
        record["link"],
        "-" if shift is None else f"{shift:.2f}",
        "-" if n_replaced is None else str(n_replaced),
        _moved_text(record, unknown, 3) or "none",
    ]


def suspects(
    pairs: Path,
    table: Path,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    impute: Impute = "median",
    out: Path | None = None,
    json: bool = False,
) -> None:
    """List pairs, sorted by how strongly the other pairs contradict them.

    Recheck the pairs at the top of the list. No pair is removed, because removing the most
    suspicious pairs did not improve rankings reliably.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json. They may contradict each other.
    table
        The table with the rows to which the pairs refer.
    impute
        The statistic that replaces missing values in each column; "none" reports them as an error.
    out
        Write all pairs to this file: .csv, .tsv, .json, .parquet or .feather.
    json
        Print only JSON.
    """
    data, links, notes = _read_both(pairs, table, read, out)
    data, prepare, more, _ = settle_values(data, Preparation("none", impute))
    notes += more
    from linkselect.evaluation import suspect_pairs

    with explained({}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs that are left out are in the notes already
        found = suspect_pairs(prepare.applied(data), links, data.ids)
    records = [one._asdict() for one in found]
    if json:
        say_json(records)
    else:
        say("Pairs, most suspicious first (above 0, a pair resembles pairs of the other kind):\n")
        rows = [
            [str(one.rank), f"{one.a} {one.b}", one.link, f"{one.suspicion:.3f}"] for one in found
        ]
        _say_pairs(["rank", "pair", "link", "suspicion"], rows, left=[1, 2])
        say("\nCheck the first pairs again. No pair was removed: this does not reliably help.")
        say_notes(notes)
    _write_records(out, records)


def _read_both(
    pairs: Path, table: Path, read: Reading, out: Path | None
) -> tuple[Table, Pairs, list[str]]:
    """Read the features of a table and the pairs of its rows; also return notes on both."""
    output.check_target(out, "--out", output.COLUMN_FILES)
    output.check_apart({"the pairs": pairs, "the table": table}, {"--out": out})
    data = read_table(table, read)
    links, notes = pairs_of(pairs, data)
    return data, links, [*data.notes, *notes]


def _say_pairs(header: list[str], rows: list[list[str]], left: list[int]) -> None:
    say(text_table(header, rows[:_SHOWN], left=left))
    more = len(rows) - _SHOWN
    if more > 0:
        say(f"  ... and {many(more, 'more pair')}; --out FILE writes them all.")


def _write_records(path: Path | None, records: list[dict[str, Any]]) -> None:
    if path is not None:
        output.write_columns(path, {key: [one[key] for one in records] for key in records[0]})


def convert(source: Path, target: Path, /) -> None:
    """Convert pairs between CSV and JSON.

    Parameters
    ----------
    source
        The pairs to read: .csv or .json.
    target
        The file to write: .csv or .json.
    """
    output.check_target(target, "The target", _FILES)
    output.check_apart({"the source": source}, {"The target": target})
    found = read_pairs(source, by_id=None)
    _write(found, target)
    say(f"{target}: {_counted(found)}.")


def _counted(pairs: Pairs) -> str:
    adaptive = f" ({pairs.n_adaptive} adaptive)" if pairs.n_adaptive else ""
    return f"{many(pairs.n_must, 'must-link')}, {many(pairs.n_cannot, 'cannot-link')}{adaptive}"


def _write(pairs: Pairs, path: Path) -> None:
    # Ids are read as text on the command line, so a CSV file may contain text ids such as 101.
    kept = str if all(isinstance(sample, str) for sample in pairs.ids) else None
    in_csv = partial(pairs.to_csv, id_type=kept)
    write = in_csv if path.suffix.lower() == ".csv" else pairs.to_json
    try:
        output.write_safely(path, write)
    except TypeError as error:
        raise InputError(
            f"{problem_of(error)} Write a .json file instead, or use text ids."
        ) from error
