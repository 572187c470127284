"""Check that no answer is lost when a server is killed, or when two windows answer at once.

    python benchmarks/asking_kills.py --kills 50 --windows 200

The server is `linkselect ask`, killed by SIGKILL at random moments while answers come in. After
each kill the same command must resume: its pairs must contain every confirmed answer, and no other
file may remain. Answers come from hidden classes.
"""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np

from linkselect import Pairs

# Files that may be in the folder; after a kill also SQLite's log, which the next start reads.
KEPT = {"table.csv", "pairs.csv", "pairs.linkselect.sqlite"}
LOG = "pairs.linkselect.sqlite-wal"
SECONDS_TO_START = 300
# A busy machine answers late.
SECONDS_TO_ANSWER = 120
# Long enough for several answers, and short enough to interrupt one.
LONGEST = 2.0
TAKEN = re.compile(r"note=(alike|different|unsure|same)\b")


def write_table(folder, n_samples=10_000):
    """Write a table of rows in six groups; return its path and the groups."""
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=n_samples)
    X = rng.normal(size=(n_samples, 8))
    X[:, :4] += 3 * rng.normal(size=(6, 4))[y]
    path = folder / "table.csv"
    header = ",".join(f"x{i}" for i in range(X.shape[1]))
    np.savetxt(path, X, delimiter=",", header=header, comments="", fmt="%.5f")
    return path, y


class Page:
    """A running `linkselect ask`."""

    def __init__(self, table, out):
        command = [sys.executable, "-m", "linkselect", "ask", str(table), "--out", str(out)]
        self.process = subprocess.Popen(
            [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        timer = threading.Timer(SECONDS_TO_START, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if not line.startswith("Open http"):
            raise RuntimeError(f"The server did not start: {line}{self.process.stderr.read()}")
        self.address = line.split()[1]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self):
        """Send Ctrl-C; return the last output."""
        self.process.send_signal(signal.SIGINT)
        return self._end()

    def _end(self):
        said, _ = self.process.communicate(timeout=SECONDS_TO_START)
        return said


def asked(text):
    """Return the two rows that a page asks about, or None if no question is left."""
    found = [re.search(rf'name="{name}" value="(\d+)"', text) for name in "ab"]
    return None if None in found else tuple(int(one[1]) for one in found)


def answer(address, y, confirmed, most, stop):
    """Answer questions until `stop` is set; add confirmed answers as (a, b, answer)."""
    origin = "/".join(address.split("/", 3)[:3])
    headers = {"origin": origin, "x-window": str(threading.get_ident())}
    client = httpx.Client(
        base_url=address, headers=headers, trust_env=False, timeout=SECONDS_TO_ANSWER
    )
    n_answers = 0
    try:
        with client:
            while n_answers < most and not stop.is_set():
                rows = asked(client.get("").text)
                if rows is None:
                    return
                a, b = rows
                said = "alike" if y[a] == y[b] else "different"
                response = client.post("answer", data={"a": a, "b": b, "answer": said})
                if TAKEN.search(response.headers.get("location", "")):
                    confirmed.append((a, b, said))
                    n_answers += 1
    except httpx.TransportError:  # the server was killed
        return


def lost(out, confirmed):
    """Return the confirmed answers that are missing in the CSV file."""
    if not confirmed:
        return []
    pairs = Pairs.from_csv(out)
    there = {
        "alike": set(map(frozenset, pairs.must)),
        "different": set(map(frozenset, pairs.cannot)),
    }
    return [one for one in confirmed if frozenset(one[:2]) not in there[one[2]]]


def left_over(folder):
    return sorted({path.name for path in folder.iterdir()} - KEPT)


def kill_often(folder, n_kills, seed=0):
    """Kill the server at random moments.

    Returns the number of confirmed answers, the lost ones, and remaining files.
    """
    table, y = write_table(folder)
    out = folder / "pairs.csv"
    moments = np.random.default_rng(seed).uniform(0, LONGEST, size=n_kills)
    confirmed, missing, left = [], [], []
    for moment in moments:
        page = Page(table, out)
        missing += lost(out, confirmed)  # a start updates the pairs
        worker = threading.Thread(
            target=answer, args=(page.address, y, confirmed, 10**6, threading.Event())
        )
        worker.start()
        time.sleep(moment)
        page.kill()
        worker.join()
        left += [name for name in left_over(folder) if name != LOG]
    page = Page(table, out)
    before = len(confirmed)
    answer(page.address, y, confirmed, 3, threading.Event())
    page.stop()
    assert len(confirmed) == before + 3, "asking does not resume"
    return len(confirmed), missing + lost(out, confirmed), left + left_over(folder)


def answer_twice(folder, n_answers):
    """Answer from two windows at once; return the numbers of answers, and the lost ones."""
    table, y = write_table(folder)
    out = folder / "pairs.csv"
    page = Page(table, out)
    confirmed = [[], []]
    windows = [
        threading.Thread(target=answer, args=(page.address, y, mine, n_answers, threading.Event()))
        for mine in confirmed
    ]
    for window in windows:
        window.start()
    for window in windows:
        window.join()
    page.stop()
    both = [*confirmed[0], *confirmed[1]]
    return len(both), len(set(both)), lost(out, both)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--windows", type=int, default=200, help="answers of each of two windows")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        n_confirmed, missing, left = kill_often(Path(folder), given.kills)
        print(
            f"{given.kills} kills: {n_confirmed} answers confirmed, {len(missing)} lost, "
            f"{len(left)} files left over"
        )
    with tempfile.TemporaryDirectory() as folder:
        n_all, n_once, missing_here = answer_twice(Path(folder), given.windows)
        print(f"two windows: {n_all} answers to {n_once} questions, {len(missing_here)} lost")
    sys.exit(bool(missing or missing_here or left))


if __name__ == "__main__":
    main()
