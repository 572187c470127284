"""What pairs say, in numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkselect.pairs._pairs import Pairs


def count_pairs(
    pairs: Pairs, sample_ids: Iterable[Hashable] | None, n_samples: int | None
) -> dict[str, Any]:
    """Count pairs, over all samples or those of one fold; see `Pairs.summary`."""
    held = pairs
    if sample_ids is not None:
        present = set(sample_ids)
        n_samples = len(present)
        held = pairs.restrict(present)
    total = n_samples or pairs.n_samples
    n_named = len(held.ids)
    return {
        "must": held.n_must,
        "cannot": held.n_cannot,
        "conflicts": held.n_conflicts,
        "components": sum(len(group) > 1 for group in held.components()),
        "samples": n_named,
        "coverage": n_named / total if total else None,
        "lost_must": pairs.n_must - held.n_must,
        "lost_cannot": pairs.n_cannot - held.n_cannot,
    }
