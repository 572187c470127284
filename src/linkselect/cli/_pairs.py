"""`linkselect pairs`: make, check, explain, weigh and convert pairs."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from linkselect._messages import many
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

if TYPE_CHECKING:
    from linkselect.evaluation._pair_worth import PairWorth
    from linkselect.pairs import Pairs

_FILES = (".csv", ".json")
# How many pairs are printed; files and JSON hold all.
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
    quiet: bool = False,
) -> None:
    """Make pairs of columns: of labels, or of the design of a study.

    With --label, must-links join rows of one class and cannot-links rows of two; with --batch as
    well, must-links join rows of different batches, and cannot-links rows of one. With --same and
    --different, each kind of links has a column of its own. Rows with a missing value are in no
    pair that asks for it.

    Parameters
    ----------
    table
        The table that holds the columns. Not needed with --metadata; with both, --label and --batch
        may be in either file.
    must
        With --label: how many must-links to draw. Without it: all.
    cannot
        With --label: how many cannot-links to draw. Without it: all.
    seed
        Where random draws start from.
    out
        Write the pairs here: .csv or .json.
    quiet
        Print nothing but errors.
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
    if not quiet:
        output.say_notes(notes)
        named = "obs_names" if read.id_column is None else f"the ids of {shown(read.id_column)}"
        by_number = isinstance(next(iter(drawn.ids), 0), int)
        output.say(f"{out}: {_counted(drawn)}, by {'row numbers from 0' if by_number else named}.")


def check(
    pairs: Path,
    table: Path | None = None,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    json: bool = False,
) -> None:
    """Check pairs against a table: coverage, conflicts, rows that are not there.

    It ends with 1 if there are conflicts or rows that are not there.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json.
    table
        The table whose rows they name.
    json
        Print JSON and nothing else.
    """
    ids: Any = None
    if table is not None:
        data = read_rows(table, read)
        ids = range(data.X.shape[0]) if data.ids is None else data.ids
    found = read_pairs(pairs, by_id=not isinstance(ids, range))
    absent = [] if ids is None else absent_ids(found, ids)
    held = found if ids is None else found.restrict(ids)
    record = {**found.summary(ids), "adaptive": held.n_adaptive, "absent": absent}
    output.say_json(record) if json else output.say(
        _describe(held, record, pairs, table is not None)
    )
    if record["conflicts"] or absent:
        raise InputError(_what_is_wrong(record, pairs))


def _describe(held: Pairs, record: dict[str, Any], path: Path, against_table: bool) -> str:
    lines = [
        f"{path.name}: {_counted(held)}, "
        f"{many(record['samples'], 'sample')}, "
        f"{many(record['components'], 'group')} joined by must-links."
    ]
    if against_table:
        lines.append(f"They touch {100 * (record['coverage'] or 0):.1f} % of the rows.")
    if held.n_adaptive:
        lines.append("Adaptive pairs were chosen by looking at the samples; others may validate.")
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
            f"{many(record['conflicts'], 'cannot-link')} against the must-links; "
            f"`linkselect pairs explain {path}` shows how"
        )
    return f"{path.name}: {'; '.join(parts)}."


def explain(pairs: Path, /, *, limit: int | None = None, json: bool = False) -> None:
    """Explain conflicts: the chain of must-links that contradicts each cannot-link.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json.
    limit
        Explain at most this many.
    json
        Print JSON and nothing else.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit}, but at least 1 is explained. Without it: all.")
    found = read_pairs(pairs, by_id=True)
    conflicts = found.conflicts(limit)
    if json:
        output.say_json([{"cannot": one.cannot, "chain": one.chain} for one in conflicts])
        return
    if not found.n_conflicts:
        output.say(f"{pairs.name}: no conflicts in {many(found.n_must + found.n_cannot, 'pair')}.")
        return
    output.say(f"{pairs.name}: {many(found.n_conflicts, 'cannot-link')} against the must-links.")
    for conflict in conflicts:
        a, b = conflict.cannot
        chain = " = ".join(map(str, conflict.chain))
        output.say(f"\n{a} and {b} cannot be together, but must-links join them:\n  {chain}")
        n_links = many(len(conflict.chain) - 1, "must-link")
        output.say(f"  Remove the cannot-link, or one link of this chain of {n_links}.")


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
    """Tell what each pair changes in a ranking: what would happen without it.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json.
    table
        The table whose rows they name.
    method
        How to rank, by a method that works from pairs; `linkselect methods` lists them.
    n_features
        How many features are kept: a number, a fraction such as 0.1, or auto, half of them.
    settings
        A parameter of the method, such as sigma=1. Give it once for each.
    seed
        Where random draws start from, in methods that make them.
    out
        Write all pairs here: .csv, .tsv, .json, .parquet or .feather.
    json
        Print JSON and nothing else.
    """
    choice = method_named(method)
    selector = make_selector(choice, settings, seed=seed, scale=prepare.scale)
    about = described(selector)
    if about.sees != "pairs":
        raise UsageError(f"{choice.name} does not look at pairs, so none changes its ranking.")
    data, links, notes = _read_both(pairs, table, read, out)
    selector.set_params(n_features_to_select=number_typed(n_features, data))
    notes += check_supervision(choice.name, about, data, links)
    data, prepare, more, _ = settle_values(data, prepare)
    notes += more
    from linkselect.evaluation import pair_worth

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Two arrays with an entry for each pair and feature are returned, a third is on the way.
        needed = 24 * (links.n_must + links.n_cannot) * len(data.names)
        TableFile(table, read).check_bytes(needed, "what each pair changes")
        with explained(choice.options):
            found = pair_worth(selector, prepare.applied(data), links, data.ids)
    notes += notes_of(caught, selector.get_params(deep=False))
    # A pair that the method cannot do without is worth most.
    found.sort(key=lambda one: (one.rank_shift == one.rank_shift, -one.rank_shift))
    records = [_record(one, data) for one in found]
    unknown = "cannot be ranked without it"
    if len(records) == 1:
        unknown = "the only pair: nothing to compare with"
    if json:
        output.say_json({"method": choice.name, "n_features": len(data.names), "pairs": records})
    else:
        output.say_notes(notes)
        output.say(
            f"What would change without each pair, by {choice.name} on "
            f"{many(len(data.names), 'feature')} (-1: one place better):\n"
        )
        header = ["pair", "link", "mean shift", "replaced", "features that would move most, places"]
        _say_pairs(header, [_worth_row(one, unknown) for one in records], left=[0, 1, 4])
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
    """Name the features that would move, with their places: - is towards the best."""
    if record["rank_shift"] is None:
        return unknown
    moved = record["moved"][:n_moved]
    return ", ".join(f"{one['feature']} {one['places']:+d}" for one in moved)


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
    """List the pairs that the other pairs speak against, to ask again about the first.

    Nothing is dropped, and dropping the first was not found to help.

    Parameters
    ----------
    pairs
        The pairs: .csv or .json. They may contradict each other.
    table
        The table whose rows they name.
    impute
        What to put where a value is missing, by column; `none` refuses missing values.
    out
        Write all pairs here: .csv, .tsv, .json, .parquet or .feather.
    json
        Print JSON and nothing else.
    """
    data, links, notes = _read_both(pairs, table, read, out)
    data, prepare, more, _ = settle_values(data, Preparation("none", impute))
    notes += more
    from linkselect.evaluation import suspect_pairs

    with explained({}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs that are left out are among the notes
        found = suspect_pairs(prepare.applied(data), links, data.ids)
    records = [one._asdict() for one in found]
    if json:
        output.say_json(records)
    else:
        output.say_notes(notes)
        output.say(
            "Pairs that the other pairs speak against; above 0 a pair looks like the other kind:\n"
        )
        rows = [
            [str(one.rank), f"{one.a} {one.b}", one.link, f"{one.suspicion:.3f}"] for one in found
        ]
        _say_pairs(["rank", "pair", "link", "suspicion"], rows, left=[1, 2])
        output.say(
            "\nAsk again about the first. Nothing was dropped: that gained nothing reliable."
        )
    _write_records(out, records)


def _read_both(
    pairs: Path, table: Path, read: Reading, out: Path | None
) -> tuple[Table, Pairs, list[str]]:
    """Read a table with its features, the pairs of its rows, and what to say about them."""
    output.check_target(out, "--out", output.COLUMN_FILES)
    output.check_apart({"the pairs": pairs, "the table": table}, {"--out": out})
    data = read_table(table, read)
    links, notes = pairs_of(pairs, data)
    return data, links, [*data.notes, *notes]


def _say_pairs(header: list[str], rows: list[list[str]], left: list[int]) -> None:
    output.say(output.text_table(header, rows[:_SHOWN], left=left))
    more = len(rows) - _SHOWN
    if more > 0:
        output.say(f"  ... and {many(more, 'more pair')}; --out FILE writes all.")


def _write_records(path: Path | None, records: list[dict[str, Any]]) -> None:
    if path is not None:
        output.write_columns(path, {key: [one[key] for one in records] for key in records[0]})


def convert(source: Path, target: Path, /, *, quiet: bool = False) -> None:
    """Convert pairs between CSV and JSON.

    Parameters
    ----------
    source
        The pairs to read: .csv or .json.
    target
        Where to write them: .csv or .json.
    quiet
        Print nothing but errors.
    """
    output.check_target(target, "The target", _FILES)
    output.check_apart({"the source": source}, {"The target": target})
    found = read_pairs(source, by_id=None)
    _write(found, target)
    if not quiet:
        output.say(f"{target}: {_counted(found)}.")


def _counted(pairs: Pairs) -> str:
    adaptive = f" ({pairs.n_adaptive} adaptive)" if pairs.n_adaptive else ""
    return f"{many(pairs.n_must, 'must-link')}, {many(pairs.n_cannot, 'cannot-link')}{adaptive}"


def _write(pairs: Pairs, path: Path) -> None:
    # Ids of a table are text here, and are read as such: so CSV may hold text like 101.
    kept = str if all(isinstance(sample, str) for sample in pairs.ids) else None
    in_csv = partial(pairs.to_csv, id_type=kept)
    write = in_csv if path.suffix.lower() == ".csv" else pairs.to_json
    try:
        output.write_safely(path, write)
    except TypeError as error:
        raise InputError(
            f"{problem_of(error)} Write a .json file instead, or name the samples by text."
        ) from error
