"""Base classes of selectors that use a nearest-neighbour graph."""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from linkselect import graphs
from linkselect._arrays import BoolArray, FloatArray
from linkselect._messages import GuidedValueError, many, warn_user
from linkselect._samples import Samples
from linkselect._samples.neighbors import none_found
from linkselect._supervision import Supervision, restrict
from linkselect.graphs import _sampled as sampled
from linkselect.graphs._distance_graphs import check_n_neighbors
from linkselect.selectors import _parameters as allowed
from linkselect.selectors._ranking import Ranking
from linkselect.selectors._selector import RankingSelector, Track

# A standard error needs, on average, this many drawn samples that account for the variance of the
# feature. With fewer, a draw may miss the samples that matter and underestimate the error: with 10
# to 20, two standard errors covered 81 to 88 % of lognormal features; with more, 90 to 96 % of word
# counts.
LEAST_CARRIERS = 20
# If a larger share of the drawn samples has the same neighbour, nearly all edges end in a few hubs.
# Along these edges, a feature varies as much as it does overall, so the score depends on the few
# other edges.
LARGEST_HUB = 0.5


@allowed.with_parameters
class GraphSelector(RankingSelector):
    """Base class of selectors that use the nearest neighbours of all or randomly drawn samples."""

    works_on = ("memory", "sparse", "device", "parts")
    # Why a feature that varies may have no score even if no samples are drawn.
    _why_undefined: ClassVar[str] = RankingSelector._undefined
    # Whether the neighbours of every sample with a label or in a pair are needed.
    _asks_all_known: ClassVar[bool] = False
    # Whether, given the edges, the score of a feature is independent of the other features.
    _scores_columns_apart: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankingSelector._parameter_constraints,
        "n_neighbors": allowed.NEIGHBORS,
        "max_queries": [None, *allowed.AT_LEAST_1],
        "neighbors_transformer": allowed.NEIGHBORS_TRANSFORMER,
        "random_state": ["random_state"],
    }

    n_neighbors: int = 5
    max_queries: int | None = None
    neighbors_transformer: Any = None
    random_state: int | np.random.RandomState | None = None

    @property
    def _undefined(self) -> str:  # type: ignore[override]
        if self.max_queries is None:
            return self._why_undefined
        return (
            "there is no variation among the drawn samples and their neighbours (a larger "
            f"max_queries helps), or {self._why_undefined}"
        )

    def _score_graph(
        self, X: Samples, near: graphs.Edges, known: Supervision, sigma: float
    ) -> FloatArray:
        """Compute scores from edges between neighbours; the edge weights are squared distances."""
        raise NotImplementedError(f"{type(self).__name__} has no _score_graph.")

    def _width(self, X: Samples) -> float:
        """Return the width of the Gaussian; 0 if the method does not use a Gaussian."""
        sigma = getattr(self, "sigma", None)
        return 0.0 if sigma is None else graphs.resolve_sigma(sigma, X, self.n_jobs)

    def _needs_graph(self, known: Supervision) -> bool:
        """Return whether edges between neighbours affect the scores."""
        return True

    def _rank(
        self, X: Samples, known: Supervision, constant: BoolArray, track: Track[Any]
    ) -> Ranking:
        """Score the features. If samples were drawn, standard errors are estimated as well."""
        self._check_search(X, known)
        queries = self._queries(X, known) if self._needs_graph(known) else None
        if queries is None:
            near, sigma = self._all_neighbors(X, known), self._width(X)
            return self._by_score(X, self._score_graph(X.held(), near, known, sigma), constant)
        found = sampled.sampled_edges(X, self.n_neighbors, queries, self.n_jobs)
        scores, errors = self._from_draw(X, known, queries, found)
        refused = self._refused_errors(X, errors, queries, found)
        fitted = {"standard_errors_": np.where(refused, np.nan, errors)}
        return self._by_score(X, scores, constant, fitted)

    def _refused_errors(
        self, X: Samples, errors: FloatArray, queries: sampled.Queries, found: sampled.SampledEdges
    ) -> BoolArray:
        """Return a mask of the unreliable standard errors, and warn about them."""
        stated = np.isfinite(errors)
        hub = found.largest_hub
        if hub > LARGEST_HUB and stated.any():
            warn_user(
                "The standard errors of all features are NaN, and the scores may be inaccurate, "
                f"because one sample is a neighbour of {hub:.0%} of the drawn samples. This is "
                "typical of rows with few counts.",
                hint="Scale rows to the same norm first, for example with "
                f"sklearn.preprocessing.normalize, or pass max_queries={X.shape[0]} for exact "
                "scores.",
                settings={"max_queries": str(X.shape[0])},
            )
            return stated
        n_drawn = len(queries.drawn)
        n_needed = np.ceil(LEAST_CARRIERS * X.kurtosis(self.n_jobs))
        refused: BoolArray = stated & (n_needed > n_drawn)
        if n_refused := int(np.count_nonzero(refused)):
            n_asked = min(len(queries.always) + int(n_needed[refused].max()), X.shape[0])
            warn_user(
                f"{n_refused} of {len(refused)} features {'has' if n_refused == 1 else 'have'} no "
                "standard error (NaN), because few samples account for most of the variance. A "
                f"draw of {n_drawn:,} samples contains fewer than {LEAST_CARRIERS} of these "
                "samples on average, so the scores may be inaccurate.",
                hint=f"Pass max_queries={n_asked} for standard errors of all features, or "
                "transform skewed features first, for example with np.log1p.",
                settings={"max_queries": str(n_asked)},
            )
        return refused

    def _from_draw(
        self, X: Samples, known: Supervision, queries: sampled.Queries, found: sampled.SampledEdges
    ) -> Iterable[FloatArray]:
        """Return scores that are estimated from the drawn samples, and their standard errors."""
        sigma = self._width(X)
        labelled = np.flatnonzero(~known.unlabelled)
        if X.by_columns or len(labelled) > len(queries.always):
            X = X.holding(found.rows, self.n_jobs)
            return self._with_errors(X, found, known, sigma)
        # Only these samples matter, so the problem fits into memory.
        rows = np.union1d(found.rows, labelled)
        known, found = restrict(known, rows), found.among(rows)
        if not self._scores_columns_apart:
            return self._with_errors(X.take(rows), found, known, sigma)
        return X.map_rows(lambda some: self._with_errors(some, found, known, sigma), rows)

    def _with_errors(
        self, X: Samples, found: sampled.SampledEdges, known: Supervision, sigma: float
    ) -> tuple[FloatArray, FloatArray]:
        def score(near: graphs.Edges) -> FloatArray:
            return self._score_graph(X, near, known, sigma)

        return score(found.counted()), sampled.standard_errors(score, found)

    def _all_neighbors(self, X: Samples, known: Supervision) -> graphs.Edges:
        if not self._needs_graph(known):
            check_n_neighbors(self.n_neighbors, X.shape[0])
            return graphs.Edges(X.shape[0], *none_found())
        if self.neighbors_transformer is not None:
            proposals = clone(self.neighbors_transformer).fit_transform(X.values)
            return graphs.proposed_edges(X, proposals, self.n_neighbors, self.n_jobs)
        return find_neighbors(X, self.n_neighbors, getattr(self, "radius", None), self.n_jobs)

    def _queries(self, X: Samples, known: Supervision) -> sampled.Queries | None:
        """Draw the samples whose nearest neighbours are computed; None means all samples."""
        n_samples, n_queries = X.shape[0], self.max_queries
        if n_queries is None and X.default_queries is not None and n_samples > X.default_queries:
            n_queries = X.default_queries
            warn_user(
                f"X has {many(n_samples, 'sample')} stored outside memory, so the nearest "
                f"neighbours of only {n_queries:,} samples are computed and the scores are "
                "estimates (see standard_errors_).",
                hint=f"Pass max_queries={n_queries} to suppress this warning, or more for smaller "
                "errors.",
                settings={"max_queries": str(n_queries)},
            )
        if n_queries is None or n_queries >= n_samples:
            return None
        n_known = int(np.count_nonzero(~known.unlabelled))
        if self._asks_all_known and 2 * n_known > n_queries:
            raise GuidedValueError(
                f"max_queries={n_queries} is too small: {type(self).__name__} requires the "
                f"neighbours of every sample with a label or in a pair ({n_known:,} of "
                f"{n_samples:,}), and of at least as many other samples.",
                f"Pass max_queries={2 * n_known} or more, or reduce the number of labels.",
                "max_queries",
            )
        # Only NumPy's new generators draw from a billion samples without listing them.
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return sampled.draw_queries(~known.unlabelled, n_queries, np.random.default_rng(seed))

    def _check_search(self, X: Samples, known: Supervision) -> None:
        """Raise an error if parameters specify more than one way to find neighbours."""
        given = [
            name
            for name in ("neighbors_transformer", "radius", "max_queries")
            if getattr(self, name, None) is not None
        ]
        if len(given) > 1:
            raise GuidedValueError(
                f"{' and '.join(given)} are alternative ways to find neighbours.",
                f"Pass only one of these parameters, such as {given[0]}.",
                given[1],
            )
        if X.kind == "parts" and given and given != ["max_queries"]:
            raise GuidedValueError(
                f"{given[0]} requires the samples in memory, but X is stored outside memory.",
                f"Pass {given[0]}=None. To limit the number of samples whose neighbours are "
                "computed, use max_queries.",
                "X",
            )
        if X.most_listed is not None and self._needs_graph(known):
            self._check_edges(X, X.most_listed)
        if self.neighbors_transformer is not None and X.kind == "device":
            raise GuidedValueError(
                "neighbors_transformer requires NumPy or SciPy arrays, but X is on a device.",
                "Pass neighbors_transformer=None: the exact search runs on the device.",
                "neighbors_transformer",
            )

    def _check_edges(self, X: Samples, most: int) -> None:
        """Raise an error if X is outside memory and there are too many neighbours to list."""
        n_asked = min(self.max_queries or X.default_queries or X.shape[0], X.shape[0])
        n_listed = n_asked * self.n_neighbors
        if self.n_neighbors < X.shape[0] and n_listed > most:
            raise GuidedValueError(
                f"n_neighbors={self.n_neighbors} for {many(n_asked, 'sample')} yields {n_listed:,} "
                f"neighbours, but at most {most:,} are supported if X is stored outside memory.",
                "Choose a smaller value of n_neighbors or max_queries.",
                "n_neighbors",
            )


@allowed.with_parameters
class NeighborGraphSelector(GraphSelector):
    """Base class of selectors that use only the graph of nearest neighbours."""

    _why_undefined = (
        "there is no variation between neighbours with a positive weight (a larger sigma helps if "
        "weights have vanished)"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        "sigma": allowed.SIGMA,
        "weights": [StrOptions({"gaussian", "binary"})],
        "radius": allowed.RADIUS,
    }

    sigma: float | Literal["auto"] = "auto"
    weights: Literal["gaussian", "binary"] = "gaussian"
    radius: float | None = None

    def _width(self, X: Samples) -> float:
        return 0.0 if self.weights == "binary" else super()._width(X)

    def _weighted(self, near: graphs.Edges, sigma: float) -> graphs.Edges:
        return near.reweigh(1.0) if self.weights == "binary" else graphs.gaussian_edges(near, sigma)


def find_neighbors(
    X: Samples, n_neighbors: int, radius: float | None, n_jobs: int | None
) -> graphs.Edges:
    """Return the edges between nearest neighbours, or between all samples within a radius."""
    if radius is None:
        return graphs.nearest_edges(X, n_neighbors, n_jobs)
    near = graphs.ball_edges(X, radius, n_jobs)
    if not len(near.left):
        closest = np.sqrt(graphs.nearest_edges(X, 1, n_jobs).weights.min())
        raise GuidedValueError(
            f"radius={radius:g} is too small: the two closest samples are {closest:g} apart.",
            "Increase radius, or pass radius=None to use n_neighbors.",
            "radius",
        )
    return near
