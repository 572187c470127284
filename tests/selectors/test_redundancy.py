"""Redundancy against its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import linkselect as ls
from linkselect._search.redundancy import rank_merit
from tests.helpers.fitting import fitted


def literal_redundancy(X, merit, weight, n_chosen):
    correlation = np.abs(np.corrcoef(X, rowvar=False))
    chosen, path = [], []
    while len(chosen) < n_chosen:
        values = {f: merit[f] for f in range(X.shape[1]) if f not in chosen}
        if chosen:
            for f in values:
                most = max(correlation[f, g] for g in chosen)
                values[f] = (1 - weight) * merit[f] - weight * most
        ranked = sorted(values, key=lambda f: (-round(values[f], 12), -merit[f], f))
        chosen.append(ranked[0])
        path.append(values[ranked[0]])
    return chosen + ranked[1:], path


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_chosen", [1, 7, 20])
def test_redundancy_equals_the_definition(weight, n_chosen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20)) @ rng.normal(size=(20, 20))
    y = (X[:, 0] > 0).astype(int)
    model = ls.Redundancy(ls.FisherScore(), n_chosen, weight=weight).fit(X, y)
    merit = rank_merit(ls.FisherScore().fit(X, y).order_)
    order, path = literal_redundancy(X, merit, weight, n_chosen)
    assert_array_equal(model.order_, order)
    assert_allclose(model.path_, path, atol=1e-12)
    assert_array_equal(model.scores_, model.estimator_.scores_)


def test_weight_zero_gives_the_order_and_number_of_the_estimator(cancer):
    model = ls.Redundancy(ls.FCBF(), weight=0).fit(*cancer)
    alone = ls.FCBF().fit(*cancer)
    assert_array_equal(model.order_, alone.order_)
    assert model.n_features_ == alone.n_features_
    assert model.greater_is_better
    assert not ls.Redundancy(ls.LaplacianScore()).greater_is_better


def test_undefined_scores_rank_last():
    X = np.column_stack([np.arange(8.0), np.ones(8), np.arange(8) % 2])
    found = fitted(ls.Redundancy(ls.FisherScore(), 3, weight=0.0), X, np.arange(8) // 4)
    assert_array_equal(found.order_, [0, 2, 1])


def test_parameters_out_of_range(cancer):
    with pytest.raises(ValueError, match="parameter of .* must be"):
        ls.Redundancy(ls.VarianceScore(), weight=2).fit(*cancer)
