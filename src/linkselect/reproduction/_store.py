"""Storage of results in an SQLite file that several processes can share."""

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

# Stored in the file header to distinguish the file from databases of other programs.
APPLICATION_ID = 0x6C6B736C
# The version of the table schema. Version 1 had no protocol, version 2 no checksums.
SHAPE = 3
SECONDS_TO_WAIT_FOR_A_LOCK = 60.0
# A claim reserves a unit for one process. Processes of other machines cannot be checked, so their
# claims expire after this time. If such a process still runs, the unit is computed twice, which
# does not change the result.
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
    """Raised when a store is damaged, is locked or belongs to another program."""


class StoredResult(NamedTuple):
    """The result of a unit and its computing time."""

    result: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Store:
    """The results of one paper in an SQLite file, which several processes can share.

    A unit is one run of a method on a data set. Results from other versions of the library or other
    protocols remain in the file but are not used.

    Parameters
    ----------
    path : Path
        The SQLite file, which is created if it does not exist. Its folder must exist.
    paper : str
        The name of the paper.
    version : str
        The version of the library that computes the results.
    protocol : str
        All settings that affect results but are not part of the unit, as text; see
        `Paper.protocol`.
    """

    path: Path
    paper: str
    version: str = linkselect.__version__
    protocol: str = "{}"

    def find(self, units: Iterable[Unit]) -> dict[Unit, StoredResult]:
        """Return the stored results of the given units.

        Rows that another program has modified are ignored, and a warning reports their number.
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
            warn_user(f"Ignoring {changed} of {self.path} that another program has modified.")
        return found

    def keep(self, unit: Unit, result: Mapping[str, Any], seconds: float) -> StoredResult:
        """Store the result of a unit and return it, or return a result that is already stored."""
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
        """Reserve a unit, so that no other process computes it at the same time.

        Return whether the unit was reserved. Claims by processes that have ended are replaced.
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
        """Release a unit that this process could not finish, so that others can claim it."""
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
        # Open a connection for each call. It cannot be shared between processes, and opening it
        # takes less than 1 ms.
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
    """Read and write in one transaction, so that no other process writes in between."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables in a new file; raise an error for files from other programs or versions."""
    if _number(connection, "application_id") == APPLICATION_ID:
        shape = _number(connection, "user_version")
        if shape != SHAPE:
            raise StoreError(
                f"{path} was written by another version of linkselect (schema {shape} instead of "
                f"{SHAPE}), so its results cannot be used. Move this file to start from scratch, "
                "or use another folder for results."
            )
        return
    with _transaction(connection):
        if _number(connection, "application_id") == APPLICATION_ID:  # another process was faster
            return
        (n_entries,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if n_entries or _number(connection, "application_id"):
            raise StoreError(
                f"{path} is a database of another program. Use another folder for results."
            )
        connection.execute(f"CREATE TABLE results ({RESULTS})")
        connection.execute(f"CREATE TABLE claims ({CLAIMS})")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SHAPE}")
    # With a write-ahead log, readers and the writer do not wait for each other. If the file is
    # locked now, the log is not used, which is only slower.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _checksum(key: object, seconds: object, result: object) -> str:
    return hashlib.sha256(repr((key, seconds, result)).encode()).hexdigest()


def _read(key: object, seconds: object, result: object, checksum: object) -> StoredResult | None:
    """Return the result in a database row, or None if the row was changed after it was stored."""
    if checksum != _checksum(key, seconds, result) or not isinstance(seconds, float):
        return None
    try:
        content = json.loads(str(result))
    except json.JSONDecodeError:
        return None
    return StoredResult(content, seconds) if isinstance(content, dict) else None


def _is_at_work(machine: object, process: object, since: object) -> bool:
    """Return whether the process that claimed a unit may still be running."""
    if not isinstance(process, int) or not isinstance(since, float):
        return False
    if machine == socket.gethostname() and process == os.getpid():
        return False  # from an earlier, interrupted attempt
    if machine == socket.gethostname() and sys.platform != "win32":
        try:
            os.kill(process, 0)  # only checks whether the process exists
        except PermissionError:
            return True  # a process of another user
        except (OSError, OverflowError):
            return False
        return True
    return time.time() - since < SECONDS_OF_A_CLAIM


def _text(stored: bytes) -> str:
    # Invalid text must not prevent reading other rows; its row has a wrong checksum.
    return stored.decode("utf-8", "replace")


def _number(connection: sqlite3.Connection, name: str) -> int:
    """Return a number from the header of the SQLite file."""
    (number,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(number)


def _what_is_wrong(path: Path, error: sqlite3.Error, waited: float) -> str:
    # Without the bits of extended error codes.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        how_long = f" for {waited:.0f} seconds" if waited >= 1 else ""
        return (
            f"{path} was locked by another process{how_long}. "
            "Try again when that process has ended. Finished results are stored."
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return f"Cannot open {path} for writing ({error}). Use another folder for results."
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return (
            f"Cannot write {path} ({error}): the disk may be full, or the file may be too large. "
            "Finished results are stored. Free disk space and run the same command again."
        )
    return (
        f"{path} is damaged or is not a store of results ({error}). "
        "Move this file to start from scratch, or use another folder for results."
    )


def _plain(value: Any) -> Any:
    """Convert NumPy values to JSON values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A result must be JSON data, but it contains {value!r} of type {type(value)}.")
