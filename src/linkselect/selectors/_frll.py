"""FRLL, which ranks features based on neighbours of the same class and of other classes."""

from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import StrOptions

from linkselect import scores
from linkselect._arrays import FloatArray
from linkselect._messages import GuidedValueError
from linkselect._samples import Samples
from linkselect._supervision import Supervision
from linkselect.graphs import class_neighbors
from linkselect.selectors._neighbor_graph import find_neighbors
from linkselect.selectors._parameters import NEIGHBORS, RADIUS, with_parameters
from linkselect.selectors._supervised_selectors import LabelSelector


@with_parameters
class FRLL(LabelSelector):
    """Rank features by how well they separate neighbours of different classes (FRLL).

    Let A contain the pairs of neighbours in the same class, B those in different classes, and let
    `Q(f; A)` be the sum of `(f_i - f_j)^2` over A. The score of a feature f is `Q(f; B) / Q(f; A)`
    or `Q(f; B) - Q(f; A)`; larger is better. The label -1 is an ordinary class here.

    Not suitable if all neighbours belong to the same class: B is then empty and the quotient is
    always 0. In this case, use `neighbors="per_class"`.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number (int) or fraction (float) of features to keep. "auto" keeps half of them.
    criterion : {"quotient", "difference"}, default="quotient"
        Whether the score is `Q(f; B) / Q(f; A)` or `Q(f; B) - Q(f; A)`.
    neighbors : {"overall", "per_class"}, default="overall"
        Whether neighbours are determined among all samples and then divided by class ("overall"),
        or separately within the class of a sample and among all other classes ("per_class").
    n_neighbors : int, default=5
        Number of nearest neighbours. Two samples are neighbours if either is among the
        `n_neighbors` nearest samples of the other.
    radius : float, optional
        If given, samples are neighbours if their distance is at most `radius`, and `n_neighbors` is
        ignored. Only for `neighbors="overall"`.
    n_jobs : int, optional
        Number of threads; -1 uses all CPU cores. Default: the number of BLAS threads.

    See Also
    --------
    FisherScore : Compares class means instead of neighbours.
    ReliefF : Compares the nearest hits and misses of every sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FRLL
    >>> X, y = load_iris(return_X_y=True)
    >>> FRLL().fit(X, y).order_
    array([3, 0, 2, 1])
    """

    greater_is_better = True
    works_on = ("memory", "sparse", "device")
    references = ("pan2013",)
    _infinite = "no two neighbours of the same class have different values"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelSelector._parameter_constraints,
        "criterion": [StrOptions({"quotient", "difference"})],
        "neighbors": [StrOptions({"overall", "per_class"})],
        "n_neighbors": NEIGHBORS,
        "radius": RADIUS,
    }

    criterion: Literal["quotient", "difference"] = "quotient"
    neighbors: Literal["overall", "per_class"] = "overall"
    n_neighbors: int = 5
    radius: float | None = None

    @property
    def _constant_is_undefined(self) -> bool:  # type: ignore[override]
        return self.criterion == "quotient"

    def _score(self, X: Samples, known: Supervision) -> FloatArray:
        if self.neighbors == "per_class":
            if self.radius is not None:
                raise GuidedValueError(
                    f'radius={self.radius:g} requires neighbors="overall", because "per_class" '
                    "uses n_neighbors instead.",
                    "Pass radius=None to use n_neighbors.",
                    "radius",
                )
            same, other = class_neighbors(X, known.classes, self.n_neighbors, self.n_jobs)
        else:
            near = find_neighbors(X, self.n_neighbors, self.radius, self.n_jobs).reweigh(1.0)
            alike = known.classes[near.left] == known.classes[near.right]
            same, other = near.keep(alike), near.keep(~alike)
        return scores.frll(X, same, other, self.criterion, self.n_jobs)
