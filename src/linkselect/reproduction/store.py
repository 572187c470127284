"""Results on disk: each finished unit is kept at once, whichever process computed it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import linkselect
from linkselect.reproduction.paper import Unit

__all__ = ["Store", "StoreError", "Stored"]

# Written into the file's head, so that another program's database is not taken for ours.
APPLICATION_ID = 0x6C6B736C
# Counts the shapes of the table below. The first had no protocol.
SHAPE = 2
SECONDS_TO_WAIT_FOR_A_LOCK = 60.0
COLUMNS = """
    paper TEXT, key TEXT, version TEXT, protocol TEXT,
    experiment TEXT, dataset TEXT, method TEXT, run INTEGER, parameters TEXT, seed INTEGER,
    seconds REAL, result TEXT,
    PRIMARY KEY (paper, key, version, protocol)
"""


class StoreError(ValueError):
    """A store that cannot be used: damaged, locked, or another program's file."""


class Stored(NamedTuple):
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

    def find(self, units: Iterable[Unit]) -> dict[Unit, Stored]:
        """Return what is stored of these units."""
        wanted = {unit.key: unit for unit in units}
        query = (
            "SELECT key, result, seconds FROM results "
            "WHERE paper = ? AND version = ? AND protocol = ?"
        )
        with self._connection() as connection:
            if len(wanted) == 1:
                rows = connection.execute(f"{query} AND key = ?", (*self._owner, *wanted))
            else:
                rows = connection.execute(query, self._owner)
            return {
                wanted[key]: Stored(json.loads(result), seconds)
                for key, result, seconds in rows
                if key in wanted
            }

    def keep(self, unit: Unit, result: Mapping[str, Any], seconds: float) -> Stored:
        """Store a unit's result, and return what is stored: the first result stays."""
        row = {
            "paper": self.paper,
            "key": unit.key,
            "version": self.version,
            "protocol": self.protocol,
            "experiment": unit.experiment,
            "dataset": unit.dataset,
            "method": unit.method,
            "run": unit.run,
            "parameters": json.dumps(dict(unit.parameters)),
            "seed": unit.seed,
            "seconds": seconds,
            "result": json.dumps(result, default=_plain),
        }
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        with self._connection() as connection, connection:
            connection.execute(f"INSERT OR IGNORE INTO results ({names}) VALUES ({marks})", row)
        return self.find([unit])[unit]

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
                _prepare(connection, self.path)
                yield connection
        except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
            waited = time.monotonic() - start
            raise StoreError(_what_is_wrong(self.path, error, waited)) from error


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the table in a new file; refuse files of another program or another shape."""
    if _number(connection, "application_id") == APPLICATION_ID:
        _check_shape(connection, path)
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _number(connection, "application_id") == APPLICATION_ID:  # another process was faster
            return
        (n_entries,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if n_entries or _number(connection, "application_id"):
            raise StoreError(
                f"{path} is another program's database. Name another folder for results."
            )
        connection.execute(f"CREATE TABLE results ({COLUMNS})")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SHAPE}")
    # So that a reader does not wait for the writer, nor the writer for readers. This change does
    # not wait for a lock; a store without it is only slower.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _check_shape(connection: sqlite3.Connection, path: Path) -> None:
    shape = _number(connection, "user_version")
    if shape != SHAPE:
        raise StoreError(
            f"{path} was written by another version of linkselect (shape {shape} of the table, "
            f"this one has {SHAPE}), so that it is not known by which protocol its results were "
            "made. Move it away to start anew, or name another folder for results."
        )


def _number(connection: sqlite3.Connection, name: str) -> int:
    """Return a number of the file's head."""
    (number,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(number)


def _what_is_wrong(path: Path, error: Exception, waited: float) -> str:
    if "locked" in str(error):
        how_long = f" for {waited:.0f} seconds" if waited >= 1 else ""
        return (
            f"{path} was locked by another process{how_long}. "
            "Try again when it has ended; what was finished is kept."
        )
    if "unable to open" in str(error) or "readonly" in str(error):
        return f"{path} cannot be opened for writing ({error}). Name another folder for results."
    return (
        f"{path} is damaged, or no store of results ({error}). "
        "Move it away to start anew, or name another folder for results."
    )


def _plain(value: Any) -> Any:
    """Turn NumPy's values into JSON's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A result must be plain data, but has {value!r} of type {type(value)}.")
