"""The number of files whose functions a fit calls, which a reader would have to follow."""

import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import linkselect
from linkselect import LaplacianScore, VarianceScore

ROOT = Path(linkselect.__file__).parent


def files_passed(function):
    """Return the files of the library whose functions are called, ignoring imports."""
    called = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            called.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return {Path(file).relative_to(ROOT) for file in called if Path(file).is_relative_to(ROOT)}


@pytest.mark.parametrize(("selector", "most"), [(VarianceScore(), 10), (LaplacianScore(), 15)])
def test_a_fit_passes_few_files(selector, most):
    X, _ = load_iris(return_X_y=True)
    passed = files_passed(lambda: selector.fit(X))
    assert Path("selectors/_selector.py") in passed
    assert len(passed) <= most, sorted(map(str, passed))
