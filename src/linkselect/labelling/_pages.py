"""What each page shows; the templates read the rest from the labelling itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkselect.asking import Answer, Contradiction
from linkselect.labelling._labelling import Labelling, LiveRanking, is_large
from linkselect.labelling._shown_samples import CURVE_SIZE
from linkselect.report._page import environment_of

# Until there are so many answers, nothing hints at what counts, unless the person wants it.
HIDDEN_UNTIL = 10
VALUES_SHOWN = 30
ANSWERS_SHOWN = 500
# What may be said about the last thing that was done; nothing else from an address is shown.
NOTES = {
    "alike": "Saved: alike.",
    "different": "Saved: different.",
    "unsure": "Saved: unsure. This pair will not be asked again.",
    "same": "That answer was there already.",
    "undone": "The last answer is taken back; here is its question again.",
    "undone-only": "The last answer is taken back. Its question does not come next.",
    "undone-given": "The last answer is taken back: it had changed a pair that was there before, "
    "which is again as it was.",
    "nothing": "There is no answer to take back.",
    "changed": "The answer is changed.",
    "removed": "The answer is taken back.",
    "meanwhile-alike": "Meanwhile this pair was answered alike, in another window or in the list. "
    "That stays; change it in the list if it is wrong.",
    "meanwhile-different": "Meanwhile this pair was answered different, in another window or in "
    "the list. That stays; change it in the list if it is wrong.",
}


class Pages:
    """Turn the state of a labelling into pages of HTML.

    Parameters
    ----------
    labelling : Labelling
        What is shown.
    source : str
        What the samples are called.
    """

    def __init__(self, labelling: Labelling, source: str) -> None:
        self.labelling = labelling
        self.source = source

    def _render(self, template: str, **content: Any) -> str:
        queries, file = self.labelling.queries, self.labelling.file
        found, busy = self.labelling.found()
        shared = {
            "source": self.source,
            "samples": self.labelling.samples,
            "kind": self.labelling.samples.kind,
            "counts": queries.counts,
            "n_answers": len(queries.history),
            "n_given": len(queries.given),
            "out": None if file is None else str(file.out),
            "found": found,
            "busy": busy,
        }
        page = environment_of("linkselect.labelling").get_template(template)
        return page.render({**shared, **content})

    def question(self, options: Mapping[str, str], window: str = "") -> str:
        """Show the next question of a window."""
        rows = self.labelling.question(window)
        live = self.labelling.ranked()
        hints = self._hints(options)
        return self._render(
            "question.html",
            note=NOTES.get(options.get("note", "")),
            question=None if rows is None else self._two(rows, live if hints else None, options),
            hints=hints,
            wanted_hints=options.get("hints", ""),
            all_values=options.get("values") == "all",
            live=live,
        )

    def _hints(self, options: Mapping[str, str]) -> bool:
        """Tell whether to show which features count: for a table only after some answers."""
        wanted = options.get("hints")
        if wanted in ("on", "off"):
            return wanted == "on"
        is_table = self.labelling.samples.kind == "values"
        return not is_table or len(self.labelling.queries.history) >= HIDDEN_UNTIL

    def _two(
        self,
        rows: tuple[int, int],
        live: LiveRanking | None = None,
        options: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        samples = self.labelling.samples
        a, b = rows
        shown: dict[str, Any] = {"a": samples.shown(a), "b": samples.shown(b)}
        if samples.kind == "curve":
            best = np.empty(0, dtype=np.intp) if live is None else live.best
            paths, marks = samples.curves(rows, best)
            shown |= {"paths": paths, "marks": marks, "size": CURVE_SIZE}
        if samples.kind == "values":
            order = np.arange(len(samples.names)) if live is None else live.order
            n_shown = len(order) if (options or {}).get("values") == "all" else VALUES_SHOWN
            shown["values"] = samples.value_rows(a, b, order[:n_shown])
            shown["n_more"] = max(0, len(order) - n_shown)
        return shown

    def insight(self) -> str:
        """Show what the background found, as a part of a page."""
        return self._render("insight.html")

    def contradiction(
        self, found: Contradiction, is_change: bool, saved: Answer | None = None
    ) -> str:
        """Show which earlier answers do not allow one, what was saved before, and the ways out."""
        a, b = (self.labelling.samples.row_of[sample] for sample in found.pair)
        question = self._two((a, b))
        return self._render(
            "contradiction.html", against=found, question=question, is_change=is_change, saved=saved
        )

    def answers(self, options: Mapping[str, str]) -> str:
        """List all answers, suspects first, a number of them at a time."""
        listed = self.labelling.all_answers()
        start = _start(options.get("start", ""), len(listed))
        return self._render(
            "answers.html",
            note=NOTES.get(options.get("note", "")),
            lines=listed[start : start + ANSWERS_SHOWN],
            start=start,
            n_all=len(listed),
            n_shown=ANSWERS_SHOWN,
            n_suspects=sum((suspicion or 0) > 0 for _, _, suspicion in listed),
        )

    def pair(self, rows: tuple[int, int]) -> str:
        """Show two samples that were asked about before."""
        pair = {self.labelling.samples.ids[row] for row in rows}
        found = [one for one in self.labelling.all_answers() if {*one[0].pair} == pair]
        return self._render("pair.html", question=self._two(rows), found_answers=found)

    def finish(self, options: Mapping[str, str]) -> str:
        """Show the report, or that it is being made."""
        key = self.labelling.ask_for_report(again=options.get("again") == "yes")
        return self._render(
            "finish.html",
            report_key=key,
            is_large=is_large(self.labelling.queries.X),
            repeat=self.labelling.repeat,
        )

    def message(self, title: str, text: str) -> str:
        """Show that something could not be done."""
        return self._render("message.html", title=title, text=text)


def _start(given: str, n_lines: int) -> int:
    """Return where the lines of a page start, by what an address says."""
    wanted = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
    last = max(0, n_lines - 1) // ANSWERS_SHOWN
    return min(wanted // ANSWERS_SHOWN, last) * ANSWERS_SHOWN
