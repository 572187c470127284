"""One labelling: questions, answers on disk, and the ranking that follows them."""

import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from linkselect.asking import Answer, Contradiction, PairQueries
from linkselect.asking._answers import Said
from linkselect.evaluation import suspect_pairs
from linkselect.labelling._answer_store import AnswerFile
from linkselect.labelling._background import EVERY, Background, Found, Links
from linkselect.labelling._findings import Findings, find
from linkselect.labelling._shown_samples import ShownSamples
from linkselect.pairs._conflicts import Pair

MOST_BEST = 10
# A question that one window shows without an answer is asked in another one after a while.
SECONDS_SHOWN = 120.0


def number_of_best(n_features: int) -> int:
    """Return how many features are called the best: a third, from 1 to 10.

    Examples
    --------
    >>> number_of_best(4), number_of_best(784)
    (1, 10)
    """
    return max(1, min(MOST_BEST, n_features // 3))


@dataclass(frozen=True)
class Outcome:
    """What became of an answer.

    Attributes
    ----------
    kind : {"saved", "same", "meanwhile", "contradiction"}
        Saved; there already; answered otherwise meanwhile, so that it was not taken; or not
        possible beside earlier answers, so that it was not taken.
    answer : str or None
        The answer that holds now.
    contradiction : Contradiction or None
        What it contradicts.
    """

    kind: Literal["saved", "same", "meanwhile", "contradiction"]
    answer: str | None = None
    contradiction: Contradiction | None = None

    @property
    def note(self) -> str:
        """The name of what a page says about it."""
        if self.kind == "meanwhile":
            return f"meanwhile-{self.answer}"
        return self.answer or "same" if self.kind == "saved" else "same"


class Labelling:
    """Keep questions, answers and ranking together, for one request at a time.

    Parameters
    ----------
    queries : PairQueries
        Chooses the questions and knows the answers.
    samples : ShownSamples
        How samples are shown.
    file : AnswerFile, optional
        Where answers are stored. Without it they live as long as this process.
    background : Background
        Ranks the features by the answers.
    repeat : str
        What to type to rank again.
    """

    def __init__(
        self,
        queries: PairQueries,
        samples: ShownSamples,
        file: AnswerFile | None,
        background: Background,
        repeat: str = "",
    ) -> None:
        self.queries = queries
        self.samples = samples
        self.file = file
        self.background = background
        self.repeat = repeat
        self._lock = threading.RLock()
        self._is_writing = False
        # The pair that each window shows, and since when.
        self._shown: dict[str, tuple[Pair, float]] = {}
        # Also on going on: the CSV file may be one answer behind, and pairs may have been given.
        self._store()
        self._follow()

    # -- questions and answers -------------------------------------------------------------------

    def question(self, window: str = "") -> tuple[int, int] | None:
        """Return the rows to ask about; None if nothing is left.

        Windows that have a name ask different questions, as long as there are any.
        """
        with self._lock:
            now = time.monotonic()
            elsewhere = [
                pair
                for other, (pair, since) in self._shown.items()
                if window not in ("", other) and now - since < SECONDS_SHOWN
            ]
            asked = self.queries.next_pair(skip=elsewhere) or self.queries.next_pair()
            if asked is None:
                return None
            if window:
                self._shown[window] = (asked, now)
            return self._rows(asked)

    def _no_longer_shown(self, pair: Pair) -> None:
        self._shown = {window: one for window, one in self._shown.items() if {*one[0]} != {*pair}}

    def answer(self, rows: tuple[int, int], said: Said) -> Outcome:
        """Take an answer about two rows; it is on the disk when this returns."""
        with self.writing():
            pair = self._pair(rows)
            self._no_longer_shown(pair)
            before = self._answer_to(pair)
            if before == said:
                return Outcome("same", before)
            if before in ("alike", "different"):
                return Outcome("meanwhile", before)
            return _outcome(said, self.queries.answer(pair, said))

    def change(self, rows: tuple[int, int], said: Said | None) -> Outcome:
        """Give an earlier answer another value, or take it back if it is None."""
        with self.writing():
            pair = self._pair(rows)
            before = self._answer_to(pair)
            if before is None or before == said:
                return Outcome("same", before)
            return _outcome(said, self.queries.change(pair, said))

    def undo(self) -> str:
        """Take back the last answer, and return the name of what a page says about it."""
        with self.writing():
            last = self.queries.undo()
            if last is None:
                return "nothing"
            self._no_longer_shown(last.pair)
            if any({*one.pair} == {*last.pair} for one in self.queries.given):
                return "undone-given"
            is_asked = {*(self.queries.next_pair() or ())} == {*last.pair}
            return "undone" if is_asked else "undone-only"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write the answers if they change; if that fails, they are again as they were."""
        with self._lock:
            if self._is_writing:  # the outer one writes
                yield
                return
            self._is_writing = True
            before = self.queries.snapshot()
            try:
                yield
                is_changed = self.queries.snapshot() != before
                if is_changed:
                    self._store()
            except BaseException:
                self.queries.put_back(before)
                raise
            finally:
                self._is_writing = False
            if is_changed:
                self._follow()

    def _answer_to(self, pair: Pair) -> Said | None:
        both = (*self.queries.history, *self.queries.given)
        return next((one.answer for one in both if {*one.pair} == {*pair}), None)

    def _store(self) -> None:
        if self.file is not None:
            self.file.store(self.queries)

    # -- the ranking -------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Let the background rank by what is known now."""
        history = self.queries.history
        before = self._links(history[:-EVERY]) if len(history) > EVERY else None
        self.background.rank(len(history), self._links(history), before)

    def _links(self, history: Sequence[Answer]) -> Links:
        sure = [one for one in (*self.queries.given, *history) if one.answer != "unsure"]
        return Links(
            [self._rows(one.pair) for one in sure if one.answer == "alike"],
            [self._rows(one.pair) for one in sure if one.answer == "different"],
            [self._rows(one.pair) for one in sure if one.adaptive],
        )

    @property
    def can_rank(self) -> bool:
        """Whether the answers suffice for a ranking."""
        return self._links(self.queries.history).are_enough

    def found(self) -> tuple[Found, bool]:
        """Return what the background knows, and whether it is at work."""
        # In this order: what is found in between must not be missed by who asks until it rests.
        busy = self.background.busy
        return self.background.found, busy

    def findings(self) -> Findings | None:
        """Describe groups and best features; None before the first ranking."""
        found = self.background.found
        if not found.path:
            return None
        with self._lock:
            must = self._links(self.queries.history).must
            named = [self.samples.row_of[sample] for sample in self.queries.named()]
        return find(self.samples, self.queries.X, must, named, found.best, found.path)

    def ask_for_report(self, *, again: bool = False) -> str | None:
        """Let the background write the report of the answers as they are now.

        Returns
        -------
        str or None
            The key that `Found.report_key` will have; None if there is too little for a report.
        """
        with self._lock:
            links = self._links(self.queries.history)
            if not links.are_enough:
                return None
            return self.background.write_report(links, self.repeat, again=again)

    # -- all answers -------------------------------------------------------------------------------

    def all_answers(self) -> list[tuple[Answer, bool, float | None]]:
        """List answers and given pairs, suspects first: the answer, if it was given, how suspect.

        Suspicion is above 0 if a pair looks more like one of the other kind; None if there is too
        little to tell by.
        """
        with self._lock:
            given, history = self.queries.given, self.queries.history
            suspicion = self._suspicion()
        listed = [
            (one, was_given, suspicion.get(frozenset(one.pair)))
            for was_given, some in ((False, history[::-1]), (True, given))
            for one in some
        ]
        # The sort keeps the order of those that are not suspect: newest first.
        return sorted(listed, key=lambda line: -max(line[2] or 0.0, 0.0))

    def _suspicion(self) -> dict[frozenset[Hashable], float]:
        pairs = self.queries.pairs
        if min(pairs.n_must, pairs.n_cannot) < 2:
            return {}
        found = suspect_pairs(self.queries.X, pairs, self.queries.sample_ids)
        return {frozenset((one.a, one.b)): one.suspicion for one in found}

    def _rows(self, pair: Pair) -> tuple[int, int]:
        return self.samples.row_of[pair[0]], self.samples.row_of[pair[1]]

    def _pair(self, rows: tuple[int, int]) -> Pair:
        return self.samples.ids[rows[0]], self.samples.ids[rows[1]]

    def close(self) -> None:
        """Let go of the files and of the process in the background."""
        self.background.close()
        with self._lock:
            if self.file is not None:
                self.file.close()


def _outcome(said: Said | None, contradiction: Contradiction | None) -> Outcome:
    if contradiction is not None:
        return Outcome("contradiction", contradiction=contradiction)
    return Outcome("saved", said)
