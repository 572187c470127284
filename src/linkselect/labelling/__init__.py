"""A web page that asks a person whether two samples are alike."""

from typing import Any

from linkselect._messages import warn_user
from linkselect.labelling._jupyter import open_page

__all__ = ["open_page"]


def __getattr__(name: str) -> Any:
    if name == "open":
        warn_user(
            "labelling.open is now labelling.open_page; the old name will be removed in 0.3.",
            FutureWarning,
        )
        return open_page
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
