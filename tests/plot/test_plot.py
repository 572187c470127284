"""Tests of plots: each equals its stored image, and is readable in greyscale and with unusual data.

After an intended change of a plot, LINKSELECT_WRITE_IMAGES=1 stores the new images.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline

from linkselect import (
    FCBF,
    MRMR,
    ConstraintScore,
    FisherScore,
    LaplacianScore,
    NearestNeighborSFS,
    Pairs,
    ReliefF,
    SimilarityConstraintScore,
    TraceRatio,
    VarianceScore,
    plot,
)
from linkselect.evaluation import Curve, pair_worth

pytest.importorskip("matplotlib")

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images

IMAGES = Path(__file__).parents[1] / "images"
WINE, WINE_LABELS = load_wine(return_X_y=True, as_frame=True)
WINE = (WINE - WINE.min()) / (WINE.max() - WINE.min())
PAIRS = Pairs.from_labels(WINE_LABELS, n_must=15, n_cannot=15, random_state=0)
STRANGE_NAMES = ["$x^2$", "_hidden", "two\nlines", "50 % & <b>", "ä" * 90, "$\\frac{"]


@pytest.fixture(autouse=True)
def leave_no_figure():
    with mpl.rc_context(mpl.rcParamsDefault | {"backend": "Agg", "font.family": "DejaVu Sans"}):
        yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def new_axes(dpi=60):
    return Figure(figsize=(5.0, 3.6), layout="constrained", dpi=dpi).add_subplot()


def pixels(ax):
    """Return the pixels as a greyscale printer would print them."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3] @ [0.299, 0.587, 0.114]


def some_curves(n_methods, n_runs=12):
    random = np.random.default_rng(0)
    n_features = np.arange(1, 31)
    return {
        f"method {i}": Curve(
            n_features,
            0.9
            - 0.03 * i
            - 0.4 * np.exp(-n_features / (4 + i))
            + random.normal(0, 0.02, (n_runs, 1)),
        )
        for i in range(n_methods)
    }


def digits_selector():
    digits, labels = load_digits(return_X_y=True)
    with pytest.warns(UserWarning, match="constant"):
        return digits, FisherScore(n_features_to_select=20).fit(digits, labels)


def draw_scores(ax):
    return plot.scores(ConstraintScore(n_features_to_select=5).fit(WINE, pairs=PAIRS), ax=ax)


def draw_curves(ax):
    return plot.curves(some_curves(3), ax=ax)


def draw_path(ax):
    selector = SimilarityConstraintScore(n_features_to_select=9, sigma=0.4)
    return plot.path(selector.fit(WINE, WINE_LABELS), ax=ax)


def draw_agreement(ax):
    methods = (FisherScore, ReliefF, LaplacianScore, TraceRatio)
    fitted = {method.__name__: method().fit(WINE, WINE_LABELS) for method in methods}
    return plot.agreement(fitted, k=5, ax=ax)


def draw_mask(ax):
    return plot.mask(digits_selector()[1], (8, 8), ax=ax)


def draw_mask_over_image(ax):
    digits, selector = digits_selector()
    return plot.mask(selector, (8, 8), ax=ax, image=digits[3])


def draw_pairs(ax):
    return plot.pairs(PAIRS, WINE, ax=ax)


def draw_pair_worth(ax):
    return plot.pair_worth(pair_worth(ConstraintScore(5), WINE, PAIRS), 12, ax=ax)


PICTURES = [
    draw_scores,
    draw_curves,
    draw_path,
    draw_agreement,
    draw_mask,
    draw_mask_over_image,
    draw_pairs,
    draw_pair_worth,
]


@pytest.mark.parametrize("draw", PICTURES, ids=lambda draw: draw.__name__.removeprefix("draw_"))
def test_plot_equals_the_stored_image(draw, tmp_path):
    ax = new_axes()
    assert draw(ax) is ax
    file = f"{draw.__name__.removeprefix('draw_')}.png"
    ax.figure.savefig(tmp_path / file)
    if os.environ.get("LINKSELECT_WRITE_IMAGES"):
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / file).write_bytes((tmp_path / file).read_bytes())
    (tmp_path / "expected").mkdir()
    expected = tmp_path / "expected" / file
    expected.write_bytes((IMAGES / file).read_bytes())
    # Other versions of FreeType shift edges by a fraction of a pixel; a missing bar differs more.
    difference = compare_images(str(expected), str(tmp_path / file), tol=6)
    assert difference is None, difference


def test_a_missing_line_is_found_by_the_comparison(tmp_path):
    ax = draw_curves(new_axes())
    ax.lines[0].set_visible(False)
    ax.figure.savefig(tmp_path / "other.png")
    expected = tmp_path / "expected.png"
    expected.write_bytes((IMAGES / "curves.png").read_bytes())
    assert compare_images(str(expected), str(tmp_path / "other.png"), tol=6) is not None


def test_lines_differ_without_colour():
    looks = []
    for place in range(12):
        ax = plot.curves(some_curves(12, n_runs=1), ax=new_axes(dpi=100))
        ax.get_legend().remove()
        for line in ax.lines:
            line.set(color="black", markeredgecolor="black")
            line.set_visible(False)
        shown = ax.lines[place]
        shown.set_visible(True)
        shown.set_ydata(ax.lines[0].get_ydata())
        shown.set_markevery((0, 3))
        looks.append(pixels(ax))
    for i, look in enumerate(looks):
        for other in looks[:i]:
            assert np.count_nonzero(np.abs(look - other) > 100) > 30


def test_selected_dots_are_filled_and_others_hollow():
    full, hollow = draw_scores(new_axes()).lines
    assert full.get_markerfacecolor() != "none"
    assert hollow.get_markerfacecolor() == "none"


def dots(ax):
    """Return the relative position of each dot along the axis (0 to 1), best feature first."""
    places = {y: x for line in ax.lines for x, y in line.get_xydata()}
    left, right = ax.get_xlim()
    return [(places[y] - left) / (right - left) for y in sorted(places)]


@pytest.mark.parametrize("method", [FisherScore, LaplacianScore, ReliefF, VarianceScore])
def test_better_scores_are_on_the_right_for_every_method(method):
    selector = method(5).fit(WINE, WINE_LABELS)
    found = dots(plot.scores(selector, ax=new_axes()))
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert found[-1] < 0.1, "the axis spans what is shown"


def test_close_scores_are_distinguishable():
    selector = VarianceScore(3).fit(WINE)
    selector.scores_ = 100 + 0.01 * np.arange(13.0)[::-1]
    selector.order_ = np.arange(13)
    found = dots(plot.scores(selector, ax=new_axes()))
    assert min(-np.diff(found)) > 0.05


def test_scores_of_different_magnitudes_are_visible():
    selector = VarianceScore(3).fit(WINE.iloc[:, :3])
    selector.scores_, selector.order_ = np.array([1e4, 1.0, 1e-4]), np.arange(3)
    ax = plot.scores(selector, ax=new_axes())
    assert ax.get_xscale() == "log"
    pixels(ax)


def test_must_and_cannot_differ_without_colour():
    ax = draw_pairs(new_axes())
    handles = ax.get_legend().get_lines()
    assert [line.get_linestyle() for line in handles] == ["-", "--"]


def test_pairs_are_sorted_by_their_effect():
    worth = pair_worth(ConstraintScore(5), WINE, PAIRS)
    ax = plot.pair_worth(worth, ax=new_axes())
    full, hatched = ax.containers
    assert {bar.get_hatch() for bar in full} == {None}
    assert all(bar.get_hatch() for bar in hatched)
    lengths = {bar.get_y(): bar.get_width() for bars in ax.containers for bar in bars}
    drawn = [lengths[place] for place in sorted(lengths)]
    assert drawn == sorted((one.rank_shift for one in worth), reverse=True)[:20]
    best = max(worth, key=lambda one: one.rank_shift)
    assert ax.texts[0].get_text() == best.moved[0]
    assert ax.get_yticklabels()[0].get_text() == f"{best.a} - {best.b}"
    assert not plot.pair_worth(worth * 3, 90, ax=new_axes()).texts


def test_a_required_pair_is_marked():
    few = Pairs(must=[("$a", "x")], cannot=[("$a", "b_2"), ("b_2", "$c")])
    X = np.random.default_rng(0).normal(size=(4, 3))
    worth = pair_worth(ConstraintScore(1), X, few, ["$a", "x", "b_2", "$c"])
    ax = plot.pair_worth(worth, ax=new_axes())
    pixels(ax)
    assert ax.get_yticklabels()[0].get_text() == "$a - x"
    assert ax.texts[0].get_text().startswith("no ranking")
    for wrong in ([], worth):
        with pytest.raises(ValueError, match=r"empty|n=0"):
            plot.pair_worth(wrong, 0)


def test_heat_map_keeps_its_order_in_greyscale():
    ax = plot.agreement({"a": [1, 2, 3, 4], "b": [1, 2, 4, 3], "c": [4, 3, 2, 1]}, k=2)
    image = ax.images[0]
    values = np.linspace(*image.get_clim(), 50)
    grey = image.to_rgba(values)[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) < 0).all()


def test_agreement_by_hand():
    ax = plot.agreement({"a": [1, 2, 3, 4], "b": [1, 2, 4, 3], "c": [4, 3, 2, 1]}, k=3)
    written = [text.get_text() for text in ax.texts]
    assert written == ["0.67", "0.67", "0.80", "0.67", "-1.00", "-0.80"]


def test_agreement_of_one_method_and_of_many():
    assert plot.agreement({"alone": [1, 2]}, k=10).texts[:] == []
    many = {f"$m_{i}": np.random.default_rng(i).permutation(50) + 1 for i in range(30)}
    ax = plot.agreement(many)
    assert len(ax.get_xticklabels()) == 30
    pixels(ax)


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ({}, "empty"),
        ({"a": [1, 2], "b": [1, 2, 3]}, "'b' ranks 3 features, but 'a' ranks 2"),
        ({"a": [0, 1]}, "not order_"),
    ],
)
def test_agreement_refuses_invalid_rankings(rankings, message):
    with pytest.raises(ValueError, match=message):
        plot.agreement(rankings)
    with pytest.raises(ValueError, match="k=0"):
        plot.agreement({"a": [1]}, k=0)


def test_dots_are_best_first_with_their_names():
    selector = FisherScore(n_features_to_select=3).fit(WINE, WINE_LABELS)
    ax = plot.scores(selector, n=4, ax=new_axes())
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert shown == list(WINE.columns[selector.order_[:4]])
    places = sorted((x for line in ax.lines for x in line.get_xdata()), reverse=True)
    np.testing.assert_allclose(places, selector.scores_[selector.order_[:4]])
    low, high = ax.get_ylim()
    assert low > high, "the best is on top"


def test_scores_of_scikit_learn_selectors():
    selector = SelectKBest(k=3).fit(WINE, WINE_LABELS)
    ax = plot.scores(selector, n=3, ax=new_axes())
    shown = {label.get_text() for label in ax.get_yticklabels()}
    assert shown == set(selector.get_feature_names_out())


def test_strange_names_are_shown_unchanged():
    X = np.random.default_rng(0).normal(size=(20, 6))
    ax = plot.scores(VarianceScore().fit(X), names=STRANGE_NAMES, ax=new_axes())
    pixels(ax)
    shown = {label.get_text() for label in ax.get_yticklabels()}
    assert {"$x^2$", "_hidden", "two lines", "50 % & <b>", "$\\frac{"} <= shown
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert max(map(len, shown)) <= 28


def test_strange_names_of_methods():
    curve = some_curves(1)["method 0"]
    ax = plot.curves(dict.fromkeys(STRANGE_NAMES, curve), ax=new_axes())
    pixels(ax)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown[:4] == ["$x^2$", "_hidden", "two lines", "50 % & <b>"]
    ax = plot.agreement(dict.fromkeys(STRANGE_NAMES, (2, 1)), ax=new_axes())
    pixels(ax)
    assert ax.get_xticklabels()[0].get_text() == "$x^2$"


def test_missing_and_infinite_scores():
    selector = ConstraintScore(n_features_to_select=3).fit(WINE.iloc[:, :4], pairs=PAIRS)
    selector.scores_ = np.array([np.inf, np.nan, -np.inf, 0.25])
    selector.order_ = np.array([2, 3, 0, 1])
    ax = plot.scores(selector, ax=new_axes())
    assert [text.get_text() for text in ax.texts] == ["-∞", "0.250", "∞", "no score"]
    assert np.isfinite(ax.get_xlim()).all()
    selector.scores_ = np.full(4, np.nan)
    pixels(plot.scores(selector, ax=new_axes()))


@pytest.mark.parametrize("n_features", [1, 10_000])
def test_few_and_many_features(n_features):
    X = np.random.default_rng(0).normal(size=(12, n_features))
    selector = VarianceScore().fit(X)
    assert len(plot.scores(selector, ax=new_axes()).get_yticklabels()) == min(n_features, 20)
    ax = plot.scores(selector, n=n_features, ax=new_axes())
    assert pixels(ax).min() < 150
    plot.mask(selector, (1, n_features), ax=new_axes())


def test_path_marks_its_minimum_and_its_maximum():
    selector = SimilarityConstraintScore(sigma=0.3).fit(WINE, WINE_LABELS)
    ax = plot.path(selector, ax=new_axes())
    best = selector.path_.argmin() + 1
    assert ax.texts[0].get_text().startswith("minimum")
    assert f"at {best} features" in ax.texts[0].get_text()
    ax = plot.path(NearestNeighborSFS(3).fit(WINE, WINE_LABELS), ax=new_axes())
    assert ax.texts[0].get_text().startswith("maximum")


@pytest.mark.parametrize("selector", [MRMR(), FCBF(), TraceRatio()])
def test_path_without_an_optimum_marks_no_point(selector):
    """Values of single features, or values that decrease with every feature, have no optimum."""
    ax = plot.path(selector.fit(WINE, WINE_LABELS), ax=new_axes())
    assert not ax.texts
    assert all(line.get_marker() != "D" for line in ax.lines)


def test_path_of_an_estimate_has_a_band():
    selector = SimilarityConstraintScore(sigma=0.4, max_pairs=200, random_state=0)
    assert len(plot.path(selector.fit(WINE, WINE_LABELS), ax=new_axes()).collections) == 1


def test_path_without_any_value():
    selector = NearestNeighborSFS(3).fit(WINE, WINE_LABELS)
    selector.path_ = np.full(3, np.nan)
    ax = plot.path(selector, ax=new_axes())
    pixels(ax)
    assert not ax.texts


def test_curves_ignore_runs_without_a_value():
    values = np.array([[0.5, np.nan], [0.7, np.nan]])
    ax = plot.curves({"a": Curve(np.array([1, 2]), values)}, ax=new_axes())
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.6, np.nan])
    one_run = plot.curves({"a": Curve(np.array([3]), np.array([[0.5]]))}, ax=new_axes())
    assert not one_run.collections
    with pytest.raises(ValueError, match="empty"):
        plot.curves({})


def test_mask_follows_the_order_of_pixels():
    X = np.zeros((4, 6))
    X[::2, [0, 1]] = 1.0
    with pytest.warns(UserWarning, match="constant"):
        selector = VarianceScore(n_features_to_select=2).fit(X)
    shades = plot.mask(selector, (2, 3), ax=new_axes()).images[0].get_array()
    np.testing.assert_array_equal(shades < 0.5, [[True, True, False], [False, False, False]])
    shades = plot.mask(selector, (2, 3), ax=new_axes(), order="F").images[0].get_array()
    np.testing.assert_array_equal(shades < 0.5, [[True, False, False], [True, False, False]])
    with pytest.raises(ValueError, match=r"shape=\(2, 4\), but there are 6 features"):
        plot.mask(selector, (2, 4))
    with pytest.raises(ValueError, match="image has 5 values"):
        plot.mask(selector, (2, 3), image=np.zeros(5))
    pixels(plot.mask(selector, (2, 3), ax=new_axes(), image=np.zeros((2, 3))))


@pytest.mark.parametrize("n_columns", [1, 2, 13])
def test_pairs_over_any_number_of_columns(n_columns):
    X = WINE.iloc[:, :n_columns]
    ax = plot.pairs(PAIRS, X, ax=new_axes())
    pixels(ax)
    assert sum(len(dots.get_offsets()) for dots in ax.collections[:2]) == len(X)
    sparse = plot.pairs(PAIRS, csr_array(X.to_numpy()), ax=new_axes())
    np.testing.assert_allclose(
        ax.collections[1].get_offsets(), sparse.collections[1].get_offsets(), atol=1e-8
    )


def test_pairs_by_id_and_too_many_of_them():
    named = WINE.set_axis([f"wine {i}" for i in range(len(WINE))])
    by_id = Pairs.from_labels(WINE_LABELS.set_axis(named.index), n_must=9, n_cannot=1)
    legend = plot.pairs(by_id, named, ax=new_axes()).get_legend()
    assert legend.get_texts()[0].get_text() == "must-links (9)"
    every = Pairs.from_labels(WINE_LABELS)
    legend = plot.pairs(every, WINE, ax=new_axes(), max_pairs=100).get_legend()
    assert "of 5,324" in legend.get_texts()[0].get_text()
    plot.pairs(Pairs(must=[(0, 1)]), WINE, ax=new_axes())


def test_unfitted_selector():
    selector = SimilarityConstraintScore()
    for draw in (plot.scores, plot.path):
        with pytest.raises(NotFittedError):
            draw(selector)
    with pytest.raises(NotFittedError):
        plot.mask(selector, (1, 2))
    with pytest.raises(NotFittedError):
        plot.agreement({"a": selector})


def test_wrong_arguments():
    selector = FisherScore().fit(WINE, WINE_LABELS)
    with pytest.raises(TypeError, match="FisherScore has no path_"):
        plot.path(selector)
    with pytest.raises(TypeError, match="or the fitted step of a Pipeline"):
        plot.scores(make_pipeline(FisherScore()).fit(WINE, WINE_LABELS))
    with pytest.raises(ValueError, match="names has 2 entries"):
        plot.scores(selector, names=["a", "b"])
    with pytest.raises(ValueError, match="n=0"):
        plot.scores(selector, n=0)


BARE = """
import sys
from sklearn.datasets import load_iris
from linkselect import FisherScore, plot

selector = FisherScore().fit(*load_iris(return_X_y=True))
print("matplotlib" in sys.modules)
sys.modules["matplotlib"] = None
try:
    plot.scores(selector)
except ImportError as error:
    print(error)
del sys.modules["matplotlib"]
plot.scores(selector).figure.canvas.draw()
print("drawn")
"""


def test_matplotlib_is_imported_late_and_needs_no_display():
    environment = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", "MPLBACKEND": ""}
    command = [sys.executable, "-W", "error", "-c", BARE]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    loaded, message, drawn = done.stdout.splitlines()
    assert loaded == "False", "importing linkselect.plot loads it"
    assert "pip install 'linkselect[plot]'" in message
    assert drawn == "drawn", done.stderr


def test_a_legend_covers_no_bar():
    """Bars of nearly equal length leave no free corner, so the legend is placed above them."""
    X = np.tile(np.linspace(0.0, 1.0, 30), (12, 1)).T * np.linspace(1.0, 0.97, 12)
    ax = plot.scores(VarianceScore(3).fit(X), ax=new_axes())
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(text.get_window_extent()) for text in ax.texts)
