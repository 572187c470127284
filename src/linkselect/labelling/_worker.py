"""Compute rankings, checks and reports in a background process.

Each function receives the file of the samples and links between rows, and returns a dict of
results.
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

from linkselect.labelling._advice import advice
from linkselect.pairs import Pairs
from linkselect.selectors import LinkSelector

Found = dict[str, Any]

# Decrease in priority relative to the page, which must stay responsive.
NICER = 10


def start(parent: int, folder: Path) -> None:
    """Initialise a process that has low priority, writes no output and ends with its parent.

    Parameters
    ----------
    parent : int
        The ID of the parent, the process that serves the page. Unless killed, the parent ends this
        process.
    folder : Path
        The folder to delete if the parent is killed.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    # The page handles Ctrl-C and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if hasattr(os, "nice"):
        os.nice(NICER)


@cache
def _held(file: Path) -> tuple[Any, dict[str, Any]]:
    """Return the memory-mapped samples and their description."""
    X, about = joblib.load(file, mmap_mode="c")
    return X.view(np.ndarray) if isinstance(X, np.memmap) else X, about


def rank(file: Path, links: Any, n_best: int) -> Found:
    """Rank the features; compute the cumulative proportion of differences the best ones explain."""
    selector = _fitted(_held(file)[0], links, n_best)
    path = selector.path_[np.isfinite(selector.path_)]  # empty if all features are constant
    return {"order": selector.order_, "path": tuple(path.tolist())}


def check(file: Path, links: Any, before: Any, n_best: int) -> Found:
    """Validate the best features on held-out pairs, and compare them with those of `before`.

    With a check after every ten answers, even an uninformative ranking would eventually appear
    better than chance. The page therefore requires two consecutive significant checks.
    """
    X, _ = _held(file)
    found = _validated(X, links, n_best)
    n_kept, was_better = None, False
    if before is not None:
        n_kept = int(_fitted(X, before, n_best).support_[[*found.selected]].sum())
        if found.better_than_chance:
            was_better = _validated(X, before, n_best).better_than_chance is True
    return {
        "n_kept": n_kept,
        "n_best": n_best,
        "advice": advice(n_kept, n_best, is_trusted=was_better),
        "estimate": None if found.estimate is None else _measured(found, was_better=was_better),
        "reason": found.reason,
    }


def _validated(X: Any, links: Any, n_best: int) -> Any:
    from linkselect.evaluation import validate

    # The page does not show selection frequencies, so no resamples are needed.
    return validate(LinkSelector(n_best), X, pairs=_pairs(links), n_resamples=0)


def _measured(found: Any, *, was_better: bool) -> dict[str, Any]:
    value, error = found.estimate.value, found.estimate.standard_error
    return {
        "value": value,
        "margin": 2 * error,
        "low": max(0.0, value - 2 * error),
        "high": min(1.0, value + 2 * error),
        "chance": found.estimate.chance,
        "better_than_chance": found.better_than_chance,
        "was_better": was_better,
    }


def report(file: Path, links: Any, call: str) -> Found:
    """Write the report on all features."""
    from linkselect.evaluation import validate
    from linkselect.report import render, summarize

    X, about = _held(file)
    ids = about["ids"]
    pairs = _pairs(links, ids)
    selector = LinkSelector()
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
        validation=validate(selector, X, pairs=pairs, sample_ids=ids),
    )
    return {"report": render(summary).encode(), "alarms": tuple(summary["alarms"])}


def _fitted(X: Any, links: Any, n_best: int) -> LinkSelector:
    return LinkSelector(n_best).fit(X, pairs=_pairs(links))


def _pairs(links: Any, ids: Any = None) -> Pairs:
    named = links if ids is None else [[(ids[a], ids[b]) for a, b in some] for some in links]
    must, cannot, adaptive = named
    return Pairs(must, cannot, adaptive=adaptive)
