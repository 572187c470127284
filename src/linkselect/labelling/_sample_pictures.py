"""Find the file for each sample, once at the start and never from a requested path."""

from collections.abc import Hashable, Sequence
from pathlib import Path

from linkselect._messages import GuidedValueError
from linkselect._pictures.decoding import DRAWN


def pictures_in_folder(folder: Path, ids: Sequence[Hashable]) -> dict[int, Path]:
    """Find the picture of each sample, whose file name without extension is the sample ID.

    Parameters
    ----------
    folder : Path
        The folder of pictures. Symbolic links that point outside are ignored.
    ids : sequence of hashable
        The ID of each sample.

    Returns
    -------
    dict of int to Path
        The picture file by row; rows without a picture are missing.
    """
    return files_of_samples(folder, ids, tuple(DRAWN), "picture")


def files_of_samples(
    folder: Path, ids: Sequence[Hashable], endings: tuple[str, ...], what: str
) -> dict[int, Path]:
    """Find the file of each sample by extension and ID, as in `pictures_in_folder`."""
    if not folder.is_dir():
        raise GuidedValueError(f"There is no folder {folder}.", f"Pass the folder of the {what}s.")
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in endings and is_inside(file, folder):
            found.setdefault(file.stem, file.resolve())
    files = {row: found[str(name)] for row, name in enumerate(ids) if str(name) in found}
    if not files:
        some = next(iter(found), None)
        there = f"file names look like {some!r}" if some else f"the folder has no {what}s"
        raise GuidedValueError(
            f"No sample has a {what} in {folder}: sample IDs look like {str(ids[0])!r}, but "
            f"{there}.",
            f"Name each file after its sample ID, with one of these extensions: "
            f"{', '.join(endings)}.",
        )
    return files


def named_pictures(folder: Path, names: Sequence[str]) -> dict[int, Path]:
    """Find the picture of each sample by the file name in the table.

    Parameters
    ----------
    folder : Path
        The folder of the table. File names are relative to this folder and must not lead outside
        it.
    names : sequence of str
        The file name of each row; empty if the row has none.
    """
    pictures: dict[int, Path] = {}
    for row, name in enumerate(names):
        if not name:
            continue
        file = folder / name
        if file.suffix.lower() not in DRAWN:
            raise GuidedValueError(
                f"Row {row + 1}: {name!r} is not a supported picture file.",
                f"Supported extensions are {', '.join(DRAWN)}.",
            )
        if not is_inside(file, folder):
            raise GuidedValueError(
                f"Row {row + 1}: there is no file {name!r} inside {folder}.",
                "Pictures must be in the folder of the table or in its subfolders.",
            )
        pictures[row] = file.resolve()
    if not pictures:
        raise GuidedValueError("No row has a picture.", "Choose the column with the file names.")
    return pictures


def is_inside(file: Path, folder: Path) -> bool:
    """Return whether a file exists and, after resolving links, is inside the folder."""
    try:
        target = file.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # missing, circular links, a null byte
        return False
    return target.is_file() and target.is_relative_to(folder.resolve())
