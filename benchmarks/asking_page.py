"""Measure waiting times: the next question, a click on the page, and the ranking after it.

    python benchmarks/asking_page.py --samples 10000 --features 1000 --answers 60

Answers come from hidden classes. The server runs in this process, and the ranking in another one,
as with `linkselect ask`.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from linkselect.labelling._serving import Server
from linkselect.labelling._session import Ask, begin
from linkselect.labelling._shown_samples import ShownSamples


def make_data(n_samples, n_features, n_classes=6):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_samples)
    X = rng.normal(size=(n_samples, n_features)).astype(np.float64)
    X[:, :20] += 2 * rng.normal(size=(n_classes, 20))[y]
    return X, y


def middle(seconds):
    return f"median {1e3 * np.median(seconds):.0f} ms, largest {1e3 * max(seconds):.0f} ms"


def measure(labelling, address, y, n_answers):
    """Answer the questions of the page by clicks, and wait for every other ranking."""
    clicks, rankings = [], []
    origin = address.split("/", 3)
    headers = {"origin": "/".join(origin[:3])}
    with httpx.Client(base_url=address, headers=headers, follow_redirects=True) as client:
        for number in range(n_answers):
            a, b = labelling.question()
            form = {"a": a, "b": b, "answer": "alike" if y[a] == y[b] else "different"}
            start = time.perf_counter()
            client.post("answer", data=form).raise_for_status()
            clicks.append(time.perf_counter() - start)
            if number % 2:
                continue  # so that some clicks are measured during the ranking
            while labelling.can_rank and labelling.background.found.n_answers <= number:
                time.sleep(0.01)
            rankings.append(time.perf_counter() - start)
    return clicks, rankings


def measure_parts(queries, y, n_answers):
    """Return the seconds until the next question, without a page."""
    questions = []
    for _ in range(n_answers):
        a, b = queries.next_pair()
        start = time.perf_counter()
        queries.answer((a, b), "alike" if y[a] == y[b] else "different")
        queries.next_pair()
        questions.append(time.perf_counter() - start)
    return questions


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=1_000)
    parser.add_argument("--answers", type=int, default=60)
    given = parser.parse_args()
    X, y = make_data(given.samples, given.features)
    names = [f"x{i}" for i in range(given.features)]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        samples = ShownSamples(X, tuple(range(len(X))), names)
        ask = Ask(X, samples, None, None, Path(folder) / "pairs.csv", random_state=0)
        labelling, _ = begin(ask)
        server = Server(labelling, "benchmark")
        server.start()
        labelling.question()
        print(f"start: {time.perf_counter() - start:.1f} s")
        clicks, rankings = measure(labelling, server.address, y, given.answers)
        print(f"click (answer, stored, next page): {middle(clicks)}")
        print(f"ranking after a click: {middle(rankings)}")
        print(f"next question: {middle(measure_parts(labelling.queries, y, given.answers))}")
        server.close()
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"memory of the server with the samples: {largest:.2f} GiB at most")


if __name__ == "__main__":
    main()
