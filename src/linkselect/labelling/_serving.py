"""Run the page on this machine, at a free port, in a thread."""

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
    """Serves one labelling until it is closed.

    Parameters
    ----------
    labelling : Labelling
        What is served.
    source : str
        What the samples are called on the page.
    port : int
        The port; 0 for a free one.
    framed_by : str
        Which pages may show ours in a frame.

    Attributes
    ----------
    address : str
        The address with the token.
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
            access_log=False,  # addresses hold the token
            server_header=False,
            date_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        # Instead of joining the thread: Ctrl-C in `join` makes Python take it for ended.
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def address_once(self) -> str:
        """Return another address of the page that works once, to start a browser with."""
        return f"http://{HOST}:{self.port}{self._guard.ticket()}"

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def start(self) -> None:
        """Start to answer."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        end = time.monotonic() + SECONDS_TO_START
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.01)
        if not self._server.started:
            raise OSError(f"The page could not be started at port {self.port}.")

    def wait(self) -> None:
        """Wait until the server ends, or the user presses Ctrl-C."""
        while not self._ended.wait(0.5):
            pass

    def close(self) -> None:
        """End the server, and let go of everything; answers are on the disk already."""
        self._server.should_exit = True
        if self._thread is None:
            self._socket.close()
        elif not self._ended.wait(SECONDS_TO_END):
            self._server.force_exit = True
            self._ended.wait(SECONDS_TO_END)
        self.labelling.close()


def _bound(port: int) -> socket.socket:
    """Bind to this machine only, and take connections."""
    # With its protocol named, asyncio sends what it has at once: small answers else wait 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        # Else the system keeps the port for a minute after the last start ended. Elsewhere the
        # option would let two servers share it.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # two could bind it
    except (OSError, OverflowError) as error:
        found.close()
        why = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise GuidedValueError(
            f"Port {port} cannot be used: {why}.",
            "Choose another one, or none for a free one.",
            "port",
        ) from error
    return found
