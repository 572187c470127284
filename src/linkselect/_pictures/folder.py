"""Read the pictures of a folder: which files they are, what they measure, which are left out."""

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError, first_few, many
from linkselect._pictures.decoding import ENDINGS, SMALL, NoPictureError, as_jpeg, opened
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
# So many pictures are measured before they are stored.
BATCH = 32


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
    others : tuple of str
        Other files in the folder.
    """

    ids: tuple[str, ...]
    X: FloatArray
    names: tuple[str, ...]
    left_out: dict[str, str]
    others: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """What should be said about files that are left out."""
        notes = [f"{name} is left out: it {why}." for name, why in list(self.left_out.items())[:5]]
        if len(self.left_out) > 5:
            notes.append(f"{len(self.left_out) - 5:,} more files are left out.")
        if self.others:
            notes.append(
                f"{many(len(self.others), 'file')} of other kinds left out "
                f"({first_few(self.others, 3)}): pictures end in {', '.join(ENDINGS)}."
            )
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


def find_pictures(folder: Path) -> tuple[list[str], list[str]]:
    """Return the files in a folder and its subfolders that look like pictures, and the others.

    Hidden files are passed over. Links that lead out of the folder are others, and so are files
    whose names are no text, which cannot name a sample.
    """
    inside = Path(os.path.realpath(folder))
    found: list[str] = []
    others: list[str] = []
    for place, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for file in (Path(place, name) for name in names if not name.startswith(".")):
            is_ours = Path(os.path.realpath(file)).is_relative_to(inside)
            name = file.relative_to(folder).as_posix()
            is_picture = file.suffix.lower() in ENDINGS and is_ours and name.isprintable()
            (found if is_picture else others).append(name)
    return sorted(found), sorted(others)


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
        A SQLite file that keeps what was measured, and a thumbnail of each picture.
    progress : callable, optional
        Called with how many pictures are done, how many there are, and what is being done.
    """
    families = check_families(families)
    ids, others = find_pictures(folder)
    if not ids:
        raise GuidedValueError(
            f"{folder} has no pictures.", f"Pictures end in {', '.join(ENDINGS)}."
        )
    with closing(_connect(store)) as kept:
        known = _known(kept)
        state = {name: _state(folder / name) for name in ids}
        new = [name for name in ids if known.get(name) != state[name]]
        for done, measured in enumerate(_batches(folder, new)):
            if progress is not None:
                progress(min(done * BATCH, len(new)), len(new), "measuring pictures")
            with kept:
                kept.executemany(
                    "REPLACE INTO picture VALUES (?, ?, ?, ?, ?, ?)",
                    [(name, *state[name], *found) for name, found in measured],
                )
        with kept:
            gone = [(name,) for name in known.keys() - state.keys()]
            kept.executemany("DELETE FROM picture WHERE id = ?", gone)
        return _table(kept, families, tuple(others))


def _table(
    kept: sqlite3.Connection, families: tuple[str, ...], others: tuple[str, ...]
) -> PictureFolder:
    every = [one.name for one in named_features()]
    wanted = [one.name for one in named_features(families)]
    places = {name: place for place, name in enumerate(every)}
    columns = [places[name] for name in wanted]
    rows, ids, left_out = [], [], {}
    for name, features, trouble in kept.execute(
        "SELECT id, features, trouble FROM picture ORDER BY id"
    ):
        if trouble is None:
            ids.append(name)
            rows.append(np.frombuffer(features, dtype=np.float32)[columns])
        else:
            left_out[name] = trouble
    if not rows:
        some = first_few([f"{name} {why}" for name, why in left_out.items()], 3)
        raise GuidedValueError(f"No picture can be used: {some}.")
    # As they were rounded when they were measured: 25.9 and not 25.899999618.
    X = np.array(rows, dtype=np.float64).round(DIGITS)
    return PictureFolder(tuple(ids), X, tuple(wanted), left_out, others)


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
    except sqlite3.DatabaseError as error:
        connection.close()
        raise GuidedValueError(
            f"{store} cannot be used to keep what was measured: {error}.", "Move it away."
        ) from error
    return connection


def _known(kept: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    found = kept.execute("SELECT id, size, time FROM picture")
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
    with warnings.catch_warnings(), ThreadPoolExecutor(os.cpu_count()) as threads:
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
