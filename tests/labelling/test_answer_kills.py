"""Kill the process between any two steps of storing and exporting, and again after a restart.

A separate script without threads forks the processes to be killed.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from linkselect import Pairs
from linkselect.asking import PairQueries
from linkselect.labelling._answer_store import AnswerFile
from tests.helpers.labellings import grouped

X, y = grouped(n_samples=20)
N_ANSWERS = 3
STRIDE = 17


def answer(queries):
    a, b = queries.next_pair()
    queries.answer((a, b), "alike" if y[a] == y[b] else "different")


def opened(out):
    file = AnswerFile(out)
    state = file.state()
    if state is None:
        return file, PairQueries(X, random_state=0)
    return file, PairQueries.from_state(X, state)


def work(out, die_at, confirmed):
    """Store and export answers, and die at a given step; write a byte per confirmed answer."""
    steps = count(1)

    def step(*_):
        if next(steps) == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    file, queries = opened(out)
    before = len(queries.history)
    sys.addaudithook(lambda event, _: event.startswith(("open", "os.")) and step())
    file._connection.set_trace_callback(step)
    for number in range(N_ANSWERS):
        answer(queries)
        file.store(queries)
        with suppress(OSError):
            os.write(confirmed, bytes([before + number + 1]))
        if number != 1:
            file.export(queries)
    os._exit(0)


def killed(out, die_at):
    """Return the number of confirmed answers, and whether the process finished."""
    reading, writing = os.pipe()
    if (process := os.fork()) == 0:
        work(out, die_at, writing)
    os.close(writing)
    confirmed = max(os.read(reading, 1000), default=0)
    _, status = os.waitpid(process, 0)
    while more := os.read(reading, 1000):
        confirmed = max(confirmed, *more)
    os.close(reading)
    return confirmed, os.WIFEXITED(status)


def check(out, confirmed):
    """Check that all confirmed answers are stored in order, and that only two files remain."""
    file, queries = opened(out)
    expected = PairQueries(X, random_state=0)
    for _ in queries.history:
        answer(expected)
    assert queries.history == expected.history
    assert confirmed <= len(queries.history)
    if out.exists():
        assert set(Pairs.from_csv(out).must) <= set(queries.pairs.must)
    assert file.close(queries) == ""
    names = {path.name for path in out.parent.iterdir()}
    if queries.history:
        assert names == {"pairs.csv", "pairs.linkselect.sqlite"}
        assert Pairs.from_csv(out) == queries.pairs
    else:
        assert names == set(), names


def kill_everywhere(twice):
    """Kill the process at each step; with `twice`, also at some steps of the next start."""
    n_kills = 0
    for first in count(1):
        for second in count(1 + first % STRIDE, STRIDE) if twice else [0]:
            with TemporaryDirectory() as folder:
                out = Path(folder) / "pairs.csv"
                confirmed, is_over = killed(out, first)
                if is_over:
                    return n_kills
                n_kills += 1
                if twice:
                    again, is_second_over = killed(out, second)
                    confirmed = max(confirmed, again)
                check(out, confirmed)
            if twice and is_second_over:
                break
    return None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="requires os.fork")
@pytest.mark.parametrize("how", ["once", pytest.param("twice", marks=pytest.mark.slow)])
def test_killed_at_every_step(how):
    command = [sys.executable, "-m", "tests.labelling.test_answer_kills", how]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


if __name__ == "__main__":
    sys.stdout.write(str(kill_everywhere(sys.argv[1] == "twice")))
