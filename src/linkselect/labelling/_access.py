"""Access to the page: only for requests from this machine that have the secret link."""

import html
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Only what the server itself sends; no inline script, no inline style, no address elsewhere.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # With no-referrer, browsers would send the Origin "null" with every form.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
# The same for every address without the token, so that it tells nothing about the right one.
LOST = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not the address of the page · linkselect</title>
<h1>Nothing is at this address</h1>
<p>It belongs to an earlier start of the page, or its end is missing: the whole address ends with a
slash.</p>
<p>{again}</p>
"""


def new_token() -> str:
    """Return a secret that cannot be guessed, in characters that are allowed in an address."""
    return secrets.token_urlsafe(24)


class Guard:
    """Let a request through only if it has the token, and comes to and from our own address.

    The token is the first part of every path. A cookie would be sent to other ports of this
    machine too, and browsers keep cookies from pages inside a notebook.

    Parameters
    ----------
    app : ASGI application
        What answers; it sees paths without the token.
    token : str
        The secret.
    port : int
        The port of the server; the names of the host are 127.0.0.1 and localhost.
    framed_by : str
        Which pages may show ours in a frame, as Content-Security-Policy has it.
    again : str
        How to come back to the page from an address that is not its own any more.
    """

    def __init__(
        self, app: ASGIApp, token: str, port: int, framed_by: str = "'self'", again: str = ""
    ) -> None:
        self.app = app
        self.token = token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.framed_by = framed_by
        self._lost = LOST.format(again=html.escape(again))
        self._tickets: set[str] = set()

    def ticket(self) -> str:
        """Return a path that leads to the page once, and to nothing then.

        Other users of this machine can read with which address a browser was started.
        """
        ticket = new_token()
        self._tickets.add(ticket)
        return f"/{ticket}/"

    def _takes_ticket(self, scope: Scope) -> bool:
        if scope["method"] != "GET" or not self._is_ours(Headers(scope=scope)):
            return False
        given = scope["path"].removeprefix("/").removesuffix("/")
        found = {ticket for ticket in self._tickets if _same(ticket, given)}
        self._tickets -= found
        return bool(found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; say why only to who has an address that is lost."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a websocket
            await send({"type": "websocket.close", "code": 1008})
            return
        if self._tickets and self._takes_ticket(scope):
            headers = {**HEADERS, "location": f"/{self.token}/"}
            await Response(None, 303, headers, "text/plain")(scope, receive, send)
            return
        given, slash, rest = scope["path"].removeprefix("/").partition("/")
        status = self._refusal(scope, given)
        if status in (0, 404) and (status or not slash):
            # Without the slash at the end, addresses on the page would lack the token.
            page = Response(self._lost, 404, media_type="text/html")
            await page(scope, receive, self._with_headers(send))
            return
        if status:
            await Response(None, status, HEADERS, "text/plain")(scope, receive, send)
            return
        inner = {**scope, "path": f"/{rest}", "raw_path": None, "root_path": ""}
        await self.app(inner, receive, self._with_headers(send))

    def _is_ours(self, headers: Headers) -> bool:
        """Tell whether a request names our host, once, and at most one page that it comes from."""
        hosts = headers.getlist("host")
        return len(hosts) == 1 and hosts[0] in self.hosts and len(headers.getlist("origin")) < 2

    def _refusal(self, scope: Scope, token: str) -> int:
        """Return the status with which to refuse a request; 0 if it may pass."""
        headers, is_post = Headers(scope=scope), scope["method"] == "POST"
        # The host first: a foreign name that resolves to this machine must get no information.
        if not self._is_ours(headers):
            return 421
        if not _same(token, self.token):
            return 404
        if not is_post and scope["method"] not in ("GET", "HEAD"):
            return 405
        if is_post and headers.get("origin") != f"http://{headers['host']}":
            return 403
        # Newer browsers say who asks; parts of a page are only for our own pages.
        is_elsewhere = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        navigates = headers.get("sec-fetch-mode") == "navigate" and not is_post
        return 403 if is_elsewhere and not navigates else 0

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                policy = headers.get("content-security-policy", PAGE_POLICY)
                framed = f"{policy}; frame-ancestors {self.framed_by}"
                headers["content-security-policy"] = framed
            await send(message)

        return sending


def _same(text: str, other: str) -> bool:
    """Compare two texts in a time that does not tell how far they agree."""
    return secrets.compare_digest(text.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
