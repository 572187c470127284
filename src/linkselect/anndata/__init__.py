"""Rank the features of an AnnData object; results in `.var` and `.uns` (extra `anndata`)."""

from linkselect.anndata._ranked_object import rank

__all__ = ["rank"]
