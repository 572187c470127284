"""Must-link and cannot-link pairs: what a person knows about which samples belong together."""

from linkselect.pairs._conflicts import Conflict, PairConflictError, describe_conflicts
from linkselect.pairs._ids import check_ids
from linkselect.pairs._labels import (
    NO_LABEL,
    LoneClass,
    encode_labels,
    is_missing,
    label_array,
    warn_of_text,
)
from linkselect.pairs._links import links_within, members_of, must_components
from linkselect.pairs._pairs import Pairs

__all__ = [
    "NO_LABEL",
    "Conflict",
    "LoneClass",
    "PairConflictError",
    "Pairs",
    "check_ids",
    "describe_conflicts",
    "encode_labels",
    "is_missing",
    "label_array",
    "links_within",
    "members_of",
    "must_components",
    "warn_of_text",
]
