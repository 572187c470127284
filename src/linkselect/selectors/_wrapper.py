"""What selectors around another selector share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods

from linkselect._arrays import BoolArray, FloatArray
from linkselect._samples.checks import Given
from linkselect._supervision import present_pairs
from linkselect.selectors._method import Need, Sees, describe
from linkselect.selectors._selector import RankingSelector


class Wrapper(RankingSelector):
    """A selector that fits another one, of this library or any with `get_support`."""

    wraps = True
    _constant_is_undefined = False
    # Whether tiny differences are a problem is for the wrapped selector to say.
    _squares_differences = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": RankingSelector._parameter_constraints["n_features_to_select"],
        "estimator": [HasMethods(["fit", "get_support"])],
    }

    estimator: Any

    @property
    def sees(self) -> Sees:  # type: ignore[override]
        """What the wrapped selector looks at beside the features."""
        return describe(self.estimator).sees

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        """What the wrapped selector cannot work without."""
        return describe(self.estimator).needs

    def _know(self, given: Given, n_samples: int) -> Given:
        return read_once(given, n_samples, self.sees)

    def _warn(self, scores: FloatArray, constant: BoolArray) -> None:
        """Say nothing: the wrapped selector has warned about its input already."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = inner.target_tags.required
        return tags


def read_once(given: Given, n_samples: int, sees: Sees = "pairs") -> Given:
    """Read the ids, so that several selectors can; what is odd about them is said once."""
    if given.sample_ids is None:
        return given
    ids = tuple(given.sample_ids)
    if given.pairs is None or sees != "pairs":
        return replace(given, sample_ids=ids)
    held, _ = present_pairs(given.pairs, n_samples, ids, ids_are_index=given.ids_are_index)
    return replace(given, pairs=held, sample_ids=ids)


def arguments_of(given: Given, selector: Any) -> dict[str, Any]:
    """Return what the `fit` of a selector is given beside X: pairs only if it looks at them."""
    if given.pairs is None or describe(selector).sees != "pairs":
        return {"y": given.y}
    return {"y": given.y, "pairs": given.pairs, "sample_ids": given.sample_ids}
