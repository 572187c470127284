"""Compute features of a picture, such as brightness, colour and lines, in named regions."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError

# Pictures are resized to this height and width, which every grid divides.
SIDE = 144
ROWS, COLUMNS = ("upper", "middle", "lower"), ("left", "centre", "right")
LINES = ("vertical", "rising", "horizontal", "falling")
# In Lab, grey pictures have colours of up to 0.005 from rounding errors, which scaling would turn
# into features. Rounding to 0.1, an invisible difference, removes them.
COLOUR_DIGITS, DIGITS = 1, 4
# Brightness levels of the co-occurrence matrix; with more, 2,304 pixels would fill it too sparsely.
LEVELS = 16


class Region(NamedTuple):
    """A part of a picture, as fractions of its height and width from the top left."""

    top: float
    left: float
    height: float
    width: float


class NamedFeature(NamedTuple):
    """The name of a picture feature, and the region that it describes."""

    name: str
    region: Region


class Family(NamedTuple):
    """A family of picture features."""

    what: str
    """Description for help texts."""
    kinds: tuple[str, ...]
    """Names of the features in each cell of the grid."""
    grid: int
    """Number of grid cells in each direction."""
    measure: Callable[[FloatArray, FloatArray], FloatArray]
    """Function that computes values of shape (grid, grid, kinds) from Lab colours and edges."""


def _fields(values: NDArray[Any], grid: int) -> NDArray[Any]:
    """Split a picture into grid cells; the shape is (grid, grid, pixels per cell, ...)."""
    size = SIDE // grid
    cut = values.reshape(grid, size, grid, size, *values.shape[2:]).swapaxes(1, 2)
    return cut.reshape(grid, grid, size * size, *values.shape[2:])


def _colors(lab: FloatArray, _edges: FloatArray) -> FloatArray:
    """Return the means of the brightness, of both colour axes and of the colour strength."""
    strength = np.hypot(lab[..., 1], lab[..., 2])
    means = _fields(np.dstack([lab, strength]), FAMILIES["color"].grid).mean(axis=2)
    return np.round(means, COLOUR_DIGITS) + 0.0


def _texture(lab: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the spread of brightness, the strength of edges, and the smoothness."""
    from skimage.feature import graycomatrix, graycoprops

    grid = FAMILIES["texture"].grid
    brightness = lab[..., 0]
    levels = np.clip(brightness * LEVELS / 100, 0, LEVELS - 1).astype(np.uint8)
    size = SIDE // grid
    angles = (0, np.pi / 4, np.pi / 2, 3 * np.pi / 4)
    smoothness = [
        graycoprops(
            graycomatrix(field.reshape(size, size), [1], angles, LEVELS, symmetric=True),
            "homogeneity",
        ).mean()
        for field in _fields(levels, grid).reshape(grid * grid, -1)
    ]
    spread = _fields(brightness, grid).std(axis=2)
    strength = _fields(edges, grid).mean(axis=2)
    return np.round(np.dstack([spread, strength, np.reshape(smoothness, (grid, grid))]), DIGITS)


def _lines(lab: FloatArray, _edges: FloatArray) -> FloatArray:
    """Return how edges are distributed over four directions (histograms of oriented gradients)."""
    from skimage.feature import hog

    grid = FAMILIES["hog"].grid
    found = hog(
        lab[..., 0] / 100,
        orientations=2 * len(LINES),
        pixels_per_cell=(SIDE // grid, SIDE // grid),
        cells_per_block=(1, 1),
        block_norm="L2",
        feature_vector=False,
    ).reshape(grid, grid, 2 * len(LINES))
    # Bins of 22.5 degrees start at 0, and each direction combines the two bins around it. The
    # gradient is perpendicular to a line: a horizontal gradient means a vertical line.
    around = np.roll(found, 1, axis=2).reshape(grid, grid, len(LINES), 2)
    return np.round(around.sum(axis=3), DIGITS)


def _pixels(lab: FloatArray, _edges: FloatArray) -> FloatArray:
    """Return the mean brightness of each cell of a fine grid."""
    return np.round(_fields(lab[..., :1], FAMILIES["pixels"].grid).mean(axis=2), COLOUR_DIGITS)


FAMILIES = {
    "color": Family(
        "brightness and colours in nine parts of the picture",
        ("brightness", "redness", "yellowness", "colour strength"),
        3,
        _colors,
    ),
    "texture": Family(
        "contrast, edges and smoothness in nine parts of the picture",
        ("contrast", "edges", "smoothness"),
        3,
        _texture,
    ),
    "hog": Family(
        "lines in four directions, in nine parts (histograms of oriented gradients)",
        tuple(f"{line} lines" for line in LINES),
        3,
        _lines,
    ),
    "pixels": Family("brightness on a 16 x 16 grid", ("brightness",), 16, _pixels),
}
DEFAULT_FAMILIES = ("color", "texture", "hog")


@cache
def named_features(families: Sequence[str] = tuple(FAMILIES)) -> tuple[NamedFeature, ...]:
    """Return the features of some families, in the order in which they are computed.

    Examples
    --------
    >>> [one.name for one in named_features(("color",))[:5]]
    ['brightness, upper left', 'redness, upper left', 'yellowness, upper left', \
'colour strength, upper left', 'brightness, upper centre']
    >>> named_features(("pixels",))[17].name
    'brightness, row 2, column 2'
    """
    return tuple(
        NamedFeature(
            f"{kind}, {_place(grid, row, column)}",
            Region(row / grid, column / grid, 1 / grid, 1 / grid),
        )
        for _, kinds, grid, _ in map(FAMILIES.__getitem__, families)
        for row in range(grid)
        for column in range(grid)
        for kind in kinds
    )


def _place(grid: int, row: int, column: int) -> str:
    if grid != len(ROWS):
        return f"row {row + 1}, column {column + 1}"
    name = f"{ROWS[row]} {COLUMNS[column]}"
    return "centre" if name == "middle centre" else name


def check_families(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of families, and return each name once, in the order of computation."""
    unknown = [name for name in names if name not in FAMILIES]
    if unknown or not names:
        raise GuidedValueError(
            f"features={unknown[0] if unknown else ''!r} is not a family of picture features.",
            f"Choose one or more of {', '.join(FAMILIES)}, separated by commas.",
            "features",
        )
    return tuple(name for name in FAMILIES if name in names)


def measure(pixels: NDArray[Any]) -> NDArray[np.float32]:
    """Compute all features of an RGB picture of SIDE x SIDE pixels with values from 0 to 1."""
    from skimage.color import rgb2lab
    from skimage.filters import sobel

    lab = rgb2lab(pixels)
    edges = sobel(lab[..., 0])
    parts = [family.measure(lab, edges).ravel() for family in FAMILIES.values()]
    return np.concatenate(parts).astype(np.float32)
