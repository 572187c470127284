"""Read labels and pairs of rows, and check that they suit the methods."""

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

# Columns with these names are rarely features.
_LIKE_LABELS = {"class", "label", "labels", "target", "species", "diagnosis", "outcome", "y"}
_LIKE_IDS = {"id", "index", "sample_id", "patient_id", "sample", "patient", "unnamed: 0"}

# The number of pairs that labels imply grows quadratically, and only LinkSelector does not list
# them.
MOST_WITH_PAIRS = 2000

# With fewer must-links or cannot-links than this, batches may separate them by chance.
FEWEST_OF_EACH = 5

# The form of a JSON file of pairs.
_FORM = '{"must": [[a, b]], "cannot": [[a, c]]}'


def labelled_rows(table: Table) -> str:
    """Return "all", "some" or "no", depending on how many rows have a label."""
    if table.labels is None:
        return "no"
    return "some" if None in table.labels else "all"


def about_rows(selectors: Mapping[str, Any], table: Table) -> list[str]:
    """Return a note on the methods that use only the labelled rows."""
    names = [name for name, one in selectors.items() if described(one).sees == "labels"]
    if not names or labelled_rows(table) != "some":
        return []
    known = table.codes() >= 0
    return [
        f"{_listed(names)} use{'s' * (len(names) == 1)} only the labelled rows ({known.sum():,} "
        f"of {len(known):,}). link_selector, lsdf, scgs and similarity_constraint use all rows."
    ]


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def check_supervision(selectors: Mapping[str, Any], table: Table, pairs: Pairs | None) -> list[str]:
    """Check that methods have the supervision they require; return notes on labels and pairs.

    Parameters
    ----------
    selectors : mapping of str to selector
        The methods, keyed by their names on the command line.
    table, pairs
        The table with its labels, and the pairs.
    """
    if pairs is not None and not pairs.ids:
        raise InputError("The pairs file is empty. Add one pair per line below the line a,b,link.")
    methods = {name: described(selector) for name, selector in selectors.items()}
    for name, method in methods.items():
        by_either = method.sees == "pairs" and method.needs and pairs is None
        if "labels" in method.needs and table.labels is None:
            raise UsageError(
                f"{name} requires labels. Specify the label column with --label COLUMN, or choose "
                "a method that does not use labels, such as laplacian."
            )
        if by_either and table.labels is None:
            raise UsageError(
                f"{name} requires pairs or labels. Pass --pairs FILE or --label COLUMN, or choose "
                "link_selector, laplacian or variance, which require neither."
            )
        if pairs is None and method.sees != "nothing":
            _check_classes(name, table)
    return [*_unused(methods, table, pairs is not None), *_suspect_columns(table)]


def _unused(methods: Mapping[str, Method], table: Table, has_pairs: bool) -> list[str]:
    """Return one note on all methods that ignore labels or pairs."""
    ignoring: dict[str, list[str]] = {}
    for name, method in methods.items():
        unused = ["labels"] * (table.labels is not None and method.sees == "nothing")
        unused += ["pairs"] * (has_pairs and method.sees != "pairs")
        ignoring.setdefault(" and ".join(unused), []).append(name)
    parts = [
        f"{_listed(names)} ignore{'s' * (len(names) == 1)} {unused}"
        for unused, names in ignoring.items()
        if unused
    ]
    return [f"{'; '.join(parts)}."] if parts else []


def together(selector: Any, table: Table, pairs: Pairs | None) -> tuple[Pairs | None, list[str]]:
    """Combine pairs with the labels of a table if a method uses both; also return notes."""
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
            f"Ignored {n_pairs}: {type(selector).__name__} can combine pairs with at most "
            f"{MOST_WITH_PAIRS:,} labels, but there are {n_labels}. link_selector has no limit."
        ]
    if getattr(selector, "on_conflict", "raise") == "raise":
        _refuse_contradiction(present, code_of, table)
    joined = pairs | Pairs.from_labels(codes, sample_ids=ids)
    return joined, [f"{n_pairs} and {n_labels} are used together."]


def about_design(
    table: Table, pairs: Pairs | None, read: Reading, prepare: Preparation, tests: bool
) -> list[str]:
    """Return notes on the use of groups and batches, and on batches that coincide with classes.

    Parameters
    ----------
    table, pairs
        The table with its labels, and the pairs.
    read : Reading
        The names of the group and batch columns.
    prepare : Preparation
        Whether batches are centred.
    tests : bool
        Whether the command performs tests against chance.
    """
    from linkselect._batches import about_batches

    notes = []
    for option, name, rows in (
        ("--group", read.group, "holding out a group would hold out a whole class"),
        ("--batch", read.batch, "all rows of a batch would have the same label"),
    ):
        if name is not None and name == read.label:
            raise UsageError(f"{option} {name} is the label column: {rows}. Choose another.")
    n_rows = table.X.shape[0]
    groups, batches = table.group_codes(), table.batch_codes()
    # If no two rows share a group or a batch, the notes of the table already report this.
    if groups is not None and len(set(groups)) < n_rows:
        notes.append(
            f"Rows with the same {shown(read.group)} are kept together in every split and resample "
            f"({many(len(set(groups)), 'group')})."
        )
    if table.batches is None or batches is None or len(set(batches)) == n_rows:
        return notes
    if len(set(batches)) == 1:
        return [*notes, f"All rows have the same {shown(read.batch)}, so --batch has no effect."]
    uses = ["the mean of each batch is subtracted"] * prepare.center_batches
    uses += ["tests against chance permute rows only within a batch"] * tests
    used = ", and ".join(uses) or "pass --center-batches to use them"
    notes.append(f"{shown(read.batch)} has {many(len(set(batches)), 'batch')}: {used}.")
    if table.labels is not None:
        coincide = about_batches(table.batches, table.labels)
    else:
        coincide = None if pairs is None else _about_batches_of_pairs(table.batches, table, pairs)
    return notes if coincide is None else [*notes, coincide]


def _about_batches_of_pairs(batches: NDArray[Any], table: Table, pairs: Pairs) -> str | None:
    """Return a note if all must-links are within batches and all cannot-links between batches."""
    ids = range(table.X.shape[0]) if table.ids is None else table.ids
    batch_of = {sample: batch for sample, batch in zip(ids, batches, strict=True) if batch}
    inside = [
        [batch_of[a] == batch_of[b] for a, b in some if {a, b} <= batch_of.keys()]
        for some in (pairs.must, pairs.cannot)
    ]
    if min(map(len, inside)) < FEWEST_OF_EACH or not all(inside[0]) or any(inside[1]):
        return None
    return (
        "Every must-link is within a batch and every cannot-link is between batches, so batch "
        "effects cannot be distinguished from the differences that the pairs describe."
    )


def _refuse_contradiction(pairs: Pairs, code_of: Mapping[Hashable, int], table: Table) -> None:
    """Raise an error if must-links join rows of different classes."""
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
            f"{' = '.join(map(str, found.chain))}. Correct the label or the pair, or omit --label "
            "or --pairs."
        )


def _suspect_columns(table: Table) -> Iterator[str]:
    """Yield notes on columns that may contain IDs, or labels if no label column was specified."""
    like_labels = _LIKE_LABELS if table.labels is None else set()
    suspects = [name for name in table.names if name.casefold() in like_labels | _LIKE_IDS]
    if suspects:
        options = [
            f"--{'id-column' if name.casefold() in _LIKE_IDS else 'label'} {shown(name)}, "
            for name in suspects
        ]
        listed = ", ".join(map(shown, suspects))
        yield f"These columns may not be features: {listed}. Pass {''.join(options)}or --drop."
    if labels := [shown(name) for name in table.left_out if name.casefold() in like_labels]:
        yield f"If {labels[0]} contains class labels, pass --label {labels[0]}."
    if "-1" in table.classes and len(table.classes) > 2:
        yield "The label -1 is treated as a class. If it means unlabelled, pass --unlabelled -1."


def _check_classes(name: str, table: Table) -> None:
    if len(table.classes) != 1:
        return
    only = shown(table.classes[0])
    n_unlabelled = int((table.codes() < 0).sum())
    if not n_unlabelled:
        raise InputError(
            f"{table.source}: every row has the label {only}, but {name} needs two or more classes."
        )
    raise InputError(
        f"{table.source}: the only label is {only} (unlabelled: {many(n_unlabelled, 'row')}), but "
        f"{name} needs two or more classes. If NA, -1 or an empty cell denotes a class, replace it "
        "with a name such as no, or omit --unlabelled and --missing."
    )


def read_pairs(path: Path, by_id: bool | None) -> Pairs:
    """Read pairs from CSV or JSON.

    IDs are text if `by_id` is True, row numbers if it is False, and unchanged if it is None.
    """
    from linkselect.pairs import Pairs
    from linkselect.pairs._pair_sets import renamed_pairs

    if not path.is_file():
        raise InputError(f"The pairs file {path} does not exist.")
    if path.suffix.lower() not in (".csv", ".json"):
        raise InputError(
            f"{path.name}: pairs must be in a .csv file (the header a,b,link, then one line per "
            f"pair) or a .json file ({_FORM})."
        )
    # Lists from JSON take about 20 times as much memory as their text, numbers from CSV below 10.
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
            f"{path.name} contains IDs such as {shown(pairs.ids[0])}, but without --id-column, "
            "pairs must contain row numbers, starting at 0. Specify the ID column with --id-column."
        ) from error


def _row_number(sample: Hashable) -> int:
    if isinstance(sample, bool) or not isinstance(sample, int | str):
        raise TypeError(f"{sample!r} is not a row number")
    return int(sample)


def absent_ids(pairs: Pairs, ids: Sequence[Hashable] | range) -> list[Hashable]:
    """Return the IDs in pairs that do not occur in the table."""
    # A range finds row numbers without a set.
    present = ids if isinstance(ids, range) else set(ids)
    return [sample for sample in pairs.ids if sample not in present]


def pairs_of(path: Path, data: Table) -> tuple[Pairs, list[str]]:
    """Read pairs of rows of a table, and return them with notes."""
    links = read_pairs(path, data.ids is not None)
    absent = absent_ids(links, range(data.X.shape[0]) if data.ids is None else data.ids)
    if not absent:
        return links, []
    if data.ids is None:
        raise InputError(
            f"{path.name} refers to row {absent[0]}, but {data.source} has rows 0 to "
            f"{data.X.shape[0] - 1}. If these are IDs, specify the ID column with --id-column."
        )
    held = links.restrict(data.ids)
    n_held, n_all = held.n_must + held.n_cannot, links.n_must + links.n_cannot
    what = (
        f"{n_all - n_held} of {n_all} pairs in {path.name} contain IDs that are not in "
        f"{data.source}, such as {shown(absent[0])}"
    )
    if n_held == 0:
        raise InputError(f"{what}. For example, {shown(data.ids[0])} is a valid ID.")
    return links, [f"{what}; these pairs are ignored."]


@contextmanager
def explained(
    options: Mapping[str, str], by_parts: bool = False, else_try: str = ""
) -> Iterator[None]:
    """Convert library errors about invalid input to errors of the command line.

    Parameters
    ----------
    options : dict of str to str
        The command-line option that sets each parameter of the library.
    by_parts : bool
        Whether the table is read in parts, so that its file may be the cause of an error.
    else_try : str
        Advice to append if no parameter is the cause of the error.
    """
    from sklearn.utils._param_validation import InvalidParameterError

    from linkselect.pairs import PairConflictError

    try:
        yield
    except PairConflictError as error:
        drop = options.get("on_conflict")
        hint = f"{drop} ignores these cannot-links" if drop else "correct the file"
        shows = "`linkselect pairs explain FILE` shows all conflicts"
        raise InputError(f"{problem_of(error)} {shows}; {hint}.") from error
    except InvalidParameterError as error:
        raise UsageError(f"--set: {error}") from error
    except ValueError as error:
        at_fault = getattr(error, "parameter", "")
        hint = f"Set it with {options[at_fault]}." if at_fault in options else else_try
        if at_fault == "X" and not by_parts:
            hint = "Scale the features with --scale minmax, or leave some out with --drop."
        raise InputError(f"{problem_of(error)} {hint}".rstrip()) from error
    except GuidedError as error:
        raise InputError(problem_of(error)) from error


@contextmanager
def blamed(choices: Sequence[Choice]) -> Iterator[None]:
    """Attribute unexpected errors to methods of other libraries, if there are any."""
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
            f"{type(error).__name__}: {error}. Pass --debug to see the traceback."
        ) from error
