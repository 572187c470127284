"""Base classes of selectors that use labels or pairs."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from linkselect._messages import GuidedValueError, many
from linkselect._samples import Samples
from linkselect._samples.checks import Given, check_samples
from linkselect._supervision import (
    OnConflict,
    Supervision,
    check_all_labelled,
    check_length,
    refuse_weights,
)
from linkselect.pairs._labels import encode_labels, label_array
from linkselect.selectors._method import HOW_TO_SUPERVISE, Need, Sees, missing_needs
from linkselect.selectors._parameters import ON_CONFLICT, with_parameters
from linkselect.selectors._selector import RankingSelector


class LabelSelector(RankingSelector):
    """Base class of selectors that require a label for every sample and ignore pairs."""

    sees: ClassVar[Sees] = "labels"
    needs: ClassVar[tuple[Need, ...]] = ("labels",)

    def _check_data(self, X: Any, y: Any) -> tuple[Samples, Any]:
        X = self._check_samples_with_labels(X, y)
        given, y = y, column_or_1d(y, warn=True)
        check_all_labelled(type(self).__name__, label_array(given, minus_one=False).ravel())
        assert_all_finite(y, input_name="y")
        encode_labels(y, minus_one=False)  # explains labels of types that cannot be sorted
        check_classification_targets(y)
        check_length(len(y), *X.shape)
        return X, y

    def _check_samples_with_labels(self, X: Any, y: Any) -> Samples:
        name = type(self).__name__
        if y is None:
            raise GuidedValueError(
                f"This {name} estimator requires y to be passed, but the target y is None.",
                f"Call {name}().fit(X, y), or use a method for pairs, such as "
                "ConstraintScore().fit(X, pairs=pairs).",
            )
        return check_samples(self, X)

    def _know(self, given: Given, n_samples: int) -> Supervision:
        labels, classes = np.unique(given.y, return_inverse=True)
        self._check_classes(labels)
        return Supervision(classes)

    def _check_classes(self, labels: NDArray[Any]) -> None:
        if len(labels) < 2:
            found = f"only the class {labels[0]!s}" if len(labels) else "no labels"
            raise GuidedValueError(
                f"y contains {found}, but {type(self).__name__} requires at least 2 classes.",
                "If there are no classes, use VarianceScore or LaplacianScore.",
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@with_parameters
class PairSelector(RankingSelector):
    """Base class of selectors that use pairs, or labels in which -1 means unlabelled.

    If `pairs` is passed, y is ignored, because a Pipeline passes y to every step, and combining
    both would silently turn pairs into full supervision. To use both, pass
    `pairs | Pairs.from_labels(y)`.
    """

    sees: ClassVar[Sees] = "pairs"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankingSelector._parameter_constraints,
        "on_conflict": ON_CONFLICT,
    }

    on_conflict: OnConflict = "raise"

    def _know(self, given: Given, n_samples: int) -> Supervision:
        if not self.uses_weights:
            refuse_weights(given.pairs, type(self).__name__)
        known = given.supervision(n_samples, self.on_conflict)
        self._check_needs(known, nothing_given=given.is_empty)
        return known

    def _check_needs(self, known: Supervision, nothing_given: bool) -> None:
        missing = missing_needs(self.needs, known)
        if not missing:
            return
        name = type(self).__name__
        lacking = " and ".join(missing)
        if missing == ["two groups"]:
            lacking += ", from a cannot-link, from unconnected must-links, or from labels"
        if nothing_given:
            found = "neither pairs nor y was passed"
        else:
            n_known = int(np.count_nonzero(~known.unlabelled))
            which = f"the {many(n_known, 'sample')} with a pair or label"
            found = f"there is none among {which}" if n_known else "there is none"
            if missing == ["two groups"] and n_known:
                found = f"there is only one group among {which}"
        raise GuidedValueError(
            f"{name} needs {lacking}, but {found}.",
            known.hint or HOW_TO_SUPERVISE.format(name=name),
        )
