"""Simulate a person who answers questions about pairs: order of questions, and when to stop.

Prints the tables of docs/asking_simulation.md, and with `--write` puts them there. Results are kept
in a file, so the same command resumes after an interruption. `--speed` measures instead how long
the next question takes.

    python benchmarks/asking.py --write    # about 1.5 hours on one core
    python benchmarks/asking.py --speed

Half of the rows (at most 200) are asked about, the other half (at most 200) tests, as in
pairs_alone.py. After certain numbers of answers LinkSelector ranks the features from the answered
pairs; 1-NN and a linear SVM test the first 5 to 50.
"""

import argparse
import os
import resource
import sys
import time
import warnings
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from asking_advice import advice_tables, course, looks
from asking_orders import TRIED
from asking_person import PERSONS, SETS, answered, ranked, run, stored, tested
from asking_tables import ANSWERS, FINALISTS, order_tables
from linkselect.asking import STRATEGIES, PairQueries, _strategies
from measured_pages import show
from pairs_alone import read, split

PAGE = Path(__file__).parents[1] / "docs" / "asking_simulation.md"
PUBLIC = tuple(STRATEGIES)
# A variant that measures the cost of drawing every fifth question at random.
EVERY, NONE_DRAWN = _strategies.EVERY, ", no question drawn"
ALL = (*PUBLIC, *TRIED, "grow" + NONE_DRAWN)
# Draws of the orders that were tried, and of the course of states after every ten answers.
TRIED_DRAWS, COURSE_DRAWS = 2, 3
# Number of tables of noise, and their numbers of classes.
N_NOISE, CLASSES = 200, (2, 3)


def order(name, draw, person, strategy):
    """Measure one order of questions: accuracies, and the answers of each kind."""
    data = split(*read(name), draw)
    found, kinds = [], []
    asked = strategy.removesuffix(NONE_DRAWN)
    _strategies.EVERY = EVERY if asked == strategy else sys.maxsize
    questions = answered(data.X, data.y, asked, draw, person, max(ANSWERS))
    for number, queries in enumerate(questions, start=1):
        if number in ANSWERS:
            found.append(tested(data, ranked(data.X, queries.pairs).order_))
            kinds.append(list(queries.counts.values()))
    _strategies.EVERY = EVERY
    return {"accuracy": found, "answers": kinds}


def jobs(n_draws):
    """Yield all units of work."""
    for draw in range(n_draws):
        orders = ALL if draw < TRIED_DRAWS else FINALISTS
        yield from product(["order"], SETS, [draw], PERSONS, orders)
        if draw < COURSE_DRAWS:
            yield from product(["course"], SETS, [draw], PERSONS)
    yield from product(["noise"], range(N_NOISE), CLASSES, ("grow", "random"))


def speed(n_samples, n_features, n_answers=100, n_classes=10):
    """Print the time of the start, and of the next question after an answer."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    y = rng.integers(n_classes, size=n_samples)
    X[:, :n_classes] += 2.0 * np.eye(n_classes, dtype=np.float32)[y]
    for strategy in PUBLIC:
        began = time.perf_counter()
        queries = PairQueries(X, strategy=strategy, random_state=0)
        start = time.perf_counter() - began
        asking = []
        pair = queries.next_pair()
        for _ in range(n_answers):
            began = time.perf_counter()
            queries.answer(pair, "alike" if y[pair[0]] == y[pair[1]] else "different")
            pair = queries.next_pair()
            asking.append(1000 * (time.perf_counter() - began))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{n_samples:,} x {n_features:,} {strategy}: start {start:.1f} s; next question "
            f"{np.median(asking):.1f} ms (longest {max(asking):.0f}); peak memory {peak:.2f} GB",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=("order", "course", "noise"))
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.speed:
        for shape in ((10_000, 1_000), (70_000, 784), (500, 20_000)):
            speed(*shape)
        return
    STRATEGIES.update(TRIED)
    warnings.simplefilter("ignore")
    wanted = [job for job in jobs(options.draws) if options.only is None or job[0] in options.only]
    run(wanted, {"order": order, "course": course, "noise": looks})
    if options.only is None:
        found = stored()
        units = {job: found[job] for job in wanted}
        show(order_tables(units, ALL) | advice_tables(units), PAGE, options.write)


if __name__ == "__main__":
    main()
