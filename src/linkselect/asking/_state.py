"""A labelling as plain data: what is stored, and the checks when it comes back."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from linkselect._messages import GuidedValueError
from linkselect.asking._answers import Answer, Rows, check_answer, in_order, know
from linkselect.asking._asked_samples import SampleNames

VERSION = 1
FIELDS = ("strategy", "seed", "n_samples", "n_features", "given", "answers", "names")


def plain(answers: Iterable[Answer], names: SampleNames) -> list[list[Any]]:
    """Return answers as lists of two rows and a word."""
    return [[*names.rows(one.pair), one.answer] for one in answers]


def check_state(state: Any) -> None:
    """Refuse what has not the parts of a state."""
    if not isinstance(state, dict) or "version" not in state:
        raise _no_state("it has no version")
    if state["version"] != VERSION:
        raise GuidedValueError(
            f"The state has version {state['version']!r}, but this linkselect reads {VERSION}.",
            "Use the version of linkselect that wrote it.",
            "state",
        )
    missing = [name for name in FIELDS if name not in state]
    if missing:
        raise _no_state(f"it has no {missing[0]}")


def _check_samples(state: dict[str, Any], shape: tuple[int, int], names: SampleNames) -> None:
    """Refuse other samples than those that the state is about."""
    stored = state["n_samples"], state["n_features"]
    if shape != stored:
        raise GuidedValueError(
            f"The answers are about {stored[0]:,} samples with {stored[1]:,} features, but here "
            f"are {shape[0]:,} samples with {shape[1]:,} features.",
            "Pass the X that was asked about.",
            "X",
        )
    here = {str(row): repr(sample) for row, sample in enumerate(names.ids)}
    for row, name in dict(state["names"]).items():
        if row not in here:
            raise _no_state(f"it names row {row}")
        if here[row] != name:
            raise GuidedValueError(
                f"In the state row {row} is the sample {name}, but here it is {here[row]}.",
                "Pass the same samples in the same order, with the same sample_ids.",
                "sample_ids",
            )


def read_answers(
    state: dict[str, Any], shape: tuple[int, int], names: SampleNames
) -> tuple[dict[Rows, Answer], dict[Rows, Answer], dict[Rows, Answer]]:
    """Read the answers of a state about these samples: those given, answered and replaced.

    Parameters
    ----------
    state : dict
        What `PairQueries.state` returned.
    shape : (int, int)
        The number of samples and of features.
    names : SampleNames
        The ids of the samples.

    Returns
    -------
    tuple of three dicts
        Answers by their rows, smaller first.
    """
    _check_samples(state, shape, names)
    try:
        adaptive = _adaptive_rows(state)
        given, answers, replaced = (
            _read(state.get(name, []), names, adaptive) for name in ("given", "answers", "replaced")
        )
    except (TypeError, ValueError, IndexError) as error:
        raise _no_state(f"its answers cannot be read ({error})") from error
    is_unsure = any(one.answer == "unsure" for one in replaced.values())
    if is_unsure or not replaced.keys() <= answers.keys():
        raise _no_state("it replaces pairs that it does not answer")
    said = [(*rows, one.answer) for rows, one in {**given, **answers}.items()]
    left, right = know(said, shape[0]).apart.T
    if given.keys() & answers.keys() or (left == right).any():
        raise _no_state("it contradicts itself")
    return given, answers, replaced


def _adaptive_rows(state: dict[str, Any]) -> set[Rows]:
    """Return the rows, smaller first, of the pairs that were chosen by looking at the samples."""
    chosen = state.get("adaptive")
    if chosen is None:  # written when no question was drawn, except by the strategy random
        answers = state["answers"] if state["strategy"] != "random" else ()
        chosen = [(a, b) for a, b, _ in answers]
    return {in_order(a, b) for a, b in chosen}


def _read(said: Any, names: SampleNames, adaptive: set[Rows]) -> dict[Rows, Answer]:
    """Read what `plain` wrote."""
    found: dict[Rows, Answer] = {}
    for a, b, answer in said:
        if min(a, b) < 0:
            raise IndexError(min(a, b))
        pair = names.checked((names.ids[a], names.ids[b]))
        key = names.key(pair)
        found[key] = Answer(pair, check_answer(answer), key in adaptive)
    return found


def _no_state(why: str) -> GuidedValueError:
    """Say why something is no state."""
    return GuidedValueError(
        f"This is no state of PairQueries: {why}.", "Pass what state() returned.", "state"
    )


def check_seed(random_state: Any) -> int:
    """Return a number that can be stored and gives the same choices again."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise GuidedValueError(
            f"random_state={random_state!r} cannot seed random choices.",
            "Pass a whole number from 0, a RandomState, or None.",
            "random_state",
        ) from error
