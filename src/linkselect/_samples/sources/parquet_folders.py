"""Selection and order of the Parquet files in a folder, and columns from folder names."""

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
# Every Parquet file begins with these bytes, whatever its name is.
_FIRST_BYTES = b"PAR1"
# The name that writers give to the folder of rows whose value is missing.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_DIGITS = re.compile("[0-9]+")
_WHOLE_NUMBER = re.compile("-?[0-9]{1,18}")


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and its subfolders, in the order of their paths.

    As in pandas and pyarrow, names that start with a dot or an underscore are ignored, symbolic
    links to folders are followed, and paths are sorted by their bytes.
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
        f"The folder {error.filename} cannot be read: {error.strerror}.", parameter="X"
    ) from error


def _shown(names: list[str]) -> list[str]:
    return [name for name in names if name[0] not in "._"]


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() in PARQUET_ENDINGS:
        return True  # also a broken link, which is reported when it is read
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_FIRST_BYTES)) == _FIRST_BYTES
    except OSError:
        return False


def folder_columns(files: Sequence[Path], folder: Path) -> dict[str, NDArray[Any]]:
    """Return the columns given by folder names such as `site=A`, with one value per file.

    If all values are integers, the column is numeric; otherwise its values are text. Missing values
    are None.
    """
    found = [_names_and_values(path.relative_to(folder)) for path in files]
    names = [name for name in found[0] if all(name in one for one in found)]
    return {name: _typed([one[name] for one in found]) for name in names}


def _names_and_values(path: Path) -> dict[str, str | None]:
    pairs = [part.split("=", 1) for part in path.parts[:-1] if part.find("=") > 0]
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs}


def _typed(values: list[str | None]) -> NDArray[Any]:
    known = [value for value in values if value is not None]
    if not known or not all(_WHOLE_NUMBER.fullmatch(value) for value in known):
        return np.array(values, dtype=object)
    numbers = [None if value is None else int(value) for value in values]
    return np.array(numbers, dtype=np.int64 if len(known) == len(values) else object)


def warn_of_folder_columns(label: str, names: Sequence[str]) -> None:
    """Warn that columns from folder names are not used as features, in contrast to pandas."""
    if not names:
        return
    listed = ", ".join(map(repr, names))
    warn_user(
        f"{label} has columns that come from folder names and are not used as features: {listed}.",
        hint=f"To suppress this warning, use open_stored(path, without=[{listed}]). The method "
        f"column({names[0]!r}) of the result reads such a column, for example labels.",
    )


def warn_of_order(files: Sequence[Path], folder: Path) -> None:
    """Warn if the alphabetical order of files, in which they are read, is not numeric order."""
    names = [path.relative_to(folder).as_posix() for path in files]
    by_number = sorted(names, key=lambda name: _DIGITS.sub(lambda found: found[0].zfill(20), name))
    for found, expected in zip(names, by_number, strict=True):
        # Otherwise, the names differ in more than a number.
        if found != expected and _DIGITS.sub("#", found) == _DIGITS.sub("#", expected):
            warn_user(
                f"{found} is read before {expected}, because files are read in alphabetical order, "
                "as in pandas and pyarrow.",
                hint="Sort the labels in the same order, or pad numbers in file names with zeros.",
            )
            return
