"""A labelling session: questions, answers stored on disk, and the ranking based on them."""

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
# After this time without an answer, another window may ask the same question.
SECONDS_SHOWN = 120.0
# The CSV file is written after this many seconds without a new answer.
PAUSE = 1.0


def number_of_best(n_features: int) -> int:
    """Return the number of best features to show: a third of all, at least 1, at most 10.

    Examples
    --------
    >>> number_of_best(4), number_of_best(784)
    (1, 10)
    """
    return max(1, min(MOST_BEST, n_features // 3))


@dataclass(frozen=True)
class Outcome:
    """Result of submitting an answer.

    Attributes
    ----------
    kind : {"saved", "same", "meanwhile", "contradiction"}
        The value "saved" means that the answer was saved, and "same" that the pair already had this
        answer. With "meanwhile" and "contradiction", the answer was not saved: the pair was
        answered differently in the meantime, or earlier answers contradict the new one.
    answer : str or None
        The stored answer.
    contradiction : Contradiction or None
        The earlier answers that contradict the new one.
    """

    kind: Literal["saved", "same", "meanwhile", "contradiction"]
    answer: str | None = None
    contradiction: Contradiction | None = None

    @property
    def note(self) -> str:
        """The name of the message to show."""
        if self.kind == "meanwhile":
            return f"meanwhile-{self.answer}"
        return self.answer or "same" if self.kind == "saved" else "same"


@dataclass(frozen=True)
class Place:
    """Instructions that depend on where the page was started, in complete sentences.

    Attributes
    ----------
    ending : str
        Instructions for stopping the page.
    again : str
        Instructions for finding the current address, which are shown at an outdated address.
    """

    ending: str
    again: str


TERMINAL = Place(
    "To stop, press Ctrl-C in the terminal where linkselect ask is running.",
    "The current address is shown in the terminal where linkselect ask is running. If the command "
    "has stopped, run it again: it resumes after the last saved answer.",
)
PYTHON = Place(
    "To stop, call close() on the object that open_page returned, or end Python (in a notebook: "
    "shut down the kernel).",
    "The current address is in the output of the last open_page call, and in the attribute address "
    "of the object it returned. If Python has stopped, call open_page again.",
)


class Labelling:
    """A labelling session, which handles one request at a time.

    Parameters
    ----------
    queries : PairQueries
        The object that chooses the questions and stores the answers.
    samples : ShownSamples
        The samples as they are displayed.
    file : AnswerFile, optional
        The file that stores the answers. Without a file, answers are kept in memory only.
    background : Background
        The background process that ranks the features from the answers.
    repeat : str
        The command or code that repeats the ranking.
    place : Place
        Instructions that depend on where the page was started.

    Attributes
    ----------
    trouble : str
        A message set by `close` if the answers could not be saved under the expected name,
        otherwise empty.
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
        # The timer that writes the CSV file, and the time of the last answer.
        self._timer: threading.Timer | None = None
        self._last = 0.0
        # The pair that each window shows, and the time when it was shown.
        self._shown: dict[str, tuple[Pair, float]] = {}
        if file is not None:
            check_names(queries)
            if queries.history:  # the CSV file may be outdated after a crash
                self.export()
        self._follow()

    # -- questions and answers -------------------------------------------------------------------

    def question(self, window: str = "") -> tuple[int, int] | None:
        """Return the next pair of rows to ask about, or None if no question is left.

        Different windows receive different questions as long as several questions are left.
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
        """Record the answer about a pair of rows; it is on disk when this method returns."""
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
        """Change an earlier answer, or remove it if `said` is None."""
        with self.writing():
            pair = self._pair(rows)
            before = self._answer_to(pair)
            if before is None or before == said:
                return Outcome("same", before)
            return _outcome(said, self.queries.change(pair, said))

    def undo(self) -> str:
        """Undo the last answer, and return the name of the message to show."""
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
        """Store the changes made within the context, or restore the previous answers on failure."""
        with self._lock:
            if self._is_writing:  # the outer context stores the changes
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
        """Write the pairs as CSV if they are outdated and no other program changed the file."""
        with self._lock:
            if self.file is not None and not self._is_closed:
                # The answers are already stored. The next answer or `close` reports the problem.
                with suppress(sqlite3.Error, OSError):
                    self.file.export(self.queries)

    # -- the ranking -------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Request a ranking from the current answers."""
        history = self.queries.history
        before = None
        if len(history) > EVERY:
            # Links are in the order of the answers: drop those of the last ten.
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
        """Whether there are enough answers for a ranking."""
        return self._links().are_enough

    def found(self) -> tuple[Found, bool]:
        """Return the results of the background process, and whether it is busy."""
        # Read `busy` first: a caller that polls until it is false must get the final results.
        busy = self.background.busy
        return self.background.found, busy

    def findings(self) -> Findings | None:
        """Return the groups and the best features, or None before the first ranking."""
        found = self.background.found
        if not found.n_answers or not self.can_rank:
            return None
        with self._lock:
            must = self._links().must
            named = [self.samples.row_of[sample] for sample in self.queries.named()]
        return find(self.samples, self.queries.X, must, named, found.best, found.path)

    def ask_for_report(self, *, again: bool = False) -> str | None:
        """Request a report based on the current answers.

        Returns
        -------
        str or None
            The value of `Found.report_key` once the report is ready, or None if there are too few
            answers.
        """
        with self._lock:
            links = self._links()
            if not links.are_enough:
                return None
            self.export()  # the page refers to the CSV file
            return self.background.write_report(links, self.repeat, again=again)

    # -- all answers -------------------------------------------------------------------------------

    def all_answers(self) -> list[tuple[Answer, bool, float | None]]:
        """List answers and imported pairs, with suspicious ones first.

        Each entry consists of an answer, whether it was imported, and its suspicion. The suspicion
        is positive if the other answers contradict the answer, and None if there are too few
        answers.
        """
        with self._lock:
            given, history = self.queries.given, self.queries.history
            suspicion = self._suspicion()
        listed = [
            (one, was_given, suspicion.get(frozenset(one.pair)))
            for was_given, some in ((False, history[::-1]), (True, given))
            for one in some
        ]
        # The sort is stable: answers without suspicion stay in order, newest first.
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
        """Close the files and end the background process."""
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
