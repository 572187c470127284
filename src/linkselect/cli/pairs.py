"""`linkselect pairs`: make, check, explain and convert pairs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from linkselect.cli.errors import InputError, UsageError, shown
from linkselect.cli.output import check_apart, check_target, say, say_json, write_safely
from linkselect.cli.startup import without_pandas
from linkselect.cli.supervision_input import absent_ids, explained, read_pairs
from linkselect.cli.tables import DEFAULT_READING, Reading, read_rows
from linkselect.messages import many

if TYPE_CHECKING:
    from linkselect.pairs import Pairs

__all__ = ["check", "convert", "explain", "make"]

_FILES = (".csv", ".json")


def make(
    table: Path,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    must: int | None = None,
    cannot: int | None = None,
    seed: int = 0,
    out: Path,
    quiet: bool = False,
) -> None:
    """Draw pairs from the labels of a table.

    Parameters
    ----------
    table
        The table, with --label; rows without a label are in no pair.
    must
        How many must-links to draw. Without it: all.
    cannot
        How many cannot-links to draw. Without it: all.
    seed
        Where random draws start from.
    out
        Write the pairs here: .csv or .json.
    quiet
        Print nothing but errors.
    """
    check_target(out, "--out", _FILES)
    check_apart({"the table": table}, {"--out": out})
    if read.label is None:
        raise UsageError("Pairs are drawn from labels. Name their column by --label.")
    data = read_rows(table, read)
    with without_pandas():
        from linkselect.pairs import Pairs
    with explained({"n_must": "--must", "n_cannot": "--cannot"}):
        drawn = Pairs.from_labels(
            data.codes(), sample_ids=data.ids, n_must=must, n_cannot=cannot, random_state=seed
        )
    _write(drawn, out)
    if not quiet:
        named = "row numbers from 0" if data.ids is None else f"the ids of {shown(read.id_column)}"
        say(f"{out}: {_counted(drawn.n_must, drawn.n_cannot)}, by {named}.")


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
    data = None if table is None else read_rows(table, read)
    by_id = data is None or data.ids is not None
    found = read_pairs(pairs, by_id)
    ids: Any = None
    if data is not None:
        ids = range(data.X.shape[0]) if data.ids is None else data.ids
    absent = [] if ids is None else absent_ids(found, ids)
    record = {**found.summary(ids), "absent": absent}
    say_json(record) if json else say(_describe(record, pairs, data is not None))
    if record["conflicts"] or absent:
        raise InputError(_what_is_wrong(record, pairs))


def _describe(record: dict[str, Any], path: Path, against_table: bool) -> str:
    lines = [
        f"{path.name}: {_counted(record['must'], record['cannot'])}, "
        f"{many(record['samples'], 'sample')}, "
        f"{many(record['components'], 'group')} joined by must-links."
    ]
    if against_table:
        lines.append(f"They touch {100 * (record['coverage'] or 0):.1f} % of the rows.")
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
        say_json([{"cannot": one.cannot, "chain": one.chain} for one in conflicts])
        return
    if not found.n_conflicts:
        say(f"{pairs.name}: no conflicts in {many(found.n_must + found.n_cannot, 'pair')}.")
        return
    say(f"{pairs.name}: {many(found.n_conflicts, 'cannot-link')} against the must-links.")
    for conflict in conflicts:
        a, b = conflict.cannot
        chain = " = ".join(map(str, conflict.chain))
        say(f"\n{a} and {b} cannot be together, but must-links join them:\n  {chain}")
        n_links = many(len(conflict.chain) - 1, "must-link")
        say(f"  Remove the cannot-link, or one link of this chain of {n_links}.")


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
    check_target(target, "The target", _FILES)
    check_apart({"the source": source}, {"The target": target})
    found = read_pairs(source, by_id=None)
    _write(found, target)
    if not quiet:
        say(f"{target}: {_counted(found.n_must, found.n_cannot)}.")


def _counted(n_must: int, n_cannot: int) -> str:
    return f"{many(n_must, 'must-link')}, {many(n_cannot, 'cannot-link')}"


def _write(pairs: Pairs, path: Path) -> None:
    # Ids of a table are text here, and are read as such: so CSV may hold text like 101.
    kept = str if all(isinstance(sample, str) for sample in pairs.ids) else None
    in_csv = partial(pairs.to_csv, id_type=kept)
    write = in_csv if path.suffix.lower() == ".csv" else pairs.to_json
    try:
        write_safely(path, write)
    except TypeError as error:
        raise InputError(str(error)) from error
