"""The consensus of several selectors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import linkselect as ls
from linkselect.selectors._method import describe

AUTO = ls.ConsensusSelector(random_state=0)
OWN = ls.ConsensusSelector(
    estimators=[("fisher", ls.FisherScore()), ("variance", ls.VarianceScore())]
)


@pytest.mark.slow
@parametrize_with_checks([AUTO, OWN])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def pairs(wine):
    return ls.Pairs.from_labels(wine[1], n_must=20, n_cannot=20, random_state=0)


def test_the_score_is_the_mean_rank(wine):
    X, y = wine
    members = [("fisher", ls.FisherScore()), ("laplacian", ls.LaplacianScore())]
    found = ls.ConsensusSelector(estimators=members, n_features_to_select=4).fit(X, y)
    ranks = [member.fit(X, y).ranking_ for _, member in members]
    assert_allclose(found.scores_, np.mean(ranks, axis=0))
    assert_array_equal(found.rankings_, ranks)
    assert_array_equal(found.order_, np.argsort(found.scores_, kind="stable"))
    assert found.support_.sum() == found.n_features_ == 4
    assert_array_equal(found.named_estimators_.fisher.ranking_, ranks[0])
    weighted = ls.ConsensusSelector(estimators=members, weights=[3, 1]).fit(X, y)
    assert_allclose(weighted.scores_, np.average(ranks, axis=0, weights=[3, 1]))
    assert_array_equal(
        ls.ConsensusSelector(estimators=members, weights=[0, 1]).fit(X, y).order_,
        ls.LaplacianScore().fit(X).order_,
    )


def names_of(fitted):
    return list(fitted.named_estimators_)


def test_default_members_follow_from_what_is_known(wine, pairs):
    X, y = wine
    from_pairs = ["similarity_constraint", "compensated_laplacian", "scgs"]
    assert names_of(AUTO.fit(X, pairs=pairs)) == from_pairs
    some = np.where(np.arange(len(y)) % 9, -1, y)
    from_some = ["similarity_constraint", "constraint", "scgs", "link_selector"]
    assert names_of(AUTO.fit(X, some)) == from_some
    assert names_of(AUTO.fit(X, y)) == ["mrmr", "scgs"]
    assert names_of(AUTO.fit(X)) == ["laplacian", "sparsity"]
    assert names_of(AUTO.fit(X, np.full(len(y), -1))) == ["laplacian", "sparsity"]
    # y is ignored if pairs are given, as by every selector that takes pairs.
    assert names_of(AUTO.fit(X, y, pairs=pairs)) == from_pairs


def test_a_default_member_that_cannot_work_is_left_out(wine):
    X, _ = wine
    # One group: no two samples that should differ.
    found = AUTO.fit(X, pairs=ls.Pairs(must=[(0, 1), (1, 2)]))
    assert names_of(found) == ["compensated_laplacian", "scgs"]


def without_neighbors():
    """Return samples so far apart that the weights of all neighbours vanish, and pairs of them."""
    X = np.random.default_rng(0).integers(0, 2, (24, 1400))
    return X, ls.Pairs.from_labels(np.arange(24) % 2, n_must=20, n_cannot=20, random_state=0)


def test_a_default_member_that_cannot_rank_the_data_is_replaced_and_named():
    X, pairs = without_neighbors()
    words = "Member 'compensated_laplacian' cannot rank these data and is replaced by "
    with pytest.warns(UserWarning, match=f"{words}ConstraintScore. With sigma=1, all weights"):
        found = clone(AUTO).fit(X, pairs=pairs)
    assert names_of(found) == ["similarity_constraint", "constraint", "scgs"]
    assert_array_equal(found.rankings_, [one.ranking_ for one in found.estimators_])
    assert_allclose(found.scores_, found.rankings_.mean(axis=0))
    with pytest.warns(UserWarning, match=words):
        weighted = clone(AUTO).set_params(weights=[0, 1, 0]).fit(X, pairs=pairs)
    assert_array_equal(weighted.order_, ls.ConstraintScore().fit(X, pairs=pairs).order_)


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_a_default_member_without_replacement_is_left_out_and_named(kind):
    X, pairs = without_neighbors()
    some = ls.Pairs(**{kind: getattr(pairs, kind)})
    with pytest.warns(UserWarning, match="'compensated_laplacian' cannot .* and is left out. With"):
        found = clone(AUTO).fit(X, pairs=some)
    assert names_of(found) == ["similarity_constraint", "scgs"]
    assert found.rankings_.shape == (2, 1400)


def test_variance_ranks_if_no_member_can():
    X, _ = without_neighbors()
    pairs = ls.Pairs(must=[(0, 1)])  # one group, so the similarity score cannot rank
    with pytest.warns(UserWarning, match="is left out|No default member can rank") as caught:
        found = ls.ConsensusSelector(weights=[1, 0]).fit(X, pairs=pairs)
    assert "No default member can rank these data, so VarianceScore" in str(caught[1].message)
    assert names_of(found) == ["variance"]
    assert_array_equal(found.order_, ls.VarianceScore().fit(X).order_)


def test_a_default_member_without_any_score_does_not_vote():
    """Its ranking would be the column order."""
    X = np.random.default_rng(0).normal(size=(30, 1400))
    with pytest.warns(UserWarning, match="1400 of 1400 features vary|is left out. No feature has"):
        found = clone(AUTO).fit(X, pairs=ls.Pairs(must=[(0, 1)]))
    assert names_of(found) == ["scgs"]


def test_labels_of_one_class(wine):
    with pytest.warns(UserWarning, match="Member 'mrmr' .* left out. y contains only the class 0"):
        assert names_of(clone(AUTO).fit(wine[0], np.zeros(len(wine[0])))) == ["scgs"]


@pytest.mark.parametrize("known", ["pairs", "must", "cannot", "some", "all", "nothing"])
def test_constant_features_rank_last(known):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = sparse.random_array((60, 400), density=0.05, rng=rng, format="csr")
    constant = X.max(axis=0).toarray().ravel() == 0
    pairs = ls.Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)
    given = {
        "pairs": {"pairs": pairs},
        "must": {"pairs": ls.Pairs(must=pairs.must)},
        "cannot": {"pairs": ls.Pairs(cannot=pairs.cannot)},
        "some": {"y": np.where(np.arange(60) < 20, y, -1)},
        "all": {"y": y},
        "nothing": {},
    }[known]
    with pytest.warns(UserWarning, match="(is|are) constant and ranks? last|no score") as caught:
        found = clone(AUTO).fit(X, **given)
    assert "constant" in str(caught[-1].message)
    assert constant.any()
    assert_array_equal(found.order_[-constant.sum() :], np.flatnonzero(constant))


def test_default_members_of_few_samples_look_for_fewer_neighbors(wine):
    X = wine[0][[0, 1, 70, 71]]
    found = clone(AUTO).fit(X, pairs=ls.Pairs(must=[(0, 1), (2, 3)], cannot=[(0, 2)]))
    for name in ("compensated_laplacian", "scgs"):
        assert found.named_estimators_[name].n_neighbors == 3
    assert clone(AUTO).fit(wine[0]).named_estimators_.sparsity.n_neighbors == 5


def test_the_similarity_is_semi_supervised_from_pairs_only(wine, pairs):
    X, y = wine
    from_pairs = clone(AUTO).fit(X, pairs=pairs).named_estimators_.similarity_constraint
    assert from_pairs.mode == "semi-supervised"
    some = np.where(np.arange(len(y)) % 9, -1, y)
    from_labels = clone(AUTO).fit(X, some).named_estimators_.similarity_constraint
    assert from_labels.mode == "supervised"


def test_default_members_see_scaled_features(wine, pairs):
    X, _ = wine
    factors = np.logspace(-6, 6, X.shape[1])
    expected = clone(AUTO).fit(X, pairs=pairs)
    moved = clone(AUTO).fit(X * factors + 100 * factors, pairs=pairs)
    assert_array_equal(moved.order_, expected.order_)
    by_hand = clone(AUTO).fit(MinMaxScaler().fit_transform(X), pairs=pairs)
    assert_array_equal(by_hand.order_, expected.order_)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_default_members_see_features_of_tiny_and_huge_units(store, wine, pairs):
    X = np.where(wine[0] > 0.2, wine[0], 0.0)
    powers = np.zeros(X.shape[1], dtype=int)
    powers[[0, 6, 12]] = [-70, -200, 200]  # scikit-learn treats ranges below 2e-15 as constant
    expected = clone(AUTO).fit(store(X), pairs=pairs)
    found = clone(AUTO).fit(store(np.ldexp(X, powers)), pairs=pairs)
    assert_array_equal(found.scores_, expected.scores_)


@pytest.mark.parametrize(("n_features", "n_steps"), [(200, 200), (201, 50), (260, 50)])
def test_the_search_of_a_default_member_is_short_for_many_features(n_features, n_steps):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, n_features)), rng.integers(0, 2, 30)
    pairs = ls.Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)
    found = clone(AUTO).fit(X, pairs=pairs)
    assert len(found.named_estimators_.similarity_constraint.path_) == n_steps
    assert sorted(found.ranking_) == list(range(1, n_features + 1))


def test_selectors_of_scikit_learn_are_members(wine):
    X, y = wine
    members = [
        ("best", SelectKBest(k=3)),
        ("rfe", RFE(LogisticRegression(max_iter=5000), n_features_to_select=4)),
        ("threshold", VarianceThreshold(0.04)),
        ("fisher", ls.FisherScore()),
    ]
    found = ls.ConsensusSelector(estimators=members).fit(MinMaxScaler().fit_transform(X), y)
    best, rfe, threshold, _ = found.rankings_
    assert_array_equal(best, rankdata(-found.estimators_[0].scores_))
    assert len(set(rfe[found.estimators_[1].support_])) == 1
    assert len(set(threshold)) == 2


class Scored(SelectKBest):
    """Leaves the first feature without a score."""

    def fit(self, X, y):
        super().fit(X, y)
        self.scores_[0] = np.nan
        return self


def test_a_feature_without_a_score_is_the_last_of_a_member(wine):
    found = ls.ConsensusSelector(estimators=[("scored", Scored(k=3))]).fit(*wine)
    assert found.rankings_[0, 0] == wine[0].shape[1]


def test_members_get_the_supervision_that_they_use(wine, pairs):
    X, y = wine
    members = [("fisher", ls.FisherScore()), ("constraint", ls.ConstraintScore())]
    found = ls.ConsensusSelector(estimators=members).fit(X, y, pairs=pairs)
    assert_array_equal(found.rankings_[0], ls.FisherScore().fit(X, y).ranking_)
    assert_array_equal(found.rankings_[1], ls.ConstraintScore().fit(X, pairs=pairs).ranking_)
    frame = pd.DataFrame(X, index=[f"s{row}" for row in range(len(X))])
    named = ls.Pairs(
        [(f"s{a}", f"s{b}") for a, b in pairs.must], [(f"s{a}", f"s{b}") for a, b in pairs.cannot]
    )
    by_id = ls.ConsensusSelector(estimators=members).fit(frame, y, pairs=named)
    assert_array_equal(by_id.order_, found.order_)


def test_the_same_seed_gives_the_same_ranking(wine, pairs):
    X, _ = wine
    one, two = (ls.ConsensusSelector(random_state=3).fit(X, pairs=pairs) for _ in range(2))
    assert_array_equal(one.scores_, two.scores_)


def test_sparse_samples(pairs, wine):
    X, _ = wine
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    dense = clone(AUTO).fit(X, pairs=pairs)
    assert_array_equal(clone(AUTO).fit(sparse.csr_array(X), pairs=pairs).order_, dense.order_)


def test_a_single_strong_feature_may_be_lost():
    """The documented limitation: a single strong feature, while all others vary together."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(120) % 2)
    X = 0.3 * rng.normal(size=(120, 100)) + 2 * rng.normal(size=(120, 1))
    X[:, 7] = rng.normal(size=120) + 4 * y
    pairs = ls.Pairs.from_labels(y, n_must=10, n_cannot=10, random_state=0)
    assert clone(AUTO).fit(X, pairs=pairs).ranking_[7] > 5
    for selector in (ls.ConstraintScore(), ls.LSDF()):
        assert selector.fit(X, pairs=pairs).ranking_[7] == 1


def test_parameters_of_members():
    assert OWN.get_params()["fisher__n_features_to_select"] == "auto"
    changed = clone(OWN).set_params(fisher__n_features_to_select=2, variance=ls.LaplacianScore())
    assert changed.get_params()["fisher__n_features_to_select"] == 2
    assert isinstance(dict(changed.estimators)["variance"], ls.LaplacianScore)
    assert "estimators" in AUTO.get_params()


def test_its_description_follows_from_its_members():
    assert describe(AUTO).sees == "pairs"
    assert describe(AUTO).needs == ()
    assert describe(OWN).sees == "labels"
    assert describe(OWN).needs == ("labels",)
    both = ls.ConsensusSelector(estimators=[("a", ls.ConstraintScore()), ("b", ls.FisherScore())])
    assert describe(both).sees == "pairs"
    assert describe(both).needs == ("a must-link", "a cannot-link", "labels")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimators": []}, r"is not a list of \(name, selector\)"),
        ({"estimators": [ls.FisherScore()]}, r"is not a list of \(name, selector\)"),
        ({"estimators": [("a", ls.FisherScore()), ("a", ls.LSDF())]}, "not unique"),
        ({"estimators": "pairs"}, "estimators"),
        ({"estimators": [(1, ls.FisherScore())]}, r"is not a list of \(name, selector\)"),
        ({"estimators": [("a", ls.FisherScore(), 1)]}, r"is not a list of \(name, selector\)"),
        ({"weights": [1, 2]}, "not valid weights for 1 member"),
        ({"weights": [-1]}, "finite, non-negative"),
        ({"weights": [np.inf]}, "Pass finite"),
        ({"weights": [np.nan]}, "Pass finite"),
        ({"weights": ["much"]}, "not valid weights for 1 member"),
        ({"weights": [[1], [2, 3]]}, "not valid weights for 1 member"),
    ],
)
def test_wrong_parameters(parameters, message, wine):
    selector = ls.ConsensusSelector(**{"estimators": [("a", ls.FisherScore())], **parameters})
    with pytest.raises(ValueError, match=message):
        selector.fit(*wine)


@pytest.mark.parametrize("member", ["drop", None, ls.FisherScore, 3])
def test_members_that_are_not_selectors(member, wine):
    selector = clone(OWN).set_params(fisher=member)
    with pytest.raises(TypeError, match=r"Member 'fisher' is .*, not a selector. Write \[\("):
        selector.fit(*wine)
    with pytest.raises(TypeError, match="Member 'fisher'"):
        describe(selector)


def test_large_weights_count_by_their_ratio(wine):
    members = [("fisher", ls.FisherScore()), ("laplacian", ls.LaplacianScore())]
    large, small = (
        ls.ConsensusSelector(estimators=members, weights=weights).fit(*wine).scores_
        for weights in ([3 * 2.0**1021, 2.0**1021], [3, 1])
    )
    assert_array_equal(large, small)


def test_equal_mean_ranks_tie_whatever_the_weights(wine):
    """0.1 * 1 + 0.1 * 2 + 0.1 * 3 is larger than 0.1 * 3 + 0.1 * 2 + 0.1 * 1 by the last digit."""
    kinds = (ls.FisherScore, ls.VarianceScore, ls.LaplacianScore, ls.ReliefF, ls.MRMR)
    members = [(kind.__name__, kind(3)) for kind in kinds]
    plain = ls.ConsensusSelector(estimators=members).fit(*wine)
    assert len(np.unique(plain.scores_)) < len(plain.scores_)
    for weight in (0.1, 0.3, 0.7):
        found = ls.ConsensusSelector(estimators=members, weights=[weight] * 5).fit(*wine)
        assert_array_equal(found.order_, plain.order_)


def test_empty_pairs_are_not_treated_as_no_pairs(wine):
    with pytest.raises(ValueError, match="but no pair has both samples in X"):
        AUTO.fit(wine[0], pairs=ls.Pairs())


def test_row_numbers_and_an_index_in_another_order(wine, pairs):
    frame = pd.DataFrame(wine[0], index=np.random.default_rng(0).permutation(len(wine[0])))
    own = ls.ConsensusSelector(estimators=[("constraint", ls.ConstraintScore())])
    for selector in (AUTO, own):
        with pytest.raises(ValueError, match="index of X contains other ids"):
            selector.fit(frame, pairs=pairs)


def test_an_error_names_the_member(wine):
    selector = ls.ConsensusSelector(estimators=[("mine", ls.ConstraintScore())])
    with pytest.raises(ValueError, match="Member 'mine': ConstraintScore needs a must-link"):
        selector.fit(wine[0])


@pytest.mark.parametrize("selector", [AUTO, OWN])
def test_constant_features_are_reported_once(selector, wine):
    X, y = wine
    X = X.copy()
    X[:, [1, 3]] = 0.1
    with pytest.warns(UserWarning, match="2 of 13 features are constant") as caught:
        clone(selector).fit(X, y)
    assert len(caught) == 1


def test_the_number_of_features_comes_first():
    members = [("a", ls.FisherScore())]
    assert ls.ConsensusSelector(2).n_features_to_select == 2
    assert ls.ConsensusSelector(2, members).get_params(deep=False) == {
        "n_features_to_select": 2,
        "estimators": members,
        "weights": None,
        "on_conflict": "raise",
        "random_state": None,
        "n_jobs": None,
    }


@pytest.mark.parametrize(
    ("positions", "names"),
    [
        ((["members"],), {}),
        ((["members"], [2]), {}),
        ((["members"], [2], 3), {"n_jobs": 1}),
        (("auto", [1, 2], 3), {}),
        ((["members"],), {"weights": [2], "n_features_to_select": 3}),
    ],
)
def test_the_positions_of_the_last_version_work_with_a_warning(positions, names):
    with pytest.warns(
        FutureWarning, match=r"is now n_features_to_select.*0\.3.*estimators="
    ) as got:
        found = ls.ConsensusSelector(*positions, **names)
    assert [one.filename for one in got] == [__file__]
    order = ("estimators", "weights", "n_features_to_select")
    expected = ls.ConsensusSelector(**dict(zip(order, positions, strict=False)), **names)
    assert found.get_params(deep=False) == expected.get_params(deep=False)


def test_warnings_about_pairs_are_issued_once_for_all_members(wine):
    X, y = wine
    pairs = ls.Pairs.from_labels(y, n_must=2, n_cannot=3, random_state=0)
    contrary = ls.Pairs(cannot=pairs.must[:1])
    lost = ls.Pairs(must=[("a", name) for name in "bcdefgh"])
    with pytest.warns(UserWarning, match="1 cannot-link contradicts|7 of 13 pairs") as caught:
        ls.ConsensusSelector(on_conflict="warn", random_state=0).fit(
            X, pairs=pairs | contrary | lost, sample_ids=range(len(X))
        )
    assert len(caught) == 2
