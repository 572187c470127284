"""Defaults and limits are those that the documentation names."""

import ast
import importlib
import inspect
import pkgutil
import re
from dataclasses import is_dataclass

import linkselect
from linkselect._search import (
    all_pairs,
    discretize,
    information,
    nearest_neighbor,
    similarity,
    sparse_regression,
    targets,
)
from linkselect.graphs import _distance_graphs as distance_graphs
from linkselect.graphs import _l1_reconstruction as l1_reconstruction
from linkselect.graphs import _reconstruction as reconstruction

PARTS = ("asking", "cluster", "evaluation", "graphs", "pairs", "scores", "search", "selectors")
# `name : type, default=value`, or several names with commas between them.
DEFAULT = re.compile(r"^ *(\w+(?:, \w+)*) : .*\bdefault=(.+?)$", re.MULTILINE)


def modules():
    names = [each.name for each in pkgutil.walk_packages(linkselect.__path__, "linkselect.")]
    parts = tuple(f"linkselect.{part}" for part in PARTS)
    return [name for name in names if name.startswith(parts)]


def documented(module):
    """Yield what a module defines and documents: functions, classes, and their methods."""
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
                except ValueError:  # the name of something
                    is_same = getattr(found, "__name__", str(found)) == text
                if not is_same:
                    yield f"{one.__qualname__}: {name}={found!r}, documented as {text}"


def test_defaults_are_those_documented():
    defined = [one for name in modules() for one in documented(importlib.import_module(name))]
    found = [text for one in defined for text in wrong_defaults(one)]
    assert not found, "\n".join(found)


def test_values_cannot_be_changed():
    """Graphs, moments and results are passed on to many who rely on them."""
    found = [one for name in modules() for one in documented(importlib.import_module(name))]
    values = [one for one in found if isinstance(one, type) and is_dataclass(one)]
    assert len(values) > 15
    assert [one.__name__ for one in values if not one.__dataclass_params__.frozen] == []


def test_limits_are_those_documented():
    weights, step = reconstruction.reconstruction_weights, reconstruction
    for found, expected, one, words in [
        (distance_graphs.SIGMA_ROWS, 2000, distance_graphs.auto_sigma, "Above 2,000 samples"),
        (targets.N_WIDTHS, 64, targets.match_sigma, "A grid of 64 widths"),
        (sparse_regression.CONVEX_SHARE, 0.999, sparse_regression.scgs, "0.999 times the largest"),
        (l1_reconstruction.CERTAIN_GAP, 1e-6, weights, "within 1e-6 of their optimum"),
        (l1_reconstruction.NEAR_GAP, 0.01, weights, "within 1 % of"),
        (l1_reconstruction.MANY, 150, weights, "150 samples of more than 150 features"),
        (step.STEPS_PER_EXCHANGE, 5, weights, "`5 min(n, d + 1) sqrt(n + d)`"),
        (step.LEAST_STEP_LIMIT, 10_000, weights, "at least 10,000"),
        (all_pairs.MAX_BYTES_FOR_TERMS, 2**28, similarity.select_from_groups, "at most 256 MB"),
        (
            8 * nearest_neighbor.MAX_KEPT_DISTANCES,
            32 * 2**20,
            nearest_neighbor.select_by_nearest_neighbor,
            "no more than 32 MB",
        ),
        (discretize.N_BINS, 5, discretize.states_of, "five bins"),
        (information.STATES_AS_BITS, 16, information.Discrete, "at most 16"),
    ]:
        assert found == expected
        assert words in " ".join(one.__doc__.split())


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
