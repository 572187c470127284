"""What we say: warnings that point at the line of the user's program, and counted things."""

from __future__ import annotations

import sys
import warnings

__all__ = ["many", "warn_user"]

OUR_PACKAGES = {"linkselect", "sklearn"}


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside linkselect and scikit-learn that led here."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in OUR_PACKAGES:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


def many(number: int, noun: str) -> str:
    """Count things.

    Examples
    --------
    >>> many(1, "row"), many(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
