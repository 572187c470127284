"""Open pictures upright and at reduced size, and reject those too large for memory."""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

# Supported files and formats. Pillow supports more formats, but opens some of them with other
# programs.
ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".gif", ".bmp")
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP")
# Pictures that are skipped with a note.
UNREAD = (".heic", ".heif", ".avif", ".svg", ".psd", ".dng", ".cr2", ".cr3", ".nef", ".arw")
# Formats that browsers display directly. SVG is excluded, since it can contain scripts.
DRAWN = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".avif": "image/avif",
}
# Maximum number of pixels; for JPEG, which is decoded at reduced size, it is the limit of Pillow.
# Pictures above the third number are decoded one at a time.
MOST_PIXELS, MOST_IN_JPEG, MANY_PIXELS = 100_000_000, 178_956_970, 20_000_000
MOST_IN_16_BITS = 65535.0
# Longer side in pixels of a thumbnail, and of a displayed picture.
SMALL, LARGE = 160, 1280
# Larger files are sent at reduced size.
MOST_BYTES = 1 << 21

_large = Lock()


class NoPictureError(Exception):
    """The reason why a file cannot be used as a picture."""


@contextmanager
def _regular(file: Path) -> Iterator[BinaryIO]:
    """Open a regular file, and reject pipes and devices, which might never end."""
    try:
        number = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be opened"
        raise NoPictureError(reason) from error
    with open(number, "rb") as opened_file:  # noqa: PTH123 - a number, not a path
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise NoPictureError("is not a regular file")
        yield opened_file


def opened(file: Path, side: int) -> Any:
    """Return an upright RGB picture with no side longer than `side` pixels.

    Transparent parts become white. Pictures with more than 8 bits are scaled from the full range of
    their format.
    """
    with _regular(file) as content:
        return _decoded(content, side)


def _decoded(content: BinaryIO, side: int) -> Any:
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(content, formats=FORMATS) as source:
            _check_size(source)
            if source.width * source.height < MANY_PIXELS:
                return _plain(ImageOps.exif_transpose(_reduced(source, side)))
            with _large:
                return _plain(ImageOps.exif_transpose(_reduced(source, side)))
    except NoPictureError:
        raise
    except UnidentifiedImageError as error:
        raise NoPictureError("is not a readable picture") from error
    except Image.DecompressionBombError as error:
        raise NoPictureError(f"has more than {MOST_IN_JPEG:,} pixels") from error
    except Exception as error:  # a damaged file raises errors of many types
        why = str(error).strip().rstrip(".") or type(error).__name__
        raise NoPictureError(f"is damaged ({why})") from error


def _check_size(picture: Any) -> None:
    most = MOST_IN_JPEG if picture.format == "JPEG" else MOST_PIXELS
    if picture.width * picture.height > most:
        size = f"{picture.width:,} x {picture.height:,}"
        raise NoPictureError(f"has {size} pixels, but at most {most:,} are supported")


def _reduced(source: Any, side: int) -> Any:
    """Reduce the size of a picture before other steps, and keep the orientation in its metadata."""
    from PIL import Image

    exif = source.getexif()
    source.draft("RGB", (side, side))
    # In these modes, Pillow cannot reduce a picture, or only by dropping pixels.
    into = {"P": "RGBA" if source.has_transparency_data else "RGB", "PA": "RGBA", "1": "L"}
    into |= dict.fromkeys(("I;16", "I;16L", "I;16B", "I;16N"), "I")
    picture = source.convert(into[source.mode]) if source.mode in into else source
    picture.thumbnail((side, side), Image.Resampling.BOX, reducing_gap=2.0)
    picture.getexif().update(exif)
    return picture


def _plain(picture: Any) -> Any:
    """Convert a reduced picture to 8-bit RGB without transparency."""
    from PIL import Image

    if picture.mode in ("I", "F") or picture.mode.startswith("I;"):
        picture = Image.fromarray(_eight_bits(picture))
    if picture.has_transparency_data:
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture.convert("RGBA"))
    return picture.convert("RGB")


def _eight_bits(picture: Any) -> NDArray[np.uint8]:
    """Convert values of 16 bits or more to 8-bit grey levels."""
    values = np.nan_to_num(np.asarray(picture, dtype=np.float64), posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    # Some files declare 32 bits but use 16. For other types, only the values show the range.
    if picture.mode != "F" and low >= 0 and high <= MOST_IN_16_BITS:
        low, high = 0.0, MOST_IN_16_BITS
    return (255 * (values - low) / ((high - low) or 1.0)).astype(np.uint8)


def as_jpeg(picture: Any, side: int) -> bytes:
    """Encode a picture as JPEG, with no side longer than `side` pixels."""
    small = picture.copy()
    small.thumbnail((side, side))
    file = io.BytesIO()
    small.save(file, "JPEG", quality=85)
    return file.getvalue()


def shown(file: Path) -> tuple[bytes, str]:
    """Return a picture for a browser, which is the original file if possible, and its MIME type.

    WebP files are converted, because browsers ignore the orientation in their metadata.
    """
    kind = DRAWN.get(file.suffix.lower())
    with _regular(file) as content:
        is_large = os.fstat(content.fileno()).st_size > MOST_BYTES
        if kind is None or (find_spec("PIL") and (is_large or kind == "image/webp")):
            try:
                return as_jpeg(_decoded(content, LARGE), LARGE), "image/jpeg"
            except NoPictureError:
                if kind is None:
                    raise
                content.seek(0)
        return content.read(), str(kind)
