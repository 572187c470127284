"""Settings of the whole process, which a test could change for all that follow it."""

import os
import sys
from pathlib import Path

import numpy as np
import sklearn

# pytest sets the first for every phase of a test. Scripts set numbers of threads when they are
# loaded, which changes nothing here: BLAS has read them. Dask sets the rest for its workers, and
# leaves them set.
FREE = {
    "PYTEST_CURRENT_TEST",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "MALLOC_TRIM_THRESHOLD_",
    "PYTHONHASHSEED",
    "__DASK_PARENT_PID",
}


def process_settings():
    """Return what a test has to leave as it was, by name."""
    dask, pyplot = (sys.modules.get(name) for name in ("dask.config", "matplotlib.pyplot"))
    return {
        "folder": Path.cwd(),
        "environment": {name: value for name, value in os.environ.items() if name not in FREE},
        "settings of scikit-learn": sklearn.get_config(),
        "errors of numpy": np.geterr(),
        "printing of numpy": np.get_printoptions(),
        # Modules that are loaded late add sections to Dask's settings; the scheduler is in none.
        "settings of Dask": {
            name: value
            for name, value in (dask.config if dask else {}).items()
            if not isinstance(value, dict) and value is not None  # Dask itself may be loaded late
        },
        "open figures": pyplot.get_fignums() if pyplot else [],
    }


def changes(before):
    """Return what differs from earlier settings, by name; values may be secrets."""
    after = process_settings()
    # To close a figure that a docstring has left open harms nobody.
    after["open figures"] = sorted({*before["open figures"], *after["open figures"]})
    return [
        f"{name}: {', '.join(differing(before[name], after[name]))}"
        for name in after
        if after[name] != before[name]
    ]


def differing(before, after):
    if not isinstance(before, dict):
        return [f"{before} -> {after}"]
    return sorted(key for key in before | after if before.get(key) != after.get(key))
