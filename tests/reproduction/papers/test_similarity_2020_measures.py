"""Compare the measures of the similarity score paper with values computed by hand."""

import numpy as np
import pytest

from linkselect.reproduction._papers.similarity_2020.problems import (
    average_ranks,
    correct_new_must_links,
    kept_fraction,
    n_kept,
    new_must_links,
    rank_sums,
    spread_counts,
)


@pytest.mark.parametrize(
    ("n_features", "fraction", "kept"),
    [
        (9, 1.0, 9),
        (299, 1.0, 299),
        (300, 0.2, 60),
        (856, 0.2, 172),
        (1024, 0.2, 205),
        (1999, 0.2, 400),
        (2000, 0.1, 200),
        (2420, 0.1, 242),
        (3000, 0.1, 300),
        (3001, 0.05, 151),
        (7129, 0.05, 357),
    ],
)
def test_kept_features(n_features, fraction, kept):
    assert kept_fraction(n_features) == fraction
    assert n_kept(n_features) == kept


def test_all_numbers_are_used_for_few_features():
    assert spread_counts(9, 25).tolist() == list(range(1, 10))


@pytest.mark.parametrize("n_features", [26, 90, 357])
def test_spread_counts_range_from_one_to_all_with_growing_steps(n_features):
    counts = spread_counts(n_features, 25)
    assert counts[0] == 1
    assert counts[-1] == n_features
    assert 20 <= len(counts) <= 25
    assert np.diff(counts).min() >= 1
    assert np.diff(counts)[-1] >= np.diff(counts)[0]


def test_equal_accuracies_share_the_better_rank():
    sums = rank_sums({"a": [0.9, 0.5, 0.7], "b": [0.9, 0.6, 0.7], "c": [0.8, 0.6, 0.7]})
    assert sums == {"a": 1 + 3 + 1, "b": 1 + 1 + 1, "c": 3 + 1 + 1}


def test_accuracies_equal_up_to_rounding_tie():
    assert rank_sums({"a": [0.1 + 0.2], "b": [0.3]}) == {"a": 1, "b": 1}


def test_average_ranks_of_the_published_means():
    # Part of table 3: two data sets and two methods, each of which wins once.
    assert average_ranks({"eps^S": [95.53, 73.84], "C1": [95.63, 64.67]}) == {
        "eps^S": 1.5,
        "C1": 1.5,
    }


def literal_pairs(labels):
    n = len(labels)
    return {(i, j) for i in range(n) for j in range(n) if i != j and labels[i] == labels[j]}


def test_new_must_links_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 8)
    prototypes = np.array([0, 1, 8, 9, 16, 17])
    groups = np.where(rng.random(24) < 0.7, y, rng.integers(0, 3, 24))
    groups[prototypes] = y[prototypes]
    given = {(i, j) for i in prototypes for j in prototypes if i != j and y[i] == y[j]}
    linked = literal_pairs(groups)
    assert given <= linked
    new = linked - given
    correct = [pair for pair in new if y[pair[0]] == y[pair[1]]]
    assert new_must_links(groups, len(given)) == len(linked) / len(given)
    assert correct_new_must_links(groups, y, len(given)) == len(correct) / len(new)
