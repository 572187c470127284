import numpy as np
import pytest

from linkselect import moments
from linkselect.moments import Moments


def bits(found: Moments):
    return [
        np.ascontiguousarray(part).tobytes()
        for part in (found.mass, found.scatter, found._origin, found._offset)
    ]


@pytest.mark.parametrize("n_groups", [1, 3])
def test_sums_group_by_group_have_the_same_bits(n_groups, monkeypatch):
    rng = np.random.default_rng(0)
    block = rng.standard_normal((70, 200)) + 1e6 * rng.random(200)
    block[:, 0], block[:, 1] = 0.0, -0.0
    codes = rng.integers(0, n_groups, 70)
    codes[[3, 40]] = -1
    monkeypatch.setattr(moments, "MANY_ENTRIES", 1)
    # One group more than there are samples of: it weighs nothing.
    by_group = moments.moments(block, codes, None, n_groups + 1)
    monkeypatch.setattr(moments, "_moments_by_group", None)
    monkeypatch.setattr(moments, "MANY_COLUMNS", 201)
    together = moments.moments(block, codes, None, n_groups + 1)
    np.testing.assert_array_equal(
        by_group.mass, np.bincount(codes[codes >= 0], minlength=n_groups + 1)
    )
    # Where nobody is, the origin is whoever comes first.
    assert bits(by_group) == bits(together)


def test_weights_and_narrow_blocks_are_added_up_together(monkeypatch):
    monkeypatch.setattr(moments, "_moments_by_group", None)
    rng = np.random.default_rng(0)
    codes = np.zeros(700, dtype=np.intp)
    assert moments.moments(rng.random((700, 200)), codes, rng.random(700) + 0.5).mass > 0
    assert moments.moments(rng.random((700, 20)), codes).mass == 700
