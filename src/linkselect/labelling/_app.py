"""Routes of the page: GET requests show a view, POST requests change answers.

Templates read most of their content directly from the `Labelling` object.
"""

import os
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from linkselect._display import number_text
from linkselect._pictures import decoding, thumbnail_of
from linkselect.asking import Answer, Contradiction
from linkselect.asking._answers import ANSWERS
from linkselect.labelling._answer_store import NotStoredError
from linkselect.labelling._background import Found
from linkselect.labelling._findings import places_of
from linkselect.labelling._labelling import Labelling
from linkselect.labelling._shown_samples import mask_png, png
from linkselect.report._page import environment_of

LONGEST_FORM = 4096
LONGEST_WINDOW = 40
FORM = "application/x-www-form-urlencoded"
# View options that are carried over from page to page.
VIEW = {"hints": ("on", "off"), "values": ("all",)}
SCRIPT_HASH = re.compile(rb"script-src '(sha256-[A-Za-z0-9+/=]+)'")
Form = Mapping[str, str]
# The media type, package and folder of each static file.
STATIC = {
    "ask.js": ("text/javascript", "linkselect.labelling", "static"),
    "ask.css": ("text/css", "linkselect.labelling", "static"),
    "page.css": ("text/css", "linkselect.report", "templates"),
    "icon.png": ("image/png", "linkselect.labelling", "static"),
}
# For tables of values, the best features are hidden for the first answers to avoid bias; a button
# shows them. The order of the values does not reveal them.
HIDDEN_UNTIL = 10
# Number of features shown at first (the largest differences), and per page if all are requested.
VALUES_SHOWN = 12
VALUES_AT_A_TIME = 200
ANSWERS_SHOWN = 500
# Messages about the last action. An address contains only the key of a message, never its text.
NOTES = {
    "alike": "Saved: alike.",
    "different": "Saved: different.",
    "unsure": "Saved: unsure. You will not be asked about this pair again.",
    "same": "This answer was already saved.",
    "undone": "Last answer undone. Here is the question again.",
    "undone-only": "Last answer undone. Another question comes first.",
    "undone-given": "Last answer undone. The imported pair is restored.",
    "nothing": "Nothing to undo.",
    "changed": "Answer changed.",
    "removed": "Answer removed.",
    "meanwhile-alike": "Not saved: this pair was answered alike in another window or in the list. "
    "If that answer is wrong, change it in the list.",
    "meanwhile-different": "Not saved: this pair was answered different in another window or in "
    "the list. If that answer is wrong, change it in the list.",
}


def make_app(labelling: Labelling, source: str) -> Starlette:
    """Return the web application of a labelling session, without access control."""
    site = Site(labelling, source)
    shown: dict[str, Callable[[Request], Response]] = {
        "/": site.question,
        "/answers": site.answers,
        "/pair": site.pair,
        "/finish": site.finish,
        "/insight": site.insight,
        "/report": site.report,
        "/mask": site.mask,
        "/pixels/{row:int}": site.pixels,
        "/picture/{row:int}": site.picture,
        "/small/{row:int}": site.thumbnail,
        "/{name:str}": site.static,
    }
    done: dict[str, Callable[[Form], Response]] = {
        "/answer": site.answer,
        "/change": site.change,
        "/resolve": site.resolve,
        "/undo": site.undo,
    }
    routes = [Route(path, _taking(act), methods=["POST"]) for path, act in done.items()]
    routes += [Route(path, show, methods=["GET"]) for path, show in shown.items()]

    def failed(_: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return Response(status_code=error.status_code)
        title = "The answer was not saved"
        return site.page("message.html", 507, title=title, text=str(error))

    handlers = dict.fromkeys((NotStoredError, HTTPException), failed)
    return Starlette(routes=routes, exception_handlers=handlers)


def _taking(act: Callable[[Form], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(act, await _read_form(request))

    return endpoint


async def _read_form(request: Request) -> Form:
    """Read a small form, and reject anything that the pages do not send."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(400)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_FORM:
            raise HTTPException(400)
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=20, strict_parsing=True))
    except ValueError as error:
        raise HTTPException(400) from error


def _back_to(page: str, options: Form, **more: str) -> Response:
    kept = {name: options[name] for name in VIEW if options.get(name) in VIEW[name]}
    query = urlencode({**kept, **more})
    return RedirectResponse(f"{page}?{query}" if query else page, status_code=303)


class Site:
    """Request handlers of a labelling session.

    Parameters
    ----------
    labelling : Labelling
        The session with questions, answers and rankings.
    source : str
        Description of the samples, shown at the top of each page.
    """

    def __init__(self, labelling: Labelling, source: str) -> None:
        self.labelling = labelling
        self.source = source

    def page(self, template: str, status: int = 200, **content: Any) -> Response:
        """Render a template with the state of the session and additional content."""
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
            "can_rank": self.labelling.can_rank,
        }
        filled = environment_of("linkselect.labelling").get_template(template)
        return Response(filled.render({**shared, **content}), status, media_type="text/html")

    # -- actions --------------------------------------------------------------------------------

    def answer(self, form: Form) -> Response:
        """Record the answer to a question."""
        outcome = self.labelling.answer(self._rows(form), _said(form))
        if outcome.contradiction is not None:
            return self._contradiction(outcome.contradiction, False)
        return _back_to("./", form, note=outcome.note)

    def change(self, form: Form) -> Response:
        """Change or remove an earlier answer."""
        rows = self._rows(form)
        said = None if form.get("answer") == "none" else _said(form)
        outcome = self.labelling.change(rows, said)
        if outcome.contradiction is not None:
            return self._contradiction(outcome.contradiction, True)
        note = "removed" if said is None else "changed"
        note = "same" if outcome.kind == "same" else note
        if form.get("from") != "answers":
            return _back_to("./", form, note=note)
        start = {"start": form["start"]} if form.get("start", "").isdecimal() else {}
        return _back_to("answers", form, note=note, **start)

    def resolve(self, form: Form) -> Response:
        """Change an earlier answer, then record the answer that it contradicted."""
        earlier = self._rows(form, "earlier_a", "earlier_b")
        said = _said(form, "earlier")
        first = self.labelling.change(earlier, said)
        if first.contradiction is not None:
            return self._contradiction(first.contradiction, True)
        is_change = form.get("is_change") == "yes"
        then = self.labelling.change if is_change else self.labelling.answer
        second = then(self._rows(form), _said(form))
        if second.contradiction is not None:
            ids = self.labelling.samples.ids
            pair = ids[earlier[0]], ids[earlier[1]]
            saved = Answer(pair, said) if first.kind == "saved" else None
            return self._contradiction(second.contradiction, is_change, saved)
        is_changed = is_change and second.kind == "saved"
        return _back_to("./", form, note="changed" if is_changed else second.note)

    def undo(self, form: Form) -> Response:
        """Undo the last answer."""
        return _back_to("./", form, note=self.labelling.undo())

    def _contradiction(
        self, found: Contradiction, is_change: bool, saved: Answer | None = None
    ) -> Response:
        """Show the earlier answers that contradict a new one, and how to resolve the conflict."""
        a, b = (self.labelling.samples.row_of[sample] for sample in found.pair)
        shown: dict[str, Any] = {"against": found, "question": self._two((a, b)), "saved": saved}
        return self.page("contradiction.html", is_change=is_change, **shown)

    def _rows(self, form: Form, *fields: str) -> tuple[int, int]:
        every = range(len(self.labelling.samples.ids))
        try:
            a, b = (every.index(int(form[field])) for field in fields or ("a", "b"))
        except (KeyError, ValueError) as error:
            raise HTTPException(400) from error
        if a == b:
            raise HTTPException(400)
        return a, b

    # -- views ----------------------------------------------------------------------------------

    def question(self, request: Request) -> Response:
        """Show the next question in a browser window."""
        options = request.query_params
        rows = self.labelling.question(request.headers.get("x-window", "")[:LONGEST_WINDOW])
        hints = self._hints(options)
        return self.page(
            "question.html",
            note=NOTES.get(options.get("note", "")),
            question=None if rows is None else self._two(rows, hints, options),
            hints=hints,
            wanted_hints=options.get("hints", ""),
            all_values=options.get("values") == "all",
        )

    def _hints(self, options: Form) -> bool:
        """Return whether to show the best features; tables hide them for the first answers."""
        wanted = options.get("hints")
        if wanted in ("on", "off"):
            return wanted == "on"
        is_table = self.labelling.samples.kind == "values"
        return not is_table or len(self.labelling.queries.history) >= HIDDEN_UNTIL

    def _two(
        self, rows: tuple[int, int], hints: bool = False, options: Form | None = None
    ) -> dict[str, Any]:
        samples = self.labelling.samples
        found = self.labelling.found()[0] if hints and self.labelling.can_rank else Found()
        options = options or {}
        a, b = rows
        shown: dict[str, Any] = {"a": samples.shown(a), "b": samples.shown(b)}
        if samples.kind == "curve":
            shown["drawing"] = samples.drawn(rows, found.best)
        if samples.kind == "values":
            n_features, n_shown, start = len(samples.names), VALUES_SHOWN, 0
            if options.get("values") == "all":
                n_shown = VALUES_AT_A_TIME
                start = _start(options.get("start", ""), n_features, n_shown)
            shown |= {
                "values": samples.compared(a, b, start, n_shown),
                "start": start,
                "n_features": n_features,
                "at_a_time": VALUES_AT_A_TIME,
                "n_samples": len(samples.ids),
                "n_looked_at": samples.n_looked_at,
            }
        return shown

    def answers(self, request: Request) -> Response:
        """List all answers page by page, with suspicious answers first."""
        options = request.query_params
        listed = self.labelling.all_answers()
        start = _start(options.get("start", ""), len(listed), ANSWERS_SHOWN)
        return self.page(
            "answers.html",
            note=NOTES.get(options.get("note", "")),
            lines=listed[start : start + ANSWERS_SHOWN],
            start=start,
            n_all=len(listed),
            n_shown=ANSWERS_SHOWN,
            n_suspects=sum((suspicion or 0) > 0 for _, _, suspicion in listed),
        )

    def pair(self, request: Request) -> Response:
        """Show a pair of samples that already has an answer."""
        try:
            rows = self._rows(request.query_params)
        except HTTPException as error:
            raise HTTPException(404) from error
        pair = {self.labelling.samples.ids[row] for row in rows}
        found = [one for one in self.labelling.all_answers() if {*one[0].pair} == pair]
        return self.page("pair.html", question=self._two(rows), found_answers=found)

    def insight(self, request: Request) -> Response:
        """Show the current ranking and its reliability, as part of a page."""
        busy = self.labelling.found()[1]
        return _with_busy(self.page("insight.html"), busy)

    def finish(self, request: Request) -> Response:
        """Show the result, and the report or its progress."""
        again = request.query_params.get("again") == "yes"
        result = self.labelling.findings()
        page = self.page(
            "finish.html",
            report_key=self.labelling.ask_for_report(again=again),
            repeat=self.labelling.repeat,
            result=result,
            where=result and places_of(self.labelling.samples, result),
            number=number_text,
            ending=self.labelling.place.ending,
        )
        return _with_busy(page, b'data-again="finish"' in page.body)

    def report(self, request: Request) -> Response:
        """Send the report, whose script and style are inline."""
        page = self.labelling.found()[0].report
        if page is None:
            raise HTTPException(404)
        found = SCRIPT_HASH.search(page)
        script = "'none'" if found is None else f"'{found[1].decode()}'"
        policy = (
            f"default-src 'none'; script-src {script}; style-src 'unsafe-inline'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )
        return Response(page, media_type="text/html", headers={"content-security-policy": policy})

    def mask(self, request: Request) -> Response:
        """Send an image in which the best pixels are marked."""
        samples = self.labelling.samples
        best = self.labelling.found()[0].best
        if samples.image_shape is None or not len(best):
            raise HTTPException(404)
        return Response(mask_png(samples.pixels(), best), media_type="image/png")

    def pixels(self, request: Request) -> Response:
        """Send the pixels of a sample as an image."""
        samples = self.labelling.samples
        row = request.path_params["row"]
        if samples.image_shape is None or row >= len(samples.ids):
            raise HTTPException(404)
        return Response(png(samples.pixels(row)), media_type="image/png")

    def picture(self, request: Request) -> Response:
        """Send the picture of a sample by row number; files cannot be requested by name."""
        try:
            file = (self.labelling.samples.pictures or {})[request.path_params["row"]]
            if Path(os.path.realpath(file)) != file:
                raise HTTPException(404)  # replaced by a symbolic link
            content, kind = decoding.shown(file)
        except (KeyError, OSError, ImportError, decoding.NoPictureError) as error:
            raise HTTPException(404) from error  # moved or changed since the start
        return Response(content, media_type=kind)

    def thumbnail(self, request: Request) -> Response:
        """Send a thumbnail of a sample, or its picture if there is none."""
        samples, row = self.labelling.samples, request.path_params["row"]
        kept = None
        if samples.thumbnails is not None and row < len(samples.ids):
            kept = thumbnail_of(samples.thumbnails, str(samples.ids[row]))
        return self.picture(request) if kept is None else Response(kept, media_type="image/jpeg")

    def static(self, request: Request) -> Response:
        """Send the script, a style sheet or the icon."""
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404)
        kind, package, folder = STATIC[name]
        return Response((files(package) / folder / name).read_bytes(), media_type=kind)


def _said(form: Form, field: str = "answer") -> Any:
    if form.get(field) not in ANSWERS:
        raise HTTPException(400)
    return form[field]


def _with_busy(page: Response, busy: bool) -> Response:
    page.headers["x-busy"] = "yes" if busy else "no"
    return page


def _start(given: str, n_lines: int, at_a_time: int) -> int:
    """Return the first line to show, given the `start` value of an address."""
    wanted = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
    last = max(0, n_lines - 1) // at_a_time
    return min(wanted // at_a_time, last) * at_a_time
