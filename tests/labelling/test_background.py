"""Rankings in the background, always from the latest answers."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_array

from linkselect import LinkSelector, Pairs
from linkselect.evaluation import validate
from linkselect.labelling import _worker
from linkselect.labelling._background import Background, Links, Task
from tests.helpers.labellings import begun, grouped, page_of

X, y = grouped()
# The background process has a low priority, so allow it much time.
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


def process_of(background):
    """Return the id of the background process, which must be idle or not yet started."""
    return background._pool.submit(os.getpid).result(timeout=SECONDS)


@contextmanager
def held(background):
    """Pause the background process, so that requested results are not ready."""
    process = process_of(background)
    os.kill(process, signal.SIGSTOP)
    yield
    os.kill(process, signal.SIGCONT)


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)


def test_answers_are_validated_on_random_pairs(tmp_path):
    rows = [np.flatnonzero(y == group).tolist() for group in range(3)]
    must = [(group[i], group[i + 1]) for group in rows for i in (0, 2, 4)]
    cannot = [(rows[i % 3][6 + i], rows[(i + 1) % 3][6 + i]) for i in range(9)]
    labelling = begun(tmp_path / "p.csv", pairs=Pairs(must, cannot), background=True)
    answer_some(labelling, 10)
    wait_for(lambda: not labelling.background.busy)
    checked = labelling.background.found.checked["estimate"]
    estimate = validate(LinkSelector(3), X, pairs=labelling.queries.pairs).estimate
    assert checked["value"] == pytest.approx(estimate.value)
    assert checked["low"] <= estimate.value <= checked["high"]
    labelling.close()


def test_rankings_follow_the_answers_with_a_check_after_every_tenth(labelling):
    background = labelling.background
    answer_some(labelling, 20)
    wait_for(lambda: not background.busy)
    found = background.found
    assert found.trouble is None
    pairs = labelling.queries.pairs
    selector = LinkSelector(3).fit(X, pairs=pairs)
    assert found.order.tolist() == selector.order_.tolist()
    assert found.path == pytest.approx(selector.path_)
    assert found.best.tolist() == selector.order_[:3].tolist()
    assert found.n_answers == 20
    checked = found.checked
    assert checked["n_answers"] == 20
    assert 0 <= checked["n_kept"] <= checked["n_best"] == 3
    assert checked["estimate"] is None
    assert "at least 5 independent randomly drawn must-links" in checked["reason"]
    answer_some(labelling, 1)
    wait_for(lambda: background.found.n_answers == 21)
    assert background.found.checked["n_answers"] == 20, "the last check is kept"

    # The page survives if the background process is killed.
    os.kill(process_of(background), signal.SIGKILL)
    answer_some(labelling, 1)
    wait_for(lambda: not background.busy)
    answer_some(labelling, 1)
    wait_for(lambda: background.found.n_answers == 23)
    assert background.found.trouble is None


def test_a_killed_process_is_reported_until_the_next_ranking(labelling):
    background = labelling.background
    answer_some(labelling, 6)
    wait_for(lambda: not background.busy)
    process = process_of(background)
    os.kill(process, signal.SIGSTOP)
    answer_some(labelling, 1)
    wait_for(lambda: background._running is not None)
    os.kill(process, signal.SIGKILL)
    wait_for(lambda: not background.busy)
    assert "is there enough memory?" in background.found.trouble
    assert "failed: the computation stopped unexpectedly" in page_of(labelling, "/insight")
    answer_some(labelling, 1)
    wait_for(lambda: background.found.n_answers == 8)
    assert background.found.trouble is None


@pytest.mark.parametrize("at_work", [False, True])
def test_closing_ends_the_process_and_deletes_its_files(labelling, at_work):
    background = labelling.background
    answer_some(labelling, 6)
    wait_for(lambda: not background.busy)
    process = process_of(background)
    folder = background._pool.submit(_folder_of_samples).result(timeout=SECONDS)
    assert folder.exists()
    if at_work:
        os.kill(process, signal.SIGSTOP)
        answer_some(labelling, 1)
        wait_for(lambda: background._running is not None)
    labelling.close()
    wait_for(lambda: not folder.exists())
    wait_for(lambda: not is_running(process))


def _folder_of_samples():
    """Return the folder of the memory-mapped file; runs in the background process."""
    maps = Path("/proc/self/maps").read_text()
    return Path(re.search(r"(/\S*/linkselect-\S+)/samples", maps)[1])


def is_running(process):
    try:
        # A zombie has ended, but its new parent has not waited for it.
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


def test_a_ranking_requires_a_must_link():
    background = Background(X, {}, 3)
    background.rank(1, Links([], [(0, 1)]), None)
    assert not background.busy
    background.rank(2, Links([(0, 1)], []), None)
    wait_for(lambda: background.found.n_answers == 2)
    assert len(background.found.best) == 3
    background.close()


def test_a_report_uses_the_current_answers(labelling):
    background = labelling.background
    answer_some(labelling, 6)
    wait_for(lambda: not background.busy)
    with held(background):
        assert "Preparing the report" in page_of(labelling, "/finish")
    first = labelling.ask_for_report()
    wait_for(lambda: labelling.found()[0].report_key == first)
    assert ">Open the report<" in page_of(labelling, "/finish")
    page = labelling.found()[0].report

    rows = labelling._rows(labelling.queries.history[-1].pair)
    labelling.change(rows, "unsure")
    second = labelling.ask_for_report()
    assert second != first, "the same number of answers, but other ones"
    wait_for(lambda: labelling.found()[0].report_key == second)
    assert labelling.found()[0].report != page
    labelling.undo()
    assert labelling.ask_for_report() == second, "an unsure answer is no link"

    labelling.change(labelling._rows(labelling.queries.history[-1].pair), None)
    wait_for(lambda: not background.busy)
    with held(background):
        key = labelling.ask_for_report()
        assert key not in (first, second)
        assert "Preparing the report" in page_of(labelling, "/finish")
    wait_for(lambda: labelling.found()[0].report_key == key)


def test_a_failed_report_is_reported_and_can_be_repeated(tmp_path):
    labelling = begun(tmp_path / "p.csv", background=True, preparation=Unwritable())
    background = labelling.background
    answer_some(labelling, 6)
    labelling.ask_for_report()
    wait_for(lambda: background.found.report_trouble is not None)
    wait_for(lambda: not background.busy)
    assert "The report failed" in page_of(labelling, "/finish")
    assert "ValueError: no text" in page_of(labelling, "/finish")
    with held(background):
        assert "Preparing the report" in page_of(labelling, "/finish?again=yes")
    wait_for(lambda: not background.busy)
    assert background.found.trouble is None, "errors of reports and rankings are separate"
    labelling.close()


class Unwritable:
    """An object that cannot be converted to text."""

    def __str__(self):
        raise ValueError("no text")


def test_a_report_comes_first_and_interrupted_tasks_follow(labelling):
    background = labelling.background
    answer_some(labelling, 9)
    wait_for(lambda: not background.busy)
    # Paused for good: requesting a report terminates it.
    os.kill(process_of(background), signal.SIGSTOP)
    answer_some(labelling, 1)
    wait_for(lambda: background._running is not None)
    key = labelling.ask_for_report()
    assert labelling.ask_for_report() == key
    wait_for(lambda: background.found.report_key == key)
    wait_for(lambda: not background.busy)
    assert background.found.checked["n_answers"] == 10
    assert background.found.trouble is None
    assert background.found.report_trouble is None


GROUPS = [np.flatnonzero(y == group).tolist() for group in range(3)]
ABOUT = {
    "names": list("abcdefghi"),
    "ids": [f"s{i}" for i in range(len(X))],
    "source": "samples",
    "preparation": None,
    "image_shape": None,
}
MUST = [group[:2] for group in GROUPS] + [group[2:4] for group in GROUPS]
CANNOT = [list(pair) for pair in zip(*GROUPS[:2], strict=True)][:6]


def stored(folder, X):
    joblib.dump((X, ABOUT), folder / "samples")
    return folder / "samples"


def test_better_than_chance_is_compared_with_the_check_before(tmp_path):
    file = stored(tmp_path, X)
    rows = [np.flatnonzero(y == group).tolist() for group in range(3)]
    many = Links(
        [(group[i], group[i + 1]) for group in rows for i in range(0, 10, 2)],
        [(rows[i % 3][10 + i // 3], rows[(i + 1) % 3][14 + i // 3]) for i in range(12)],
    )
    few = Links(many.must[:3], many.cannot[:3])
    chance = Links(many.cannot, many.must)
    checks = [(None, False), (many, True), (few, False), (chance, False)]
    for before, was_better in checks:
        estimate = _worker.check(file, many, before, 3)["estimate"]
        assert estimate["better_than_chance"]
        assert estimate["was_better"] is was_better


@pytest.mark.parametrize("cannot", [CANNOT, []], ids=["both kinds", "must-links"])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_report(tmp_path, kind, cannot):
    found = _worker.report(stored(tmp_path, kind(X)), Links(MUST, cannot), "the <call>")
    page = found["report"].decode()
    assert found["alarms"] == ()
    assert "LinkSelector" in page
    assert "the &lt;call&gt;" in page
    # Must-links alone are validated against random pairs.
    assert ("Cannot validate" in page) == bool(cannot)
    assert '"feature":["' in page
    assert ", named</dd>" in page


SCRIPT = """
import os, signal, sys, time
from tests.helpers.labellings import begun, grouped

X, y = grouped()
labelling = begun(background=True)
background = labelling.background

def answer(n_answers):
    for _ in range(n_answers):
        a, b = labelling.question()
        labelling.answer((a, b), "alike" if y[a] == y[b] else "different")

answer(6)
while background.busy:
    time.sleep(0.05)
assert background.found.path, background.found.trouble
worker = background._pool.submit(os.getpid).result()
os.kill(worker, signal.SIGSTOP)
answer(1)
print(worker, flush=True)
sys.stdin.readline()
if sys.argv[1] == "killed":
    os.kill(worker, signal.SIGCONT)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_task_can_be_cancelled_right_after_submission(labelling, tmp_path):
    background = labelling.background
    answer_some(labelling, 6)
    wait_for(lambda: not background.busy)
    manager = background._pool._executor_manager_thread
    before = background._pool.submit(time.sleep, 0.2)
    before.add_done_callback(lambda _: time.sleep(0.5))  # delays that thread
    wait_for(before.done)
    with background._changed:
        task = Task(_worker.rank, 6, (Links(MUST, CANNOT), 3))
        future = background._submitted(task, stored(tmp_path, X))
        background._end_process()
    # An error in this thread would raise a warning, which fails the test.
    manager.join(SECONDS)
    assert type(future.exception(SECONDS)).__name__ == "ShutdownExecutorError"


@pytest.mark.skipif(not Path("/proc").exists(), reason="requires /proc")
@pytest.mark.parametrize("how", ["ended", "killed"])
def test_a_script_without_a_guard_runs_once_and_leaves_nothing(tmp_path, how):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    page = subprocess.Popen(
        [sys.executable, str(script), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)},
    )
    worker = int(page.stdout.readline())
    assert is_running(worker)
    assert list(temporary.glob("linkselect-*"))
    out, errors = page.communicate("go\n", timeout=SECONDS)
    assert out == ""
    if how == "ended":
        assert (page.returncode, errors) == (0, "")
    wait_for(lambda: not is_running(worker))
    assert not list(temporary.glob("linkselect-*"))


@pytest.mark.filterwarnings("ignore:.*features (is|are) constant")
def test_constant_features_are_not_among_the_best(tmp_path):
    for X, n_best in ((np.column_stack([np.ones(60), y]), 1), (np.ones((60, 2)), 0)):
        file = stored(tmp_path, X)
        _worker._held.cache_clear()
        found = _worker.rank(file, Links(MUST, []), 2)
        assert len(found["path"]) == n_best


def test_rankings_and_reports_receive_adaptive_pairs(labelling):
    answer_some(labelling, 6)
    adaptive = labelling.queries.pairs.adaptive  # rows, as there are no ids
    assert len(adaptive) == 5
    found = {frozenset(pair) for pair in labelling._links().adaptive.tolist()}
    assert found == set(map(frozenset, adaptive))


def test_checks_become_less_frequent():
    background = Background(X, {}, 3)
    wanted = []
    background._want = lambda work, about, *_: wanted.append((work, about))
    for n_answers in range(1, 1001):
        background.rank(n_answers, Links(MUST, CANNOT), None)
    checks = [about for work, about in wanted if work is _worker.check]
    assert checks[:12] == [*range(10, 101, 10), 111, 123]
    assert len(checks) < 45
    assert sum(work is _worker.rank for work, _ in wanted) == 1000
    background.close()
