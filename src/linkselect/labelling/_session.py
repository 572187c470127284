"""Start or resume a labelling session."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkselect._messages import GuidedValueError, many
from linkselect.asking import PairQueries
from linkselect.labelling._answer_store import AnswerFile
from linkselect.labelling._background import Background
from linkselect.labelling._labelling import TERMINAL, Labelling, Place, number_of_best
from linkselect.labelling._shown_samples import ShownSamples
from linkselect.pairs import Pairs


def check_installed() -> None:
    """Raise an error that names the extra to install if a required package is missing."""
    try:
        import jinja2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"The page requires {error.name}. Install it with: pip install 'linkselect[ask]'"
        ) from None


@dataclass(frozen=True)
class Ask:
    """Settings of a labelling session.

    Parameters
    ----------
    X : array, sparse matrix or frame
        The samples after preparation, which are used to choose pairs and to rank features.
    samples : ShownSamples
        The samples as they are displayed.
    sample_ids : iterable of hashable, optional
        The ID of each sample.
    pairs : Pairs, optional
        Pairs that are already known.
    out : Path, optional
        The CSV file of pairs.
    strategy, random_state
        As for `PairQueries`.
    source : str
        Description of the samples.
    preparation : str, optional
        Description of how the values were prepared.
    repeat : str
        The command or code that repeats the ranking.
    progress : callable, optional
        A function that is called while X is read, with the number of completed steps and the total
        number of steps.
    kind : type of PairQueries
        The class that chooses the questions.
    place : Place
        Instructions that depend on where the page is started.
    """

    X: Any
    samples: ShownSamples
    sample_ids: Iterable[Hashable] | None = None
    pairs: Pairs | None = None
    out: Path | None = None
    strategy: str = "grow"
    random_state: Any = None
    source: str = "samples"
    preparation: str | None = None
    repeat: str = ""
    progress: Callable[[int, int], None] | None = None
    kind: type[PairQueries] = PairQueries
    place: Place = TERMINAL


def begin(ask: Ask) -> tuple[Labelling, list[str]]:
    """Start or resume a labelling session, and return it with notes for the user."""
    file = None if ask.out is None else AnswerFile(ask.out)
    try:
        queries, notes = _queries(ask, None if file is None else file.state())
        samples = ask.samples
        notes += [samples.note] if samples.note else []
        plain_ids = all(type(sample) in (int, str) for sample in samples.ids)
        about = {
            "names": list(map(str, samples.names)),
            "ids": list(samples.ids) if ask.sample_ids is not None and plain_ids else None,
            "source": ask.source,
            "preparation": ask.preparation,
            "image_shape": samples.image_shape,
        }
        background = Background(queries.X, about, number_of_best(len(samples.names)))
        return Labelling(queries, samples, file, background, ask.repeat, ask.place), notes
    except BaseException:
        if file is not None:
            file.discard()
        raise


def _queries(ask: Ask, state: dict[str, Any] | None) -> tuple[PairQueries, list[str]]:
    if state is None:
        queries = ask.kind(
            ask.X, ask.pairs, ask.sample_ids, ask.strategy, ask.random_state, progress=ask.progress
        )
        return queries, []
    try:
        queries = ask.kind.from_state(ask.X, state, ask.sample_ids, progress=ask.progress)
    except GuidedValueError as error:
        raise GuidedValueError(
            f"{ask.out} belongs to other samples. {error.problem}",
            "To use the answers in this file, pass it as pairs and choose another output file.",
            "out",
        ) from error
    notes = [f"Resuming after {many(len(queries.history), 'answer')} in {ask.out}."]
    is_seed = isinstance(ask.random_state, int | np.integer)
    if ask.strategy != queries.strategy or (is_seed and ask.random_state != queries.seed):
        notes.append(
            f"The original settings are kept: strategy {queries.strategy}, seed {queries.seed}."
        )
    known = queries.pairs
    if ask.pairs is not None and not (
        set(map(frozenset, ask.pairs.must)) <= set(map(frozenset, known.must))
        and set(map(frozenset, ask.pairs.cannot)) <= set(map(frozenset, known.cannot))
    ):
        notes.append(
            "Imported pairs are read only at the first start; later changes to them are ignored. "
            "Choose another output file to start from the current pairs."
        )
    return queries, notes
