"""Compare reconstruction weights with other solvers."""

import re
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint, NonlinearConstraint, linprog, minimize
from scipy.sparse import csc_array, csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold._locally_linear import barycenter_kneighbors_graph

import linkselect as ls
from linkselect._messages import GuidedValueError
from linkselect.graphs import _l1_reconstruction as l1_reconstruction
from linkselect.graphs import reconstruction_weights
from linkselect.graphs._l1_reconstruction import smallest_errors
from linkselect.graphs._reconstruction import (
    Reconstruction,
    check_reconstruction,
    n_reconstruction_steps,
    reconstruct,
    step_limit,
)


def with_duplicates_and_a_constant(X):
    X = X.copy()
    X[3:6] = X[0]
    X[:, 1] = 2.5
    return X


def make_problems():
    rng = np.random.default_rng(0)
    shapes = [(40, 6), (25, 3), (50, 12), (12, 40), (9, 30), (15, 15), (2, 4), (3, 1)]
    centres = np.repeat(rng.normal(size=(8, 5)), 4, axis=0)
    outlier = [[1e4, 0.0, 0.0, 0.0]]
    return {
        **{f"normal {n} x {d}": rng.normal(size=(n, d)) for n, d in shapes},
        "integers, long": rng.integers(0, 3, size=(40, 5)).astype(float),
        "integers, wide": rng.integers(0, 3, size=(12, 40)).astype(float),
        "binary, long": rng.integers(0, 2, size=(40, 9)).astype(float),
        "binary, wide": rng.integers(0, 2, size=(12, 60)).astype(float),
        "twins, long": with_duplicates_and_a_constant(rng.normal(size=(30, 6))),
        "twins, wide": with_duplicates_and_a_constant(rng.normal(size=(10, 30))),
        "wild scales, long": rng.normal(size=(30, 7)) * 10.0 ** np.arange(-6, 8, 2),
        "wild scales, wide": rng.normal(size=(10, 28)) * 10.0 ** np.repeat(np.arange(-3, 4), 4),
        "far from zero": rng.normal(size=(30, 5)) + 1e4,
        "low rank": rng.normal(size=(30, 3)) @ rng.normal(size=(3, 20)),
        "on a line": np.outer(np.arange(15.0), [1.0, 2.0, 3.0]),
        "an outlier": np.vstack([rng.normal(size=(20, 4)), outlier]),
        "clusters": centres + 1e-3 * rng.normal(size=(32, 5)),
    }


PROBLEMS = make_problems()
EXACT_PROBLEMS = [name for name, X in PROBLEMS.items() if not smallest_errors(X).any()]


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def highs_optimum(X, i, compensated):
    """Solve eq. 5 or eq. 8 of the paper for one sample with HiGHS."""
    others, n_features = np.delete(X - X[i], i, axis=0), X.shape[1]
    equations = np.vstack([others.T, np.ones(len(others))])
    equations = np.hstack([equations, -equations])
    if compensated:
        identity = np.vstack([np.eye(n_features), np.zeros(n_features)])
        equations = np.hstack([equations, identity, -identity])
    goal = np.append(np.zeros(n_features), 1.0)
    solution = linprog(np.ones(equations.shape[1]), A_eq=equations, b_eq=goal, method="highs")
    assert solution.status == 0
    return solution.fun


def norms(weights):
    return np.asarray(abs(weights).sum(axis=1)).ravel()


def check_weights(weights, n_samples):
    assert isinstance(weights, csr_array)
    assert weights.shape == (n_samples, n_samples)
    assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1.0, rtol=1e-9)
    assert_array_equal(weights.diagonal(), 0.0)


def test_there_are_twenty_problems():
    assert len(PROBLEMS) >= 20


@pytest.mark.parametrize("name", PROBLEMS)
def test_compensated_form_has_the_optimum_of_the_linear_program(name):
    X = PROBLEMS[name]
    found = reconstruct(X)
    check_weights(found.weights, len(X))
    objective = norms(found.weights) + np.abs(X - found.weights @ X).sum(axis=1)
    optimum = [highs_optimum(X, i, compensated=True) for i in range(len(X))]
    assert_allclose(objective, optimum, rtol=1e-6)
    assert not len(found.unsolved)


@pytest.mark.parametrize("name", EXACT_PROBLEMS)
def test_equality_form_has_the_optimum_of_the_linear_program(name):
    X = PROBLEMS[name]
    found = reconstruct(X, form="equality")
    check_weights(found.weights, len(X))
    assert_allclose(found.weights @ X, X, atol=1e-7 * np.ptp(X))
    # HiGHS uses absolute tolerances, so features are scaled; this does not change the weights.
    scaled = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-300)
    optimum = [highs_optimum(scaled, i, compensated=False) for i in range(len(X))]
    assert_allclose(norms(found.weights), optimum, rtol=1e-6)
    assert not len(found.unsolved)


@pytest.mark.parametrize("seed", range(20))
def test_equality_form_on_random_problems(seed):
    X = np.random.default_rng(seed).normal(size=(14 + seed % 5, 2 + seed % 4))
    optimum = [highs_optimum(X, i, compensated=False) for i in range(len(X))]
    weights = reconstruction_weights(X, form="equality")
    assert_allclose(norms(weights), optimum, rtol=1e-6)
    assert_allclose(weights @ X, X, atol=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("share", [1e-3, 0.1, 1.0])
def test_tolerance_form_is_feasible_and_certified(name, share):
    X = PROBLEMS[name]
    spread = np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    tolerance = 1.01 * smallest_errors(X).max() + share * spread
    found = reconstruct(X, form="tolerance", tolerance=tolerance)
    check_weights(found.weights, len(X))
    error = np.sqrt(((X - found.weights @ X) ** 2).sum(axis=1))
    assert error.max() <= tolerance * (1.0 + 1e-6)
    assert not len(found.unsolved)


def test_too_few_steps_for_a_tolerance_are_reported(rng):
    X = rng.normal(size=(30, 6))
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 steps\..*: no gap is certified for"):
        weights = reconstruction_weights(X, form="tolerance", tolerance=1e-3, max_iter=2)
    check_weights(weights, 30)


@pytest.mark.parametrize(("n_samples", "n_features", "tolerance"), [(12, 3, 0.3), (8, 20, 6.0)])
def test_tolerance_form_has_no_larger_norm_than_another_solver(n_samples, n_features, tolerance):
    X = np.random.default_rng(3).normal(size=(n_samples, n_features))
    norm = norms(reconstruct(X, form="tolerance", tolerance=tolerance).weights)
    signs = np.hstack([np.eye(n_samples - 1), -np.eye(n_samples - 1)])
    for i in range(n_samples):
        others = np.delete(X, i, axis=0)

        def residual(v, target=X[i], others=others):
            return target - (signs @ v) @ others

        def room(v, residual=residual):
            return tolerance**2 - residual(v) @ residual(v)

        def slope(v, residual=residual, others=others):
            return 2.0 * (others @ residual(v)) @ signs

        other = minimize(
            lambda v: v.sum(),
            np.full(2 * (n_samples - 1), 0.1),
            jac=np.ones_like,
            method="SLSQP",
            bounds=[(0.0, None)] * (2 * (n_samples - 1)),
            constraints=[
                LinearConstraint(np.ones(n_samples - 1) @ signs, 1.0, 1.0),
                NonlinearConstraint(room, 0.0, np.inf, jac=slope),
            ],
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        assert other.success
        assert np.linalg.norm(residual(other.x)) <= tolerance * (1.0 + 1e-5)
        assert norm[i] <= other.fun * (1.0 + 1e-6)


def test_inside_the_convex_hull_the_norm_is_one():
    X = np.vstack([np.eye(3), -np.eye(3), [[0.1, 0.05, 0.0]]])
    for form in ("compensated", "equality", "tolerance"):
        weights = reconstruction_weights(X, form=form)
        assert_allclose(norms(weights)[6], 1.0)
        assert (weights[[6]].toarray() >= 0.0).all()


@pytest.mark.parametrize("form", ["compensated", "equality", "tolerance"])
def test_shift_and_order_of_samples_do_not_matter(form, rng):
    X = rng.normal(size=(30, 4))
    order = rng.permutation(30)
    expected = norms(reconstruction_weights(X, form=form))
    assert_allclose(norms(reconstruction_weights(X + 7.0, form=form)), expected, rtol=1e-9)
    found = norms(reconstruction_weights(X[order], form=form))
    assert_allclose(found, expected[order], rtol=1e-9)


# -- duplicates, small and unusual data --------------------------------------------------------


def test_duplicates_have_weight_one_on_the_first_duplicate():
    X = np.array([[0.0, 1.0], [5.0, 2.0], [-0.0, 1.0], [0.0, 1.0], [7.0, 7.0], [1.0, -3.0]])
    for form in ("compensated", "tolerance"):
        weights = reconstruction_weights(X, form=form, tolerance=50.0)
        check_weights(weights, 6)
        assert_array_equal(np.argmax(weights.toarray()[[0, 2, 3]], axis=1), [2, 0, 0])
        assert_array_equal(np.max(weights.toarray()[[0, 2, 3]], axis=1), 1.0)


@pytest.mark.parametrize("kind", ["l1", "l2", "lle"])
def test_samples_that_are_all_equal(kind):
    check_weights(reconstruction_weights(np.ones((6, 2)), kind, n_neighbors=3), 6)


@pytest.mark.parametrize("kind", ["l1", "l2", "lle"])
def test_both_functions_give_the_same_weights_by_default(kind, rng):
    X = rng.normal(size=(20, 3))
    found, expected = reconstruct(X, kind).weights, reconstruction_weights(X, kind)
    assert_array_equal(found.toarray(), expected.toarray())


def test_both_functions_have_the_same_defaults():
    inner, outer = (signature(f).parameters for f in (reconstruct, reconstruction_weights))
    assert {name: inner[name].default for name in outer} == {
        name: parameter.default for name, parameter in outer.items()
    }


def test_weights_that_are_only_rounding_become_zero():
    weights = np.array([[1.0, 1e-14, 1.0], [1e-14, -1e-28, 3e-14]])
    expected = [[0.5, 0.0, 0.5], [0.25, 0.0, 0.75]]
    assert_array_equal(l1_reconstruction._cleaned(weights), expected)


def test_one_sample_at_a_time_gives_the_same_weights(rng, shrink):
    X = rng.normal(size=(20, 3))
    expected = reconstruction_weights(X, "lle").toarray()
    shrink()
    assert_array_equal(reconstruction_weights(X, "lle").toarray(), expected)


@pytest.mark.parametrize("kind", ["l1", "l2", "lle"])
def test_two_samples_reconstruct_each_other(kind):
    weights = reconstruction_weights([[0.0, 3.0], [1.0, 5.0]], kind, n_neighbors=1)
    assert_allclose(weights.toarray(), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("kind", "form"),
    [("l1", "compensated"), ("l1", "equality"), ("l1", "tolerance"), ("l2", ""), ("lle", "")],
)
def test_kinds_of_input(kind, form, rng):
    X = rng.integers(0, 4, size=(20, 4)).astype(float)
    X.flags.writeable = False
    form = form or "compensated"
    expected = reconstruction_weights(X, kind, form).toarray()
    for other in (X.astype(np.float32), X.astype(int), csr_array(X), csc_array(X), X.tolist()):
        assert_array_equal(reconstruction_weights(other, kind, form).toarray(), expected)


def test_weights_far_from_zero(rng):
    X = rng.normal(size=(20, 4))
    far = 1e8 + 1e-3 * X
    kept = far - 1e8  # the digits of X that survive rounding
    assert_allclose(norms(reconstruction_weights(far)), norms(reconstruction_weights(kept)))


# -- tiles, threads and progress ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["l1", "l2", "lle"])
def test_result_does_not_depend_on_the_number_of_threads(kind, rng):
    X = rng.normal(size=(90, 8))
    expected = reconstruction_weights(X, kind, n_jobs=1)
    for n_jobs in (2, 5):
        found = reconstruction_weights(X, kind, n_jobs=n_jobs)
        assert_array_equal(found.toarray(), expected.toarray())


def test_tiles_change_no_objective(rng, shrink):
    X = rng.normal(size=(40, 6))

    def objective():
        found = reconstruction_weights(X)
        return norms(found) + np.abs(X - found @ X).sum(axis=1)

    expected = objective()
    shrink()
    assert n_reconstruction_steps(*X.shape, "l1", "compensated") == 40
    assert_allclose(objective(), expected, rtol=1e-9)


def test_the_number_of_steps_is_as_announced(rng, shrink):
    shrink(1)
    for X in (rng.normal(size=(50, 8)), np.repeat(rng.normal(size=(20, 3)), 2, axis=0)[:33]):
        seen = []
        reconstruct(X, track=lambda steps, seen=seen: (seen.append(s) or s for s in steps))
        assert 1 <= len(seen) <= n_reconstruction_steps(*X.shape, "l1", "compensated")
    assert n_reconstruction_steps(50, 8, "lle", "compensated") == 0


def test_samples_left_after_stopping_use_their_nearest_sample(rng):
    X = rng.normal(size=(32, 4))
    found = reconstruct(X, track=lambda steps: iter(list(steps)[:1]))
    check_weights(found.weights, 32)
    assert_array_equal(found.unsolved, np.arange(16, 32))
    assert_array_equal(norms(found.weights)[16:], 1.0)


def test_an_unsolved_sample_is_reported(rng):
    X = rng.integers(0, 2, size=(60, 12)).astype(float)
    with pytest.warns(
        ConvergenceWarning, match="max_iter=1 .*of 60 samples.*increase max_iter"
    ) as got:
        fitted = ls.SparsityScore(max_iter=1).fit(X)
    assert got[0].filename == __file__
    assert fitted.n_iter_ >= 1
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as got:
        reconstruction_weights(X, max_iter=1)
    assert got[0].filename == __file__


def test_unsolved_samples_and_their_largest_gap_are_reported_once(rng):
    X = rng.integers(0, 2, size=(60, 12)).astype(float)
    stopped = reconstruct(X, max_iter=1)
    n_unsolved, worst = len(stopped.unsolved), stopped.gaps.max()
    assert n_unsolved > 1
    assert worst > 1e-6
    words = f"max_iter=1 .*weights of {n_unsolved} of 60 .* relative gap is {worst:.2g}[.;]"
    for compute in (
        lambda: ls.SparsityScore(max_iter=1).fit(X),
        lambda: reconstruction_weights(X, max_iter=1),
    ):
        with pytest.warns(ConvergenceWarning, match=words) as got:
            compute()
        assert len(got) == 1


@pytest.mark.parametrize(
    ("n", "d", "seen"),
    [(200, 256, 3_217), (400, 512, 9_091), (400, 1024, 11_698), (800, 1024, 17_101)],
)
def test_the_step_limit_grows_with_the_problem(n, d, seen):
    # `seen`: steps measured on features of rank 20 with noise, scaled by 1,000 or 10,000.
    limit = step_limit("auto", n, d)
    assert limit == np.ceil(5 * min(n, d + 1) * np.sqrt(n + d))
    assert limit >= max(10_000, 3 * seen)
    assert step_limit("auto", 4 * n, d) > limit
    assert step_limit("auto", n, 4 * d) > limit
    assert step_limit(7, n, d) == 7


def test_the_step_limit_for_small_problems_is_unchanged():
    assert step_limit("auto", 20, 5) == step_limit("auto", 150, 20) == 10_000
    assert ls.SparsityScore().max_iter == "auto"


# -- feasibility and parameters ----------------------------------------------------------------


def test_smallest_errors_are_those_of_least_squares(rng):
    wide = with_duplicates_and_a_constant(rng.normal(size=(9, 20)))
    for X in (rng.normal(size=(12, 30)), rng.normal(size=(12, 3)), wide):
        expected = []
        for i in range(len(X)):
            others = np.delete(X, i, axis=0)
            directions = (others[1:] - others[0]).T
            step = np.linalg.lstsq(directions, X[i] - others[0], rcond=None)[0]
            expected.append(np.linalg.norm(X[i] - others[0] - directions @ step))
        assert_allclose(smallest_errors(X), expected, atol=1e-9)


def test_infeasible_tolerance_names_the_smallest_feasible_one(rng):
    X = rng.normal(size=(10, 40))
    words = r"0.001 is too small for 10 of 10 .* is ([\d.]+) for sample 0 and at most ([\d.]+) for"
    for compute in (
        lambda: reconstruction_weights(X, form="tolerance"),
        lambda: ls.SparsityScore(form="tolerance").fit(X),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            compute()
        first, largest = map(float, re.search(words, str(caught.value)).groups())
        assert_allclose(first, smallest_errors(X)[0], rtol=1e-3)
    check_weights(reconstruction_weights(X, form="tolerance", tolerance=1.001 * largest), 10)
    with pytest.raises(ValueError, match="is too small for"):
        reconstruction_weights(X, form="tolerance", tolerance=0.99 * largest)


def test_infeasible_equality_has_a_hint(rng):
    with pytest.raises(ValueError, match="10 of 10 .* sample 0.*affine hull.*form='compensated'"):
        reconstruction_weights(rng.normal(size=(10, 40)), form="equality")


@pytest.mark.parametrize("tolerance", [0, 0.0, -1.0, np.nan, np.inf])
def test_tolerance_must_be_positive(tolerance, rng):
    words = f"tolerance={tolerance!r}, but .* must be a positive.*form='compensated'.*equality"
    X = rng.normal(size=(10, 3))
    with pytest.raises(ValueError, match=words):
        reconstruction_weights(X, form="tolerance", tolerance=tolerance)
    with pytest.raises(ValueError, match=words):
        ls.SparsityScore(form="tolerance", tolerance=tolerance).fit(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "l3"}, "kind='l3' is unknown.*l1, l2, lle"),
        ({"form": "exact"}, "form='exact' is unknown.*compensated"),
        ({"kind": "lle", "n_neighbors": 10}, "n_neighbors=10, but .*10 samples.*from 1 to 9"),
        ({"kind": "lle", "n_neighbors": 0}, "n_neighbors=0, but .*from 1 to 9"),
        ({"kind": "l2", "regularization": 0.0}, "regularization=0.0, but .*positive.*1e-6"),
    ],
)
def test_invalid_parameters_are_refused(arguments, message, rng):
    with pytest.raises(ValueError, match=message):
        reconstruction_weights(rng.normal(size=(10, 3)), **arguments)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2.0]], "1 sample"),
        ([[1.0, np.nan], [0.0, 1.0]], "NaN"),
        ([1.0, 2.0], "Expected 2D array"),
    ],
)
def test_invalid_X_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        reconstruction_weights(X)


# -- other graphs ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(12, 4), (8, 30), (2, 3)])
def test_ridge_weights_solve_their_problem(shape, rng):
    X = rng.normal(size=shape)
    found = reconstruction_weights(X, "l2", regularization=0.1).toarray()
    ridge = 0.1 * ((X - X.mean(axis=0)) ** 2).sum() / len(X)
    for i in range(len(X)):
        others = np.delete(X - X[i], i, axis=0)
        matrix = others @ others.T + ridge * np.eye(len(others))
        expected = np.linalg.solve(matrix, np.ones(len(others)))
        assert_allclose(np.delete(found[i], i), expected / expected.sum(), atol=1e-9)


def test_local_weights_are_those_of_locally_linear_embedding(rng):
    X = rng.normal(size=(30, 4))
    expected = barycenter_kneighbors_graph(X, 5, reg=1e-3).toarray()
    assert_allclose(reconstruction_weights(X, "lle").toarray(), expected, atol=1e-10)


# -- the first-order solver ------------------------------------------------------------------


def images(n=40, d=60):
    rng = np.random.default_rng(5)
    return rng.random((n, 5)) @ rng.random((5, d)) / 5 + 0.1 * rng.random((n, d))


def objective(X, weights):
    return np.abs(weights).sum(axis=1) + np.abs(X - weights @ X).sum(axis=1)


def test_first_order_weights_are_within_their_gap():
    X = images()
    exact = reconstruction_weights(X, solver="exact").toarray()
    near = reconstruct(X, solver="first_order")
    weights = near.weights.toarray()
    assert (near.gaps <= 0.01).all()
    assert len(near.unsolved) == 0
    assert (objective(X, weights) <= objective(X, exact) * (1 + near.gaps) * (1 + 1e-9)).all()
    assert_allclose(weights.sum(axis=1), 1.0)
    assert_array_equal(np.diag(weights), 0.0)
    threads = reconstruct(X, solver="first_order", n_jobs=3)
    assert_array_equal(threads.weights.toarray(), weights)


def test_auto_is_exact_for_small_data_and_other_forms():
    assert l1_reconstruction.solver_for("auto", "compensated", 151, 151) == "auto"
    assert l1_reconstruction.solver_for("auto", "compensated", 151, 150) == "exact"
    assert l1_reconstruction.solver_for("auto", "compensated", 150, 1000) == "exact"
    assert l1_reconstruction.solver_for("auto", "tolerance", 500, 500) == "exact"
    assert l1_reconstruction.solver_for("first_order", "compensated", 5, 5) == "first_order"


def test_auto_solves_exactly_what_the_first_order_method_cannot(sizes):
    X = images()
    exact = reconstruct(X, solver="exact")
    sizes(MANY=10, NEAR_STEPS=75)
    left = reconstruct(X, solver="first_order").unsolved
    assert len(left) > 0
    found = reconstruct(X, solver="auto")
    assert len(found.unsolved) == 0
    assert_allclose(found.weights.toarray()[left], exact.weights.toarray()[left])
    assert (found.gaps[left] <= 1e-6).all()


def test_first_order_without_convergence_is_reported():
    with pytest.warns(ConvergenceWarning, match=r"within 0\.01 .* pass solver='exact'"):
        reconstruction_weights(images(), solver="first_order", max_iter=30)


@pytest.mark.parametrize("options", [{"form": "equality"}, {"form": "tolerance"}, {"kind": "l2"}])
def test_first_order_solves_the_compensated_form_only(options):
    with pytest.raises(ValueError, match="first_order.*Pass solver='auto'"):
        reconstruction_weights(images(), solver="first_order", **options)


def test_first_order_with_duplicates_and_constant_features():
    X = images()
    X = np.vstack([X, X[3]])
    X[:, 7] = 2.0
    found = reconstruct(X, solver="first_order")
    assert found.weights[3, 40] == found.weights[40, 3] == 1.0
    assert (found.gaps <= 0.01).all()


def test_the_limits_of_parameters_are_allowed():
    for given in (
        ("lle", "compensated", 0.0, 1, 1e-300),
        ("lle", "compensated", 0.0, 9, 1e300),
        ("l2", "compensated", 0.0, 10, 1e-300),
        ("l1", "tolerance", 1e-300, 0, 0.0),
        ("l1", "equality", 0.0, 0, -1.0),
    ):
        check_reconstruction(10, *given)
    for given, parameter in [
        (("lle", "compensated", 0.0, 10, 1.0), "n_neighbors"),
        (("lle", "compensated", 0.0, 0, 1.0), "n_neighbors"),
        (("l2", "compensated", 0.0, 5, np.inf), "regularization"),
        (("l2", "compensated", 0.0, 5, np.nan), "regularization"),
        (("l1", "tolerance", 0.0, 5, 1.0), "tolerance"),
        (("l1", "tolerance", 1.0, 5, 1.0, "first_order"), "solver"),
    ]:
        with pytest.raises(GuidedValueError) as caught:
            check_reconstruction(10, *given)
        assert caught.value.parameter == parameter
        if parameter == "n_neighbors":
            assert "10 samples, so each sample has 9 possible neighbours. " in str(caught.value)
            assert caught.value.hint == "Choose n_neighbors from 1 to 9."


@pytest.mark.parametrize(
    ("gaps", "unsolved", "certain"),
    [
        ([0.0, 1e-6, 2e-6], [2], "the largest certified relative gap is 2e-06"),
        (
            [0.5, np.inf, 0.25],
            [0, 1, 2],
            "the largest certified relative gap is 0.5; no gap is certified for 1 of them",
        ),
        ([np.nan, 0.0, np.inf], [0, 2], "no gap is certified for 2 of them"),
    ],
)
def test_certified_gaps_are_reported(gaps, unsolved, certain):
    n = len(gaps)
    found = Reconstruction(None, np.array(gaps), np.ones(n, dtype=int), 7)
    assert found.unsolved.tolist() == unsolved
    with pytest.warns(ConvergenceWarning) as caught:
        found.warn_unsolved()
    assert str(caught[0].message).startswith(
        f"The solver stopped after at most max_iter=7 steps. The weights of {len(unsolved)} of {n} "
        f"samples (first: sample {unsolved[0]}) are not certified to be within 1e-06 of the "
        f"optimum: {certain}. "
    )
    assert "solver='exact'" not in str(caught[0].message)
    near = replace(found, largest_gap=1e-2, gaps=np.array([0.011, 0.01, 0.0]))
    assert near.unsolved.tolist() == [0]
    with pytest.warns(ConvergenceWarning, match=r"within 0.01 of .*pass solver='exact', or rerun"):
        near.warn_unsolved()
