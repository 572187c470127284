"""Folders of Parquet files: which files are parts, in which order, and what folder names say."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import GuidedValueError, warn_user

PARQUET_ENDINGS = (".parquet", ".pq")
# What all Parquet files begin with, also those whose names do not say what they are.
_FIRST_BYTES = b"PAR1"
# What writers call the folder of rows whose value is missing.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_DIGITS = re.compile("[0-9]+")
_WHOLE_NUMBER = re.compile("-?[0-9]{1,18}")


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and the folders in it, in the order of their paths.

    As pandas and pyarrow do: leave out what begins with a dot or an underscore, follow links to
    folders, and order by the bytes of the path.
    """
    found = []
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_refuse):
        here = Path(place)
        above = {one.resolve() for one in (here, *here.parents)}
        folders[:] = [one for one in _shown(folders) if (here / one).resolve() not in above]
        found += [path for name in _shown(names) if _is_parquet(path := here / name)]
    return sorted(found, key=lambda path: os.fsencode(path.relative_to(folder).as_posix()))


def _refuse(error: OSError) -> None:
    raise GuidedValueError(
        f"The folder {error.filename} cannot be looked into: {error.strerror}.", parameter="X"
    ) from error


def _shown(names: list[str]) -> list[str]:
    return [name for name in names if name[0] not in "._"]


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() in PARQUET_ENDINGS:
        return True  # also a link that leads nowhere: reading it says so
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_FIRST_BYTES)) == _FIRST_BYTES
    except OSError:
        return False


def folder_columns(files: Sequence[Path], folder: Path) -> dict[str, NDArray[Any]]:
    """Return the columns that stand in the names of folders, such as `site=A`: a value per file.

    Whole numbers become numbers, and everything else is text or None.
    """
    said = [_said(path.relative_to(folder)) for path in files]
    names = [name for name in said[0] if all(name in one for one in said)]
    return {name: _typed([one[name] for one in said]) for name in names}


def _said(path: Path) -> dict[str, str | None]:
    pairs = [part.split("=", 1) for part in path.parts[:-1] if part.find("=") > 0]
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs}


def _typed(values: list[str | None]) -> NDArray[Any]:
    known = [value for value in values if value is not None]
    if not known or not all(_WHOLE_NUMBER.fullmatch(value) for value in known):
        return np.array(values, dtype=object)
    numbers = [None if value is None else int(value) for value in values]
    return np.array(numbers, dtype=np.int64 if len(known) == len(values) else object)


def warn_of_folder_columns(label: str, names: Sequence[str]) -> None:
    """Say that columns in the names of folders are no features: pandas would make them some."""
    if not names:
        return
    listed = ", ".join(map(repr, names))
    warn_user(
        f"{label} has columns in the names of its folders, which are not used as features: "
        f"{listed}.",
        hint=f"open_stored(path, without=[{listed}]) says that this is meant, and "
        f"column({names[0]!r}) of what it returns reads one, such as the labels.",
    )


def warn_of_order(files: Sequence[Path], folder: Path) -> None:
    """Warn if numeric order differs from alphabetical order: labels may be in the other one."""
    names = [path.relative_to(folder).as_posix() for path in files]
    by_number = sorted(names, key=lambda name: _DIGITS.sub(lambda found: found[0].zfill(20), name))
    for found, expected in zip(names, by_number, strict=True):
        # Else they differ in more than a number.
        if found != expected and _DIGITS.sub("#", found) == _DIGITS.sub("#", expected):
            warn_user(
                f"{found} is read before {expected}: files are read in the order of their names, "
                "letter by letter, as pandas and pyarrow do.",
                hint="Put the labels in the same order, or give the numbers in the names the "
                "same length.",
            )
            return
