"""Prepare data for display: 2-D views of samples, row numbers of pairs, scores as text."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names_in

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import GuidedValueError
from linkselect._samples import as_samples
from linkselect._samples.checks import index_of
from linkselect.pairs import Pairs
from linkselect.pairs._ids import check_ids


def evenly(items: NDArray[Any], n_wanted: int) -> NDArray[Any]:
    """Return at most `n_wanted` evenly spaced items."""
    if n_wanted >= len(items):
        return items
    return items[np.linspace(0, len(items) - 1, max(n_wanted, 0)).astype(np.intp)]


def checked_names(selector: Any, names: Sequence[str] | None) -> NDArray[Any]:
    """Return the given feature names, the names seen in `fit`, or x0, x1, ..."""
    if names is None:
        return _check_feature_names_in(selector)
    if len(names) != selector.n_features_in_:
        raise GuidedValueError(
            f"names has {len(names)} entries, but the selector was fitted on "
            f"{selector.n_features_in_} features.",
            "Pass one name per feature, in the order of the columns.",
        )
    return np.asarray(names, dtype=object)


def two_dimensional_view(X: Any) -> tuple[FloatArray, tuple[str, str]]:
    """Return two coordinates per sample, and the labels of both axes.

    One or two features are returned unchanged. For more features, the first two principal
    components are returned.

    Examples
    --------
    >>> view, labels = two_dimensional_view([[1.0, 2.0], [3.0, 4.0]])
    >>> labels
    ('first feature', 'second feature')
    """
    samples = as_samples(X)
    n_columns = samples.shape[1]
    # ARPACK accepts sparse data, but finds fewer components than there are columns.
    is_sparse = samples.kind == "sparse" and min(samples.shape) > 3
    values: Any = samples.values if is_sparse else np.asarray(samples.dense(), dtype=float)
    if n_columns == 1:
        return np.column_stack([values, np.zeros(len(values))]), ("the only feature", "")
    if n_columns == 2:
        return values, ("first feature", "second feature")
    from sklearn.decomposition import PCA

    pca = PCA(2, svd_solver="arpack" if is_sparse else "auto", random_state=0)
    width = 1.0
    if not is_sparse:
        # PCA subtracts the mean after multiplying, which loses digits for large offsets, and
        # products of huge or tiny values leave the range of float64.
        values = values - values.mean(axis=0)
        width = float(np.abs(values).max(initial=0.0)) or 1.0
    view = pca.fit_transform(values / width)
    # Flip axes so that the largest coordinate is positive, independent of the solver.
    largest = np.take_along_axis(view, np.abs(view).argmax(axis=0)[None], axis=0)
    view = np.where(largest < 0, -view, view) * width
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    first, second = (f"{share:.0%} of variance" for share in shares)
    return view, (f"first principal component, {first}", f"second principal component, {second}")


def pair_rows(
    pairs: Pairs, X: Any, sample_ids: Iterable[Hashable] | None = None
) -> tuple[IntArray, IntArray]:
    """Return must-links and cannot-links as row numbers of X, omitting unknown samples.

    Examples
    --------
    >>> must, cannot = pair_rows(Pairs(must=[("b", "a")]), [[1.0], [2.0]], ["a", "b"])
    >>> must
    array([[1, 0]])
    """
    n_samples = as_samples(X).shape[0]
    ids = index_of(X) if sample_ids is None else sample_ids
    named = range(n_samples) if ids is None else check_ids(ids, n_samples)
    return pairs.rows({sample: row for row, sample in enumerate(named)})


def check_shape(shape: Sequence[int], n_features: int) -> tuple[int, int]:
    """Check that there is one feature per pixel, and return the height and width."""
    if len(shape) != 2 or shape[0] * shape[1] != n_features:
        raise GuidedValueError(
            f"shape={tuple(shape)}, but there are {n_features} features.",
            f"Pass a height and width whose product is {n_features}.",
        )
    return int(shape[0]), int(shape[1])


def score_text(
    score: float | str | None,
    digits: int,
    *,
    missing: str = "no score",
    infinity: str = "∞",
    padded: bool = False,
) -> str:
    """Format a score with a few significant digits.

    Parameters
    ----------
    score : float, str or None
        The score. A missing score is None or NaN; an infinite score may be text, as in JSON.
    digits : int
        The number of significant digits.
    missing, infinity : str
        The text for a missing score and for an infinite score.
    padded : bool, default=False
        Whether to keep trailing zeros, so that numbers in a column have equal lengths.

    Examples
    --------
    >>> score_text(0.25, 3), score_text(0.25, 3, padded=True), score_text(None, 3)
    ('0.25', '0.250', 'no score')
    >>> score_text("-inf", 3), score_text(123456.0, 3)
    ('-∞', '1.23e+05')
    """
    value = math.nan if score is None else float(score)
    if math.isnan(value):
        return missing
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity}"
    if not padded:
        return f"{value:.{digits}g}"
    if value and not 1e-4 <= abs(value) < 10**digits:
        return f"{value:.{digits - 1}e}"
    return f"{value:#.{digits}g}"


def number_text(value: float, digits: int = 4) -> str:
    """Format a number with at most `digits` significant digits and thousands separators.

    Examples
    --------
    >>> number_text(1234.0), number_text(0.1 + 0.2), number_text(2.56789e9)
    ('1,234', '0.3', '2.568e9')
    """
    rounded = float(f"{value:.{digits}g}") + 0.0  # avoids -0
    if not math.isfinite(rounded):
        text = score_text(rounded, digits, missing="missing")
    elif rounded == 0 or 1e-4 <= abs(rounded) < 1e7:
        text = f"{rounded:,}".removesuffix(".0")
    else:
        mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
        text = f"{float(mantissa)}".removesuffix(".0") + f"e{int(exponent)}"
    return text.replace("-", "\N{MINUS SIGN}")
