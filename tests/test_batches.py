"""Detection of batches that coincide with classes, and counts of groups and batches."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from linkselect import FisherScore, VarianceScore
from linkselect._batches import about_batches, row_codes
from linkselect.evaluation import feature_p_values, validate


def test_numbers_of_rows():
    assert_array_equal(row_codes(["b", "a", "b", 1, "1", 1.0], 6, "groups"), [0, 1, 0, 2, 3, 2])
    sites = [("a", 1), ("b", 1), ("a", 2), ("a", 1)]
    assert_array_equal(row_codes(sites, 4, "groups"), [0, 1, 2, 0])
    frame = pd.DataFrame({"batch": pd.Categorical(["y", "x", "y"])})
    assert_array_equal(row_codes(frame["batch"], 3, "batches"), [0, 1, 0])
    assert_array_equal(row_codes(frame, 3, "batches"), [0, 1, 0])


def test_batches_of_one_class():
    assert about_batches(list("aabbcc"), [0, 0, 1, 1, 1, 1]).startswith("Every batch contains only")
    assert about_batches(list("aabb"), [0, 1, 0, 1]) is None
    assert about_batches(list("aaaa"), [0, 1, 0, 1]) is None, "there are no two batches"
    assert about_batches(list("aabb"), [1, 1, 1, 1]) is None, "nor two classes"
    assert about_batches([], []) is None


def test_what_is_missing_does_not_count():
    batches = ["a", "a", "b", "b", None, "a", np.nan]
    classes = [0, 0, 1, 1, 0, pd.NA, 1]
    assert about_batches(batches, classes).startswith("Every batch contains only one class")
    assert about_batches([None] * 4, list("aabb")) is None


def test_a_few_exceptions():
    batches, classes = np.repeat([0, 1], 20), np.repeat([0, 1], 20)
    classes[[0, 20]] = [1, 0]
    assert "nearly coincide (Cramér's V 0.90)" in about_batches(batches, classes)
    classes[:10] = 1
    assert about_batches(batches, classes) is None
    # A batch with a single sample does not hide that the others coincide with classes.
    found = about_batches([*np.repeat([0, 1], 20), 2], [*np.repeat([0, 1], 20)[::-1], 0])
    assert found.startswith("Every batch")
    batches = [*np.repeat([0, 1], 20), 2]
    assert "nearly coincide" in about_batches(batches, [1, *np.repeat([0, 1], [19, 20]), 0])


@pytest.mark.parametrize(("n", "n_batches", "n_classes"), [(8, 2, 2), (12, 3, 2), (24, 3, 4)])
@pytest.mark.parametrize("skewed", [False, True])
def test_independent_batches_are_not_said_to_coincide(n, n_batches, n_classes, skewed):
    rng = np.random.default_rng(0)

    def draw(kinds):
        rare = [0.85] + [0.15 / (kinds - 1)] * (kinds - 1)
        return rng.choice(kinds, n, p=rare if skewed else None)

    said = [about_batches(draw(n_batches), draw(n_classes)) for _ in range(300)]
    near = [one for one in said if one is not None and "nearly" in one]
    assert len(near) <= 0.03 * len(said)


def test_the_reason_names_batches_that_are_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.repeat([0, 1], 20)
    plates = np.repeat(list("abcd"), 10)
    found = validate(FisherScore(2), X, y, batches=plates, n_resamples=0)
    assert found.better_than_chance is None
    assert found.reason.startswith("Cannot test against chance. Every batch contains")
    with pytest.raises(ValueError, match="Every batch contains only one class"):
        feature_p_values(FisherScore(), X, y, batches=plates)
    # Too few permutations for another reason.
    groups = np.repeat([0, 1, 2, 3], [3, 5, 15, 17])
    found = validate(VarianceScore(2), X, y=groups % 2, groups=groups, n_resamples=0)
    assert "fewer than 40 distinct permutations" in found.reason
