"""The folder of benchmark data, data for several modules, and what holds for every test."""

import gc
import os

# Before SciPy is imported anywhere, or scikit-learn skips its array checks.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Tests that run side by side have a core each. Threads of BLAS would wait for one another, busily:
# that doubles the time. The tests of threads ask for their own number of them.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import MinMaxScaler

from tests.helpers.process_settings import changes, process_settings

# The same examples each time: whether a change passes does not depend on luck. Others are drawn by
# `pytest --hypothesis-profile=others`.
settings.register_profile(
    "linkselect",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=60,
    derandomize=True,
)
settings.register_profile(
    "others", settings.get_profile("linkselect"), max_examples=500, derandomize=False
)
settings.load_profile("linkselect")

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looking for garbage: thousands of tests stay, and to look takes a quarter."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def leave_the_process_as_it_was():
    """Fail a test that changes the process for later ones, which run in any order."""
    before = process_settings()
    yield
    assert changes(before) == [], "put back what the test has changed"


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


@pytest.fixture
def load_scaled(load_data):
    """Return a loader of data without missing values and with every feature in [0, 1]."""

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
def precisions(monkeypatch):
    """List the types of the products that a search for neighbours computes."""
    from linkselect._samples import Samples

    computed, products = [], Samples.products

    def noting(X, dtype, n_jobs):
        computed.append(np.dtype(dtype).name)
        return products(X, dtype, n_jobs)

    monkeypatch.setattr(Samples, "products", noting)
    return computed
