"""Results on disk: each finished unit is kept at once, whichever process computed it."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import linkselect
from linkselect._messages import many, warn_user
from linkselect.reproduction._paper import Unit

# Written into the file's head, so that another program's database is not taken for ours.
APPLICATION_ID = 0x6C6B736C
# Counts the shapes of the tables below. The first had no protocol, the second no checksums.
SHAPE = 3
SECONDS_TO_WAIT_FOR_A_LOCK = 60.0
# A process of another machine cannot be looked up; this long after its claim it counts as gone.
# If it is not, a unit is computed twice, which costs time but changes no result.
SECONDS_OF_A_CLAIM = 3600.0
RESULTS = """
    paper TEXT, key TEXT, version TEXT, protocol TEXT,
    experiment TEXT, dataset TEXT, method TEXT, run INTEGER, parameters TEXT, seed INTEGER,
    seconds REAL, result TEXT, checksum TEXT,
    PRIMARY KEY (paper, key, version, protocol)
"""
CLAIMS = """
    paper TEXT, key TEXT, version TEXT, protocol TEXT,
    machine TEXT, process INTEGER, since REAL,
    PRIMARY KEY (paper, key, version, protocol)
"""
THIS_UNIT = "paper = ? AND version = ? AND protocol = ? AND key = ?"


class StoreError(ValueError):
    """A store that cannot be used: damaged, locked, or another program's file."""


class StoredResult(NamedTuple):
    """A unit's result, and how long it took."""

    result: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Store:
    """The results of one paper in a SQLite file, which several processes may share.

    A result of another version of the library or of another protocol stays in the file, but is
    not used.

    Parameters
    ----------
    path : Path
        The file. It is made when it does not exist; its folder must exist.
    paper : str
        The paper whose units are kept.
    version : str
        The version of the library that results carry.
    protocol : str
        What results depend on besides the unit, as text: see `Paper.protocol`.
    """

    path: Path
    paper: str
    version: str = linkselect.__version__
    protocol: str = "{}"

    def find(self, units: Iterable[Unit]) -> dict[Unit, StoredResult]:
        """Return what is stored of these units.

        A row that another program changed is as good as none, and a warning counts such rows.
        """
        wanted = {unit.key: unit for unit in units}
        query = (
            "SELECT key, seconds, result, checksum FROM results "
            "WHERE paper = ? AND version = ? AND protocol = ?"
        )
        with self._connection() as connection:
            if len(wanted) == 1:
                rows = connection.execute(f"{query} AND key = ?", (*self._owner, *wanted))
            else:
                rows = connection.execute(query, self._owner)
            read = {row[0]: _read(*row) for row in rows if row[0] in wanted}
        found = {wanted[key]: stored for key, stored in read.items() if stored is not None}
        if len(found) < len(read):
            changed = many(len(read) - len(found), "row")
            warn_user(
                f"{changed} of {self.path} no longer hold what was stored there, and do not count."
            )
        return found

    def keep(self, unit: Unit, result: Mapping[str, Any], seconds: float) -> StoredResult:
        """Store a unit's result, and return what is stored: the first result stays."""
        text = json.dumps(result, default=_plain)
        seconds = float(seconds)
        # In the order of the columns.
        row = (
            *(self.paper, unit.key, self.version, self.protocol),
            *(unit.experiment, unit.dataset, unit.method, unit.run),
            *(json.dumps(dict(unit.parameters)), unit.seed),
            *(seconds, text, _checksum(unit.key, seconds, text)),
        )
        marks = ", ".join("?" * len(row))
        with self._connection() as connection, _transaction(connection):
            stored = self._look_up(connection, unit)
            if stored is None:
                connection.execute(f"INSERT OR REPLACE INTO results VALUES ({marks})", row)
            connection.execute(f"DELETE FROM claims WHERE {THIS_UNIT}", (*self._owner, unit.key))
        return stored or StoredResult(json.loads(text), seconds)

    def claim(self, unit: Unit) -> bool:
        """Take a unit, so that no other process computes it at the same time.

        Returns whether this process has it now. The claim of a process that ended is taken over.
        """
        with self._connection() as connection, _transaction(connection):
            if self._look_up(connection, unit) is not None:
                return False
            query = f"SELECT machine, process, since FROM claims WHERE {THIS_UNIT}"
            claimed = connection.execute(query, (*self._owner, unit.key)).fetchone()
            if claimed is not None and _is_at_work(*claimed):
                return False
            connection.execute(
                "INSERT OR REPLACE INTO claims (paper, version, protocol, key, machine, process, "
                "since) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*self._owner, unit.key, socket.gethostname(), os.getpid(), time.time()),
            )
        return True

    def give_back(self, unit: Unit) -> None:
        """Let other processes claim a unit that this one could not finish."""
        with self._connection() as connection, _transaction(connection):
            connection.execute(
                f"DELETE FROM claims WHERE {THIS_UNIT} AND machine = ? AND process = ?",
                (*self._owner, unit.key, socket.gethostname(), os.getpid()),
            )

    def _look_up(self, connection: sqlite3.Connection, unit: Unit) -> StoredResult | None:
        query = f"SELECT key, seconds, result, checksum FROM results WHERE {THIS_UNIT}"
        row = connection.execute(query, (*self._owner, unit.key)).fetchone()
        return None if row is None else _read(*row)

    @property
    def _owner(self) -> tuple[str, str, str]:
        return self.paper, self.version, self.protocol

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # A connection for each call: it may not cross to another process, and costs less than 1 ms.
        start = time.monotonic()
        try:
            opened = sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT_FOR_A_LOCK)
            with closing(opened) as connection:
                connection.text_factory = _text
                _prepare(connection, self.path)
                yield connection
        except sqlite3.DatabaseError as error:
            waited = time.monotonic() - start
            raise StoreError(_what_is_wrong(self.path, error, waited)) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Read and write as one step: no other process writes in between."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables in a new file; refuse files of another program or another shape."""
    if _number(connection, "application_id") == APPLICATION_ID:
        shape = _number(connection, "user_version")
        if shape != SHAPE:
            raise StoreError(
                f"{path} was written by another version of linkselect (shape {shape} of the table, "
                f"this one has {SHAPE}), so that it is not known by which protocol its results "
                "were made. Move it away to start anew, or name another folder for results."
            )
        return
    with _transaction(connection):
        if _number(connection, "application_id") == APPLICATION_ID:  # another process was faster
            return
        (n_entries,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if n_entries or _number(connection, "application_id"):
            raise StoreError(
                f"{path} is another program's database. Name another folder for results."
            )
        connection.execute(f"CREATE TABLE results ({RESULTS})")
        connection.execute(f"CREATE TABLE claims ({CLAIMS})")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SHAPE}")
    # So that a reader does not wait for the writer, nor the writer for readers. This change does
    # not wait for a lock; a store without it is only slower.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _checksum(key: object, seconds: object, result: object) -> str:
    return hashlib.sha256(repr((key, seconds, result)).encode()).hexdigest()


def _read(key: object, seconds: object, result: object, checksum: object) -> StoredResult | None:
    """Return a row's result; None if the row is not as it was stored."""
    if checksum != _checksum(key, seconds, result) or not isinstance(seconds, float):
        return None
    try:
        content = json.loads(str(result))
    except json.JSONDecodeError:
        return None
    return StoredResult(content, seconds) if isinstance(content, dict) else None


def _is_at_work(machine: object, process: object, since: object) -> bool:
    """Tell whether the process of a claim may still be computing."""
    if not isinstance(process, int) or not isinstance(since, float):
        return False
    if machine == socket.gethostname() and process == os.getpid():
        return False  # from an earlier try that was stopped
    if machine == socket.gethostname() and sys.platform != "win32":
        try:
            os.kill(process, 0)  # sends nothing
        except PermissionError:
            return True  # another user's
        except (OSError, OverflowError):
            return False
        return True
    return time.time() - since < SECONDS_OF_A_CLAIM


def _text(stored: bytes) -> str:
    # Bytes that are no text must not stop the reading of other rows; the checksum tells them.
    return stored.decode("utf-8", "replace")


def _number(connection: sqlite3.Connection, name: str) -> int:
    """Return a number of the file's head."""
    (number,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(number)


def _what_is_wrong(path: Path, error: sqlite3.Error, waited: float) -> str:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # without its details
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        how_long = f" for {waited:.0f} seconds" if waited >= 1 else ""
        return (
            f"{path} was locked by another process{how_long}. "
            "Try again when it has ended; what was finished is kept."
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return f"{path} cannot be opened for writing ({error}). Name another folder for results."
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return (
            f"{path} cannot be written ({error}): the disk may be full, or a limit on files "
            "reached. What was finished before is kept. Make room, and run the same again."
        )
    return (
        f"{path} is damaged, or no store of results ({error}). "
        "Move it away to start anew, or name another folder for results."
    )


def _plain(value: Any) -> Any:
    """Turn NumPy's values into JSON's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A result must be plain data, but has {value!r} of type {type(value)}.")
