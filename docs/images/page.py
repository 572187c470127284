"""Take screenshots of the report and of `linkselect ask`: `python docs/images/page.py`.

Requires Chromium. Questions are answered by keyboard from the known classes, as in the tests.
`python docs/images/page.py report` takes only the screenshot of the report.
"""

import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits, load_wine

from linkselect.cli import run
from linkselect.labelling._serving import Server
from linkselect.labelling._session import Ask, begin
from linkselect.labelling._shown_samples import ShownSamples

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parents[1]), str(FOLDER.parent)]
from outputs import make_tables  # noqa: E402
from tests.helpers.made_pictures import make_pictures  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
DESK = {"width": 1180, "height": 820}
PHONE = {"width": 360, "height": 720}
READER = {"width": 960, "height": 1120}
SECONDS = 120
PARTS = "groups", "features"


def report(browser, folder):
    """Take the top of the report that the home page and the README show."""
    make_tables(folder, FOLDER)
    written = str(folder / "report.html")
    with chdir(folder):  # so that the report shows a relative path, as the command does
        run(["rank", "my.csv", "--label", "class", "--report", written])
    page = browser.new_page(viewport=READER)
    page.goto(f"file://{written}")
    second = page.locator("h2").nth(1).bounding_box()
    shown = {"x": 0, "y": 0, "width": READER["width"], "height": second["y"] - 36}
    take(page, "report", clip=shown)  # down to the second section
    # A test compares these headings with the template, to detect an outdated screenshot.
    headings = PngInfo()
    headings.add_text("Headings", "\n".join(page.locator("h2").all_inner_texts()))
    picture = FOLDER / "report.png"
    with Image.open(picture) as image:
        image.save(picture, pnginfo=headings, optimize=True)


def serve(data, source, repeat, folder, **shown):
    """Start the page for a data set."""
    ids = tuple(range(len(data.data)))
    samples = ShownSamples(data.data, ids, list(data.feature_names), **shown)
    out = folder / "pairs.csv"
    ask = Ask(data.data, samples, None, None, out, random_state=1, source=source, repeat=repeat)
    server = Server(begin(ask)[0], source)
    server.start()
    return server


def answer(page, y, n_answers):
    """Answer questions by keyboard."""
    for _ in range(n_answers):
        form = page.locator("form.buttons")
        a, b = (int(form.locator(f"[name={name}]").get_attribute("value")) for name in "ab")
        count = page.locator("header .count").inner_text()
        page.keyboard.press("a" if y[a] == y[b] else "d")
        page.wait_for_function(
            "count => document.querySelector('header .count').textContent !== count", arg=count
        )


def take(page, name, **options):
    """Take a screenshot of the page once it is complete."""
    # Hide the name of the temporary folder.
    paths = "document.querySelectorAll('.path')"
    page.evaluate(f"{paths}.forEach((one) => one.replaceChildren('pairs.csv'))")
    page.wait_for_timeout(1000)  # for images that load late
    page.screenshot(path=FOLDER / f"{name}.png", **options)


def contradict(page, queries):
    """Answer different for two samples that earlier answers imply to be alike."""
    known = {frozenset(one.pair) for one in queries.history}
    group = queries.pairs.components()[0]
    pair = next((a, b) for a in group for b in group if a != b and {a, b} not in known)
    page.evaluate(
        "pair => { for (const i of [0, 1]) document.querySelector("
        "`form.buttons [name=${'ab'[i]}]`).value = pair[i]; }",
        list(pair),
    )
    page.keyboard.press("d")
    page.wait_for_selector(".earlier")


def digits(browser, folder):
    """Take screenshots with digits: a question, a contradiction and all answers."""
    data = load_digits()
    repeat = "linkselect rank digits.csv --pairs pairs.csv --report report.html"
    server = serve(data, "handwritten digits", repeat, folder, image_shape=(8, 8))
    page = browser.new_page(viewport=DESK)
    page.goto(server.address)
    answer(page, data.target, 40)
    page.wait_for_selector("#insight:not([data-again])", timeout=1000 * SECONDS)
    take(page, "ask_question", full_page=True)
    page.emulate_media(color_scheme="dark")
    take(page, "ask_dark", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    take(page, "ask_phone")
    page.set_viewport_size(DESK)
    contradict(page, server.labelling.queries)
    take(page, "ask_contradiction", full_page=True)
    page.goto(f"{server.address}answers")
    take(page, "ask_answers")
    server.close()


def pictures(browser, folder):
    """Take the result of `linkselect ask FOLDER` after twenty answers."""
    kinds = make_pictures(folder / "photos", 300)
    names = sorted(kinds)
    command = [sys.executable, "-m", "linkselect", "ask", "photos", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    page = browser.new_page(viewport=DESK)
    address = process.stdout.readline().split()[1]
    page.goto(address)
    answer(page, [kinds[name] for name in names], 20)
    page.goto(f"{address}finish")
    page.wait_for_selector("text=Open the report", timeout=1000 * SECONDS)
    page.locator("#groups").scroll_into_view_if_needed()
    groups, features = (
        page.locator(f"section:has(#{name})").bounding_box() for name in ("groups", "features")
    )
    top, bottom = groups["y"] - 12, features["y"] + 560
    clip = {"x": 0, "y": top, "width": DESK["width"], "height": bottom - top}
    take(page, "ask_result", full_page=True, clip=clip)
    process.send_signal(signal.SIGINT)
    process.communicate()


def wine(browser, folder):
    """Take a question about a table of values."""
    data = load_wine()
    repeat = "linkselect rank wine.csv --pairs pairs.csv --report report.html"
    server = serve(data, "wine.csv", repeat, folder)
    page = browser.new_page(viewport=DESK)
    page.goto(server.address)
    answer(page, data.target, 3)
    take(page, "ask_values")
    server.close()


def main():
    """Take all screenshots, or those named on the command line."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit(f"This script requires a browser: {', '.join(BROWSERS)}.")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        for show in (report, digits, pictures, wine):
            if show.__name__ not in (sys.argv[1:] or show.__name__):
                continue
            with tempfile.TemporaryDirectory() as folder:
                show(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
