"""Which picture file shows which sample: found once at the start, never by a path from outside."""

from collections.abc import Hashable, Sequence
from pathlib import Path

from linkselect._messages import GuidedValueError
from linkselect._pictures.opening import DRAWN


def pictures_in_folder(folder: Path, ids: Sequence[Hashable]) -> dict[int, Path]:
    """Find the picture of each sample: the file whose name without its ending is the id.

    Parameters
    ----------
    folder : Path
        Where the pictures are. Links that lead out of it are left out.
    ids : sequence of hashable
        The id of each sample.

    Returns
    -------
    dict of int to Path
        The file of each row that has one.
    """
    if not folder.is_dir():
        raise GuidedValueError(f"There is no folder {folder}.", "Name the folder of pictures.")
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in DRAWN and _inside(file, folder):
            found.setdefault(file.stem, file.resolve())
    pictures = {row: found[str(name)] for row, name in enumerate(ids) if str(name) in found}
    if not pictures:
        some = next(iter(found), None)
        there = f"its files are called {some!r} and so on" if some else "it has no picture"
        raise GuidedValueError(
            f"No sample has a picture in {folder}: samples are called {str(ids[0])!r} and so on, "
            f"{there}.",
            f"Name each file by the id of its sample, with one of {', '.join(DRAWN)}.",
        )
    return pictures


def named_pictures(folder: Path, names: Sequence[str]) -> dict[int, Path]:
    """Find the picture of each sample by the file name that the table gives.

    Parameters
    ----------
    folder : Path
        The folder of the table, from which names start and which no name may leave.
    names : sequence of str
        The file of each row; empty if it has none.
    """
    pictures: dict[int, Path] = {}
    for row, name in enumerate(names):
        if not name:
            continue
        file = folder / name
        if file.suffix.lower() not in DRAWN:
            raise GuidedValueError(
                f"Row {row + 1}: {name!r} is no picture that a browser shows.",
                f"Pictures end in {', '.join(DRAWN)}.",
            )
        if not _inside(file, folder):
            raise GuidedValueError(
                f"Row {row + 1}: there is no file {name!r} inside {folder}.",
                "Pictures lie beside the table or in folders there.",
            )
        pictures[row] = file.resolve()
    if not pictures:
        raise GuidedValueError("No row names a picture.", "Name the column of file names.")
    return pictures


def _inside(file: Path, folder: Path) -> bool:
    """Tell whether a file is there, and in the folder once all links are followed."""
    try:
        target = file.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # absent, links in a circle, a zero byte
        return False
    return target.is_file() and target.is_relative_to(folder.resolve())
