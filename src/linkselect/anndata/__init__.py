"""Rank the features of an AnnData object and store the results in it (extra `anndata`)."""

from linkselect.anndata._ranked_object import rank

__all__ = ["rank"]
