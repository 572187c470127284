import linkselect
from compared import two_classes
from linkselect import FisherScore, LaplacianScore, compare, evaluation
from linkselect.evaluation.comparison import numbers_of_features


def test_compare_has_a_short_name():
    assert linkselect.compare is evaluation.compare is compare
    assert "compare" in dir(linkselect)


def test_steps_can_be_counted():
    X, y = two_classes()
    seen = []

    def track(steps):
        for step in steps:
            seen.append(step)
            yield step

    compare({"a": FisherScore(), "b": LaplacianScore()}, X, y, n_splits=2, track=track)
    assert seen == [(name, split) for split in (-1, 0, 1) for name in ("a", "b")]


def test_numbers_of_features():
    assert numbers_of_features(1) == (1,)
    assert numbers_of_features(10) == (1, 2, 3, 5, 7, 10)
    assert numbers_of_features(5000)[-1] == 100
