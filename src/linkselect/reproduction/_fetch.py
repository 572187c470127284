"""Download data sets from the UCI repository and convert their text to arrays."""

import http.client
import os
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

# The largest set has 6 MB.
MAX_BYTES = 200_000_000
MAX_SECONDS = 600.0

# Called with the numbers of bytes received and expected (None if the server does not send it).
ProgressFunction = Callable[[int, int | None], None]


class FetchError(OSError):
    """Raised when a data set cannot be downloaded or has unexpected contents."""


@dataclass(frozen=True)
class UciSource:
    """The location and text format of a data set in the UCI repository.

    Parameters
    ----------
    number : int
        The number that identifies the set at UCI.
    files : tuple of str
        Paths relative to the address of the repository. Rows of several files are concatenated.
    labels : tuple of str
        The text labels of the classes 0, 1, ...
    label : {"last", "first", "one-hot", "blocks"}
        The format of the labels. With "last" or "first", the label is the last or first field of
        each row. With "one-hot", the last fields of each row indicate the class. With "blocks",
        there are no labels: the classes are consecutive blocks of rows of equal size, and each file
        contains some of the columns.
    class_names : tuple of str
        The names of the classes. Default: the labels.
    separator : str or None
        The field separator; None if fields are separated by white space.
    n_ids : int
        The number of leading fields that are not features.
    complete_only : bool
        Whether to omit rows with missing values ("?").
    digits : int or None
        The number of significant digits to round to, because copies of the set differ in precision.
    """

    number: int
    files: tuple[str, ...]
    labels: tuple[str, ...]
    label: Literal["last", "first", "one-hot", "blocks"] = "last"
    class_names: tuple[str, ...] = ()
    separator: str | None = ","
    n_ids: int = 0
    complete_only: bool = False
    digits: int | None = None

    def __str__(self) -> str:
        return f"UCI {self.number}, {UCI}/{self.files[0]}"


def fetch_arrays(
    source: UciSource, n_features: int, progress: ProgressFunction | None = None
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Download a data set and return X and y, whose contents the caller must verify.

    The environment variable LINKSELECT_UCI can specify a different address for the repository, such
    as that of a mirror.

    Parameters
    ----------
    source : UciSource
        The set to download.
    n_features : int
        The number of features.
    progress : function, optional
        Function that is called with the numbers of bytes received and expected. Default: a progress
        bar, if rich is installed and the output is a terminal.
    """
    base = uci_address()
    texts = [download(f"{base}/{file}", progress).decode("latin-1") for file in source.files]
    try:
        X, y = _arrays(source, texts, n_features)
    except ValueError as error:
        raise FetchError(
            f"{base}/{source.files[0]} does not have the format of the set UCI {source.number}: "
            f"{error}"
        ) from error
    return X if source.digits is None else _rounded(X, source.digits), y


def uci_address() -> str:
    """Return the address of the UCI repository, which LINKSELECT_UCI can override."""
    return os.environ.get("LINKSELECT_UCI", UCI).rstrip("/")


# -- text to arrays ---------------------------------------------------------------------------


def _arrays(
    source: UciSource, texts: list[str], n_features: int
) -> tuple[FloatArray, NDArray[np.int64]]:
    tables = [
        [line.split(source.separator) for line in text.splitlines() if line and not line.isspace()]
        for text in texts
    ]
    if source.label == "blocks":
        X = np.hstack([_numbers(table) for table in tables])
        return X, np.repeat(np.arange(len(source.labels)), len(X) // len(source.labels))
    n_labels = len(source.labels) if source.label == "one-hot" else 1
    width = source.n_ids + n_features + n_labels
    # Some files begin with comments and column names.
    rows = [row[source.n_ids :] for table in tables for row in table if len(row) == width]
    if source.label == "first":
        rows = [row[1:] + row[:1] for row in rows]
    if source.complete_only:
        rows = [row for row in rows if "?" not in row]
    if not rows:
        raise ValueError(f"no row has {width} fields.")
    X = _numbers([row[:n_features] for row in rows])
    return X, _classes([row[n_features:] for row in rows], source)


def _numbers(rows: list[list[str]]) -> FloatArray:
    return np.array([[float("nan" if field == "?" else field) for field in row] for row in rows])


def _classes(rows: list[list[str]], source: UciSource) -> NDArray[np.int64]:
    if source.label == "one-hot":
        return np.array(rows, dtype=np.float64).argmax(axis=1).astype(np.int64)
    known = {label: number for number, label in enumerate(source.labels)}
    found = [row[0].strip() for row in rows]
    unknown = set(found) - known.keys()
    if unknown:
        raise ValueError(f"{min(unknown)!r} is not one of the labels {', '.join(source.labels)}.")
    return np.array([known[label] for label in found], dtype=np.int64)


def _rounded(X: FloatArray, digits: int) -> FloatArray:
    rounded = [float(f"{value:.{digits}g}") for value in X.ravel().tolist()]
    return np.array(rounded).reshape(X.shape)


# -- download ---------------------------------------------------------------------------------


def download(
    url: str,
    progress: ProgressFunction | None = None,
    timeout: float = 30.0,
    max_bytes: int = MAX_BYTES,
    max_seconds: float = MAX_SECONDS,
) -> bytes:
    """Download a file completely, or raise an error.

    Only https addresses are allowed; this also applies to redirects. As an exception, http is
    allowed for a local server.

    Parameters
    ----------
    url : str
        The address of the file.
    progress : function, optional
        Function that is called with the numbers of bytes received and expected. Default: a progress
        bar, if rich is installed and the output is a terminal.
    timeout : float
        The maximum time to wait for each response from the server, in seconds.
    max_bytes : int
        The maximum size of the file. All data sets from the papers are far smaller.
    max_seconds : float
        The maximum duration of the download.
    """
    _check_address(url, url)
    stopped = threading.Event()
    received: Future[bytes] = Future()
    with _bar(url, progress) as report:

        def work() -> None:
            try:
                received.set_result(_read(url, timeout, max_bytes, report, stopped))
            except BaseException as error:
                received.set_exception(error)

        # In a thread, because a server that sends single bytes slowly never causes a timeout.
        threading.Thread(target=work, daemon=True).start()
        try:
            return received.result(max_seconds)
        except TimeoutError:
            stopped.set()
            raise FetchError(
                f"The download of {url} took longer than {max_seconds:g} seconds and was stopped. "
                "Try again later, or set LINKSELECT_UCI to a mirror."
            ) from None


def _read(
    url: str, timeout: float, max_bytes: int, report: ProgressFunction, stopped: threading.Event
) -> bytes:
    """Download a file completely, or raise an error that explains the problem."""
    received = bytearray()
    try:
        with urllib.request.build_opener(_SafeRedirects).open(url, timeout=timeout) as response:
            total = _promised(response.headers.get("Content-Length"))
            while True:
                if max(len(received), total or 0) > max_bytes:
                    raise FetchError(
                        f"{url} has more than {max_bytes:,} bytes, so it is not the data set. "
                        "Check the address in LINKSELECT_UCI."
                    )
                report(len(received), total)
                if stopped.is_set() or not (part := response.read1(1 << 16)):
                    break
                received += part
    except FetchError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        answer = f"{error.code} {error.reason}"
        raise FetchError(f"Cannot download {url}: the server responded {answer}.") from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise FetchError(
            f"Cannot connect to {url} ({reason}). Check the network connection."
        ) from error
    except (http.client.HTTPException, ValueError) as error:
        raise FetchError(
            f"Invalid response from {url} ({error!r}). "
            "Try again later, or set LINKSELECT_UCI to a mirror."
        ) from error
    if total is not None and len(received) != total:
        raise FetchError(
            f"The download of {url} ended after {len(received)} of {total} bytes. Try again."
        )
    return bytes(received)


def _promised(length: str | None) -> int | None:
    if not length:
        return None
    if not (length.isascii() and length.isdecimal()):
        raise ValueError(f"Content-Length: {length[:40]}")
    # Python cannot convert numbers of thousands of digits.
    return int(length[:20])


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects only to addresses that are allowed for a download."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        try:
            _check_address(newurl, req.full_url)
        except FetchError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str, asked: str) -> None:
    """Raise an error for an unencrypted address, unless all addresses are local."""
    try:
        to, since = urllib.parse.urlsplit(url), urllib.parse.urlsplit(asked)
        here = {to.hostname, since.hostname} <= {"127.0.0.1", "::1", "localhost"}
    except ValueError:
        raise FetchError(f"{url!r} is not a valid address.") from None
    if to.scheme == "https" or (to.scheme == "http" and since.scheme == "http" and here):
        return
    if url == asked:
        raise FetchError(f"Cannot download {url}: only https addresses are allowed.")
    raise FetchError(f"{asked} redirects to {url}, but only https addresses are allowed.")


@contextmanager
def _bar(url: str, progress: ProgressFunction | None) -> Iterator[ProgressFunction]:
    """Yield a function that reports progress; by default, rich draws a bar on a terminal."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if progress is not None or not on_terminal or find_spec("rich") is None:
        yield progress or (lambda done, total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(url.rsplit("/", 1)[-1], total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
