"""The page in a real browser: keyboard use, small screens, accessibility and security."""

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from linkselect import Pairs, labelling
from tests.helpers.browsers import BROWSERS, FLAGS
from tests.helpers.labellings import begun, browser_program, client_of, grouped, served

playwright = pytest.importorskip("playwright.sync_api", reason="requires playwright")
# Browser processes may stall on a busy machine: repeat a failed test once; pytest reports this.
pytestmark = pytest.mark.flaky(reruns=1)
# `expect` waits until a condition holds, so it never reads a partly loaded page.
expect = playwright.expect
expect.set_options(timeout=30_000)

ROOT = Path(__file__).parents[2]
X, y = grouped()
PHONE = {"width": 360, "height": 700}
DESK = {"width": 1280, "height": 860}
STRANGE = (
    "<img src=x onerror=\"document.title = 'broken'\"><script>document.title='broken'</script>"
)
AXE = [
    Path(os.environ.get("LINKSELECT_AXE", "")),
    *(folder / "node_modules" / "axe-core" / "axe.min.js" for folder in (ROOT, ROOT / ".venv")),
]


@pytest.fixture(scope="module")
def chromium():
    program = browser_program()
    if program is None:
        pytest.skip(f"requires a browser: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """Open the page of a new session; fail on browser errors and foreign requests at the end."""
    troubles, requests, servers = [], [], []
    context = chromium.new_context(viewport=DESK, color_scheme="light")

    def note(message):
        # Some tests stop the server on purpose.
        if message.type in ("error", "warning") and "CONNECTION_REFUSED" not in message.text:
            troubles.append(message.text)

    def go(server=None, **options):
        if server is None:
            server = served(begun(options.pop("out", None), **options))
            servers.append(server)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(server.address)
        return page, server

    yield go
    context.close()
    for server in servers:
        server.close()
    assert troubles == []
    homes = tuple(server.address for server in servers)
    assert [url for url in requests if not url.startswith(homes)] == []


# Read both at once, since the page may be replacing its question.
PAIR = """() => [..."ab"].map(
    (side) => Number(document.querySelector(`form.buttons input[name=${side}]`).value))"""
BOXES = """() => [...document.querySelectorAll(".buttons button")].map(
    (button) => button.getBoundingClientRect().toJSON())"""


def asked(page):
    return tuple(page.evaluate(PAIR))


def count(page):
    return int(page.locator("header .count").inner_text().replace(",", ""))


def press(page, key, change=1):
    """Press a key, and wait until the number of answers has changed by `change`."""
    expected = count(page) + change
    page.keyboard.press(key)
    page.wait_for_function(
        "n => document.querySelector('header .count').textContent === String(n)", arg=expected
    )


def answer_some(page, n_answers):
    for _ in range(n_answers):
        a, b = asked(page)
        press(page, "a" if y[a] == y[b] else "d")


def said_to_screen_readers(page):
    return page.locator("#said").text_content()


def test_from_table_to_report_by_keyboard(chromium, tmp_path):
    """Use the typed command and the keyboard only."""
    table = tmp_path / "table.csv"
    header = ",".join(f"feature {i}" for i in range(X.shape[1]))
    np.savetxt(table, X, delimiter=",", header=header, comments="", fmt="%.6f")
    command = [sys.executable, "-m", "linkselect", "ask", str(table), "--no-browser"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(900, process.kill)
    timer.start()
    try:
        page = chromium.new_page(viewport=DESK)
        page.goto(process.stdout.readline().split()[1])
        expect(page.locator("h1")).to_have_text("Are these two alike?")
        answer_some(page, 9)
        assert page.locator("ol.bars").count() == 0, "the best features are hidden"
        answer_some(page, 1)
        page.wait_for_selector("#insight:not([data-again])", timeout=300_000)
        assert page.locator("ol.bars .name").count() == 3
        page.keyboard.press("f")
        page.wait_for_selector("text=Show the report here", timeout=300_000).click()
        assert page.locator("#call").inner_text() == (
            f"linkselect rank {table} --pairs pairs.csv --report report.html"
        )
        report = page.frame_locator("iframe.report")
        expect(report.locator("body")).to_contain_text("LinkSelector")
        expect(report.locator("#shown")).to_have_text("1 to 9 of 9 features")  # Its script runs.
        found = Pairs.from_csv(tmp_path / "pairs.csv")
        assert found.n_must + found.n_cannot == 10
        assert all(y[a] == y[b] for a, b in found.must)
        assert all(y[a] != y[b] for a, b in found.cannot)
        page.close()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
        timer.cancel()


def test_the_best_features_follow_the_answers_in_place(opened):
    page, _ = opened(image_shape=(3, 3), background=True)
    best = page.get_by_role("complementary")
    expect(best).to_contain_text("Available after the first alike pair.")
    for n_answers in (6, 7):
        answer_some(page, n_answers - count(page))
        question = asked(page)
        expect(best).to_contain_text(f"Ranked by LinkSelector from {n_answers} answers.")
        expect(best.locator("ol.bars li")).to_have_count(3)
        expect(best.locator("img.mask")).to_be_visible()
        page.wait_for_selector("#insight:not([data-again])")
        assert asked(page) == question


def test_the_focus_and_the_announcement(opened):
    page, _ = opened()
    answer_some(page, 1)
    assert page.evaluate("document.activeElement.id") == "asked"
    assert said_to_screen_readers(page).startswith("Saved: ")
    assert said_to_screen_readers(page).endswith("Question 2")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "region"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == "alike"
    press(page, "Enter")


def test_more_values_are_shown_by_keyboard(opened):
    wide = np.random.default_rng(0).normal(size=(60, 300))
    page, _ = opened(X=wide)
    rows, differences = page.locator(".values tbody tr"), page.locator(".values .apart span")
    expect(rows).to_have_count(12)
    first = differences.all_inner_texts()
    sizes = [float(one.removesuffix(" sd")) for one in first]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] > 1.5, "of 300 features"
    question = asked(page)
    tab_to(page, "Show 288 more features")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(200)
    assert differences.all_inner_texts()[:12] == first
    tab_to(page, "Next features")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(100)
    assert asked(page) == question
    press(page, "u")
    expect(rows).to_have_count(200)
    tab_to(page, "Show fewer features")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(12)


def tab_to(page, text):
    """Press Tab until a link or button has the focus."""
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == text:
            return
    raise AssertionError(f"Tab does not reach {text}")


def test_back(opened):
    page, server = opened()
    answer_some(page, 2)
    first = asked(page)
    press(page, "u")
    assert asked(page) != first
    press(page, "b", change=-1)
    assert asked(page) == first
    assert "undone" in said_to_screen_readers(page)
    assert len(server.labelling.queries.history) == 2


def test_keys_can_be_turned_off_and_ignore_modifiers(opened):
    page, server = opened()
    page.locator("#keys").uncheck()
    page.keyboard.press("a")
    page.wait_for_timeout(300)
    assert server.labelling.queries.history == ()
    page.locator("#keys").check()
    page.keyboard.press("Control+d")
    page.wait_for_timeout(300)
    assert server.labelling.queries.history == ()
    press(page, "a")


def contradicted(page, server):
    """Answer two pairs of a group alike, and the implied third pair different."""
    a, b, c = np.flatnonzero(y == 0)[:3].tolist()
    server.labelling.answer((a, b), "alike")
    server.labelling.answer((b, c), "alike")
    page.reload()
    # Both in one step: a freshly loaded page may replace its question in between.
    page.evaluate(
        """([a, b]) => {
            document.querySelector('form.buttons [name=a]').value = a;
            document.querySelector('form.buttons [name=b]').value = b;
            document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'd', bubbles: true}));
        }""",
        [a, c],
    )
    page.wait_for_selector(".earlier")
    return a, b, c


def test_a_contradiction_is_resolved_by_an_earlier_answer(opened):
    page, server = opened()
    a, b, c = contradicted(page, server)
    assert "Nothing has been saved yet" in said_to_screen_readers(page)
    assert page.locator(".chain").inner_text() == f"{a} = {b} = {c}"
    page.locator(".earlier li").first.get_by_role("button", name="Change to different").press(
        "Enter"
    )
    page.wait_for_selector("#asked >> text=Are these two alike?")
    answers = {frozenset(one.pair): one.answer for one in server.labelling.queries.history}
    assert answers[frozenset((a, c))] == "different"
    assert sorted(answers.values()) == ["alike", "different", "different"]


def test_a_contradiction_is_resolved_by_unsure(opened):
    page, server = opened()
    a, _, c = contradicted(page, server)
    press(page, "u")
    assert server.labelling.queries.history[-1].answer == "unsure"
    assert set(server.labelling.queries.history[-1].pair) == {a, c}


def test_a_new_start_resumes(opened, tmp_path):
    out = tmp_path / "pairs.csv"
    page, server = opened(out=out)
    answer_some(page, 4)
    question = asked(page)
    server.close()
    page.keyboard.press("a")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "was not saved" in page.locator("#alarm").inner_text()
    page.close()
    page, server = opened(out=out)
    assert count(page) == 4
    assert asked(page) == question


def test_a_page_of_an_earlier_session_gives_instructions(chromium, tmp_path):
    out = tmp_path / "pairs.csv"
    old = served(begun(out))
    page = chromium.new_page(viewport=DESK)
    page.goto(old.address)
    old.close()
    new = served(begun(out), port=old.port)
    try:
        page.keyboard.press("a")
        page.wait_for_selector("#alarm:not([hidden])")
        assert "belongs to an earlier session" in page.locator("#alarm").inner_text()
        page.reload()
        expect(page.locator("h1")).to_have_text("Page not found")
        assert new.labelling.queries.history == ()
        page.close()
    finally:
        new.close()


def test_answers_are_refused_while_a_file_is_missing(chromium, tmp_path):
    server = served(begun(tmp_path / "pairs.csv"))
    store, away = tmp_path / "pairs.linkselect.sqlite", tmp_path / "away"
    try:
        page = chromium.new_page(viewport=DESK)
        page.goto(server.address)
        answer_some(page, 2)
        store.rename(away)
        rows = asked(page)
        page.keyboard.press("d")
        expect(page.locator("h1")).to_have_text("The answer was not saved")
        expect(page.locator(".trouble")).to_contain_text("was moved or deleted")
        away.rename(store)
        page.get_by_role("link", name="Back to the question").click()
        page.wait_for_selector("form.buttons")
        assert asked(page) == rows
        answer_some(page, 1)
        assert len(server.labelling.queries.history) == 3
        page.close()
    finally:
        server.close()


def test_two_windows_ask_different_questions(opened):
    one, server = opened()
    wait_until_asked(one, lambda pair: server.labelling._shown)
    two, _ = opened(server)
    first = asked(one)
    wait_until_asked(two, lambda pair: pair != first)
    second = asked(two)
    two.reload()
    wait_until_asked(two, lambda pair: pair == second)
    answer_some(one, 3)
    assert asked(one) != asked(two) == second
    server.labelling.answer(asked(one), "unsure")
    one.keyboard.press("u")
    one.wait_for_selector("text=This answer was already saved")
    assert asked(one) != asked(two)
    answer_some(one, 3)
    assert asked(one) != asked(two) == second
    assert len(server.labelling.queries.history) == 7


def wait_until_asked(page, condition):
    """Wait for a question that meets a condition; windows coordinate after loading."""
    end = time.monotonic() + 30
    while not condition(asked(page)):
        assert time.monotonic() < end, "timed out"
        page.wait_for_timeout(50)


def test_all_answers_can_be_changed(opened):
    page, server = opened()
    answer_some(page, 3)
    page.get_by_role("link", name="Answers").press("Enter")
    page.wait_for_selector("ul.answers")
    line = page.locator("ul.answers li").first
    line.get_by_role("button", name="Unsure").press("Enter")
    page.wait_for_selector("text=Answer changed.")
    assert server.labelling.queries.counts["unsure"] == 1
    page.go_back()
    page.wait_for_selector("#asked")


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"image_shape": (3, 3)},
        {"curve": True},
        {"texts": [f"{STRANGE} {'long' * 60} {i}" for i in range(60)]},
    ],
    ids=["values", "pixels", "curve", "text"],
)
def test_nothing_is_cut_off_on_a_phone(opened, shown):
    names = [f"a_name_that_is_{'very_' * 10}long_{i}" for i in range(9)]
    ids = tuple(f"sample_{'with_a_long_name_' * 4}{i}" for i in range(60))
    more = {"a further column": ["and_its_value" * 8] * 60}
    page, server = opened(names=names, ids=ids, more=more, **shown)
    answer_some(page, 12)
    page.set_viewport_size(PHONE)
    for path in ("", "answers", "finish"):
        page.goto(server.address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
    page.goto(server.address)
    page.wait_for_selector(".buttons button")
    for box in page.evaluate(BOXES):
        assert 0 <= box["y"] <= PHONE["height"] - box["height"], "visible without scrolling"
        assert min(box["width"], box["height"]) >= 44, "large enough for a finger"


def test_names_and_texts_are_not_executed(opened):
    names = [f"{STRANGE}{i}" for i in range(9)]
    ids = tuple(f"{STRANGE}{i}" for i in range(60))
    options = {"texts": [STRANGE] * 60, "more": {STRANGE: [STRANGE] * 60}, "repeat": STRANGE}
    page, server = opened(names=names, ids=ids, **options)
    answer_some(page, 4)
    for path in ("", "answers", "finish"):
        page.goto(server.address + path)
        page.wait_for_timeout(100)
        assert page.title() != "broken"
        assert page.locator("main img[src=x]").count() == 0
    page.goto(server.address)
    assert page.locator("blockquote").first.inner_text() == STRANGE


def lightness(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour.strip("rgb()").split(","))


def test_dark_mode_follows_the_system(opened):
    page, _ = opened(image_shape=(3, 3))
    assert lightness(page) > 600
    page.emulate_media(color_scheme="dark")
    assert lightness(page) < 150


def test_it_works_without_script(chromium):
    server = served(begun())
    context = chromium.new_context(java_script_enabled=False, viewport=DESK)
    page = context.new_page()
    page.goto(server.address)
    page.get_by_role("button", name="Different").click()
    expect(page.locator("main .note")).to_have_text("Saved: different.")
    expect(page.locator("header .count")).to_have_text("1")
    context.close()
    server.close()


@pytest.fixture
def other_site():
    """Serve pages of another site on this machine; `pages` maps paths to HTML."""
    pages = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield pages, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


ATTACK = """<title>other</title><script>
const address = %s;
const body = new URLSearchParams({a: 0, b: 1, answer: "alike"});
const headers = {"content-type": "application/x-www-form-urlencoded"};
const blind = {method: "POST", mode: "no-cors", headers};
const seen = [];
const read = (path, options) => fetch(address + path, options)
  .then((response) => response.text())
  .then((text) => { if (text) seen.push(text); }, () => {});
const load = (element, what) => new Promise((done) => {
  element.onload = () => { seen.push(what); done(); };
  element.onerror = done;
  element.src = address + what;
  document.head.append(element);
});
Promise.allSettled([
  ...["", "answers", "ask.js", "insight", "picture/0"].map((path) => read(path)),
  read("answer", {method: "POST", body}),
  read("answer", {...blind, body}),
  read("undo", {...blind, body: "x=1"}),
  load(document.createElement("script"), "ask.js"),
  load(new Image(), "icon.png"),
]).then(() => {
  navigator.sendBeacon(address + "answer", body);
  document.title = "seen " + JSON.stringify(seen);
});
</script>
<iframe name="target"></iframe>
<form method="post" target="target" action="%sanswer">
<input name="a" value="0"><input name="b" value="1"><input name="answer" value="alike">
</form>"""


def is_page(response):
    """Return whether a response is a page, not a pending request of a script."""
    return response.request.is_navigation_request()


def test_a_page_of_another_site_gets_nothing_and_changes_nothing(chromium, other_site):
    """This holds even if the other site knows the address with the token."""
    pages, home = other_site
    server = served(begun())
    with client_of(server.address) as client:
        client.post("answer", data={"a": 2, "b": 3, "answer": "unsure"})
    pages["/attack"] = ATTACK % (json.dumps(server.address), server.address)
    page = chromium.new_page()
    page.goto(f"{home}/attack")
    page.wait_for_function("() => document.title.startsWith('seen')")
    assert page.title() == "seen []"
    with page.expect_event("response", is_page) as waiting:
        page.evaluate("document.querySelector('form').submit()")
    assert waiting.value.url == f"{server.address}answer"
    assert waiting.value.status >= 400
    frame = page.frame(name="target")
    frame.wait_for_url(f"{server.address}answer")
    assert "alike" not in frame.locator("body").inner_text()
    assert [one.answer for one in server.labelling.queries.history] == ["unsure"]
    page.close()
    server.close()


def test_in_a_notebook_the_page_works_in_a_frame(chromium, other_site):
    """Jupyter serves notebooks from another port, as localhost or 127.0.0.1."""
    pages, home = other_site
    queries = labelling.open_page(X, random_state=0)
    pages["/notebook"] = f'<iframe name="output" src="{queries.address}" width=900 height=800>'
    page = chromium.new_page()
    page.goto(f"{home.replace('127.0.0.1', 'localhost')}/notebook")
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Different").click()
    frame.locator(".note >> text=Saved: different.").wait_for()
    frame.get_by_role("button", name="Unsure").click()
    frame.locator(".note >> text=Saved: unsure.").wait_for()
    assert queries.counts == {"alike": 0, "different": 1, "unsure": 1}
    page.close()
    queries.close()


def test_another_page_cannot_put_it_in_a_frame(chromium, other_site):
    pages, home = other_site
    server = served(begun())
    pages["/frame"] = f'<iframe name="output" src="{server.address}"></iframe>'
    page = chromium.new_page()
    with page.expect_event("requestfailed", lambda refused: refused.url == server.address):
        page.goto(f"{home}/frame")
    assert page.frame_locator("iframe").get_by_role("button", name="Alike").count() == 0
    page.close()
    server.close()


def test_a_foreign_name_that_resolves_here_gets_nothing(chromium):
    """Simulate DNS rebinding: a foreign name resolves to this machine."""
    server = served(begun())
    page = chromium.new_page()
    address = server.address.replace("127.0.0.1", "rebound.localhost")
    with pytest.raises(playwright.Error, match="RESPONSE_CODE_FAILURE"):
        page.goto(address)
    page.close()
    server.close()


def axe():
    found = next((path for path in AXE if path.is_file()), None)
    if found is None:
        pytest.skip("requires axe-core: npm install axe-core, or LINKSELECT_AXE=.../axe.min.js")
    return found.read_text(encoding="utf-8")


@pytest.fixture
def look(chromium):
    """Open a page without its content policy, and check its accessibility with axe."""
    source = axe()
    context = chromium.new_context(bypass_csp=True, viewport=DESK, color_scheme="light")
    page = context.new_page()

    def faults():
        # A freshly loaded page may still replace its question.
        page.wait_for_load_state("networkidle")
        page.evaluate(source)
        result = page.evaluate("axe.run({resultTypes: ['violations']})")
        assert len(result["passes"]) > 10, "axe has run"
        serious = [one for one in result["violations"] if one["impact"] in ("serious", "critical")]
        return [(one["id"], node["html"]) for one in serious for node in one["nodes"]]

    yield page, faults
    context.close()


@pytest.mark.parametrize(
    "shown",
    [{"image_shape": (3, 3)}, {"curve": True}, {"texts": ["some words"] * 60}],
    ids=["pixels", "curve", "text"],
)
def test_axe_finds_no_serious_problem_in_a_question(look, shown):
    page, faults = look
    server = served(begun(**shown))
    page.goto(server.address)
    answer_some(page, 6)
    assert faults() == []
    server.close()


def test_axe_finds_no_serious_problem_on_any_page(look):
    page, faults = look
    server = served(begun())
    page.goto(server.address)
    answer_some(page, 11)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for path in ("?note=alike", "answers", "finish"):
            page.goto(server.address + path)
            assert faults() == [], (scheme, path)
    page.goto(server.address)
    contradicted(page, server)
    assert faults() == []
    server.close()


def test_axe_would_find_a_problem(look):
    page, faults = look
    server = served(begun(image_shape=(3, 3)))
    page.goto(server.address, wait_until="networkidle")
    page.evaluate("document.querySelector('.stage img').removeAttribute('alt')")
    assert "image-alt" in dict(faults())
    server.close()


def test_a_server_error_keeps_the_question(chromium, tmp_path):
    labelling = begun(tmp_path / "pairs.csv")
    server = served(labelling)

    def fails(rows, said):
        raise RuntimeError("an error")

    try:
        page = chromium.new_page(viewport=DESK)
        page.goto(server.address_once())
        assert page.url == server.address, "the ticket redirects to the page"
        rows = asked(page)
        labelling.answer = fails
        page.keyboard.press("a")
        page.wait_for_selector("#alarm:not([hidden])")
        assert "error in linkselect" in page.locator("#alarm").inner_text()
        assert asked(page) == rows
        assert page.url == server.address
        del labelling.answer
        press(page, "a")
        assert page.locator("#alarm").is_hidden()
        page.close()
    finally:
        server.close()
