"""Content of pages, effects of forms, and refused requests."""

import asyncio
import re

import httpx
import numpy as np
import pytest

from linkselect import LinkSelector, Pairs
from linkselect.labelling import _app as module
from linkselect.labelling._app import make_app
from linkselect.labelling._sample_curves import curves_in_folder
from linkselect.labelling._shown_samples import ShownSamples
from tests.helpers.labellings import asked, begun, grouped

X, y = grouped()
HTML = "<script>document.title = 'broken'</script>"
IMAGE = '"><img src=x onerror="document.title = \'broken\'">'


class Browser:
    """A client of a labelling session, without access control and network."""

    def __init__(self, labelling):
        self.labelling = labelling
        self.app = make_app(labelling, "samples")

    def call(self, method, path, **options):
        async def send():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def page(self, path="/"):
        response = self.call("GET", path)
        assert response.status_code == 200, path
        return response.text

    def send(self, path, **form):
        return self.call("POST", path, data=form)

    def answer(self, n_answers):
        for _ in range(n_answers):
            a, b = asked(self.page())
            said = "alike" if y[a] == y[b] else "different"
            assert self.send("/answer", a=a, b=b, answer=said).status_code == 303


@pytest.fixture
def opened():
    labellings = []

    def open_with(**options):
        labellings.append(begun(**options))
        return Browser(labellings[-1])

    yield open_with
    for labelling in labellings:
        labelling.close()


@pytest.fixture
def browser(opened):
    return opened()


def test_an_answer_leads_to_the_next_question(browser):
    rows = asked(browser.page())
    response = browser.send("/answer", a=rows[0], b=rows[1], answer="different")
    assert response.headers["location"] == "./?note=different"
    page = browser.page("/?note=different")
    assert "Saved: different." in page
    assert asked(page) != rows
    assert "Question 2" in page


def test_back_asks_again(browser):
    rows = asked(browser.page())
    browser.answer(1)
    assert browser.send("/undo", hints="on").headers["location"] == "./?hints=on&note=undone"
    assert asked(browser.page()) == rows
    assert browser.send("/undo", x="").headers["location"] == "./?note=nothing"


def test_back_describes_its_effect(opened):
    browser = opened(pairs=Pairs(must=[(0, 1)]))
    browser.send("/answer", a=2, b=3, answer="unsure")
    browser.send("/change", a=0, b=1, answer="different")
    assert browser.send("/undo", x="").headers["location"] == "./?note=undone-given"
    assert "imported pair is restored" in browser.page("/?note=undone-given")
    assert browser.labelling.queries.pairs == Pairs(must=[(0, 1)])
    assert browser.send("/undo", x="").headers["location"] == "./?note=undone-only"
    assert "Another question comes first" in browser.page("/?note=undone-only")


def test_a_contradiction_shows_the_chain_and_can_be_resolved(browser):
    a, b, c = np.flatnonzero(y == 0)[:3].tolist()
    browser.send("/answer", a=a, b=b, answer="alike")
    browser.send("/answer", a=b, b=c, answer="alike")
    page = browser.send("/answer", a=a, b=c, answer="different").text
    assert "Nothing has been saved yet" in page
    text = re.sub(r"<[^>]*>", "", page)
    assert f"{a} = {b} = {c}" in text
    assert len(browser.labelling.queries.history) == 2
    assert len(re.findall('action="resolve"', page)) == 2
    assert "Alike after all" in page
    form = {"a": a, "b": c, "answer": "different", "earlier_a": a, "earlier_b": b}
    response = browser.send("/resolve", **form, earlier="different")
    assert response.headers["location"] == "./?note=different"
    assert [one.answer for one in browser.labelling.queries.history] == [
        "different",
        "alike",
        "different",
    ]


def test_a_change_that_contradicts_can_be_resolved_too(browser):
    a, b, c = np.flatnonzero(y == 0)[:3].tolist()
    for pair in ((a, b), (b, c), (a, c)):
        browser.send("/answer", a=pair[0], b=pair[1], answer="alike")
    page = browser.send("/change", a=a, b=c, answer="different", **{"from": "answers"}).text
    assert 'name="is_change" value="yes"' in page
    form = {"a": a, "b": c, "answer": "different", "earlier_a": b, "earlier_b": c}
    browser.send("/resolve", **form, earlier="unsure", is_change="yes")
    assert [one.answer for one in browser.labelling.queries.history] == [
        "alike",
        "unsure",
        "different",
    ]


def test_answers_can_be_changed_and_removed(browser):
    browser.answer(3)
    a, b = browser.labelling._rows(browser.labelling.queries.history[0].pair)
    listed = browser.page("/answers")
    assert listed.count('action="change"') == 3
    browser.send("/change", a=a, b=b, answer="unsure", **{"from": "answers"})
    assert browser.labelling.queries.history[0].answer == "unsure"
    response = browser.send("/change", a=a, b=b, answer="none", **{"from": "answers"})
    assert response.headers["location"] == "answers?note=removed"
    assert len(browser.labelling.queries.history) == 2


@pytest.mark.parametrize("path", ["/answer", "/change", "/resolve"])
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"a": "0", "b": "1"},
        {"a": "0", "b": "0", "answer": "alike"},
        {"a": "0", "b": "60", "answer": "alike"},
        {"a": "-1", "b": "1", "answer": "alike"},
        {"a": "../../etc/passwd", "b": "1", "answer": "alike"},
        {"a": "0", "b": "1", "answer": "maybe"},
        {"a": "0", "b": "1", "answer": "x" * 5000},
    ],
    ids=str,
)
def test_invalid_forms_are_refused(browser, path, form):
    response = browser.send(path, **{name: value[:5000] for name, value in form.items()})
    assert response.status_code == 400
    assert response.content == b""
    assert browser.labelling.queries.history == ()


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/json", "multipart/form-data; boundary=x", None]
)
def test_other_types_of_content_are_refused(browser, kind):
    headers = {} if kind is None else {"content-type": kind}
    content = b"a=0&b=1&answer=alike"
    response = browser.call("POST", "/answer", content=content, headers=headers)
    assert response.status_code == 400
    assert browser.labelling.queries.history == ()


@pytest.mark.parametrize(
    "path",
    [
        "/../pairs.csv",
        "/%2e%2e/pairs.csv",
        "/..%2f..%2fetc%2fpasswd",
        "/picture/..%2f..%2fetc%2fpasswd",
        "/picture//etc/passwd",
        "/picture/0/../../pairs.csv",
        "/static/ask.py",
        "/app.py",
        "/page.js",
        "/picture/999",
        "/picture/-1",
        "/picture/2",
        "/pixels/0",
        "/mask",
        "/report",
    ],
)
def test_no_path_leads_to_a_file(opened, tmp_path, path):
    file = tmp_path / "0.png"
    file.write_bytes(b"a picture")
    browser = opened(pictures={0: file, 1: tmp_path / "gone.png"})
    assert browser.call("GET", path).status_code == 404


def test_pictures_come_by_number_with_their_type(opened, tmp_path):
    file = tmp_path / "0.JPG"
    file.write_bytes(b"a picture")
    browser = opened(pictures={0: file, 1: tmp_path / "gone.png"})
    response = browser.call("GET", "/picture/0")
    assert (response.content, response.headers["content-type"]) == (b"a picture", "image/jpeg")
    assert browser.call("GET", "/picture/1").status_code == 404


def test_pixels_and_mask(opened):
    browser = opened(image_shape=(3, 3))
    assert browser.call("GET", "/pixels/0").content.startswith(b"\x89PNG")
    assert browser.call("GET", "/pixels/60").status_code == 404
    assert browser.call("GET", "/mask").status_code == 404, "no ranking yet"
    browser.answer(8)
    assert browser.call("GET", "/mask").content.startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["values", "curve", "text"])
def test_names_and_texts_are_text(opened, kind):
    ids = tuple(f"{HTML}{i}{IMAGE}" for i in range(len(X)))
    names = [f"{IMAGE}{i}{HTML}" for i in range(X.shape[1])]
    shown = {"curve": {"curve": True}, "text": {"texts": [HTML + IMAGE] * len(X)}}.get(kind, {})
    more = {HTML: [IMAGE] * len(X)}
    browser = opened(ids=ids, names=names, more=more, repeat=HTML, **shown)
    browser.app = make_app(browser.labelling, HTML)
    browser.answer(12)
    a, b = np.flatnonzero(y == 0)[:2].tolist()
    browser.send("/answer", a=a, b=b, answer="alike")
    pages = [browser.page(path) for path in ("/?hints=on", "/answers", "/finish", "/insight")]
    pages.append(browser.send("/change", a=a, b=b, answer="different").text)
    for page in pages:
        assert "<script>doc" not in page
        assert "<img src=x" not in page
        assert 'onerror="' not in page
    assert "&lt;script&gt;" in pages[0]


def test_only_known_notes_are_shown(browser):
    assert "broken" not in browser.page(f"/?note={HTML}&hints={HTML}&values={IMAGE}")


def best_shown(page):
    return re.findall(r'<li><span class="name" dir="auto">(.*?)</span>', page)


def features_shown(page):
    return re.findall(r'<th scope="row" class="row" dir="auto">(.*?)</th>', page)


def ranked_now(browser):
    selector = LinkSelector(3).fit(X, pairs=browser.labelling.queries.pairs)
    return [f"feature {i}" for i in selector.order_]


def in_order_of_difference(page):
    """Return the features sorted by the difference between the two samples of a page."""
    a, b = asked(page)
    apart = np.abs(X[a] - X[b]) / np.std(X, axis=0)
    return [f"feature {i}" for i in np.argsort(-apart)]


def test_tables_hide_the_best_features_for_ten_answers(browser):
    browser.answer(9)
    page = browser.page()
    assert best_shown(page) == []
    assert "Hidden for the first 10 answers" in page
    assert best_shown(browser.page("/?hints=on")) == ranked_now(browser)[:3]
    browser.answer(1)
    assert best_shown(browser.page()) == ranked_now(browser)[:3]
    assert best_shown(browser.page("/?hints=off")) == []


@pytest.mark.parametrize("hints", ["", "on", "off"])
def test_the_order_of_values_does_not_reveal_the_ranking(browser, hints):
    browser.answer(10)
    page = browser.page(f"/?hints={hints}")
    assert features_shown(page) == in_order_of_difference(page)
    assert features_shown(page) != ranked_now(browser)


def test_each_of_the_best_shows_what_it_adds(opened):
    browser = opened(image_shape=(3, 3))
    browser.answer(6)
    page = browser.page()
    path = LinkSelector(3).fit(X, pairs=browser.labelling.queries.pairs).path_
    shares = re.findall(r'<span class="value">(.*?)%</span>', page)
    assert [int(share) for share in shares] == np.round(100 * path).tolist()
    before = re.findall(r'class="likely" width="(.*?)"', page)
    assert np.array(before, dtype=float) == pytest.approx([0, *(100 * path[:-1])], abs=0.05)
    added = re.findall(r'class="fill" x=".*?" width="(.*?)"', page)
    assert np.array(added, dtype=float) == pytest.approx(np.diff(100 * path, prepend=0), abs=0.05)
    assert "Ranked by LinkSelector from 6 answers." in page


def test_different_pairs_alone_show_no_ranking(opened):
    browser = opened(curve=True)
    a, b = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    browser.send("/answer", a=a, b=b, answer="different")
    for page in (browser.page(), browser.page("/finish")):
        assert "ifferent pairs alone cannot rank features." in page
    browser.answer(6)
    assert best_shown(browser.page())
    for _ in range(6):
        browser.send("/undo", x="")
    page = browser.page()
    assert best_shown(page) == []
    assert 'class="mark"' not in page


def test_images_and_curves_show_the_best_features_at_once(opened):
    browser = opened(curve=True)
    assert 'class="mark"' not in browser.page()
    browser.answer(6)
    page = browser.page()
    assert page.count('class="mark"') == 2 * 3
    assert len(best_shown(page)) == 3
    assert page.count('class="curve"') == 2


def further(page):
    """Return the addresses and texts of links to other features."""
    return re.findall(r'<a href="([^"]*)" data-swap>([^<]*[Ff]eatures?[^<]*)</a>', page)


def test_values_differ_in_standard_deviations(browser):
    page = browser.page()
    a, b = asked(page)
    said = re.findall(r'class="apart"><span>(.*?)</span>', page)
    apart = np.sort(np.abs(X[a] - X[b]) / np.std(X, axis=0))[::-1]
    assert said == [f"{one:.1f} sd" if one >= 0.05 else "&lt;0.1 sd" for one in apart]
    assert further(page) == [], "all nine are shown"
    assert page.count('class="first"') == page.count('class="second"') == 1 + 9
    assert "style=" not in page, "the content policy forbids inline styles"


def test_many_values_are_shown_on_request():
    wide = np.random.default_rng(0).normal(size=(20, 100))
    labelling = begun(X=wide)
    browser = Browser(labelling)
    page = browser.page("/?start=12")
    assert len(features_shown(page)) == 12
    assert further(page) == [("./?values=all", "Show 88 more features")]
    more = browser.page("/?values=all&hints=off")
    assert len(features_shown(more)) == 100
    assert features_shown(more)[:12] == features_shown(page)
    assert further(more) == [("./?&amp;hints=off", "Show fewer features")]
    labelling.close()


def test_very_many_values_are_shown_in_pages():
    wide = np.random.default_rng(0).normal(size=(20, 450))
    labelling = begun(X=wide)
    browser = Browser(labelling)
    page = browser.page()
    assert "Show 438 more features</a>, 200 at a time" in page
    shown, path = [], "./?values=all"
    while path:
        page = browser.page(path[1:].replace("&amp;", "&"))
        shown.append(features_shown(page))
        path = next((to for to, text in further(page) if text == "Next features"), None)
    assert list(map(len, shown)) == [200, 200, 50]
    assert len({name for part in shown for name in part}) == 450
    assert "401 to 450 of 450 features" in page
    assert ("./?values=all&amp;start=200", "Previous features") in further(page)
    for odd in ("-200", "x", "9" * 30, "201"):
        assert len(features_shown(browser.page(f"/?values=all&start={odd}"))) in (200, 50)
    labelling.close()


def test_a_subsample_for_standard_deviations_is_reported():
    labelling = begun(X=np.random.default_rng(0).normal(size=(4500, 3)))
    assert "standard deviations (sd) of 1,500 samples." in Browser(labelling).page()
    labelling.close()


def test_an_unreadable_or_missing_curve_is_reported(opened, tmp_path):
    (tmp_path / "0.csv").write_text("0,1\n2,5\n")
    (tmp_path / "1.csv").write_text(f"1\n2\n{HTML}\n")
    browser = opened(curves=curves_in_folder(tmp_path, range(len(X))))
    browser.send("/answer", a=0, b=1, answer="unsure")
    browser.send("/answer", a=0, b=2, answer="unsure")
    page = browser.page("/pair?a=0&b=1")
    assert page.count('class="curve"') == 1
    assert "No curve: 1.csv, line 3: &#34;&lt;script&gt;" in page
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))
    assert " 5 1 0 2 First sample: 0 " in text, "the ends of both axes"
    assert ">No curve</p>" in browser.page("/pair?a=0&b=2")


def test_the_end_of_the_questions():
    labelling = begun(X=X[:2])
    browser = Browser(labelling)
    browser.send("/answer", a=0, b=1, answer="unsure")
    page = browser.page()
    assert "No questions left" in page
    assert "No pair is alike, so the features cannot be ranked" in page
    assert "Not enough answers yet" in browser.page("/finish")
    browser.send("/change", a=0, b=1, answer="alike")
    assert "Finish and show the result" in browser.page()
    labelling.close()


def test_a_full_disk_is_reported_on_the_page(opened, tmp_path, monkeypatch):
    from linkselect.labelling._answer_store import NotStoredError

    browser = opened(out=tmp_path / "pairs.csv")
    browser.answer(2)

    def full(queries):
        raise NotStoredError("The answer could not be saved: full.", "Free some space.")

    monkeypatch.setattr(browser.labelling.file, "store", full)
    a, b = asked(browser.page())
    response = browser.send("/answer", a=a, b=b, answer="unsure")
    assert response.status_code == 507
    assert "The answer could not be saved: full. Free some space." in response.text
    assert asked(browser.page()) == (a, b), "it is asked again"
    assert len(browser.labelling.queries.history) == 2


def test_a_pair_can_be_reviewed(browser):
    browser.answer(3)
    a, b = browser.labelling._rows(browser.labelling.queries.history[1].pair)
    assert f'href="pair?a={a}&amp;b={b}"' in browser.page("/answers")
    page = browser.page(f"/pair?a={a}&b={b}")
    said = browser.labelling.queries.history[1].answer
    assert f"Answer: <strong>{said}</strong>" in page
    assert page.count('aria-pressed="true"') == 1
    assert len(features_shown(page)) == 9
    a, b = browser.labelling.question()
    assert "This pair has not been answered yet" in browser.page(f"/pair?a={a}&b={b}")
    for query in ("", "?a=0&b=0", "?a=0&b=60", "?a=x&b=1"):
        assert browser.call("GET", f"/pair{query}").status_code == 404


def test_kinds_of_samples():
    ids = tuple(range(len(X)))
    names = list("abcdefghi")
    assert ShownSamples(X, ids, names).kind == "values"
    assert ShownSamples(X, ids, names, curve=True).kind == "curve"
    assert ShownSamples(X, ids, names, curve=np.array([1, 2])).kind == "curve"
    assert ShownSamples(X, ids, names, curves={}).kind == "curve"
    assert ShownSamples(X, ids, names, image_shape=(3, 3), curve=True).kind == "pixels"
    assert ShownSamples(X, ids, names, image_shape=(3, 3), texts=["t"] * 60).kind == "text"
    assert ShownSamples(X, ids, names, texts=["t"] * 60, pictures={}).kind == "picture"


def test_answers_on_later_pages_can_be_changed(opened, monkeypatch):
    monkeypatch.setattr(module, "ANSWERS_SHOWN", 4)
    browser = opened()
    a, *others = np.flatnonzero(y == 0)[:11].tolist()
    for b in others:
        browser.send("/answer", a=a, b=b, answer="unsure")
    listed = []
    path = "answers"
    while path:
        page = browser.page("/" + path)
        listed += re.findall(r'href="pair\?a=(\d+)&amp;b=(\d+)"', page)
        path = (re.findall(r'href="([^"]*)" data-swap>Next answers', page) or [None])[0]
    assert [int(b) for _, b in listed] == others[::-1]
    assert "9 to 10 of 10" in page
    assert "answers?start=4" in page
    assert 'name="start" value="8"' in page
    form = {"a": a, "b": others[0], "answer": "alike", "from": "answers", "start": "8"}
    assert browser.send("/change", **form).headers["location"] == "answers?note=changed&start=8"
    for odd in ("-4", "x", "9" * 30, "\u0663"):
        assert "1 to 4 of 10" in browser.page(f"/answers?start={odd}")


def test_a_second_contradiction_reports_the_saved_change(browser):
    a, b, c, d = np.flatnonzero(y == 0)[:4].tolist()
    for one, other in ((a, b), (b, c), (a, d), (d, c)):
        browser.send("/answer", a=one, b=other, answer="alike")
    form = {"a": a, "b": c, "answer": "different"}
    first = browser.send("/answer", **form).text
    assert "Nothing has been saved yet" in first
    earlier = {"earlier_a": a, "earlier_b": b, "earlier": "unsure"}
    text = re.sub(r"<[^>]*>", "", browser.send("/resolve", **form, **earlier).text)
    assert f"The answer for {a} and {b} was changed to unsure; this one has not been" in text
    assert browser.labelling.queries.counts == {"alike": 3, "different": 0, "unsure": 1}
    again = {"earlier_a": a, "earlier_b": d, "earlier": "unsure"}
    assert browser.send("/resolve", **form, **again).headers["location"] == "./?note=different"


def test_a_sample_without_a_picture_has_no_thumbnail(opened, tmp_path):
    browser = opened(pictures={0: tmp_path / "0.png"})
    browser.send("/answer", a=0, b=1, answer="unsure")
    page = browser.page("/answers")
    assert "small/0" in page
    assert "small/1" not in page


def test_a_picture_replaced_by_a_link_is_not_sent(opened, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"\x89PNG secret")
    (tmp_path / "0.png").write_bytes(b"\x89PNG own")
    browser = opened(pictures={0: (tmp_path / "0.png").resolve()})
    for path in ("/picture/0", "/small/0"):
        assert browser.call("GET", path).content == b"\x89PNG own"
    (tmp_path / "0.png").unlink()
    (tmp_path / "0.png").symlink_to("secret.png")
    for path in ("/picture/0", "/small/0"):
        assert browser.call("GET", path).status_code == 404


def test_undone_answers_leave_no_result(browser):
    a, b = (int(row) for row in np.flatnonzero(y == 0)[:2])
    browser.send("/answer", a=a, b=b, answer="alike")
    assert "Group 1" in browser.page("/finish")
    browser.send("/undo", hints="on")
    page = browser.page("/finish")
    assert "Not enough answers yet" in page
    assert "The best features" not in page


@pytest.mark.filterwarnings("ignore::linkselect._messages.ConstantFeaturesWarning")
def test_constant_features_are_explained(opened):
    browser = opened(X=np.ones((6, 3)))
    browser.send("/answer", a=0, b=1, answer="alike")
    page = browser.page("/finish")
    assert "Group 1" in page
    assert "All features are constant" in page
    assert "Ranking the features" not in page
