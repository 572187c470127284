"""What the checks after every tenth answer say, in plain sentences."""

from __future__ import annotations

from typing import Any

# At least this share of the best features stayed: the next answers change little.
MOSTLY = 0.8


def held_out_sentence(checked: dict[str, Any]) -> str:
    """Say whether the best features tell held-out pairs apart.

    Parameters
    ----------
    checked : dict
        `estimate` with `value`, `low`, `high` and `better_than_chance`, or None and a `reason`,
        which also says why `better_than_chance` is None.
    """
    estimate = checked.get("estimate")
    if estimate is None:
        reason = checked.get("reason")
        if not reason:
            return "Being computed."
        return f"Not known yet: {reason.removeprefix('Cannot validate: ')}"
    if estimate["better_than_chance"] is None:
        return str(checked.get("reason") or "Whether it is better than chance is not known.")
    if not estimate["better_than_chance"]:
        return "Not shown to be better than chance yet. Answer more before you trust the ranking."
    return "The ranking is better than chance on samples that had no part in it."


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
        return f"{stayed}, but they are not shown to be better than chance."
    return f"{stayed}: more answers will probably change little."
