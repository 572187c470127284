import numpy as np
import pytest
from scipy import stats

from linkselect.evaluation._significance import corrected_t_test, holm, p_text


def test_the_corrected_test_by_hand():
    values = np.array([0.02, 0.03, 0.01, 0.02, 0.03])
    # With many more training than test samples, it is the usual paired test.
    plain = corrected_t_test(values, 10**12, 100)
    assert plain == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    statistic = values.mean() / np.sqrt((1 / 5 + 0.25) * values.var(ddof=1))
    assert corrected_t_test(values, 400, 100) == pytest.approx(2 * stats.t.sf(statistic, 4))
    assert corrected_t_test(-values, 400, 100) == corrected_t_test(values, 400, 100)
    assert corrected_t_test([0.0, 0.0], 5, 5) == 1.0


def test_equal_differences_are_no_certainty():
    """Two splits that happen to agree are weak evidence; twenty that agree are strong."""
    assert corrected_t_test([0.1, 0.1], 80, 20) > 0.05
    assert corrected_t_test([0.1] * 20, 80, 20) < 0.001
    assert corrected_t_test([0.1 + 1e-15, 0.1], 80, 20) == pytest.approx(
        corrected_t_test([0.1, 0.1], 80, 20)
    )
    # A difference below one test sample in every split cannot be significant.
    assert corrected_t_test([0.01] * 5, 80, 20) > 0.05


def test_a_tiny_p_value_is_written_as_a_bound():
    assert p_text(0.0) == p_text(0.0009) == "< 0.001"
    assert p_text(0.04) == "= 0.04"


def test_the_corrected_test_seldom_finds_what_is_not_there():
    """On noise with overlapping splits, the plain t-test rejects too often."""
    rng = np.random.default_rng(0)
    n_found = {10**9: 0, 80: 0}
    for _ in range(300):
        # The differences of two equal methods for each sample, averaged over 20 of 100 samples.
        noise = rng.normal(size=100)
        draws = [noise[rng.permutation(100)[:20]].mean() for _ in range(20)]
        for n_train in n_found:
            n_found[n_train] += corrected_t_test(draws, n_train, 20) < 0.05
    assert n_found[10**9] / 300 > 0.25
    assert n_found[80] / 300 < 0.08


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == [0.02]
