"""Must-link and cannot-link pairs of samples."""

from linkselect.pairs._conflicts import Conflict, PairConflictError
from linkselect.pairs._labels import LoneClass
from linkselect.pairs._pairs import Pairs

__all__ = ["Conflict", "LoneClass", "PairConflictError", "Pairs"]
