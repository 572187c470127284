"""Convert a labelling session to plain data, and check such data when loading them."""

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
    """Return each answer as a list of two rows and the answer."""
    return [[*names.rows(one.pair), one.answer] for one in answers]


def check_state(state: Any) -> None:
    """Raise an error if the data are not a state of `PairQueries`."""
    if not isinstance(state, dict) or "version" not in state:
        raise _no_state("it has no version")
    if state["version"] != VERSION:
        raise GuidedValueError(
            f"The state has version {state['version']!r}, but this version of linkselect reads "
            f"version {VERSION}.",
            "Use the version of linkselect that wrote the state.",
            "state",
        )
    missing = [name for name in FIELDS if name not in state]
    if missing:
        raise _no_state(f"it has no {missing[0]}")


def _check_samples(state: dict[str, Any], shape: tuple[int, int], names: SampleNames) -> None:
    """Raise an error if the state belongs to other samples."""
    stored = state["n_samples"], state["n_features"]
    if shape != stored:
        raise GuidedValueError(
            f"The answers are about {stored[0]:,} samples with {stored[1]:,} features, but X has "
            f"{shape[0]:,} samples with {shape[1]:,} features.",
            "Pass the X to which the answers belong.",
            "X",
        )
    here = {str(row): repr(sample) for row, sample in enumerate(names.ids)}
    for row, name in dict(state["names"]).items():
        if row not in here:
            raise _no_state(f"it contains row {row}, which is not in X")
        if here[row] != name:
            raise GuidedValueError(
                f"Row {row} is the sample {name} in the state, but {here[row]} in X.",
                "Pass the same samples in the same order, with the same sample_ids.",
                "sample_ids",
            )


def read_answers(
    state: dict[str, Any], shape: tuple[int, int], names: SampleNames
) -> tuple[dict[Rows, Answer], dict[Rows, Answer], dict[Rows, Answer]]:
    """Read the given pairs, the answers and the replaced pairs from a state.

    Parameters
    ----------
    state : dict
        A state returned by `PairQueries.state`.
    shape : (int, int)
        The numbers of samples and features of X.
    names : SampleNames
        The IDs of the samples.

    Returns
    -------
    tuple of three dicts
        The given pairs, answers and replaced pairs, indexed by their rows, smaller row first.
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
        raise _no_state("it replaces pairs that have no answer")
    said = [(*rows, one.answer) for rows, one in {**given, **answers}.items()]
    left, right = know(said, shape[0]).apart.T
    if given.keys() & answers.keys() or (left == right).any():
        raise _no_state("it contradicts itself")
    return given, answers, replaced


def _adaptive_rows(state: dict[str, Any]) -> set[Rows]:
    """Return the rows of the pairs chosen by looking at the samples, smaller row first."""
    chosen = state.get("adaptive")
    if chosen is None:  # an old state: questions were drawn at random by strategy "random" only
        answers = state["answers"] if state["strategy"] != "random" else ()
        chosen = [(a, b) for a, b, _ in answers]
    return {in_order(a, b) for a, b in chosen}


def _read(said: Any, names: SampleNames, adaptive: set[Rows]) -> dict[Rows, Answer]:
    """Read answers from the lists returned by `plain`."""
    found: dict[Rows, Answer] = {}
    for a, b, answer in said:
        if min(a, b) < 0:
            raise IndexError(min(a, b))
        pair = names.checked((names.ids[a], names.ids[b]))
        key = names.key(pair)
        found[key] = Answer(pair, check_answer(answer), key in adaptive)
    return found


def _no_state(why: str) -> GuidedValueError:
    """Return an error that explains why some data are not a state."""
    return GuidedValueError(
        f"This is not a state of PairQueries: {why}.",
        "Pass the result of PairQueries.state().",
        "state",
    )


def check_seed(random_state: Any) -> int:
    """Convert `random_state` to a seed that can be stored to reproduce the random choices."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise GuidedValueError(
            f"random_state={random_state!r} cannot seed random choices.",
            "Pass a non-negative integer, a RandomState or None.",
            "random_state",
        ) from error
