"""Things that hold samples outside memory and are not read as they are, and what to do with them.

NumPy would read some of them whole without a word, or fail in a way that helps nobody.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from linkselect._messages import GuidedTypeError

# The type, and what to pass instead.
_REFUSED = {
    ("dask.dataframe", "DataFrame"): "Pass frame.to_dask_array(lengths=True), or open its Parquet "
    "files by open_stored(path).",
    ("dask.dataframe", "Series"): "It is one column. Pass samples x features.",
    ("dask.delayed", "Delayed"): "Pass dask.array.from_delayed(value, shape=..., dtype=...).",
    (
        "polars",
        "LazyFrame",
    ): "Pass frame.collect() if it fits in memory, or the path of its Parquet files.",
    ("pyarrow.parquet", "ParquetFile"): "Pass the path.",
    ("pyarrow.parquet", "ParquetDataset"): "Pass the path, or pyarrow.dataset.dataset(path).",
}


def is_a(X: Any, module: str, name: str) -> bool:
    """Whether X is of a type; it can only be so if the library was imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(X, kind)


def refuse_other_kind(X: Any) -> None:
    """Raise an error for what is not read as it is, but is often meant to be."""
    for (module, name), way_out in _REFUSED.items():
        if is_a(X, module, name):
            raise GuidedTypeError(
                f"X is a {name} of {module}, which is not read by parts.", way_out, "X"
            )
    if hasattr(X, "read") and hasattr(X, "seek"):
        raise GuidedTypeError("X is an open file.", "Pass its path.", "X")
    is_list = isinstance(X, list | tuple) and len(X) > 0
    if is_list and all(isinstance(one, str | os.PathLike) for one in X):
        raise GuidedTypeError(
            "X is a list of text, not of samples.",
            "Of several Parquet files pass their folder, or pyarrow.dataset.dataset(paths).",
            "X",
        )
