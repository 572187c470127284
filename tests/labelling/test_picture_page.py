"""Label a folder of pictures by keyboard in a real browser, from the command to the result."""

import signal
import subprocess
import sys
import threading

import pytest

from tests.helpers.browsers import axe_source, started_browser
from tests.helpers.made_pictures import make_pictures

playwright = pytest.importorskip("playwright.sync_api", reason="requires playwright")
pytestmark = [pytest.mark.slow, pytest.mark.flaky(reruns=1)]
expect = playwright.expect
expect.set_options(timeout=60_000)

N_PICTURES, N_ANSWERS = 300, 20
DESK, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 700}


@pytest.fixture
def chromium():
    with playwright.sync_playwright() as driver:
        browser = started_browser(driver)
        yield browser
        browser.close()


class Asked:
    """A running `linkselect ask FOLDER`, and the classes of its pictures."""

    def __init__(self, folder):
        self.folder = folder
        self.kinds = make_pictures(folder / "photos", N_PICTURES)
        self.names = sorted(self.kinds)
        (folder / "photos" / "broken.png").write_bytes(b"no picture")
        command = [sys.executable, "-m", "linkselect", "ask", "photos", "--no-browser"]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        timer = threading.Timer(900, self.process.kill)
        timer.start()
        self.address = self.process.stdout.readline().split()[1]
        timer.cancel()

    def answer(self, page, number):
        """Press the correct key, and wait for the next question."""
        a, b = (
            int(page.locator(f"form.buttons input[name={side}]").get_attribute("value"))
            for side in "ab"
        )
        alike = self.kinds[self.names[a]] == self.kinds[self.names[b]]
        page.keyboard.press("a" if alike else "d")
        expect(page.locator(".number-of")).to_have_text(f"Question {number + 1}")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60)


@pytest.fixture
def asked(chromium, tmp_path):
    """Answer twenty questions by keyboard, and finish."""
    running = Asked(tmp_path)
    page = chromium.new_page(viewport=DESK)
    page.goto(running.address)
    for number in range(1, N_ANSWERS + 1):
        running.answer(page, number)
    page.keyboard.press("f")
    page.wait_for_selector("text=Open the report", timeout=300_000)
    page.close()
    yield running
    running.end()


@pytest.fixture
def result(asked, chromium):
    """Open the final result page."""
    contexts = []

    def opened(**options):
        contexts.append(chromium.new_context(**{"viewport": DESK, **options}))
        page = contexts[-1].new_page()
        page.goto(asked.address + "finish", wait_until="networkidle")
        return page

    yield opened
    for context in contexts:
        context.close()


def kinds_in(asked, tiles):
    return {asked.kinds[image.get_attribute("alt")] for image in tiles.locator("img").all()}


def check_the_groups_are_right(asked, result):
    page = result()
    groups = page.locator(".group")
    found = []
    for group in groups.all():
        members, others = group.locator(".tiles").all()
        assert len(kinds_in(asked, members)) == 1
        found += kinds_in(asked, members)
        # Without answers, but similar in the best features and therefore of the same class.
        assert kinds_in(asked, others) == kinds_in(asked, members)
    assert set(found) == {"sun", "fence", "plain"}


def check_the_parts_that_tell_them_apart_are_marked(asked, result):
    page = result()
    names = page.locator(".findings .finding strong").all_inner_texts()
    assert {"upper left", "lower right"} <= {name.partition(", ")[2] for name in names[:3]}
    places = page.locator(".place").first
    corners = {
        tuple(round(float(part.get_attribute(side).rstrip("%"))) for side in ("x", "y"))
        for part in places.locator(".part").all()
    }
    assert {(0, 0), (67, 67)} <= corners
    image, parts = (places.locator(which).bounding_box() for which in ("img", "svg"))
    assert image == pytest.approx(parts, abs=1), "the regions cover the picture"


def check_pictures_are_sorted_along_the_best_feature(asked, result):
    tiles = result().locator(".ordered").first.locator("img").all()
    assert len(tiles) == 9
    kinds = [asked.kinds[one.get_attribute("alt")] for one in tiles]
    special = kinds[-1] if kinds[-1] != "plain" else kinds[0]
    place = 8 if special == kinds[-1] else 0
    assert special in ("sun", "fence")
    assert kinds[8 - place] != special
    widths = [one.evaluate("image => image.naturalWidth") for one in tiles]
    assert min(widths) > 0, "each picture is loaded"


def check_one_command_goes_on(asked, result):
    command = result().locator("#call").inner_text()
    assert command == "linkselect rank photos --pairs pairs.csv --report report.html"
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=asked.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "Written: report.html" in done.stdout
    assert "Skipped broken.png: it is not a readable picture." in done.stderr


def check_nothing_is_cut_off_on_a_phone(result):
    page = result(viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def check_axe_finds_no_serious_fault(result, scheme):
    source = axe_source()
    page = result(bypass_csp=True, color_scheme=scheme)
    page.locator("summary").first.click()
    page.evaluate(source)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert len(found["passes"]) > 10, "axe has run"
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], node["html"]) for one in serious for node in one["nodes"]] == []


def check_the_next_start_goes_on(asked):
    """Check that measurements are stored next to the pairs, and that a new start resumes."""
    out, _ = asked.end()
    assert "The pairs are in pairs.csv" in out
    assert (asked.folder / "pairs.pictures.sqlite").is_file()
    again = subprocess.Popen(
        [sys.executable, "-m", "linkselect", "ask", "photos", "--no-browser"],
        cwd=asked.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    again.stdout.readline()
    again.send_signal(signal.SIGINT)
    _, notes = again.communicate(timeout=60)
    assert f"Resuming after {N_ANSWERS} answers in pairs.csv." in notes


def test_from_a_folder_to_the_result(asked, result):
    check_the_groups_are_right(asked, result)
    check_the_parts_that_tell_them_apart_are_marked(asked, result)
    check_pictures_are_sorted_along_the_best_feature(asked, result)
    check_nothing_is_cut_off_on_a_phone(result)
    check_one_command_goes_on(asked, result)
    for scheme in ("light", "dark"):
        check_axe_finds_no_serious_fault(result, scheme)
    check_the_next_start_goes_on(asked)
