"""Properties of methods, which are declared by their classes."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object

from linkselect._arrays import IntArray
from linkselect._samples.checks import Given
from linkselect._samples.samples import Kind
from linkselect._supervision import Supervision
from linkselect.pairs._labels import encode_labels, label_array

Sees = Literal["nothing", "labels", "some labels", "pairs"]
Need = Literal["labels", "a must-link", "a cannot-link", "two groups", "a pair or a label"]

# The moments of more classes than this would need as much memory as the samples.
MANY_CLASSES = 1000
HOW_TO_SUPERVISE = (
    "Call {name}().fit(X, pairs=Pairs(must=[(0, 3)], cannot=[(0, 60)])), or {name}().fit(X, y) "
    "with at least two classes, at least two samples in one of them, and -1 for unlabelled "
    "samples. In cross-validation, pass more pairs or use larger folds."
)


@dataclass(frozen=True)
class Method:
    """Properties of a method, which are declared once in its class.

    Attributes
    ----------
    sees : {"nothing", "labels", "some labels", "pairs"}
        Kind of supervision that the method uses: no supervision; a label for every sample; labels,
        some of which may be missing; or pairs (alternatively, labels of some or all samples).
    needs : tuple of str
        Supervision that the method requires; empty if supervision is optional.
    greater_is_better : bool
        Whether larger values of `scores_` are better.
    searches : bool
        Whether the method searches for a subset, so that its selection is not determined by the
        scores of single features. If so, `path_` contains the value of the criterion after each
        step.
    path_has_optimum : bool
        Whether the values of `path_` are comparable between different numbers of features.
    references : tuple of str
        Keys of the bibliography. The first key belongs to the paper that proposed the method.
    wraps : bool
        Whether the method wraps another selector, which then determines `sees` and `needs`.
    works_on : tuple of {"memory", "sparse", "device", "parts"}
        Kinds of samples that are supported: dense or sparse in memory, on a device, or stored in
        parts.
    """

    sees: Sees
    needs: tuple[Need, ...] = ()
    greater_is_better: bool = True
    searches: bool = False
    path_has_optimum: bool = False
    references: tuple[str, ...] = ()
    wraps: bool = False
    works_on: tuple[Kind, ...] = ("memory", "sparse")


def describe(selector: Any) -> Method:
    """Return the properties of a selector, or of a selector class with default parameters.

    Selectors of other libraries are described by their scikit-learn tags: it is assumed that they
    may use labels, and that they require labels if the tags state this.

    Examples
    --------
    >>> from linkselect import ConstraintScore
    >>> describe(ConstraintScore).needs
    ('a must-link', 'a cannot-link')
    >>> describe(ConstraintScore(criterion="difference")).needs
    ('a pair or a label',)
    """
    if isinstance(selector, type):
        selector = selector(**_required(selector))
    if selector is None:
        return Method("nothing")
    if not hasattr(selector, "sees"):
        # Tags state whether labels are required, not whether optional labels are used.
        return Method("labels", ("labels",) if get_tags(selector).target_tags.required else ())
    return Method(**{field.name: getattr(selector, field.name) for field in fields(Method)})


def uses_groups(selector: Any) -> bool:
    """Return whether a selector, or a selector inside it, keeps groups of rows together.

    Examples
    --------
    >>> from linkselect import FisherScore, Redundancy, StableSelector
    >>> uses_groups(Redundancy(StableSelector(FisherScore()))), uses_groups(FisherScore())
    (True, False)
    """
    if hasattr(selector, "sees"):
        return bool(getattr(selector, "_uses_groups", False))
    # For example RFECV(cv=GroupKFold()).
    return bool(get_routing_for_object(selector).consumes("fit", ["groups"]))


def _required(selector: type) -> dict[str, None]:
    """Return a dict with the value None for each parameter that has no default."""
    parameters = inspect.signature(selector).parameters.values()
    return {one.name: None for one in parameters if one.default is inspect.Parameter.empty}


def classes_seen(selector: Any, y: Any) -> tuple[IntArray, NDArray[Any]]:
    """Return the class number of each sample, as interpreted by a selector, and the class labels.

    A class number of -1 means unlabelled, unless the method requires a label for every sample.
    """
    minus_one = describe(selector).sees != "labels"
    return encode_labels(label_array(y, minus_one).ravel(), minus_one)


def missing_needs(needs: Iterable[Need], known: Supervision) -> list[Need]:
    """Return the kinds of required supervision that are missing."""
    present: dict[Need, bool] = {
        "labels": not known.unlabelled.any(),
        "a must-link": known.has_must,
        "a cannot-link": known.has_cannot,
        "two groups": known.n_groups > 1,
        "a pair or a label": not known.unlabelled.all(),
    }
    return [need for need in needs if not present[need]]


def classes_for_moments(known: Any, n_samples: int) -> IntArray:
    """Return the class number of each sample if moments by class are useful, otherwise all -1."""
    if isinstance(known, Given):
        known = known.supervision(n_samples, "drop")
    from_labels = isinstance(known, Supervision) and known.listed_must is None
    if from_labels and known.classes.max(initial=-1) < MANY_CLASSES:
        return known.classes
    return np.full(n_samples, -1, dtype=np.intp)
