"""One labelling: questions, answers on disk, and the ranking that follows them."""

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from linkselect.asking import Answer, Contradiction, PairQueries
from linkselect.asking._answers import Said
from linkselect.evaluation import suspect_pairs
from linkselect.labelling._answer_store import AnswerFile, check_names, mark_of
from linkselect.labelling._background import EVERY, Background, Found, Links
from linkselect.labelling._findings import Findings, find
from linkselect.labelling._shown_samples import ShownSamples
from linkselect.pairs._conflicts import Pair

MOST_BEST = 10
# A question that one window shows without an answer is asked in another one after a while.
SECONDS_SHOWN = 120.0
# The CSV file is written once no answer has come for so long.
PAUSE = 1.0


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


@dataclass(frozen=True)
class Place:
    """What to do where the page was started, in whole sentences.

    Attributes
    ----------
    ending : str
        How to end.
    again : str
        How to come back to the page from an address that is not its own any more.
    """

    ending: str
    again: str


TERMINAL = Place(
    "To end, press Ctrl-C in the terminal where linkselect ask runs.",
    "The terminal where linkselect ask runs shows the address that works. If it has ended, start "
    "the same command again: it goes on after the last saved answer.",
)
PYTHON = Place(
    "To end, call close() on what open_page returned, or end Python: in a notebook, shut down its "
    "kernel.",
    "Where open_page was called last, the output shows the address that works; it is also the "
    "attribute address of what open_page returned. If Python has ended, call open_page again.",
)


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
    place : Place
        Where the page was started.

    Attributes
    ----------
    trouble : str
        Why the files do not hold the answers where the person expects them; empty if they do.
    """

    def __init__(
        self,
        queries: PairQueries,
        samples: ShownSamples,
        file: AnswerFile | None,
        background: Background,
        repeat: str = "",
        place: Place = TERMINAL,
    ) -> None:
        self.queries = queries
        self.samples = samples
        self.file = file
        self.background = background
        self.repeat = repeat
        self.place = place
        self.trouble = ""
        self._lock = threading.RLock()
        self._is_writing = False
        self._is_closed = False
        # What writes the CSV file in the next pause, and when the last answer came.
        self._timer: threading.Timer | None = None
        self._last = 0.0
        # The pair that each window shows, and since when.
        self._shown: dict[str, tuple[Pair, float]] = {}
        if file is not None:
            check_names(queries)
            if queries.history:  # the CSV file is behind if the process ended before a pause
                self.export()
        self._follow()

    # -- questions and answers -------------------------------------------------------------------

    def question(self, window: str = "") -> tuple[int, int] | None:
        """Return the rows to ask about; None if nothing is left.

        Windows that have a name ask different questions, as long as there are any.
        """
        with self._lock:
            now = time.monotonic()
            self._shown = {
                name: one for name, one in self._shown.items() if now - one[1] < SECONDS_SHOWN
            }
            elsewhere = [
                pair for name, (pair, _) in self._shown.items() if window not in ("", name)
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
            if self.queries.answer_to(last.pair) is not None:
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
            before, mark = self.queries.snapshot(), mark_of(self.queries)
            try:
                yield
                if is_changed := mark_of(self.queries) != mark:
                    self._store()
            except BaseException:
                if mark_of(self.queries) != mark:
                    self.queries.put_back(before)
                raise
            finally:
                self._is_writing = False
            if is_changed:
                self._follow()

    def _answer_to(self, pair: Pair) -> Said | None:
        found = self.queries.answer_to(pair)
        return None if found is None else found.answer

    # -- files -------------------------------------------------------------------------------------

    def _store(self) -> None:
        if self.file is not None:
            self.file.store(self.queries)
            self._last = time.monotonic()
            if self._timer is None:
                self._export_in(PAUSE)

    def _export_in(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._export_in_pause)
        self._timer.daemon = True
        self._timer.start()

    def _export_in_pause(self) -> None:
        with self._lock:
            self._timer = None
            rest = self._last + PAUSE - time.monotonic()
            if rest > 0 and not self._is_closed:
                self._export_in(rest)
            else:
                self.export()

    def export(self) -> None:
        """Write the pairs as CSV, unless that is done or the file is not ours any more."""
        with self._lock:
            if self.file is not None and not self._is_closed:
                # The answers are stored. What is wrong is said with the next one, or at the end.
                with suppress(sqlite3.Error, OSError):
                    self.file.export(self.queries)

    # -- the ranking -------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Let the background rank by what is known now."""
        history = self.queries.history
        before = None
        if len(history) > EVERY:
            # The links of the last answers are the last ones of their kind.
            last = [one for one in history[-EVERY:] if one.answer != "unsure"]
            n_last = Counter(one.answer for one in last)
            n_adaptive = sum(one.adaptive for one in last)
            counts = (n_last["alike"], n_last["different"], n_adaptive)
            before = Links(
                *(
                    some[: len(some) - n]
                    for some, n in zip(self.queries.links(), counts, strict=True)
                )
            )
        self.background.rank(len(history), self._links(), before)

    def _links(self) -> Links:
        return Links(*self.queries.links())

    @property
    def can_rank(self) -> bool:
        """Whether the answers suffice for a ranking."""
        return self._links().are_enough

    def found(self) -> tuple[Found, bool]:
        """Return what the background knows, and whether it is at work."""
        # In this order: what is found in between must not be missed by who asks until it rests.
        busy = self.background.busy
        return self.background.found, busy

    def findings(self) -> Findings | None:
        """Describe groups and best features; None before the first ranking."""
        found = self.background.found
        if not found.n_answers or not self.can_rank:
            return None
        with self._lock:
            must = self._links().must
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
            links = self._links()
            if not links.are_enough:
                return None
            self.export()  # the page names the file
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
        with self._lock:
            if self.file is not None and not self._is_closed:
                self.trouble = self.file.close(self.queries)
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
        self.background.close()


def _outcome(said: Said | None, contradiction: Contradiction | None) -> Outcome:
    if contradiction is not None:
        return Outcome("contradiction", contradiction=contradiction)
    return Outcome("saved", said)
