"""The server: its port, its shutdown and addresses of earlier sessions."""

import socket

import pytest

from linkselect._messages import GuidedValueError
from linkselect.labelling import open_page
from linkselect.labelling._serving import Server
from tests.helpers.labellings import asked, begun, client_of, grouped, served

X, y = grouped()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "pairs.csv"


def test_the_same_port_works_right_after_the_end(out):
    server = served(begun(out))
    port, history = server.port, []
    for _ in range(3):
        with client_of(server.address) as client, client_of(server.address) as idle:
            a, b = asked(client.get("").text)
            client.post("answer", data={"a": a, "b": b, "answer": "different"})
            idle.get("answers")
            # The server closes while both connections are open.
            server.close()
        server = served(begun(out), port=port)
        assert server.port == port
        history.append(len(server.labelling.queries.history))
    server.close()
    assert history == [1, 2, 3]


def test_two_servers_do_not_share_a_port():
    server, labelling = (
        Server(begun(), "samples"),
        begun(),
    )  # a server reserves its port before it starts
    try:
        with pytest.raises(GuidedValueError, match=f"Port {server.port} cannot be used"):
            Server(labelling, "samples", port=server.port)
    finally:
        server.close()
        labelling.close()


def test_an_old_address_gives_instructions(out):
    old = served(begun(out))
    old.close()
    new = served(begun(out), port=old.port)
    with client_of(old.address) as client:
        lost = client.get("")
        assert lost.status_code == 404
        assert "The current address is shown in the terminal where linkselect ask" in lost.text
        assert "notebook" not in lost.text
        assert new.address.split("/")[3] not in lost.text
    new.close()
    queries = open_page(X, random_state=0)
    with client_of(queries.address + "../wrong/") as client:
        lost = client.get("")
        assert (lost.status_code, "terminal" in lost.text) == (404, False)
        assert "open_page" in lost.text
    queries.close()


def test_a_small_response_is_not_delayed():
    """By default, TCP may delay small packets by 40 ms."""
    server = served(begun())
    with client_of(server.address) as client:
        client.get("icon.png")
        (connection,) = server._server.server_state.connections
        connected = connection.transport.get_extra_info("socket")
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    server.close()
