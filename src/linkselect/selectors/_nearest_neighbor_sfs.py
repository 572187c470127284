"""Forward selection by the accuracy of a nearest-neighbour classifier."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions

from linkselect._arrays import BoolArray, IntArray
from linkselect._messages import GuidedValueError, many
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect._search.nearest_neighbor import select_by_nearest_neighbor
from linkselect._supervision import Supervision, check_labels, from_labels
from linkselect.pairs._labels import encode_labels
from linkselect.selectors._parameters import with_parameters
from linkselect.selectors._ranking import Ranking, count_features
from linkselect.selectors._selector import Track
from linkselect.selectors._supervised_selectors import LabelSelector


@with_parameters
class NearestNeighborSFS(LabelSelector):
    """Select features one by one by the accuracy of a nearest-neighbour classifier (SFS-1NN).

    At each step, forward selection adds the feature that maximises the number of samples with the
    same label as their nearest neighbour; larger is better. A feature adds one squared difference
    to each distance, so no model is refitted. Equally near neighbours are taken in row order, or in
    the order in which a split lists its training samples; features with equal accuracy are taken in
    column order.

    Not suitable for few labelled samples: many features then have the same accuracy, and the first
    column wins. For pairs, use a method such as `SimilarityConstraintScore`. Samples with the label
    -1, None or NaN are unlabelled and ignored. If X is sparse, the labelled samples are converted
    to a dense array.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    cv : "loo", int, splitter or iterable of (train, test), default="loo"
        With "loo", the nearest neighbour of every labelled sample is determined among all other
        labelled samples (leave-one-out). Otherwise, each split determines the neighbours of its
        test samples among its training samples, and the accuracy is averaged over splits. An int or
        a scikit-learn splitter divides the labelled samples. An iterable contains row numbers of X;
        unlabelled rows are ignored. For example, `[(reference_rows, other_rows)]` evaluates a
        reference set on other rows, and `list(GroupKFold(5).split(X, y, groups))` keeps groups
        together.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Accuracy with each feature alone.
    order_ : ndarray of shape (n_features,)
        Features in order of selection, followed by the remaining features, sorted by accuracy at
        the last step.
    path_ : ndarray of shape (n_steps,)
        Accuracy after adding each selected feature.

    See Also
    --------
    SimilarityConstraintScore : Forward selection from pairs.
    sklearn.feature_selection.SequentialFeatureSelector : Forward selection with any classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import NearestNeighborSFS
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = NearestNeighborSFS().fit(X, y)
    >>> selector.order_[:2], selector.path_.round(3)
    (array([2, 3]), array([0.88 , 0.953]))
    """

    sees = "some labels"
    greater_is_better = True
    searches = True
    path_has_optimum = True
    _seconds = 6.0
    references = ("whitney1971", "salmi2020")
    _constant_is_undefined = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "cv": [StrOptions({"loo"}), "cv_object"],
    }

    cv: Any = "loo"

    def _n_steps(self, n_samples: int, n_features: int) -> int:
        wanted = count_features(self.n_features_to_select, n_features)
        return self._steps_for(wanted, n_features)

    def _check_data(self, X: Any, y: Any) -> tuple[Samples, Any]:
        return self._check_samples_with_labels(X, y), check_labels(y)

    def _know(self, given: Given, n_samples: int) -> Supervision:
        known = from_labels(given.y, n_samples)
        if known.lone_class is not None:
            raise GuidedValueError(
                f"{type(self).__name__} needs at least 2 classes, but {known.lone_class.problem}",
                known.lone_class.hint,
            )
        self._check_classes(encode_labels(given.y)[1])
        return known

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        labelled = np.flatnonzero(~known.unlabelled)
        classes = known.classes[labelled]
        samples = X.take(labelled).dense()
        n_selected = count_features(self.n_features_to_select, X.shape[1])
        found = select_by_nearest_neighbor(
            samples,
            classes,
            self._n_steps(*X.shape),
            self._splits(samples, classes, labelled, X.shape[0]),
            first=self._first,
            track=track,
            n_jobs=self.n_jobs,
        )
        return Ranking(found.scores, found.order, n_selected, {"path_": found.path})

    def _splits(
        self, samples: NDArray[Any], classes: IntArray, labelled: IntArray, n_samples: int
    ) -> list[tuple[IntArray, IntArray]] | None:
        """Return the splits, given as positions among the labelled samples."""
        if isinstance(self.cv, str):
            return None
        if self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split"):
            return list(check_cv(self.cv, classes, classifier=True).split(samples, classes))
        position = np.full(n_samples, -1, dtype=np.intp)
        position[labelled] = np.arange(len(labelled))
        return _labelled_splits(self.cv, position)


def _labelled_splits(
    splits: Iterable[tuple[ArrayLike, ArrayLike]], position: IntArray
) -> list[tuple[IntArray, IntArray]]:
    """Convert row numbers to positions among the labelled samples, dropping unlabelled rows."""
    found = []
    for number, split in enumerate(splits):
        sides = []
        for side, rows in zip(("training", "test"), split, strict=True):
            rows = np.asarray(rows)
            rows = np.flatnonzero(rows) if rows.dtype == bool else rows
            outside = rows[(rows < 0) | (rows >= len(position))]
            if len(outside):
                raise ValueError(
                    f"Split {number} of cv contains row {outside[0]}, but X has {len(position)} "
                    f"rows (0..{len(position) - 1})."
                )
            places = position[rows]
            sides.append(places[places >= 0])
            if not len(sides[-1]):
                raise GuidedValueError(
                    f"Split {number} of cv has no labelled {side} sample among its "
                    f"{many(len(rows), 'row')}.",
                    'Label some of these rows, choose other splits, or pass cv="loo".',
                )
        found.append((sides[0], sides[1]))
    if not found:
        raise GuidedValueError(
            "cv has no splits.", 'Pass a list of (train, test) rows, a number of folds, or "loo".'
        )
    return found
