"""Read the pictures of a folder: which files they are, what they measure, which are left out."""

import os
import sqlite3
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError, first_few
from linkselect._pictures.decoding import (
    ENDINGS,
    SMALL,
    UNREAD,
    NoPictureError,
    as_jpeg,
    opened,
)
from linkselect._pictures.picture_features import (
    DEFAULT_FAMILIES,
    DIGITS,
    SIDE,
    check_families,
    measure,
    named_features,
)

Progress = Callable[[int, int, str], None]

# A store of another version is made anew.
VERSION = 1
TABLE = """CREATE TABLE IF NOT EXISTS picture (
    id TEXT PRIMARY KEY, size INTEGER, time INTEGER, features BLOB, thumbnail BLOB, trouble TEXT
) STRICT"""
# So many pictures are measured before they are stored, and at a time.
BATCH, MOST_THREADS = 32, min(4, os.cpu_count() or 1)


@dataclass(frozen=True)
class PictureFolder:
    """The pictures of a folder as a table.

    Attributes
    ----------
    ids : tuple of str
        The file of each picture, from the folder on, with slashes.
    X : ndarray of shape (n_pictures, n_features)
        What was measured.
    names : tuple of str
        The features.
    left_out : dict of str to str
        Files that look like pictures but cannot be used, and why.
    trouble : str
        Why what was measured could not be kept; empty if it was.
    """

    ids: tuple[str, ...]
    X: FloatArray
    names: tuple[str, ...]
    left_out: dict[str, str]
    trouble: str = ""

    @property
    def notes(self) -> list[str]:
        """What should be said about files that are left out."""
        notes = [f"{name} is left out: it {why}." for name, why in list(self.left_out.items())[:5]]
        if len(self.left_out) > 5:
            notes.append(f"{len(self.left_out) - 5:,} more files are left out.")
        if self.trouble:
            notes.append(self.trouble)
        return notes


def check_installed() -> None:
    """Say which extra to install if the packages for pictures are not there."""
    try:
        import PIL  # noqa: F401
        import skimage  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Pictures need {error.name}, which is not installed: "
            "pip install 'linkselect[pictures]'"
        ) from None


def find_pictures(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the pictures in a folder and its subfolders, and those that cannot be used, and why.

    Hidden files and files of other kinds are passed over.
    """
    inside = Path(os.path.realpath(folder))
    found: list[str] = []
    left_out: dict[str, str] = {}
    for place, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for file in (Path(place, name) for name in names if not name.startswith(".")):
            name, ending = file.relative_to(folder).as_posix(), file.suffix.lower()
            if ending in UNREAD:
                left_out[name] = "is of a kind that is not read: save it as JPEG or PNG"
            elif ending not in ENDINGS:
                continue
            elif any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
                left_out[ascii(name)] = "has control characters in its name: rename it"
            elif not Path(os.path.realpath(file)).is_relative_to(inside):
                left_out[name] = "is a link that leads out of the folder"
            else:
                found.append(name)
    return sorted(found), dict(sorted(left_out.items()))


def read_folder(
    folder: Path,
    families: Sequence[str] = DEFAULT_FAMILIES,
    store: Path | None = None,
    progress: Progress | None = None,
) -> PictureFolder:
    """Measure the pictures of a folder, and keep what was measured for the next time.

    Parameters
    ----------
    folder : Path
        Where the pictures are.
    families : sequence of str
        What to measure.
    store : Path, optional
        A SQLite file that keeps what was measured, and a thumbnail of each picture. One that cannot
        be used is left as it is.
    progress : callable, optional
        Called with how many pictures are done, how many there are, and what is being done.
    """
    families = check_families(families)
    try:
        with closing(_connect(store)) as kept:
            return _read(folder, families, kept, progress)
    except sqlite3.Error as error:
        found = read_folder(folder, families, progress=progress)
        trouble = (
            f"{store} cannot keep what was measured ({error}), so it is measured at each start."
        )
        return replace(found, trouble=trouble)


def _read(
    folder: Path, families: tuple[str, ...], kept: sqlite3.Connection, progress: Progress | None
) -> PictureFolder:
    names, left_out = find_pictures(folder)
    known = _known(kept)
    state = {name: _state(folder / name) for name in names}
    new = [name for name in names if known.get(name) != state[name]]
    for done, measured in enumerate(_batches(folder, new)):
        if progress is not None:
            progress(done * BATCH, len(new), "measuring pictures")
        with kept:
            kept.executemany(
                "REPLACE INTO picture VALUES (?, ?, ?, ?, ?, ?)",
                [(name, *state[name], *found) for name, found in measured],
            )
    rows = []
    for name, features, trouble in kept.execute("SELECT id, features, trouble FROM picture"):
        if name in state and trouble is None:
            rows.append((name, np.frombuffer(features, dtype=np.float32)))
        elif name in state:
            left_out[name] = trouble
    if not rows:
        some = [f"{name} {why}" for name, why in sorted(left_out.items())]
        raise GuidedValueError(
            f"{folder} has no picture that can be used: {first_few(some, 3) or 'it is empty'}.",
            f"Pictures end in {', '.join(ENDINGS)}.",
        )
    ids, values = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    every = {one.name: place for place, one in enumerate(named_features())}
    wanted = tuple(one.name for one in named_features(families))
    # As they were rounded when they were measured: 25.9 and not 25.899999618.
    X = np.array(values, dtype=np.float64)[:, [every[name] for name in wanted]].round(DIGITS)
    return PictureFolder(ids, X, wanted, dict(sorted(left_out.items())))


def thumbnail_of(store: Path, name: str) -> bytes | None:
    """Return a thumbnail that was kept, as JPEG; None if there is none."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(_read_only(store), uri=True)) as kept:
        found = kept.execute("SELECT thumbnail FROM picture WHERE id = ?", [name]).fetchone()
        return None if found is None else found[0]
    return None  # moved away since the start


def _read_only(store: Path) -> str:
    return f"{store.resolve().as_uri()}?mode=ro"


def _connect(store: Path | None) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:" if store is None else store)
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            connection.execute("DROP TABLE IF EXISTS picture")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(TABLE)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _known(kept: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Return the size and time of each picture that was measured, unless that is damaged."""
    found = kept.execute(
        "SELECT id, size, time FROM picture WHERE trouble IS NOT NULL OR length(features) = ?",
        [4 * len(named_features())],
    )
    return {name: (size, time) for name, size, time in found}


def _state(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:  # a link to nothing
        return -1, -1
    return found.st_size, found.st_mtime_ns


Measured = tuple[str, tuple[bytes | None, bytes | None, str | None]]


def _batches(folder: Path, names: Sequence[str]) -> Iterator[list[Measured]]:
    """Measure pictures in threads, some at a time."""
    with warnings.catch_warnings(), ThreadPoolExecutor(MOST_THREADS) as threads:
        warnings.simplefilter("ignore")  # of odd metadata, and of sizes that are checked
        for start in range(0, len(names), BATCH):
            some = names[start : start + BATCH]
            yield list(
                zip(some, threads.map(_measured, [folder / name for name in some]), strict=True)
            )


def _measured(file: Path) -> tuple[bytes | None, bytes | None, str | None]:
    from PIL import Image

    try:
        picture = opened(file, 3 * SIDE)
    except NoPictureError as error:
        return None, None, str(error)
    square = picture.resize((SIDE, SIDE), Image.Resampling.BOX)
    features = measure(np.asarray(square, dtype=np.float64) / 255)
    return features.tobytes(), as_jpeg(picture, SMALL), None
