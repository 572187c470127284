"""SCGS: what it reports and refuses."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import linkselect as ls
from problems import partly_labelled


def test_too_few_steps_are_reported():
    X, y = partly_labelled(5, 30, 20)
    with pytest.warns(ConvergenceWarning, match=r"stopped after .*tol=1e-10. Raise max_iter"):
        found = ls.SCGS(tol=1e-10, max_iter=1).fit(X, y)
    assert found.violation_ > 1e-10
    assert found.n_iter_ >= 1


@pytest.mark.parametrize("sparsity", [0.0, 0.1])
@pytest.mark.parametrize("exponent", [153.5, 153.8, 154.0, 155.0, 300.0])
def test_values_whose_squares_overflow_are_refused(sparsity, exponent):
    X = np.random.default_rng(0).normal(size=(20, 5)) * 10.0**exponent
    with pytest.raises(ValueError, match="so large that their squares overflow.*Scale the feat"):
        ls.SCGS(sparsity=sparsity).fit(X, np.arange(20) % 3 - 1)
