"""Quadratic forms of graphs, computed for all features at once.

Nearly every score is based on `f'Lf = sum over edges of w_ij (f_i - f_j)^2`. All computations use
float64 and process blocks of columns. They are based on differences or centred values, so a large
offset of a feature costs no precision. The class `Samples` hides how the samples are stored.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray
from linkselect._blocks import centre
from linkselect._samples import Samples, as_samples
from linkselect._samples.devices import namespace_of
from linkselect._samples.moments import Moments, weighted_sum
from linkselect._samples.samples import Grouping
from linkselect.graphs._graph_types import Edges, Graph, Groups, Kernel

# A reconstruction error below this fraction of the standard deviation is rounding error.
RECONSTRUCTED_EXACTLY = 1e-9


def laplacian_form(X: Any, graph: Graph, n_jobs: int | None = None) -> FloatArray:
    """Compute `f'Lf`, the sum over edges of `w_ij (f_i - f_j)^2`, for every feature.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any numeric type, in any supported storage.
    graph : Edges, Groups, Kernel or a tuple of these
        The graph, or several graphs whose weights are added.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    return as_samples(X).map_column_parts(partial(_laplacian_form, graph=graph), n_jobs)


def _laplacian_form(X: Samples, graph: Graph, n_jobs: int | None) -> FloatArray:
    match graph:
        case Edges():
            return X.edge_form(graph, n_jobs)
        case Groups():
            return _group_form(X, graph, n_jobs)
        case Kernel():
            return X.kernel_form(graph, n_jobs)
        case tuple():
            first, *others = (_laplacian_form(X, part, n_jobs) for part in graph)
            return sum(others, start=first)


def laplacian_forms(
    X: Any, one: Graph, other: Graph, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute `laplacian_form` for two graphs.

    If both have the same groups, a single pass over X suffices.
    """
    match one, other:
        case Groups(strength=None), Groups(strength=None) if one.codes is other.codes:
            forms = from_moments(
                partial(_plain_forms, (one, other)), X, (one.codes, None), n_jobs=n_jobs
            )
            return forms[0, :], forms[1, :]
    return laplacian_form(X, one, n_jobs), laplacian_form(X, other, n_jobs)


def laplacian_product(graph: Edges | Groups, values: FloatArray) -> FloatArray:
    """Compute the product of the graph Laplacian L with `values`, which has one row per sample.

    For groups, a single pass over the values suffices, regardless of the number of edges.
    """
    if isinstance(graph, Edges):
        return graph.degrees[:, None] * values - graph.to_csr() @ values
    if graph.strength is not None:
        raise NotImplementedError("Groups in which samples have strengths are not supported.")
    rows = np.flatnonzero(graph.codes >= 0)
    codes = graph.codes[rows]
    member = csr_array((np.ones(len(rows)), (codes, np.arange(len(rows)))))
    of_group = member @ values[rows]
    partners = of_group.sum(axis=0) - of_group if graph.across else of_group
    partners = partners[codes] if graph.across else partners[codes] - values[rows]
    product = np.zeros(values.shape)
    product[rows] = graph.degrees[rows, None] * values[rows] - graph.weight * partners
    return product


def degree_form(
    X: Any, degrees: FloatArray, *, centred: bool = True, n_jobs: int | None = None
) -> FloatArray:
    """Compute `f'Df`, the sum of `degrees[i] * f_i^2`, for every feature.

    If `centred` is true, the mean of each feature, weighted by `degrees`, is subtracted first.
    """

    def form(parts: Moments) -> FloatArray:
        scatter = parts.scatter[0, :]
        return scatter if centred else scatter + parts.mass[0] * parts.means_minus(0.0)[0, :] ** 2

    return from_moments(form, X, (np.zeros(len(degrees), dtype=np.intp), degrees), n_jobs=n_jobs)


def from_moments(
    function: Callable[..., FloatArray], X: Any, *groupings: Grouping, n_jobs: int | None = None
) -> FloatArray:
    """Apply a function to the moments of all features within groups of samples.

    Parameters
    ----------
    function : callable
        Function that takes one `Moments` object per grouping for a block of features, and returns
        an array whose last axis corresponds to these features.
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any numeric type, in any supported storage.
    *groupings : tuple of (codes, weights)
        The group of each sample (-1 for samples without a group), and the weight of each sample
        (None if all weights are 1).
    n_jobs : int, optional
        Number of threads.
    """
    found: FloatArray = as_samples(X).from_moments(function, groupings, n_jobs)
    return found


def reconstruction_form(X: Any, weights: csr_array, n_jobs: int | None = None) -> FloatArray:
    """Compute `|f - S f|^2`, the squared reconstruction error, for every feature.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any numeric type, in any supported storage.
    weights : csr_array of shape (n_samples, n_samples)
        The matrix S. Its rows sum to 1, so adding a constant to a feature does not change the
        result.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    ndarray of shape (n_features,)
    """

    def work(block: FloatArray) -> FloatArray:
        centred = centre(block)
        error = centred - weights @ centred
        # Many features may be reconstructed exactly; rounding must not determine their order.
        deviation = np.sqrt(np.square(centred).mean(axis=0))
        error[np.abs(error) <= RECONSTRUCTED_EXACTLY * deviation] = 0.0
        return np.square(error).sum(axis=0)

    found: FloatArray = as_samples(X).map_columns(work, n_jobs=n_jobs, dense=True)
    return found


def ratio(above: FloatArray, below: FloatArray | float) -> FloatArray:
    """Return the quotient of two forms.

    The result of 0 / 0 is NaN, and any other quotient with denominator 0 is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return above / below


# -- groups ---------------------------------------------------------------------------------


def _group_form(X: Any, graph: Groups, n_jobs: int | None) -> FloatArray:
    plain = (graph.codes, None)
    if graph.strength is None:
        return from_moments(partial(_plain_form, graph), X, plain, n_jobs=n_jobs)
    work = partial(_across_groups, graph.weight)
    return from_moments(work, X, plain, (graph.codes, graph.strength), n_jobs=n_jobs)


def _plain_form(graph: Groups, plain: Moments) -> FloatArray:
    if graph.across:
        return _across_groups(graph.weight, plain)
    # The squared differences between all pairs of n samples add up to n times their scatter.
    return graph.weight * weighted_sum(plain.mass, plain.scatter)


def _plain_forms(graphs: tuple[Groups, ...], plain: Moments) -> FloatArray:
    return namespace_of(plain.mass).stack([_plain_form(graph, plain) for graph in graphs])


def _across_groups(weight: float, plain: Moments, strong: Moments | None = None) -> FloatArray:
    xp = namespace_of(plain.mass)
    n_samples = xp.sum(plain.mass)
    if strong is None:
        # The squared differences of all pairs of n samples add up to `n (within + between)`, those
        # inside group c to `n_c scatter_c`. The remainder belongs to pairs across groups.
        inside = weighted_sum(n_samples - plain.mass, plain.scatter)
        return weight * (inside + n_samples * plain.between())
    # Each edge contributes twice: one end is weighted by its strength s, the other end by 1. With
    # the groups a and b of these ends, the form is the sum over a != b of
    # `n_b scatter_a(s) + s_a scatter_b + s_a n_b (mean_a(s) - mean_b)^2`.
    form = weighted_sum(n_samples - plain.mass, strong.scatter)
    form = form + weighted_sum(xp.sum(strong.mass) - strong.mass, plain.scatter)
    for group in range(strong.mass.shape[0]):
        # Exclude the group itself.
        before, after = plain.mass[:group], plain.mass[group + 1 :]
        others = xp.concat([before, xp.zeros_like(plain.mass[:1]), after])
        gaps = plain.means_minus_group(strong, group)
        form = form + strong.mass[group] * weighted_sum(others, gaps**2)
    return weight * form
