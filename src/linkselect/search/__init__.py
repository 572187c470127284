"""Searches over subsets of features: what a feature adds to those already chosen."""

from linkselect.search.discretize import states_of
from linkselect.search.fcbf import fcbf
from linkselect.search.information import Discrete, mutual_information, symmetric_uncertainty
from linkselect.search.mrmr import mrmr

__all__ = [
    "Discrete",
    "fcbf",
    "mrmr",
    "mutual_information",
    "states_of",
    "symmetric_uncertainty",
]
