"""Types in a user's project: the return value of `fit`, and the fitted attributes."""

import subprocess
import sys
from pathlib import Path
from typing import Self, get_type_hints

import pytest

from linkselect import cluster, selectors

ROOT = Path(__file__).parents[1]
CODE = """
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from linkselect import FisherScore, SCGS, StableSelector
from linkselect.cluster import COPKMeans

X, y = [[0.0, 1.0], [1.0, 2.0]], [0, 1]
assert_type(FisherScore().fit(X, y), FisherScore)
assert_type(SCGS().fit(X, y), SCGS)
assert_type(StableSelector(FisherScore()).fit(X, y), StableSelector)
assert_type(COPKMeans(2).fit(X), COPKMeans)

fitted = FisherScore().fit(X, y)
assert_type(fitted.scores_, NDArray[np.float64])
assert_type(fitted.order_, NDArray[np.intp])
assert_type(fitted.ranking_, NDArray[np.intp])
assert_type(fitted.support_, NDArray[np.bool_])
assert_type(fitted.n_features_, int)
assert_type(fitted.get_support(), NDArray[np.bool_])
assert_type(fitted.get_support(indices=True), NDArray[np.intp])
assert_type(fitted.transform(X), NDArray[Any])
assert_type(fitted.transform(np.zeros((2, 2))), NDArray[Any])
"""


def test_mypy_knows_what_fit_returns(tmp_path):
    pytest.importorskip("mypy")
    files = [tmp_path / "right.py", tmp_path / "wrong.py"]
    files[0].write_text(CODE)
    files[1].write_text(CODE.replace("X, y), SCGS)", "X, y), FisherScore)"))
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *files]
    found = subprocess.run(
        command, cwd=ROOT, env={"MYPYPATH": str(ROOT / "src")}, capture_output=True, text=True
    )
    errors = [line for line in found.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1, found.stdout + found.stderr
    assert "wrong.py" in errors[0]
    assert 'Expression is of type "SCGS"' in errors[0]


@pytest.mark.parametrize("room", [selectors, cluster])
def test_every_fit_returns_its_own_type(room):
    kinds = [getattr(room, name) for name in room.__all__]
    fits = [kind.fit for kind in kinds if hasattr(kind, "fit")]
    assert len(fits) > 1
    for fit in fits:
        assert fit.__annotations__["return"] == "Self" or get_type_hints(fit)["return"] is Self
