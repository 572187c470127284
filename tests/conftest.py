"""Settings for all tests, the folder of benchmark data, and fixtures that several modules share."""

import gc
import os

# Must be set before SciPy is imported; otherwise scikit-learn skips its array checks.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Parallel tests have one core each. Several BLAS threads per test would busy-wait for one another
# and double the time. Tests of threads set their own number.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import MinMaxScaler

from tests.helpers import sizes as all_sizes
from tests.helpers.process_settings import changes, process_settings

# The same examples in every run, so that passing does not depend on chance.
# `pytest --hypothesis-profile=others` draws others.
settings.register_profile(
    "linkselect",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=40,
    derandomize=True,
)
settings.register_profile("quick", settings.get_profile("linkselect"), max_examples=10)
settings.register_profile(
    "others", settings.get_profile("linkselect"), max_examples=500, derandomize=False
)
settings.load_profile("linkselect")

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Disable garbage collection while tests are collected, which saves a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def leave_the_process_as_it_was():
    """Fail a test that changes process settings, which would affect later tests."""
    before = process_settings()
    yield
    assert changes(before) == [], "restore the settings that the test has changed"


@pytest.fixture
def load_data():
    """Return a loader of benchmark data that skips the test if they are missing."""

    def load(name):
        file = DATA / f"{name}.npz"
        if not file.exists():
            pytest.skip(f"needs {name}.npz in {DATA}; set LINKSELECT_DATA to the data folder")
        with np.load(file, allow_pickle=False) as content:
            return content["X"], content["y"]

    return load


@pytest.fixture
def load_scaled(load_data):
    """Return a loader of data with missing values filled and every feature scaled to [0, 1]."""

    def load(name):
        bundled = {"wine": load_wine, "wdbc": load_breast_cancer}
        X, y = bundled[name](return_X_y=True) if name in bundled else load_data(name)
        X = X.astype(float)
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
        extent = np.ptp(X, axis=0)
        return (X - X.min(axis=0)) / np.where(extent > 0, extent, 1), y

    return load


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


@pytest.fixture
def cancer():
    """Return a third of the samples and 12 of the features of the breast cancer data."""
    X, y = load_breast_cancer(return_X_y=True)
    return MinMaxScaler().fit_transform(X)[::3, :12], y[::3]


@pytest.fixture
def sizes(monkeypatch):
    """Return a function that sets block sizes and limits by name."""
    return partial(all_sizes.set_sizes, monkeypatch)


@pytest.fixture
def shrink(monkeypatch):
    """Return a function that divides work into small blocks: `shrink()`, `shrink(5)`."""
    return partial(all_sizes.shrink, monkeypatch)


@pytest.fixture
def shrink_parts(monkeypatch):
    """Return a function that sets the size in bytes of the parts of stored samples."""
    return partial(all_sizes.shrink_parts, monkeypatch)


@pytest.fixture
def compile_from(monkeypatch):
    """Return a function that runs compiled loops always (True) or never (False)."""
    return partial(all_sizes.compile_from, monkeypatch)


@pytest.fixture
def always_compiled(compile_from):
    """Run compiled loops also on small data."""
    pytest.importorskip("numba")
    compile_from(True)


@pytest.fixture
def without_numba(monkeypatch):
    """Simulate that numba is not installed."""
    all_sizes.remove_numba(monkeypatch)


@pytest.fixture
def small_draws(sizes):
    """Allow standard errors for draws of few samples."""
    sizes(LEAST_CARRIERS=5)
