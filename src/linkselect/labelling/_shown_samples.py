"""What a person sees of a sample: a picture, its pixels, a curve, a text, or its values.

Pictures need no library for pictures: pixels are sent as PNG, curves as the paths of an SVG.
"""

import struct
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._display import check_shape, score_text
from linkselect._pictures.picture_features import Region
from linkselect._samples import as_samples

Kind = Literal["picture", "pixels", "curve", "text", "values"]

# How many samples are looked at for the range of values: enough to draw all alike.
LOOKED_AT = 2000
# The darkest and lightest of a thousand values may lie outside the range that is drawn.
OUTSIDE = 0.1
# What marks the best pixels: seen on grey, in light and in dark pages.
MARK = (222, 95, 20)
# A curve is drawn in these units, whatever its length; more points than this are not seen.
CURVE_SIZE = (640, 240)
# Above the highest and below the lowest value, so that the width of the line is not cut.
CURVE_MARGIN = 8


@dataclass(frozen=True)
class ShownSamples:
    """The samples as a person should see them.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The values as they were given.
    ids : sequence of hashable
        What names each sample.
    names : sequence of str
        What names each feature.
    image_shape : (int, int), optional
        Height and width, if each feature is a pixel.
    curve : bool
        Whether the features are in order, as in a spectrum or a series.
    texts : sequence of str, optional
        A text for each sample.
    pictures : dict of int to path, optional
        The picture file of each row.
    more : dict of str to sequence of str, optional
        Further columns to show below each sample.
    regions : dict of str to Region, optional
        The part of a picture that each feature looks at.
    thumbnails : Path, optional
        The file that keeps a thumbnail of each picture.
    """

    X: Any
    ids: Sequence[Hashable]
    names: Sequence[str]
    image_shape: tuple[int, int] | None = None
    curve: bool = False
    texts: Sequence[str] | None = None
    pictures: Mapping[int, Path] | None = None
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)
    regions: Mapping[str, Region] = field(default_factory=dict)
    thumbnails: Path | None = None

    def __post_init__(self) -> None:
        if self.image_shape is not None:
            check_shape(self.image_shape, self.X.shape[1])

    @property
    def kind(self) -> Kind:
        """How a sample is shown; what was given by hand comes first."""
        if self.pictures is not None:
            return "picture"
        if self.texts is not None:
            return "text"
        if self.image_shape is not None:
            return "pixels"
        return "curve" if self.curve else "values"

    def kind_of(self, row: int) -> Kind:
        """How one sample is shown; one without a picture by its name alone."""
        without = self.pictures is not None and row not in self.pictures
        return "values" if without else self.kind

    @cached_property
    def row_of(self) -> dict[Hashable, int]:
        """The row of each sample."""
        return {sample: row for row, sample in enumerate(self.ids)}

    def values(self, row: int) -> FloatArray:
        """Return the values of one sample."""
        return as_samples(self.X[[row]]).dense()[0].astype(float)

    @cached_property
    def _some(self) -> FloatArray:
        step = max(1, self.X.shape[0] // LOOKED_AT)
        return np.asarray(as_samples(self.X[::step]).dense(), dtype=float)

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """The range in which nearly all values lie."""
        low, high = np.nanpercentile(self._some, [OUTSIDE, 100 - OUTSIDE])
        return float(low), float(high)

    def pixels(self, row: int | None = None) -> NDArray[np.uint8]:
        """Return the pixels of a sample, or of the mean of samples, as shades."""
        assert self.image_shape is not None
        values = np.nanmean(self._some, axis=0) if row is None else self.values(row)
        return grey(values, *self.value_range).reshape(self.image_shape)

    def curves(self, rows: Sequence[int], best: IntArray) -> tuple[list[str], list[str]]:
        """Return the paths of some curves in one range, and where the best features lie."""
        lines = [self.values(row) for row in rows]
        low, high = float(np.nanmin(lines)), float(np.nanmax(lines))
        low, high = min(low, self.value_range[0]), max(high, self.value_range[1])
        places = curve_places(best, self.X.shape[1])
        return [curve_path(line, low, high) for line in lines], [f"{x:.4g}" for x in places]

    def shown(self, row: int) -> dict[str, Any]:
        """Return what is said about a sample in words."""
        return {
            "row": row,
            "id": str(self.ids[row]),
            "text": None if self.texts is None else self.texts[row],
            "has_picture": self.pictures is not None and row in self.pictures,
            "more": [(name, column[row]) for name, column in self.more.items()],
        }

    def value_rows(self, a: int, b: int, features: IntArray) -> list[tuple[str, str, str]]:
        """Return name and both values of some features, to stand in a table."""
        of_a, of_b = self.values(a), self.values(b)
        return [
            (self.names[feature], number_text(of_a[feature]), number_text(of_b[feature]))
            for feature in features.tolist()
        ]


def number_text(value: float) -> str:
    """Write a value with at most four significant digits."""
    return score_text(value, 4, missing="missing").replace("-", "\N{MINUS SIGN}")


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
    written = b"\x89PNG\r\n\x1a\n"
    for name, content in parts:
        check = zlib.crc32(name + content)
        written += struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
    return written


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
