"""Tests of the LinkSelector benchmark: supervision, measurements, stored results, and tables."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import linkselect as ls

CLASSES = np.repeat([0, 1, 2], 30)


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Return the benchmark module with one generated data set of 90 samples and 110 features."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    module = importlib.import_module("pairs_alone")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 110)) + 2 * (CLASSES[:, None] == np.arange(110) % 5)
    X[3, 4] = np.nan
    np.savez(tmp_path / "trace.npz", X=X, y=CLASSES + 5)
    monkeypatch.setattr(module, "DATA", tmp_path)
    monkeypatch.setattr(module, "STORE", tmp_path / "pairs_alone.jsonl")
    return module


@pytest.fixture
def made_tables(bench):
    return importlib.import_module("pairs_alone_tables")


def asked(bench, **options):
    every = {"draws": 1, "only": list(bench.KINDS), "sets": ["trace"], **options}
    return SimpleNamespace(**every)


def measured(kind, name, draw, **values):
    return {"set": name, "draw": draw, "kind": kind, "values": values}


# -- samples and supervision --------------------------------------------------------------------


def test_no_data_set_is_used_for_both_tuning_and_testing(bench):
    assert (len(bench.CHOSEN_ON), len(bench.HELD_OUT)) == (30, 9)
    assert len({*bench.CHOSEN_ON, *bench.HELD_OUT}) == 39


def test_all_columns_are_read_and_missing_values_filled(bench):
    X, y = bench.read("trace")
    assert X.shape == (90, 110)
    assert np.isfinite(X).all()
    assert_array_equal(y, CLASSES)


def test_both_halves_are_scaled_by_the_training_samples(bench):
    X, y = bench.read("trace")
    data = bench.split(X, y, 0)
    assert data.train.min() == 0
    assert data.train.max() == pytest.approx(1)
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    assert_allclose(data.test, (data.X_test - low) / (high - low))
    assert not set(map(tuple, data.X)) & set(map(tuple, data.X_test))


def test_links_of_one_kind_equal_those_of_both_kinds(bench):
    both = bench.known("100 pairs", CLASSES, 0)["pairs"]
    assert (both.n_must, both.n_cannot) == (50, 50)
    assert bench.known("50 must-links", CLASSES, 0)["pairs"].must == both.must
    assert bench.known("50 cannot-links", CLASSES, 0)["pairs"].cannot == both.cannot


def test_a_tenth_of_each_kind_is_wrong(bench):
    pairs = bench.known("100 pairs, 10 % wrong", CLASSES, 0)["pairs"]
    right = bench.known("100 pairs", CLASSES, 0)["pairs"]
    assert sum(CLASSES[a] != CLASSES[b] for a, b in pairs.must) == 5
    assert sum(CLASSES[a] == CLASSES[b] for a, b in pairs.cannot) == 5
    assert {*pairs.must, *pairs.cannot} == {*right.must, *right.cannot}


def test_randomly_drawn_pairs_are_correct_and_mostly_cannot_links(bench):
    pairs = bench.known("100 pairs as they come", CLASSES, 0)["pairs"]
    assert pairs.n_must + pairs.n_cannot == 100
    assert pairs.n_must < pairs.n_cannot
    assert all(CLASSES[a] == CLASSES[b] for a, b in pairs.must)
    assert all(CLASSES[a] != CLASSES[b] for a, b in pairs.cannot)


def test_links_added_to_labels_are_between_unlabelled_rows(bench):
    few = bench.known("3 labels per class", CLASSES, 0)["y"]
    assert_array_equal(np.bincount(few[few >= 0]), [3, 3, 3])
    pairs = bench.known("3 labels per class and 20 must-links", CLASSES, 0)["pairs"]
    implied = ls.Pairs.from_labels(few)
    others = set(pairs.must) - set(implied.must)
    assert len(others) == 20
    assert pairs.cannot == implied.cannot
    assert all(few[a] == few[b] == -1 and CLASSES[a] == CLASSES[b] for a, b in others)


# -- what is measured ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["reference", "20 pairs", "3 labels per class", "all labels", "nothing", "stability"]
)
def test_a_unit_has_a_value_for_every_method(bench, kind):
    labels = bench.KINDS[kind]
    values = bench.unit(("trace", 0, kind, labels))["values"]
    assert list(values) == list(labels)
    assert all(np.isfinite(found).all() for found in values.values())
    # Results of a method do not depend on the others.
    assert bench.unit(("trace", 0, kind, labels[-1:]))["values"] == {labels[-1]: values[labels[-1]]}


def test_a_method_that_raises_has_no_value(bench):
    labels = ["ConstraintScore", "LinkSelector"]
    values = bench.unit(("trace", 0, "10 must-links", labels))["values"]
    assert values["ConstraintScore"] is None
    assert len(values["LinkSelector"]) == 3


def test_wrong_pairs_are_found_and_methods_compared(bench):
    auc = bench.unit(("trace", 0, "suspects", ["100 pairs"]))["values"]["100 pairs"]
    assert 0.6 < auc <= 1
    judged = bench.unit(("trace", 0, "choice", ["LSDF"]))["values"]["LSDF"]
    assert all(0 <= one <= 1 for one in judged["20 pairs"])
    # The groups formed by 100 pairs are too large to split 45 samples into five folds.
    assert "100 pairs" not in judged


def test_forests_need_enough_features(bench):
    X, y = bench.read("trace")
    data = bench.split(X[:, :9], y, 0)
    *others, forest = bench.accuracy(data, np.arange(9))
    assert forest is None
    assert min(others) > 50


def test_a_highly_correlated_feature_counts_as_found(bench):
    a, b, c = np.random.default_rng(0).normal(size=(3, 500))
    X = np.column_stack([a, b, c, a + 0.1 * b, -c, np.zeros(500), np.zeros(500)])
    found = bench.agreement
    assert found(X, np.array([0, 1]), np.array([0, 1])) == [1, 1]
    assert found(X, np.array([0, 1]), np.array([3, 4])) == [0.5, 0]
    assert found(X, np.array([0, 2]), np.array([3, 4])) == [1, 0]
    assert found(X, np.array([0, 1]), np.array([1, 2])) == [0.5, pytest.approx(1 / 3)]
    assert found(X, np.array([5]), np.array([6])) == [0, 0]


# -- the run ------------------------------------------------------------------------------------


def test_stored_results_are_not_computed_again(bench):
    units = [bench.unit(("trace", 0, "nothing", bench.KINDS["nothing"]))]
    bench.STORE.write_text("".join(json.dumps(one) + "\n" for one in units))
    options = asked(bench, only=["nothing"])
    left = [(kind, labels) for _, _, kind, labels in bench.jobs_left(bench.stored(), options)]
    assert left == [("reference", ["random features", "all features"])]
    found = bench.stored(["LinkSelector"])
    assert "LinkSelector" not in bench.STORE.read_text()
    job = ("trace", 0, "nothing", ["LinkSelector"])
    assert job in bench.jobs_left(found, options)
    with bench.STORE.open("a") as store:
        store.write(json.dumps(bench.unit(job)) + "\n")
    assert bench.stored()["trace", 0, "nothing"]["values"] == units[0]["values"]


def test_the_first_draw_of_all_sets_comes_first(bench):
    jobs = bench.jobs_left({}, asked(bench, draws=2, sets=["trace", "su"]))
    kinds = list(dict.fromkeys(kind for _, _, kind, _ in jobs))
    main = ["20 pairs", "100 pairs", "3 labels per class", "all labels", "nothing"]
    assert kinds[:6] == ["reference", *main]
    assert [draw for _, draw, *_ in jobs] == sorted(draw for _, draw, *_ in jobs)
    assert {draw for _, draw, kind, _ in jobs if kind == "choice"} == {0}


# -- tables -------------------------------------------------------------------------------------


def pair_units():
    """Return results of two sets: one method loses by 4 and wins by 2; another fails on one set."""
    found = []
    for name, link, consensus in [("su", 80.0, 76.0), ("trace", 60.0, 62.0)]:
        values = {"LinkSelector": [link] * 3, "ConsensusSelector": [consensus] * 3}
        values["SCGS"] = None if name == "su" else [50.0] * 3
        found.append(measured("20 pairs", name, 0, **values))
        found.append(measured("reference", name, 0, **{"random features": [40.0, 40.0, None]}))
    return found


def test_methods_are_compared_where_both_have_results(made_tables):
    text = made_tables.tables(pair_units())
    assert "Held-out data sets (2 sets, 1 draw each):" in text
    assert "| LinkSelector | 70.0 / 70.0 / 70.0 | - | - |" in text
    assert "| SCGS (refuses 1 of 2) | 50.0 / 50.0 / 50.0 | - | - |" in text
    assert "| random features | 40.0 / 40.0 / - | - | - |" in text
    assert "| ConsensusSelector | +1.0 [-2.0, 4.0], 1/2 | - | - | - |" in text
    assert "| SCGS | +10.0 [10.0, 10.0], 1/1 |" in text
    assert "| *su* | 80.0 / - | 76.0 / - | refuses / - | 40.0 | - | - |" in text
    # Rows are sorted by their mean, and a kind without results has no section.
    places = [text.index(f"\n| {one}") for one in ("LinkSelector", "Consensus", "SCGS", "random")]
    assert places == sorted(places)
    assert "## Stability" not in text


def test_every_data_set_has_the_same_weight(made_tables):
    units = [measured("20 pairs", "su", i, LinkSelector=[50.0 + i] * 3) for i in range(3)]
    units += [measured("20 pairs", "trace", 0, LinkSelector=[90.0] * 3)]
    text = made_tables.tables(units)
    assert "(2 sets, 1 to 3 draws each)" in text
    assert "| LinkSelector | 70.5 / 70.5 / 70.5 |" in text
    assert made_tables.tables(units[::-1]) == text


def test_other_tables(made_tables):
    methods = {"LinkSelector": [66.0] * 3, "ConsensusSelector": [62.0] * 3}
    methods |= {"LSDF": [60.0] * 3, "SCGS": [64.0] * 3}
    judged = {"LSDF": {"20 pairs": [0.9, 0.5]}, "SCGS": {"20 pairs": [0.8, 0.6]}}
    units = [
        measured("20 pairs", "su", 0, **methods),
        measured("10 must-links", "su", 0, LinkSelector=[61.0] * 3, ConstraintScore=None),
        measured("stability", "su", 0, LinkSelector=[0.5, 0.25, 0.75, 0.125]),
        measured("stability", "gtzan_features", 0, LinkSelector=None),
        measured("suspects", "su", 0, **{"20 pairs": 0.7, "40 pairs": 0.8, "100 pairs": 0.9}),
        measured("choice", "su", 0, **judged),
    ]
    text = made_tables.tables(units)
    assert "| 10 must-links | 61.0 / 61.0 | - | - | refuses | - | - |" in text
    assert "| LinkSelector | 0.50 / 0.25 | - | 0.75 / 0.12 | - |" in text
    assert "1 set, 1 draw each, with at least 100 features" in text
    assert "| **mean** |  |  |  |  |  | 0.70 / 0.80 / 0.90 |" in text
    assert "| method chosen by | 20 pairs (1 sets) | 40 pairs (0 sets) |" in text
    assert "| held-out pairs | 4.0 | - | - |" in text
    assert "| the pairs used to fit | 0.0 | - | - |" in text
    assert "| always LinkSelector | -2.0 | - | - |" in text


def test_only_text_between_the_marks_is_replaced(made_tables, monkeypatch, tmp_path):
    page = made_tables.PAGE.read_text(encoding="utf-8")
    copy = tmp_path / "page.md"
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setattr(made_tables, "PAGE", copy)
    made_tables.write("NEW")
    before, _, rest = page.partition("<!-- measured -->")
    after = rest.partition("<!-- end -->")[2]
    expected = f"{before}<!-- measured -->\n\nNEW\n\n<!-- end -->{after}"
    assert copy.read_text(encoding="utf-8") == expected
    assert "<!-- measured: wide -->" in after


def test_the_headline_has_the_best_other_method(made_tables):
    from pairs_alone_findings import headline

    kinds = ("20 pairs", "100 pairs", "3 labels per class", "all labels", "nothing")
    units = [
        {
            "set": "trace",
            "draw": 0,
            "kind": kind,
            "values": {label: [60.0 + place, 50.0] for place, label in enumerate(some)},
        }
        for kind in kinds
        for some in [made_tables.KINDS[kind]]
    ]
    text = "\n".join(headline(units))
    assert "`LinkSelector` reaches 60.0 / 50.0 % from" in text
    assert "the best other method 69.0 / 50.0 % (`ConstrainedLaplacianScore`)" in text
