"""Tests of the similarity score paper: data seen by methods, shared units, and figures."""

import json
from functools import cache

import numpy as np
import pytest

import linkselect as ls
from linkselect.evaluation import Curve
from linkselect.reproduction._datasets import load_dataset
from linkselect.reproduction._paper import Unit
from linkselect.reproduction._papers import load_paper
from linkselect.reproduction._papers.similarity_2020 import methods, problems, protocol, tables
from linkselect.reproduction._papers.similarity_2020.protocol import mean_over_kept, setup_of
from linkselect.reproduction._published import published
from tests.conftest import DATA
from tests.helpers import literal

PAPER = load_paper("similarity-constraint-score-2020")


@pytest.fixture
def data_dir():
    for name in ("wbcd_original", "dermatology"):
        if not (DATA / f"{name}.npz").exists():
            pytest.skip(f"needs {name}.npz in {DATA}; set LINKSELECT_DATA to the data folder")
    return DATA


def make_problem(seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 12)
    X = rng.random((24, 5)) + y[:, None] * np.array([0.6, 0.0, 0.3, 0.0, 0.0])
    labels = np.full(24, -1)
    labels[[0, 1, 2, 12, 13, 14]] = y[[0, 1, 2, 12, 13, 14]]
    return problems.LabelledSplit(X, y, X + 0.01, y, labels, 0)


def order_of(method, problem):
    unit = Unit("prototypes", "WBCD", method, 0, (("p", 3),))
    return methods.ranking_of(unit, problem, 3).order.tolist()


def changed(problem, **parts):
    return problems.LabelledSplit(**{**problem.__dict__, **parts})


@pytest.mark.parametrize("method", sorted(methods.METHODS))
def test_no_method_sees_test_rows(method):
    problem = make_problem()
    other = changed(problem, X_test=problem.X_test[::-1] * 5, y_test=1 - problem.y_test)
    assert order_of(method, problem) == order_of(method, other)


@pytest.mark.parametrize("method", sorted(set(methods.METHODS) - {"SFS-1NN"}))
def test_only_the_wrapper_sees_true_labels(method):
    problem = make_problem()
    y = np.where(problem.labels >= 0, problem.y, 1 - problem.y)
    assert order_of(method, problem) == order_of(method, changed(problem, y=y))


def test_the_wrapper_scores_prototypes_on_the_training_rows():
    problem = make_problem()
    known = problem.labels >= 0
    hits = []
    for feature in range(5):
        column = problem.X[:, feature]
        nearest = np.abs(column[:, None] - column[known]).argmin(axis=1)
        hits.append((problem.labels[known][nearest] == problem.y).mean())
    unit = Unit("prototypes", "WBCD", "SFS-1NN", 0, (("p", 3),))
    found = methods.ranking_of(unit, problem, 1)
    np.testing.assert_allclose(found.scores, hits)


@pytest.mark.parametrize("method", ["ReliefF", "mRMR", "C1", "C2", "eps^S"])
def test_supervised_methods_see_only_prototypes(method):
    problem = make_problem()
    X = problem.X.copy()
    X[problem.labels < 0] = np.random.default_rng(9).random((18, 5))
    assert order_of(method, problem) == order_of(method, changed(problem, X=X))


@pytest.mark.parametrize("method", ["Laplacian Score", "SPEC"])
def test_unsupervised_methods_see_only_the_other_rows(method):
    problem = make_problem()
    X = problem.X.copy()
    X[problem.labels >= 0] = np.random.default_rng(9).random((6, 5))
    assert order_of(method, problem) == order_of(method, changed(problem, X=X))


def on_prototypes(selector, problem):
    known = problem.labels >= 0
    return selector.fit(problem.X[known], problem.labels[known])


def scores_of(method, problem):
    unit = Unit("clustering", "WBCD", method, 0, (("p", 3),))
    return methods.ranking_of(unit, problem, 3).scores


def test_constraint_score_2_weights_cannot_links_by_1():
    problem = make_problem()
    expected = on_prototypes(ls.ConstraintScore(criterion="difference", weight=1.0), problem)
    np.testing.assert_array_equal(scores_of("C2", problem), expected.scores_)


def test_sigma_is_the_width_of_the_similarity_scores():
    problem = make_problem()
    for sigma in (0.3, 1.0):
        parameters = (("p", 3),) if sigma == 1.0 else (("p", 3), ("sigma", sigma))
        unit = Unit("prototypes", "WBCD", "eps^S", 0, parameters)
        expected = on_prototypes(ls.SimilarityConstraintScore(3, sigma=sigma), problem)
        found = methods.ranking_of(unit, problem, 3)
        np.testing.assert_array_equal(found.fitted["path_"], expected.path_)


@pytest.mark.parametrize("method", ["Laplacian Score", "SPEC", "C5", "C6", "C7"])
def test_a_constant_feature_has_no_score_and_ranks_last(method):
    problem = make_problem()
    X = problem.X.copy()
    X[:, 2] = 0.5
    unit = Unit("clustering", "WBCD", method, 0, (("p", 3),))
    found = methods.ranking_of(unit, changed(problem, X=X), 3)
    assert np.isnan(found.scores).tolist() == [False, False, True, False, False]
    assert found.order[-1] == 2


@pytest.mark.parametrize("method", ["C5", "C6", "C7"])
def test_a_sample_is_among_its_own_neighbours(method):
    problem = make_problem()
    labels, known = problem.labels, problem.labels >= 0
    named = known[:, None] & known
    same = labels[:, None] == labels
    M, C = named & same & ~np.eye(len(labels), dtype=bool), named & ~same
    given = {"sigma": 1.0, "k": 5, "near": literal.near_or_itself}
    if method == "C7":
        expected = literal.compensated_laplacian(
            problem.X, M, C, labels, gamma=0.9, compensation=0.5, **given
        )
    else:
        variant = {"C5": "2011", "C6": "2014"}[method]
        expected = literal.constrained_laplacian(problem.X, M, C, ~known, variant=variant, **given)
    unit = Unit("clustering", "WBCD", method, 0, (("p", 3),))
    found = methods.ranking_of(unit, problem, 3)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-10)


@pytest.mark.parametrize("method", ["Laplacian Score", "SPEC"])
def test_the_complete_graph_has_self_loops(method):
    problem = make_problem()
    X = problem.X[problem.labels < 0]
    W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2)
    degrees = W.sum(axis=1)
    assert (np.diag(W) == 1).all()
    change = (W[:, :, None] * (X[:, None] - X) ** 2).sum(axis=(0, 1)) / 2
    from_mean = X - degrees @ X / degrees.sum() if method == "Laplacian Score" else X
    np.testing.assert_allclose(scores_of(method, problem), change / (degrees @ from_mean**2))


def test_neighbours_of_lsdf_are_the_sample_and_four_others():
    problem = make_problem()
    expected = ls.LSDF(n_neighbors=4).fit(problem.X, problem.labels)
    np.testing.assert_array_equal(scores_of("C3", problem), expected.scores_)


def test_the_published_ensemble_has_the_worst_features_first():
    problem = make_problem()
    assert order_of("EnsCLS", problem) == order_of("EnsCLS, best first", problem)[::-1]


def test_the_corrected_order_of_the_ensemble_is_listed_separately():
    units = PAPER.tables[6].units(1)
    results = {
        unit: {"accuracy": [80.0 + len(unit.method)] * len(protocol.counts_of(unit))}
        for unit in units
        if unit.dataset == "WBCD"
    }
    cells = {(cell.dataset, cell.method): cell for cell in PAPER.tables[6].cells(results)}
    assert cells["WBCD", "EnsCLS"].published == 92.21
    assert cells["WBCD", "EnsCLS, best first"].published is None
    assert cells["WBCD", "EnsCLS, best first"].ours == pytest.approx(98.0)
    assert ("Average rank", "EnsCLS, best first") not in cells
    assert PAPER.tables[6].shown_method("EnsCLS") == "EnsCLS (worst features first)"


def test_training_rows_are_sorted_by_class(data_dir):
    X, y, _, _ = problems._split_data("Dermatology", data_dir)
    assert (np.diff(y) >= 0).all()
    data = load_dataset("Dermatology", data_dir)
    first = np.flatnonzero(data.y == 0)[:3]
    itching = data.X[:, 0]
    np.testing.assert_allclose(X[:3, 0], itching[first] / itching.max())


def test_classes_are_numbered_by_appearance():
    assert problems._by_appearance(np.array([3, 3, 0, 2, 0])).tolist() == [0, 0, 1, 2, 1]


def test_table_4_reveals_the_class_numbers_of_image_segmentation():
    if not (DATA / "image_segmentation.npz").exists():
        pytest.skip(f"needs image_segmentation.npz in {DATA}; set LINKSELECT_DATA")
    y = load_dataset("Image Segmentation", DATA).y
    by_file = problems._classes_by_file(y)
    assert (by_file[210:] == 6 - y[210:]).all()
    assert (by_file[:210] != 6 - y[:210]).sum() == 180
    shares = shares_of_correct_links()
    assert sorted(cell.setting for cell in shares) == ["p=2", "p=3", "p=4"]
    for cell in shares:
        assert cell.ours == pytest.approx(cell.published, abs=0.04)


def shares_of_correct_links():
    units = [unit for unit in PAPER.tables[4].units(20) if unit.dataset == "Image Segmentation"]
    cells = PAPER.tables[4].cells({unit: PAPER.compute(unit, DATA) for unit in units})
    return [cell for cell in cells if cell.method == "CNML"]


def test_tables_and_figures_share_their_units():
    curves = set(PAPER.tables[3].units(4))
    assert set(PAPER.figures[5].units(4)) <= curves
    assert {unit for unit in PAPER.tables[8].units(4) if unit.method == "eps^S"} <= curves
    clustered = set(PAPER.tables[6].units(4))
    assert set(PAPER.figures[7].units(4)) <= clustered | curves
    shared = set(PAPER.tables[5].units(4)) & clustered
    assert {unit.method for unit in shared} == {"eps^SS", "C4", "C7"}
    assert not any(unit.run >= 20 for unit in PAPER.tables[6].units(100))


def test_clustering_is_evaluated_at_25_numbers_at_most():
    for unit in {*PAPER.tables[5].units(1), *PAPER.tables[6].units(1)}:
        counts = protocol.counts_of(unit)
        special = problems.SETS[unit.dataset].semi_supervised
        assert len(counts) <= 25
        assert special is None or special in counts


def test_mean_over_kept_interpolates_between_evaluated_numbers():
    straight = Curve(np.array([1, 4, 9]), np.array([[10.0, 40.0, 90.0]]))
    np.testing.assert_allclose(mean_over_kept(straight, "WBCD"), [50.0])


def test_every_table_has_published_cells():
    rows = {number: published(PAPER.name, number) for number in PAPER.tables}
    assert {number: len(found) for number, found in rows.items()} == {
        2: 72,
        3: 78,
        4: 72,
        5: 144,
        6: 91,
        7: 45,
        8: 48,
    }


def test_rank_sums_are_scaled_to_100_runs():
    curves = {}
    for method, accuracy in {"eps^S": [90.0, 80.0], "C1": [90.0, 70.0], "C2": [60.0, 75.0]}.items():
        setup = setup_of("prototypes", "WBCD", method)
        curves[setup] = Curve(np.array([5]), np.array(accuracy)[:, None])
    sums = tables._rank_sums("prototypes", curves)
    assert sums == {("WBCD", 3): {"eps^S": 100.0, "C1": 200.0, "C2": 250.0}}


@cache
def result_of(unit):
    """Compute a unit once for all tests, and return it as if read from a store."""
    return json.loads(json.dumps(PAPER.compute(unit, DATA)))


def test_the_scores_are_faster_than_the_wrapper():
    table = PAPER.tables[7]
    seconds = {"SFS-1NN": 2.0, "eps^S": 1.0, "eps^SS": 3.0}
    results = {
        unit: {"seconds": seconds[unit.method] + unit.run}
        for unit in table.units(2)
        if unit.method in seconds
    }
    held = {claim.text: claim.held for claim in table.claims(results)}
    assert held == {
        "eps^S is always faster than SFS-1NN": True,
        "eps^SS is always faster than SFS-1NN": False,
    }
    [ours] = {cell.ours for cell in table.cells(results) if cell.method == "eps^S"}
    assert ours == 1.0


def test_figure_7_marks_the_wrapper():
    figure = PAPER.figures[7]
    results = {
        unit: {"accuracy": np.ones(len(protocol.counts_of(unit)))} for unit in figure.units(1)
    }
    for panel in figure.panels(results):
        assert "SFS-1NN (1-NN on the prototypes; uses all training labels)" in panel.series


def test_only_clustering_is_limited_to_20_runs():
    for number in (8, 10):
        assert max(unit.run for unit in PAPER.figures[number].units(100)) == 99


def test_run_times_are_measured(data_dir):
    unit = Unit("run time", "WBCD", "mRMR", 0, (("p", 3), ("m", 5)))
    assert PAPER.compute(unit, data_dir)["seconds"] > 0


def test_the_same_unit_gives_the_same_numbers(data_dir):
    unit = Unit("clustering", "Dermatology", "EnsCLS", 1, (("p", 3),))
    assert PAPER.compute(unit, data_dir) == PAPER.compute(unit, data_dir)


@pytest.mark.parametrize("number", [1, 2, 3, 9])
@pytest.mark.usefixtures("data_dir")
def test_figures_of_one_data_set(number):
    figure = PAPER.figures[number]
    results = {unit: result_of(unit) for unit in figure.units(1)}
    panels = figure.panels(results)
    assert len(panels) == {1: 4, 2: 7, 3: 2, 9: 4}[number]
    for panel in panels:
        for series in panel.series.values():
            assert len(series.x) == len(series.y) > 1


@pytest.mark.usefixtures("data_dir")
def test_score_paths_behave_as_the_paper_says():
    figure = PAPER.figures[2]
    panels = figure.panels({unit: result_of(unit) for unit in figure.units(1)})
    for panel in panels:
        [line] = panel.series.values()
        # The mean of ascending scores increases, also for C2, which starts at its minimum.
        assert (np.diff(line.y) >= -1e-12).all()
