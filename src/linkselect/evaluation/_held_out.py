"""Folds of held-out supervision, and the performance estimate computed from them."""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from linkselect._arrays import IntArray, Matrix
from linkselect.evaluation._permutation import Arrangements


class Fold(NamedTuple):
    """The training part and the held-out part of a fold; each consists of pairs or samples.

    `independent` is the number of held-out samples, or of held-out pairs of each kind that share
    no sample.
    """

    train: Any
    test: Any
    independent: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """Performance of the selected features on held-out supervision.

    It estimates the performance on new samples, which have no pairs or labels. In each fold, the
    features are selected again with fewer pairs or labels, so the estimate tends to be low.

    Attributes
    ----------
    measure : {"pair AUC", "1-NN accuracy"}
        The probability that two cannot-linked samples are farther apart than two must-linked
        samples, or the accuracy of the nearest neighbour on held-out labelled samples.
    value : float
        The estimate, which is a mean over folds.
    standard_error : float
        The standard error of the estimate. The interval `value` ± 2 `standard_error` has a coverage
        of about 95 %. The standard error accounts for pairs that share samples, and for the
        selection of features in each fold.
    chance : float
        The mean estimate on permuted samples. Without permutations, it is 0.5 for the AUC, and the
        proportion of the largest class for the accuracy.
    all_features, random_features : float
        The same measure with all features, and with as many random features as were selected.
    n_folds, n_repeats : int
        The number of folds and the number of their repeats, each with a different random split.
    n_held_out : int
        The total number of held-out pairs or samples.
    contrast : {"cannot-links", "random pairs"} or None
        The pairs with which must-links are compared: cannot-links or, if there are none, random
        pairs of held-out samples. None with labels.
    """

    measure: Literal["pair AUC", "1-NN accuracy"]
    value: float
    standard_error: float
    chance: float
    all_features: float
    random_features: float
    n_folds: int
    n_repeats: int
    n_held_out: int
    contrast: Literal["cannot-links", "random pairs"] | None = None


class HeldOut:
    """Cross-validation folds of labels or pairs, for fitting and evaluating selectors.

    Attributes
    ----------
    measure : {"pair AUC", "1-NN accuracy"}
        The measure of performance on held-out supervision.
    folds : list of Fold
        The folds.
    n_folds, n_repeats : int
        The number of folds in each repeat, and the number of repeats.
    n_held_out : int
        The total number of held-out pairs or samples.
    chance : float
        The expected value of the measure for uninformative features.
    groups : array of int or None
        The group of each sample, if groups are held out as a whole.
    is_adaptive : bool
        Whether some of the training pairs were chosen by looking at the samples.
    contrast : {"cannot-links", "random pairs"} or None
        The pairs with which must-links are compared.
    """

    _X: Matrix
    measure: ClassVar[Literal["pair AUC", "1-NN accuracy"]]
    folds: list[Fold]
    groups: IntArray | None = None
    is_adaptive: bool = False
    contrast: Literal["cannot-links", "random pairs"] | None = None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self._X.shape[1])

    def arrangements(self, batches: Any = None) -> Arrangements:
        """Return the valid permutations of the samples, given the batch of each sample."""
        return Arrangements.of(self._X.shape[0], self.groups, batches)

    def is_inside(self, ways: Arrangements) -> bool:
        """Return whether every held-out pair lies within a group that is permuted as a whole."""
        return False

    def with_folds(self, folds: list[Fold]) -> Self:
        """Return a copy with the given folds."""
        other = copy.copy(self)
        other.folds = folds
        return other
