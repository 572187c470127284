"""What a person sees of a sample: a picture, its pixels, a curve, a text, or its values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._display import check_shape, score_text
from linkselect._samples import as_samples
from linkselect.labelling._drawing import curve_path, curve_places, grey, mask_png, png

Kind = Literal["picture", "pixels", "curve", "text", "values"]

# How many samples are looked at for the range of values: enough to draw all alike.
LOOKED_AT = 2000
# The darkest and lightest of a thousand values may lie outside the range that is drawn.
OUTSIDE = 0.1


@dataclass(frozen=True)
class Samples:
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
    """

    X: Any
    ids: Sequence[Hashable]
    names: Sequence[str]
    image_shape: tuple[int, int] | None = None
    curve: bool = False
    texts: Sequence[str] | None = None
    pictures: Mapping[int, Path] | None = None
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)

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

    @cached_property
    def _mean(self) -> NDArray[np.uint8]:
        assert self.image_shape is not None
        mean = np.nanmean(self._some, axis=0).reshape(self.image_shape)
        return grey(mean, *self.value_range)

    def pixels_png(self, row: int) -> bytes:
        """Draw the pixels of a sample."""
        assert self.image_shape is not None
        return png(grey(self.values(row), *self.value_range).reshape(self.image_shape))

    def mask_png(self, best: IntArray) -> bytes:
        """Draw where the best pixels are."""
        return mask_png(self._mean, best)

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
            (self.names[feature], _text(of_a[feature]), _text(of_b[feature]))
            for feature in features.tolist()
        ]


def _text(value: float) -> str:
    return score_text(value, 6, missing="missing").replace("-", "\N{MINUS SIGN}")
