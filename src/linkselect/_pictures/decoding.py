"""Open pictures of all kinds that Pillow knows: upright, small, and none too large for memory."""

import io
import struct
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What is found in a folder, and of these what browsers draw as it is. SVG can hold script.
ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".gif", ".bmp")
DRAWN = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".avif": "image/avif",
}
# A picture may unpack to so many pixels. JPEG is unpacked at a smaller size at once, and cameras
# take more.
MOST_PIXELS, MOST_IN_JPEG = 100_000_000, 400_000_000
MOST_IN_16_BITS = 65535.0
# The longer side of a thumbnail, and of a picture to look at.
SMALL, LARGE = 160, 1280
# A larger file is sent smaller than it is.
MOST_BYTES = 1 << 21
# What Pillow raises for files that are broken or something else.
BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    MemoryError,
    struct.error,
    zlib.error,
)


class NoPictureError(Exception):
    """Why a file cannot be used as a picture."""


def opened(file: Path, side: int) -> Any:
    """Return a picture in RGB, upright, whose sides are at most so long.

    Transparent parts become white. Of a picture with more than 8 bits, values run from the
    smallest to the largest that its kind can have.
    """
    from PIL import Image, ImageOps

    try:
        if not file.is_file():  # a pipe would never end
            raise NoPictureError("is no regular file")
        with Image.open(file) as source:
            _check_size(source)
            source.draft("RGB", (side, side))
            picture = _plain(ImageOps.exif_transpose(source))
            picture.thumbnail((side, side), Image.Resampling.BOX, reducing_gap=2.0)
            return picture
    except Image.DecompressionBombError as error:
        raise NoPictureError("unpacks to more pixels than are allowed") from error
    except BROKEN as error:
        raise NoPictureError(_why(error)) from error


def _check_size(picture: Any) -> None:
    n_pixels = picture.width * picture.height
    if n_pixels > (MOST_IN_JPEG if picture.format == "JPEG" else MOST_PIXELS):
        size = f"{picture.width:,} x {picture.height:,}"
        raise NoPictureError(f"unpacks to {size} pixels, more than are allowed")


def _why(error: BaseException) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "is not a picture that can be read"
    if isinstance(error, PermissionError | FileNotFoundError):
        return str(error.strerror).lower()
    return f"is broken ({str(error).strip().rstrip('.') or type(error).__name__})"


def _plain(picture: Any) -> Any:
    """Return a picture in RGB, with eight bits and nothing transparent."""
    from PIL import Image

    if picture.mode in ("I", "F") or picture.mode.startswith("I;"):
        picture = Image.fromarray(_eight_bits(picture))
    if picture.has_transparency_data:
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture.convert("RGBA"))
    return picture.convert("RGB")


def _eight_bits(picture: Any) -> NDArray[np.uint8]:
    """Turn values of 16 bits or more into shades."""
    values = np.nan_to_num(np.asarray(picture, dtype=np.float64), posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    # Some files say 32 bits but hold 16. Of other numbers nothing tells the range but the values.
    if picture.mode != "F" and low >= 0 and high <= MOST_IN_16_BITS:
        low, high = 0.0, MOST_IN_16_BITS
    return (255 * (values - low) / ((high - low) or 1.0)).astype(np.uint8)


def as_jpeg(picture: Any, side: int) -> bytes:
    """Write a picture that is at most so large as JPEG."""
    small = picture.copy()
    small.thumbnail((side, side))
    file = io.BytesIO()
    small.save(file, "JPEG", quality=85)
    return file.getvalue()


def shown(file: Path) -> tuple[bytes, str]:
    """Return what a browser draws of a picture, and its type: the file itself if it can."""
    kind = DRAWN.get(file.suffix.lower())
    is_small = file.is_file() and file.stat().st_size <= MOST_BYTES
    if kind is not None and (is_small or find_spec("PIL") is None):
        return file.read_bytes(), kind
    return as_jpeg(opened(file, LARGE), LARGE), "image/jpeg"
