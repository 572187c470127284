import pytest

from linkselect import (
    ConstraintScore,
    FisherScore,
    LaplacianScore,
    Pairs,
    compare,
)
from linkselect.report import comparison_page, write_comparison
from tests.helpers.reports import Page, wine

pytest.importorskip("jinja2")


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
    assert "including the random choice" in shown
    assert "Reproduce this result" not in (tmp_path / "c.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="names has 1 entries"):
        comparison_page(comparison, names=["one"])


@pytest.mark.parametrize("labelled", [False, True])
def test_page_of_held_out_pairs(labelled):
    X, y = wine()
    pairs = Pairs.from_labels(y.to_numpy(), n_must=20, n_cannot=20, random_state=0)
    methods = {"constraint": ConstraintScore(), "<b>laplacian</b>": LaplacianScore()}
    if labelled:
        methods["fisher"] = FisherScore()
    found = compare(
        methods, X.to_numpy(), y.to_numpy() if labelled else None, pairs=pairs, n_splits=3
    )
    page = comparison_page(found, names=list(X.columns))
    parsed = Page(page)
    shown = "".join(parsed.text)
    for sentence in found.summary:
        assert sentence in shown
    assert "<b>" not in page
    assert "cannot-links" in shown
    assert "Mean AUC" in shown
    assert ("Mean accuracy" in shown) is labelled
    assert ("not measured" in shown) is labelled, "fisher saw labels"
    assert ("random splits" in shown) is labelled
    assert len(parsed.ids) == len(set(parsed.ids))
