"""Every selector and option against its literal definition, on every kind of data.

`make thorough` runs the same comparisons on many more problems; docs/verification.md has the
counts.
"""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkselect as ls
from tests.helpers.comparisons import CASES, compare
from tests.helpers.estimators import SELECTORS
from tests.helpers.problems import KINDS, draw_problem, store
from tests.helpers.search_references import follow

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
N_PROBLEMS = 30  # two of each kind


@cache
def problems():
    """Draw the same problems in every run, so that unrelated changes cannot fail a test.

    Problems with many samples take most of the time, so there are few of them here.
    """
    kinds = [kind for kind in KINDS if kind != "many"]
    named = [(seed, kinds[seed % len(kinds)]) for seed in range(N_PROBLEMS)]
    return {name: draw_problem(np.random.default_rng(name[0]), name[1]) for name in named}


@every_case
def test_selector_equals_its_definition(case):
    found = []
    for name, problem in problems().items():
        try:
            found.append(compare(case, problem).status)
        except Exception as error:
            error.add_note(f"The seed and kind of the problem are {name}.")
            raise
    # Problems that a selector refuses would prove nothing.
    assert found.count("compared") >= 12


@every_case
def test_more_samples_than_a_block_has(case):
    compare(case, draw_problem(np.random.default_rng(0), "many"))


def test_every_selector_has_a_definition():
    assert {type(case.selector) for case in CASES} >= {type(selector) for selector in SELECTORS}


FAR_STORED = [
    ("f8", "C"),
    ("f4", "CSR"),
    ("i1", "Fortran"),
    ("i1", "CSC, untidy"),
]


@every_case
def test_a_labelled_sample_far_from_all_others(case):
    """Its Gaussian weights, and therefore its degree, are 0."""
    X = np.array([[60.0, 50], [1, 2], [0, 1], [1, 1], [0, 0], [2, 1]])
    y = np.array([0, 0, 1, 1, -1, -1])
    one_each = np.array([0, -1, 1, -1, -1, -1])
    drawn = draw_problem(np.random.default_rng(0), "plain", "C")
    problem = replace(drawn, X=X, y=np.abs(y), partial=y, one_each=one_each)
    problem = replace(problem, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)])
    # Each type dense and sparse, and each storage; test_invariances.py has all combinations.
    for dtype, storage in FAR_STORED:
        stored = store(np.random.default_rng(0), X.astype(dtype), storage)
        for sees in dict.fromkeys(case.sees):
            compare(case, replace(problem, stored=stored), sees)


SIMILARITY = [case for case in CASES if isinstance(case.selector, ls.SimilarityConstraintScore)]


@pytest.mark.parametrize("case", SIMILARITY, ids=lambda case: case.name)
@pytest.mark.usefixtures("always_compiled")
def test_compiled_search_equals_its_definition(case):
    for seed, kind in enumerate([*KINDS] * 3):
        compare(case, draw_problem(np.random.default_rng(seed), kind))


@pytest.mark.parametrize(
    ("dtype", "low", "shape", "sigma"),
    [("i1", -128, (60, 30), 40.0), ("i1", 0, (60, 30), 128.0), ("i2", -(2**15), (300, 130), 8e3)],
)
def test_narrow_integers_in_a_large_search(dtype, low, shape, sigma, compile_from):
    """The ranges of the first and last case overflow to a small number; the second is small."""
    # The last case has several blocks of rows and of features.
    compile_from(True)
    rng = np.random.default_rng(0)
    X = rng.integers(low, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    y = rng.integers(0, 2, len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = ls.SimilarityConstraintScore(3, sigma=sigma).fit(X, y)
    i, j = np.triu_indices(len(X), 1)
    target = (y[i] == y[j]) * 1.0
    columns = X.T.astype(float) / sigma

    def value(chosen, candidate):
        exponent = sum((columns[f][i] - columns[f][j]) ** 2 for f in [*chosen, candidate])
        # Both orders of a pair count.
        return 2 * np.sum((np.exp(-exponent / 2) - target) ** 2)

    assert_allclose(found.scores_[:50], [value([], f) for f in range(len(columns[:50]))], rtol=1e-9)
    follow(found, value, columns, scale=len(target))
