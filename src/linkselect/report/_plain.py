"""Text and numbers that JSON and every encoding can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkselect.report._schema import Score

# Longer lists are cut; their length is said.
MOST_LISTED = 12


def plain_text(value: Any) -> str:
    """Return text that every encoding of Unicode can hold."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def plain_number(value: Any) -> Score:
    """Return a number that JSON can hold: None for no value, text for an infinite one."""
    number = float(value)
    if np.isnan(number):
        return None
    return number if np.isfinite(number) else ("inf" if number > 0 else "-inf")
