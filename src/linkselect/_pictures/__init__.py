"""Read a folder of pictures as a table with one row per picture and readable feature names."""

from linkselect._pictures.folder import (
    PictureFolder,
    check_installed,
    find_pictures,
    read_folder,
    thumbnail_of,
)
from linkselect._pictures.picture_features import DEFAULT_FAMILIES, FAMILIES, named_features

__all__ = [
    "DEFAULT_FAMILIES",
    "FAMILIES",
    "PictureFolder",
    "check_installed",
    "find_pictures",
    "named_features",
    "read_folder",
    "thumbnail_of",
]
