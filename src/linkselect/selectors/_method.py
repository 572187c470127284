"""What there is to know about a method before it is used, read off its class."""

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

# With more classes than this, their moments would take as much memory as the samples.
MANY_CLASSES = 1000
HOW_TO_SUPERVISE = (
    "Write {name}().fit(X, pairs=Pairs(must=[(0, 3)], cannot=[(0, 60)])), or {name}().fit(X, y) "
    "with at least two classes, two samples in one of them, and -1 for unlabelled samples. "
    "In cross-validation, give more pairs or use larger folds."
)


@dataclass(frozen=True)
class Method:
    """The description of a method, which is declared once, on its class.

    Attributes
    ----------
    sees : {"nothing", "labels", "some labels", "pairs"}
        What the method looks at beside the features: nothing; a label for every sample; labels,
        of which some may be missing; or pairs, or labels of some or all samples.
    needs : tuple of str
        What it cannot work without; empty if it can do without supervision.
    greater_is_better : bool
        Whether a larger value of `scores_` is better.
    searches : bool
        Whether it searches for a subset, so that its choice does not follow scores of single
        features. Then `path_` has the value after each chosen one.
    path_has_optimum : bool
        Whether the values of `path_` can be compared over different numbers of features.
    references : tuple of str
        Keys of the bibliography: the paper that proposed the method comes first.
    wraps : bool
        Whether it works around another selector, which then decides what it sees and needs.
    works_on : tuple of {"memory", "sparse", "device", "parts"}
        Which samples it works on: dense or sparse in memory, on a device, stored in parts.
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
    """Describe a selector, or with default parameters a class of selectors.

    Selectors of other libraries are described by their scikit-learn tags: they may use labels,
    and need them if the tags say so.

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
        # Tags say whether labels are required, not whether they are used if they are there.
        return Method("labels", ("labels",) if get_tags(selector).target_tags.required else ())
    return Method(**{field.name: getattr(selector, field.name) for field in fields(Method)})


def uses_groups(selector: Any) -> bool:
    """Tell whether a selector, or one inside it, resamples or splits rows without splitting groups.

    Examples
    --------
    >>> from linkselect import FisherScore, Redundancy, StableSelector
    >>> uses_groups(Redundancy(StableSelector(FisherScore()))), uses_groups(FisherScore())
    (True, False)
    """
    if hasattr(selector, "sees"):
        return bool(getattr(selector, "_uses_groups", False))
    # Such as RFECV(cv=GroupKFold()).
    return bool(get_routing_for_object(selector).consumes("fit", ["groups"]))


def _required(selector: type) -> dict[str, None]:
    """Return None for every parameter without a default: the selector that a wrapper needs."""
    parameters = inspect.signature(selector).parameters.values()
    return {one.name: None for one in parameters if one.default is inspect.Parameter.empty}


def classes_seen(selector: Any, y: Any) -> tuple[IntArray, NDArray[Any]]:
    """Number the classes of y as a selector reads them, and return the label of each.

    -1 is unlabelled, unless the method needs every label.
    """
    minus_one = describe(selector).sees != "labels"
    return encode_labels(label_array(y, minus_one).ravel(), minus_one)


def missing_needs(needs: Iterable[Need], known: Supervision) -> list[Need]:
    """List what a method cannot work without and what is not known."""
    present: dict[Need, bool] = {
        "labels": not known.unlabelled.any(),
        "a must-link": known.has_must,
        "a cannot-link": known.has_cannot,
        "two groups": known.n_groups > 1,
        "a pair or a label": not known.unlabelled.all(),
    }
    return [need for need in needs if not present[need]]


def classes_for_moments(known: Any, n_samples: int) -> IntArray:
    """Return the classes whose moments a score may ask for; of bare pairs it asks for the rows."""
    if isinstance(known, Given):
        known = known.supervision(n_samples, "drop")
    from_labels = isinstance(known, Supervision) and known.listed_must is None
    if from_labels and known.classes.max(initial=-1) < MANY_CLASSES:
        return known.classes
    return np.full(n_samples, -1, dtype=np.intp)
