"""Validation of user input: samples, labels, pairs and sample ids."""

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
TO_THE_CPU = "Convert it: X.cpu().numpy() for torch, cupy.asnumpy(X) for cupy."


def check_samples(estimator: BaseEstimator, X: Any) -> Samples:
    """Validate X as scikit-learn does: finite numbers, at least two samples; dense, CSR or CSC.

    If scikit-learn's `array_api_dispatch` is enabled, arrays of other libraries are not converted.
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
    """List the columns with integers that are rounded by the conversion to float64."""
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
            hint="Subtract the minimum of the column first, or leave out columns of ids.",
        )


def without_mask(X: Any) -> Any:
    """Replace masked values with NaN in a plain array; NumPy functions would ignore the mask."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return np.where(X.mask, np.nan, X.data) if X.mask.any() else X.data


def works_on(estimator: BaseEstimator, kind: Kind) -> bool:
    """Return whether an estimator supports samples of this kind."""
    return kind in getattr(estimator, "works_on", ("memory", "sparse"))


def check_parts(estimator: BaseEstimator, X: Parts) -> Parts:
    """Check that the estimator supports samples outside memory; nothing is read yet."""
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
            f"X is on the device {here.device}, which has no float64, and scores are computed in "
            "float64.",
            TO_THE_CPU,
            "X",
        )


def _is_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas, polars or another library."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _holds_times(X: Any) -> bool:
    """Return whether X has dates or durations, which NumPy would convert without a warning."""
    if _is_frame(X):
        return any(str(dtype).lower().startswith(TIMES) for dtype in X.dtypes)
    return getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M")


def _check_names(X: Any) -> None:
    """Raise an error for a frame without columns or with duplicate column names."""
    if not _is_frame(X):
        return
    names = list(X.columns)
    if not names:
        raise GuidedValueError("X has no columns, so there is nothing to rank.", parameter="X")
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
    """Raise an error that names the non-numeric columns of a frame, if there are any."""
    if not _is_frame(X):
        return
    odd = [(name, value) for name in X.columns if (value := _no_number(X[name])) is not None]
    if not odd:
        return
    shown = _listed([f"{name!r} (such as {str(value)!r})" for name, value in odd])
    raise GuidedValueError(
        f"X has {many(len(odd), 'non-numeric column')}: {shown}.",
        "Drop these columns or convert them to numbers: "
        "sklearn.preprocessing.OneHotEncoder() makes one column per category, and "
        "(date - date.min()).dt.days counts days.",
        "X",
    ) from error


def _name_columns_with_gaps(X: Any, error: Exception) -> None:
    """Raise an error that names the columns with missing values and suggests imputation."""
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
    """Return the columns with missing values in a frame or array, and the number in each."""
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
    """Return the first value of a column that is neither a number nor missing, or None."""
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
    """Raise an error if squares of values overflow, or squares of differences underflow."""
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
        f"X has values so large that their squares overflow ({error}).",
        "Scale the features, for example with sklearn.preprocessing.StandardScaler().",
        "X",
    )


@contextmanager
def explained_overflow() -> Iterator[None]:
    """Convert an overflow in the enclosed code to the error that selectors raise."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError as error:
        raise too_large(error) from error


def index_of(X: Any) -> Iterable[Hashable] | None:
    """Return the index of a pandas frame or the sample names of AnnData; otherwise None.

    These ids stay with their rows when cross-validation selects rows.
    """
    if hasattr(X, "obs_names"):
        return X.obs_names
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None


@dataclass(frozen=True)
class Given:
    """The supervision passed to `fit`, before validation.

    A method that ignores one of these inputs does not validate it.

    Attributes
    ----------
    y : array-like or None
        Labels.
    pairs : Pairs or None
        Must-links and cannot-links.
    sample_ids : iterable of hashable or None
        The id of each row, by which pairs refer to samples; None if pairs use row numbers. It may
        be an iterator, which can be read only once.
    ids_are_index : bool
        Whether the ids come from the index of X and not from an argument.
    groups : ndarray of int or None
        The group of each row; resampling keeps the rows of a group together.

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
        """Collect the arguments of `fit`; ids default to the index of a frame or a stored table."""
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
        """Whether there are neither pairs nor labels."""
        return self.pairs is None and self.y is None

    def labels(self) -> Any:
        """Return the validated labels; None if there are no labels or if there are pairs.

        Pairs take precedence because a Pipeline passes y to every step, which would silently turn
        pairs into full supervision. To use both, pass `pairs | Pairs.from_labels(y)`.
        """
        return check_labels(self.y) if self.pairs is None and self.y is not None else None

    def supervision(self, n_samples: int, on_conflict: OnConflict = "raise") -> Supervision:
        """Return the supervision from pairs, or else from labels; it is empty without either.

        Parameters
        ----------
        n_samples : int
            The number of rows.
        on_conflict : {"raise", "warn", "drop"}, default="raise"
            What to do if must-links connect the two ends of a cannot-link: "raise" an error, or
            drop that cannot-link with ("warn") or without ("drop") a warning.
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
    """Warn if the indexes of X and y differ in order, because labels are matched by position."""
    if of_samples is None or of_labels is None or of_samples.equals(of_labels):
        return
    if len(of_samples) == len(of_labels) and set(of_samples) == set(of_labels):
        warn_user(
            "The index of y lists the rows of X in a different order, but labels are matched by "
            "position.",
            hint="Pass y.loc[X.index] to match labels by index.",
        )
