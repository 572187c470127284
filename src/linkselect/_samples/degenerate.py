"""What single features are like: constant, too faint to be squared, copies of each other."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from linkselect._arrays import BoolArray, FloatArray, IntArray, Matrix
from linkselect._blocks import BLOCK_SIZE, block_width, slices
from linkselect._samples import devices
from linkselect._samples.devices import Device, device_of, namespace_of, to_numpy
from linkselect._samples.one_pass import Surveyed
from linkselect._samples.sources import Part
from linkselect._samples.sources.running import map_parts

# Squares of smaller differences, and their products with small weights, come near the smallest
# numbers there are and lose their digits.
FAINT = 1e-90
# Of larger whole numbers float64 holds only every second, fourth, and so on.
LARGEST_EXACT = 2**53
# Scores of equal features differ by less than this, relative to their size.
TWIN_ROUNDING = 1e-9
# What the order of adding up changes in sums over up to a thousand million samples.
SUM_ROUNDING = 1e-12
# So many samples tell of nearly every feature that it varies, or that two are different.
FIRST_ROWS = 8


def constant_columns(X: Matrix) -> BoolArray:
    """Tell which features have one value only, by comparing the values themselves."""
    if isinstance(X, Surveyed):
        return X.low == X.high
    if (here := device_of(X)) is not None:
        parts = [
            here.xp.all(X[:, columns] == X[:1, columns], axis=0) for columns in _wide_slices(X)
        ]
        return here.xp.concat(parts)
    if issparse(X):
        X = X.tocsc()
        low = X.min(axis=0).toarray().ravel()
        return low == X.max(axis=0).toarray().ravel()
    # Most features that vary show it in a few rows, so only the others are read to the end.
    constant = (X[:FIRST_ROWS] == X[0]).all(axis=0)
    left = np.flatnonzero(constant)
    for part in slices(len(left), block_width(BLOCK_SIZE, X.shape[0])):
        constant[left[part]] = (X[:, left[part]] == X[0, left[part]]).all(axis=0)
    return constant


def with_equal_ties(scores: FloatArray, order: IntArray | None = None) -> FloatArray:
    """Give scores that differ by rounding only the same value, that of the first feature of them.

    If the features are ordered already, from the least score on, `order` spares another sort.

    Features of zeros and ones have the same variance if they have as many ones. Where these are
    decides the last digit of a sum, and so does where the samples are cut into parts.
    """
    xp = namespace_of(scores)
    ordered = xp.sort(scores) if order is None else scores[order]
    with np.errstate(invalid="ignore"):
        near = ordered[1:] - ordered[:-1] <= SUM_ROUNDING * xp.abs(ordered[1:])
    near = near & xp.isfinite(ordered[1:])
    if not bool(xp.any(near)):
        return scores
    # Runs of near scores are few, so they are looked up instead of sorting features.
    no = xp.zeros_like(near[:1])
    after, before = xp.concat([no, near]), xp.concat([near, no])
    least, most = ordered[before & ~after], ordered[after & ~before]
    run = xp.clip(xp.searchsorted(most, scores), 0, most.shape[0] - 1)
    is_near = (xp.take(least, run) <= scores) & (scores <= xp.take(most, run))
    features = np.flatnonzero(to_numpy(is_near))
    _, first = np.unique(to_numpy(run)[features], return_index=True)
    here = device_of(scores)
    leaders = features[first] if here is None else here.put(features[first])
    return xp.where(is_near, xp.take(xp.take(scores, leaders), run), scores)


def with_equal_twins(X: Matrix, scores: FloatArray, order: IntArray | None = None) -> FloatArray:
    """Give features with the very same values the same score, that of the first of them.

    If the features are ordered already, from the least score on, `order` spares another sort. If no
    score changes, they are returned themselves.

    The last digit of a matrix product may depend on a column's place. Without this, rounding would
    order the copies of a feature, and not their index.
    """
    if (here := device_of(X)) is not None:
        return _with_equal_twins_on_device(here, X, scores)
    by_score = np.argsort(scores) if order is None else order
    if isinstance(X, Surveyed):
        return _with_equal_stored_twins(X, scores, by_score)
    ordered = scores[by_score]
    with np.errstate(invalid="ignore"):
        near = np.diff(ordered) <= TWIN_ROUNDING * np.abs(ordered[1:])
    if not near.any():
        return scores
    content = _column_contents(X)
    settled = scores
    # Runs of near scores, from the first of them to one behind the last.
    edges = np.diff(np.concatenate([[False], near, [False]]).astype(np.int8))
    for start, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        first: dict[bytes, int] = {}
        features = np.sort(by_score[start : stop + 1])
        leaders = [first.setdefault(content(feature), feature) for feature in features]
        if len(first) < len(features):
            settled = scores.copy() if settled is scores else settled
            settled[features] = scores[leaders]
    return settled


def _with_equal_twins_on_device(here: Device, X: Any, scores: Any) -> Any:
    """Let the CPU compare the features of which two may be twins; most often these are few."""
    xp = here.xp
    by_score = xp.argsort(scores, stable=True)
    ordered = xp.take(scores, by_score)
    near = ordered[1:] - ordered[:-1] <= TWIN_ROUNDING * xp.abs(ordered[1:])
    if not bool(xp.any(near)):
        return scores
    no = xp.zeros((1,), dtype=near.dtype, device=here.device)
    in_run = xp.concat([near, no]) | xp.concat([no, near])
    near = to_numpy(xp.concat([no, near])[in_run])
    features = by_score[in_run]
    # Of features with near scores only those can be twins that agree in the first samples.
    heads = to_numpy(xp.take(X[: min(FIRST_ROWS, X.shape[0]), :], features, axis=1))
    keys = np.concatenate([np.cumsum(~near)[None], heads]).T
    _, place, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    some = np.sort(to_numpy(features)[count[place.ravel()] > 1])
    if not len(some):
        return scores
    settled = np.array(to_numpy(scores))
    columns = to_numpy(xp.take(X, here.put(some), axis=1))
    settled[some] = with_equal_twins(columns, settled[some])
    return here.put(settled)


def _with_equal_stored_twins(X: Surveyed, scores: FloatArray, by_score: IntArray) -> FloatArray:
    """Compare features with near scores and the same extremes, by what their parts boil down to."""
    ordered = scores[by_score]
    with np.errstate(invalid="ignore"):
        apart = ~(np.diff(ordered) <= TWIN_ROUNDING * np.abs(ordered[1:]))
    # Only features of which another has nearly the same score are looked at.
    alone = np.concatenate([[True], apart]) & np.concatenate([apart, [True]])
    close = by_score[~alone]
    if not len(close):
        return scores
    run = np.cumsum(np.concatenate([[False], apart]))[~alone]
    alike = np.column_stack([run, X.low[close], X.high[close]])
    _, place, count = np.unique(alike, axis=0, return_inverse=True, return_counts=True)
    shared = count[place.ravel()] > 1
    some, run = close[shared], run[shared]
    if not len(some):
        return scores
    by_place = np.argsort(some)
    some, run = some[by_place], run[by_place]
    rivals = X.data.choose(some)
    found = map_parts(rivals, _digests, what="compare features")
    columns = (
        chain(*found) if rivals.by_columns else map(chain.from_iterable, zip(*found, strict=True))
    )
    settled, first = scores.copy(), dict[tuple[int, bytes], int]()
    for feature, near, digests in zip(some, run.tolist(), columns, strict=True):
        twin = first.setdefault((near, b"".join(digests)), int(feature))
        settled[feature] = scores[twin]
    return settled


def _digests(part: Part) -> list[list[bytes]]:
    """Boil every column of a part down to a few bytes, which are equal for equal columns."""
    found: list[list[bytes]] = [[] for _ in range(part.columns.start, part.columns.stop)]
    for _, slab in part.slabs():
        # Adding 0 turns -0.0 into 0.0, which it equals.
        columns = np.ascontiguousarray(slab.T) + 0
        for place, column in enumerate(columns):
            found[place].append(blake2b(column.data, digest_size=16).digest())
    return found


def _wide_slices(X: Any) -> list[slice]:
    return slices(X.shape[1], block_width(devices.BLOCK_SIZE, X.shape[0]))


def _column_contents(X: Matrix) -> Callable[[int], bytes]:
    """Return a function that gives equal bytes for equal features."""
    if not issparse(X):
        # Adding 0 turns -0.0 into 0.0, which it equals.
        return lambda feature: (X[:, feature] + 0).tobytes()
    columns = X.tocsc()
    columns.sort_indices()

    def content(feature: int) -> bytes:
        stored = slice(columns.indptr[feature], columns.indptr[feature + 1])
        return columns.indices[stored].tobytes() + columns.data[stored].tobytes()

    return content


def faint_columns(X: Matrix) -> IntArray:
    """List the features that vary, but by so little that squared differences underflow."""
    if (here := device_of(X)) is not None:
        if here.xp.float64 != X.dtype:
            return np.empty(0, dtype=np.intp)
        extents = [_extent_on_device(here, X[:, columns]) for columns in _wide_slices(X)]
        extent = here.xp.concat(extents)
        return np.flatnonzero(to_numpy((extent > 0) & (extent < FAINT)))
    if X.dtype.kind != "f" or X.dtype.itemsize < 8:
        return np.empty(0, dtype=np.intp)  # narrow types hold no such numbers
    if isinstance(X, Surveyed):
        with np.errstate(over="ignore"):
            extent = X.high - X.low
        return np.flatnonzero((extent > 0) & (extent < FAINT))
    if issparse(X):
        stored = np.abs(X.data)
        if not ((stored > 0) & (stored < 1.0)).any():
            return np.empty(0, dtype=np.intp)
        X = X.tocsc()
        extent = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
        return np.flatnonzero((extent > 0) & (extent < FAINT))
    left = np.flatnonzero(_extent(X[:FIRST_ROWS]) < FAINT)
    found = [np.empty(0, dtype=np.intp)]
    for part in slices(len(left), block_width(BLOCK_SIZE, X.shape[0])):
        extent = _extent(X[:, left[part]])
        found.append(left[part][(extent > 0) & (extent < FAINT)])
    return np.concatenate(found)


def rounded_columns(X: Matrix) -> IntArray:
    """List the features of whole numbers so large that float64 rounds them.

    Of stored samples, those with a value that large.
    """
    if isinstance(X, Surveyed):
        return np.flatnonzero(X.whole & (np.maximum(-X.low, X.high) > LARGEST_EXACT))
    if device_of(X) is not None or X.dtype.kind not in "iu" or X.dtype.itemsize < 8:
        return np.empty(0, dtype=np.intp)
    values = X.data if issparse(X) else X
    if not values.size or max(int(values.max()), -int(values.min())) <= LARGEST_EXACT:
        return np.empty(0, dtype=np.intp)
    if issparse(X):
        return np.unique(X.tocoo().col[is_rounded(values)])
    width = block_width(BLOCK_SIZE, X.shape[0])
    parts = [is_rounded(X[:, part]).any(axis=0) for part in slices(X.shape[1], width)]
    return np.flatnonzero(np.concatenate(parts))


def is_rounded(values: NDArray[Any]) -> BoolArray:
    """Tell which whole numbers float64 does not hold: those between its steps."""
    steps = np.spacing(np.abs(values.astype(np.float64)))
    return values % np.maximum(steps, 1.0).astype(values.dtype) != 0


def _extent_on_device(here: Device, block: Any) -> Any:
    return here.xp.max(block, axis=0) - here.xp.min(block, axis=0)


def _extent(block: FloatArray) -> FloatArray:
    # The range of huge values may overflow, and is anything but faint.
    with np.errstate(over="ignore"):
        return block.max(axis=0) - block.min(axis=0)
