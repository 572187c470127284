"""Start quickly: a command should answer before one wonders whether it hangs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_pandas() -> Iterator[None]:
    """Keep scikit-learn and pyarrow from importing pandas, which they do if they can.

    We hand them no frames, and pandas is a fifth of the time until a command runs. Afterwards
    it can be imported as ever.
    """
    if "pandas" in sys.modules:
        yield
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["pandas"]
