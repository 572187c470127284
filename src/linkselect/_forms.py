"""Quadratic forms: a graph seen by every feature at once.

`f'Lf = sum over edges of w_ij (f_i - f_j)^2` is the form that nearly every score is made of.
All of it works in float64 on column blocks, and on differences or centred values, so that the size
of a feature's offset does not matter. How the samples are stored, they alone know.
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

# A reconstruction error below this share of the deviation is rounding.
RECONSTRUCTED_EXACTLY = 1e-9


def laplacian_form(X: Any, graph: Graph, n_jobs: int | None = None) -> FloatArray:
    """Compute `f'Lf`, the sum over edges of `w_ij (f_i - f_j)^2`, for every feature.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind and numeric type.
    graph : Edges, Groups, Kernel or a tuple of these
        The parts of a tuple add up.
    n_jobs : int, optional
        The number of threads.

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
    """Compute `laplacian_form` of two graphs; groups of the same samples cost one pass over X."""
    match one, other:
        case Groups(strength=None), Groups(strength=None) if one.codes is other.codes:
            forms = from_moments(
                partial(_plain_forms, (one, other)), X, (one.codes, None), n_jobs=n_jobs
            )
            return forms[0, :], forms[1, :]
    return laplacian_form(X, one, n_jobs), laplacian_form(X, other, n_jobs)


def laplacian_product(graph: Edges | Groups, values: FloatArray) -> FloatArray:
    """Compute `L values`, where the columns of `values` run over the samples.

    Groups cost as much as one pass over the values, however many edges they stand for.
    """
    if isinstance(graph, Edges):
        return graph.degrees[:, None] * values - graph.to_csr() @ values
    if graph.strength is not None:
        raise NotImplementedError("Edges of different strength have no product here.")
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

    If `centred`, each feature first loses its mean under the weights `degrees`.
    """

    def form(parts: Moments) -> FloatArray:
        scatter = parts.scatter[0, :]
        return scatter if centred else scatter + parts.mass[0] * parts.means_minus(0.0)[0, :] ** 2

    return from_moments(form, X, (np.zeros(len(degrees), dtype=np.intp), degrees), n_jobs=n_jobs)


def from_moments(
    function: Callable[..., FloatArray], X: Any, *groupings: Grouping, n_jobs: int | None = None
) -> FloatArray:
    """Compute what a function makes of the moments of groups, for every feature.

    Parameters
    ----------
    function : callable
        Takes a `Moments` for each grouping, over some features, and returns an array whose last
        axis runs over these.
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind and numeric type.
    *groupings : tuple of (codes, weights)
        The group of each sample, -1 for none, and its weight; None: all weigh 1.
    n_jobs : int, optional
        The number of threads.
    """
    found: FloatArray = as_samples(X).from_moments(function, groupings, n_jobs)
    return found


def reconstruction_form(X: Any, weights: csr_array, n_jobs: int | None = None) -> FloatArray:
    """Compute `|f - S f|^2`, the squared reconstruction error, for every feature.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind and numeric type.
    weights : csr_array of shape (n_samples, n_samples)
        S. Its rows sum to 1, so that an offset of the feature does not matter.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    ndarray of shape (n_features,)
    """

    def work(block: FloatArray) -> FloatArray:
        centred = centre(block)
        error = centred - weights @ centred
        # Many features may be reconstructed exactly; rounding must not decide their order.
        deviation = np.sqrt(np.square(centred).mean(axis=0))
        error[np.abs(error) <= RECONSTRUCTED_EXACTLY * deviation] = 0.0
        return np.square(error).sum(axis=0)

    found: FloatArray = as_samples(X).map_columns(work, n_jobs=n_jobs, dense=True)
    return found


def ratio(above: FloatArray, below: FloatArray | float) -> FloatArray:
    """Divide two forms: 0 / 0 is NaN and anything else over 0 is infinite."""
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
    # Inside a group of n, the squared differences add up to n times the scatter.
    return graph.weight * weighted_sum(plain.mass, plain.scatter)


def _plain_forms(graphs: tuple[Groups, ...], plain: Moments) -> FloatArray:
    return namespace_of(plain.mass).stack([_plain_form(graph, plain) for graph in graphs])


def _across_groups(weight: float, plain: Moments, strong: Moments | None = None) -> FloatArray:
    xp = namespace_of(plain.mass)
    n_samples = xp.sum(plain.mass)
    if strong is None:
        # All pairs of n samples add up to `n (within + between)`, those inside group c to
        # `n_c scatter_c`; what is left are the pairs across.
        inside = weighted_sum(n_samples - plain.mass, plain.scatter)
        return weight * (inside + n_samples * plain.between())
    # One end has its strength s, the other one counts once; with groups a and b of the two ends:
    # `n_b scatter_a(s) + s_a scatter_b + s_a n_b (mean_a(s) - mean_b)^2`, summed over a != b.
    form = weighted_sum(n_samples - plain.mass, strong.scatter)
    form = form + weighted_sum(xp.sum(strong.mass) - strong.mass, plain.scatter)
    for group in range(strong.mass.shape[0]):
        # The group itself is no other group.
        before, after = plain.mass[:group], plain.mass[group + 1 :]
        others = xp.concat([before, xp.zeros_like(plain.mass[:1]), after])
        gaps = plain.means_minus_group(strong, group)
        form = form + strong.mass[group] * weighted_sum(others, gaps**2)
    return weight * form
