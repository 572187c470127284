"""A labelling as plain data: what is stored, and the checks when it comes back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkselect._messages import GuidedValueError
from linkselect.asking._answers import Answer, check_answer
from linkselect.asking._known import Rows
from linkselect.asking._names import Names

VERSION = 1
FIELDS = ("strategy", "seed", "n_samples", "n_features", "given", "answers", "names")


def plain(answers: Iterable[Answer], names: Names) -> list[list[Any]]:
    """Return answers as lists of two rows and a word."""
    return [[*names.rows(one.pair), one.answer] for one in answers]


def check_state(state: Any) -> None:
    """Refuse what has not the parts of a state."""
    if not isinstance(state, dict) or "version" not in state:
        raise no_state("it has no version")
    if state["version"] != VERSION:
        raise GuidedValueError(
            f"The state has version {state['version']!r}, but this linkselect reads {VERSION}.",
            "Use the version of linkselect that wrote it.",
            "state",
        )
    missing = [name for name in FIELDS if name not in state]
    if missing:
        raise no_state(f"it has no {missing[0]}")


def check_samples_are_those(state: dict[str, Any], shape: tuple[int, int], names: Names) -> None:
    """Refuse other samples than those that the state is about."""
    stored = state["n_samples"], state["n_features"]
    if shape != stored:
        raise GuidedValueError(
            f"The state is of {stored[0]} samples with {stored[1]} features, but X has "
            f"{shape[0]} rows and {shape[1]} columns.",
            "Pass the X that was asked about.",
            "X",
        )
    here = {str(row): repr(sample) for row, sample in enumerate(names.ids)}
    for row, name in dict(state["names"]).items():
        if row not in here:
            raise no_state(f"it names row {row}")
        if here[row] != name:
            raise GuidedValueError(
                f"In the state row {row} is the sample {name}, but here it is {here[row]}.",
                "Pass the same samples in the same order, with the same sample_ids.",
                "sample_ids",
            )


def adaptive_rows(state: dict[str, Any]) -> set[Rows]:
    """Return the rows, smaller first, of the pairs that were chosen by looking at the samples."""
    chosen = state.get("adaptive")
    try:
        if chosen is None:  # written when no question was drawn, except by the strategy random
            answers = state["answers"] if state["strategy"] != "random" else ()
            chosen = [(a, b) for a, b, _ in answers]
        return {(min(a, b), max(a, b)) for a, b in chosen}
    except (TypeError, ValueError) as error:
        raise no_state(f"its adaptive pairs cannot be read ({error})") from error


def read_answers(said: Any, names: Names, adaptive: set[Rows]) -> dict[Rows, Answer]:
    """Read what `plain` wrote."""
    found: dict[Rows, Answer] = {}
    try:
        for a, b, answer in said:
            if min(a, b) < 0:
                raise IndexError(min(a, b))
            pair = names.checked((names.ids[a], names.ids[b]))
            key = names.key(pair)
            found[key] = Answer(pair, check_answer(answer), key in adaptive)
    except (TypeError, ValueError, IndexError) as error:
        raise no_state(f"its answers cannot be read ({error})") from error
    return found


def no_state(why: str) -> GuidedValueError:
    """Say why something is no state."""
    return GuidedValueError(
        f"This is no state of PairQueries: {why}.", "Pass what state() returned.", "state"
    )
