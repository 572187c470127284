import json

from linkselect import FisherScore, compare
from linkselect.evaluation._curves import RANDOM
from tests.helpers.compared import two_classes


def test_plain_data():
    X, y = two_classes()
    found = compare({"fisher": FisherScore()}, X, y, n_splits=2, top=12)
    assert (
        repr(found)
        == "Comparison(methods=['fisher'], n_samples=120, n_features=12, leader='fisher')"
    )
    again = json.loads(json.dumps(found.to_dict()))
    assert again["methods"] == ["fisher"]
    assert set(again["accuracy"]) == {"fisher", RANDOM}
    assert again["summary"] == list(found.summary)
