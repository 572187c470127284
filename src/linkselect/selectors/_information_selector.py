"""Base class of selectors that use the mutual information of discretised features."""

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, StrOptions

from linkselect._messages import GuidedValueError
from linkselect._samples import Samples
from linkselect._search.discretize import states_of
from linkselect._supervision import Supervision
from linkselect.selectors._parameters import with_parameters
from linkselect.selectors._supervised_selectors import LabelSelector


@with_parameters
class InformationSelector(LabelSelector):
    """Base class of selectors that discretise features and count joint states."""

    greater_is_better = True
    searches = True
    _constant_is_undefined = False
    _squares_differences = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": LabelSelector._parameter_constraints["n_features_to_select"],
        "discretize": [
            StrOptions({"deviation", "uniform", "quantile"}),
            HasMethods(["fit_transform", "get_params"]),
            None,
        ],
    }

    discretize: Any = "deviation"
    # Counting runs in one thread.
    n_jobs: int | None = field(default=None, init=False)

    @property
    def _takes_categories(self) -> bool:
        return self.discretize is None

    def _states(self, X: Samples, known: Supervision) -> NDArray[np.integer[Any]]:
        if self.discretize is None or isinstance(self.discretize, str):
            return states_of(X, self.discretize)
        made = clone(self.discretize).fit_transform(X.values, known.classes)
        shape = getattr(made, "shape", None)
        if shape != X.shape:
            raise GuidedValueError(
                f"discretize={self.discretize!r} returned shape {shape} for X of shape {X.shape}, "
                "but it must convert every feature to one column of states.",
                'Set encode="ordinal" for KBinsDiscretizer.',
            )
        return states_of(made.to_numpy() if hasattr(made, "to_numpy") else made, None)
