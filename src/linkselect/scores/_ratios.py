"""Quotients of forms, with the same answer everywhere to what 0 / 0 is."""

from __future__ import annotations

import numpy as np

from linkselect._arrays import FloatArray


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide two forms: 0 / 0 is NaN and anything else over 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return above / below
