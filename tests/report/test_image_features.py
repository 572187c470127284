import pytest

from linkselect.report import render
from tests.helpers.reports import paired_page, paired_summary, strange_page

pytest.importorskip("jinja2")


@pytest.fixture
def paired():
    return paired_summary()


def test_names_in_pictures_are_unchanged():
    pytest.importorskip("matplotlib")
    page = strange_page()
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in picture
    assert "$x^2$" in picture
    assert 'id="axes_1" url(#p) #24292f' in picture


def test_style_of_the_session_is_ignored(paired):
    mpl = pytest.importorskip("matplotlib")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "text.usetex": False}):
        assert render(paired) == paired_page()


def test_pictures_follow_the_summary():
    pytest.importorskip("matplotlib")
    for name, there in (("scores", True), ("path", True), ("pairs", True), ("mask", False)):
        assert (f'id="{name}-figure_1"' in paired_page()) is there
    assert 'id="pairs-figure_1"' not in strange_page()


def test_pictures_leave_no_figure_open(paired):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    render(paired)
    assert plt.get_fignums() == before
