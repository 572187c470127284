"""The addresses of the page: what is shown by GET, what is done by POST."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from linkselect.asking import Answer
from linkselect.asking._answers import ANSWERS
from linkselect.labelling._answer_store import NotStoredError
from linkselect.labelling._labelling import Labelling
from linkselect.labelling._pages import Pages
from linkselect.labelling._sample_pictures import TYPES
from linkselect.labelling._shown_samples import mask_png, png

LONGEST_FORM = 4096
LONGEST_WINDOW = 40
FORM = "application/x-www-form-urlencoded"
# How a question is looked at; goes on from page to page.
VIEW = {"hints": ("on", "off"), "values": ("all",)}
SCRIPT_HASH = re.compile(rb"script-src '(sha256-[A-Za-z0-9+/=]+)'")
Form = Mapping[str, str]
# The type of each file that pages load, and where it is.
STATIC = {
    "ask.js": ("text/javascript", "linkselect.labelling", "static"),
    "ask.css": ("text/css", "linkselect.labelling", "static"),
    "page.css": ("text/css", "linkselect.report", "templates"),
    "icon.png": ("image/png", "linkselect.labelling", "static"),
}


def make_app(labelling: Labelling, source: str) -> Starlette:
    """Return the application of one labelling, without the guard before it."""
    site = Site(labelling, Pages(labelling, source))
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
        return _page(site.pages.message("The answer was not saved", str(error)), 507)

    handlers = dict.fromkeys((NotStoredError, HTTPException), failed)
    return Starlette(routes=routes, exception_handlers=handlers)


def _taking(act: Callable[[Form], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(act, await _read_form(request))

    return endpoint


async def _read_form(request: Request) -> Form:
    """Read a small form; anything else is not from our pages."""
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


def _page(text: str, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(text, status, media_type="text/html", headers=named)


def _back_to(page: str, options: Form, **more: str) -> Response:
    kept = {name: options[name] for name in VIEW if options.get(name) in VIEW[name]}
    query = urlencode({**kept, **more})
    return RedirectResponse(f"{page}?{query}" if query else page, status_code=303)


class Site:
    """Answers requests by what the labelling knows.

    Parameters
    ----------
    labelling : Labelling
        Questions, answers and rankings.
    pages : Pages
        How they look.
    """

    def __init__(self, labelling: Labelling, pages: Pages) -> None:
        self.labelling = labelling
        self.pages = pages

    # -- what is done ---------------------------------------------------------------------------

    def answer(self, form: Form) -> Response:
        """Take an answer to the question that a page shows."""
        outcome = self.labelling.answer(self._rows(form), _said(form))
        if outcome.contradiction is not None:
            return _page(self.pages.contradiction(outcome.contradiction, False))
        return _back_to("./", form, note=outcome.note)

    def change(self, form: Form) -> Response:
        """Change or take back an earlier answer."""
        rows = self._rows(form)
        said = None if form.get("answer") == "none" else _said(form)
        outcome = self.labelling.change(rows, said)
        if outcome.contradiction is not None:
            return _page(self.pages.contradiction(outcome.contradiction, True))
        note = "removed" if said is None else "changed"
        note = "same" if outcome.kind == "same" else note
        if form.get("from") != "answers":
            return _back_to("./", form, note=note)
        start = {"start": form["start"]} if form.get("start", "").isdecimal() else {}
        return _back_to("answers", form, note=note, **start)

    def resolve(self, form: Form) -> Response:
        """Change an earlier answer, so that another one fits."""
        earlier = self._rows(form, "earlier_a", "earlier_b")
        said = _said(form, "earlier")
        first = self.labelling.change(earlier, said)
        if first.contradiction is not None:
            return _page(self.pages.contradiction(first.contradiction, True))
        is_change = form.get("is_change") == "yes"
        then = self.labelling.change if is_change else self.labelling.answer
        second = then(self._rows(form), _said(form))
        if second.contradiction is not None:
            ids = self.labelling.samples.ids
            pair = ids[earlier[0]], ids[earlier[1]]
            saved = Answer(pair, said) if first.kind == "saved" else None
            return _page(self.pages.contradiction(second.contradiction, is_change, saved))
        is_changed = is_change and second.kind == "saved"
        return _back_to("./", form, note="changed" if is_changed else second.note)

    def undo(self, form: Form) -> Response:
        """Take back the last answer."""
        return _back_to("./", form, note=self.labelling.undo())

    def _rows(self, form: Form, *fields: str) -> tuple[int, int]:
        every = range(len(self.labelling.samples.ids))
        try:
            a, b = (every.index(int(form[field])) for field in fields or ("a", "b"))
        except (KeyError, ValueError) as error:
            raise HTTPException(400) from error
        if a == b:
            raise HTTPException(400)
        return a, b

    # -- what is shown --------------------------------------------------------------------------

    def question(self, request: Request) -> Response:
        """Show the next question."""
        window = request.headers.get("x-window", "")[:LONGEST_WINDOW]
        return _page(self.pages.question(request.query_params, window))

    def answers(self, request: Request) -> Response:
        """Show all answers."""
        return _page(self.pages.answers(request.query_params))

    def pair(self, request: Request) -> Response:
        """Show two samples that were asked about before."""
        try:
            return _page(self.pages.pair(self._rows(request.query_params)))
        except HTTPException as error:
            raise HTTPException(404) from error

    def insight(self, request: Request) -> Response:
        """Show what the background has found."""
        busy = "yes" if self.labelling.found()[1] else "no"
        return _page(self.pages.insight(), x_busy=busy)

    def finish(self, request: Request) -> Response:
        """Show the report, or that it is being made."""
        page = self.pages.finish(request.query_params)
        return _page(page, x_busy="yes" if 'data-again="finish"' in page else "no")

    def report(self, request: Request) -> Response:
        """Send the report as it is; its own script and style are in the page."""
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
        """Draw where the best pixels are."""
        samples = self.labelling.samples
        ranked = self.labelling.ranked()
        if samples.image_shape is None or ranked is None:
            raise HTTPException(404)
        return Response(mask_png(samples.pixels(), ranked.best), media_type="image/png")

    def pixels(self, request: Request) -> Response:
        """Draw the pixels of a sample."""
        samples = self.labelling.samples
        row = request.path_params["row"]
        if samples.image_shape is None or row >= len(samples.ids):
            raise HTTPException(404)
        return Response(png(samples.pixels(row)), media_type="image/png")

    def picture(self, request: Request) -> Response:
        """Send the picture of a sample, by its number; there is no way to name a file."""
        try:
            file = (self.labelling.samples.pictures or {})[request.path_params["row"]]
            return Response(file.read_bytes(), media_type=TYPES[file.suffix.lower()])
        except (KeyError, OSError) as error:  # moved away since the start
            raise HTTPException(404) from error

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
