"""Arrays that stay on a device: the same results, in the array's own library.

The tests run with array-api-strict, which rejects anything beyond the standard, and with PyTorch
and CuPy if they are installed (`make test-torch`).
"""

import importlib
import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import get_tags

import linkselect as ls
from linkselect._forms import laplacian_form
from linkselect._messages import GuidedTypeError
from linkselect._samples import as_samples
from linkselect._samples.devices import (
    Device,
    add_by_index,
    device_of,
    k_smallest,
    set_by_index,
    to_numpy,
)
from linkselect._samples.moments import moments
from linkselect._search.similarity import select_by_similarity
from linkselect.graphs import Groups, auto_sigma, ball_edges, kernel_graph, nearest, nearest_edges
from tests.helpers.estimators import SELECTORS, WRAPPERS

ON_DEVICE = [each for each in SELECTORS if get_tags(each).array_api_support]
ON_CPU = [each for each in [*SELECTORS, *WRAPPERS] if not get_tags(each).array_api_support]


def _strict(array):
    return importlib.import_module("array_api_strict").asarray(array)


def _torch(array):
    torch = importlib.import_module("torch")
    return torch.as_tensor(array, device="cuda" if torch.cuda.is_available() else "cpu")


def _cupy(array):
    return importlib.import_module("cupy").asarray(array)


LIBRARIES = {"array_api_strict": _strict, "torch": _torch, "cupy": _cupy}


@pytest.fixture(params=[name for name in LIBRARIES if importlib.util.find_spec(name)])
def put(request):
    """Return a function that copies a NumPy array to another library."""
    return LIBRARIES[request.param]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    return MinMaxScaler().fit_transform(X), y


def fit_there(selector, put, X, y=None, pairs=None):
    with config_context(array_api_dispatch=True):
        y = y if y is None else put(y)
        return clone(selector).fit(put(X), y, pairs=pairs)


def assert_same_fit(selector, put, X, y=None, pairs=None):
    here, there = clone(selector).fit(X, y, pairs=pairs), fit_there(selector, put, X, y, pairs)
    assert_allclose(to_numpy(there.scores_), here.scores_, rtol=1e-10, atol=1e-14)
    assert_array_equal(to_numpy(there.order_), here.order_)
    assert_array_equal(to_numpy(there.ranking_), here.ranking_)
    if hasattr(here, "path_"):
        assert_allclose(to_numpy(there.path_), here.path_, rtol=1e-10)
    return here, there


@pytest.mark.parametrize("selector", ON_DEVICE, ids=str)
def test_labels_give_the_same_result(selector, put, cancer):
    _, there = assert_same_fit(selector, put, *cancer)
    library = type(put(np.zeros(1)))
    for name in ("scores_", "order_", "ranking_", "support_"):
        assert isinstance(getattr(there, name), library), name
    assert isinstance(there.get_support(), np.ndarray)


@pytest.mark.parametrize("selector", [each for each in ON_DEVICE if each.sees == "pairs"], ids=str)
def test_pairs_and_partial_labels_give_the_same_result(selector, put, cancer):
    X, y = cancer
    pairs = ls.Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    assert_same_fit(selector, put, X, pairs=pairs)
    assert_same_fit(selector, put, X, np.where(np.arange(len(y)) % 4, -1, y))


@pytest.mark.parametrize("kind", [np.float32, np.uint8, np.int64])
def test_other_types_of_numbers(put, cancer, kind):
    X, y = cancer
    whole = np.round(X * 100).astype(kind)
    for selector in (ls.FisherScore(), ls.LaplacianScore(), ls.VarianceScore()):
        assert_same_fit(selector, put, whole, y)


@pytest.mark.parametrize("selector", ON_CPU, ids=str)
def test_selectors_without_device_support_raise_an_error(selector, put, cancer):
    with pytest.raises(GuidedTypeError, match=r"CPU only.*X\.cpu\(\)\.numpy\(\)"):
        fit_there(selector, put, *cancer)


def test_a_device_without_float64_is_refused(cancer):
    strict = pytest.importorskip("array_api_strict", "2.6")
    place = strict.Device("no_float64")

    def put(array):
        kind = strict.float32 if array.dtype.kind == "f" else None
        return strict.asarray(array, dtype=kind, device=place)

    with pytest.raises(GuidedTypeError, match="require float64"):
        fit_there(ls.FisherScore(), put, *cancer)


def test_transform_stays_on_the_device(put, cancer):
    X, y = cancer
    fitted = fit_there(ls.FisherScore(3), put, X, y)
    with config_context(array_api_dispatch=True):
        kept = fitted.transform(put(X))
        back = fitted.inverse_transform(kept)
    assert device_of(kept) == device_of(put(X)) == device_of(back)
    assert_array_equal(to_numpy(kept), X[:, fitted.get_support()])
    assert_array_equal(to_numpy(back), np.where(fitted.get_support(), X, 0.0))
    with (
        config_context(array_api_dispatch=True),
        pytest.raises(ValueError, match="must use the same namespace"),
    ):
        fitted.transform(X)
    assert_array_equal(fitted.to_frame()["feature"], [f"x{i}" for i in to_numpy(fitted.order_)])


def test_without_dispatch_nothing_changes(cancer):
    torch = pytest.importorskip("torch")
    X, y = cancer
    fitted = ls.FisherScore().fit(torch.as_tensor(X), y)
    assert isinstance(fitted.scores_, np.ndarray)
    assert_allclose(fitted.scores_, ls.FisherScore().fit(X, y).scores_, rtol=1e-12)


# -- duplicate features, constants, extreme values -------------------------------------------


def test_scores_that_differ_by_rounding_tie(put):
    rng = np.random.default_rng(0)
    X = np.array([rng.permutation(300) < 47 for _ in range(40)]).T.astype(float)
    X[:, 7] = rng.random(300)
    fitted = fit_there(ls.VarianceScore(), put, X)
    assert len(np.unique(to_numpy(fitted.scores_))) == 2
    assert_array_equal(to_numpy(fitted.order_), [*range(7), *range(8, 40), 7])


def test_constant_and_duplicate_features(put, cancer):
    X, y = cancer
    odd = np.column_stack([X[:, 3], np.ones(len(X)), X, X[:, 0]])
    for selector in (ls.FisherScore(), ls.LaplacianScore()):
        with pytest.warns(UserWarning, match="1 of 33 features is constant"):
            here, there = assert_same_fit(selector, put, odd, y)
        scores = to_numpy(there.scores_)
        assert scores[0] == scores[5]
        assert np.isnan(scores[1])
        assert np.isnan(here.scores_[1])


def test_a_large_offset_costs_no_digits(put, cancer):
    X, y = cancer
    X = np.round(X * 2**10) / 2**10
    for selector in (ls.FisherScore(), ls.LaplacianScore(), ls.LaplacianConstraintScore()):
        near, far = (fit_there(selector, put, X + offset, y) for offset in (0.0, 2.0**25))
        assert_allclose(to_numpy(near.scores_), to_numpy(far.scores_), rtol=1e-9)


@pytest.mark.parametrize(("value", "message"), [(1e200, "overflow"), (1e-120, "vary by less")])
def test_values_that_cannot_be_squared(put, cancer, value, message):
    X, y = cancer
    with pytest.raises(ValueError, match=message):
        fit_there(ls.FisherScore(), put, X * value, y)


def test_out_of_memory_is_explained(cancer, monkeypatch):
    class OutOfMemoryError(RuntimeError):
        """An error with the same name as in PyTorch and CuPy."""

    def fail(*_, **__):
        raise OutOfMemoryError("Tried to allocate 2.00 GiB.")

    monkeypatch.setattr("array_api_strict.take", fail)
    with pytest.raises(MemoryError, match=r"ran out of memory .*2\.00 GiB.*float32"):
        fit_there(ls.LaplacianScore(), _strict, cancer[0])


# -- neighbours ------------------------------------------------------------------------------


def assert_same_neighbors(put, X, n_neighbors, **options):
    expected = nearest(X, n_neighbors, **options)
    found = nearest(put(X), n_neighbors, **options)
    for one, other in zip(found[:2], expected[:2], strict=True):
        assert_array_equal(one, other)
    assert_allclose(found[2], expected[2], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("n_neighbors", [1, 5, 40])
def test_neighbors(put, cancer, n_neighbors):
    X, _ = cancer
    assert_same_neighbors(put, X, n_neighbors)
    some, others = np.arange(0, 150, 7), np.arange(3, 60)
    assert_same_neighbors(put, X, n_neighbors, queries=some, pool=others)


def test_a_small_pool_is_found_whole(put, cancer):
    assert_same_neighbors(put, cancer[0], 5, pool=np.array([4, 2, 90]))


@pytest.mark.parametrize("small", [False, True], ids=["by differences", "by float64"])
def test_rows_that_products_leave_open_are_searched_again(put, shrink, small):
    # Far from the mean, float32 cannot resolve the distances within a tight group.
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 4)) * 1e-6
    X[:45] += 100.0
    if small:
        shrink()
    assert_same_neighbors(put, X, 3)


def test_ties_between_neighbours_are_broken_by_index(put):
    grid = np.repeat(np.arange(4.0), 12)[:, None] * np.ones(3)
    assert_same_neighbors(put, grid, 5)


def test_small_tiles_give_the_same(put, cancer, shrink):
    X, y = cancer
    expected = ls.LaplacianConstraintScore().fit(X, y).scores_
    shrink(600)
    assert_same_neighbors(put, X, 5)
    there = fit_there(ls.LaplacianConstraintScore(), put, X, y)
    assert_allclose(to_numpy(there.scores_), expected, rtol=1e-10)
    # Duplicate features tie, and ties are evaluated pair by pair.
    copies = np.column_stack([X[:40], X[:40]])
    for selector in [
        ls.SimilarityConstraintScore(4),
        ls.SimilarityConstraintScore(4, mode="semi-supervised"),
    ]:
        assert_same_fit(selector, put, copies, y[:40])
    assert_same_fit(ls.FisherScore(), put, X, y)


def test_more_columns_than_a_product_takes_at_once(put):
    X = np.random.default_rng(0).random((40, 2500))
    assert_same_neighbors(put, X, 3)


def test_balls_and_widths(put, cancer):
    X, _ = cancer
    expected, found = ball_edges(X, 0.5), ball_edges(put(X), 0.5)
    assert set(zip(found.left, found.right, strict=True)) == set(
        zip(expected.left, expected.right, strict=True)
    )
    assert auto_sigma(put(X)) == pytest.approx(auto_sigma(X), rel=1e-14)
    same = X[:, :1] * 0.0
    assert auto_sigma(put(same)) == auto_sigma(same) > 0
    near = nearest_edges(put(X), 5)
    assert_array_equal(near.left, nearest_edges(X, 5).left)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_values_that_float32_cannot_square(put, cancer, unit):
    assert_same_neighbors(put, cancer[0] * unit, 5)
    assert auto_sigma(put(cancer[0] * unit)) == pytest.approx(auto_sigma(cancer[0] * unit))


def test_a_ball_holds_what_lies_on_it_and_nothing_beyond(put):
    X = np.arange(12.0)[:, None] * [3.0, 4.0]
    inside = ball_edges(put(X), 10.0)
    assert_array_equal(inside.right - inside.left, np.where(inside.right - inside.left > 1, 2, 1))
    assert len(inside.left) == 11 + 10
    assert len(ball_edges(put(X), 9.99).left) == 11
    assert len(ball_edges(put(X), 1e200).left) == 66


@pytest.mark.parametrize("radius", [1.0, 2.5, 3.5, 4.0, 4.5])
@pytest.mark.parametrize("width", [1, 10, 100])
def test_balls_of_any_size(put, width, radius):
    # In many dimensions samples are farther apart than any of their values.
    X = np.random.default_rng(0).random((50, width)) * 10 / np.sqrt(width)
    here, there = ball_edges(X, radius), ball_edges(put(X), radius)
    order = np.lexsort((there.right, there.left))
    expected = np.lexsort((here.right, here.left))
    assert_array_equal(there.left[order], here.left[expected])
    assert_array_equal(there.right[order], here.right[expected])
    assert_allclose(there.weights[order], here.weights[expected], rtol=1e-12)


@pytest.mark.parametrize("how_far", 10.0 ** np.arange(1, 9))
def test_a_width_with_an_outlier_of_any_size(put, how_far):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[0] *= how_far
    assert auto_sigma(put(X)) == pytest.approx(auto_sigma(X), rel=1e-12)


@pytest.mark.parametrize("unit", [2.0**-20, 1.0, 2.0**20])
def test_a_kernel_of_far_clusters_in_any_unit(put, unit):
    random = np.random.default_rng(0)
    X = unit * (random.normal(size=(40, 3)) + 1e7 * (np.arange(40) % 2)[:, None])
    here, there = kernel_graph(X, unit), kernel_graph(put(X), unit)
    assert_allclose(to_numpy(there.degrees), here.degrees, rtol=1e-12)


def test_no_weight_of_a_kernel_is_above_one(put):
    # Duplicate samples, whose distances by products may be slightly negative, far from all others.
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 7)), 2, axis=0)
    degrees = to_numpy(kernel_graph(put(X), 1e-2).degrees)
    assert degrees.max() <= 2.0
    assert_allclose(degrees, 2.0, rtol=1e-9)


def test_lower_precision_of_products_widens_the_bounds(cancer):
    torch = pytest.importorskip("torch")
    X, _ = cancer
    before = torch.get_float32_matmul_precision()
    exact = as_samples(_torch(X)).products(np.float32, None).errors
    try:
        torch.set_float32_matmul_precision("high")
        rounded = as_samples(_torch(X)).products(np.float32, None).errors
        assert bool((rounded > 10 * exact).all())
        assert_same_neighbors(_torch, X, 5)
    finally:
        torch.set_float32_matmul_precision(before)


# -- forms -----------------------------------------------------------------------------------


def test_moments_skip_samples_without_weight(put, cancer):
    X, y = cancer
    codes = np.where(np.arange(len(y)) % 3, y, -1).astype(np.intp)
    weights = np.where(np.arange(len(y)) % 5, 1.0 + np.arange(len(y)), 0.0)
    for given in (None, weights):
        here, there = moments(X, codes, given), as_samples(put(X))._moments(put(X), codes, given)
        assert_allclose(to_numpy(there.scatter), here.scatter, rtol=1e-12)
        assert_allclose(to_numpy(there.between()), here.between(), rtol=1e-11)
    empty = as_samples(put(X))._moments(put(X), np.full(len(y), -1))
    assert not to_numpy(empty.scatter).any()


def test_a_kernel_form_that_cancels_is_computed_by_differences(put):
    random = np.random.default_rng(0)
    X = random.random((40, 3))
    # Two groups far apart: the form of a feature that is constant within them nearly vanishes.
    X[:20, 0] += 9.0
    X[:, 1] = X[:, 0] > 5
    graph = {library: kernel_graph(copy(X), 0.9) for library, copy in (("np", np.array), ("", put))}
    expected = laplacian_form(X, graph["np"])
    assert expected[1] < 1e-6 * expected[0]
    assert_allclose(to_numpy(laplacian_form(put(X), graph[""])), expected, rtol=1e-8)


def test_groups_with_strengths(put, cancer):
    X, y = cancer
    graph = Groups(np.arange(len(y)) % 3, across=True, strength=np.linspace(1, 2, len(y)))
    expected = laplacian_form(X, graph)
    assert_allclose(to_numpy(laplacian_form(put(X), graph)), expected, rtol=1e-12)


# -- the similarity search -------------------------------------------------------------------


def test_a_narrow_kernel_is_evaluated_pair_by_pair(put, cancer):
    X, y = cancer
    # The kernel needs more terms than are kept, so every value is a direct sum.
    for sigma in (1e-3, 0.01):
        here = select_by_similarity(X[:60], y[:60], sigma, 5)
        there = select_by_similarity(put(X[:60]), y[:60], sigma, 5)
        assert_array_equal(there.order, here.order)
        assert_allclose(there.path, here.path, rtol=1e-12)


def test_a_feature_of_two_far_clusters(put):
    # Few terms describe the kernel, but scaled values of such a range are rounded.
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 4))
    X[:, 0] += np.where(np.arange(40) % 2, 1e9, -1e9)
    groups = np.arange(40) % 3
    here, there = (select_by_similarity(kind(X), groups, 3.0, 4) for kind in (np.array, put))
    assert_array_equal(there.order, here.order)
    assert_allclose(there.path, here.path, rtol=1e-12)
    assert_allclose(there.scores, here.scores, rtol=1e-12)


def test_equal_features_are_chosen_by_index(put, cancer):
    X, y = cancer
    twice = np.column_stack([X[:60, ::3], X[:60, ::3]])
    found = select_by_similarity(put(twice), y[:60], 1.0, 6)
    assert_array_equal(found.order, select_by_similarity(twice, y[:60], 1.0, 6).order)


# -- operations that the standard lacks ------------------------------------------------------


def test_k_smallest(put):
    values = np.random.default_rng(0).permutation(60).reshape(4, 15) * 1.0
    for k in (1, 7, 15):
        smallest, columns = k_smallest(device_of(put(values)).xp, put(values), k)
        assert_array_equal(to_numpy(smallest), np.sort(values, axis=1)[:, :k])
        assert_array_equal(to_numpy(columns), np.argsort(values, axis=1)[:, :k])


@pytest.mark.parametrize("small", [False, True], ids=["by a product", "by index"])
def test_add_by_index(put, shrink, small):
    if small:
        shrink()
    values = put(np.arange(12.0).reshape(6, 2))
    index, weights = put(np.array([2, 0, 2, 2, 0, 3])), put(np.array([1.0, 1, 1, 2, 1, 1]))
    sums = add_by_index(device_of(values), index, weights, values, 4)
    assert_array_equal(to_numpy(sums), [[10, 12], [0, 0], [16, 20], [10, 11]])


def test_set_by_index(put):
    array = put(np.ones((3, 4)))
    rows, columns, values = (put(np.array(some)) for some in ([0, 2], [1, 3], [5.0, 7.0]))
    changed = to_numpy(set_by_index(device_of(array), array, rows, columns, values))
    assert changed.sum() == 10 + 12
    assert (changed[0, 1], changed[2, 3]) == (5.0, 7.0)


def test_numpy_arrays_are_on_no_device():
    for array in (np.zeros(2), np.float64(1.0), [1.0], None, "text"):
        assert device_of(array) is None
        assert to_numpy(array) is array


def test_arrays_of_other_libraries_are_on_a_device(put):
    assert isinstance(device_of(put(np.zeros(2))), Device)


@pytest.mark.slow
def test_a_fit_of_numpy_arrays_imports_no_other_library():
    code = (
        "import sys, numpy as np, sklearn, linkselect as ls\n"
        "with sklearn.config_context(array_api_dispatch=True):\n"
        "    ls.LaplacianScore().fit(np.random.default_rng(0).random((20, 4)))\n"
        "print(*({'torch', 'cupy', 'array_api_strict', 'jax'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not output.strip()
