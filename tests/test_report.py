"""Reports: plain data first, then one page that needs nothing else and trusts no name."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest

from linkselect import (
    FCBF,
    MRMR,
    ConstraintScore,
    FisherScore,
    LaplacianScore,
    NearestNeighborSFS,
    Pairs,
    Redundancy,
    SimilarityConstraintScore,
    StableSelector,
    TraceRatio,
    VarianceScore,
    selectors,
)
from linkselect.evaluation.comparison import compare
from linkselect.report import comparison_page, render, summarize, write_comparison, write_report

pytest.importorskip("jinja2")

# All but those that are made around another selector.
SELECTORS = sorted(set(selectors.__all__) - {"Redundancy", "ScoreFunction", "StableSelector"})
UNSUPERVISED = {"LaplacianScore", "SparsityScore", "SpectralScore", "VarianceScore"}
STRANGE_NAMES = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quotes\" & 'more'",
    "$x^2$",
    "n" * 3000,
    "名前 \u202e كلمة",
    "two\nlines\u2028and\u2029three",
    "{{ 7 * 7 }} {% raw %}",
    "\ud800 alone",
    'id="axes_1" url(#p) #24292f',
    "\x00\x1b[31m",
    "--> <!-- ]]>",
]


def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return (X - X.min()) / (X.max() - X.min()), y


@pytest.fixture(scope="module")
def paired():
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    selector = SimilarityConstraintScore(sigma=0.4).fit(X, pairs=pairs)
    return summarize(selector, X, y, pairs, source="wine.csv")


@pytest.fixture(scope="module")
def strange():
    X, y = wine()
    X = X.to_numpy()[:, : len(STRANGE_NAMES)]
    labels = np.array(["<b>bold</b>", "$y$", "</script>"])[y]
    selector = FisherScore(n_features_to_select=4).fit(X, labels)
    # Past pandas, which cannot hold a lone surrogate.
    selector.feature_names_in_ = np.array(STRANGE_NAMES, dtype=object)
    return summarize(selector, X, labels, source="<i>file</i>", call="rm '<x>' && echo \"$x\"")


class Page(HTMLParser):
    """Collect tags, ids and the text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.attributes, self.text = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for key, value in attrs if key == "id"]

    def handle_data(self, data):
        self.text.append(data)


def embedded(page):
    found = re.search(r'<script type="application/json" id="ranking-data">(.*?)</script>', page)
    return json.loads(found[1])


def test_summary_is_plain_data(paired, strange):
    for summary in (paired, strange):
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_summary_of_pairs(paired):
    X, _ = wine()
    assert paired["data"] | {"kind": ""} == {
        "n_samples": 178,
        "n_features": 13,
        "kind": "",
        "named": True,
        "preparation": None,
        "n_missing": 0,
        "n_constant": 0,
        "constant": [],
    }
    known = paired["supervision"]
    assert (known["kind"], known["must"], known["cannot"]) == ("pairs", 15, 15)
    assert known["coverage"] == known["n_samples"] / 178
    assert known["n_conflicts"] == known["lost"] == 0
    assert sorted(paired["ranking"]["feature"]) == sorted(X.columns)
    assert paired["ranking"]["rank"] == list(range(1, 14))
    assert sum(paired["ranking"]["selected"]) == paired["method"]["n_selected"]
    assert paired["call"].splitlines() == [
        "from linkselect import SimilarityConstraintScore",
        "",
        "selector = SimilarityConstraintScore(sigma=0.4)",
        "selector.fit(X, pairs=pairs)",
    ]
    assert [p["name"] for p in paired["method"]["parameters"] if not p["usual"]] == ["sigma"]


def test_the_python_call_repeats_the_result(paired):
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    namespace = {"X": X, "pairs": pairs}
    exec(paired["call"], namespace)
    assert list(X.columns[namespace["selector"].order_]) == paired["ranking"]["feature"]


def test_summary_of_labels():
    X, y = wine()
    few = y.where(np.arange(len(y)) % 3 == 0, -1)
    summary = summarize(LaplacianScore().fit(X), X, few)
    assert summary["supervision"] == {"kind": "none", "n_samples": 0, "coverage": 0.0}
    assert summary["notes"] == ["LaplacianScore does not look at labels."]
    known = summarize(ConstraintScore().fit(X, few), X, few)["supervision"]
    sizes = few[few >= 0].value_counts()
    assert known["kind"] == "partial labels"
    assert {one["label"]: one["count"] for one in known["classes"]} == {
        str(label): count for label, count in sizes.items()
    }
    implied = Pairs.from_labels(few)
    assert (known["must"], known["cannot"]) == (implied.n_must, implied.n_cannot)


@pytest.mark.parametrize("name", sorted(set(SELECTORS) - UNSUPERVISED))
def test_minus_one_is_told_as_the_selector_reads_it(name):
    """Fitted on other labels, each selector shows how it takes -1: the report says the same."""
    X, y = wine()
    X, y = X.to_numpy()[::2, :5], y.to_numpy()[::2] - 1
    kind = getattr(selectors, name)
    renamed = kind().fit(X, y + 1)
    is_class = np.array_equal(kind().fit(X, y).scores_, renamed.scores_)
    known = summarize(kind().fit(X, y), X, y)["supervision"]
    assert known["n_classes"] == (3 if is_class else 2)
    assert known["kind"] == ("labels" if is_class else "partial labels")


def test_labels_minus_one_and_one():
    X, y = wine()
    y = np.where(y == 0, -1, 1)
    for selector in (FisherScore(), StableSelector(FisherScore(), n_resamples=2, random_state=0)):
        summary = summarize(selector.fit(X, y), X, y)
        assert "from the labels of 2 classes" in render(summary)
        assert summary["supervision"]["n_samples"] == 178
        assert [one["label"] for one in summary["supervision"]["classes"]] == ["1", "-1"]
    foreign = StableSelector(SelectKBest(k=2), n_resamples=2, random_state=0).fit(X, y)
    assert summarize(foreign, X, y)["supervision"]["n_classes"] == 2


def test_the_python_call_names_the_ids_that_were_given():
    X, _ = wine()
    ids = [f"bottle {i}" for i in range(len(X))]
    pairs = Pairs(must=[("bottle 0", "bottle 1")], cannot=[("bottle 0", "bottle 100")])
    values = X.to_numpy()
    selector = ConstraintScore().fit(values, pairs=pairs, sample_ids=ids)
    call = summarize(selector, values, pairs=pairs, sample_ids=ids)["call"]
    namespace = {"X": values, "pairs": pairs, "sample_ids": ids}
    exec(call, namespace)
    assert namespace["selector"].order_.tolist() == selector.order_.tolist()
    assert "sample_ids" not in summarize(FisherScore().fit(X, _), X, _, sample_ids=ids)["call"]


def test_summary_sees_through_wrappers():
    X, y = wine()
    summary = summarize(Redundancy(FisherScore()).fit(X, y), X, y)
    assert summary["supervision"]["kind"] == "labels"
    assert summary["call"].startswith("from linkselect import FisherScore, Redundancy\n")
    render(summary)


def test_conflicts_lost_pairs_and_ids():
    X, _ = wine()
    X = X.set_axis([f"bottle {i}" for i in range(len(X))])
    pairs = Pairs(
        must=[("bottle 0", "bottle 1"), ("bottle 1", "bottle 2"), ("bottle 0", "elsewhere")],
        cannot=[("bottle 0", "bottle 2"), ("bottle 0", "bottle 100")],
    )
    selector = ConstraintScore(on_conflict="drop").fit(X, pairs=pairs)
    summary = summarize(selector, X, pairs=pairs)
    known = summary["supervision"]
    assert (known["n_conflicts"], known["lost"], known["n_samples"]) == (1, 1, 4)
    assert "'bottle 0' = 'bottle 1' = 'bottle 2'" in known["conflicts"][0]
    assert len(summary["notes"]) == 3, "conflict, lost pair, little coverage"
    assert "bottle 0&#39; = " in render(summary)
    by_name = summarize(selector, X.to_numpy(), pairs=pairs, sample_ids=X.index)
    assert by_name["supervision"] == known


def test_constant_features_and_scores_that_are_no_numbers():
    X = np.random.default_rng(0).normal(size=(10, 4))
    X[:, 1] = 3.0
    y = np.arange(10) % 2
    with pytest.warns(UserWarning, match="constant"):
        selector = FisherScore(n_features_to_select=1).fit(X, y)
    selector.scores_[0] = np.inf
    summary = summarize(selector, X, y, preparation="Scaled to <0, 1>.")
    assert summary["data"]["constant"] == ["x1"]
    assert set(map(type, summary["ranking"]["score"])) == {float, str, type(None)}
    assert "inf" in summary["ranking"]["score"]
    page = render(json.loads(json.dumps(summary, allow_nan=False)))
    assert ">no score<" in page
    assert "Scaled to &lt;0, 1&gt;." in page
    assert ">∞<" in page
    assert len(summary["notes"]) == 2


def test_a_tie_at_the_cut_is_told():
    X = np.random.default_rng(0).normal(size=(10, 1)).repeat(4, axis=1)
    summary = summarize(VarianceScore(n_features_to_select=2).fit(X), X)
    assert "arbitrary" in summary["notes"][0]


def test_equal_scores_are_no_tie_where_something_else_decides():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1)).repeat(3, axis=1)
    X[:, 2] += rng.normal(size=40)
    y = (X[:, 0] > 0).astype(int)
    stable = StableSelector(FisherScore(1), 1, n_resamples=3, random_state=0)
    for selector in (MRMR(1), FCBF(1), NearestNeighborSFS(1), Redundancy(FisherScore(), 1), stable):
        selector.fit(X, y).scores_ = np.ones(3)
        assert summarize(selector, X, y)["notes"] == []
    selector = FisherScore(1).fit(X, y)
    assert "arbitrary" in summarize(selector, X, y)["notes"][0]
    selector.scores_ = np.full(3, np.nan)
    assert "arbitrary" not in " ".join(summarize(selector, X, y)["notes"])


@pytest.mark.parametrize(
    "selector", [MRMR(3), FCBF(3), TraceRatio(3), Redundancy(FisherScore(), 3)]
)
def test_a_path_without_an_optimum_has_no_best_point(selector):
    X, y = wine()
    page = render(summarize(selector.fit(X, y), X, y))
    assert "diamond" not in page
    assert "no best point is marked" in page
    assert "maximum" not in page


def test_a_path_with_an_optimum_has_a_best_point(paired):
    X, y = wine()
    for summary in (paired, summarize(NearestNeighborSFS(3).fit(X, y), X, y)):
        page = render(summary)
        assert "The diamond is its best point" in page
        assert "imum " in page


def test_warnings_and_time_are_on_the_page():
    X, y = wine()
    summary = summarize(FisherScore().fit(X, y), X, y, warnings=["<Mind>"], seconds=0.25)
    page = render(summary)
    assert "&lt;Mind&gt;" in page
    assert "Fitted in 0.25 s." in page


def test_sparse_and_tiny_data():
    X = np.random.default_rng(0).random((6, 1))
    pairs = Pairs(must=[(0, 1)], cannot=[(0, 2)])
    for given in (X, csr_array(X), pd.DataFrame(X)):
        page = render(summarize(ConstraintScore().fit(given, pairs=pairs), given, pairs=pairs))
        assert page.count("<tr class=") == 1


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_has_a_summary(name):
    X, y = wine()
    X, y = X.iloc[::4, :6], y.iloc[::4]
    summary = summarize(getattr(selectors, name)().fit(X, y), X, y)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert sorted(summary["ranking"]["feature"]) == sorted(X.columns)


def test_unfitted_selector():
    with pytest.raises(NotFittedError):
        summarize(FisherScore(), [[1.0]])
    X, y = wine()
    with pytest.raises(TypeError, match="SelectKBest has no order_"):
        summarize(SelectKBest(k=2).fit(X, y), X, y)


def test_page_needs_nothing_else(paired):
    page = render(paired)
    parsed = Page(page)
    outside = [
        (tag, key, value)
        for tag, key, value in parsed.attributes
        if key in ("src", "href", "action", "data", "xlink:href", "srcset")
        and not (value or "").startswith(("#", "data:"))
    ]
    assert outside == []
    assert not re.search(r"@import|url\((?!#)", page)
    assert "link" not in parsed.tags
    assert len(parsed.ids) == len(set(parsed.ids)), "every id once"


def test_policy_allows_the_own_script_only(paired):
    page = render(paired)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    script = re.search(r"<script>(.*?)</script>", page, flags=re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert page.count("<script") == 2, "the script and the data"


def test_names_are_text_everywhere(strange):
    page = render(strange)
    parsed = Page(page)
    assert page.count("<script") == 2
    assert "<img" not in page
    assert not {"b", "i"} & set(parsed.tags)
    assert "{{ 7 * 7 }}" in page
    shown = "".join(parsed.text)
    for name in ("<script>alert(1)</script>", "\"quotes\" & 'more'", "$x^2$", "名前"):
        assert name in shown
    assert embedded(page)["feature"] == strange["ranking"]["feature"]
    assert "\u2028" not in page[page.index("ranking-data") :].split("</script>")[0]
    page.encode("utf-8")


def test_names_in_pictures_are_as_given(strange):
    pytest.importorskip("matplotlib")
    page = render(strange)
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in picture
    assert "$x^2$" in picture
    assert 'id="axes_1" url(#p) #24292f' in picture


def test_same_input_same_page(paired):
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    selector = SimilarityConstraintScore(sigma=0.4).fit(X, pairs=pairs)
    again = summarize(selector, X, y, pairs, source="wine.csv")
    assert again == paired
    assert render(again) == render(paired)


def test_style_of_the_session_does_not_matter(paired):
    mpl = pytest.importorskip("matplotlib")
    plain = render(paired)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "text.usetex": False}):
        assert render(paired) == plain


def test_pictures_follow_the_summary(paired, strange):
    pytest.importorskip("matplotlib")
    for name, there in (("scores", True), ("path", True), ("pairs", True), ("mask", False)):
        assert (f'id="{name}-figure_1"' in render(paired)) is there
    assert 'id="pairs-figure_1"' not in render(strange)


def test_mask_of_pixels():
    X = np.random.default_rng(0).random((9, 6))
    selector = VarianceScore(n_features_to_select=2).fit(X)
    summary = summarize(selector, X, image_shape=(2, 3), image_order="F")
    np.testing.assert_array_equal(
        np.array(summary["mask"]["pixels"], dtype=bool), selector.support_.reshape(3, 2).T
    )
    with pytest.raises(ValueError, match="product is 6"):
        summarize(selector, X, image_shape=(2, 2))


def test_pictures_leave_no_figure_behind(paired):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    render(paired)
    assert plt.get_fignums() == before


def test_many_features_are_not_all_in_the_document():
    X = np.random.default_rng(0).random((5, 12_000))
    page = render(summarize(VarianceScore().fit(X), X))
    assert page.count("<tr class=") == 50
    assert len(embedded(page)["feature"]) == 12_000


def test_many_pairs_are_drawn_in_part():
    X, y = wine()
    pairs = Pairs.from_labels(y)
    view = summarize(ConstraintScore().fit(X, pairs=pairs), X, pairs=pairs)["view"]
    assert len(view["must"]) + len(view["cannot"]) <= 302
    assert (view["n_must"], view["n_cannot"]) == (pairs.n_must, pairs.n_cannot)


def test_writing_is_whole_or_not_at_all(paired, tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    file.write_text("old")
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            write_report(paired, file)
    assert file.read_text() == "old"
    write_report(paired, str(file))
    assert file.read_text(encoding="utf-8") == render(paired)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError):
        write_report(paired, tmp_path / "absent" / "report.html")


@pytest.fixture(scope="module")
def comparison():
    X, y = wine()
    methods = {"<b>fisher</b>": FisherScore(), "_laplacian $x$": LaplacianScore()}
    return compare(methods, X.to_numpy(), y.to_numpy(), n_splits=3)


def test_comparison_page(comparison, tmp_path):
    X, _ = wine()
    page = comparison_page(comparison, names=list(X.columns), source="wine.csv", call="again")
    parsed = Page(page)
    shown = "".join(parsed.text)
    for sentence in comparison.summary:
        assert sentence in shown
    assert "<b>" not in page
    assert "_laplacian $x$" in shown
    assert "flavanoids" in shown
    assert len(parsed.ids) == len(set(parsed.ids))
    write_comparison(comparison, tmp_path / "c.html", source="wine.csv")
    assert shown.count("the labels of 178 samples") == 2, "in words and in the table"
    assert "neither labels nor pairs" in shown
    assert "the random choice counting as one" in shown
    assert "Repeat it" not in (tmp_path / "c.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="names has 1 entries"):
        comparison_page(comparison, names=["one"])


def run(code):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True)


FIT = (
    "from sklearn.datasets import load_iris\n"
    "from linkselect import FisherScore\n"
    "from linkselect.report import render, summarize\n"
    "X, y = load_iris(return_X_y=True)\n"
    "print(render(summarize(FisherScore().fit(X, y), X, y)))\n"
)


def test_without_matplotlib_the_page_says_how_to_get_pictures():
    done = run("import sys; sys.modules['matplotlib'] = None\n" + FIT)
    assert "pip install &#39;linkselect[plot]&#39;" in done.stdout or (
        "pip install 'linkselect[plot]'" in done.stdout
    ), done.stderr
    assert "<svg" not in done.stdout


def test_without_jinja_the_message_says_what_to_install():
    done = run("import sys; sys.modules['jinja2'] = None\n" + FIT)
    assert "pip install 'linkselect[report]'" in done.stderr.splitlines()[-1]
