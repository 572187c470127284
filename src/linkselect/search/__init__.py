"""Searches over subsets of features: what a feature adds to those already chosen."""

from linkselect.search.discretize import states_of
from linkselect.search.fcbf import fcbf
from linkselect.search.information import Discrete, mutual_information, symmetric_uncertainty
from linkselect.search.mrmr import mrmr
from linkselect.search.redundancy import least_redundant, rank_merit

__all__ = [
    "Discrete",
    "fcbf",
    "least_redundant",
    "mrmr",
    "mutual_information",
    "rank_merit",
    "states_of",
    "symmetric_uncertainty",
]
