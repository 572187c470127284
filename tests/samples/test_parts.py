import numpy as np
from numpy.testing import assert_array_equal

import linkselect as ls
from linkselect._samples.parts import Parts


def test_a_survey_is_reused_only_for_the_same_classes(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((20, 3)))
    nothing, some = np.full(20, -1), np.where(np.arange(20) % 2, -1, 0)
    read = Parts(ls.open_stored(tmp_path / "X.npy")).surveyed(nothing)
    assert read.surveyed(nothing) is read
    for_some = read.surveyed(some)
    assert_array_equal(for_some.codes, some)
    assert_array_equal(for_some.survey.moments.mass.ravel(), [10, 10])
    assert for_some.surveyed(nothing) is for_some  # moments of classes cover all samples
