"""Start quickly: a command should answer before one wonders whether it hangs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_pandas"]


@contextmanager
def without_pandas() -> Iterator[None]:
    """Import scikit-learn without pandas, which it imports if it can and we do not use.

    That is a fifth of the time until a command runs. Afterwards pandas can be imported as ever.
    """
    if "pandas" in sys.modules or "sklearn" in sys.modules:
        yield
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        import sklearn.utils.fixes  # noqa: F401

        yield
    finally:
        del sys.modules["pandas"]
