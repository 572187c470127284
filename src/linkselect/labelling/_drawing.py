"""Pictures of samples without any library for pictures: PNG for pixels, paths for curves."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray

# What marks the best pixels: seen on grey, in light and in dark pages.
MARK = (222, 95, 20)
# A curve is drawn in these units, whatever its length; more points than this are not seen.
CURVE_SIZE = (640, 240)
# Above the highest and below the lowest value, so that the width of the line is not cut.
CURVE_MARGIN = 8


def png(pixels: NDArray[np.uint8]) -> bytes:
    r"""Write an image of shape (height, width) in grey, or (height, width, 3) in colours, as PNG.

    Examples
    --------
    >>> png(np.zeros((2, 2), dtype=np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width = pixels.shape[:2]
    kind = 0 if pixels.ndim == 2 else 2
    lines = pixels.reshape(height, -1)
    # Every line starts with its filter: 0, none.
    raw = np.concatenate([np.zeros((height, 1), dtype=np.uint8), lines], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + check


def grey(values: Any, low: float, high: float) -> NDArray[np.uint8]:
    """Turn values into shades: `low` is black, `high` is white.

    Examples
    --------
    >>> grey([0.0, 1.0, 4.0], 0, 2)
    array([  0, 128, 255], dtype=uint8)
    """
    extent = high - low if high > low else 1.0
    shades = 255 * (np.asarray(values, dtype=float) - low) / extent
    return np.round(np.clip(np.nan_to_num(shades), 0, 255)).astype(np.uint8)


def mask_png(mean: NDArray[np.uint8], best: IntArray) -> bytes:
    """Draw the mean picture in grey with the best pixels marked, the first one strongest."""
    # Neither black nor white: marks are seen on every grey between.
    colours = np.repeat(mean.reshape(-1, 1), 3, axis=1).astype(float) * 0.6 + 40
    strength = np.linspace(1.0, 0.55, len(best))[:, None]
    colours[best] = strength * np.array(MARK) + (1 - strength) * colours[best]
    return png(np.round(colours).astype(np.uint8).reshape(*mean.shape, 3))


def curve_path(values: FloatArray, low: float, high: float) -> str:
    """Return the line through values as the path of an SVG of `CURVE_SIZE`.

    Of a long curve the smallest and the largest value are kept in every place of a pixel's width,
    so that no peak is lost.

    Examples
    --------
    >>> curve_path(np.array([0.0, 1.0]), 0, 1)
    'M0 232L640 8'
    """
    width, height = CURVE_SIZE
    places, shown = _thinned(np.nan_to_num(values), width)
    extent = high - low if high > low else 1.0
    x = curve_places(places, len(values))
    room = height - 2 * CURVE_MARGIN
    y = height - CURVE_MARGIN - room * (shown - low) / extent
    points = (f"{a:.4g} {b:.4g}" for a, b in zip(x, y, strict=True))
    return "M" + "L".join(points)


def curve_places(features: IntArray, n_features: int) -> FloatArray:
    """Return how far from the left the given features lie."""
    return CURVE_SIZE[0] * np.asarray(features) / max(n_features - 1, 1)


def _thinned(values: FloatArray, most: int) -> tuple[IntArray, FloatArray]:
    if len(values) <= 2 * most:
        return np.arange(len(values)), values
    edges = np.linspace(0, len(values), most + 1).astype(int)
    places = [
        place
        for start, end in pairwise(edges)
        for place in sorted(
            {start + int(np.argmin(values[start:end])), start + int(np.argmax(values[start:end]))}
        )
    ]
    return np.array(places), values[places]
