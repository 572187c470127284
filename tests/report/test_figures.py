"""Tests of figures for a paper: size, fonts and contents."""

import re
from copy import deepcopy
from functools import cache

import numpy as np
import pytest

from linkselect import FisherScore, LaplacianScore, VarianceScore
from linkselect.evaluation import choose_number, compare
from linkselect.report import comparison_figure, ranking_figure, summarize
from linkselect.report._figures import comparison_caption, figure_caption
from tests.helpers.reports import paired_summary, strange_summary, wine

mpl = pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from linkselect.plot._feature_plots import spread_numbers  # noqa: E402
from linkselect.plot._style import paper_style, save_figure  # noqa: E402


@cache
def chosen_summary():
    X, y = wine()
    selector = FisherScore(4).fit(X, y)
    return summarize(selector, X, y, number=choose_number(selector, X, y), view=False)


@cache
def wine_comparison():
    X, y = wine()
    methods = {
        "fisher": FisherScore(),
        "laplacian": LaplacianScore(),
        "$variance_2": VarianceScore(),
    }
    return compare(methods, X.to_numpy(), y.to_numpy(), n_splits=2)


def save(figure, folder, kind):
    path = folder / f"figure.{kind}"
    with paper_style():
        save_figure(figure, path, kind, "A caption")
    return path.read_bytes()


@pytest.mark.parametrize(("width", "inches"), [("single", 3.5), ("double", 7.2)])
@pytest.mark.parametrize("summary", [paired_summary, strange_summary, chosen_summary])
def test_a_ranking_over_one_or_two_columns(width, inches, summary, tmp_path):
    found = summary()
    figure = ranking_figure(found, width)
    assert figure.get_figwidth() == inches
    assert figure.get_figheight() < 9.5, "a page has no more room"
    assert len(figure.axes) == (1 if summary is strange_summary else 2)
    save(figure, tmp_path, "png")
    sizes = {text.get_fontsize() for ax in figure.axes for text in ax.get_yticklabels()}
    assert sizes == {8}


def test_the_caption_names_the_rule_for_the_number():
    found = chosen_summary()
    text = figure_caption(found)
    assert found["number_of_features"]["reason"] in text
    written = ranking_figure(found)._supxlabel.get_text()
    assert written.replace("\n", " ") == text
    assert "n_features_to_select" not in figure_caption(strange_summary())


def test_text_is_stored_as_text(tmp_path):
    figure = ranking_figure(strange_summary())
    svg = save(figure, tmp_path, "svg").decode()
    assert "&lt;script&gt;" in svg
    assert "<text" in svg
    pdf = save(figure, tmp_path, "pdf")
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_the_same_figure_gives_the_same_file(kind, tmp_path):
    first, again = (save(ranking_figure(chosen_summary()), tmp_path, kind) for _ in range(2))
    assert first == again
    assert not re.search(rb"202\d-", first)


def test_the_style_of_the_session_is_ignored(tmp_path):
    plain = save(ranking_figure(chosen_summary()), tmp_path, "svg")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert save(ranking_figure(chosen_summary()), tmp_path, "svg") == plain


def test_the_curve_marks_the_selected_number():
    found = deepcopy(chosen_summary())
    found["method"]["n_selected"] = 5
    curve = ranking_figure(found).axes[1]
    assert curve.get_xscale() == "log"
    assert [text.get_text() for text in curve.texts] == ["5 selected"]
    assert "5" in [text.get_text() for text in curve.get_xticklabels()]
    assert 5 in np.ravel([line.get_xdata() for line in curve.lines if len(line.get_xdata()) == 2])


@pytest.mark.parametrize(
    ("counts", "kept", "ticks"),
    [
        ([1, 2, 3, 5, 6], 5, [1, 2, 3, 5, 6]),
        ([1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300], 15, [1, 5, 15, 100, 300]),
        ([1, 2, 3], 3, [1, 2, 3]),
        ([1, 2, 3], 7, [1, 2, 3]),
        ([4], 4, [4]),
    ],
)
def test_the_selected_number_has_a_tick(counts, kept, ticks):
    ax = Figure().add_subplot()
    spread_numbers(ax, counts, kept)
    assert ax.get_xticks().tolist() == ticks


@pytest.mark.parametrize("width", ["single", "double"])
def test_a_comparison(width, tmp_path):
    found = wine_comparison()
    figure = comparison_figure(found, width)
    curves, agreement = figure.axes
    legend = curves.figure.legends[0]
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["fisher", "laplacian", "$variance_2", "random choice"]
    rows = [text.get_text() for text in agreement.get_yticklabels()]
    assert rows == ["fisher  1", "laplacian  2", "$variance_2  3"]
    assert [text.get_text() for text in agreement.get_xticklabels()] == ["1", "2", "3"]
    assert len(agreement.images) == 1
    save(figure, tmp_path, "pdf")
    # The legend is below the curves and does not cover them.
    assert legend.get_window_extent().y1 < curves.get_window_extent().y0
    assert "standard deviation over 2 runs" in comparison_caption(found)


LONG_NAMES = (
    "compensated_laplacian",
    "SelectFromModel(estimator=LogisticRegression)",
    "RFE(estimator=LogisticRegression)",
    "W" * 40,
    "nearest_neighbor_sfs",
    "similarity_constraint",
    "$" * 30,
    "fisher",
)


@cache
def comparison_of(n_methods):
    X, y = wine()
    methods = {name: VarianceScore() for name in LONG_NAMES[:n_methods]}
    return compare(methods, X.to_numpy(), y.to_numpy(), n_splits=2, n_features=[1, 2, 13])


def texts_of(figure):
    """Yield each visible text and its bounding box in inches."""
    beyond = set()  # labels of ticks outside the axes are not drawn
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True):
            if not low <= place <= high:
                beyond.add(label)
    for text in figure.findobj(mpl.text.Text):
        if text.get_text() and text.get_visible() and text not in beyond:
            box = text.get_window_extent()
            yield text.get_text(), np.array([box.x0, box.y0, box.x1, box.y1]) / figure.dpi


@pytest.mark.parametrize("width", ["single", "double"])
@pytest.mark.parametrize("n_methods", [1, 2, 8])
def test_no_text_of_a_comparison_is_cut_off(width, n_methods):
    figure = comparison_figure(comparison_of(n_methods), width)
    figure.set_dpi(300)  # the resolution of a saved file
    with paper_style():
        FigureCanvasAgg(figure).draw()
    boxes = list(texts_of(figure))
    assert sum(text.startswith("compensated_laplacian") for text, _ in boxes) == min(n_methods, 2)
    for text, (left, low, right, high) in boxes:
        assert left >= 0, text
        assert low >= 0, text
        assert right <= figure.get_figwidth(), text
        assert high <= figure.get_figheight(), text
    assert figure.get_figheight() < 9.5, "a page has no more room"
    # Long names next to the heat map must not make the curves narrower.
    room = figure.get_figwidth() * (1 if width == "single" else 0.53)
    assert figure.axes[0].get_window_extent().width / figure.dpi > 0.8 * room
    # The caption is below everything else.
    caption = figure._supxlabel.get_window_extent()
    others = [legend for part in figure.subfigs for legend in part.legends]
    assert all(legend.get_window_extent().y0 >= caption.y1 - 1 for legend in others)
