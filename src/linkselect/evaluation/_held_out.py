"""Supervision held out in folds, and what is estimated from it."""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from linkselect._arrays import IntArray, Matrix
from linkselect.evaluation._permutation import Arrangements


class Fold(NamedTuple):
    """What trains and what is held out: links, or rows.

    `independent` counts what is held out and shares no sample: rows, or links of each kind.
    """

    train: Any
    test: Any
    independent: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """How well the selected features do on held-out supervision.

    It estimates the measure of the selected features on new samples, which no pair or label names.
    The features measured here were selected from fewer pairs or labels, so it tends to be low.

    Attributes
    ----------
    measure : {"pair AUC", "1-NN accuracy"}
        How often a held-out cannot-link is farther apart than a held-out must-link, or how often
        the nearest labelled row has the class of a held-out row.
    value, standard_error : float
        The estimate; give or take two standard errors is the interval. It allows for pairs that
        share samples, and for features that change with the pairs they are selected from.
    chance : float
        The mean over permutations of the samples; without these, 0.5 for the AUC and the share of
        the largest class for the accuracy.
    all_features, random_features : float
        The same measure in all features, and in as many features chosen at random.
    n_folds, n_repeats, n_held_out : int
        How many folds, how often they were dealt, and how many pairs or rows were held out in all.
    contrast : {"cannot-links", "random pairs"} or None
        What must-links are compared with: random pairs of held-out samples if there are no
        cannot-links. None with labels.
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
    """Folds of some supervision, which say what to fit on and how good a choice of features is.

    Attributes
    ----------
    measure : {"pair AUC", "1-NN accuracy"}
        What is measured.
    folds : list of Fold
        The folds.
    n_folds, n_repeats : int
        How many folds hold out everything once, and how often that is repeated.
    n_held_out : int
        How many pairs or rows are held out in all.
    chance : float
        What a choice that knows nothing reaches.
    groups : array of int or None
        The group of each row, if a group is held out as a whole.
    is_adaptive : bool
        Whether what trains was chosen by looking at the samples.
    contrast : {"cannot-links", "random pairs"} or None
        What must-links are compared with.
    """

    _X: Matrix
    measure: ClassVar[Literal["pair AUC", "1-NN accuracy"]]
    folds: list[Fold]
    groups: IntArray | None = None
    is_adaptive: bool = False
    contrast: Literal["cannot-links", "random pairs"] | None = None

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return int(self._X.shape[1])

    def arrangements(self, batches: Any = None) -> Arrangements:
        """Say which rows may change places, given the batch of each."""
        return Arrangements.of(self._X.shape[0], self.groups, batches)

    def is_inside(self, ways: Arrangements) -> bool:
        """Tell whether everything held out lies inside groups that move as a whole."""
        return False

    def with_folds(self, folds: list[Fold]) -> Self:
        """Return the same with other folds."""
        other = copy.copy(self)
        other.folds = folds
        return other
