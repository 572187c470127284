"""What selectors around other selectors share."""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods

from linkselect._arrays import BoolArray, FloatArray
from linkselect._batches import row_codes
from linkselect._messages import GuidedTypeError
from linkselect._samples.checks import Given
from linkselect._supervision import present_pairs
from linkselect.pairs import Pairs
from linkselect.selectors._method import Need, Sees, describe, uses_groups
from linkselect.selectors._selector import RankingSelector


class TakesGroups(RankingSelector):
    """A selector that may work around others, to which it hands groups of samples."""

    # No parameter: `fit` sets it for as long as it runs.
    _groups: ArrayLike | None = None

    @property
    def _uses_groups(self) -> bool:
        """Whether some selector inside resamples or splits rows."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        pairs: Pairs | None = None,
        sample_ids: Iterable[Hashable] | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score and rank the features.

        Parameters
        ----------
        X, y, pairs, sample_ids
            As in every selector, such as `LinkSelector.fit`.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as a patient with several samples: resamples never split a
            group. An error if no selector inside resamples. With metadata routing they arrive
            without being asked for.

        Returns
        -------
        self
        """
        if groups is not None and not self._uses_groups:
            raise GuidedTypeError(
                f"{type(self).__name__} was given groups, but no selector in it resamples rows.",
                "Leave groups= out, or put a StableSelector inside.",
                "groups",
            )
        self._groups = groups
        try:
            return super().fit(X, y, pairs=pairs, sample_ids=sample_ids)
        finally:
            del self._groups

    def get_metadata_routing(self) -> Any:
        """Request groups if some selector inside uses them, unless the user has decided."""
        request = super().get_metadata_routing()
        if request.fit.requests.get("groups") is None:
            request.fit.add_request(param="groups", alias=self._uses_groups)
        return request

    def _with_groups(self, given: Given, n_samples: int) -> Given:
        """Add the groups that `fit` was given, by number."""
        if self._groups is None:
            return given
        return replace(given, groups=row_codes(self._groups, n_samples, "groups"))


class Wrapper(TakesGroups):
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

    @property
    def _uses_groups(self) -> bool:
        return uses_groups(self.estimator)

    def _know(self, given: Given, n_samples: int) -> Given:
        return read_once(self._with_groups(given, n_samples), n_samples, self.sees)

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
    """Return what the `fit` of a selector is given beside X: pairs and groups if it uses them."""
    found = {"y": given.y}
    if given.groups is not None and uses_groups(selector):
        found["groups"] = given.groups
    if given.pairs is not None and describe(selector).sees == "pairs":
        found |= {"pairs": given.pairs, "sample_ids": given.sample_ids}
    return found
