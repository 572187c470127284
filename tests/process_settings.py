"""Settings of the whole process, which a test could change for all that follow it."""

import os
import sys
from pathlib import Path

import numpy as np
import sklearn

# pytest changes the first for every phase of a test. Benchmarks set the others when they are
# imported: the libraries that look at them have started by then.
OF_OTHERS = {"PYTEST_CURRENT_TEST", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


def process_settings():
    """Return what a test has to leave as it was, by name."""
    dask, pyplot = (sys.modules.get(name) for name in ("dask.config", "matplotlib.pyplot"))
    return {
        "folder": Path.cwd(),
        "environment": {name: value for name, value in os.environ.items() if name not in OF_OTHERS},
        "settings of scikit-learn": sklearn.get_config(),
        "errors of numpy": np.geterr(),
        "printing of numpy": np.get_printoptions(),
        # Modules that are loaded late add sections to Dask's settings; the scheduler is in none.
        "settings of Dask": {
            name: value
            for name, value in (dask.config if dask else {}).items()
            if not isinstance(value, dict)
        },
        "open figures": pyplot.get_fignums() if pyplot else [],
    }


def changes(before):
    """Return the settings that differ from earlier ones, as lines to print."""
    after = process_settings()
    return [
        f"{name}: {before[name]} -> {after[name]}" for name in after if after[name] != before[name]
    ]
