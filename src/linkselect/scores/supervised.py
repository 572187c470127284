"""Scores that need a label for every sample."""

from __future__ import annotations

from typing import Literal

from linkselect.blocks import Matrix, blockwise
from linkselect.forms import laplacian_form, moments
from linkselect.graphs.kinds import Edges, FloatArray, IntArray
from linkselect.scores.ratios import ratio

__all__ = ["fisher", "frll"]


def fisher(X: Matrix, classes: IntArray, n_jobs: int | None = None) -> FloatArray:
    """Compare the scatter of class means with the scatter inside classes; larger is better."""

    def work(block: Matrix) -> FloatArray:
        parts = moments(block, classes)
        return ratio(parts.between(), parts.within())

    return blockwise(work, X, n_jobs=n_jobs)


def frll(
    X: Matrix,
    same: Edges,
    other: Edges,
    criterion: Literal["quotient", "difference"],
    n_jobs: int | None = None,
) -> FloatArray:
    """Compare the change towards neighbours of other classes and of the own; larger is better."""
    across, inside = laplacian_form(X, other, n_jobs), laplacian_form(X, same, n_jobs)
    return ratio(across, inside) if criterion == "quotient" else across - inside
