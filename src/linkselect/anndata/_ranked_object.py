"""`linkselect.anndata.rank`: rank the features of an AnnData object as scanpy's tools do."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import linkselect
from linkselect._arrays import IntArray
from linkselect._batches import about_batches, complete_codes
from linkselect._messages import GuidedTypeError, GuidedValueError, many, nearest, warn_user
from linkselect._samples.batch_means import center_batches
from linkselect._samples.devices import to_numpy
from linkselect._samples.sources.annotated import check_names, is_annotated
from linkselect._supervision import present_pairs
from linkselect.anndata._stored_results import about, with_columns
from linkselect.evaluation import Validation, feature_p_values
from linkselect.evaluation import validate as validated
from linkselect.evaluation._inputs import check_selector, reproducible
from linkselect.pairs import Pairs
from linkselect.report._validation_summary import alarms, describe_validation
from linkselect.selectors import LinkSelector
from linkselect.selectors._method import describe

if TYPE_CHECKING:
    from anndata import AnnData

VERSIONS = {"linkselect": linkselect.__version__}
NOT_VALIDATED = (
    "The ranking was not validated: that fits the method many times, and a backed object is read "
    "by parts."
)


def rank(
    adata: AnnData,
    label: str | None = None,
    *,
    pairs: Pairs | None = None,
    selector: Any = None,
    n_features_to_select: int | float | Literal["auto"] = "auto",
    layer: str | None = None,
    batch_key: str | None = None,
    batch: Literal["center"] | None = None,
    group_key: str | None = None,
    validate: bool = True,
    n_permutations: int = 0,
    key_added: str = "linkselect",
    random_state: int = 0,
    copy: bool = False,
) -> AnnData | None:
    """Rank the features of an AnnData object, and keep the results in it.

    Parameters
    ----------
    adata : AnnData
        Samples in rows. In memory or backed; of a backed object, `.X` is read by parts, and
        `.var` and `.uns` change in memory only.
    label : str, optional
        The column of `.obs` with the classes. Samples without a value count as unlabelled; a
        method that needs every label ranks by the labelled samples only.
    pairs : Pairs, optional
        Must-links and cannot-links by `obs_names`. With `label`, a method that looks at pairs uses
        both.
    selector : selector, optional
        How to rank; it is not changed. Default: `LinkSelector()`.
    n_features_to_select : int, float or "auto", default="auto"
        How many features to select: a number, a share, or what the selector says.
    layer : str, optional
        The layer to rank. Default: `.X`.
    batch_key : str, optional
        The column of `.obs` with batches, such as plates: the test against chance exchanges samples
        inside their batch only.
    batch : {"center"} or None, default=None
        "center" subtracts the mean of its batch from every feature before ranking. The values
        become dense.
    group_key : str, optional
        The column of `.obs` with groups that are never split, such as donors.
    validate : bool, default=True
        Whether to measure how far the ranking can be trusted, by
        `linkselect.evaluation.validate`. It fits the method 12 to 220 times.
    n_permutations : int, default=0
        How many permutations test every feature, by `linkselect.evaluation.feature_p_values`; 0
        for no test.
    key_added : str, default="linkselect"
        The name of the results.
    random_state : int, default=0
        Determines everything that is drawn.
    copy : bool, default=False
        Whether to change and return a copy.

    Returns
    -------
    AnnData or None
        None, unless `copy`. These are set:

        `.var[f"{key_added}_score"]`, `_rank`, `_selected`
            The score of each feature, its rank (1 is best), and whether it is selected.
        `.var[f"{key_added}_frequency"]`
            If validated, the share of halves of the samples in which it is selected.
        `.var[f"{key_added}_p_value"]`, `_adjusted`, `_q_value`
            If tested; `feature_p_values` explains them.
        `.uns[key_added]`
            `params`, `method`, `n_features`, `better_than_chance`, `estimate`, `reason`, `notes`
            and `versions`.

    Examples
    --------
    >>> import anndata
    >>> import pandas as pd
    >>> from sklearn.datasets import load_iris
    >>> from linkselect.anndata import rank
    >>> X, y = load_iris(return_X_y=True)
    >>> obs = pd.DataFrame({"species": y.astype(str)}, index=[f"flower {i}" for i in range(150)])
    >>> var = pd.DataFrame(index=["sepal length", "sepal width", "petal length", "petal width"])
    >>> adata = anndata.AnnData(X, obs=obs, var=var)
    >>> rank(adata, label="species", n_features_to_select=2)
    >>> adata.var["linkselect_rank"].to_dict()
    {'sepal length': 4, 'sepal width': 3, 'petal length': 2, 'petal width': 1}
    >>> adata.uns["linkselect"]["better_than_chance"]
    True
    """
    _check(adata, key_added, copy, batch, batch_key, n_permutations)
    method = reproducible(_selector(selector, n_features_to_select), random_state)
    used, notes = _used(method, adata, label)
    y, batches = _column(used, label, "label"), _column(used, batch_key, "batch_key")
    notes += _notes(method, y, pairs, batches)
    known: dict[str, Any] = {"random_state": random_state}
    known["batches"] = batches = _codes(batches, "batch", batch_key, notes)
    known["groups"] = _codes(_column(used, group_key, "group_key"), "group", group_key, notes)
    X = _samples(used, layer, batches if batch == "center" else None)
    known["pairs"] = together = _together(method, used, y, pairs)
    notes += _fit(method, X, y, together)
    by_parts = adata.isbacked and layer is None
    columns, found = _measure(method, X, y, validate and not by_parts, n_permutations, known)
    if validate and by_parts:
        notes.append(NOT_VALIDATED)
    summary = describe_validation(found, list(map(str, adata.var_names)))
    notes += alarms(summary, adata.n_vars)
    params = {
        "label": label,
        "n_must": None if pairs is None else pairs.n_must,
        "n_cannot": None if pairs is None else pairs.n_cannot,
        "selector": " ".join(repr(method).split()),
        "layer": layer,
        "batch_key": batch_key,
        "batch": batch,
        "group_key": group_key,
        "n_permutations": n_permutations,
        "random_state": random_state,
    }
    record = about(type(method).__name__, method.n_features_, params, summary, notes, VERSIONS)
    changed = adata.copy() if copy else adata
    _keep(changed, key_added, columns, record)
    return changed if copy else None


def _measure(
    method: Any, X: Any, y: Any, validate: bool, n_permutations: int, known: dict[str, Any]
) -> tuple[dict[str, Any], Validation | None]:
    """Return the columns of results, and the validation if it is wanted."""
    columns = {
        "score": to_numpy(method.scores_),
        "rank": to_numpy(method.ranking_),
        "selected": method.get_support(),
    }
    found = None
    if validate:
        found = validated(method, X, y, **known)
        if found.frequencies:
            columns["frequency"] = found.frequencies
    if n_permutations:
        tested = feature_p_values(method, X, y, n_permutations=n_permutations, **known)
        columns |= {
            "p_value": tested.p_values,
            "adjusted": tested.adjusted,
            "q_value": tested.q_values,
        }
    return columns, found


def _check(
    adata: Any, key: Any, copy: bool, batch: Any, batch_key: Any, n_permutations: int
) -> None:
    """Refuse what could not be ranked, or not be kept afterwards."""
    if not is_annotated(adata):
        raise GuidedTypeError(
            f"adata is a {type(adata).__name__}, not an AnnData object.",
            "Pass one, or fit a selector: LinkSelector().fit(X, y).",
            "adata",
        )
    if not isinstance(key, str) or not key or "/" in key:
        raise GuidedValueError(
            f"key_added={key!r}, but it names a column and an entry of a file.",
            "Write a text without a slash.",
            "key_added",
        )
    if batch not in (None, "center") or (batch and batch_key is None):
        raise GuidedValueError(
            f"batch={batch!r} with batch_key={batch_key!r}.",
            'Pass batch="center" together with batch_key, or leave batch out.',
            "batch",
        )
    in_memory = {
        "copy=True": copy,
        "A view": adata.is_view,
        'batch="center"': batch,
        "n_permutations": n_permutations,
    }
    needs = [what for what, is_asked in in_memory.items() if is_asked]
    if adata.isbacked and needs:
        raise GuidedValueError(
            f"{needs[0]} needs the samples in memory, but the object is backed.",
            "Pass adata.to_memory() if it fits in memory, or leave this out.",
            "adata",
        )
    check_names(adata.var_names)


def _selector(selector: Any, n_features_to_select: Any) -> Any:
    if selector is None:
        return LinkSelector(n_features_to_select=n_features_to_select)
    check_selector(selector)
    if n_features_to_select == "auto":
        return clone(selector)
    return clone(selector).set_params(n_features_to_select=n_features_to_select)


def _check_name(name: Any, known: Iterable[Any], parameter: str, what: str) -> None:
    """Refuse a name that is not known, and point to the nearest."""
    names = [str(one) for one in known]
    if not (isinstance(name, str) and name in names):
        hint = nearest(str(name), names) if names else "There is none."
        raise GuidedValueError(f"{parameter}={name!r:.60} is not {what}.", hint, parameter)


def _column(adata: Any, key: str | None, parameter: str) -> NDArray[Any] | None:
    """Return a column of `.obs`, None where a value is missing."""
    if key is None:
        return None
    _check_name(key, adata.obs.columns, parameter, "a column of adata.obs")
    values = adata.obs[key].astype(object)
    # scikit-learn takes numbers and truth values for classes only if their array is of that type.
    if values.notna().all():
        return np.asarray(values.tolist())
    found: NDArray[Any] = values.where(values.notna(), None).to_numpy(dtype=object)
    return found


def _samples(adata: Any, layer: str | None, batches: Any) -> Any:
    """Return the object itself, or one of a layer or of centred values with the same names."""
    if layer is not None:
        _check_name(layer, adata.layers, "layer", "a layer")
    if layer is None and batches is None:
        return adata
    values = adata.X if layer is None else adata.layers[layer]
    if batches is not None:
        values = center_batches(values, batches)
    return type(adata)(values, obs=adata.obs[[]], var=adata.var[[]])


def _used(method: Any, adata: Any, label: str | None) -> tuple[Any, list[str]]:
    """Return the samples by which the method ranks: the labelled ones, if it needs every label."""
    y = _column(adata, label, "label")
    if y is None or describe(method).sees != "labels":
        return adata, []
    labelled = np.array([value is not None for value in y])
    if labelled.all() or not labelled.any():
        return adata, []
    note = (
        f"{type(method).__name__} needs a label for every sample, so it works on the "
        f"{np.count_nonzero(labelled):,} labelled samples of {len(y):,}."
    )
    warn_user(note)
    return adata[labelled], [note]


def _notes(method: Any, y: Any, pairs: Any, batches: Any) -> list[str]:
    """Say what the method does not look at, and whether batches and classes coincide."""
    sees, name = describe(method).sees, type(method).__name__
    unused = ["labels"] if y is not None and sees == "nothing" else []
    unused += ["pairs"] if pairs is not None and sees != "pairs" else []
    notes = [f"{name} does not look at {' or '.join(unused)}."] if unused else []
    confused = None if batches is None or y is None else about_batches(batches, y)
    notes += [] if confused is None else [confused]
    for note in notes:
        warn_user(note)
    return notes


def _codes(
    marks: NDArray[Any] | None, what: str, key: str | None, notes: list[str]
) -> IntArray | None:
    """Number batches or groups; a note says how many samples have none."""
    alone = what == "group"
    n_missing = 0 if marks is None else sum(one is None for one in marks)
    if n_missing:
        instead = "each counts as a group of its own" if alone else "they count as one batch"
        notes.append(f"{many(n_missing, 'sample')} without a {what} ({key!r}); {instead}.")
        warn_user(notes[-1])
    return complete_codes(marks, f"{what}_key", alone=alone)


def _together(method: Any, adata: Any, y: NDArray[Any] | None, pairs: Any) -> Pairs | None:
    """Join pairs with labels for a method that looks at both."""
    if pairs is None or y is None or describe(method).sees != "pairs":
        return pairs
    # Before the union: what is left out is then counted among the pairs that were passed.
    pairs, _ = present_pairs(pairs, adata.n_obs, adata.obs_names, ids_are_index=True)
    return pairs | Pairs.from_labels(y, sample_ids=adata.obs_names)


def _keep(adata: Any, key: str, columns: dict[str, Any], record: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a view becomes an object of its own
        adata.var = with_columns(adata.var, key, columns)
        adata.uns[key] = record


def _fit(method: Any, X: Any, y: Any, pairs: Pairs | None) -> list[str]:
    """Fit the method, and return what it warned of; the user is warned all the same."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        method.fit(X, y, pairs=pairs)
    for one in caught:
        warn_user(str(one.message), one.category)
    return [str(one.message) for one in caught]
