"""Requests without the token, or for or from another site, read and change nothing."""

import asyncio

import httpx
import pytest

from linkselect.labelling._access import Guard, new_token
from linkselect.labelling._app import make_app
from tests.helpers.labellings import begun

TOKEN = "a-secret"
PORT = 8123
HOME = f"http://127.0.0.1:{PORT}"
ANSWER = {"a": "0", "b": "1", "answer": "alike"}


@pytest.fixture
def labelling():
    labelling = begun()
    yield labelling
    labelling.close()


@pytest.fixture
def call(labelling):
    """Send a request to the guarded application, without a network."""
    app = Guard(make_app(labelling, "samples"), TOKEN, PORT, again=AGAIN)

    async def send(method, path, **options):
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url=HOME) as client:
            return await client.request(method, path, **options)

    return lambda *arguments, **options: asyncio.run(send(*arguments, **options))


AGAIN = "Start <it> again."


def nothing_in(response):
    return response.content == b"" and response.status_code >= 400


def is_lost(response):
    """Check that a response explains how to find the page and reveals nothing else."""
    headers = response.headers
    assert (response.status_code, headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Start &lt;it&gt; again." in response.text
    assert "earlier session" in response.text
    assert TOKEN not in response.text
    assert "default-src 'none'" in headers["content-security-policy"]
    return response


def test_tokens_differ_and_are_long():
    assert len({new_token() for _ in range(20)}) == 20
    assert len(new_token()) >= 32


def test_with_the_token_there_is_a_page(call):
    response = call("GET", f"/{TOKEN}/")
    assert response.status_code == 200
    assert "Are these two alike?" in response.text


@pytest.mark.parametrize("path", ["/", "/wrong/", f"/{TOKEN}x/", "//", f"/{TOKEN[:-1]}/", "/é/"])
@pytest.mark.parametrize("rest", ["", "answers", "ask.js", "pixels/0"])
def test_without_the_token_only_instructions_are_shown(call, labelling, path, rest):
    lost = is_lost(call("GET", path + rest))
    other = is_lost(call("POST", "/another/answer", headers={"origin": HOME}, data=ANSWER))
    assert lost.content == other.content
    assert lost.headers == other.headers
    assert labelling.queries.history == ()


def test_the_address_needs_its_trailing_slash(call):
    lost = is_lost(call("GET", f"/{TOKEN}"))
    assert (lost.content, lost.headers) == (call("GET", "/x").content, call("GET", "/x").headers)


def test_another_host_gets_no_instructions(call):
    headers = {"host": f"example.org:{PORT}"}
    assert nothing_in(call("GET", "/wrong/", headers=headers))


@pytest.mark.parametrize(
    "host",
    ["example.org", f"example.org:{PORT}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.2:{PORT}", ""],
)
def test_another_host_gets_nothing(call, labelling, host):
    headers = {"host": host, "origin": f"http://{host}"}
    assert nothing_in(call("GET", f"/{TOKEN}/", headers=headers))
    assert nothing_in(call("POST", f"/{TOKEN}/answer", headers=headers, data=ANSWER))
    assert labelling.queries.history == ()


def test_localhost_is_this_machine_too(call):
    headers = {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}
    assert call("GET", f"/{TOKEN}/", headers=headers).status_code == 200
    assert call("POST", f"/{TOKEN}/answer", headers=headers, data=ANSWER).status_code == 303


def test_two_hosts_are_one_too_many(call):
    headers = [("host", f"127.0.0.1:{PORT}"), ("host", "example.org")]
    assert nothing_in(call("GET", f"/{TOKEN}/", headers=headers))


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://example.org", f"https://127.0.0.1:{PORT}", f"http://localhost:{PORT}"],
)
@pytest.mark.parametrize("path", ["answer", "change", "resolve", "undo"])
def test_another_origin_changes_nothing(call, labelling, origin, path):
    headers = {} if origin is None else {"origin": origin}
    assert nothing_in(call("POST", f"/{TOKEN}/{path}", headers=headers, data=ANSWER))
    assert labelling.queries.history == ()


def test_our_own_origin_may_answer(call, labelling):
    response = call("POST", f"/{TOKEN}/answer", headers={"origin": HOME}, data=ANSWER)
    assert response.status_code == 303
    assert response.headers["location"] == "./?note=alike"
    assert len(labelling.queries.history) == 1


@pytest.mark.parametrize("mode", ["no-cors", "cors", "same-origin"])
def test_parts_of_the_page_are_not_for_other_sites(call, mode):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode}
    assert nothing_in(call("GET", f"/{TOKEN}/ask.js", headers=headers))
    assert nothing_in(call("GET", f"/{TOKEN}/", headers=headers))


def test_a_link_in_a_notebook_may_open_the_page(call):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert call("GET", f"/{TOKEN}/", headers=headers).status_code == 200
    headers["origin"] = HOME
    assert nothing_in(call("POST", f"/{TOKEN}/answer", headers=headers, data=ANSWER))


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods(call, method):
    response = call(method, f"/{TOKEN}/answer", headers={"origin": HOME})
    assert nothing_in(response)
    assert not any(name.startswith("access-control") for name in response.headers)


def test_headers_of_every_answer(call):
    for path in ("", "ask.js", "icon.png", "answers"):
        headers = call("GET", f"/{TOKEN}/{path}", headers={"origin": "http://a.org"}).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'self'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in headers)


def test_a_websocket_is_closed(labelling):
    sent = []

    async def send(message):
        sent.append(message)

    guard = Guard(make_app(labelling, "samples"), TOKEN, PORT)
    asyncio.run(guard({"type": "websocket", "path": f"/{TOKEN}/", "headers": []}, None, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_a_ticket_leads_to_the_page_once(labelling):
    app = Guard(make_app(labelling, "samples"), TOKEN, PORT, again=AGAIN)
    path = app.ticket()
    assert TOKEN not in path

    async def get(**headers):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=HOME) as client:
            return await client.get(path, headers=headers)

    assert nothing_in(asyncio.run(get(host="example.org"))), "this does not use up the ticket"
    response = asyncio.run(get())
    assert (response.status_code, response.headers["location"]) == (303, f"/{TOKEN}/")
    assert response.headers["cache-control"] == "no-store"
    is_lost(asyncio.run(get()))
