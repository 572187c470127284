"""What is known about the rows of a table: labels and pairs, checked against the method."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from linkselect._messages import GuidedError, many
from linkselect.cli._choices import Choice, described
from linkselect.cli._errors import InputError, UsageError, problem_of, shown
from linkselect.cli._tables import Reading, Table
from linkselect.cli._tables.reading import TableFile
from linkselect.cli._tables.table import value_text

if TYPE_CHECKING:
    from linkselect.cli._preparation import Preparation
    from linkselect.pairs import Pairs
    from linkselect.selectors._method import Method

# Columns of these names are seldom features.
_LIKE_LABELS = {"class", "label", "labels", "target", "species", "diagnosis", "outcome", "y"}
_LIKE_IDS = {"id", "index", "sample_id", "patient_id", "sample", "patient", "unnamed: 0"}

# Labels imply pairs that grow with their square, which all methods but LinkSelector list.
MOST_WITH_PAIRS = 2000

# With fewer must-links or cannot-links than this, batches tell them apart by chance.
FEWEST_OF_EACH = 5

# What a JSON file of pairs looks like.
_FORM = '{"must": [[a, b]], "cannot": [[a, c]]}'


def labelled_rows(table: Table) -> str:
    """Tell whether "all", "some" or "no" rows have a label."""
    if table.labels is None:
        return "no"
    return "some" if None in table.labels else "all"


def about_rows(name: str, method: Method, table: Table) -> list[str]:
    """Say so if a method works on the labelled rows only."""
    if method.sees != "labels" or labelled_rows(table) != "some":
        return []
    n_labelled = int((table.codes() >= 0).sum())
    need, work = ("need", "they work") if " and " in name else ("needs", "it works")
    return [
        f"{name} {need} a label in every row, so {work} on the {n_labelled:,} labelled rows of "
        f"{len(table.codes()):,}. Methods that use the others too: link_selector, lsdf, scgs, "
        "similarity_constraint."
    ]


def check_supervision(name: str, method: Method, table: Table, pairs: Pairs | None) -> list[str]:
    """Refuse a method that lacks what it needs; return what should be said about its input.

    Parameters
    ----------
    name : str
        What the method is called on the command line.
    method : Method
        Its description; around another selector, it sees and needs what that one does.
    table, pairs
        What is there.
    """
    if pairs is not None and not pairs.ids:
        raise InputError("The file of pairs holds none. Write one in each line below a,b,link.")
    by_labels = "labels" in method.needs
    by_either = method.sees == "pairs" and method.needs and pairs is None
    if by_labels and table.labels is None:
        raise UsageError(
            f"{name} needs the class of each row. Name the column by --label COLUMN, or "
            "choose a method that needs no labels, such as laplacian."
        )
    if by_either and table.labels is None:
        raise UsageError(
            f"{name} needs pairs or labels. Give --pairs FILE, or --label COLUMN; "
            "link_selector, laplacian and variance need neither."
        )
    if pairs is None and method.sees != "nothing":
        _check_classes(name, table)
    return [*_unused(name, method, table, pairs is not None), *_suspect_columns(table)]


def _unused(name: str, method: Method, table: Table, has_pairs: bool) -> Iterator[str]:
    if has_pairs and method.sees != "pairs":
        yield f"{name} does not look at pairs."
    if table.labels is not None and method.sees == "nothing":
        yield f"{name} does not look at labels."


def together(selector: Any, table: Table, pairs: Pairs | None) -> tuple[Pairs | None, list[str]]:
    """Join pairs with the labels of a table for a method that looks at both, and say so."""
    from linkselect.pairs import Pairs
    from linkselect.selectors import LinkSelector

    if pairs is None or described(selector).sees != "pairs" or table.labels is None:
        return pairs, []
    codes = table.codes()
    ids = range(len(codes)) if table.ids is None else table.ids
    code_of = {sample: code for sample, code in zip(ids, codes.tolist(), strict=True) if code >= 0}
    present = pairs if table.ids is None else pairs.restrict(table.ids)
    n_pairs = many(present.n_must + present.n_cannot, "pair")
    n_labels = many(len(code_of), "label")
    if len(code_of) > MOST_WITH_PAIRS and not isinstance(selector, LinkSelector):
        return None, [
            f"{n_labels} are used and {n_pairs} are not: {type(selector).__name__} takes at most "
            f"{MOST_WITH_PAIRS:,} labels together with pairs, link_selector any number."
        ]
    if getattr(selector, "on_conflict", "raise") == "raise":
        _refuse_contradiction(present, code_of, table)
    joined = pairs | Pairs.from_labels(codes, sample_ids=ids)
    return joined, [f"{n_pairs} and {n_labels} are used together."]


def about_design(
    table: Table, pairs: Pairs | None, read: Reading, prepare: Preparation, tests: bool
) -> list[str]:
    """Say how groups and batches are used, and whether batches coincide with labels or pairs.

    Parameters
    ----------
    table, pairs
        What is known about the rows.
    read : Reading
        The names of the columns of groups and batches.
    prepare : Preparation
        Whether batches are centred.
    tests : bool
        Whether anything is tested against chance.
    """
    from linkselect._batches import about_batches

    notes = []
    for option, name, rows in (
        ("--group", read.group, "to hold a group out would hold a whole class out"),
        ("--batch", read.batch, "rows of a batch would all have one label"),
    ):
        if name is not None and name == read.label:
            raise UsageError(f"{option} {name} is the column of labels: {rows}. Name another one.")
    n_rows = table.X.shape[0]
    groups, batches = table.group_codes(), table.batch_codes()
    # That no two rows share a group or a batch is among the notes of the table.
    if groups is not None and len(set(groups)) < n_rows:
        notes.append(
            f"rows of the same {shown(read.group)} stay together wherever rows are held out or "
            f"drawn ({many(len(set(groups)), 'group')})."
        )
    if table.batches is None or batches is None or len(set(batches)) == n_rows:
        return notes
    if len(set(batches)) == 1:
        return [*notes, f"all rows have the same {shown(read.batch)}, so --batch changes nothing."]
    uses = ["their means are subtracted"] * prepare.center_batches
    uses += ["a test against chance exchanges rows only within a batch"] * tests
    unused = "nothing is tested against chance here, and --center-batches was not asked for"
    used = ", and ".join(uses) or unused
    notes.append(f"{shown(read.batch)} has {many(len(set(batches)), 'batch')}: {used}.")
    if table.labels is not None:
        coincide = about_batches(table.batches, table.labels)
    else:
        coincide = None if pairs is None else _about_batches_of_pairs(table.batches, table, pairs)
    return notes if coincide is None else [*notes, coincide]


def _about_batches_of_pairs(batches: NDArray[Any], table: Table, pairs: Pairs) -> str | None:
    """Say so if batches tell must-links from cannot-links."""
    ids = range(table.X.shape[0]) if table.ids is None else table.ids
    batch_of = {sample: batch for sample, batch in zip(ids, batches, strict=True) if batch}
    inside = [
        [batch_of[a] == batch_of[b] for a, b in some if {a, b} <= batch_of.keys()]
        for some in (pairs.must, pairs.cannot)
    ]
    if min(map(len, inside)) < FEWEST_OF_EACH or not all(inside[0]) or any(inside[1]):
        return None
    return (
        "Every must-link lies within a batch and every cannot-link between two, so a feature that "
        "differs between batches cannot be told from one that the pairs are about."
    )


def _refuse_contradiction(pairs: Pairs, code_of: Mapping[Hashable, int], table: Table) -> None:
    """Refuse must-links that join rows of different classes; all rows of both would be joined."""
    from linkselect.pairs import Pairs

    for group in pairs.components():
        by_code = {code_of[sample]: sample for sample in group if sample in code_of}
        if len(by_code) < 2:
            continue
        ends = tuple(by_code.values())[:2]
        (found,) = Pairs(pairs.must, [ends]).conflicts()
        row = "row " if table.ids is None else ""
        one, other = (
            f"{row}{end} has the label {shown(table.classes[code_of[end]])}" for end in found.cannot
        )
        raise InputError(
            f"Labels and pairs contradict each other: {one} and {other}, but must-links join them: "
            f"{' = '.join(map(str, found.chain))}. Correct the label or the pair, or leave out "
            "--label or --pairs."
        )


def _suspect_columns(table: Table) -> Iterator[str]:
    """Point to columns that were perhaps meant as ids, or as labels if no column is the label."""
    like_labels = _LIKE_LABELS if table.labels is None else set()
    for name in table.names:
        if name.casefold() in like_labels | _LIKE_IDS:
            option = "--id-column" if name.casefold() in _LIKE_IDS else "--label"
            yield (
                f"the column {shown(name)} is ranked as a feature; if it is none, pass "
                f"{option} {shown(name)} or --drop {shown(name)}."
            )
    for name in table.left_out:
        if name.casefold() in like_labels:
            yield f"if {shown(name)} holds the classes, pass --label {shown(name)}."
    if "-1" in table.classes and len(table.classes) > 2:
        yield "the label -1 is a class here; --unlabelled -1 makes it mean: no label."


def _check_classes(name: str, table: Table) -> None:
    if len(table.classes) != 1:
        return
    only = shown(table.classes[0])
    n_unlabelled = int((table.codes() < 0).sum())
    if not n_unlabelled:
        raise InputError(
            f"{table.source}: every row has the label {only}, but {name} compares classes."
        )
    raise InputError(
        f"{table.source}: only one class is labelled, {only}; {many(n_unlabelled, 'row')} count as "
        f"unlabelled, and {name} compares classes. Did NA, -1 or an empty cell mean a class? Then "
        "write another word for it, such as no, or leave --unlabelled and --missing out."
    )


def read_pairs(path: Path, by_id: bool | None) -> Pairs:
    """Read pairs from CSV or JSON: ids as text if `by_id`, row numbers if not, as is if None."""
    from linkselect.pairs import Pairs
    from linkselect.pairs._pair_sets import renamed_pairs

    if not path.is_file():
        raise InputError(f"There is no pairs file {path}.")
    if path.suffix.lower() not in (".csv", ".json"):
        raise InputError(
            f"{path.name}: pairs are read from .csv (a line a,b,link, then one line for each pair) "
            f"or .json ({_FORM})."
        )
    # Lists of JSON take about twenty times their text in memory, numbers from CSV less than ten.
    times = 20 if path.suffix.lower() == ".json" else 10
    TableFile(path).check_bytes(times * path.stat().st_size, "the file")
    try:
        if path.suffix.lower() == ".csv":
            pairs = Pairs.from_csv(path, id_type=None if by_id is None else str)
        else:
            pairs = Pairs.from_json(path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from error
    except TypeError as error:
        raise InputError(f"{path.name} does not have the form {_FORM}.") from error
    except (ValueError, RecursionError) as error:
        text = str(error).replace(str(path), path.name)
        raise InputError(text if path.name in text else f"{path.name}: {text}") from error
    if by_id is None:
        return pairs
    name = value_text if by_id else _row_number
    try:
        return renamed_pairs(pairs, name)
    except GuidedError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path.name} names rows like {shown(pairs.ids[0])}, but without --id-column pairs "
            "name row numbers from 0. Name the column that holds these ids by --id-column."
        ) from error


def _row_number(sample: Hashable) -> int:
    if isinstance(sample, bool) or not isinstance(sample, int | str):
        raise TypeError(f"{sample!r} is not a row number")
    return int(sample)


def absent_ids(pairs: Pairs, ids: Sequence[Hashable] | range) -> list[Hashable]:
    """List the ids that pairs use but the table lacks."""
    # Of row numbers, none has to be listed.
    present = ids if isinstance(ids, range) else set(ids)
    return [sample for sample in pairs.ids if sample not in present]


def pairs_of(path: Path, data: Table) -> tuple[Pairs, list[str]]:
    """Read pairs of the rows of a table; also return what should be said about them."""
    links = read_pairs(path, data.ids is not None)
    absent = absent_ids(links, range(data.X.shape[0]) if data.ids is None else data.ids)
    if not absent:
        return links, []
    if data.ids is None:
        raise InputError(
            f"{path.name} names row {absent[0]}, but {data.source} has the rows 0 to "
            f"{data.X.shape[0] - 1}. Pass --id-column if pairs are given by id."
        )
    held = links.restrict(data.ids)
    n_held, n_all = held.n_must + held.n_cannot, links.n_must + links.n_cannot
    what = (
        f"{n_all - n_held} of {n_all} pairs in {path.name} name rows that {data.source} does not "
        f"have, such as {shown(absent[0])}"
    )
    if n_held == 0:
        raise InputError(f"{what}. Rows are called {shown(data.ids[0])} and so on there.")
    return links, [f"{what}; they are left out."]


@contextmanager
def explained(
    options: Mapping[str, str], by_parts: bool = False, else_try: str = ""
) -> Iterator[None]:
    """Turn an error of the library about its input into one of the command line.

    Parameters
    ----------
    options : dict of str to str
        What to type for each parameter of the library that the command can set.
    by_parts : bool
        Whether the table is read meanwhile, so that its file may be at fault.
    else_try : str
        What to try if no parameter is at fault.
    """
    from sklearn.utils._param_validation import InvalidParameterError

    from linkselect.pairs import PairConflictError

    try:
        yield
    except PairConflictError as error:
        drop = options.get("on_conflict")
        hint = f"{drop} leaves these cannot-links out" if drop else "correct the file"
        shows = "`linkselect pairs explain FILE` shows all"
        raise InputError(f"{problem_of(error)} {shows}; {hint}.") from error
    except InvalidParameterError as error:
        raise UsageError(f"--set: {error}") from error
    except ValueError as error:
        at_fault = getattr(error, "parameter", "")
        hint = f"Set it by {options[at_fault]}." if at_fault in options else else_try
        if at_fault == "X" and not by_parts:
            hint = "Scale the features by --scale minmax, or leave some out by --drop."
        raise InputError(f"{problem_of(error)} {hint}".rstrip()) from error
    except GuidedError as error:
        raise InputError(problem_of(error)) from error


@contextmanager
def blamed(choices: Sequence[Choice]) -> Iterator[None]:
    """Tell apart what fails in a method of another library: it is not a fault of ours."""
    foreign = [choice.name for choice in choices if not choice.is_ours]
    try:
        yield
    except (ValueError, InputError, OSError, MemoryError):
        raise
    except Exception as error:
        if not foreign:
            raise
        raise InputError(
            f"{' or '.join(foreign)}, which is not a method of linkselect, failed: "
            f"{type(error).__name__}: {error}. --debug shows where."
        ) from error
