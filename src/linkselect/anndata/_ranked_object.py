"""`linkselect.anndata.rank`: rank the features of an AnnData object, like scanpy's tools."""

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
    "The ranking was not validated: validation fits the method many times and requires the samples "
    "in memory, but the object is backed."
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
    """Rank the features of an AnnData object and store the results in it.

    Parameters
    ----------
    adata : AnnData
        Object with samples in rows, either in memory or backed. For a backed object, `.X` is read
        in parts, and `.var` and `.uns` are changed only in memory.
    label : str, optional
        Column of `.obs` with the classes. Samples with a missing value are unlabelled; a method
        that requires complete labels uses only the labelled samples.
    pairs : Pairs, optional
        Must-links and cannot-links between samples, identified by `obs_names`. With `label`,
        methods that use pairs use both pairs and labels.
    selector : selector, optional
        Selector that ranks the features. It is not modified. Default: `LinkSelector()`.
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to select. "auto" keeps the setting of the
        selector.
    layer : str, optional
        Layer with the values of the features. Default: `.X`.
    batch_key : str, optional
        Column of `.obs` with batches, such as plates. The test against chance permutes samples only
        within their batch.
    batch : {"center"} or None, default=None
        "center" subtracts the batch mean from every feature before ranking. The values are then
        stored as a dense array.
    group_key : str, optional
        Column of `.obs` with groups that are never split, such as donors.
    validate : bool, default=True
        Whether to measure how reliable the ranking is, with `linkselect.evaluation.validate`. This
        fits the method 12 to 220 times.
    n_permutations : int, default=0
        Number of permutations for a test of every feature, with
        `linkselect.evaluation.feature_p_values`; 0 for no test.
    key_added : str, default="linkselect"
        Prefix of the columns in `.var`, and key in `.uns`.
    random_state : int, default=0
        Seed for all random draws.
    copy : bool, default=False
        Whether to return a changed copy, instead of changing `adata`.

    Returns
    -------
    AnnData or None
        The copy if `copy` is True, otherwise None. The following fields are set:

        `.var[f"{key_added}_score"]`, `_rank`, `_selected`
            Score of each feature, its rank (1 is best), and whether it is selected.
        `.var[f"{key_added}_frequency"]`
            Fraction of random halves of the samples in which the feature is selected, if validated.
        `.var[f"{key_added}_p_value"]`, `_adjusted`, `_q_value`
            P-values of each feature, if tested; see `feature_p_values`.
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
    """Return the columns of results, and the validation if requested."""
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
    """Raise an error if `adata` cannot be ranked or the results cannot be stored."""
    if not is_annotated(adata):
        raise GuidedTypeError(
            f"adata is a {type(adata).__name__}, not an AnnData object.",
            "Pass an AnnData object, or fit a selector: LinkSelector().fit(X, y).",
            "adata",
        )
    if not isinstance(key, str) or not key or "/" in key:
        raise GuidedValueError(
            f"key_added={key!r} cannot be used in the names of columns and of an entry of .uns.",
            "Pass a non-empty string without a slash.",
            "key_added",
        )
    if batch not in (None, "center") or (batch and batch_key is None):
        raise GuidedValueError(
            f"batch={batch!r} cannot be used with batch_key={batch_key!r}.",
            'Pass batch="center" together with batch_key, or omit batch.',
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
            "Pass adata.to_memory() if the samples fit in memory, or omit this option.",
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
    """Raise an error for an unknown name, and suggest the most similar known name."""
    names = [str(one) for one in known]
    if not (isinstance(name, str) and name in names):
        hint = nearest(str(name), names)
        raise GuidedValueError(f"{parameter}={name!r:.60} is not {what}.", hint, parameter)


def _column(adata: Any, key: str | None, parameter: str) -> NDArray[Any] | None:
    """Return a column of `.obs`, with None for missing values."""
    if key is None:
        return None
    _check_name(key, adata.obs.columns, parameter, "a column of adata.obs")
    values = adata.obs[key].astype(object)
    # scikit-learn accepts numbers and booleans as classes only in an array of that type.
    if values.notna().all():
        return np.asarray(values.tolist())
    found: NDArray[Any] = values.where(values.notna(), None).to_numpy(dtype=object)
    return found


def _samples(adata: Any, layer: str | None, batches: Any) -> Any:
    """Return the object itself, or a new one with the values of a layer or centred values."""
    if layer is not None:
        _check_name(layer, adata.layers, "layer", "a layer")
    if layer is None and batches is None:
        return adata
    values = adata.X if layer is None else adata.layers[layer]
    if batches is not None:
        values = center_batches(values, batches)
    return type(adata)(values, obs=adata.obs[[]], var=adata.var[[]])


def _used(method: Any, adata: Any, label: str | None) -> tuple[Any, list[str]]:
    """Return the samples that the method can use: only labelled ones if it requires labels."""
    y = _column(adata, label, "label")
    if y is None or describe(method).sees != "labels":
        return adata, []
    labelled = np.array([value is not None for value in y])
    if labelled.all() or not labelled.any():
        return adata, []
    note = (
        f"{type(method).__name__} needs a label for every sample, so it uses only the "
        f"{many(int(np.count_nonzero(labelled)), 'labelled sample')} of {len(y):,}."
    )
    warn_user(note)
    return adata[labelled], [note]


def _notes(method: Any, y: Any, pairs: Any, batches: Any) -> list[str]:
    """Return notes on unused supervision, and on batches that coincide with classes."""
    sees, name = describe(method).sees, type(method).__name__
    unused = ["labels"] if y is not None and sees == "nothing" else []
    unused += ["pairs"] if pairs is not None and sees != "pairs" else []
    notes = [f"{name} ignores {' and '.join(unused)}."] if unused else []
    confused = None if batches is None or y is None else about_batches(batches, y)
    notes += [] if confused is None else [confused]
    for note in notes:
        warn_user(note)
    return notes


def _codes(
    marks: NDArray[Any] | None, what: str, key: str | None, notes: list[str]
) -> IntArray | None:
    """Number the batches or groups, and add a note if some samples have none."""
    alone = what == "group"
    n_missing = 0 if marks is None else sum(one is None for one in marks)
    if n_missing:
        have = "has" if n_missing == 1 else "have"
        instead = "each counts as a group of its own" if alone else "together they form one batch"
        notes.append(f"{many(n_missing, 'sample')} {have} no {what} ({key!r}); {instead}.")
        warn_user(notes[-1])
    return complete_codes(marks, f"{what}_key", alone=alone)


def _together(method: Any, adata: Any, y: NDArray[Any] | None, pairs: Any) -> Pairs | None:
    """Combine pairs and labels for a method that uses both."""
    if pairs is None or y is None or describe(method).sees != "pairs":
        return pairs
    # Before the union, so that a warning counts left-out pairs among the pairs that were passed.
    pairs, _ = present_pairs(pairs, adata.n_obs, adata.obs_names, ids_are_index=True)
    return pairs | Pairs.from_labels(y, sample_ids=adata.obs_names)


def _keep(adata: Any, key: str, columns: dict[str, Any], record: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a view becomes a separate object
        adata.var = with_columns(adata.var, key, columns)
        adata.uns[key] = record


def _fit(method: Any, X: Any, y: Any, pairs: Pairs | None) -> list[str]:
    """Fit the method, and return its warnings, which are also shown to the user."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        method.fit(X, y, pairs=pairs)
    for one in caught:
        warn_user(str(one.message), one.category)
    return [str(one.message) for one in caught]
