"""`linkselect features`: a folder of pictures as a table."""

from pathlib import Path

from linkselect._messages import many
from linkselect.cli._errors import InputError
from linkselect.cli._output import (
    COLUMN_FILES,
    check_apart,
    check_target,
    say,
    say_notes,
    write_columns,
)
from linkselect.cli._tables import Reading, read_table
from linkselect.cli._tables.picture_table import IDS, families_of, is_table_folder


def features(folder: Path, /, *, out: Path, features: str | None = None) -> None:
    """Measure the pictures of a folder, and write a table with one row for each.

    Parameters
    ----------
    folder
        PNG, JPEG, TIFF, WebP, GIF or BMP files, also in subfolders.
    out
        The table to write: .csv, .tsv, .parquet, .feather or .json. Its column `picture` names the
        file.
    features
        What to measure: color, texture, hog (directions of lines) or pixels, with commas between
        them. Otherwise color,texture,hog.
    """
    check_target(out, "--out", COLUMN_FILES)
    check_apart({"the folder": folder}, {"--out": out})
    read = Reading(features=features)
    families_of(read)
    if not folder.exists():
        raise InputError(f"There is no folder {folder}.")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file. Name its folder: {folder.parent}")
    if is_table_folder(folder):
        raise InputError(f"{folder} holds Parquet or Zarr files: it is read as a table.")
    table = read_table(folder, read)
    columns = {IDS: list(table.ids or ())} | dict(zip(table.names, table.X.T, strict=True))
    write_columns(out, columns)
    say_notes(table.notes)
    n_rows, n_features = table.X.shape
    say(f"{many(n_rows, 'picture')} x {many(n_features, 'feature')} written to {out}.")
