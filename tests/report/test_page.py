"""Tests of the HTML report: it is a single file, and names are always escaped."""

import base64
import hashlib
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from linkselect import (
    FCBF,
    MRMR,
    SCGS,
    CompensatedLaplacianScore,
    ConstraintScore,
    FisherScore,
    NearestNeighborSFS,
    Pairs,
    Redundancy,
    SimilarityConstraintScore,
    TraceRatio,
    VarianceScore,
)
from linkselect.evaluation import validate
from linkselect.report import render, summarize, write_report
from linkselect.report._validation_summary import alarms
from tests.helpers.reports import (
    Page,
    embedded,
    paired_page,
    paired_summary,
    strange_page,
    strange_summary,
    wine,
)

pytest.importorskip("jinja2")


@pytest.fixture
def paired():
    return paired_summary()


@pytest.fixture
def without_pictures(monkeypatch):
    """Omit the pictures, which take most of the time."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture
def strange():
    return strange_summary()


@pytest.mark.parametrize(
    "selector", [MRMR(3), FCBF(3), TraceRatio(3), Redundancy(FisherScore(), 3)]
)
def test_a_path_without_an_optimum_has_no_best_point(selector):
    X, y = wine()
    page = render(summarize(selector.fit(X, y), X, y))
    assert "diamond" not in page
    assert "no optimum is marked" in page
    assert "maximum" not in page


def test_a_path_with_an_optimum_has_a_best_point():
    X, y = wine()
    for page in (paired_page(), render(summarize(NearestNeighborSFS(3).fit(X, y), X, y))):
        assert "The diamond marks the optimum" in page
        assert "imum " in page


def test_warnings_and_time_are_on_the_page(without_pictures):
    X, y = wine()
    summary = summarize(FisherScore().fit(X, y), X, y, warnings=["<Mind>"], seconds=0.25)
    page = render(summary)
    assert "&lt;Mind&gt;" in page
    assert " in 0.25 s." in page


def validated_page(selector, X, pairs):
    found = validate(selector, X, pairs=pairs)
    return render(summarize(selector, X, pairs=pairs, validation=found))


def test_the_reliability_of_a_ranking_is_on_the_page(without_pictures):
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    page = validated_page(ConstraintScore(3).fit(X, pairs=pairs), X, pairs)
    assert page.count("How reliable is the ranking?") == 1
    assert "Held-out pairs: AUC " in page
    assert " (2 standard errors; chance " in page
    assert "performs significantly better than chance (p = 0.025)" in page
    assert "not significantly better than chance" not in page
    table = embedded(page)
    assert all(0 <= share <= 1 for share in table["frequency"])
    assert table["reason"][:3] == ["selected"] * 3
    assert table["twins"][3:] == [None] * 10
    assert "Frequency</button>" in page


def test_warnings_about_a_ranking_come_first(without_pictures):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 30))
    pairs = Pairs.from_labels(np.arange(40) % 2, n_must=12, n_cannot=12, random_state=0)
    page = validated_page(ConstraintScore(3).fit(X, pairs=pairs), X, pairs)
    text = [piece.strip() for piece in Page(page[page.index("<main") :]).text if piece.strip()]
    assert text[0] == text[2] == "Warning:"
    assert text[1].startswith("The selection is unstable: over ")
    assert text[3].startswith("On held-out pairs, the selected features did not perform")


@pytest.mark.parametrize("value", [0.3, 1.0])
def test_an_insignificant_result_is_not_called_wrong(without_pictures, value):
    summary = {**paired_summary()}
    estimate = {
        "measure": "pair AUC",
        "value": value,
        "standard_error": 0.3,
        "chance": 0.5,
        "random_features": 0.4,
        "all_features": 0.3,
        "n_held_out": 6,
        "n_folds": 3,
    }
    summary["validation"] = {
        "estimate": estimate,
        "better_than_chance": False,
        "reason": "",
        "selected": [],
        "selected_again": [],
        "n_resamples": 0,
        "twins": [],
    }
    summary["notes"] = ["Left out 1 column.", "scgs_like is a name."]
    page = render(summary)
    assert "50 % by chance (no significant difference), 40 % with the same number of" in page
    assert "<li>Left out 1 column.</li>" in page
    assert "<li>scgs_like is a name.</li>" in page


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (None, "Without labels or pairs, the performance on held-out data cannot"),
        (Pairs([(0, 1)], [(0, 2)]), "Cannot validate: at least 5 independent must-links"),
    ],
)
def test_too_few_pairs_to_hold_any_out(pairs, words, without_pictures):
    X = np.random.default_rng(0).normal(size=(30, 5))
    assert words in validated_page(VarianceScore(2).fit(X), X, pairs)


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_absent_kinds_of_pairs_are_not_mentioned(kind):
    X, y = wine()
    numbers = {"must": {"n_must": 14, "n_cannot": 0}, "cannot": {"n_must": 0, "n_cannot": 14}}
    pairs = Pairs.from_labels(y, **numbers[kind], random_state=0)
    selector = CompensatedLaplacianScore(3) if kind == "cannot" else SCGS(3)
    page = validated_page(selector.fit(X, pairs=pairs), X, pairs)
    text = " ".join(Page(page[page.index("<main") :]).text).replace("no must-links", "")
    other = {"must": ("cannot-link", "unlike"), "cannot": ("must-link", "alike samples are close")}
    for word in other[kind]:
        assert word not in text.lower(), word


def test_alarms():
    estimate = {"measure": "pair AUC", "value": 0.6, "standard_error": 0.1, "chance": 0.5}
    estimate |= {"random_features": 0.7, "all_features": 0.604}
    found = {"estimate": estimate, "better_than_chance": None, "reason": None, "n_resamples": 5}
    found |= {"selected": ["g1", "g2"], "selected_again": [0.0, 0.4]}
    assert alarms(found, 500) == [
        "The selection is unstable: over 5 resamples of half the samples, the mean selection "
        "frequency is 0.20 if highly correlated features count as one (chance: 0.004).",
        "The same number of random features (0.70) separate held-out must-links from cannot-links "
        "better than the selected features (0.60).",
    ]
    found |= {"selected_again": [0.0, 0.4], "together": [0.0, 1.0]}
    assert alarms(found, 500)[0] == (
        "In 5 resamples of half the samples, neither the best feature, g1, nor any feature highly "
        "correlated with it was selected."
    )
    better = {**estimate, "random_features": 0.5, "all_features": 0.9}
    found |= {"estimate": better, "better_than_chance": True, "together": [0.6, 0.4]}
    assert alarms(found, 500) == [
        "All 500 features (0.90) separate held-out must-links from cannot-links better than the "
        "selected features (0.60)."
    ]


def test_strange_names_of_highly_correlated_features_are_escaped():
    X, y = wine()
    X = X.to_numpy()[:, [6, 6, 6]]
    selector = FisherScore(2).fit(X, y)
    names = ["<img src=x>", "</script>", "<b>"]
    selector.feature_names_in_ = np.array(names, dtype=object)
    found = validate(selector, X, y)
    page = render(summarize(selector, X, y, validation=found))
    assert "<img" not in page
    assert page.count("<script") == 2
    assert embedded(page)["twins"][0] == "</script> (1.00), <b> (1.00)"


def test_a_summary_without_validation_is_accepted(paired):
    old = {key: value for key, value in paired.items() if key != "validation"}
    assert render(old) == paired_page()


def test_sparse_and_tiny_data():
    X = np.random.default_rng(0).random((6, 1))
    pairs = Pairs(must=[(0, 1)], cannot=[(0, 2)])
    for given in (X, csr_array(X), pd.DataFrame(X)):
        page = render(summarize(ConstraintScore().fit(given, pairs=pairs), given, pairs=pairs))
        assert page.count("<tr class=") == 1


def test_page_is_self_contained():
    page = paired_page()
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


def test_security_policy_allows_only_the_script_of_the_page():
    page = paired_page()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    script = re.search(r"<script>(.*?)</script>", page, flags=re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert page.count("<script") == 2, "the script and the data"


def test_names_are_escaped_everywhere(strange):
    page = strange_page()
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


def test_the_same_input_gives_the_same_page(paired):
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    selector = SimilarityConstraintScore(sigma=0.4).fit(X, pairs=pairs)
    again = summarize(selector, X, y, pairs, source="wine.csv")
    assert again == paired
    assert render(again) == paired_page()


def test_many_features_are_not_all_in_the_document():
    X = np.random.default_rng(0).random((5, 12_000))
    page = render(summarize(VarianceScore().fit(X), X))
    assert page.count("<tr class=") == 50
    assert len(embedded(page)["feature"]) == 12_000


def test_writing_is_atomic(paired, tmp_path, monkeypatch, without_pictures):
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


WITHOUT = """
import sys
from sklearn.datasets import load_iris
from linkselect import FisherScore
from linkselect.report import render, summarize

X, y = load_iris(return_X_y=True)
summary = summarize(FisherScore().fit(X, y), X, y)
sys.modules["jinja2"] = None
try:
    render(summary)
except ImportError as error:
    print(error)
del sys.modules["jinja2"]
sys.modules["matplotlib"] = None
print(render(summary))
"""


def test_missing_packages_are_named_in_the_page_or_the_error():
    """Both packages are imported only when needed, so one process can test without either."""
    command = [sys.executable, "-W", "error", "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True)
    message, _, page = done.stdout.partition("\n")
    assert "pip install 'linkselect[report]'" in message, done.stderr
    assert "pip install &#39;linkselect[plot]&#39;" in page or (
        "pip install 'linkselect[plot]'" in page
    ), done.stderr
    assert "<svg" not in page
