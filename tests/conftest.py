import os

# Before SciPy is imported anywhere, or scikit-learn skips its array checks.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "linkselect", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("linkselect")

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def load_data():
    """Return a loader of the benchmark data, or skip where they are not at hand."""

    def load(name):
        file = DATA / f"{name}.npz"
        if not file.exists():
            pytest.skip(f"needs {name}.npz in {DATA}; set LINKSELECT_DATA to the data folder")
        with np.load(file, allow_pickle=False) as content:
            return content["X"], content["y"]

    return load
