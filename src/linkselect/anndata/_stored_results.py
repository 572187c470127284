"""Store the results of a ranking in `.var` and `.uns` of an object or an .h5ad file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Columns in `.var`; each name is preceded by the key and an underscore.
COLUMNS = ("score", "rank", "selected", "frequency", "p_value", "adjusted", "q_value")


def with_columns(var: Any, key: str, columns: Mapping[str, Any]) -> Any:
    """Return a DataFrame with the results as last columns, replacing earlier results.

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
    """Return the entry of `.uns`, which contains plain values that an .h5ad file can store.

    Parameters
    ----------
    method : str
        Class name of the selector.
    n_features : int
        Number of selected features.
    params : mapping
        The parameters of the ranking.
    validation : mapping or None
        The result of `describe_validation`.
    notes : sequence of str
        Notes on the data and the result.
    versions : mapping of str to str
        Versions of the packages.
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
    """Write results to an .h5ad file, and leave everything else in it unchanged.

    Parameters
    ----------
    path : Path
        Path of the file.
    key : str
        Key in `.uns`, and prefix of the column names.
    columns : mapping of str to array
        Values for each row of the table of features.
    record : mapping
        The result of `about`.
    axis : {"var", "raw/var"}
        Location of the table of features.
    """
    import h5py
    from anndata.io import write_elem

    with h5py.File(path, "r+") as file:
        frame = file[axis]
        earlier = {f"{key}_{name}" for name in COLUMNS}
        order = [name for name in map(str, frame.attrs["column-order"]) if name not in earlier]
        for name in earlier & set(frame):
            del frame[name]
        # Written column by column: rewriting the whole table could lose types that pandas lacks.
        for name, values in columns.items():
            write_elem(frame, f"{key}_{name}", np.asarray(values))
            order.append(f"{key}_{name}")
        frame.attrs["column-order"] = np.array(order, dtype=h5py.string_dtype())
        if "uns" not in file:
            write_elem(file, "uns", {})
        if key in file["uns"]:
            del file[f"uns/{key}"]
        write_elem(file["uns"], key, dict(record))
