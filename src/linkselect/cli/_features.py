"""`linkselect features`: convert a folder of pictures to a table."""

from pathlib import Path

from linkselect._messages import many
from linkselect.cli._errors import InputError
from linkselect.cli._output import (
    COLUMN_FILES,
    check_apart,
    check_target,
    write_columns,
)
from linkselect.cli._tables import Reading, read_table
from linkselect.cli._tables.picture_table import IDS, families_of, is_table_folder
from linkselect.cli._terminal import say, say_notes


def features(folder: Path, /, *, out: Path, features: str | None = None) -> None:
    """Compute the features of the pictures in a folder, and write them as a table.

    Parameters
    ----------
    folder
        A folder with PNG, JPEG, TIFF, WebP, GIF or BMP files, which may be in subfolders.
    out
        The table to write: .csv, .tsv, .parquet, .feather or .json. It has one row for each
        picture, with its file name in the column "picture".
    features
        The features to compute, separated by commas: color, texture, hog (histograms of edge
        orientations) or pixels. Default: color,texture,hog.
    """
    check_target(out, "--out", COLUMN_FILES)
    check_apart({"the folder": folder}, {"--out": out})
    read = Reading(features=features)
    families_of(read)
    if not folder.exists():
        raise InputError(f"There is no folder {folder}.")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file. Pass its folder instead: {folder.parent}")
    if is_table_folder(folder):
        raise InputError(f"{folder} is a table of Parquet or Zarr files, not a folder of pictures.")
    table = read_table(folder, read)
    columns = {IDS: list(table.ids or ())} | dict(zip(table.names, table.X.T, strict=True))
    write_columns(out, columns)
    say_notes(table.notes)
    n_rows, n_features = table.X.shape
    say(f"{many(n_rows, 'picture')} x {many(n_features, 'feature')} written to {out}.")
