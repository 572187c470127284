"""Check and prepare the inputs of evaluation functions: samples, pairs and selectors."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_consistent_length

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._messages import GuidedTypeError, GuidedValueError, many
from linkselect._resampling import seeded
from linkselect._samples import as_samples
from linkselect._samples.checks import Given, check_spread, refuse_stored, without_mask
from linkselect._samples.sources.annotated import names_of, unwrapped
from linkselect._supervision import by_rows, present_pairs
from linkselect.evaluation._curves import RANDOM
from linkselect.evaluation._pair_folds import LEAVE_CONFLICTS_OUT, MOST_LABELS, PairKFold
from linkselect.pairs import PairConflictError, Pairs
from linkselect.pairs._conflicts import describe_conflicts
from linkselect.pairs._consequences import with_fewer_labels
from linkselect.pairs._labels import is_missing, label_array
from linkselect.selectors._method import describe

# A function that wraps a list of steps, for example in a progress bar.
Track = Callable[[Iterable[Any]], Iterable[Any]]


def check_matrix(
    X: Any, who: str = "This measure", *, finite: bool = True, spread: bool = True
) -> Matrix:
    """Check samples as selectors do, and return them as an array or a CSR matrix.

    Parameters
    ----------
    X : array, sparse matrix or frame
        The samples.
    who : str
        The name of the function that requires X in memory, for the error message.
    finite : bool, default=True
        Whether to raise an error for missing values.
    spread : bool, default=True
        Whether to raise an error for features whose variance is so small that squares underflow.
    """
    refuse_stored(who, X)
    found = check_array(
        without_mask(unwrapped(X)),
        accept_sparse=("csr", "csc"),
        dtype="numeric",  # integers stay integers until distances are computed
        ensure_all_finite=finite,
        ensure_min_samples=2,
        input_name="X",
    )
    found = as_matrix(found)
    if spread:
        check_spread(found, names_of(X))
    return found


def as_matrix(samples: Any) -> Matrix:
    """Return samples or the output of a transformer as an array or a CSR matrix."""
    return as_samples(samples).rows_first


def values_of(samples: Matrix, rows: IntArray, features: IntArray) -> FloatArray:
    """Copy some features of some samples as float64, because small integer types would overflow."""
    return as_samples(samples).cells(rows, features)


def check_selector(selector: Any) -> None:
    """Raise an error unless `selector` is a selector instance, not a class or a name."""
    if isinstance(selector, type) or not (
        hasattr(selector, "fit") and hasattr(selector, "get_params")
    ):
        raise GuidedTypeError(
            f"{selector!r} is not a selector.",
            "Pass an unfitted instance, such as ConstraintScore().",
            "selector",
        )


def check_cv(cv: Any) -> None:
    """Raise an error unless `cv` is None or a splitter of pairs."""
    if cv is not None and not isinstance(cv, PairKFold):
        raise GuidedTypeError(
            f"cv={cv!r}, but it must be a PairKFold, which holds out pairs.",
            "Pass a splitter such as PairKFold(5, random_state=0).",
            "cv",
        )


def order_of(fitted: Any) -> IntArray:
    """Return the features of a fitted selector, best first."""
    if not hasattr(fitted, "order_"):
        name = type(fitted).__name__
        raise GuidedValueError(
            f"{name} does not rank features: it has no order_ after fitting.",
            f"Wrap it in a selector that ranks features, such as StableSelector({name}()).",
            "selector",
        )
    return np.asarray(fitted.order_)


def reproducible(selector: Any, seed: int = 0) -> Any:
    """Clone a selector; set each `random_state` that is None, including those of nested selectors.

    Otherwise, fits to different data would also differ because of random choices.
    """
    return seeded(selector, np.random.RandomState(seed), only_unset=True)


def read_given(
    selector: Any, X: Any, y: Any, pairs: Any, sample_ids: Any, *, listed: bool = True
) -> Given:
    """Read labels and pairs as `fit` does; if `listed`, sort the pairs by row."""
    n_samples = _num_samples(X)
    if y is not None:
        check_consistent_length(X, y)
    if pairs is None or describe(selector).sees not in ("pairs", "nothing"):
        return Given(y)
    given = Given.read(X, y, pairs, sample_ids)
    if listed:
        return Given(y, *_ordered_pairs(pairs, n_samples, given))
    held, row_of = _present(pairs, n_samples, given)
    return Given(y, held, tuple(row_of))


def pairs_among(
    X: Any, pairs: Pairs, sample_ids: Iterable[Hashable] | None
) -> tuple[Pairs, Mapping[Hashable, int]]:
    """Return the pairs whose samples are both in X, and a mapping from each ID to its row."""
    refuse_stored("This measure", X)
    return _present(pairs, _num_samples(X), Given.read(X, sample_ids=sample_ids))


def _present(pairs: Pairs, n_samples: int, given: Given) -> tuple[Pairs, Mapping[Hashable, int]]:
    ids, are_index = given.sample_ids, given.ids_are_index
    return present_pairs(pairs, n_samples, ids, ids_are_index=are_index)


def check_both_kinds(pairs: Pairs) -> None:
    """Raise an error unless there are both must-links and cannot-links."""
    for count, kind in ((pairs.n_must, "must-link"), (pairs.n_cannot, "cannot-link")):
        if not count:
            raise GuidedValueError(
                f"There are no {kind}s between the samples, but this measure compares must-links "
                "with cannot-links.",
                "Add several. In cross-validation, using fewer, larger folds also helps.",
            )


def _ordered_pairs(
    pairs: Pairs, n_samples: int, given: Given
) -> tuple[Pairs, tuple[Hashable, ...]]:
    """Return the pairs between the samples, sorted by row, and the ID of each row.

    Sorting makes the results independent of the order of the pairs and of their two samples.
    """
    held, row_of = _present(pairs, n_samples, given)
    held, ids = with_fewer_labels(held, MOST_LABELS), tuple(row_of)
    return by_rows(held, row_of, ids), ids


def in_order_of_rows(
    pairs: Pairs, n_samples: int, given: Given | None = None, selectors: Iterable[Any] = ()
) -> Pairs:
    """Return pairs between samples as row numbers, sorted independently of the input order.

    Cannot-links that contradict must-links are dropped if all selectors that use pairs drop them.

    Parameters
    ----------
    pairs : Pairs
        Pairs of sample IDs or row numbers.
    n_samples : int
        The number of samples.
    given : Given, optional
        The inputs, which contain the IDs of the samples. Default: row numbers are used as IDs.
    selectors : iterable of selectors
        The selectors that will be fitted to the pairs.
    """
    held, ids = _ordered_pairs(pairs, n_samples, given or Given())
    if held.n_conflicts:
        ways = {way for one in selectors for way in _ways_with_conflicts(one)}
        if not ways or "raise" in ways:  # raised here, where samples still have their IDs
            raise PairConflictError(describe_conflicts(held), LEAVE_CONFLICTS_OUT)
        held = held.without_conflicts()
    row_of = {sample: row for row, sample in enumerate(ids)}
    return by_rows(held, row_of, tuple(range(n_samples)), n_samples)


def _ways_with_conflicts(selector: Any) -> list[str]:
    """List the `on_conflict` settings of a selector or of its nested selectors that use pairs."""
    if describe(selector).sees != "pairs":
        return []
    members = getattr(selector, "estimators", None)
    if isinstance(members, list | tuple):
        return [way for _, member in members for way in _ways_with_conflicts(member)]
    if hasattr(selector, "estimator"):
        return _ways_with_conflicts(selector.estimator)
    return [getattr(selector, "on_conflict", "raise")]


# -- the arguments of compare ----------------------------------------------------------------------


def check_comparison(
    selectors: Mapping[str, Any], has_labels: bool, pairs: Any, cv: PairKFold | None
) -> None:
    """Raise an error for invalid selectors, or if neither labels nor pairs were passed.

    Parameters
    ----------
    selectors : dict of str to selector
        The methods by name.
    has_labels : bool
        Whether labels were passed. If they were not, methods that require labels raise an error.
    pairs : Pairs or None
        The pairs.
    cv : PairKFold or None
        The splitter that holds out pairs.
    """
    if not isinstance(selectors, Mapping):
        raise GuidedTypeError(
            f"selectors is a {type(selectors).__name__}, but it must be a dict of methods by name.",
            'Pass a dict such as {"fisher": FisherScore(), "laplacian": LaplacianScore()}.',
            "selectors",
        )
    if not selectors:
        raise GuidedValueError("There is no method to compare.", "Pass at least one.")
    for name, one in selectors.items():
        if isinstance(one, type) or not (hasattr(one, "fit") and hasattr(one, "get_support")):
            raise GuidedTypeError(
                f"The method {name!r} is {one!r}, which is not a selector: a selector must "
                "implement fit and get_support.",
                "Pass an instance such as FisherScore() or SelectKBest().",
            )
    if RANDOM in selectors:
        raise GuidedValueError(
            f"A method is named {RANDOM!r}, but the result uses this name for features in random "
            "order.",
            "Choose another name.",
        )
    check_cv(cv)
    if has_labels:
        return
    if pairs is None:
        raise GuidedValueError(
            "Methods are compared on labels or on held-out pairs, but neither was passed.",
            "Pass y or pairs.",
        )
    lacking = [name for name, one in selectors.items() if "labels" in describe(one).needs]
    if lacking:
        need = "needs" if len(lacking) == 1 else "need"
        raise GuidedValueError(
            f"{', '.join(lacking)} {need} labels, but only pairs were passed.",
            "Pass y, or remove the methods that require labels.",
        )


def check_classes(codes: IntArray, y: Any) -> None:
    """Raise an error unless training and test samples can both contain every class.

    Parameters
    ----------
    codes : array of int
        The class code of each sample, from 0; -1 if unlabelled.
    y : array-like
        The labels as passed by the user, who may have used -1 for a class.
    """
    sizes = np.bincount(codes[codes >= 0])
    if len(sizes) >= 2 and sizes.min() >= 2:
        return
    unlabelled = label_array(y)[codes < 0]
    has_minus_one = not all(is_missing(label, minus_one=False) for label in unlabelled)
    smallest = sizes.min() if len(sizes) else 0
    raise GuidedValueError(
        f"y has {many(len(sizes), 'class')}, the smallest with {many(smallest, 'sample')}; "
        "a comparison needs at least two classes with at least two samples each.",
        "-1 means unlabelled here; if it is a class, pass y.astype(str)." if has_minus_one else "",
    )
