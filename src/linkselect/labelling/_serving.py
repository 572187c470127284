"""Serve the page from a thread, only on this machine."""

import os
import socket
import threading
import time

import uvicorn

from linkselect._messages import GuidedValueError
from linkselect.labelling._access import Guard, new_token
from linkselect.labelling._app import make_app
from linkselect.labelling._labelling import Labelling

HOST = "127.0.0.1"
SECONDS_TO_START = 30.0
SECONDS_TO_END = 5.0


class Server:
    """A web server for one labelling session.

    Parameters
    ----------
    labelling : Labelling
        The session.
    source : str
        Description of the samples, shown at the top of each page.
    port : int
        The port, or 0 to choose a free one.
    framed_by : str
        Sources that may embed the page in a frame.

    Attributes
    ----------
    address : str
        The address of the page, including its secret token.
    """

    def __init__(
        self, labelling: Labelling, source: str, port: int = 0, framed_by: str = "'self'"
    ) -> None:
        self.labelling = labelling
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        token = new_token()
        self.address = f"http://{HOST}:{self.port}/{token}/"
        app, again = make_app(labelling, source), labelling.place.again
        self._guard = Guard(app, token, self.port, framed_by, again)
        config = uvicorn.Config(
            self._guard,
            log_config=None,
            access_log=False,  # addresses contain the token
            server_header=False,
            date_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        # Used instead of `join`: after Ctrl-C there, Python considers the thread ended.
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def address_once(self) -> str:
        """Return an address that opens the page once, for starting a browser."""
        return f"http://{HOST}:{self.port}{self._guard.ticket()}"

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def start(self) -> None:
        """Start the server, and wait until it accepts requests."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        end = time.monotonic() + SECONDS_TO_START
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.01)
        if not self._server.started:
            raise OSError(f"The server could not be started on port {self.port}.")

    def wait(self) -> None:
        """Wait until the server stops or the user presses Ctrl-C."""
        while not self._ended.wait(0.5):
            pass

    def close(self) -> None:
        """Stop the server and close the session; answers are already on disk."""
        self._server.should_exit = True
        if self._thread is None:
            self._socket.close()
        elif not self._ended.wait(SECONDS_TO_END):
            self._server.force_exit = True
            self._ended.wait(SECONDS_TO_END)
        self.labelling.close()


def _bound(port: int) -> socket.socket:
    """Return a socket that listens on this machine only."""
    # With an explicit protocol, asyncio sends small responses at once instead of after 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        # Makes the port available again right after a server stops. On other systems, the option
        # would let two servers share a port.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # bind alone would not reserve the port
    except (OSError, OverflowError) as error:
        found.close()
        why = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise GuidedValueError(
            f"Port {port} cannot be used: {why}.",
            "Choose another port, or 0 to use a free one.",
            "port",
        ) from error
    return found
