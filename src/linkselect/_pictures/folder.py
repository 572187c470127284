"""Find the pictures in a folder, compute their features, and skip unusable files."""

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
from linkselect._messages import GuidedValueError, first_few, many
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

# A store with another version is replaced.
VERSION = 1
TABLE = """CREATE TABLE IF NOT EXISTS picture (
    id TEXT PRIMARY KEY, size INTEGER, time INTEGER, features BLOB, thumbnail BLOB, trouble TEXT
) STRICT"""
# Pictures per transaction of the store, and number of threads.
BATCH, MOST_THREADS = 32, min(4, os.cpu_count() or 1)


@dataclass(frozen=True)
class PictureFolder:
    """The pictures of a folder as a table.

    Attributes
    ----------
    ids : tuple of str
        The path of each picture relative to the folder, with slashes.
    X : ndarray of shape (n_pictures, n_features)
        The features.
    names : tuple of str
        The names of the features.
    left_out : dict of str to str
        Files that look like pictures but cannot be used, each with the reason.
    trouble : str
        The reason why the features could not be stored; empty if they were stored.
    """

    ids: tuple[str, ...]
    X: FloatArray
    names: tuple[str, ...]
    left_out: dict[str, str]
    trouble: str = ""

    @property
    def notes(self) -> list[str]:
        """Notes on files that are skipped."""
        notes = [f"Skipped {name}: it {why}." for name, why in list(self.left_out.items())[:5]]
        if len(self.left_out) > 5:
            notes.append(f"Skipped {many(len(self.left_out) - 5, 'more file')}.")
        if self.trouble:
            notes.append(self.trouble)
        return notes


def check_installed() -> None:
    """Raise an ImportError that names the extra to install if a package is missing."""
    try:
        import PIL  # noqa: F401
        import skimage  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Reading pictures requires {error.name}, which is not installed: "
            "pip install 'linkselect[pictures]'"
        ) from None


def find_pictures(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the pictures in a folder and its subfolders, and the reason for each unusable file.

    Hidden files and files of other kinds are ignored.
    """
    inside = Path(os.path.realpath(folder))
    found: list[str] = []
    left_out: dict[str, str] = {}
    for place, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for file in (Path(place, name) for name in names if not name.startswith(".")):
            name, ending = file.relative_to(folder).as_posix(), file.suffix.lower()
            if ending in UNREAD:
                left_out[name] = "has an unsupported format; save it as JPEG or PNG"
            elif ending not in ENDINGS:
                continue
            elif any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
                left_out[ascii(name)] = "has control characters in its name; rename it"
            elif not Path(os.path.realpath(file)).is_relative_to(inside):
                left_out[name] = "is a link to a file outside the folder"
            else:
                found.append(name)
    return sorted(found), dict(sorted(left_out.items()))


def read_folder(
    folder: Path,
    families: Sequence[str] = DEFAULT_FAMILIES,
    store: Path | None = None,
    progress: Progress | None = None,
) -> PictureFolder:
    """Compute the features of the pictures in a folder, and store them for later calls.

    Parameters
    ----------
    folder : Path
        The folder with the pictures.
    families : sequence of str
        The families of features to compute.
    store : Path, optional
        A SQLite file that stores the features and a thumbnail of each picture. A file that cannot
        be used is left unchanged.
    progress : callable, optional
        A function that is called with the number of completed pictures, their total number, and the
        current step.
    """
    families = check_families(families)
    try:
        with closing(_connect(store)) as kept:
            return _read(folder, families, kept, progress)
    except sqlite3.Error as error:
        found = read_folder(folder, families, progress=progress)
        trouble = (
            f"{store} cannot store the features ({error}), so they are recomputed on each start."
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
            progress(done * BATCH, len(new), "computing picture features")
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
            f"{folder} has no usable pictures: {first_few(some, 3) or 'it is empty'}.",
            f"Supported file extensions are {', '.join(ENDINGS)}.",
        )
    ids, values = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    every = {one.name: place for place, one in enumerate(named_features())}
    wanted = tuple(one.name for one in named_features(families))
    # Rounded again, because float32 does not preserve rounding: 25.9 is read as 25.899999618.
    X = np.array(values, dtype=np.float64)[:, [every[name] for name in wanted]].round(DIGITS)
    return PictureFolder(ids, X, wanted, dict(sorted(left_out.items())))


def thumbnail_of(store: Path, name: str) -> bytes | None:
    """Return the stored thumbnail of a picture as JPEG, or None if no thumbnail is stored."""
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
    """Return the file size and time of each picture in the store, omitting damaged entries."""
    found = kept.execute(
        "SELECT id, size, time FROM picture WHERE trouble IS NOT NULL OR length(features) = ?",
        [4 * len(named_features())],
    )
    return {name: (size, time) for name, size, time in found}


def _state(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:  # a broken link
        return -1, -1
    return found.st_size, found.st_mtime_ns


Measured = tuple[str, tuple[bytes | None, bytes | None, str | None]]


def _batches(folder: Path, names: Sequence[str]) -> Iterator[list[Measured]]:
    """Compute the features of pictures in batches, using several threads."""
    with warnings.catch_warnings(), ThreadPoolExecutor(MOST_THREADS) as threads:
        warnings.simplefilter("ignore")  # about metadata, and about sizes, which are checked
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
