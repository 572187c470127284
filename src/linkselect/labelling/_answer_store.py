"""Store answers on disk: one SQLite file per labelling session, and the pairs as CSV next to it.

Every answer is written to SQLite's log before it is confirmed. When the user pauses, the log is
merged into the SQLite file, which can then be moved on its own, and the CSV file is written. The
time to save an answer therefore does not depend on the number of answers.
"""

import hashlib
import json
import os
import sqlite3
import time
from contextlib import closing, suppress
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from linkselect._files import clear_parts, write_whole
from linkselect._messages import GuidedError, GuidedTypeError, GuidedValueError
from linkselect.asking import PairQueries
from linkselect.labelling._watched_file import WatchedFile
from linkselect.pairs._pair_files import check_csv_ids, csv_content

# Version of the file format. Format 1 had no column `adaptive`.
FORMAT = 2
TABLES = (
    "DROP TABLE IF EXISTS about",
    "DROP TABLE IF EXISTS answer",
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE answer (
    place INTEGER PRIMARY KEY, given INTEGER NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL,
    name_a TEXT NOT NULL, name_b TEXT NOT NULL, answer TEXT NOT NULL, time REAL NOT NULL,
    adaptive INTEGER NOT NULL
) STRICT""",
)
LINES = "SELECT given, a, b, name_a, name_b, answer, adaptive FROM answer ORDER BY place"
# Imported (0 or 1), the two rows of X, their names, the answer, adaptive (0 or 1).
Line = tuple[int, int, int, str, str, str, int]
LISTED = ("given", "answers", "names", "adaptive")


class NotStoredError(GuidedError, OSError):
    """Raised if an answer could not be saved; earlier answers remain stored."""


def answer_file_of(out: Path) -> Path:
    """Return the path of the answer file that belongs to a CSV file of pairs.

    Examples
    --------
    >>> answer_file_of(Path("pairs.csv")).name
    'pairs.linkselect.sqlite'
    """
    return out.with_suffix(".linkselect.sqlite")


class AnswerFile:
    """An SQLite file with all answers, locked by one process, and a CSV file with the pairs.

    When `store` returns, the answers are on disk and survive a crash of the process.

    Parameters
    ----------
    out : Path
        The CSV file of pairs.
    """

    def __init__(self, out: Path) -> None:
        self.out, self.path = out, answer_file_of(out)
        if not self.path.exists():
            self._check_no_pairs("does not exist")
        self._begin()
        self._watch(None)
        try:
            if not self._is_empty():
                self._check()
            if self._is_new:
                self._check_no_pairs("contains no answers")
            clear_parts(out)
            self._watch(_digest(out.read_bytes()) if out.exists() else None)
        except BaseException:
            self.discard()
            raise

    def _begin(self) -> None:
        """Open the answer file, which is assumed to be empty."""
        self._connection = _connect(self.path)
        self._is_new = True
        self._lines: list[Line] = []
        # Revision and number of the answers in the answer file, and in the CSV file.
        self._stored: tuple[int, int] | None = None
        self._exported: tuple[int, int] | None = None

    def _begin_anew(self) -> None:
        self._let_go()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._begin()

    def _watch(self, digest: str | None) -> None:
        self._digest = digest  # of the CSV file
        self._answers = WatchedFile(self.path, self._is_reopened, self._log)
        self._csv = WatchedFile(self.out, lambda: _digest(self.out.read_bytes()) == self._digest)

    def _check_no_pairs(self, why: str) -> None:
        if self.out.exists():
            raise GuidedValueError(
                f"{self.out} already exists, but {self.path.name} {why}, so the pairs come from "
                "another source.",
                "Choose another output file, and pass the existing file as pairs to continue.",
                "out",
            )

    def _is_empty(self) -> bool:
        """Return whether the file contains no tables, or only empty tables of this class."""
        sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names = {name for (name,) in self._connection.execute(sql)}
        if not names <= {"about", "answer"}:
            return False
        return not any(
            self._connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in names
        )

    def _check(self) -> None:
        """Reject a foreign answer file and a CSV file that another program has changed."""
        try:
            about = self._about()
        except sqlite3.DatabaseError as error:
            raise _not_ours(self.path, error) from error
        if about.get("format") not in ("1", str(FORMAT)):
            raise GuidedValueError(
                f"{self.path} was written by another version of linkselect.",
                "Move this file to another folder, and continue from the pairs in the CSV file.",
                "out",
            )
        # If the process ended just before replacing the CSV file, its previous version is valid.
        known = (about.get("csv"), about.get("csv before"))
        if self.out.exists() and _digest(self.out.read_bytes()) not in known:
            raise GuidedValueError(
                f"{self.out} was changed by another program and no longer matches "
                f"{self.path.name}.",
                f"To keep the changes, rename the CSV file, move {self.path.name} to another "
                "folder and pass the renamed file as pairs. To discard the changes, move the CSV "
                "file to another folder.",
                "out",
            )
        self._is_new = "state" not in about
        if about["format"] == "1" and not self._is_new:
            self._upgrade(json.loads(about["state"]))

    def _upgrade(self, state: dict[str, Any]) -> None:
        """Upgrade a file of format 1 by storing in each row whether its pair is adaptive."""
        chosen = state.pop("adaptive", None)
        rows = self._connection.execute("SELECT place, given, a, b FROM answer").fetchall()
        if chosen is None:  # an old file: only the strategy "random" drew questions
            adaptive = [not given and state["strategy"] != "random" for _, given, _, _ in rows]
        else:
            pairs = {frozenset(pair) for pair in chosen}
            adaptive = [frozenset((a, b)) in pairs for _, _, a, b in rows]
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            column = "adaptive INTEGER NOT NULL DEFAULT 0"
            self._connection.execute(f"ALTER TABLE answer ADD COLUMN {column}")
            self._connection.executemany(
                "UPDATE answer SET adaptive = ? WHERE place = ?",
                [(int(one), place) for one, (place, *_) in zip(adaptive, rows, strict=True)],
            )
            self._set({"format": str(FORMAT), "state": json.dumps(state)})

    def _about(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM about"))

    def _set(self, values: dict[str, str]) -> None:
        self._connection.executemany("REPLACE INTO about VALUES (?, ?)", values.items())

    def state(self) -> dict[str, Any] | None:
        """Return the state for `PairQueries.from_state`, or None if nothing is stored yet."""
        if self._is_new:
            return None
        state: dict[str, Any] = json.loads(self._about()["state"])
        state |= {"given": [], "answers": [], "names": {}, "adaptive": []}
        self._lines = self._connection.execute(LINES).fetchall()
        for given, a, b, name_a, name_b, answer, adaptive in self._lines:
            state["given" if given else "answers"].append([a, b, answer])
            state["names"] |= {str(a): name_a, str(b): name_b}
            if adaptive:
                state["adaptive"].append([a, b])
        return state

    # -- storing answers ---------------------------------------------------------------------------

    def store(self, queries: PairQueries) -> None:
        """Write new answers to disk.

        Raises
        ------
        NotStoredError
            If the disk is full or unavailable, or if another program has moved or changed one of
            the files. Earlier answers remain stored.
        """
        complaints = [file.complaint() for file in (self._answers, self._csv)]
        if any(complaints):
            raise NotStoredError(" ".join(filter(None, complaints)))
        try:
            if self._answers.is_reported:  # still missing, and the user knows
                self._begin_anew()
            if self._csv.is_reported:
                self._csv.note()  # treat it as not yet written
                self._exported = None
            self._store(queries)
        except (sqlite3.DatabaseError, OSError) as error:
            raise NotStoredError(
                f"The answer could not be saved: {_reason(error)}.",
                "Earlier answers are safe. Free some disk space and answer again.",
            ) from error

    def _store(self, queries: PairQueries) -> None:
        mark = mark_of(queries)
        after = self._stored[1] if self._stored and self._stored[0] == mark[0] else 0
        state = queries.state(after)
        lines = _lines(state)
        n_kept = len(self._lines) if after else _n_same(self._lines, lines)
        new = lines if after else lines[n_kept:]
        if not new and (after or self._is_new):
            return
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            if self._is_new:
                for statement in TABLES:
                    self._connection.execute(statement)
                self._set({"format": str(FORMAT), "csv": self._digest or ""})
            if not after:
                rest = {name: one for name, one in state.items() if name not in LISTED}
                self._connection.execute("DELETE FROM answer WHERE place >= ?", [n_kept])
                self._set({"state": json.dumps(rest)})
            self._connection.executemany(
                "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (place, *line[:-1], time.time(), line[-1])
                    for place, line in enumerate(new, n_kept)
                ],
            )
        self._lines[n_kept:] = new
        self._stored, self._is_new = mark, False
        self._answers.note()

    def _is_reopened(self) -> bool:
        """Reopen the file at `path` if it contains all current answers or the first of them."""
        self._let_go()
        try:
            # Read without locking or modifying: the file may belong to another program.
            address = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(address, uri=True)) as looking:
                sql = "SELECT name FROM sqlite_master" if self._is_new else LINES
                found = looking.execute(sql).fetchall()
            if found != self._lines[: len(found)]:
                return False
            self._connection = _connect(self.path)
        except (sqlite3.Error, GuidedError, OSError):
            return False
        if len(found) < len(self._lines):  # the next answer stores the others again
            self._lines, self._stored = found, None
        return True

    def _let_go(self) -> None:
        """Close the file without modifying another file that may have replaced it."""
        with suppress(sqlite3.Error, OSError):
            if self._answers.is_in_place():
                # Closing would write the log into a file that may have been replaced. All answers
                # are still in memory.
                os.truncate(self._log, 0)
            else:  # moved or deleted: complete it wherever it is
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        with suppress(OSError):
            if self._log.stat().st_size == 0:
                self._log.unlink()

    @property
    def _log(self) -> Path:
        """SQLite's write-ahead log, not yet merged into the file."""
        return self.path.with_name(f"{self.path.name}-wal")

    # -- the pairs as CSV --------------------------------------------------------------------------

    def export(self, queries: PairQueries) -> None:
        """Write the pairs as CSV if they are newer than the file and no other program changed it.

        `store` and `close` report files that were changed or moved.
        """
        if self._answers.condition() == self._csv.condition() == "ours":
            self._store(queries)
            if not self._is_new and self._exported != mark_of(queries):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._answers.note()
                self._write_csv(queries)

    def _write_csv(self, queries: PairQueries) -> None:
        content = csv_content(queries.pairs)
        digest = _digest(content)
        if digest != self._digest or not self.out.exists():
            # Store the digest first, so that the file is recognised even after a crash.
            with self._connection:
                self._set({"csv before": self._digest or digest, "csv": digest})
            self._answers.note()
            write_whole(self.out, content)
            self._digest = digest
            self._csv.note()
        self._exported = mark_of(queries)

    # -- the end -----------------------------------------------------------------------------------

    def close(self, queries: PairQueries) -> str:
        """Update and close both files, and return messages for the user.

        If another program has replaced a file, the new file is not overwritten.
        """
        said = []
        try:
            if queries.history or not self._is_new:
                said += self._settle()
                self._store(queries)
                said += self._settle_csv(queries)
        except (sqlite3.DatabaseError, GuidedError, OSError) as error:
            said.append(f"The answers could not be written to {self.path}: {_reason(error)}.")
        self.discard()
        return " ".join(said)

    def _settle(self) -> list[str]:
        """Create the file again if it was deleted, or under another name if it was replaced."""
        condition, before = self._answers.condition(), self.path
        if condition == "ours":
            return []
        if condition == "changed":
            outs = (self.out.with_stem(f"{self.out.stem}-{number}") for number in count(2))
            self.out = next(
                out for out in outs if not out.exists() and not answer_file_of(out).exists()
            )
            self.path = answer_file_of(self.out)
        self._begin_anew()
        if condition == "gone":
            return [
                f"{before} was moved or deleted. The file has been rewritten with all answers; "
                f"the pairs are in {self.out}."
            ]
        self._watch(None)
        return [
            f"{before} was changed by another program and has not been overwritten. All answers "
            f"are in {self.path}; choose {self.out} as the output file to continue."
        ]

    def _settle_csv(self, queries: PairQueries) -> list[str]:
        if self._is_new:
            return []
        if self._csv.condition() == "changed":
            return [
                f"{self.out} was changed by another program and has not been overwritten. All "
                f"answers are in {self.path}."
            ]
        try:
            self._write_csv(queries)
        except (sqlite3.DatabaseError, OSError) as error:
            return [
                f"{self.out} could not be written: {_reason(error)}. All answers are in "
                f"{self.path}; the pairs will be written at the next start."
            ]
        return []

    def discard(self) -> None:
        """Close the file, and delete it if it contains no answers."""
        is_empty = False
        if self._answers.condition() == "ours":
            with suppress(sqlite3.Error):
                is_empty = self._is_empty()
        self._connection.close()
        if is_empty:
            self.path.unlink(missing_ok=True)


def check_names(queries: PairQueries) -> None:
    """Reject sample IDs that cannot be read back from a CSV file."""
    kinds = {type(sample) for sample in queries.sample_ids}
    if kinds not in ({str}, {int}):
        raise GuidedTypeError(
            f"Sample IDs of type {', '.join(sorted(kind.__name__ for kind in kinds))} cannot be "
            "stored in a CSV file of pairs.",
            "Use only whole numbers or only text as IDs.",
            "sample_ids",
        )
    check_csv_ids(queries.sample_ids, str if kinds == {str} else None)


def mark_of(queries: PairQueries) -> tuple[int, int]:
    """Return a value that changes whenever the answers change."""
    return queries.revision, sum(queries.counts.values())


def _lines(state: dict[str, Any]) -> list[Line]:
    adaptive, names = set(map(tuple, state["adaptive"])), state["names"]
    return [
        (given, a, b, names[str(a)], names[str(b)], answer, int((min(a, b), max(a, b)) in adaptive))
        for given, kind in ((1, "given"), (0, "answers"))
        for a, b, answer in state[kind]
    ]


def _n_same(old: list[Line], new: list[Line]) -> int:
    """Return the length of the common prefix of two lists."""
    return sum(takewhile(bool, (one == other for one, other in zip(old, new, strict=False))))


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")


def _connect(path: Path) -> sqlite3.Connection:
    connection = None
    try:
        # Several threads write answers, but one at a time: see `Labelling`.
        connection = sqlite3.connect(
            path, isolation_level="IMMEDIATE", check_same_thread=False, timeout=1
        )
        # No other process may write; the lock is released however this process ends.
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
                f"{path} is in use: its page is already open.",
                "Use that page, close it first, or choose another output file.",
                "out",
            ) from error
        if isinstance(error, sqlite3.OperationalError):
            raise OSError(f"{path} cannot be opened: {error}.") from error
        raise _not_ours(path, error) from error
    return connection


def _not_ours(path: Path, error: Exception) -> GuidedValueError:
    return GuidedValueError(
        f"{path} is not an answer file: {error}.", "Move it to another folder.", "out"
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
