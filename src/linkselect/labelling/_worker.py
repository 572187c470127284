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

from linkselect.labelling._advice import advice
from linkselect.pairs import Pairs
from linkselect.selectors import LinkSelector

Found = dict[str, Any]

# How much lower than the page's the priority of this process is: questions come first.
NICER = 10


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
    """Order the features, and tell how much the best of them explain together."""
    selector = _fitted(_held(file)[0], links, n_best)
    path = selector.path_[np.isfinite(selector.path_)]  # without any if all features are constant
    return {"order": selector.order_, "path": tuple(path.tolist())}


def check(file: Path, links: Any, before: Any, n_best: int) -> Found:
    """Measure the best features on held-out pairs, and compare them with those of a check before.

    Who looks after every ten answers finds a ranking that knows nothing better than chance sooner
    or later: that counts only if it was so in the check before as well.
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

    # Nothing on the page tells how often features are selected again on resamples.
    return validate(LinkSelector(n_best), X, pairs=_pairs(links), n_resamples=0)


def _measured(found: Any, *, was_better: bool) -> dict[str, Any]:
    value, error = found.estimate.value, found.estimate.standard_error
    return {
        "value": value,
        "low": max(0.0, value - 2 * error),
        "high": min(1.0, value + 2 * error),
        "chance": found.estimate.chance,
        "better_than_chance": found.better_than_chance,
        "was_better": was_better,
    }


def report(file: Path, links: Any, call: str) -> Found:
    """Write the report of all features."""
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
