"""Changes of process settings by a test are detected."""

import os

import dask
import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from threadpoolctl import threadpool_info

from tests.helpers.process_settings import changes, process_settings


@pytest.fixture
def restored(monkeypatch, tmp_path):
    """Restore all settings that the changes below affect."""
    monkeypatch.chdir(tmp_path)
    with (
        np.errstate(),
        np.printoptions(),
        sklearn.config_context(),
        dask.config.set(scheduler=None),
    ):
        monkeypatch.setenv("LINKSELECT_CHANGED", "no")
        yield
    plt.close("all")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("folder", lambda: os.chdir("..")),
        ("environment", lambda: os.environ.update(LINKSELECT_CHANGED="yes")),
        ("settings of scikit-learn", lambda: sklearn.set_config(transform_output="pandas")),
        ("errors of numpy", lambda: np.seterr(all="ignore")),
        ("printing of numpy", lambda: np.set_printoptions(precision=2)),
        ("settings of Dask", lambda: dask.config.set(scheduler="threads")),
        ("open figures", plt.figure),
    ],
)
def test_a_change_is_noticed(name, change, restored):
    before = process_settings()
    assert changes(before) == []
    change()
    (line,) = changes(before)
    assert line.startswith(f"{name}: ")
    assert "yes" not in line


def test_who_closes_a_figure_of_others_changes_nothing(restored):
    plt.figure()
    before = process_settings()
    plt.close("all")
    assert changes(before) == []


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="needs tests side by side")
@pytest.mark.skipif(os.environ.get("OPENBLAS_NUM_THREADS") != "1", reason="asked for more threads")
def test_tests_side_by_side_have_a_thread_each():
    """A plugin that imports NumPy early would allow more threads, which doubles the time."""
    assert {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"} == {1}
