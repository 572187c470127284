"""Read the curve of a sample from its file when it is shown, and draw it as an SVG path."""

import io
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray, IntArray
from linkselect._display import number_text
from linkselect._messages import GuidedValueError, many
from linkselect._samples.sources.memory_maps import DAMAGED_NPY
from linkselect.labelling._sample_pictures import files_of_samples, is_inside

# The x and y coordinates of the points, in the order in which they are joined.
Curve = tuple[FloatArray, FloatArray]
# A function per row that reads its curve; rows without a curve are missing.
Curves = Mapping[int, Callable[[], Curve]]
Range = tuple[float, float]

# Maximum file size in bytes, so that a page loads without delay.
LARGEST = {".csv": 8 * 2**20, ".npy": 16 * 2**20}
EXPECTED = "A curve has one column of numbers, or two columns with x and y."
# Larger values are treated as missing, since their differences overflow.
TOO_LARGE = 1e300
# Missing values other than NaN, in lower case.
MISSING = ("", "na", "null", "none")

# Width and height of a drawing; more points than its width would be invisible.
CURVE_SIZE = (640, 240)
# Space above the highest and below the lowest value, so that the line is not clipped.
CURVE_MARGIN = 8
# Narrower gaps between values are not drawn.
GAP = 2.0


class NoCurveError(GuidedValueError):
    """Raised if a sample has no curve, or a curve that cannot be drawn."""


def curves_in_folder(folder: Path, ids: Sequence[Hashable]) -> Curves:
    """Find the CSV or NPY file named after each sample ID; files are read when needed."""
    found = files_of_samples(folder, ids, tuple(LARGEST), "curve")
    return {row: partial(read_curve, file, folder) for row, file in found.items()}


def given_curves(curves: Sequence[Any], n_samples: int) -> Curves:
    """Check curves that are passed as one array per sample, or None for no curve."""
    if len(curves) != n_samples:
        raise GuidedValueError(
            f"curves has length {len(curves):,}, but there are {many(n_samples, 'sample')}.",
            "Pass one array per sample, in the order of X.",
            "curves",
        )
    found = {}
    for row, curve in enumerate(curves):
        if curve is not None:
            found[row] = partial(as_curve, curve, f"curves[{row}]")
            found[row]()
    return found


def read_curve(file: Path, folder: Path) -> Curve:
    """Read a curve from a file, which must be inside the folder and not too large."""
    largest = LARGEST[file.suffix.lower()]
    if not is_inside(file, folder):  # it may have been replaced by a link or a pipe
        raise NoCurveError(f"{file.name} is no longer a file in {folder}.")
    try:
        with file.open("rb") as stream:
            content = stream.read(largest + 1)
    except OSError as error:
        raise NoCurveError(f"{file.name} cannot be read: {error.strerror}.") from error
    if len(content) > largest:
        raise NoCurveError(f"{file.name} is larger than {largest >> 20} MB. Use fewer points.")
    return as_curve(_PARSE[file.suffix.lower()](content, file.name), file.name)


def as_curve(values: Any, name: str) -> Curve:
    """Return the x and y coordinates of a curve.

    Examples
    --------
    >>> as_curve([3, 1], "a")
    (array([1., 2.]), array([3., 1.]))
    """
    try:
        found = np.asarray(values)
    except ValueError as error:  # rows of several lengths
        raise NoCurveError(f"{name}: {error} {EXPECTED}") from error
    if found.dtype.kind not in "biuf":
        raise NoCurveError(f"{name} contains values of type {found.dtype}. {EXPECTED}")
    columns = found[:, None] if found.ndim == 1 else found
    if columns.ndim != 2 or columns.shape[1] not in (1, 2):
        raise NoCurveError(f"{name} has shape {found.shape}. {EXPECTED}")
    y = columns[:, -1].astype(float)
    x = np.arange(1.0, len(y) + 1) if columns.shape[1] == 1 else columns[:, 0].astype(float)
    y[~(np.abs(y) < TOO_LARGE)] = np.nan
    known = np.abs(x) < TOO_LARGE
    if np.isnan(y[known]).all():
        raise NoCurveError(f"{name} contains no valid values. {EXPECTED}")
    return x[known], y[known]


def _from_npy(content: bytes, name: str) -> Any:
    try:
        found = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except (*DAMAGED_NPY, MemoryError) as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise NoCurveError(f"{name} is not a readable array: {why}. {EXPECTED}") from error
    if 8 * found.size > LARGEST[".npy"]:  # as float64
        raise NoCurveError(f"{name} contains {found.size:,} values. Use fewer points.")
    return found


def _from_csv(content: bytes, name: str) -> Any:
    text = content.decode("utf-8-sig", "replace").replace(";", ",").replace("\t", ",")
    lines = ((i, line) for i, line in enumerate(text.splitlines(), start=1) if line.strip(", "))
    values: list[float] = []
    width = 0
    for place, (number, line) in enumerate(lines):
        try:
            row = [_number(cell) for cell in line.split(",")]
        except ValueError as error:
            if place == 0:
                continue  # the header
            trouble = f"{line[:40]!r} is not numeric"
            raise NoCurveError(f"{name}, line {number}: {trouble}. {EXPECTED}") from error
        if len(row) != (width := width or len(row)):
            trouble = f"expected {many(width, 'value')}, found {len(row)}"
            raise NoCurveError(f"{name}, line {number}: {trouble}. {EXPECTED}")
        values += row
    return np.reshape(values, (-1, width or 1))


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        bare = cell.strip(' "')
        return math.nan if bare.casefold() in MISSING else float(bare)


_PARSE = {".csv": _from_csv, ".npy": _from_npy}


# -- drawing ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawing:
    """Curves on common axes.

    Attributes
    ----------
    paths : list of str
        The SVG path of each curve; empty if there is no curve.
    troubles : list of str
        The reason why each curve could not be read; empty if it was read or if there is no curve.
    x_texts, y_texts : (str, str)
        The labels at the ends of the axes.
    marks : list of str
        The x coordinates of vertical marks.
    size : (int, int)
        Width and height of the drawing.
    """

    paths: list[str]
    troubles: list[str]
    x_texts: tuple[str, str] = ("", "")
    y_texts: tuple[str, str] = ("", "")
    marks: list[str] = field(default_factory=list)
    size: tuple[int, int] = CURVE_SIZE


def draw(read: Sequence[Callable[[], Curve] | None], within: Range | None = None) -> Drawing:
    """Draw curves on common axes; the y axis covers at least the range `within`."""
    curves: list[Curve | None] = [None] * len(read)
    troubles = [""] * len(read)
    for i, one in enumerate(read):
        try:
            curves[i] = one and one()
        except NoCurveError as error:
            troubles[i] = str(error)
    there = [curve for curve in curves if curve is not None]
    if not there:
        return Drawing([""] * len(read), troubles)
    x_range = range_of([x for x, _ in there])
    y_range = range_of([y for _, y in there], within)
    paths = ["" if curve is None else curve_path(curve, x_range, y_range) for curve in curves]
    return Drawing(paths, troubles, range_texts(*x_range), range_texts(*y_range))


def range_of(values: Sequence[FloatArray], within: Range | None = None) -> Range:
    """Return a non-empty range that contains all values and `within`.

    Examples
    --------
    >>> range_of([np.array([2.0, 3.0]), np.array([np.nan, 5.0])], (0, 4))
    (0.0, 5.0)
    >>> range_of([np.array([2.0])])
    (1.0, 3.0)
    """
    every = np.concatenate([*values, within or ()])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    if low < high:
        return low, high
    around = abs(low) / 2 or 1.0
    return low - around, high + around


def range_texts(low: float, high: float) -> tuple[str, str]:
    """Format the ends of an axis, rounded to about a thousandth of its length.

    Examples
    --------
    >>> range_texts(0.123456, 9.87654), range_texts(1013.204, 1013.3)
    (('0.12', '9.88'), ('1,013.204', '1,013.3'))
    """
    digits = 2 - math.floor(math.log10(high - low))
    return number_text(round(low, digits), 15), number_text(round(high, digits), 15)


def curve_path(curve: Curve, x_range: Range, y_range: Range) -> str:
    """Return the line through the points as an SVG path within `CURVE_SIZE`.

    Long curves are thinned to the smallest and the largest value per pixel column, so that no peak
    is lost. Missing values break the line.

    Examples
    --------
    >>> curve_path((np.array([0.0, 1.0]), np.array([0.0, 1.0])), (0, 1), (0, 1))
    'M0 232L640 8'
    """
    known = ~np.isnan(curve[1])
    n_missing = np.cumsum(~known)[known]
    x, y = curve[0][known], curve[1][known]
    kept = _thinned(x, y, CURVE_SIZE[0])
    left = placed(x[kept], x_range, 0, CURVE_SIZE[0])
    down = placed(y[kept], y_range, CURVE_SIZE[1] - CURVE_MARGIN, CURVE_MARGIN)
    apart = (np.diff(n_missing[kept]) > 0) & (np.abs(np.diff(left)) > GAP)
    begins = np.concatenate([[True], apart, [True]])
    return "".join(
        # An isolated point becomes a dot.
        f"{'M' if first else 'L'}{a:.4g} {b:.4g}{'h0' if first and last else ''}"
        for a, b, first, last in zip(left, down, begins, begins[1:], strict=False)
    )


def placed(values: NDArray[Any], within: Range, start: float, end: float) -> FloatArray:
    """Map a range of values linearly to the coordinates from `start` to `end`."""
    low, high = within
    places: FloatArray = start + (end - start) * ((values - low) / (high - low))
    return places


def _thinned(x: FloatArray, y: FloatArray, most: int) -> IntArray:
    """Choose the points to draw: if there are many, the extremes in each of `most` parts."""
    if len(y) <= 2 * most:
        return np.arange(len(y))
    # Parts of equal width if x is increasing; otherwise parts with equal numbers of points.
    grows = (np.diff(x) >= 0).all() and x[0] < x[-1]
    edges = (
        np.searchsorted(x, np.linspace(x[0], x[-1], most + 1)[:-1])
        if grows
        else np.linspace(0, len(x), most + 1).astype(int)[:-1]
    )
    places = set[int]()
    for start, end in pairwise([*np.unique(edges).tolist(), len(x)]):
        part = y[start:end]
        places |= {start + int(part.argmin()), start + int(part.argmax())}
    return np.array(sorted(places))
