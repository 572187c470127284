"""AnnData objects as X and `linkselect.anndata.rank` give the same results as arrays."""

import subprocess
import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from linkselect import (
    ConstraintScore,
    FisherScore,
    LinkSelector,
    Pairs,
    StableSelector,
    VarianceScore,
    center_batches,
    compare,
    open_stored,
)
from linkselect._messages import ConstantFeaturesWarning, GuidedTypeError, GuidedValueError
from linkselect.anndata import rank
from linkselect.evaluation import choose_number, feature_p_values, validate
from tests.helpers.annotated import OF_ANNDATA, TYPES, annotated, counts, text_as_objects
from tests.helpers.stored_samples import store_h5ad

pytestmark = pytest.mark.filterwarnings(OF_ANNDATA)

PAIRS = Pairs(
    must=[("c0", "c3"), ("c22", "c30"), ("c1", "c4")], cannot=[("c0", "c22"), ("c3", "c50")]
)
IDS = [f"c{place}" for place in range(60)]
NAMES = [f"g{place}" for place in range(12)]
FORMS = {
    "dense": np.asarray,
    "csr": csr_matrix,
    "csc": csc_array,
    "whole numbers": lambda values: values.astype(np.int32),
}


@pytest.fixture(autouse=True)
def _plain_text():
    with text_as_objects():
        yield


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def cells(request):
    return annotated(request.param(counts()))


@pytest.fixture(params=[None, csr_matrix], ids=["dense", "csr"])
def backed(request, tmp_path):
    values = counts() if request.param is None else request.param(counts())
    annotated(values).write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    yield adata
    adata.file.close()


def dense(values):
    return values.toarray() if issparse(values) else np.asarray(values)


SELECTORS = [
    LinkSelector(4),
    ConstraintScore(4),
    StableSelector(ConstraintScore(4), random_state=0),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
def test_selectors_give_the_same_results_as_for_an_array(selector, cells):
    expected = selector.fit(counts(), pairs=PAIRS, sample_ids=IDS)
    scores, order, support = expected.scores_, expected.order_, expected.get_support()
    found = selector.fit(cells, pairs=PAIRS)
    assert_allclose(found.scores_, scores, rtol=1e-6)
    assert_array_equal(found.order_, order)
    assert list(found.feature_names_in_) == NAMES
    assert_array_equal(found.get_feature_names_out(), np.array(NAMES)[support])
    assert found.to_frame()["feature"].iloc[0] == NAMES[order[0]]
    kept = found.transform(cells)
    assert issparse(kept) == issparse(cells.X)
    assert_array_equal(dense(kept), counts()[:, support])


def test_labels_may_be_a_column_of_obs(cells):
    assert_allclose(
        FisherScore().fit(cells, cells.obs["type"]).scores_,
        FisherScore().fit(counts(), TYPES).scores_,
    )


def test_a_view_counts_as_what_it_shows(cells):
    view = cells[10:50, ::-2]
    found = LinkSelector().fit(view, view.obs["type"])
    assert_array_equal(found.order_, LinkSelector().fit(counts()[10:50, ::-2], TYPES[10:50]).order_)
    assert list(found.feature_names_in_) == NAMES[::-2]
    assert view.is_view


def test_evaluation_gives_the_same_results_as_for_an_array(cells):
    X, y = counts(), cells.obs["type"]
    fitted = FisherScore(3).fit(X, TYPES)
    assert validate(fitted, X, TYPES) == validate(FisherScore(3).fit(cells, y), cells, y)
    assert choose_number(fitted, X, TYPES).n_features == choose_number(fitted, cells, y).n_features
    methods = {"fisher": FisherScore(), "link": LinkSelector()}
    assert compare(methods, cells, y).mean_accuracy == compare(methods, X, TYPES).mean_accuracy
    with pytest.raises(GuidedValueError, match="has other features"):
        validate(FisherScore(3).fit(cells[:, ::-1], y), cells, y)


def test_folds_keep_their_names(cells):
    pipeline = make_pipeline(LinkSelector(2), LogisticRegression())
    assert_allclose(
        cross_val_score(pipeline, cells, cells.obs["type"]),
        cross_val_score(pipeline, counts(), TYPES),
    )


def test_other_features_than_those_of_the_fit_are_refused(cells):
    fitted = LinkSelector(2).fit(cells, TYPES)
    with pytest.raises(GuidedValueError, match="column 0 of the AnnData object is 'g11', but was"):
        fitted.transform(cells[:, ::-1])
    with pytest.raises(
        GuidedValueError, match="X has 3 features, but LinkSelector is expecting 12"
    ):
        fitted.transform(cells[:, :3])


def test_transform_can_give_a_frame_with_names():
    cells = annotated()
    frame = LinkSelector(2).set_output(transform="pandas").fit(cells, TYPES).transform(cells)
    assert list(frame.index) == IDS
    assert set(frame.columns) <= set(NAMES)


# -- backed ----------------------------------------------------------------------------------


def test_backed_objects_are_read_by_parts(backed):
    expected = LinkSelector(4).fit(counts(), pairs=PAIRS, sample_ids=IDS)
    for X in (backed, backed.filename, str(backed.filename)):
        found = LinkSelector(4).fit(X, pairs=PAIRS)
        assert_array_equal(found.order_, expected.order_)
        assert list(found.feature_names_in_) == NAMES
        assert_array_equal(np.asarray(found.transform(X)), counts()[:, expected.get_support()])
    with pytest.raises(GuidedTypeError, match="cells.h5ad is read part by part"):
        validate(LinkSelector(4), backed, TYPES)


def test_names_in_memory_count_more_than_those_of_the_file(backed):
    backed.obs_names = [f"n{place}" for place in range(60)]
    backed.var_names = [f"v{place}" for place in range(12)]
    pairs = Pairs(must=[("n0", "n3")], cannot=[("n0", "n22")])
    found = ConstraintScore().fit(backed, pairs=pairs)
    expected = ConstraintScore().fit(counts(), pairs=Pairs(must=[(0, 3)], cannot=[(0, 22)]))
    assert_array_equal(found.scores_, expected.scores_)
    assert found.feature_names_in_[0] == "v0"


def test_views_of_backed_objects(backed):
    columns = open_stored(backed[:, [7, 2]])
    assert (columns.names, columns.shape) == (["g7", "g2"], (60, 2))
    assert_array_equal(np.asarray(columns), counts()[:, [7, 2]])
    rows = backed[[40, 3, 21], ["g7", "g2"]]
    assert_array_equal(
        VarianceScore().fit(rows).scores_,
        VarianceScore().fit(counts()[[40, 3, 21]][:, [7, 2]]).scores_,
    )


@pytest.mark.filterwarnings("ignore:Element .* was written without encoding metadata")
def test_a_large_view_of_rows_is_not_read_into_memory(tmp_path):
    path = store_h5ad(tmp_path, np.zeros((12_000, 1)), None)
    with h5py.File(path, "r+") as file:
        del file["X"], file["var/names"]
        # No chunk was ever written, so the file is small.
        file.create_dataset("X", (12_000, 12_000), "f8", chunks=(1000, 1000))
        file["var/names"] = [f"g{place}" for place in range(12_000)]
        for axis in ("obs", "var"):
            file[axis].attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
            file[axis].attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0"})
    adata = anndata.read_h5ad(path, backed="r")
    with pytest.raises(GuidedTypeError, match=r"11,999 rows of X.h5ad.*to_memory\(\)"):
        VarianceScore().fit(adata[1:])
    adata.file.close()


def test_a_matrix_by_columns_is_refused_with_a_hint(tmp_path):
    annotated(csc_array(counts())).write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(GuidedTypeError, match=r"stored by columns \(CSC\).*adata.X.tocsr\(\)"):
        VarianceScore().fit(adata)
    adata.file.close()


# -- invalid objects -------------------------------------------------------------------------


def test_odd_objects():
    cells = annotated()
    cells.var_names = ["a", "a", *NAMES[2:]]
    for work in (lambda: LinkSelector().fit(cells, TYPES), lambda: rank(cells, "type")):
        with pytest.raises(GuidedValueError, match=r"name: 'a'.*var_names_make_unique\(\)"):
            work()
    cells = annotated()
    cells.obs_names = ["a", "a", *IDS[2:]]
    assert LinkSelector().fit(cells, TYPES).n_features_
    with pytest.raises(
        GuidedValueError, match=r"Duplicate sample id 'a'.*obs_names_make_unique\(\)"
    ):
        LinkSelector().fit(cells, pairs=PAIRS)
    empty = anndata.AnnData(obs=annotated().obs, var=annotated().var)
    with pytest.raises(GuidedValueError, match="has no X. .*layer="):
        LinkSelector().fit(empty, TYPES)
    gaps = annotated()
    gaps.X[4, 7] = np.nan
    with pytest.raises(GuidedValueError, match="1 column has missing values: 'g7'"):
        LinkSelector().fit(gaps, TYPES)


CODE = "import sys, linkselect; linkselect.LinkSelector().fit([[1., 2], [2, 1], [3, 3]])"


def test_anndata_is_not_imported_for_others():
    command = f"{CODE}; assert 'anndata' not in sys.modules"
    subprocess.run([sys.executable, "-c", command], check=True)


# -- rank ------------------------------------------------------------------------------------


def test_rank_stores_the_results_of_the_selector(cells):
    assert rank(cells, label="some", n_features_to_select=3) is None
    y = np.where(np.arange(60) % 3 == 0, TYPES, None)
    expected = LinkSelector(3).fit(counts(), y)
    assert_allclose(cells.var["linkselect_score"], expected.scores_, rtol=1e-6)
    assert_array_equal(cells.var["linkselect_rank"], expected.ranking_)
    assert_array_equal(cells.var["linkselect_selected"], expected.support_)
    found = validate(LinkSelector(3), counts(), y)
    assert_allclose(cells.var["linkselect_frequency"], found.frequencies)
    kept = cells.uns["linkselect"]
    assert (kept["method"], kept["n_features"]) == ("LinkSelector", 3)
    assert kept["better_than_chance"] is found.better_than_chance
    assert kept["estimate"]["value"] == pytest.approx(found.estimate.value)
    assert kept["estimate"]["standard_error"] > 0


def test_labels_and_pairs_are_used_together():
    cells = annotated()
    rank(cells, "some", pairs=PAIRS, validate=False)
    known = np.arange(60) % 3 == 0
    both = PAIRS | Pairs.from_labels(TYPES[known], sample_ids=np.array(IDS)[known])
    expected = LinkSelector().fit(counts(), pairs=both, sample_ids=IDS)
    assert_array_equal(cells.var["linkselect_score"], expected.scores_)
    assert (cells.uns["linkselect"]["params"]["n_must"], PAIRS.n_must) == (3, 3)


def test_a_method_that_needs_every_label_ranks_by_the_labelled_samples(cells):
    known = np.arange(60) % 3 == 0
    with pytest.warns(UserWarning, match="it uses only the 20 labelled samples of 60"):
        rank(cells, "some", selector=FisherScore(3), batch_key="batch", group_key="donor")
    expected = FisherScore(3).fit(counts()[known], TYPES[known])
    assert_allclose(cells.var["linkselect_score"], expected.scores_, rtol=1e-6)
    obs = cells.obs[known]
    found = validate(
        FisherScore(3), counts()[known], TYPES[known], groups=obs["donor"], batches=obs["batch"]
    )
    assert_array_equal(cells.var["linkselect_frequency"], found.frequencies)
    assert cells.n_obs == 60
    assert "20 labelled samples" in cells.uns["linkselect"]["notes"][0]


@pytest.mark.parametrize("kind", [int, float, bool, "category", "Int64"])
def test_labels_may_be_numbers_or_truth_values(kind):
    cells = annotated()
    cells.obs["is B"] = pd.Series((TYPES == "B").astype(int), cells.obs_names).astype(kind)
    rank(cells, "is B", selector=FisherScore(3), validate=False)
    expected = FisherScore(3).fit(counts(), TYPES == "B")
    assert_allclose(cells.var["linkselect_score"], expected.scores_, rtol=1e-6)


def test_layers_and_centred_batches():
    cells = annotated(np.zeros((60, 12), np.float32))
    cells.layers["counts"] = csr_array(counts())
    rank(cells, "type", layer="counts", validate=False)
    assert_array_equal(cells.var["linkselect_rank"], LinkSelector().fit(counts(), TYPES).ranking_)
    rank(cells, "type", layer="counts", batch_key="batch", batch="center", validate=False)
    centred = center_batches(counts(), cells.obs["batch"])
    assert_allclose(
        cells.var["linkselect_score"], LinkSelector().fit(centred, TYPES).scores_, rtol=1e-6
    )


def test_batches_and_groups_reach_the_measures():
    cells = annotated()
    rank(
        cells, "type", selector=FisherScore(3), batch_key="batch", group_key="donor",
        n_permutations=19, key_added="f",
    )  # fmt: skip
    known = {"groups": cells.obs["donor"], "batches": cells.obs["batch"], "random_state": 0}
    found = validate(FisherScore(3), counts(), TYPES, **known)
    tested = feature_p_values(FisherScore(3), counts(), TYPES, n_permutations=19, **known)
    assert cells.uns["f"]["p_value"] == found.p_value
    assert_array_equal(cells.var["f_p_value"], tested.p_values)
    assert_array_equal(cells.var["f_q_value"], tested.q_values)


def test_samples_without_a_batch_share_one_and_without_a_group_have_their_own():
    cells = annotated()
    some = np.arange(60) < 10
    cells.obs["plate"] = cells.obs["batch"].astype(object).mask(some)
    cells.obs["patient"] = cells.obs["donor"].astype(object).mask(some)
    with pytest.warns(UserWarning, match="10 samples have no") as caught:
        rank(
            cells, "type", selector=FisherScore(3), batch_key="plate", group_key="patient",
            batch="center", key_added="f",
        )  # fmt: skip
    text = " ".join(str(one.message) for one in caught)
    assert "no batch ('plate'); together they form one batch." in text
    assert "no group ('patient'); each counts as a group of its own." in text
    batches = cells.obs["batch"].astype(object).where(~some, "none")
    groups = np.where(some, np.arange(60).astype(str), cells.obs["donor"].astype(object))
    X = center_batches(counts(), batches)
    assert_allclose(cells.var["f_score"], FisherScore().fit(X, TYPES).scores_, rtol=1e-6)
    found = validate(FisherScore(3), X, TYPES, groups=groups, batches=batches, random_state=0)
    assert cells.uns["f"]["p_value"] == found.p_value


def test_batches_that_coincide_with_classes_are_noted():
    cells = annotated()
    cells.obs["plate"] = cells.obs["type"]
    with pytest.warns(UserWarning, match="Every batch contains only one class"):
        rank(cells, "type", batch_key="plate", validate=False)
    assert "Every batch contains only one class" in cells.uns["linkselect"]["notes"][0]


def test_results_of_an_earlier_ranking_are_replaced():
    cells = annotated()
    rank(cells, "type", n_permutations=9, selector=FisherScore())
    assert {"linkselect_frequency", "linkselect_p_value"} <= set(cells.var)
    rank(cells, "type", validate=False)
    assert list(cells.var) == ["linkselect_score", "linkselect_rank", "linkselect_selected"]


@pytest.mark.parametrize("options", [{"label": "some"}, {"pairs": PAIRS}, {}], ids=str)
def test_results_survive_a_file(cells, options, tmp_path):
    rank(cells, **options)
    cells.write_h5ad(tmp_path / "ranked.h5ad")
    again = anndata.read_h5ad(tmp_path / "ranked.h5ad")
    pd.testing.assert_frame_equal(again.var, cells.var)
    kept, read = cells.uns["linkselect"], again.uns["linkselect"]
    assert list(read["notes"]) == list(kept["notes"])
    assert {**read, "notes": 0} == {**kept, "notes": 0}


def test_copies_views_and_backed_objects(backed):
    cells = annotated()
    changed = rank(cells, "type", validate=False, copy=True)
    assert "linkselect_rank" in changed.var
    assert list(cells.var) == []
    view = cells[:40]
    rank(view, "type", validate=False)
    assert "linkselect" in view.uns
    assert "linkselect" not in cells.uns
    rank(backed, "type")
    assert_array_equal(backed.var["linkselect_rank"], changed.var["linkselect_rank"])
    assert "not validated" in backed.uns["linkselect"]["notes"][0]
    for options in (
        {"copy": True},
        {"n_permutations": 9},
        {"batch_key": "batch", "batch": "center"},
    ):
        with pytest.raises(GuidedValueError, match=r"to_memory\(\)"):
            rank(backed, "type", **options)
    with pytest.raises(GuidedValueError, match="A view needs the samples in memory"):
        rank(backed[:, :3], "type")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"label": "typee"},
            "label='typee' is not a column of adata.obs. Did you mean 'type'",
        ),
        ({"label": "zzz"}, "Available: type, some, batch, donor"),
        ({"layer": "counts"}, "layer='counts' is not a layer. None are available"),
        ({"batch": "center"}, 'Pass batch="center" together with batch_key'),
        ({"key_added": "a/b"}, "key_added='a/b'"),
    ],
)
def test_unknown_names_are_reported(options, message):
    cells = annotated()
    with pytest.raises(GuidedValueError, match=message):
        rank(cells, **options)
    assert list(cells.var) == []


def test_other_errors_change_nothing():
    cells = annotated()
    with pytest.raises(GuidedTypeError, match="not an AnnData object"):
        rank(counts(), "type")
    with pytest.raises(GuidedValueError, match="is not a column of adata.obs"):
        rank(cells, cells.obs["type"])
    cells.obs["one"] = "B"
    with pytest.raises(ValueError, match="class"):
        rank(cells, "one", selector=FisherScore())
    assert list(cells.var) == []
    cells.X[:, 0] = 1
    with pytest.warns(ConstantFeaturesWarning):
        rank(cells, "type", validate=False)
    assert "1 of 12 features is constant" in cells.uns["linkselect"]["notes"][0]
