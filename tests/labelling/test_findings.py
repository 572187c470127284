"""Groups of samples and their best features on the result page."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from linkselect._pictures import named_features
from linkselect.labelling._findings import (
    MARK_WIDTH,
    MOST_MEMBERS,
    MOST_OTHERS,
    find,
    groups_of,
    places_of,
)
from linkselect.labelling._shown_samples import ShownSamples
from tests.helpers.labellings import grouped

X, y = grouped()
NAMES = [f"feature {i}" for i in range(X.shape[1])]
BEST, PATH = np.array([1, 0, 2, 5]), (0.5, 0.7, 0.8, 0.85)


def links_within(code, n_samples):
    """Join the first samples of a class in a chain."""
    rows = np.flatnonzero(y == code)[:n_samples].tolist()
    return list(pairwise(rows))


def found_in(X, must, named, samples=None):
    samples = samples or ShownSamples(X, tuple(range(X.shape[0])), NAMES)
    return find(samples, X, must, named, BEST, PATH)


def test_alike_answers_form_groups():
    must = [*links_within(0, 3), *links_within(1, 5), *links_within(2, 2)]
    named = sorted({row for pair in must for row in pair} | {40, 41})
    found = found_in(X, must, named)
    assert [one.n_members for one in found.groups] == [5, 3, 2]
    assert found.n_groups == 3
    for one, code in zip(found.groups, (1, 0, 2), strict=True):
        assert one.members == np.flatnonzero(y == code)[: one.n_members].tolist()
        assert len(one.others) == MOST_OTHERS
        assert {y[row] for row in one.others} == {code}, "in features that separate the groups"
        assert not set(one.others) & set(named)
    assert found.alone == [40, 41]


def test_the_nearest_others_equal_a_direct_computation():
    must = [*links_within(0, 3), *links_within(1, 3)]
    named = {row for pair in must for row in pair}
    found = found_in(X, must, sorted(named))
    unit = (X[:, BEST] - X[:, BEST].min(axis=0)) / np.ptp(X[:, BEST], axis=0)
    means = [unit[one.members].mean(axis=0) for one in found.groups]
    nearest = {}
    for row in set(range(len(X))) - named:
        distances = [np.sum((unit[row] - mean) ** 2) for mean in means]
        nearest.setdefault(int(np.argmin(distances)), []).append((min(distances), row))
    for code, one in enumerate(found.groups):
        assert one.others == [row for _, row in sorted(nearest[code])[:MOST_OTHERS]]


def test_features_have_means_of_groups_and_samples_in_order():
    must = [*links_within(0, 4), *links_within(2, 3)]
    found = found_in(X, must, sorted({row for pair in must for row in pair}))
    assert [one.name for one in found.columns] == [NAMES[feature] for feature in BEST]
    for one, feature, share in zip(found.columns, BEST, PATH, strict=True):
        column = X[:, feature]
        means = [column[group.members].mean() for group in found.groups]
        np.testing.assert_allclose(one.means, means)
        np.testing.assert_allclose(one.places, (means - column.min()) / np.ptp(column))
        assert one.share == share
    first, last = found.columns[0], found.columns[-1]
    values = X[first.ordered, BEST[0]]
    assert len(values) == 9
    assert values[0] == X[:, BEST[0]].min()
    assert values[-1] == X[:, BEST[0]].max()
    assert (np.diff(values) >= 0).all()
    assert last.ordered == []


def test_sparse_missing_and_constant_values():
    must = links_within(0, 3)
    sparse = found_in(csr_array(X), must, [0])
    dense = found_in(X, must, [0])
    assert sparse == dense
    odd = X.copy()
    odd[:, 1] = 3.0
    odd[:, 0] = np.nan
    odd[5:9, 2] = np.nan
    filled = np.nan_to_num(odd)
    found = find(ShownSamples(odd, tuple(range(len(X))), NAMES), filled, must, [0], BEST, PATH)
    assert found.columns[0].places == [0.0]
    assert np.isnan(found.columns[1].means[0])
    assert found.columns[1].ordered == []
    assert not set(found.columns[2].ordered) & set(range(5, 9))


def test_marks_do_not_overlap():
    must = [pair for code in range(3) for pair in links_within(code, 3)]
    same = np.where(np.isin(np.arange(X.shape[1]), BEST), 1.0, X)
    same[40:43, BEST] = [[0.0], [2.0], [1.5]]
    for one in found_in(same, must, []).columns:
        assert one.means == [1.0, 1.0, 1.0]
        assert np.diff(sorted(one.places)).min() >= MARK_WIDTH - 1e-9
        assert min(one.places) >= 0
        assert max(one.places) <= 1
    same[:, BEST] = np.minimum(same[:, BEST], 1.0)  # at the right end
    for one in found_in(same, must, []).columns:
        assert max(one.places) == 1.0
        assert np.diff(sorted(one.places)).min() >= MARK_WIDTH - 1e-9


def test_groups_without_features():
    nothing = np.empty(0, dtype=np.intp)
    samples = ShownSamples(X, tuple(range(len(X))), NAMES)
    found = find(samples, X, links_within(0, 3), [0, 3, 6], nothing, ())
    assert [one.n_members for one in found.groups] == [3]
    assert found.groups[0].others == []
    assert found.columns == []


def test_without_alike_answers_there_are_no_groups():
    found = found_in(X, [], [3, 4])
    assert found.groups == []
    assert found.alone == [3, 4]
    assert found.columns[0].means == []


def test_large_groups_are_shortened():
    rows = np.arange(30)
    found = found_in(X, list(pairwise(rows)), rows.tolist())
    assert found.groups[0].n_members == 30
    assert len(found.groups[0].members) == MOST_MEMBERS


@pytest.mark.parametrize("seed", range(20))
def test_groups_equal_a_direct_computation(seed):
    rng = np.random.default_rng(seed)
    must = rng.integers(0, 30, size=(rng.integers(1, 25), 2))
    must = must[must[:, 0] != must[:, 1]]
    expected = []
    for a, b in must.tolist():
        joined = [one for one in expected if a in one or b in one]
        expected = [one for one in expected if one not in joined] + [{a, b}.union(*joined)]
    expected.sort(key=lambda one: (-len(one), min(one)))
    assert [set(one.tolist()) for one in groups_of(must.tolist())] == expected


def test_places_are_those_of_the_first_features():
    names = [one.name for one in named_features(("color",))]
    values = np.random.default_rng(0).normal(size=(20, len(names)))
    samples = ShownSamples(
        values,
        tuple(range(20)),
        names,
        regions={one.name: one.region for one in named_features()},
    )
    best = np.array([names.index(f"{kind}, lower right") for kind in ("brightness", "redness")])
    best = np.append(best, names.index("redness, centre"))
    found = find(samples, values, [(0, 1), (2, 3)], [0, 1, 2, 3], best, (0.5, 0.6, 0.7))
    places = places_of(samples, found)
    assert places.rows == [0, 2]
    assert [part.numbers for part in places.parts] == ["1, 2", "3"]
    assert places.parts[0].region == pytest.approx((66.67, 66.67, 33.33, 33.33))
    assert places_of(ShownSamples(values, tuple(range(20)), names), found) is None
