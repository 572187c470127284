"""A fictitious paper, to test reproduction without data and within seconds."""

import sys
import types

from linkselect.reproduction import _papers as papers

TOY_PAPER = """
import time
import numpy as np
from linkselect.reproduction._datasets import load_dataset
from linkselect.reproduction._paper import *

def units(runs):
    return [Unit("toy", d, "Variance", r) for d in ("Wine", "WDBC") for r in range(runs)]

def compute(unit, data_dir):
    load_dataset(unit.dataset, data_dir)
    return {"accuracy": 90 + unit.random().random()}

def cells(results):
    return [
        Cell(d, "Variance", "[best]", "3", 91.0, float(np.mean(
            [r["accuracy"] for u, r in results.items() if u.dataset == d])))
        for d in ("Wine", "WDBC")
    ]

def panels(results):
    return [Panel("Wine", "x", "y", {"Variance": Series([1, 2, 3], [1.0, 2.0, 1.5])})]

def missing(runs):
    return [Unit("toy", "Sonar", "Variance", r) for r in range(runs)]

def claims(results):
    return [Claim("Variance [leads]", True, "by 1 point"), Claim("It rains", False, "it shines")]

PAPER = Paper("toy", "A toy paper", compute,
    {2: PaperTable(2, "Accuracies", units, cells, claims=claims),
     5: PaperTable(5, "Of a set that is not there", missing, cells)},
    {1: Figure(1, "A curve", units, panels)}, default_runs=2)
"""


def add_toy_paper(monkeypatch):
    """Register the paper under the name "toy"; return its module."""
    toy = types.ModuleType("toy_paper")
    exec(TOY_PAPER, vars(toy))
    monkeypatch.setitem(papers.PAPERS, "toy", "toy")
    monkeypatch.setitem(sys.modules, "linkselect.reproduction._papers.toy", toy)
    return toy
