"""What a ranking leaves in `.var` and `.uns`, of an object or of an .h5ad file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# The columns in `.var`, each behind the key and an underscore.
COLUMNS = ("score", "rank", "selected", "frequency", "p_value", "adjusted", "q_value")


def with_columns(var: Any, key: str, columns: Mapping[str, Any]) -> Any:
    """Return a frame with the results as its last columns, without those of an earlier ranking.

    Examples
    --------
    >>> import pandas as pd
    >>> var = pd.DataFrame({"mean": [1.5, 2.0], "a_p_value": [0.1, 0.2]}, index=["g0", "g1"])
    >>> with_columns(var, "a", {"rank": [2, 1]}).to_dict("list")
    {'mean': [1.5, 2.0], 'a_rank': [2, 1]}
    """
    earlier = [name for name in (f"{key}_{one}" for one in COLUMNS) if name in var]
    return var.drop(columns=earlier).assign(
        **{f"{key}_{name}": np.asarray(values) for name, values in columns.items()}
    )


def about(
    method: str,
    n_features: int,
    params: Mapping[str, Any],
    validation: Mapping[str, Any] | None,
    notes: Sequence[str],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """Return what `.uns` holds: plain values that an .h5ad file can hold, None for what is unknown.

    Parameters
    ----------
    method : str
        The class of the selector.
    n_features : int
        How many features are selected.
    params : mapping
        What was asked for.
    validation : mapping or None
        What `describe_validation` gives.
    notes : sequence of str
        What was said about the data and the result.
    versions : mapping of str to str
        Of the packages.
    """
    found = {} if validation is None else validation
    kept = ("better_than_chance", "better_than_random", "p_value", "estimate", "reason")
    return {
        "params": dict(params),
        "method": method,
        "n_features": n_features,
        **{name: found.get(name) for name in kept},
        "notes": np.array(list(notes), dtype=object),
        "versions": dict(versions),
    }


def add_to_file(
    path: Path, key: str, columns: Mapping[str, Any], record: Mapping[str, Any], axis: str = "var"
) -> None:
    """Write results into an .h5ad file; everything else in it stays as it is.

    Parameters
    ----------
    path : Path
        The file.
    key : str
        The name in `.uns`, and before the columns.
    columns : mapping of str to array
        Values for each row of the frame of features.
    record : mapping
        What `about` gives.
    axis : {"var", "raw/var"}
        Where the features are described.
    """
    import h5py
    from anndata.io import write_elem

    with h5py.File(path, "r+") as file:
        frame = file[axis]
        earlier = {f"{key}_{name}" for name in COLUMNS}
        order = [name for name in map(str, frame.attrs["column-order"]) if name not in earlier]
        for name in earlier & set(frame):
            del frame[name]
        # One by one: rewritten as a whole, a frame could lose what pandas has no type for.
        for name, values in columns.items():
            write_elem(frame, f"{key}_{name}", np.asarray(values))
            order.append(f"{key}_{name}")
        frame.attrs["column-order"] = np.array(order, dtype=h5py.string_dtype())
        if "uns" not in file:
            write_elem(file, "uns", {})
        if key in file["uns"]:
            del file[f"uns/{key}"]
        write_elem(file["uns"], key, dict(record))
