"""Counts of pairs, and a notebook view of pairs with groups and conflicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from linkselect._messages import many
from linkselect._notebook import panel, table
from linkselect.pairs._consequences import with_all_listed

if TYPE_CHECKING:
    from linkselect.pairs._pairs import Pairs

# The number of pairs, groups and conflicts that are shown.
SHOWN = 3
# Longer texts are cut.
WIDTH = 80


def pairs_view(pairs: Pairs) -> str:
    """Return an HTML view of pairs."""
    groups = [group for group in pairs.components() if len(group) > 1]
    n_named = len(pairs.ids)
    shown = with_all_listed(pairs, SHOWN + 1)
    of_all = f" of {pairs.n_samples:,}" if pairs.n_samples else ""
    rows = [
        ("must-links", f"{pairs.n_must:,}", _first(shown.must)),
        ("cannot-links", f"{pairs.n_cannot:,}", _first(shown.cannot)),
        ("samples in pairs", f"{n_named:,}{of_all}", _first(pairs.ids)),
        ("groups joined by must-links", f"{len(groups):,}", _first(groups)),
        ("conflicts", f"{pairs.n_conflicts:,}", ""),
    ]
    if pairs.n_adaptive:
        chosen = ("adaptive: chosen by looking at the samples", f"{pairs.n_adaptive:,}")
        rows.append((*chosen, _first(pairs.adaptive)))
    n_all = pairs.n_must + pairs.n_cannot
    return panel(
        many(n_all, "pair"), table(["", "number", "first"], rows, {0, 2}), _explained(pairs)
    )


def _first(values: Sequence[object]) -> str:
    texts = ", ".join(map(repr, values[:SHOWN]))
    cut = texts if len(texts) <= WIDTH else f"{texts[: WIDTH - 1]}…"
    return cut + (", …" if len(values) > SHOWN and cut == texts else "")


def _explained(pairs: Pairs) -> str:
    """Return the first conflicts as an HTML list; empty if there are none."""
    found = pairs.conflicts(limit=SHOWN)
    items = "".join(f"<li>{escape(str(conflict))}</li>" for conflict in found)
    return f"<ul>{items}</ul>" if items else ""


def count_pairs(
    pairs: Pairs, sample_ids: Iterable[Hashable] | None, n_samples: int | None
) -> dict[str, Any]:
    """Count the pairs among all samples or among those of one fold; see `Pairs.summary`."""
    kept = pairs
    if sample_ids is not None:
        present = set(sample_ids)
        n_samples = len(present)
        kept = pairs.restrict(present)
    total = n_samples or pairs.n_samples
    n_named = len(kept.ids)
    return {
        "must": kept.n_must,
        "cannot": kept.n_cannot,
        "conflicts": kept.n_conflicts,
        "components": sum(len(group) > 1 for group in kept.components()),
        "samples": n_named,
        "coverage": n_named / total if total else None,
        "lost_must": pairs.n_must - kept.n_must,
        "lost_cannot": pairs.n_cannot - kept.n_cannot,
    }
