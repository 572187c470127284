"""What each page shows, as plain data, and the templates that it goes into."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from linkselect._messages import many
from linkselect.asking import Answer, Contradiction
from linkselect.labelling._background import Found
from linkselect.labelling._drawing import CURVE_SIZE
from linkselect.labelling._labelling import Labelling, Outcome, Ranked, Undone, is_large
from linkselect.labelling._wording import change_sentence, held_out_sentence

# Until there are so many answers, nothing hints at what counts, unless the person wants it.
HIDDEN_UNTIL = 10
VALUES_SHOWN = 30
ANSWERS_SHOWN = 500
STATIC = {
    "ask.js": ("text/javascript", ("linkselect.labelling", "static", "ask.js")),
    "ask.css": ("text/css", ("linkselect.labelling", "static", "ask.css")),
    "page.css": ("text/css", ("linkselect.report", "templates", "page.css")),
}
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


def note_of(outcome: Outcome) -> str:
    """Return the name of the note on what became of an answer."""
    if outcome.kind == "meanwhile":
        return f"meanwhile-{outcome.answer}"
    return outcome.answer or "same" if outcome.kind == "saved" else "same"


def note_of_undone(undone: Undone | None) -> str:
    """Return the name of the note on what was taken back."""
    if undone is None:
        return "nothing"
    if undone.is_given:
        return "undone-given"
    return "undone" if undone.is_asked else "undone-only"


def _start(given: str, n_lines: int) -> int:
    """Return where the lines of a page start, by what an address says."""
    wanted = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
    last = max(0, n_lines - 1) // ANSWERS_SHOWN
    return min(wanted // ANSWERS_SHOWN, last) * ANSWERS_SHOWN


def static_file(name: str) -> tuple[str, bytes] | None:
    """Return the type and the content of a file that pages load; None if there is none such."""
    if name not in STATIC:
        return None
    kind, (package, folder, file) = STATIC[name]
    return kind, (files(package) / folder / file).read_bytes()


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("linkselect.labelling"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["many"] = many
    return environment


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
        queries = self.labelling.queries
        file = self.labelling.file
        return str(
            _environment()
            .get_template(template)
            .render(
                source=self.source,
                counts=queries.counts,
                n_answers=len(queries.history),
                n_given=len(queries.given),
                out=None if file is None else str(file.out),
                **content,
            )
        )

    # -- the question -------------------------------------------------------------------------

    def question(self, options: Mapping[str, str], window: str = "") -> str:
        """Show the next question of a window."""
        rows = self.labelling.question(window)
        ranked = self.labelling.ranked()
        hints = self._hints(options)
        found, busy = self.labelling.found()
        return self._render(
            "question.html",
            note=NOTES.get(options.get("note", "")),
            kind=self.labelling.samples.kind,
            question=None if rows is None else self._two(rows, ranked if hints else None, options),
            hints=hints,
            wanted_hints=options.get("hints", ""),
            is_table=self.labelling.samples.kind == "values",
            all_values=options.get("values") == "all",
            best=self._best(ranked) if hints else None,
            has_ranking=ranked is not None,
            insight=self._insight(found, busy),
        )

    def _hints(self, options: Mapping[str, str]) -> bool:
        """Tell whether to show which features count: for a table only after some answers."""
        wanted = options.get("hints")
        if wanted in ("on", "off"):
            return wanted == "on"
        if self.labelling.samples.kind != "values":
            return True
        return len(self.labelling.queries.history) >= HIDDEN_UNTIL

    def _two(
        self, rows: tuple[int, int], ranked: Ranked | None, options: Mapping[str, str]
    ) -> dict[str, Any]:
        samples = self.labelling.samples
        a, b = rows
        shown: dict[str, Any] = {"a": samples.shown(a), "b": samples.shown(b)}
        if samples.kind == "curve":
            best = np.empty(0, dtype=np.intp) if ranked is None else ranked.best
            paths, marks = samples.curves(rows, best)
            shown |= {"paths": paths, "marks": marks, "size": CURVE_SIZE}
        if samples.kind == "values":
            n_features = len(samples.names)
            order = np.arange(n_features) if ranked is None else ranked.order
            n_shown = n_features if options.get("values") == "all" else VALUES_SHOWN
            shown["values"] = samples.value_rows(a, b, order[:n_shown])
            shown["n_more"] = max(0, n_features - n_shown)
        return shown

    def _best(self, ranked: Ranked | None) -> list[dict[str, Any]] | None:
        if ranked is None:
            return None
        names = self.labelling.samples.names
        return [
            {"name": names[feature], "share": share, "width": f"{max(0.0, 200 * share - 100):.1f}"}
            for feature, share in zip(ranked.best.tolist(), ranked.shares, strict=True)
        ]

    # -- what the background found ----------------------------------------------------------------

    def insight(self) -> str:
        """Show what the background found, as a part of a page."""
        found, busy = self.labelling.found()
        return self._render("insight.html", insight=self._insight(found, busy))

    def _insight(self, found: Found, busy: bool) -> dict[str, Any]:
        names = self.labelling.samples.names
        checked = found.checked
        return {
            "busy": busy,
            "best": [names[feature] for feature in found.best],
            "n_answers": found.n_answers,
            "n_rows": found.n_rows,
            "n_samples": len(self.labelling.samples.ids),
            "checked": checked,
            "held_out": None if checked is None else held_out_sentence(checked),
            "change": None if checked is None else change_sentence(checked),
            "trouble": found.trouble,
        }

    # -- a contradiction ------------------------------------------------------------------------

    def contradiction(
        self, found: Contradiction, earlier_is_changed: bool, saved: Answer | None = None
    ) -> str:
        """Show which earlier answers do not allow one, what was saved before, and the ways out."""
        row_of = self.labelling.samples.row_of
        a, b = (row_of[sample] for sample in found.pair)
        opposite = "alike" if found.answer == "different" else "different"
        return self._render(
            "contradiction.html",
            kind=self.labelling.samples.kind,
            question=self._two((a, b), None, {}),
            answer=found.answer,
            opposite=opposite,
            chain=[str(sample) for sample in found.conflict.chain],
            apart=[str(sample) for sample in found.conflict.cannot],
            earlier=[self._line(one) for one in found.earlier],
            is_change=earlier_is_changed,
            saved=None if saved is None else self._line(saved),
        )

    def _line(self, one: Answer) -> dict[str, Any]:
        samples = self.labelling.samples
        a, b = (samples.row_of[sample] for sample in one.pair)
        return {
            "a": a,
            "b": b,
            "kind_a": samples.kind_of(a),
            "kind_b": samples.kind_of(b),
            "id_a": str(one.pair[0]),
            "id_b": str(one.pair[1]),
            "answer": one.answer,
        }

    # -- all answers, and the end --------------------------------------------------------------

    def answers(self, options: Mapping[str, str]) -> str:
        """List all answers, suspects first, a number of them at a time."""
        listed = self.labelling.all_answers()
        start = _start(options.get("start", ""), len(listed))
        lines = [
            {
                **self._line(one),
                "given": given,
                "suspect": suspicion is not None and suspicion > 0,
            }
            for one, given, suspicion in listed[start : start + ANSWERS_SHOWN]
        ]
        return self._render(
            "answers.html",
            note=NOTES.get(options.get("note", "")),
            kind=self.labelling.samples.kind,
            lines=lines,
            start=start,
            n_all=len(listed),
            n_shown=ANSWERS_SHOWN,
            n_suspects=sum(bool(suspicion and suspicion > 0) for _, _, suspicion in listed),
        )

    def pair(self, rows: tuple[int, int]) -> str:
        """Show two samples that were asked about before."""
        of_all = self.labelling.all_answers()
        row_of = self.labelling.samples.row_of
        found = [
            (one.answer, suspicion)
            for one, _, suspicion in of_all
            if {row_of[sample] for sample in one.pair} == {*rows}
        ]
        answer, suspicion = found[0] if found else (None, None)
        return self._render(
            "pair.html",
            kind=self.labelling.samples.kind,
            question=self._two(rows, None, {}),
            answer=answer,
            suspect=suspicion is not None and suspicion > 0,
        )

    def finish(self, options: Mapping[str, str]) -> str:
        """Show the report, or that it is being made."""
        key = self.labelling.ask_for_report(again=options.get("again") == "yes")
        found, _ = self.labelling.found()
        failed = key is not None and found.report_trouble_key == key
        return self._render(
            "finish.html",
            enough=key is not None,
            ready=key is not None and found.report_key == key,
            report_key=key,
            alarms=found.alarms,
            trouble=found.report_trouble if failed else None,
            is_large=is_large(self.labelling.X),
            repeat=self.labelling.repeat,
        )

    def message(self, title: str, text: str) -> str:
        """Show that something could not be done."""
        return self._render("message.html", title=title, text=text)
