"""What the checks after every tenth answer say, in plain sentences."""

from __future__ import annotations

from typing import Any

__all__ = ["change_sentence", "held_out_sentence"]

# At least this share of the best features stayed: the next answers change little.
MOSTLY = 0.8


def held_out_sentence(checked: dict[str, Any]) -> str:
    """Say whether the best features tell held-out pairs apart.

    Parameters
    ----------
    checked : dict
        `estimate` with `value`, `low`, `high` and `better_than_chance`, or None and a `reason`.
    """
    estimate = checked.get("estimate")
    if estimate is None:
        reason = checked.get("reason")
        return f"Not known yet: {reason}" if reason else "Being computed."
    if not estimate["better_than_chance"]:
        return "More than chance is not shown yet. Go on answering before you trust the ranking."
    return "The ranking is better than chance on pairs that it has not seen."


def change_sentence(checked: dict[str, Any]) -> str | None:
    """Say how much the best features changed, and whether more answers are likely to change them.

    Parameters
    ----------
    checked : dict
        `n_kept` of `n_best` features stayed among the best, if that is known.
    """
    if checked.get("n_kept") is None:
        return None
    n_kept, n_best = checked["n_kept"], checked["n_best"]
    stayed = f"{n_kept} of the {n_best} best features stayed over the last 10 answers"
    if n_kept == n_best == 1:
        stayed = "The best feature stayed the same over the last 10 answers"
    estimate = checked.get("estimate")
    if n_kept < MOSTLY * n_best:
        return f"{stayed}: more answers will probably change them."
    if estimate is not None and not estimate["better_than_chance"]:
        return f"{stayed}, but that is no sign of quality while more than chance is not shown."
    return f"{stayed}: more answers will probably change little."
