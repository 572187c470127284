"""Estimate how often the winner of a row of rank sums agrees between repeated draws.

`python benchmarks/winners.py OUT` reads the runs of tables 2 and 5 of the similarity score paper
that `linkselect reproduce` stored in OUT, draws 100 of them with replacement, twice, and counts the
rows in which both draws have the same winner. The published winners are also those of 100 draws, so
a reproduction can be expected to agree with them as often, or less where few runs are stored.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from linkselect.reproduction._papers import load_paper
from linkselect.reproduction._papers.similarity_2020 import tables
from linkselect.reproduction._papers.similarity_2020.methods import CONSTRAINT_SCORES
from linkselect.reproduction._papers.similarity_2020.protocol import curves_of, setups_of, values_at
from linkselect.reproduction._published import published
from linkselect.reproduction._store import Store

PAPER = load_paper(tables.NAME)
N_RUNS = 100
N_DRAWS = 1000


def rows_of(number, experiment, out):
    """Return for each row the ranks of the methods in each run, and the published winner."""
    store = Store(out / "results.sqlite", PAPER.name, protocol=PAPER.protocol_text)
    found = store.find(PAPER.tables[number].units(N_RUNS))
    curves = curves_of({unit: stored.result for unit, stored in found.items()})
    sums = {}
    for cell in published(PAPER.name, number):
        sums.setdefault((cell.dataset, tables.p_of(cell.setting)), {})[cell.method] = cell
    rows = []
    for (dataset, p), cells in sums.items():
        wanted = setups_of(experiment, [dataset], CONSTRAINT_SCORES[experiment], [p])
        if (dataset, p) != tables.NOT_COMPARABLE and all(setup in curves for setup in wanted):
            m = int(next(iter(cells.values())).n_features)
            runs = [values_at(curves[setup], m) for setup in wanted]
            n_runs = min(map(len, runs))
            accuracies = np.array([values[:n_runs] for values in runs])
            values = np.array([cells[setup.method].value for setup in wanted])
            ranks = rankdata(-accuracies.round(6), axis=0, method="min")
            rows.append((ranks, values == values.min()))
    return rows


def winners(rows, rng):
    """Mark the smallest rank sum in each row, over runs drawn with replacement."""
    marks = []
    for ranks, _ in rows:
        sums = ranks[:, rng.integers(ranks.shape[1], size=N_RUNS)].sum(axis=1)
        marks.append(sums == sums.min())
    return marks


def n_shared(first, second):
    return sum(bool((a & b).any()) for a, b in zip(first, second, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    rng = np.random.default_rng(0)
    for number, experiment in ((2, "prototypes"), (5, "clustering")):
        rows = rows_of(number, experiment, out)
        as_published = [mark for _, mark in rows]
        draws = [(winners(rows, rng), winners(rows, rng)) for _ in range(N_DRAWS)]
        ours = np.mean([n_shared(first, second) for first, second in draws])
        theirs = np.mean([n_shared(first, as_published) for first, _ in draws])
        print(
            f"Table {number}: of {len(rows)} winners, two draws of {N_RUNS} of our runs share "
            f"{ours:.1f}; one draw and the paper share {theirs:.1f}."
        )


if __name__ == "__main__":
    main()
