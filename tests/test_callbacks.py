"""scikit-learn's callbacks, and the substitutes in versions without them."""

import subprocess
import sys

import pytest
from numpy.testing import assert_array_equal

import linkselect as ls
from linkselect import _callbacks as callbacks
from tests.helpers.fitting import needs_callbacks

# As with scikit-learn 1.7 and 1.8, which have no module of this name.
WITHOUT = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: (
    None if name == "sklearn.callback" else find_spec(name, *rest)
)
from sklearn.datasets import load_iris
import linkselect as ls

X, y = load_iris(return_X_y=True)
selector = ls.MRMR(2).set_callbacks().fit(X, y)
print(selector.order_.tolist())
try:
    selector.set_callbacks(print)
except TypeError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def said_without_callbacks():
    command = [sys.executable, "-c", WITHOUT]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_a_fit_is_the_same_without_callbacks(said_without_callbacks):
    from sklearn.datasets import load_iris

    expected = ls.MRMR(2).fit(*load_iris(return_X_y=True)).order_
    assert_array_equal(eval(said_without_callbacks[0]), expected)


def test_callbacks_that_cannot_be_are_refused(said_without_callbacks):
    assert "Callbacks require scikit-learn 1.9 or newer" in said_without_callbacks[1]
    assert "Omit set_callbacks" in said_without_callbacks[1]


@needs_callbacks
def test_callbacks_are_scikit_learns_own_if_it_has_them():
    from sklearn import callback

    assert callbacks.CallbackSupportMixin is callback.CallbackSupportMixin
    assert callbacks.with_callbacks is callback.with_callbacks
