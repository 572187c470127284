import pytest

from linkselect.report import render
from reports import paired_summary, strange_summary

pytest.importorskip("jinja2")


@pytest.fixture
def paired():
    return paired_summary()


@pytest.fixture
def strange():
    return strange_summary()


def test_names_in_pictures_are_as_given(strange):
    pytest.importorskip("matplotlib")
    page = render(strange)
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in picture
    assert "$x^2$" in picture
    assert 'id="axes_1" url(#p) #24292f' in picture


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


def test_pictures_leave_no_figure_behind(paired):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    render(paired)
    assert plt.get_fignums() == before
