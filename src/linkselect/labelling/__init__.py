"""The page on which a person answers whether two samples are alike."""

from linkselect.labelling._jupyter import open  # noqa: A004

__all__ = ["open"]
