"""Fetch data sets from the UCI repository: download, and turn text into arrays."""

from __future__ import annotations

import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect.arrays import FloatArray

__all__ = ["FetchError", "UciSource", "download", "fetch_arrays", "uci_address"]

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

# Called with the bytes received so far and the bytes expected (None if the server does not say).
ProgressFunction = Callable[[int, int | None], None]


class FetchError(OSError):
    """Raised when a data set could not be downloaded, or is not what it should be."""


@dataclass(frozen=True)
class UciSource:
    """Where a set lies at UCI, and how its text becomes numbers.

    Parameters
    ----------
    number : int
        The set's number at UCI.
    files : tuple of str
        Paths below the repository's address. Rows of several files follow each other.
    labels : tuple of str
        What stands for class 0, 1, ... in the text.
    label : {"last", "first", "one-hot", "blocks"}
        The label is the last or the first field of a row; or the last k fields are 0 except that
        of the class; or there is none, the files hold columns side by side, and the classes are
        blocks of equally many rows.
    class_names : tuple of str
        The names of the classes; default: the labels.
    separator : str or None
        Between fields; None: any white space.
    n_ids : int
        How many fields in front are no features.
    complete_only : bool
        Leave out rows with missing values ("?").
    digits : int or None
        Round to this many significant digits: copies of the set differ in how many they keep.
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
    """Download a set and return X and y. The caller checks that they are the right ones.

    The environment variable LINKSELECT_UCI names another address of the repository, such as a
    mirror.

    Parameters
    ----------
    source : UciSource
        What to fetch.
    n_features : int
        How many features a row has.
    progress : function, optional
        Called with the bytes received and expected. Default: a bar on a terminal, if rich is
        installed.
    """
    base = uci_address()
    texts = [download(f"{base}/{file}", progress).decode("latin-1") for file in source.files]
    try:
        X, y = _arrays(source, texts, n_features)
    except ValueError as error:
        raise FetchError(
            f"What {base}/{source.files[0]} holds does not read as the set UCI {source.number}: "
            f"{error}"
        ) from error
    return X if source.digits is None else _rounded(X, source.digits), y


def uci_address() -> str:
    """Return the address of the UCI repository, or that of LINKSELECT_UCI."""
    return os.environ.get("LINKSELECT_UCI", UCI).rstrip("/")


# -- text to arrays ---------------------------------------------------------------------------


def _arrays(
    source: UciSource, texts: list[str], n_features: int
) -> tuple[FloatArray, NDArray[np.int64]]:
    tables = [_fields(text, source.separator) for text in texts]
    if source.label == "blocks":
        X = np.hstack([_numbers(table) for table in tables])
        return X, np.repeat(np.arange(len(source.labels)), len(X) // len(source.labels))
    n_labels = len(source.labels) if source.label == "one-hot" else 1
    width = source.n_ids + n_features + n_labels
    # Some files begin with comments and names of columns.
    rows = [row[source.n_ids :] for table in tables for row in table if len(row) == width]
    if source.label == "first":
        rows = [row[1:] + row[:1] for row in rows]
    if source.complete_only:
        rows = [row for row in rows if "?" not in row]
    if not rows:
        raise ValueError(f"there is no row of {width} fields.")
    X = _numbers([row[:n_features] for row in rows])
    return X, _classes([row[n_features:] for row in rows], source)


def _fields(text: str, separator: str | None) -> list[list[str]]:
    return [line.split(separator) for line in text.splitlines() if line and not line.isspace()]


def _numbers(rows: list[list[str]]) -> FloatArray:
    return np.array([[float("nan" if field == "?" else field) for field in row] for row in rows])


def _classes(rows: list[list[str]], source: UciSource) -> NDArray[np.int64]:
    if source.label == "one-hot":
        return np.array(rows, dtype=np.float64).argmax(axis=1).astype(np.int64)
    known = {label: number for number, label in enumerate(source.labels)}
    found = [row[0].strip() for row in rows]
    unknown = set(found) - known.keys()
    if unknown:
        raise ValueError(f"{min(unknown)!r} is none of the labels {', '.join(source.labels)}.")
    return np.array([known[label] for label in found], dtype=np.int64)


def _rounded(X: FloatArray, digits: int) -> FloatArray:
    rounded = [float(f"{value:.{digits}g}") for value in X.ravel().tolist()]
    return np.array(rounded).reshape(X.shape)


# -- download ---------------------------------------------------------------------------------


def download(url: str, progress: ProgressFunction | None = None, timeout: float = 30.0) -> bytes:
    """Return what an address holds, all of it or an error.

    Parameters
    ----------
    url : str
        The address.
    progress : function, optional
        Called with the bytes received and expected. Default: a bar on a terminal, if rich is
        installed.
    timeout : float
        Seconds to wait for the server.
    """
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response, _bar(url, progress) as tell:
            return _read_all(response, url, tell)
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(
            f"{url} cannot be fetched: the server answers {error.code} {error.reason}."
        ) from error
    except FetchError:
        raise
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise FetchError(
            f"{url} cannot be reached ({reason}). Is there a network connection?"
        ) from error


def _read_all(response: Any, url: str, tell: ProgressFunction) -> bytes:
    length = response.headers.get("Content-Length")
    total = int(length) if length else None
    received = bytearray()
    tell(0, total)
    while part := response.read(1 << 16):
        received += part
        tell(len(received), total)
    if total is not None and len(received) != total:
        raise FetchError(
            f"The download of {url} broke off after {len(received)} of {total} bytes. Try again."
        )
    return bytes(received)


def _bar(url: str, progress: ProgressFunction | None) -> Any:
    """Return a context that gives the function to tell the progress to."""
    if progress is not None:
        return nullcontext(progress)
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            return _rich_bar(url)
        except ImportError:
            pass
    return nullcontext(lambda done, total: None)


def _rich_bar(url: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    class Bar(Progress):
        def __enter__(self) -> Any:
            super().__enter__()
            task = self.add_task(url.rsplit("/", 1)[-1], total=None)
            return lambda done, total: self.update(task, completed=done, total=total)

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    return Bar(*columns, console=Console(stderr=True))
