"""What selectors around another selector share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods

from linkselect.pairs import Pairs
from linkselect.selectors.selector import RankingSelector
from linkselect.supervision import Supervision, check_index

__all__ = []


@dataclass(frozen=True)
class _Given(Supervision):
    """What was given to `fit`, to be handed on to the wrapped selector as it is."""

    y: Any = None
    pairs: Pairs | None = None
    sample_ids: tuple[Hashable, ...] | None = None

    def arguments(self) -> dict[str, Any]:
        """Return what the wrapped selector's `fit` takes besides X; pairs only if given."""
        if self.pairs is None:
            return {"y": self.y}
        return {"y": self.y, "pairs": self.pairs, "sample_ids": self.sample_ids}


class _Wrapper(RankingSelector):
    """A selector that fits another one, of this library or any with `get_support`."""

    _constant_is_undefined = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": RankingSelector._parameter_constraints["n_features_to_select"],
        "estimator": [HasMethods(["fit", "get_support"])],
    }

    estimator: Any

    def _know(
        self, n_samples: int, y: Any, pairs: Any, sample_ids: Any, ids_are_index: bool
    ) -> _Given:
        ids = None if sample_ids is None else tuple(sample_ids)
        if isinstance(pairs, Pairs) and ids is not None and ids_are_index:
            check_index(pairs, ids)
        return _Given(np.full(n_samples, -1, dtype=np.intp), y=y, pairs=pairs, sample_ids=ids)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = inner.target_tags.required
        return tags
