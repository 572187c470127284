"""Checks of what a user passes in: samples, labels, pairs and the ids of samples."""

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

# How many columns an error names.
NAMES_SHOWN = 5
# How pandas and polars begin the types of dates and spans of time.
TIMES = ("date", "time", "duration")
TO_THE_CPU = "Convert it: X.cpu().numpy() for torch, cupy.asnumpy(X) for cupy."


def check_samples(estimator: BaseEstimator, X: Any) -> Samples:
    """Check X as scikit-learn does: numbers, finite, two samples or more; dense, CSR or CSC.

    With scikit-learn's `array_api_dispatch` on, an array of another library stays as it is.
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
            raise TypeError("X holds dates or spans of time, which are not numbers.")
        X = validate_data(
            estimator,
            X,
            accept_sparse=("csr", "csc"),
            # Integers stay integers: column blocks become float64 one at a time.
            dtype="numeric",
            ensure_min_samples=2,
        )
        # A frame of polars that mixes numbers with text passes the check as an array of objects.
        if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
            X = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        _name_columns_without_numbers(given, error)
        _name_columns_with_gaps(given, error)
        raise
    # Categories are compared as they are, and a selector inside another says it itself.
    as_it_is = getattr(estimator, "wraps", False) or getattr(estimator, "_takes_categories", False)
    if names is not None:
        found: Any = estimator
        found.feature_names_in_ = names
    samples = as_samples(X)
    if not (as_it_is and X.dtype.kind in "iu"):
        warn_of_rounding(_rounded(given, samples))
    return samples


def _rounded(given: Any, X: Samples) -> list[Hashable]:
    """Name the columns that lose differences between whole numbers when they become float64."""
    if not _is_frame(given):
        return X.rounded_columns().tolist()
    if X.dtype.kind in "iu":
        return [given.columns[place] for place in X.rounded_columns()]
    # Beside a column of floats all have become floats.
    kinds = [str(kind).lower().partition("64")[0] for kind in given.dtypes]
    return [
        name
        for name, kind in zip(given.columns, kinds, strict=True)
        if kind in ("int", "uint") and is_rounded(np.asarray(given[name], f"{kind}64")).any()
    ]


def warn_of_rounding(names: Sequence[Hashable]) -> None:
    """Warn of features whose whole numbers float64 does not hold."""
    if names:
        shown = _listed([repr(name) for name in names])
        warn_user(
            f"{many(len(names), 'feature')} of X {'has' if len(names) == 1 else 'have'} whole "
            f"numbers above 2^53, which float64 rounds, so that small differences are lost: "
            f"{shown}.",
            RoundedFeaturesWarning,
            hint="Subtract the least value of the column before, or leave out ids.",
        )


def without_mask(X: Any) -> Any:
    """Return a masked array as a plain one, with NaN for what is masked: NumPy drops the mask."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return np.where(X.mask, np.nan, X.data) if X.mask.any() else X.data


def works_on(estimator: BaseEstimator, kind: Kind) -> bool:
    """Whether an estimator works on samples that are stored in this way."""
    return kind in getattr(estimator, "works_on", ("memory", "sparse"))


def check_parts(estimator: BaseEstimator, X: Parts) -> Parts:
    """Refuse stored samples if the estimator needs them in memory; they are not read yet."""
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
    """Refuse stored samples: turned into an array, they would be read whole without a word."""
    if (parts := as_parts(X)) is not None:
        raise parts.refusal(who, hint)


def check_library(estimator: BaseEstimator, X: Any) -> None:
    """Refuse arrays that are to stay on their device if the estimator does not work there."""
    here = device_of(X)
    if here is None:
        return
    if not works_on(estimator, "device"):
        raise GuidedTypeError(
            f"{type(estimator).__name__} works on the CPU only, but X is a "
            f"{type(X).__module__.split('.')[0]} array and array_api_dispatch is on.",
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
    """Whether X is a data frame, of pandas, polars or another library."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _holds_times(X: Any) -> bool:
    """Whether an array or a frame has dates or spans of time, which NumPy would count silently."""
    if _is_frame(X):
        return any(str(dtype).lower().startswith(TIMES) for dtype in X.dtypes)
    return getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M")


def _check_names(X: Any) -> None:
    """Refuse a frame in which two columns have one name, which then tells neither of them."""
    if not _is_frame(X):
        return
    names = list(X.columns)
    if not names:
        raise GuidedValueError("X has no columns, so there is nothing to rank.", parameter="X")
    if len(set(names)) == len(names):
        return
    twice = [name for name, n in Counter(names).items() if n > 1]
    raise GuidedValueError(
        f"X has {many(len(twice), 'name')} that several columns share: "
        f"{_listed([repr(name) for name in twice])}.",
        "Give each column its own, or keep the first of each: X.loc[:, ~X.columns.duplicated()].",
        "X",
    )


def _name_columns_without_numbers(X: Any, error: Exception) -> None:
    """Raise an error that names the columns of a frame that hold no numbers, if there are any."""
    if not _is_frame(X):
        return
    odd = [(name, value) for name in X.columns if (value := _no_number(X[name])) is not None]
    if not odd:
        return
    shown = _listed([f"{name!r} (such as {str(value)!r})" for name, value in odd])
    raise GuidedValueError(
        f"X has {many(len(odd), 'column')} without numbers: {shown}.",
        "Leave such columns out, or turn them into numbers: "
        "sklearn.preprocessing.OneHotEncoder() makes a column of each category, and "
        "(date - date.min()).dt.days counts days.",
        "X",
    ) from error


def _name_columns_with_gaps(X: Any, error: Exception) -> None:
    """Say which columns lack values, and how to fill them, instead of scikit-learn's advice."""
    if "contains NaN" not in str(error):
        return
    lacking = _gaps(X)
    if lacking:
        # What else scikit-learn says is about classifiers that take missing values.
        shown = _listed([f"{name!r} ({many(n, 'value')})" for name, n in lacking])
        raise GuidedValueError(
            f"Input X contains NaN. Missing in {many(len(lacking), 'column')}: {shown}.",
            "Fill them, for example by sklearn.impute.SimpleImputer().",
            "X",
        ) from error


def _gaps(X: Any) -> list[tuple[Hashable, int]]:
    """Return the columns of a frame or an array that lack values, and how many each lacks."""
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
    """Return the first value of a column that is no number; None if all are, or are missing."""
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        # NumPy would count nanoseconds, but dates do not go together with numbers.
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
    """Refuse values whose squares overflow unnoticed, and differences whose squares underflow."""
    samples = as_samples(X)
    if samples.overflows():
        raise too_large(FloatingPointError("overflow encountered in square"))
    faint = samples.faint_columns()
    if len(faint):
        name = f"feature {faint[0]}" if names is None else f"feature {names[faint[0]]!r}"
        raise GuidedValueError(
            f"{many(len(faint), 'feature')} of X {'varies' if len(faint) == 1 else 'vary'} by less "
            f"than {FAINT:g}{', first of all ' if len(faint) > 1 else ': '}{name}. The squares of "
            "so small differences underflow to 0.",
            # The scalers of scikit-learn would take so small a range for rounding.
            "Use larger units: divide each of them by its range.",
            "X",
        )


def too_large(error: FloatingPointError) -> GuidedValueError:
    """Explain an overflow by the values that caused it."""
    return GuidedValueError(
        f"X has values so large that their squares overflow ({error}).",
        "Scale the features, for example with sklearn.preprocessing.StandardScaler().",
        "X",
    )


@contextmanager
def explained_overflow() -> Iterator[None]:
    """Refuse samples whose squared differences overflow, as the selectors do."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError as error:
        raise too_large(error) from error


def index_of(X: Any) -> Iterable[Hashable] | None:
    """Return the index of a pandas frame or the names of the samples of AnnData.

    They stay with their rows in a fold.
    """
    if hasattr(X, "obs_names"):
        return X.obs_names
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None


@dataclass(frozen=True)
class Given:
    """What `fit` was given beside X, as it came: a method that ignores a part does not check it.

    Attributes
    ----------
    y : array-like or None
        Labels.
    pairs : Pairs or None
        Must-links and cannot-links.
    sample_ids : iterable of hashable or None
        The id of each row, by which pairs name samples; None if row numbers do. It may be
        exhausted by reading it once.
    ids_are_index : bool
        Whether the ids were not passed, but are the index of a pandas X.
    groups : ndarray of int or None
        The group of each row, which resamples do not split.

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
        """Take the arguments of `fit`; ids default to the index of a pandas X, also if stored."""
        if isinstance(y, Pairs):
            raise GuidedTypeError(
                "The second argument is y, one label per sample, but it is a Pairs.",
                "Pass pairs by name: .fit(X, pairs=pairs), or .fit(X, y, pairs=pairs).",
                "y",
            )
        listed = isinstance(y, list | tuple) and len(y) > 0
        if listed and all(isinstance(one, tuple) and len(one) == 2 for one in y):
            raise GuidedTypeError(
                f"The second argument is y, one label per sample, but it begins with {y[0]!r}.",
                f"Pass pairs by name: .fit(X, pairs=Pairs(must=[{y[0]!r}, ...], cannot=[...])).",
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
        """Check the labels and return them; None if there are none or pairs take their place.

        A Pipeline hands y to every step: together with pairs it would silently turn them into full
        supervision. To use both, pass `pairs | Pairs.from_labels(y)`.
        """
        return check_labels(self.y) if self.pairs is None and self.y is not None else None

    def supervision(self, n_samples: int, on_conflict: OnConflict = "raise") -> Supervision:
        """Return what pairs say about the rows of X, else what labels say, else nothing.

        Parameters
        ----------
        n_samples : int
            The number of rows.
        on_conflict : {"raise", "warn", "drop"}, default="raise"
            What to do when must-links join the two ends of a cannot-link: "raise" an error, or drop
            that cannot-link with ("warn") or without ("drop") a warning.
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
    """Warn if labels name the samples in another order: they go by position, as in scikit-learn."""
    if of_samples is None or of_labels is None or of_samples.equals(of_labels):
        return
    if len(of_samples) == len(of_labels) and set(of_samples) == set(of_labels):
        warn_user(
            "The index of y names the rows of X in another order, but labels go by position.",
            hint="Pass y.loc[X.index] if each label belongs to the row of its index.",
        )
