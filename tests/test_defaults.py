"""Defaults and limits agree with the documentation."""

import ast
import importlib
import inspect
import pkgutil
import re
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import linkselect
from linkselect import MRMR, SCGS, graphs
from tests.helpers.sizes import value_of

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
PARTS = ("asking", "cluster", "evaluation", "graphs", "pairs", "scores", "_search", "selectors")
# `name : type, default=value`, or several names separated by commas.
DEFAULT = re.compile(r"^ *(\w+(?:, \w+)*) : .*\bdefault=(.+?)$", re.MULTILINE)


def modules():
    names = [each.name for each in pkgutil.walk_packages(linkselect.__path__, "linkselect.")]
    parts = tuple(f"linkselect.{part}" for part in PARTS)
    return [name for name in names if name.startswith(parts)]


def documented(module):
    """Yield the documented functions, classes and methods of a module."""
    for one in vars(module).values():
        if getattr(one, "__module__", None) == module.__name__ and callable(one):
            yield one
            if isinstance(one, type):
                yield from filter(inspect.isfunction, vars(one).values())


def wrong_defaults(one):
    try:
        parameters = inspect.signature(one).parameters
    except ValueError:
        return
    for names, text in DEFAULT.findall(one.__doc__ or ""):
        for name in names.split(", "):
            if name in parameters:
                found = parameters[name].default
                try:
                    is_same = found == ast.literal_eval(text)
                except ValueError:  # a name, not a value
                    is_same = getattr(found, "__name__", str(found)) == text
                if not is_same:
                    yield f"{one.__qualname__}: {name}={found!r}, documented as {text}"


def test_defaults_are_those_documented():
    defined = [one for name in modules() for one in documented(importlib.import_module(name))]
    found = [text for one in defined for text in wrong_defaults(one)]
    assert not found, "\n".join(found)


def test_values_cannot_be_changed():
    """Graphs, moments and results are shared, so they must not change."""
    found = [one for name in modules() for one in documented(importlib.import_module(name))]
    values = [one for one in found if isinstance(one, type) and is_dataclass(one)]
    values = [one for one in values if not issubclass(one, BaseEstimator)]
    assert len(values) > 15
    assert [one.__name__ for one in values if not one.__dataclass_params__.frozen] == []


# Limits that a docstring or the guide states. No other limit is a promise.
WEIGHTS = graphs.reconstruction_weights.__doc__
PROMISES = [
    ("SIGMA_ROWS", 2000, graphs.auto_sigma.__doc__, "If there are more than 2,000 samples"),
    ("N_BINS", 5, MRMR.__doc__, "five bins"),
    ("CONVEX_SHARE", 0.999, SCGS.__doc__, "0.999 times the largest value"),
    ("CERTAIN_GAP", 1e-6, WEIGHTS, "certified to be at most 1e-6 (1 %"),
    ("NEAR_GAP", 0.01, WEIGHTS, "relative duality gap of each is at most 1 %"),
    ("MANY", 150, WEIGHTS, "150 samples with more than 150 features"),
    ("STEPS_PER_EXCHANGE", 5, WEIGHTS, "`5 min(n, d + 1) sqrt(n + d)`"),
    ("LEAST_STEP_LIMIT", 10_000, WEIGHTS, "at least 10,000"),
    ("SLAB_BYTES", 32 * 2**20, "large_data.md", "one part of at most 32 MB"),
    ("HELD_BYTES", 256 * 2**20, "large_data.md", "rows in pairs | 256 MB at a time"),
    ("MOST_LISTED", 16_777_216, "large_data.md", "must not exceed 16,777,216"),
]


@pytest.mark.parametrize(("name", "expected", "where", "words"), PROMISES)
def test_limits_are_those_documented(name, expected, where, words):
    text = (GUIDE / where).read_text(encoding="utf-8") if where.endswith(".md") else where
    assert value_of(name) == expected
    assert words in " ".join(text.split())


def test_a_default_that_is_not_the_documented_one_is_found():
    def shaped(a=1, b=2, track=iter):
        """Do.

        Parameters
        ----------
        a, b : int, default=1
        track : callable, default=iter
        """

    assert list(wrong_defaults(shaped)) == [
        "test_a_default_that_is_not_the_documented_one_is_found.<locals>.shaped: "
        "b=2, documented as 1"
    ]
