"""Settings of the whole process, which a test could change for later ones."""

import os
import sys
from pathlib import Path

import numpy as np
import sklearn

# pytest sets the first for every phase of a test. Scripts set numbers of threads when they are
# imported, which has no effect after BLAS has read them. Dask sets the others for its workers, and
# does not reset them.
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
    """Return the settings that a test must not change, by name."""
    dask, pyplot = (sys.modules.get(name) for name in ("dask.config", "matplotlib.pyplot"))
    return {
        "folder": Path.cwd(),
        "environment": {name: value for name, value in os.environ.items() if name not in FREE},
        "settings of scikit-learn": sklearn.get_config(),
        "errors of numpy": np.geterr(),
        "printing of numpy": np.get_printoptions(),
        # Modules imported later add sections to Dask's settings; the scheduler is in none of them.
        "settings of Dask": {
            name: value
            for name, value in (dask.config if dask else {}).items()
            if not isinstance(value, dict) and value is not None  # Dask may be imported later
        },
        "open figures": pyplot.get_fignums() if pyplot else [],
    }


def changes(before):
    """Return the names of changed settings, without values, which may be secret."""
    after = process_settings()
    # Closing figures that a docstring has left open is harmless.
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
