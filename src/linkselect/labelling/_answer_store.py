"""Answers on disk: one SQLite file per labelling, and beside it the pairs as CSV."""

import hashlib
import json
import sqlite3
import time
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from linkselect._files import written_whole
from linkselect._messages import GuidedError, GuidedTypeError, GuidedValueError
from linkselect.asking import PairQueries

# Changed when a file of an older version could not be understood.
FORMAT = 1
TABLES = (
    """CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS answer (
    place INTEGER PRIMARY KEY, given INTEGER NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL,
    name_a TEXT NOT NULL, name_b TEXT NOT NULL, answer TEXT NOT NULL, time REAL NOT NULL
) STRICT""",
)
# Whether it was given, the two rows, and the answer.
Line = tuple[bool, int, int, str]


class NotStoredError(GuidedError, OSError):
    """An answer that could not be written, and why; what was written before is still there."""


def answer_file_of(out: Path) -> Path:
    """Return the file that holds the answers behind a file of pairs.

    Examples
    --------
    >>> answer_file_of(Path("pairs.csv")).name
    'pairs.linkselect.sqlite'
    """
    return out.with_suffix(".linkselect.sqlite")


class AnswerFile:
    """All answers in a SQLite file that one process holds, and the pairs in a CSV file.

    What `store` wrote is on the disk when it returns, whatever happens to the process then.

    Parameters
    ----------
    out : Path
        The CSV file of pairs.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = answer_file_of(out)
        self._is_ours = not self.path.exists()  # made here, so that it can be taken away again
        if self._is_ours:
            self._check_no_pairs("does not")
        self._stored: list[Line] = []
        self._connection = _connect(self.path)
        try:
            # Also a file that was being made when the process ended.
            if self._is_empty():
                self._check_no_pairs("holds no answers")
                with self._connection:
                    for statement in TABLES:
                        self._connection.execute(statement)
                    self._set({"format": str(FORMAT)})
            self._check()
        except BaseException:
            self.discard()
            raise

    def _check_no_pairs(self, why: str) -> None:
        if self.out.exists():
            raise GuidedValueError(
                f"{self.out} exists, but {self.path.name} {why}: it holds pairs from elsewhere.",
                "Name another file to write, and pass these as pairs to go on from.",
                "out",
            )

    def _is_empty(self) -> bool:
        """Tell whether there is nothing in the file, or only our tables without any line."""
        sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names = {name for (name,) in self._connection.execute(sql)}
        if not names <= {"about", "answer"}:
            return False
        return not any(
            self._connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in names
        )

    def _check(self) -> None:
        """Refuse a file of another program, and a CSV file that was changed by something else."""
        try:
            about = self._about()
        except sqlite3.DatabaseError as error:
            raise _not_ours(self.path, error) from error
        if about.get("format") != str(FORMAT):
            raise GuidedValueError(
                f"{self.path} was written by another version of linkselect.",
                "Move it away, and go on from the pairs.",
                "out",
            )
        # The CSV file may be one answer behind: the process can end between the two.
        known = (about.get("csv"), about.get("csv before"))
        if self.out.exists() and _digest(self.out.read_bytes()) not in known:
            raise GuidedValueError(
                f"{self.out} was changed by something else, so that it and {self.path.name} "
                "differ.",
                f"To go on from the CSV file, rename it, move {self.path.name} away and pass the "
                "renamed file as pairs; to go on from the answers, move the CSV file away.",
                "out",
            )

    def _about(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM about"))

    def _set(self, values: dict[str, str]) -> None:
        self._connection.executemany("REPLACE INTO about VALUES (?, ?)", values.items())

    def state(self) -> dict[str, Any] | None:
        """Return what `PairQueries.from_state` takes; None if nothing was stored yet."""
        about = self._about()
        if "state" not in about:
            return None
        state: dict[str, Any] = json.loads(about["state"])
        state |= {"given": [], "answers": [], "names": {}}
        sql = "SELECT given, a, b, name_a, name_b, answer FROM answer ORDER BY place"
        for given, a, b, name_a, name_b, answer in self._connection.execute(sql):
            state["given" if given else "answers"].append([a, b, answer])
            state["names"] |= {str(a): name_a, str(b): name_b}
        self._stored = _lines(state)
        return state

    def store(self, queries: PairQueries) -> None:
        """Write what is new in the answers, and all pairs as CSV; both are there, or neither.

        Raises
        ------
        NotStoredError
            If the disk is full or gone. What was there before is unchanged.
        """
        try:
            self._store(queries)
        except (sqlite3.OperationalError, OSError) as error:
            what = getattr(error, "strerror", None) or str(error)
            raise NotStoredError(
                f"The answer could not be saved: {what}. Earlier answers are still there.",
                "Free some space on the disk and answer again.",
            ) from error

    def _store(self, queries: PairQueries) -> None:
        state = queries.state()
        lines = _lines(state)
        same = (old == new for old, new in zip(self._stored, lines, strict=False))
        n_same = sum(takewhile(bool, same))
        names = state["names"]
        rest = {name: state[name] for name in state.keys() - {"given", "answers", "names"}}
        with written_whole(self.out) as part:
            queries.pairs.to_csv(part, id_type=_id_type(queries))
            digest = _digest(part.read_bytes())
            before = self._about().get("csv", digest)
            # Inside, so that the new CSV file takes its place only once the answers are there.
            with self._connection:
                self._connection.execute("DELETE FROM answer WHERE place >= ?", [n_same])
                self._connection.executemany(
                    "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (place, given, a, b, names[str(a)], names[str(b)], answer, time.time())
                        for place, (given, a, b, answer) in enumerate(lines[n_same:], n_same)
                    ],
                )
                self._set({"state": json.dumps(rest), "csv before": before, "csv": digest})
        self._stored = lines

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def discard(self) -> None:
        """Let go of the file, and take it away if it was made here and nothing was stored."""
        is_stored = True
        with suppress(sqlite3.Error):
            is_stored = not self._is_empty() and self.state() is not None
        self.close()
        if self._is_ours and not is_stored:
            self.path.unlink(missing_ok=True)


def _lines(state: dict[str, Any]) -> list[Line]:
    kinds = ("given", "answers")
    return [(kind == "given", *line) for kind in kinds for line in map(tuple, state[kind])]


def _id_type(queries: PairQueries) -> type | None:
    """Return how ids are read back from CSV; refuse those that cannot be."""
    kinds = {type(sample) for sample in queries.sample_ids}
    if kinds == {str}:
        return str
    if kinds == {int}:
        return None
    raise GuidedTypeError(
        f"Samples are named by {', '.join(sorted(kind.__name__ for kind in kinds))}, which a CSV "
        "file of pairs cannot give back.",
        "Name all samples by whole numbers or all by text.",
        "sample_ids",
    )


def _connect(path: Path) -> sqlite3.Connection:
    connection = None
    try:
        # Answers come from several threads, but one at a time: see `Labelling`.
        connection = sqlite3.connect(
            path, isolation_level="IMMEDIATE", check_same_thread=False, timeout=1
        )
        # No other process may write; the lock ends with this one, however it ends.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        if "locked" in str(error):
            raise GuidedValueError(
                f"{path} is in use: its page is open already, from another start.",
                "Use that page, end the other one first, or name another file.",
                "out",
            ) from error
        if isinstance(error, sqlite3.OperationalError):
            raise OSError(f"{path} cannot be opened: {error}.") from error
        raise _not_ours(path, error) from error
    return connection


def _not_ours(path: Path, error: Exception) -> GuidedValueError:
    return GuidedValueError(f"{path} is not a file of answers: {error}.", "Move it away.", "out")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
