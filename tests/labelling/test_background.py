"""Rankings in the background: the default selector's, always of the newest answers."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from linkselect import ConsensusSelector, Pairs
from linkselect.evaluation import validate
from linkselect.labelling._background import Background, key_of
from linkselect.labelling._pages import Pages
from linkselect.labelling._worker import MOST_ROWS, Worker
from tests.helpers.labellings import begun, grouped

X, y = grouped()
# The other process leaves the processor to whoever else wants it.
SECONDS = 300


@pytest.fixture
def labelling(tmp_path):
    labelling = begun(tmp_path / "pairs.csv", background=True)
    yield labelling
    labelling.close()


def answer_some(labelling, n_answers):
    for _ in range(n_answers):
        a, b = labelling.question()
        labelling.answer((a, b), "alike" if y[a] == y[b] else "different")


@contextmanager
def held(background):
    """Hold up the other process, so that what is asked of it is not there yet."""
    process = background._process.pid
    os.kill(process, signal.SIGSTOP)
    yield
    os.kill(process, signal.SIGCONT)


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def test_answers_are_checked_on_pairs_that_were_not_chosen_by_the_samples(tmp_path):
    rows = [np.flatnonzero(y == group).tolist() for group in range(3)]
    must = [(group[i], group[i + 1]) for group in rows for i in (0, 2, 4)]
    cannot = [(rows[i % 3][6 + i], rows[(i + 1) % 3][6 + i]) for i in range(9)]
    labelling = begun(tmp_path / "p.csv", pairs=Pairs(must, cannot), background=True)
    answer_some(labelling, 10)
    wait_for(lambda: not labelling.background.busy)
    checked = labelling.background.found.checked["estimate"]
    selector = ConsensusSelector(n_features_to_select=3, random_state=0)
    estimate = validate(selector, X, pairs=labelling.queries.pairs).estimate
    assert checked["value"] == pytest.approx(estimate.value)
    assert checked["low"] <= estimate.value <= checked["high"]
    labelling.close()


def test_it_follows_the_answers_and_checks_every_tenth(labelling):
    background = labelling.background
    answer_some(labelling, 20)
    wait_for(lambda: not background.busy)
    found = background.found
    assert found.trouble is None
    pairs = labelling.queries.pairs
    selector = ConsensusSelector(random_state=0).fit(X, pairs=pairs)
    assert found.best == tuple(selector.order_[:3].tolist())
    assert (found.n_answers, found.n_rows) == (20, len(X))
    checked = found.checked
    assert checked["n_answers"] == 20
    assert 0 <= checked["n_kept"] <= checked["n_best"] == 3
    assert checked["estimate"] is None
    assert "it takes 5 randomly drawn must-links" in checked["reason"]
    answer_some(labelling, 1)
    wait_for(lambda: background.found.n_answers == 21)
    assert background.found.checked["n_answers"] == 20, "the last check stays"

    # What ends the other process does not end the page.
    background._process.kill()
    answer_some(labelling, 1)
    wait_for(lambda: not background.busy)
    answer_some(labelling, 1)
    wait_for(lambda: background.found.n_answers == 23)
    assert background.found.trouble is None

    folder = background._folder
    assert folder.exists()
    labelling.close()
    wait_for(lambda: not folder.exists())


def test_nothing_is_asked_for_without_both_kinds():
    background = Background(X, {"names": [], "ids": None}, 3)
    background.rank(1, ([(0, 1)], []), None)
    assert not background.busy
    background.close()


def test_a_process_that_ended_by_itself_is_cleared_away():
    background = Background(X, {"names": [], "ids": None}, 3)
    ended = subprocess.Popen(
        [sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    ended.wait()
    ended.stdin.write(b"a task that it will not read")
    background._process = ended
    assert background._started() is not ended
    assert ended.stdin.closed
    assert ended.stdout.closed
    background.close()


def test_a_report_is_of_the_answers_as_they_are_and_has_its_own_trouble(labelling):
    background = labelling.background
    pages = Pages(labelling, "samples")
    answer_some(labelling, 6)
    wait_for(lambda: not background.busy)
    background._note({"what": "insight", "n_answers": 6}, {"error": "a ranking"})
    with held(background):
        assert "is being made" in pages.finish({})
    first = labelling.ask_for_report()
    wait_for(lambda: labelling.found()[0].report_key == first)
    assert ">Done<" in pages.finish({})
    page = labelling.found()[0].report

    rows = labelling._rows(labelling.queries.history[-1].pair)
    labelling.change(rows, "unsure")
    second = labelling.ask_for_report()
    assert second != first, "as many answers, but not the same"
    wait_for(lambda: labelling.found()[0].report_key == second)
    assert labelling.found()[0].report != page
    labelling.undo()
    assert labelling.ask_for_report() == second, "an unsure answer is no link"

    labelling.change(labelling._rows(labelling.queries.history[-1].pair), None)
    wait_for(lambda: not background.busy)
    key = key_of(links_of(labelling))
    assert key not in (first, second)
    background._note({"what": "report", "key": key}, {"error": "a report"})
    assert "The report failed" in pages.finish({})
    assert "a report" in pages.finish({})
    with held(background):
        assert "is being made" in pages.finish({"again": "yes"})


def test_a_report_comes_first_and_what_it_overtook_comes_then(labelling):
    background = labelling.background
    answer_some(labelling, 9)
    wait_for(lambda: not background.busy)
    # Held up for good: a report that is wanted first ends it.
    os.kill(background._process.pid, signal.SIGSTOP)
    answer_some(labelling, 1)
    wait_for(lambda: background._running is not None)
    key = labelling.ask_for_report()
    assert labelling.ask_for_report() == key
    wait_for(lambda: background.found.report_key == key)
    wait_for(lambda: not background.busy)
    assert background.found.checked["n_answers"] == 10
    assert background.found.trouble is None
    assert background.found.report_trouble is None


def links_of(labelling):
    return labelling._links(labelling.queries.history)


@pytest.mark.parametrize("is_large", [False, True])
def test_the_report_is_of_the_default_selector_unless_that_takes_too_long(tmp_path, is_large):
    np.save(tmp_path / "X.npy", X)
    about = {
        "names": list("abcdefghi"),
        "ids": [f"s{i}" for i in range(len(X))],
        "source": "samples",
        "preparation": None,
        "image_shape": None,
        "is_large": is_large,
    }
    (tmp_path / "about.json").write_text(json.dumps(about))
    groups = [np.flatnonzero(y == group).tolist() for group in range(3)]
    task = {
        "what": "report",
        "must": [group[:2] for group in groups] + [group[2:4] for group in groups],
        "cannot": [list(pair) for pair in zip(*groups[:2], strict=True)][:6],
        "call": "the <call>",
    }
    assert list(Worker(tmp_path).work(task)) == [{"report": "report.html", "alarms": []}]
    page = (tmp_path / "report.html").read_text()
    method = "ConstraintScore" if is_large else "ConsensusSelector"
    assert f"{method} selects" in page
    assert "the &lt;call&gt;" in page
    assert "Cannot validate" in page


def test_it_ends_with_the_server_and_clears_away(tmp_path):
    folder = tmp_path / "linkselect"
    folder.mkdir()
    np.save(folder / "X.npy", X)
    (folder / "about.json").write_text("{}")
    command = [sys.executable, "-m", "linkselect.labelling._worker", str(folder)]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not folder.exists()


def test_many_rows_are_thinned_but_keep_the_named_ones(tmp_path):
    many = np.zeros((3 * MOST_ROWS, 2))
    many[:, 0] = np.arange(len(many))
    np.save(tmp_path / "X.npy", many)
    (tmp_path / "about.json").write_text("{}")
    task = {
        "must": [[0, len(many) - 1]],
        "cannot": [[7, 5000]],
        "adaptive": [[7, 5000]],
        "before": [[[0, len(many) - 1]], []],
    }
    rows, pairs, before = Worker(tmp_path)._some_rows(task)
    assert rows.shape == (MOST_ROWS, 2)
    ((a, b),), ((c, d),) = pairs.must, pairs.cannot
    assert rows[[a, b, c, d], 0].tolist() == [0, len(many) - 1, 7, 5000]
    assert before.must == pairs.must
    assert pairs.adaptive == ((c, d),)


def test_rankings_and_reports_know_which_pairs_are_adaptive(labelling, monkeypatch):
    wanted = []
    monkeypatch.setattr(labelling.background, "_want", wanted.extend)
    answer_some(labelling, 6)
    assert labelling.ask_for_report() is not None
    adaptive = labelling.queries.pairs.adaptive  # rows, as there are no ids
    assert len(adaptive) == 5
    ranking, report = wanted[-2:]
    assert (ranking["n_answers"], report["what"]) == (6, "report")
    assert ranking["adaptive"] == report["adaptive"] == list(adaptive)
