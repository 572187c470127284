"""Must-link and cannot-link pairs: what a person knows about which samples belong together."""

from linkselect.pairs._conflicts import Conflict, PairConflictError
from linkselect.pairs._labels import LoneClass
from linkselect.pairs._pairs import Pairs

__all__ = ["Conflict", "LoneClass", "PairConflictError", "Pairs"]
