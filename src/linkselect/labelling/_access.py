"""Access control: the page accepts only requests from this machine that contain its token."""

import html
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Load resources from this server only; no inline scripts or styles.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # With no-referrer, browsers would submit every form with the Origin "null".
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
# Identical for every address without the token, so that it reveals nothing about the token.
LOST = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Page not found · linkselect</title>
<h1>Page not found</h1>
<p>This address belongs to an earlier session or is incomplete: a complete address ends with a
slash.</p>
<p>{again}</p>
"""


def new_token() -> str:
    """Return a secret that cannot be guessed and may be part of a URL."""
    return secrets.token_urlsafe(24)


class Guard:
    """Accept only requests that contain the token and have this server as host and origin.

    The token is the first part of every path. A cookie is unsuitable, because browsers send it to
    every port of this machine and block it on pages inside a notebook.

    Parameters
    ----------
    app : ASGI application
        The application to protect; it receives paths without the token.
    token : str
        The secret.
    port : int
        The port of the server. Accepted host names are 127.0.0.1 and localhost.
    framed_by : str
        Sources that may embed the page in a frame, in the syntax of Content-Security-Policy.
    again : str
        Instructions for finding the current address, which are shown at an outdated address.
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
        """Return a path that redirects to the page only once.

        The path does not contain the token, because other users of this machine can see the address
        with which a browser is started.
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
        """Handle or reject a request; a rejection explains only how to find the current address."""
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
            # Without the trailing slash, relative links on the page would lose the token.
            page = Response(self._lost, 404, media_type="text/html")
            await page(scope, receive, self._with_headers(send))
            return
        if status:
            await Response(None, status, HEADERS, "text/plain")(scope, receive, send)
            return
        inner = {**scope, "path": f"/{rest}", "raw_path": None, "root_path": ""}
        await self.app(inner, receive, self._with_headers(send))

    def _is_ours(self, headers: Headers) -> bool:
        """Return whether this server is the only host of a request that has at most one origin."""
        hosts = headers.getlist("host")
        return len(hosts) == 1 and hosts[0] in self.hosts and len(headers.getlist("origin")) < 2

    def _refusal(self, scope: Scope, token: str) -> int:
        """Return the HTTP status for rejecting a request, or 0 if the request is allowed."""
        headers, is_post = Headers(scope=scope), scope["method"] == "POST"
        # Check the host first: a foreign name that resolves to this machine must learn nothing.
        if not self._is_ours(headers):
            return 421
        if not _same(token, self.token):
            return 404
        if not is_post and scope["method"] not in ("GET", "HEAD"):
            return 405
        if is_post and headers.get("origin") != f"http://{headers['host']}":
            return 403
        # Browsers name the requesting site: others may link to the page but not load its parts.
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
    """Compare two strings in constant time."""
    return secrets.compare_digest(text.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
