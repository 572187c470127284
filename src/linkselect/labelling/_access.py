"""Who may talk to the page: whoever has the link, on this machine, and nobody else."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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
CHANGING = {"POST"}
READING = {"GET", "HEAD"}


def new_token() -> str:
    """Return a secret that nobody guesses, in characters that an address can hold."""
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
    """

    def __init__(self, app: App, token: str, port: int, framed_by: str = "'self'") -> None:
        self.app = app
        self.token = token.encode()
        self.hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}
        self.framed_by = framed_by
        self._tickets: set[bytes] = set()

    def ticket(self) -> str:
        """Return a path that leads to the page once, and to nothing then.

        Other users of this machine can read with which address a browser was started.
        """
        ticket = new_token()
        self._tickets.add(ticket.encode())
        return f"/{ticket}/"

    def _takes_ticket(self, scope: Scope) -> bool:
        headers = _single(scope["headers"])
        if scope["method"] != "GET" or b"" in headers or headers.get(b"host") not in self.hosts:
            return False
        given = scope["path"].removeprefix("/").removesuffix("/").encode("utf-8", "replace")
        found = [one for one in self._tickets if secrets.compare_digest(one, given)]
        self._tickets.difference_update(found)
        return bool(found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it without saying why."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a websocket
            await send({"type": "websocket.close", "code": 1008})
            return
        if self._tickets and self._takes_ticket(scope):
            await _answer(send, 303, {"location": f"/{self.token.decode()}/"})
            return
        _, slash, rest = scope["path"].removeprefix("/").partition("/")
        status = self._refusal(scope)
        if status or not slash:
            # Without the slash at the end, addresses on the page would lack the token.
            await _answer(send, status or 404)
            return
        inner = {**scope, "path": f"/{rest}", "raw_path": None, "root_path": ""}
        await self.app(inner, receive, self._with_headers(send))

    def _refusal(self, scope: Scope) -> int:
        """Return the status with which to refuse a request; 0 if it may pass."""
        headers = _single(scope["headers"])
        host = headers.get(b"host", b"")
        given = scope["path"].removeprefix("/").partition("/")[0].encode("utf-8", "replace")
        # The host first: a name that somebody lets point here must learn nothing at all.
        if headers.get(b"", None) is not None or host not in self.hosts:
            return 421
        if not secrets.compare_digest(given, self.token):
            return 404
        if scope["method"] not in CHANGING | READING:
            return 405
        if scope["method"] in CHANGING and headers.get(b"origin") != b"http://" + host:
            return 403
        # Newer browsers say who asks; parts of a page are only for our own pages.
        site = headers.get(b"sec-fetch-site", b"same-origin")
        navigates = headers.get(b"sec-fetch-mode") == b"navigate"
        if site not in (b"same-origin", b"none") and not (
            navigates and scope["method"] not in CHANGING
        ):
            return 403
        return 0

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower(): value for name, value in message["headers"]}
                policy = given.pop(b"content-security-policy", PAGE_POLICY.encode())
                for name, value in HEADERS.items():
                    given.setdefault(name.encode(), value.encode())
                framed = f"; frame-ancestors {self.framed_by}".encode()
                given[b"content-security-policy"] = policy + framed
                message = {**message, "headers": list(given.items())}
            await send(message)

        return sending


def _single(headers: list[tuple[bytes, bytes]]) -> Mapping[bytes, bytes]:
    """Return headers by name; a name given twice is a sign of trouble and stands under ''."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in found and name in (b"host", b"origin"):
            found[b""] = name
        found[name] = value
    return found


async def _answer(send: Send, status: int, more: Mapping[str, str] | None = None) -> None:
    """Answer without any content."""
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"0")]
    named = {**HEADERS, **(more or {})}
    headers += [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
