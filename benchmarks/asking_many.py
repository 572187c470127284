"""Measure ten thousand answers over HTTP: time per answer, and memory of the server.

    python benchmarks/asking_many.py --answers 10000

The server is `linkselect ask` on a table of hidden classes, with the ranking in the background. A
click is what a browser does: it sends the answer and fetches the page with the next question.
Memory is the anonymous memory of the server process.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from asking_kills import SECONDS_TO_ANSWER, Page, asked, write_table

ENDS = 100


def held(process):
    """Return the anonymous memory of a process, in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 2**10


def measure(page, y, n_answers, at):
    """Answer by clicks; return the seconds of each, and the memory after some of them."""
    clicks, memory = [], {}
    origin = "/".join(page.address.split("/", 3)[:3])
    headers = {"origin": origin, "x-window": "one"}
    with httpx.Client(
        base_url=page.address,
        headers=headers,
        trust_env=False,
        follow_redirects=True,
        timeout=SECONDS_TO_ANSWER,
    ) as client:
        shown = client.get("")
        for number in range(1, n_answers + 1):
            a, b = asked(shown.text)
            form = {"a": a, "b": b, "answer": "alike" if y[a] == y[b] else "different"}
            start = time.perf_counter()
            shown = client.post("answer", data=form).raise_for_status()
            clicks.append(time.perf_counter() - start)
            if number in at:
                memory[number] = held(page.process.pid)
        start = time.perf_counter()
        client.get("answers").raise_for_status()
        listed = time.perf_counter() - start
    return clicks, memory, listed


def middle(seconds):
    return f"{1e3 * np.median(seconds):.1f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=10_000)
    given = parser.parse_args()
    at = [given.answers // 10, given.answers]
    with tempfile.TemporaryDirectory() as folder:
        table, y = write_table(Path(folder), given.samples)
        page = Page(table, Path(folder) / "pairs.csv")
        clicks, memory, listed = measure(page, y, given.answers, at)
        start = time.perf_counter()
        page.stop()
        end = time.perf_counter() - start
    print(f"{len(clicks):,} answers: {sum(clicks):.0f} s, longest click {max(clicks):.2f} s")
    print(f"median click: first {ENDS} {middle(clicks[:ENDS])}, last {middle(clicks[-ENDS:])}")
    print("memory: " + ", ".join(f"{size:.0f} MiB at {n:,}" for n, size in memory.items()))
    print(f"list of all answers: {listed:.1f} s; end: {end:.1f} s")


if __name__ == "__main__":
    main()
