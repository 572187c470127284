"""Settings of the whole process, which a test could change for all that follow it."""

import os
import sys
from pathlib import Path

import numpy as np
import sklearn

# pytest changes it for every phase of a test.
OF_PYTEST = "PYTEST_CURRENT_TEST"


def process_settings():
    """Return what a test has to leave as it was, by name."""
    dask, pyplot = (sys.modules.get(name) for name in ("dask.config", "matplotlib.pyplot"))
    return {
        "folder": Path.cwd(),
        "environment": {name: value for name, value in os.environ.items() if name != OF_PYTEST},
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
