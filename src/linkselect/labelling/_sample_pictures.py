"""Which file shows which sample: found once at the start, never by a path from outside."""

from collections.abc import Hashable, Sequence
from pathlib import Path

from linkselect._messages import GuidedValueError
from linkselect._pictures.decoding import DRAWN


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
    return files_of_samples(folder, ids, tuple(DRAWN), "picture")


def files_of_samples(
    folder: Path, ids: Sequence[Hashable], endings: tuple[str, ...], what: str
) -> dict[int, Path]:
    """Find the file of each sample, as `pictures_in_folder` does, by its ending and its id."""
    if not folder.is_dir():
        raise GuidedValueError(f"There is no folder {folder}.", f"Name the folder of {what}s.")
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in endings and is_inside(file, folder):
            found.setdefault(file.stem, file.resolve())
    files = {row: found[str(name)] for row, name in enumerate(ids) if str(name) in found}
    if not files:
        some = next(iter(found), None)
        there = f"its files are called {some!r} and so on" if some else f"it has no {what}"
        raise GuidedValueError(
            f"No sample has a {what} in {folder}: samples are called {str(ids[0])!r} and so on, "
            f"{there}.",
            f"Name each file by the id of its sample, with one of {', '.join(endings)}.",
        )
    return files


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
        if not is_inside(file, folder):
            raise GuidedValueError(
                f"Row {row + 1}: there is no file {name!r} inside {folder}.",
                "Pictures lie beside the table or in folders there.",
            )
        pictures[row] = file.resolve()
    if not pictures:
        raise GuidedValueError("No row names a picture.", "Name the column of file names.")
    return pictures


def is_inside(file: Path, folder: Path) -> bool:
    """Tell whether a file is there, and in the folder once all links are followed."""
    try:
        target = file.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # absent, links in a circle, a zero byte
        return False
    return target.is_file() and target.is_relative_to(folder.resolve())
