"""Validation of user input: samples, labels, pairs and sample IDs."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils._array_api import _max_precision_float_dtype
from sklearn.utils.validation import validate_data

from linkselect._messages import (
    GuidedTypeError,
    GuidedValueError,
    RoundedFeaturesWarning,
    many,
    warn_user,
)
from linkselect._samples.devices import device_of
from linkselect._samples.door import as_parts, as_samples, matrix_and_names
from linkselect._samples.parts import TAKE_ROWS, Parts
from linkselect._samples.samples import FAINT, Kind, Samples, is_rounded
from linkselect._supervision import (
    OnConflict,
    Supervision,
    check_labels,
    from_labels,
    from_pairs,
    nothing,
)
from linkselect.pairs import Pairs
from linkselect.pairs._labels import is_missing

# The largest number of columns that an error message names.
NAMES_SHOWN = 5
# Prefixes of the names of date and duration dtypes in pandas and polars.
TIMES = ("date", "time", "duration")
TO_THE_CPU = "Convert it: use X.cpu().numpy() for torch and cupy.asnumpy(X) for cupy."


def check_samples(estimator: BaseEstimator, X: Any) -> Samples:
    """Validate X as in scikit-learn: it must be dense, CSR or CSC, and contain only finite numbers.

    At least two samples are required. If scikit-learn's `array_api_dispatch` is enabled, arrays of
    other libraries are not converted.
    """
    if (parts := as_parts(X)) is not None:
        return check_parts(estimator, parts)
    if get_config()["array_api_dispatch"]:
        check_library(estimator, X)
    X, names = matrix_and_names(X)
    _check_names(X)
    given = X = without_mask(X)
    try:
        if _holds_times(given):
            raise TypeError("X contains dates or durations, which are not numbers.")
        X = validate_data(
            estimator,
            X,
            accept_sparse=("csr", "csc"),
            # Integers are kept: blocks of columns are converted to float64 one at a time.
            dtype="numeric",
            ensure_min_samples=2,
        )
        # A polars frame with both numbers and text passes this check as an object array.
        if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
            X = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        _name_columns_without_numbers(given, error)
        _name_columns_with_gaps(given, error)
        raise
    # Categories are compared without conversion, and a wrapped selector warns itself.
    is_exact = getattr(estimator, "wraps", False) or getattr(estimator, "_takes_categories", False)
    if names is not None:
        found: Any = estimator
        found.feature_names_in_ = names
    samples = as_samples(X)
    if not (is_exact and X.dtype.kind in "iu"):
        warn_of_rounding(_rounded(given, samples))
    return samples


def _rounded(given: Any, X: Samples) -> list[Hashable]:
    """List the columns in which the conversion to float64 rounds integers."""
    if not _is_frame(given):
        return X.rounded_columns().tolist()
    if X.dtype.kind in "iu":
        return [given.columns[place] for place in X.rounded_columns()]
    # One column of floats has turned all columns into floats.
    kinds = [str(kind).lower().partition("64")[0] for kind in given.dtypes]
    return [
        name
        for name, kind in zip(given.columns, kinds, strict=True)
        if kind in ("int", "uint") and is_rounded(np.asarray(given[name], f"{kind}64")).any()
    ]


def warn_of_rounding(names: Sequence[Hashable]) -> None:
    """Warn about features with integers that float64 cannot represent exactly."""
    if names:
        shown = _listed([repr(name) for name in names])
        warn_user(
            f"{many(len(names), 'feature')} of X {'has' if len(names) == 1 else 'have'} integers "
            f"above 2^53, which float64 rounds, so that small differences are lost: {shown}.",
            RoundedFeaturesWarning,
            hint="Subtract the minimum of each of these columns first, or leave out ID columns.",
        )


def without_mask(X: Any) -> Any:
    """Return a plain array with NaN for masked values, because NumPy functions ignore the mask."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return np.where(X.mask, np.nan, X.data) if X.mask.any() else X.data


def works_on(estimator: BaseEstimator, kind: Kind) -> bool:
    """Return whether an estimator supports samples of this kind."""
    return kind in getattr(estimator, "works_on", ("memory", "sparse"))


def check_parts(estimator: BaseEstimator, X: Parts) -> Parts:
    """Check that the estimator supports samples outside memory, without reading any values."""
    name = type(estimator).__name__
    if not works_on(estimator, "parts"):
        raise X.refusal(name, getattr(estimator, "_instead_of_parts", TAKE_ROWS))
    if X.shape[0] < 2:
        raise GuidedValueError(
            f"Found array with {many(X.shape[0], 'sample')} (shape={X.shape}) while a minimum of 2 "
            f"is required by {name}."
        )
    found: Any = estimator
    found.n_features_in_ = X.shape[1]
    if X.stored.names is not None:
        found.feature_names_in_ = np.asarray(X.stored.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del found.feature_names_in_
    return X


def refuse_stored(who: str, X: Any, hint: str = TAKE_ROWS) -> None:
    """Raise an error if X is stored outside memory, since a conversion would read all of it."""
    if (parts := as_parts(X)) is not None:
        raise parts.refusal(who, hint)


def check_library(estimator: BaseEstimator, X: Any) -> None:
    """Raise an error for an array on a device if the estimator does not support devices."""
    here = device_of(X)
    if here is None:
        return
    if not works_on(estimator, "device"):
        raise GuidedTypeError(
            f"{type(estimator).__name__} works on the CPU only, but X is a "
            f"{type(X).__module__.split('.')[0]} array and array_api_dispatch is enabled.",
            TO_THE_CPU,
            "X",
        )
    if _max_precision_float_dtype(here.xp, here.device) != here.xp.float64:
        raise GuidedTypeError(
            f"Scores require float64, which the device of X ({here.device}) does not support.",
            TO_THE_CPU,
            "X",
        )


def _is_frame(X: Any) -> bool:
    """Return whether X is a data frame from pandas, polars or another library."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _holds_times(X: Any) -> bool:
    """Return whether X contains dates or durations, which NumPy would convert without a warning."""
    if _is_frame(X):
        return any(str(dtype).lower().startswith(TIMES) for dtype in X.dtypes)
    return getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M")


def _check_names(X: Any) -> None:
    """Raise an error for a data frame without columns or with duplicate column names."""
    if not _is_frame(X):
        return
    names = list(X.columns)
    if not names:
        raise GuidedValueError("X has no columns, so there are no features to rank.", parameter="X")
    if len(set(names)) == len(names):
        return
    twice = [name for name, n in Counter(names).items() if n > 1]
    raise GuidedValueError(
        f"X has {many(len(twice), 'duplicate column name')}: "
        f"{_listed([repr(name) for name in twice])}.",
        "Rename the columns, or keep the first of each name: X.loc[:, ~X.columns.duplicated()].",
        "X",
    )


def _name_columns_without_numbers(X: Any, error: Exception) -> None:
    """Raise an error that lists the non-numeric columns of a data frame, if there are any."""
    if not _is_frame(X):
        return
    odd = [(name, value) for name in X.columns if (value := _no_number(X[name])) is not None]
    if not odd:
        return
    shown = _listed([f"{name!r} (such as {str(value)!r})" for name, value in odd])
    raise GuidedValueError(
        f"X has {many(len(odd), 'non-numeric column')}: {shown}.",
        "Drop these columns or convert them to numbers: sklearn.preprocessing.OneHotEncoder() "
        "creates one column per category, and (date - date.min()).dt.days converts dates to a "
        "number of days.",
        "X",
    ) from error


def _name_columns_with_gaps(X: Any, error: Exception) -> None:
    """Raise an error that lists the columns with missing values and suggests imputation."""
    if "contains NaN" not in str(error):
        return
    lacking = _gaps(X)
    if lacking:
        # The rest of scikit-learn's message is about classifiers that accept missing values.
        shown = _listed([f"{name!r} ({many(n, 'value')})" for name, n in lacking])
        raise GuidedValueError(
            f"Input X contains NaN. {many(len(lacking), 'column')} "
            f"{'has' if len(lacking) == 1 else 'have'} missing values: {shown}.",
            "Impute them, for example with sklearn.impute.SimpleImputer().",
            "X",
        ) from error


def _gaps(X: Any) -> list[tuple[Hashable, int]]:
    """Return the columns with missing values, and the number of missing values in each."""
    if _is_frame(X):
        counts = [
            (name, sum(is_missing(value, minus_one=False) for value in X[name]))
            for name in X.columns
        ]
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        counts = list(enumerate(np.isnan(X).sum(axis=0).tolist()))
    else:
        return []
    return [(name, n) for name, n in counts if n]


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def _no_number(column: Any) -> Any:
    """Return the first value in a column that is neither a number nor missing, if there is one."""
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        # NumPy would convert dates to counts of nanoseconds, which are not meaningful features.
        return next((value for value in column if not is_missing(value)), values.dtype)
    try:
        values.astype(float)
    except (TypeError, ValueError):
        for value in column:
            try:
                float(np.nan if is_missing(value) else value)
            except (TypeError, ValueError):
                return value
    return None


def check_spread(X: Any, names: NDArray[Any] | None = None) -> None:
    """Raise an error if squares of values overflow or squares of differences underflow."""
    samples = as_samples(X)
    if samples.overflows():
        raise too_large(FloatingPointError("overflow encountered in square"))
    faint = samples.faint_columns()
    if len(faint):
        name = f"feature {faint[0]}" if names is None else f"feature {names[faint[0]]!r}"
        raise GuidedValueError(
            f"{many(len(faint), 'feature')} of X {'varies' if len(faint) == 1 else 'vary'} by less "
            f"than {FAINT:g}{', the first being ' if len(faint) > 1 else ': '}{name}. Squares of "
            "such small differences underflow to 0.",
            # scikit-learn's scalers would treat such a small range as constant.
            "Rescale the features: divide each of them by its range.",
            "X",
        )


def too_large(error: FloatingPointError) -> GuidedValueError:
    """Return the error for values whose squares overflow."""
    return GuidedValueError(
        f"Some values of X are so large that their squares overflow ({error}).",
        "Scale the features, for example with sklearn.preprocessing.StandardScaler().",
        "X",
    )


@contextmanager
def explained_overflow() -> Iterator[None]:
    """Convert an overflow in the enclosed code to an error that explains how to rescale X."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError as error:
        raise too_large(error) from error


def index_of(X: Any) -> Iterable[Hashable] | None:
    """Return the index of a pandas data frame or the sample names of AnnData; otherwise None.

    In cross-validation, these IDs are selected together with their rows.
    """
    if hasattr(X, "obs_names"):
        return X.obs_names
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None


@dataclass(frozen=True)
class Given:
    """The labels, pairs, IDs and groups passed to `fit`, before validation.

    Inputs that a method ignores are not validated.

    Attributes
    ----------
    y : array-like or None
        Labels.
    pairs : Pairs or None
        Must-links and cannot-links.
    sample_ids : iterable of hashable or None
        The IDs by which pairs refer to rows; None if pairs refer to rows by number. An iterator can
        be read only once.
    ids_are_index : bool
        Whether the IDs were taken from the index of X rather than from an argument.
    groups : ndarray of int or None
        The group of each row. Resampling methods do not split groups.

    Examples
    --------
    >>> from linkselect import Pairs
    >>> given = Given(y=[0, 0, 1, -1], pairs=Pairs(must=[(0, 3)]))
    >>> given.supervision(4).classes.tolist()
    [0, -1, -1, 0]
    >>> Given(y=[0, 0, 1, -1]).supervision(4).classes.tolist()
    [0, 0, 1, -1]
    """

    y: Any = None
    pairs: Pairs | None = None
    sample_ids: Iterable[Hashable] | None = None
    ids_are_index: bool = False
    groups: Any = None

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any = None,
        pairs: Pairs | None = None,
        sample_ids: Iterable[Hashable] | None = None,
    ) -> Self:
        """Collect the arguments of `fit`.

        The IDs default to the index of a data frame or stored table.
        """
        if isinstance(y, Pairs):
            raise GuidedTypeError(
                "The second argument, y, must have one label per sample, but it is a Pairs object.",
                "Pass pairs by keyword: .fit(X, pairs=pairs), or .fit(X, y, pairs=pairs).",
                "y",
            )
        listed = isinstance(y, list | tuple) and len(y) > 0
        if listed and all(isinstance(one, tuple) and len(one) == 2 for one in y):
            raise GuidedTypeError(
                f"The second argument, y, must have one label per sample, but y[0] is {y[0]!r}.",
                f"Pass pairs by keyword: .fit(X, pairs=Pairs(must=[{y[0]!r}, ...], cannot=[...])).",
                "y",
            )
        index: Any = index_of(X)
        _warn_of_order(index, index_of(y))
        if sample_ids is not None:
            return cls(y, pairs, sample_ids)
        if pairs is not None and (parts := as_parts(X)) is not None:
            index = parts.stored.index()
        return cls(y, pairs, index, ids_are_index=index is not None)

    @property
    def is_empty(self) -> bool:
        """Whether neither pairs nor labels were passed."""
        return self.pairs is None and self.y is None

    def labels(self) -> Any:
        """Return the validated labels; None if no labels were passed or if pairs were passed.

        Pairs take precedence because a Pipeline passes y to every step. Otherwise, the labels would
        silently replace the pairs. To use both pairs and labels, pass
        `pairs | Pairs.from_labels(y)`.
        """
        return check_labels(self.y) if self.pairs is None and self.y is not None else None

    def supervision(self, n_samples: int, on_conflict: OnConflict = "raise") -> Supervision:
        """Return the supervision from pairs or, if no pairs were passed, from labels.

        Parameters
        ----------
        n_samples : int
            The number of rows.
        on_conflict : {"raise", "warn", "drop"}, default="raise"
            Action if must-links connect the two samples of a cannot-link: "raise" raises an error,
            "warn" drops the cannot-link with a warning, and "drop" drops it without a warning.
        """
        if self.pairs is not None:
            return from_pairs(
                self.pairs,
                n_samples,
                self.sample_ids,
                on_conflict,
                ids_are_index=self.ids_are_index,
            )
        labels = self.labels()
        return nothing(n_samples) if labels is None else from_labels(labels, n_samples)


def _warn_of_order(of_samples: Any, of_labels: Any) -> None:
    """Warn if the indexes of X and y differ in order.

    Labels are matched by position, not by index.
    """
    if of_samples is None or of_labels is None or of_samples.equals(of_labels):
        return
    if len(of_samples) == len(of_labels) and set(of_samples) == set(of_labels):
        warn_user(
            "The indexes of X and y differ in order, but labels are matched by position.",
            hint="Pass y.loc[X.index] to match labels by index.",
        )
