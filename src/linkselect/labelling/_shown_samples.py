"""Display a sample as a picture, pixels, a curve, a text or a table of values.

No imaging library is needed: pixels are sent as PNG, curves as SVG paths.
"""

import math
import struct
import zlib
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._display import check_shape, number_text, score_text
from linkselect._messages import many
from linkselect._pictures.picture_features import Region
from linkselect._samples import Samples, as_samples
from linkselect.labelling._sample_curves import CURVE_SIZE, Curves, Drawing, as_curve, draw, placed

Kind = Literal["picture", "pixels", "curve", "text", "values"]

# Maximum number of samples used to estimate ranges and standard deviations.
LOOKED_AT = 2000
# Percentage of values below, and above, the displayed range.
OUTSIDE = 0.1
# The colour of the best pixels: visible on grey, on light and dark pages.
MARK = (222, 95, 20)
# The rail is a line from the 1st to the 99th percentile of a feature. Its ends are given in per
# cent of the drawing.
BEYOND_RAIL = 0.01
RAIL = (17, 83)
# Largest distance of a mark from the rail, relative to its length.
MARGIN = 0.15


@dataclass(frozen=True)
class ComparedValue:
    """The values of one feature in two samples.

    Attributes
    ----------
    name : str
        The name of the feature.
    texts : (str, str)
        The values as text.
    difference : str
        The difference between the values, in standard deviations of the feature.
    places : (str or None, str or None)
        The horizontal positions of the values on the percentile line (rail), or None for a missing
        value.
    """

    name: str
    texts: tuple[str, str]
    difference: str
    places: tuple[str | None, str | None]


@dataclass(frozen=True)
class ShownSamples:
    """The samples as they are displayed.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The original values.
    ids : sequence of hashable
        The ID of each sample.
    names : sequence of str
        The name of each feature.
    image_shape : (int, int), optional
        The height and width of an image, if each feature is a pixel.
    curve : bool or array of int
        Whether the features form a curve, as in a spectrum or a time series, or the indices of the
        features that do.
    texts : sequence of str, optional
        A text for each sample.
    pictures : dict of int to path, optional
        The picture file of each row.
    more : dict of str to sequence of str, optional
        Additional columns to show below each sample.
    curves : dict of int to callable, optional
        For each row, a function that reads its curve, if curves are not part of X.
    encoded : collection of str
        Features encoded from dates or text; their values are shown with six digits.
    regions : dict of str to Region, optional
        The region of a picture that each feature describes.
    thumbnails : Path, optional
        The file with the thumbnails of the pictures.
    """

    X: Any
    ids: Sequence[Hashable]
    names: Sequence[str]
    image_shape: tuple[int, int] | None = None
    curve: bool | IntArray = False
    texts: Sequence[str] | None = None
    pictures: Mapping[int, Path] | None = None
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)
    curves: Curves | None = None
    encoded: Collection[str] = ()
    regions: Mapping[str, Region] = field(default_factory=dict)
    thumbnails: Path | None = None

    def __post_init__(self) -> None:
        if self.image_shape is not None:
            check_shape(self.image_shape, self.X.shape[1])

    @property
    def kind(self) -> Kind:
        """How the samples are displayed; content passed explicitly takes precedence over X."""
        if self.pictures is not None:
            return "picture"
        if self.texts is not None:
            return "text"
        if self.image_shape is not None:
            return "pixels"
        return "values" if self.curves is None and self._in_order is None else "curve"

    @property
    def note(self) -> str:
        """A note on samples without a picture or curve; empty if there are none."""
        what = "picture" if self.kind == "picture" else "curve"
        found = self.pictures if self.kind == "picture" else self.curves
        n_without = 0 if found is None else len(self.ids) - len(found)
        count = f"{n_without:,} of {many(len(self.ids), 'sample')}"
        return f"{count} {'has' if n_without == 1 else 'have'} no {what}." if n_without else ""

    def kind_of(self, row: int) -> Kind:
        """How a sample is displayed in a list; without a picture, its ID is displayed."""
        without = self.pictures is not None and row not in self.pictures
        return "values" if without else self.kind

    @cached_property
    def row_of(self) -> dict[Hashable, int]:
        """The row of each sample ID."""
        return {sample: row for row, sample in enumerate(self.ids)}

    def values(self, row: int) -> FloatArray:
        """Return the values of one sample."""
        return as_samples(self.X[[row]]).dense()[0].astype(float)

    @cached_property
    def _looked_at(self) -> Samples:
        step = -(-self.X.shape[0] // LOOKED_AT)
        return as_samples(self.X[::step])

    @property
    def n_looked_at(self) -> int:
        """Number of samples used to estimate standard deviations."""
        return self._looked_at.shape[0]

    @cached_property
    def _some(self) -> FloatArray:
        return np.asarray(self._looked_at.dense(), dtype=float)

    @cached_property
    def _in_order(self) -> IntArray | None:
        if isinstance(self.curve, bool):
            return np.arange(len(self.names)) if self.curve else None
        return self.curve

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """The range that contains nearly all values."""
        values = self._some if self._in_order is None else self._some[:, self._in_order]
        low, high = np.nanpercentile(values, [OUTSIDE, 100 - OUTSIDE])
        return float(low), float(high)

    def pixels(self, row: int | None = None) -> NDArray[np.uint8]:
        """Return a sample, or the mean of all samples, as a grey image."""
        assert self.image_shape is not None
        values = np.nanmean(self._some, axis=0) if row is None else self.values(row)
        return grey(values, *self.value_range).reshape(self.image_shape)

    def drawn(self, rows: Sequence[int], best: IntArray) -> Drawing:
        """Draw the curves of some rows on common axes, and mark the best features."""
        if self.curves is not None:
            return draw([self.curves.get(row) for row in rows])
        columns = self._in_order
        assert columns is not None
        read = [partial(as_curve, self.values(row)[columns], str(self.ids[row])) for row in rows]
        drawing = draw(read, self.value_range)
        marked = np.flatnonzero(np.isin(columns, best))
        marks = placed(marked, (0, max(len(columns) - 1, 1)), 0, CURVE_SIZE[0])
        ends = self.names[columns[0]], self.names[columns[-1]]
        return replace(drawing, x_texts=ends, marks=[f"{x:.4g}" for x in marks])

    def shown(self, row: int) -> dict[str, Any]:
        """Return the text content displayed for a sample."""
        return {
            "row": row,
            "id": str(self.ids[row]),
            "text": None if self.texts is None else self.texts[row],
            "has_picture": self.pictures is not None and row in self.pictures,
            "more": [(name, column[row]) for name, column in self.more.items()],
        }

    @cached_property
    def _spread(self) -> FloatArray:
        spread: FloatArray = self._looked_at.map_columns(_standard_deviations, dense=True)
        return spread

    def compared(self, a: int, b: int, start: int, n_rows: int) -> list[ComparedValue]:
        """Return some features of two samples, sorted by decreasing difference.

        Features that differ come first, then those with one missing value, those with equal
        values, those that are constant in all samples, and those with both values missing.
        """
        both = np.array([self.values(a), self.values(b)])
        # No two of n values differ by more standard deviations than this. The ratio is larger, even
        # infinite, if a feature varies mainly in samples that were not used for the deviation.
        most = math.sqrt(2 * self.n_looked_at)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.minimum(np.abs(both[0] - both[1]) / self._spread, most)
        apart[both[0] == both[1]] = 0.0
        n_missing = np.isnan(both).sum(axis=0)
        conditions = [n_missing == 2, n_missing == 1, apart > 0, self._spread > 0]
        group = np.select(conditions, [4, 1, 0, 2], 3)
        features = np.lexsort((-apart, group))[start : start + n_rows]
        places = self._places(features, both[:, features])
        return [
            ComparedValue(
                self.names[feature],
                self._texts(self.names[feature], *both[:, feature].tolist()),
                _apart_text(apart[feature]),
                (_place_text(at_a), _place_text(at_b)),
            )
            for feature, at_a, at_b in zip(features.tolist(), *places, strict=True)
        ]

    def _texts(self, name: str, a: float, b: float) -> tuple[str, str]:
        """Format two values, with extra digits if they would otherwise look equal."""
        if name in self.encoded:
            return _text(a), _text(b)
        for digits in (4, 6, 9, 15):
            texts = number_text(a, digits), number_text(b, digits)
            if a == b or texts[0] != texts[1]:
                break
        return texts

    def _places(self, features: IntArray, values: FloatArray) -> FloatArray:
        """Return positions on the percentile line (rail) of each feature; its ends are 0 and 1."""
        looked = np.sort(self._looked_at.cells(np.arange(self.n_looked_at), features), axis=0)
        last = np.maximum(np.isfinite(looked).sum(axis=0) - 1, 0)
        column = np.arange(len(features))
        low = looked[(BEYOND_RAIL * last).astype(int), column]
        high = looked[np.ceil((1 - BEYOND_RAIL) * last).astype(int), column]
        flat = low == high  # most values are equal: extend the rail to all of them
        low = np.where(flat, np.fmin(looked[0], np.fmin(*values)), low)
        high = np.where(flat, np.fmax(looked[last, column], np.fmax(*values)), high)
        with np.errstate(invalid="ignore"):
            shares = np.where(low < high, (values - low) / (high - low), 0.5 + 0 * values)
        return np.clip(shares, -MARGIN, 1 + MARGIN)


def _standard_deviations(block: FloatArray) -> FloatArray:
    known = np.isfinite(block)
    number = np.maximum(known.sum(axis=0), 1)
    # Subtract the first row, so that constant features become exactly 0.
    values = np.where(known, block - np.where(known[0], block[0], 0.0), 0.0)
    mean = values.sum(axis=0) / number
    spread: FloatArray = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / number)
    return spread


def _apart_text(apart: float) -> str:
    if math.isnan(apart):
        return "unknown"
    if apart == 0:
        return "same"
    return "<0.1 sd" if apart < 0.05 else f"{apart:.1f} sd"


def _place_text(share: float) -> str | None:
    """Return the x coordinate of a mark in a drawing of width 100."""
    start, end = RAIL
    return None if math.isnan(share) else f"{start + (end - start) * share:.1f}"


def _text(value: float) -> str:
    return score_text(value, 6, missing="missing").replace("-", "\N{MINUS SIGN}")


def png(pixels: NDArray[np.uint8]) -> bytes:
    r"""Encode an image as PNG; its shape is (height, width) for grey, (height, width, 3) for RGB.

    Examples
    --------
    >>> png(np.zeros((2, 2), dtype=np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width = pixels.shape[:2]
    kind = 0 if pixels.ndim == 2 else 2
    lines = pixels.reshape(height, -1)
    # Every line starts with its filter type; 0 means none.
    raw = np.concatenate([np.zeros((height, 1), dtype=np.uint8), lines], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 6)), (b"IEND", b""))
    written = b"\x89PNG\r\n\x1a\n"
    for name, content in parts:
        check = zlib.crc32(name + content)
        written += struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
    return written


def grey(values: Any, low: float, high: float) -> NDArray[np.uint8]:
    """Convert values to grey levels: `low` is black, `high` is white.

    Examples
    --------
    >>> grey([0.0, 1.0, 4.0], 0, 2)
    array([  0, 128, 255], dtype=uint8)
    """
    extent = high - low if high > low else 1.0
    shades = 255 * (np.asarray(values, dtype=float) - low) / extent
    return np.round(np.clip(np.nan_to_num(shades), 0, 255)).astype(np.uint8)


def mask_png(mean: NDArray[np.uint8], best: IntArray) -> bytes:
    """Return the mean image as PNG with the best pixels marked, the first one most strongly."""
    # Avoid black and white, so that marks are visible everywhere.
    colours = np.repeat(mean.reshape(-1, 1), 3, axis=1).astype(float) * 0.6 + 40
    strength = np.linspace(1.0, 0.55, len(best))[:, None]
    colours[best] = strength * np.array(MARK) + (1 - strength) * colours[best]
    return png(np.round(colours).astype(np.uint8).reshape(*mean.shape, 3))
