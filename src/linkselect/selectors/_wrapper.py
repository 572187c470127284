"""Base classes of selectors that wrap other selectors."""

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
    """Base class of selectors that pass groups of samples on to their inner selectors."""

    # Not a parameter: set only while `fit` runs.
    _groups: ArrayLike | None = None

    @property
    def _uses_groups(self) -> bool:
        """Whether an inner selector resamples or splits rows."""
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
            The same as in all selectors; see `LinkSelector.fit`.
        groups : array-like of shape (n_samples,), optional
            Group of each row, such as the patient from whom a sample was taken. Resampling does not
            split groups. An error is raised if no inner selector resamples rows. With metadata
            routing, groups are passed without an explicit request.

        Returns
        -------
        self
        """
        if groups is not None and not self._uses_groups:
            raise GuidedTypeError(
                f"{type(self).__name__} was given groups, but no inner selector resamples rows.",
                "Omit groups, or use a StableSelector as an inner selector.",
                "groups",
            )
        self._groups = groups
        try:
            return super().fit(X, y, pairs=pairs, sample_ids=sample_ids)
        finally:
            del self._groups

    def get_metadata_routing(self) -> Any:
        """Request groups if an inner selector uses them and the user has not set a request."""
        request = super().get_metadata_routing()
        if request.fit.requests.get("groups") is None:
            request.fit.add_request(param="groups", alias=self._uses_groups)
        return request

    def _with_groups(self, given: Given, n_samples: int) -> Given:
        """Add the groups that were passed to `fit`, as one number per row."""
        if self._groups is None:
            return given
        return replace(given, groups=row_codes(self._groups, n_samples, "groups"))


class Wrapper(TakesGroups):
    """Base class of selectors that fit another selector of this or another library."""

    wraps = True
    _constant_is_undefined = False
    # The wrapped selector checks itself whether features vary too little to be squared.
    _squares_differences = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": RankingSelector._parameter_constraints["n_features_to_select"],
        "estimator": [HasMethods(["fit", "get_support"])],
    }

    estimator: Any

    @property
    def sees(self) -> Sees:  # type: ignore[override]
        """Kind of supervision that the wrapped selector uses."""
        return describe(self.estimator).sees

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        """Supervision that the wrapped selector requires."""
        return describe(self.estimator).needs

    @property
    def _uses_groups(self) -> bool:
        return uses_groups(self.estimator)

    def _know(self, given: Given, n_samples: int) -> Given:
        return read_once(self._with_groups(given, n_samples), n_samples, self.sees)

    def _warn(self, scores: FloatArray, constant: BoolArray) -> None:
        """Do nothing, because the wrapped selector has already warned about its input."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = inner.target_tags.required
        return tags


def read_once(given: Given, n_samples: int, sees: Sees = "pairs") -> Given:
    """Read IDs and pairs once for several selectors, so that each problem is reported only once."""
    if given.sample_ids is None:
        return given
    ids = tuple(given.sample_ids)
    if given.pairs is None or sees != "pairs":
        return replace(given, sample_ids=ids)
    held, _ = present_pairs(given.pairs, n_samples, ids, ids_are_index=given.ids_are_index)
    return replace(given, pairs=held, sample_ids=ids)


def arguments_of(given: Given, selector: Any) -> dict[str, Any]:
    """Return the keyword arguments for a selector's `fit`: y, pairs and groups, if used."""
    found = {"y": given.y}
    if given.groups is not None and uses_groups(selector):
        found["groups"] = given.groups
    if given.pairs is not None and describe(selector).sees == "pairs":
        found |= {"pairs": given.pairs, "sample_ids": given.sample_ids}
    return found
