"""Every selector with its options, and the definition that it is compared with.

A row of `CASES` names a selector, its supervision, and the function that computes the expected
result. `compare` compares one row on one problem.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from tests.helpers import literal
from tests.helpers.references import (
    TOLERANCE,
    Known,
    MismatchError,
    NoAnswerError,
    RoundingDecidesError,
    compensated_laplacian,
    constrained_laplacian,
    constraint,
    ensemble,
    fisher,
    fisher_markov,
    frll,
    laplacian,
    laplacian_constraint,
    lsdf,
    relieff,
    scgs,
    sparsity,
    spectral,
    variance,
)
from tests.helpers.search_references import (
    fcbf,
    link_selector,
    mrmr,
    nearest_neighbor,
    redundancy,
    similarity,
    trace_ratio,
)

import linkselect as ls


class Outcome(NamedTuple):
    """Outcome of a comparison: compared, refused or discarded."""

    status: str
    error: float = 0.0


@dataclass(frozen=True)
class Case:
    """A selector and its reference."""

    selector: object
    reference: Callable
    sees: tuple

    @property
    def name(self):
        return " ".join(repr(self.selector).split())


def compare(case, problem, sees=None):
    """Compare a selector with its definition on one problem; raise an error if they differ."""
    known = know(problem, sees or case.sees[problem.draw % len(case.sees)])
    selector = clone(case.selector)
    before = _copied(problem.stored)
    try:
        with np.errstate(all="ignore"):
            reference = case.reference(problem, known, selector)
    except RoundingDecidesError:
        return Outcome("discarded")
    except NoAnswerError:
        reference = None
    try:
        fitted = fit(selector, problem, known)
    except ValueError as error:
        if reference is None or reference.may_refuse or problem.is_beyond_squares:
            return Outcome("refused")
        raise MismatchError(f"refused: {error}") from error
    if reference is None:
        raise MismatchError("should have been refused")
    if not _same_bits(before, problem.stored):
        raise MismatchError("X was written to")
    try:
        with np.errstate(all="ignore"):
            error = reference.error_of(fitted)
    except RoundingDecidesError:
        return Outcome("discarded")
    if not error <= TOLERANCE:
        raise MismatchError(f"relative error {error:.3g}")
    return Outcome("compared", float(error))


def fit(selector, problem, known):
    """Fit, and raise warnings as errors except those meant for the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        return selector.fit(problem.stored, **known.arguments)


def know(problem, sees):
    """Return part of the labels or links of a problem as supervision of a selector."""
    n = len(problem.X)
    if sees in ("labels", "some labels", "one label per class"):
        names = {"labels": "y", "some labels": "partial", "one label per class": "one_each"}
        y = getattr(problem, names[sees])
        M, C = literal.links(y)
        return Known({"y": y}, M, C, y < 0, y, y)
    if sees == "classes":
        # -1 is a class like any other.
        y = problem.y - problem.draw % 2
        return Known({"y": y}, *literal.links(problem.y), problem.y < 0, y, y)
    if sees == "labels and pairs":
        y = problem.one_each
        M, C = literal.links(y)
        # Links without a labelled sample contradict no label.
        must = [(a, b) for a, b in problem.must if max(y[a], y[b]) < 0]
        pairs = ls.Pairs(must) | ls.Pairs.from_labels(y)
        return Known({"pairs": pairs}, M, C, y < 0, y, y)
    must = [] if sees in ("nothing", "cannot-links") else problem.must
    cannot = [] if sees in ("nothing", "must-links") else problem.cannot
    M, C = literal.links_of_pairs(n, must, cannot)
    groups = literal.groups_of_pairs(n, must, cannot)
    arguments = {} if sees == "nothing" else {"pairs": ls.Pairs(must, cannot)}
    return Known(arguments, M, C, groups < 0, groups, None)


def _copied(stored):
    if not sparse.issparse(stored):
        return np.array(stored)
    return [part.copy() for part in (stored.data, stored.indices, stored.indptr)]


def _same_bits(before, stored):
    if not sparse.issparse(stored):
        return bool((before == stored).all())
    now = (stored.data, stored.indices, stored.indptr)
    return all(np.array_equal(one, other) for one, other in zip(before, now, strict=True))


# -- all cases --------------------------------------------------------------------------------

NOTHING, CLASSES = ("nothing",), ("classes",)
WEAK = ("labels", "some labels", "one label per class", "pairs", "cannot-links", "must-links")
# For methods that need both kinds of links: mostly supervision that has both.
BOTH = ("labels", "some labels", "pairs") * 3 + ("one label per class",)
ANY = (*WEAK, "nothing")

CASES = [
    Case(ls.LinkSelector(1.0), link_selector, (*ANY, "labels and pairs")),
    Case(ls.LinkSelector(), link_selector, (*ANY, "labels and pairs")),
    Case(ls.LinkSelector(1, noise=0.3, scale="range"), link_selector, (*ANY, "labels and pairs")),
    Case(ls.VarianceScore(), variance, NOTHING),
    Case(ls.LaplacianScore(n_neighbors=3), laplacian, NOTHING),
    Case(ls.LaplacianScore(sigma=1.0), laplacian, NOTHING),
    Case(ls.LaplacianScore(n_neighbors=2, weights="binary"), laplacian, NOTHING),
    Case(ls.LaplacianScore(radius=1.5), laplacian, NOTHING),
    Case(ls.LaplacianScore(radius=2.5, weights="binary"), laplacian, NOTHING),
    Case(ls.SpectralScore(style=1, n_neighbors=3), spectral, NOTHING),
    Case(ls.SpectralScore(n_neighbors=3), spectral, NOTHING),
    Case(ls.SpectralScore(style=3, n_neighbors=3), spectral, NOTHING),
    Case(ls.SpectralScore(style=3, sigma=1.0, n_neighbors=1), spectral, NOTHING),
    Case(ls.SparsityScore(), sparsity, NOTHING),
    Case(ls.SparsityScore(graph="l2"), sparsity, NOTHING),
    Case(ls.SparsityScore(graph="lle", n_neighbors=3), sparsity, NOTHING),
    Case(ls.FisherScore(), fisher, CLASSES),
    Case(ls.FisherMarkov(), fisher_markov, CLASSES),
    Case(ls.FisherMarkov(gamma=0.25), fisher_markov, CLASSES),
    Case(ls.FRLL(n_neighbors=3), frll, CLASSES),
    Case(ls.FRLL(criterion="difference", n_neighbors=3), frll, CLASSES),
    Case(ls.FRLL(neighbors="per_class", n_neighbors=2), frll, CLASSES),
    Case(ls.FRLL(criterion="difference", neighbors="per_class", n_neighbors=2), frll, CLASSES),
    Case(ls.ReliefF(n_neighbors=1), relieff, CLASSES),
    Case(ls.ReliefF(n_neighbors=3), relieff, CLASSES),
    Case(ls.ReliefF(n_neighbors=2, discrete=True), relieff, CLASSES),
    Case(ls.MRMR(), mrmr, CLASSES),
    Case(ls.MRMR(1.0, discretize="quantile"), mrmr, CLASSES),
    Case(ls.MRMR(1.0, scheme="quotient"), mrmr, CLASSES),
    Case(ls.MRMR(1.0, scheme="quotient", discretize="uniform"), mrmr, CLASSES),
    Case(ls.MRMR(1.0, scheme="quotient", discretize=None), mrmr, CLASSES),
    Case(ls.FCBF(), fcbf, CLASSES),
    Case(ls.FCBF(threshold=0.3, discretize="quantile"), fcbf, CLASSES),
    Case(ls.FCBF(discretize=None), fcbf, CLASSES),
    Case(ls.TraceRatio(), trace_ratio, CLASSES),
    Case(ls.TraceRatio(1), trace_ratio, CLASSES),
    Case(ls.ConstraintScore(), constraint, BOTH),
    Case(ls.ConstraintScore(criterion="difference"), constraint, WEAK),
    Case(ls.ConstraintScore(criterion="difference", weight=1.0), constraint, WEAK),
    Case(ls.LSDF(n_neighbors=3), lsdf, BOTH),
    Case(ls.LSDF(gamma=1.0, n_neighbors=2), lsdf, BOTH),
    Case(ls.LaplacianConstraintScore(), laplacian_constraint, BOTH),
    Case(ls.LaplacianConstraintScore(sigma="auto"), laplacian_constraint, BOTH),
    Case(ls.ConstrainedLaplacianScore(n_neighbors=2), constrained_laplacian, ANY),
    Case(ls.ConstrainedLaplacianScore(n_neighbors=3, sigma="auto"), constrained_laplacian, ANY),
    Case(ls.ConstrainedLaplacianScore(variant="2014", n_neighbors=2), constrained_laplacian, ANY),
    Case(
        ls.ConstrainedLaplacianScore(variant="2014", n_neighbors=3, sigma="auto"),
        constrained_laplacian,
        ANY,
    ),
    Case(ls.CompensatedLaplacianScore(n_neighbors=2), compensated_laplacian, WEAK),
    Case(
        ls.CompensatedLaplacianScore(gamma=0.3, compensation=0.1, n_neighbors=3, sigma="auto"),
        compensated_laplacian,
        WEAK,
    ),
    Case(ls.EnsembleCLS(n_estimators=4, n_neighbors=2, random_state=0), ensemble, ANY),
    Case(
        ls.EnsembleCLS(n_estimators=3, n_neighbors=2, sigma="auto", random_state=1), ensemble, ANY
    ),
    Case(ls.SCGS(n_neighbors=2), scgs, WEAK),
    Case(ls.SCGS(sparsity=0.5, pair_weight=0.0, n_neighbors=2), scgs, WEAK),
    Case(ls.SimilarityConstraintScore(), similarity, BOTH),
    Case(ls.SimilarityConstraintScore(1.0, sigma="auto"), similarity, BOTH),
    Case(ls.SimilarityConstraintScore(sigma="target"), similarity, BOTH),
    Case(ls.SimilarityConstraintScore(1.0, sigma="auto", max_pairs=10**6), similarity, BOTH),
    Case(ls.SimilarityConstraintScore(1.0, mode="semi-supervised"), similarity, WEAK),
    Case(ls.SimilarityConstraintScore(mode="semi-supervised", sigma="auto"), similarity, WEAK),
    Case(ls.SimilarityConstraintScore(1, mode="semi-supervised", sigma="auto"), similarity, WEAK),
    Case(ls.NearestNeighborSFS(1.0), nearest_neighbor, ("labels", "some labels")),
    Case(ls.NearestNeighborSFS(cv=2), nearest_neighbor, ("labels", "some labels")),
    Case(ls.Redundancy(ls.FisherScore(), 1.0), redundancy, CLASSES),
    Case(ls.Redundancy(ls.VarianceScore(), weight=0.9), redundancy, NOTHING),
]
