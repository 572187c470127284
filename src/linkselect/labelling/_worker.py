"""What takes longer than a question may wait: rankings and reports, in a process of their own.

Each function gets the file of the samples, the links by row, and returns what it found by name.
"""

import os
import shutil
import signal
import threading
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from linkselect.pairs import Pairs

Found = dict[str, Any]

# How much lower than the page's the priority of this process is: questions come first.
NICER = 10
# On more rows a ranking is of those that answers name and others drawn at random: it should follow
# answers in seconds, not in minutes.
MOST_ROWS = 2000
# If at least this share of the best features stayed, the next answers change little.
MOSTLY = 0.8


def start(parent: int, folder: Path) -> None:
    """Begin a process that leaves the processor to others, says nothing, and ends with its parent.

    Parameters
    ----------
    parent : int
        The process of the page, which ends this one unless it is killed itself.
    folder : Path
        What to clear away in that case.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    # Ctrl-C is for the page, which ends this process in its own way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if hasattr(os, "nice"):
        os.nice(NICER)


@cache
def _held(file: Path) -> tuple[Any, dict[str, Any]]:
    """Map the samples into memory; also return what is known of them."""
    X, about = joblib.load(file, mmap_mode="c")
    return X.view(np.ndarray) if isinstance(X, np.memmap) else X, about


def rank(file: Path, links: Any, n_best: int) -> Found:
    """Find the best features."""
    X, pairs = _some_rows(file, links)
    return {"best": _best(X, pairs, n_best), "n_rows": int(X.shape[0])}


def compare(file: Path, links: Any, before: Any, n_best: int) -> Found:
    """Count how many of the best features were among the best before."""
    X, pairs, earlier = _some_rows(file, links, before)
    kept = {*_best(X, pairs, n_best)} & {*_best(X, earlier, n_best)}
    return {"n_kept": len(kept), "n_best": n_best, "mostly_kept": len(kept) >= MOSTLY * n_best}


def estimate(file: Path, links: Any, n_best: int) -> Found:
    """Measure how well the best features do on held-out pairs, or say why that is not known."""
    from linkselect.evaluation import validate
    from linkselect.selectors import ConsensusSelector

    X, pairs = _some_rows(file, links)
    found = validate(ConsensusSelector(n_features_to_select=n_best, random_state=0), X, pairs=pairs)
    if found.estimate is None:
        return {"estimate": None, "reason": found.reason}
    value, error = found.estimate.value, found.estimate.standard_error
    measured = {
        "value": value,
        "low": max(0.0, value - 2 * error),
        "high": min(1.0, value + 2 * error),
        "chance": found.estimate.chance,
        "better_than_chance": found.better_than_chance,
    }
    return {"estimate": measured, "reason": found.reason}


def report(file: Path, links: Any, call: str) -> Found:
    """Write the report of the default selector, or of a quick one if there are many values."""
    from linkselect.evaluation import validate
    from linkselect.report import render, summarize
    from linkselect.selectors import ConsensusSelector, ConstraintScore

    X, about = _held(file)
    ids = about["ids"]
    pairs = _pairs(links, range(X.shape[0]) if ids is None else ids)
    selector = ConstraintScore() if about["is_large"] else ConsensusSelector(random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begin = time.perf_counter()
        selector.fit(X, pairs=pairs, sample_ids=ids)
        seconds = time.perf_counter() - begin
    summary = summarize(
        selector,
        X,
        pairs=pairs,
        sample_ids=ids,
        feature_names=about["names"],
        source=about["source"],
        call=call,
        preparation=about["preparation"],
        image_shape=about["image_shape"],
        warnings=list(dict.fromkeys(str(one.message) for one in caught)),
        seconds=seconds,
        view=not about["is_large"],
        validation=validate(selector, X, pairs=pairs, sample_ids=ids),
    )
    return {"report": render(summary).encode(), "alarms": tuple(summary["alarms"])}


def _some_rows(file: Path, *links: Any) -> tuple[Any, ...]:
    """Return at most so many rows, and the pairs between them by their new numbers."""
    X, _ = _held(file)
    must, cannot, _ = links[0]
    named = np.unique(np.array([*must, *cannot], dtype=np.intp))
    n_more = max(0, min(X.shape[0], MOST_ROWS) - len(named))
    others = np.setdiff1d(np.arange(X.shape[0]), named, assume_unique=True)
    drawn = np.random.default_rng(0).permutation(others)[:n_more]
    rows = np.sort(np.concatenate([named, drawn]))
    number = {row: place for place, row in enumerate(rows.tolist())}
    return (X[rows], *(_pairs(some, number) for some in links))


def _pairs(links: Any, names: Any) -> Pairs:
    must, cannot, adaptive = ([(names[a], names[b]) for a, b in some] for some in links)
    return Pairs(must, cannot, adaptive=adaptive)


def _best(X: Any, pairs: Pairs, n_best: int) -> tuple[int, ...]:
    from linkselect.selectors import ConsensusSelector

    order = ConsensusSelector(random_state=0).fit(X, pairs=pairs).order_
    return tuple(order[:n_best].tolist())
