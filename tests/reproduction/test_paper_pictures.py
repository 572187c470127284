import pytest
from matplotlib.text import Text

from linkselect.plot._style import COLOURS
from linkselect.reproduction._paper import Panel, Series
from linkselect.reproduction._paper_pictures import draw_panels, save_figure

LINE = Panel("Wine", "features", "%", {"A": Series([1, 2, 3], [1.0, 3.0, 2.0], [0.1, 0.2, 0.1])})
TWO = Panel("Sonar", "features", "%", {"B": Series([1, 2], [5.0, 6.0]), "A": LINE.series["A"]})
BARS = Panel(
    "Time", "", "s", {"A": Series(["x", "y"], [1.0, 2.0]), "B": Series(["y"], [3.0])}, "bar"
)


def test_a_name_has_one_style_everywhere():
    figure = draw_panels([LINE, TWO])
    first, second = figure.axes
    colours = {line.get_label(): line.get_color() for line in second.lines}
    assert first.lines[0].get_color() == colours["A"] == COLOURS[0]
    assert colours["B"] == COLOURS[1]


def test_lines():
    (ax,) = draw_panels([LINE]).axes
    assert ax.get_title("left") == "Wine"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("features", "%")
    assert ax.lines[0].get_xydata().tolist() == [[1, 1], [2, 3], [3, 2]]
    assert len(ax.collections) == 1


def test_points_have_no_line_and_links_have_no_markers():
    points, links = (
        Series([1, 2], [3.0, 4.0], drawn="points"),
        Series([1, 2], [3, 4], drawn="links"),
    )
    (ax,) = draw_panels([Panel("", "", "", {"links": links, "points": points})]).axes
    first, second = ax.lines
    assert (first.get_linestyle(), first.get_marker()) == ("-", "None")
    assert (second.get_linestyle(), second.get_marker() != "None") == ("None", True)


def test_bars_are_placed_at_their_names():
    (ax,) = draw_panels([BARS]).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y"]
    assert [bar.get_height() for bar in ax.patches] == [1.0, 2.0, 3.0]
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert centres == pytest.approx([-0.2, 0.8, 1.2])


def test_logarithmic_axes():
    lambdas = [0.0001, 0.001, 0.01, 0.1, 1.0, 10.0]
    (ax,) = draw_panels([Panel("", "", "", {"A": Series(lambdas, [1.0] * 6)}, logx=True)]).axes
    assert ax.get_xscale() == "log"
    ax.figure.draw_without_rendering()
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert {"0.0001", "0.001", "0.01", "1", "10"} <= set(shown)


def test_one_legend_if_names_are_shared_else_one_per_panel():
    assert len(draw_panels([TWO, LINE]).legends) == 1
    other = Panel("Other", "", "", {"C": LINE.series["A"], "D": LINE.series["A"]})
    figure = draw_panels([TWO, other])
    assert not figure.legends
    assert all(ax.get_legend() for ax in figure.axes)


def test_long_names_fit_into_the_figure():
    names = [f"Constraint Score-1 with {number} constraints" for number in range(6)]
    figure = draw_panels([Panel("", "", "", dict.fromkeys(names, LINE.series["A"]))] * 3)
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_four_panels_leave_no_empty_axes():
    figure = draw_panels([LINE] * 4)
    assert sum(ax.get_visible() for ax in figure.axes) == 4


def test_names_are_not_parsed_as_formulas(tmp_path):
    panel = Panel(
        "$100 and 20 $", "$x", "y_1^2 $", {"$a": LINE.series["A"], "b$": LINE.series["A"]}
    )
    figure = draw_panels([panel], "a $ title $")
    shown = {text.get_text(): text.get_parse_math() for text in figure.findobj(Text)}
    for name in ("$100 and 20 $", "$x", "y_1^2 $", "$a", "b$", "a $ title $"):
        assert shown[name] is False, name
    assert len(save_figure(figure, tmp_path, "odd")) == 2


def test_the_same_figure_gives_the_same_files(tmp_path):
    first = [file.read_bytes() for file in save_figure(draw_panels([TWO]), tmp_path, "one")]
    again = [file.read_bytes() for file in save_figure(draw_panels([TWO]), tmp_path, "one")]
    assert first == again
    assert first[0].startswith(b"\x89PNG")
    assert b"<svg" in first[1]
