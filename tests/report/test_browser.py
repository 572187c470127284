"""Tests of the report in Chromium, driven by Playwright, without a network."""

import csv
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from linkselect import ConstraintScore, FisherScore, Pairs, VarianceScore, compare
from linkselect.evaluation import choose_number, validate
from linkselect.report import summarize, write_comparison, write_report
from tests.helpers.browsers import BROWSERS, FLAGS

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
# A busy machine may delay the many processes of a browser at any time, so a failed test is repeated
# once, which pytest reports.
pytestmark = pytest.mark.flaky(reruns=1)
pytest.importorskip("jinja2")

N_FEATURES = 12_000
STRANGE_NAMES = [
    "<script>document.title = 'broken'</script>",
    "</script><img src=x onerror=\"document.title = 'broken'\">",
    "\"quotes\" & 'more'",
    "$x^2$",
    "long" * 400,
    "名前 \u202e كلمة",
    "two\nlines\u2028end",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"needs a browser: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=program,
            args=FLAGS,
            color_scheme="light",
            viewport={"width": 1000, "height": 900},
        )
        yield context
        context.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    random = np.random.default_rng(0)
    X = random.normal(size=(30, N_FEATURES))
    selector = VarianceScore(n_features_to_select=120).fit(X)
    selector.scores_[7] = np.nan
    write_report(summarize(selector, X, source="many.csv"), folder / "many.html")
    X = random.normal(size=(40, len(STRANGE_NAMES)))
    pairs = Pairs(must=[(0, 1), (2, 3)], cannot=[(0, 5), (2, 8)])
    selector = ConstraintScore(n_features_to_select=2).fit(X, pairs=pairs)
    selector.feature_names_in_ = np.array(STRANGE_NAMES, dtype=object)
    strange = summarize(selector, X, pairs=pairs, source=STRANGE_NAMES[0], call=STRANGE_NAMES[1])
    write_report(strange, folder / "strange.html")
    selector = VarianceScore(n_features_to_select=60).fit(X := random.normal(size=(30, 100)))
    found = summarize(selector, X, validation=validate(selector, X))
    write_report(found, folder / "validated.html")
    y = np.array(["$healthy$", "<b>ill</b> for a long time"])[np.arange(60) % 2]
    X = random.normal(size=(60, 200))
    X[:, :8] += 2 * (np.arange(60) % 2)[:, None]
    X[:, 9] = 3 * X[:, 0] + 0.1 * X[:, 9]
    number = choose_number(FisherScore().fit(X, y), X, y)
    selector = FisherScore(number.n_features).fit(X, y)
    found = validate(selector, X, y, rankings=number.rankings)
    found = summarize(selector, X, y, validation=found, number=number)
    write_report(found, folder / "labels.html")
    X = random.normal(size=(40, len(STRANGE_NAMES)))
    y = np.arange(40) % 2
    methods = {STRANGE_NAMES[0]: FisherScore(), "variance": VarianceScore()}
    found = compare(methods, X, y, n_splits=2)
    write_comparison(found, folder / "comparison.html", names=STRANGE_NAMES, call="again")
    return folder


@pytest.fixture
def open_report(browser, reports):
    """Return a function that opens a report.

    At the end, check that no page has caused an error, a warning or a request.
    """
    troubles, requests, pages = [], [], []

    def note(message):
        if message.type in ("error", "warning"):
            troubles.append(message.text)

    def go(name):
        page = browser.new_page()
        pages.append(page)
        page.on("console", note)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((reports / f"{name}.html").as_uri())
        return page

    yield go
    for page in pages:
        page.evaluate("try { localStorage.clear() } catch {}")
        page.close()
    assert troubles == []
    own = {page.url for page in pages}
    assert [
        url for url in requests if url not in own and not url.startswith(("data:", "blob:"))
    ] == []


def column(page, place):
    return page.locator(f"#features tbody td:nth-child({place})").all_inner_texts()


def header(page, key):
    return page.locator(f"#features button[data-key={key}]")


def sorted_as(page, key):
    return header(page, key).locator("xpath=..").get_attribute("aria-sort")


def as_numbers(texts):
    return [float(text.replace(",", "").replace("\N{MINUS SIGN}", "-")) for text in texts]


def test_first_view(open_report):
    page = open_report("many")
    assert as_numbers(column(page, 1)) == list(range(1, 51))
    assert sorted_as(page, "rank") == "ascending"
    assert page.locator("#shown").inner_text() == "1 to 50 of 12,000 features"
    assert page.locator("#page").inner_text() == "Page 1 of 240"


def all_values(page, place):
    """Return the numbers of a column on the first and the last page."""
    first = as_numbers(column(page, place))
    page.locator("[data-page=last]").click()
    return first + as_numbers(text for text in column(page, place) if text != "no score")


def test_sorting_ranks_both_ways(open_report):
    page = open_report("many")
    header(page, "rank").click()
    assert sorted_as(page, "rank") == "descending"
    values = all_values(page, 1)
    assert values == sorted(values, reverse=True)
    page.locator("[data-page=first]").click()
    assert as_numbers(column(page, 1))[0] == N_FEATURES
    header(page, "rank").click()
    assert as_numbers(column(page, 1)) == list(range(1, 51))


def test_sorting_scores_both_ways(open_report):
    page = open_report("many")
    for down in (False, True):
        header(page, "score").click()
        assert sorted_as(page, "score") == ("descending" if down else "ascending")
        values = all_values(page, 3)
        assert values == sorted(values, reverse=down)
        assert values[0] != values[-1]


def test_a_missing_score_comes_last_either_way(open_report):
    page = open_report("many")
    for _ in range(2):
        header(page, "score").click()
        page.locator("[data-page=last]").click()
        assert column(page, 3)[-1] == "no score"


def test_sorting_names_both_ways(open_report):
    page = open_report("many")
    header(page, "feature").click()
    assert column(page, 2)[:12] == [f"x{i}" for i in range(12)], "2 comes before 10"
    header(page, "feature").click()
    assert column(page, 2)[:2] == [f"x{N_FEATURES - 1}", f"x{N_FEATURES - 2}"]
    assert sorted_as(page, "feature") == "descending"
    assert sorted_as(page, "rank") is None


def test_sorting_the_selected_both_ways(open_report):
    page = open_report("many")
    header(page, "selected").click()
    assert set(column(page, 4)) == {"selected"}
    header(page, "selected").click()
    assert set(column(page, 4)) == {"below the cut"}
    assert as_numbers(column(page, 1))[0] == 121, "ties keep the order of ranks"


def test_sorting_by_selection_frequency(open_report):
    page = open_report("validated")
    for down in (False, True):
        header(page, "frequency").click()
        values = as_numbers(column(page, 5))
        assert len(values) == 50
        assert values == sorted(values, reverse=down)
        assert values[0] != values[-1]


def test_filtering(open_report):
    page = open_report("many")
    page.locator("#filter").fill("X119")
    names = column(page, 2)
    assert len(names) == 50
    assert all("x119" in name for name in names)
    assert page.locator("#shown").inner_text() == "1 to 50 of 111 features"
    page.locator("#only-selected").check()
    assert set(column(page, 4)) <= {"selected"}
    page.locator("#filter").fill("")
    assert page.locator("#shown").inner_text() == "1 to 50 of 120 features"
    page.locator("#filter").fill("no such name")
    assert column(page, 2) == []
    assert page.locator("#shown").inner_text() == "no feature matches the filter"
    assert page.locator(".pages").is_hidden()


def test_paging(open_report):
    page = open_report("many")
    first, previous, further, last = (
        page.locator(f"[data-page={name}]") for name in ("first", "previous", "next", "last")
    )
    assert first.is_disabled()
    assert previous.is_disabled()
    further.click()
    assert as_numbers(column(page, 1)) == list(range(51, 101))
    last.click()
    assert as_numbers(column(page, 1))[-1] == N_FEATURES
    assert further.is_disabled()
    previous.click()
    assert page.locator("#page").inner_text() == "Page 239 of 240"
    first.click()
    assert as_numbers(column(page, 1))[0] == 1


def test_only_one_page_of_rows_is_in_the_document(open_report):
    page = open_report("many")
    assert page.locator("#features tbody tr").count() == 50


def test_keyboard(open_report):
    page = open_report("many")
    header(page, "score").focus()
    page.keyboard.press("Enter")
    assert sorted_as(page, "score") == "ascending"
    page.keyboard.press("Space")
    assert sorted_as(page, "score") == "descending"


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def lightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


def test_light_and_dark(open_report):
    page = open_report("strange")
    toggle = page.locator("[data-theme-toggle]")
    assert lightness(background(page)) > 600
    toggle.click()
    assert lightness(background(page)) < 150
    bar_text = page.locator("svg text").first
    assert lightness(bar_text.evaluate("e => getComputedStyle(e).fill")) > 500
    page.reload()
    assert lightness(background(page)) < 150, "the choice is kept"
    toggle.click()
    assert lightness(background(page)) > 600
    page.evaluate("localStorage.clear()")
    page.emulate_media(color_scheme="dark")
    page.evaluate("delete document.documentElement.dataset.theme")
    assert lightness(background(page)) < 150, "as the system says"
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("name", ["strange", "comparison"])
def test_scripts_in_names_do_not_run(open_report, name):
    page = open_report(name)
    page.wait_for_timeout(200)
    assert page.title() != "broken"
    assert page.locator("main img, main iframe, svg script").count() == 0
    assert STRANGE_NAMES[0] in page.locator("main").inner_text()


def test_names_are_shown_unchanged(open_report):
    page = open_report("strange")
    shown = page.locator("#features td.name:nth-child(2)").evaluate_all(
        "es => es.map(e => e.textContent)"
    )
    assert sorted(shown) == sorted(STRANGE_NAMES)
    assert page.locator("#call").text_content() == STRANGE_NAMES[1]


def resize(page, width, height=700):
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("width => window.innerWidth === width", arg=width)


EVERY_PAGE = ["many", "strange", "comparison", "validated", "labels"]


@pytest.mark.parametrize("name", EVERY_PAGE)
def test_pages_fit_a_phone_without_scrolling_sideways(open_report, name):
    page = open_report(name)
    resize(page, 360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    resize(page, 1000, 900)


CUT_OFF = """() => {
  const cut = [];
  const shown = (element) => element.getClientRects().length > 0;
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth + 1) cut.push(`table ${box.getAttribute("aria-label")}`);
  }
  for (const picture of [...document.querySelectorAll("svg.picture")].filter(shown)) {
    const edge = picture.getBoundingClientRect();
    const what = picture.getAttribute("aria-label");
    if (edge.left < 0 || edge.right > window.innerWidth) cut.push(`picture ${what}`);
    for (const text of picture.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      // Fonts of another system are a little wider.
      const out = Math.max(edge.left - box.left, box.right - edge.right, edge.top - box.top,
        box.bottom - edge.bottom);
      if (out > 4) cut.push(`${what}: ${text.textContent}`);
      if (box.height < 8) cut.push(`${what}: too small: ${text.textContent}`);
    }
  }
  return cut;
}"""


@pytest.mark.parametrize("width", [360, 1000])
@pytest.mark.parametrize("name", EVERY_PAGE)
def test_no_table_or_text_is_cut_off(open_report, name, width):
    page = open_report(name)
    resize(page, width)
    assert page.evaluate(CUT_OFF) == []
    resize(page, 1000, 900)


def test_cut_off_tables_and_pictures_are_found(open_report):
    page = open_report("labels")
    resize(page, 360)
    page.add_style_tag(content=".slim { display: none } .wide { display: block }")
    assert any("too small" in found for found in page.evaluate(CUT_OFF))
    page.add_style_tag(content=".picture { min-width: 32rem; } table { min-width: 40rem }")
    found = page.evaluate(CUT_OFF)
    assert "table Table of features" in found
    assert "picture Scores of the best 20 features" in found
    resize(page, 1000, 900)


def test_one_of_two_pictures_is_shown(open_report):
    page = open_report("labels")
    for width, there, hidden in ((1000, "wide", "slim"), (360, "slim", "wide")):
        resize(page, width)
        assert page.locator(f".{there}").first.is_visible()
        assert page.locator(f".{hidden}").first.is_hidden()
    resize(page, 1000, 900)


def test_each_selected_feature_has_a_card(open_report):
    page = open_report("labels")
    cards = page.locator(".cards figure")
    best = column(page, 2)
    headings = cards.locator("h3 bdi").all_inner_texts()
    assert headings == best[: len(headings)]
    assert 5 <= len(headings) <= 9
    labels = cards.first.locator("svg text").all_text_contents()
    assert "$healthy$" in labels
    text = page.locator(".cards").inner_text()
    assert "Selection frequency 1.00 ± 0.05 (2 standard errors)." in text
    assert "Highly correlated with x9 (1.00)" in text


def saved(page, button):
    with page.expect_download() as waiting:
        button.click()
    download = waiting.value
    return download.suggested_filename, Path(download.path()).read_text(encoding="utf-8")


def test_saving_a_picture(open_report):
    page = open_report("labels")
    page.emulate_media(color_scheme="dark")
    name, text = saved(page, page.locator("[data-save-picture=scores]"))
    page.emulate_media(color_scheme="light")
    assert name == "scores.svg"
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.attrib["width"] == "518.4pt"
    assert "var(" not in text, "a file has no style sheet"
    assert "#2a6fa8" in text, "light colours, whatever the page has"


def test_saving_tables(open_report):
    page = open_report("strange")
    name, text = saved(page, page.locator("[data-save-ranking]"))
    assert name == "ranking.csv"
    rows = list(csv.reader(text.splitlines(keepends=True)))
    assert rows[0] == ["rank", "feature", "score", "selected", "reason"]
    assert sorted(row[1] for row in rows[1:]) == sorted(STRANGE_NAMES)
    page = open_report("comparison")
    name, text = saved(page, page.locator("[data-save-table]"))
    assert name == "methods.csv"
    assert next(csv.reader(text.splitlines()))[0] == "Method"


def test_better_scores_have_longer_bars(open_report):
    """The smallest ConstraintScore is the best."""
    page = open_report("strange")
    shares = page.locator("#features .bar").evaluate_all(
        "es => es.map(e => parseFloat(e.style.getPropertyValue('--share')))"
    )
    assert shares == sorted(shares, reverse=True)
    assert (shares[0], shares[-1]) == (100, 0)


# Record every text of a button, since "Copied" is shown only briefly.
NOTE_TEXTS = """(button) => {
  window.texts = [];
  new MutationObserver(() => window.texts.push(button.textContent))
    .observe(button, { childList: true, characterData: true, subtree: true });
}"""


def test_copying_the_call(open_report, browser):
    browser.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_report("comparison")
    button = page.locator("[data-copy]")
    button.evaluate(NOTE_TEXTS)
    button.click()
    # Must be a function, because the page's security policy forbids `eval`.
    page.wait_for_function("() => window.texts.includes('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == "again"


def test_headings_and_names_for_screen_readers(open_report):
    page = open_report("strange")
    levels = page.locator("h1, h2, h3").evaluate_all("es => es.map(e => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(step <= 1 for step in np.diff(levels))
    assert page.locator("svg[role=img]:not([aria-label])").count() == 0
    ids = page.locator("[id]").evaluate_all("es => es.map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["many", "strange", "comparison", "labels"])
def test_printing(open_report, name):
    page = open_report(name)
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF-")
    assert len(document) > 10_000
    page.emulate_media(media="print")
    assert page.locator("[data-theme-toggle]").is_hidden()
    assert page.locator(".link, .slim").filter(visible=True).count() == 0
    assert lightness(background(page)) == 3 * 255
    page.emulate_media(media="screen")


def test_the_security_policy_blocks_other_scripts(browser, reports, tmp_path):
    page_text = (reports / "strange.html").read_text(encoding="utf-8")
    file = tmp_path / "changed.html"
    foreign = "<script>document.title = 'x'</script></main>"
    file.write_text(page_text.replace("</main>", foreign), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    assert page.title() != "x"
    page.close()
