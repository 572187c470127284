"""What takes longer than a question may wait: rankings and reports, in a process of their own.

The page's server starts it as a program and sends it one line of JSON for each task; it answers in
lines of JSON. It ends with the server, however that ends.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Task = dict[str, Any]

# On more rows a ranking is of those that answers name and others drawn at random: it should follow
# answers in seconds, not in minutes.
MOST_ROWS = 2000


def main(folder: Path) -> None:
    """Read tasks from the standard input until it ends."""
    _end_with_parent(folder)
    try:
        worker = Worker(folder)
        for line in sys.stdin:
            _do(worker, json.loads(line))
    except BrokenPipeError:
        # Nobody listens any more; what is left to say should not make Python complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        # The server has ended, or it would have sent more or killed us.
        shutil.rmtree(folder, ignore_errors=True)


def _do(worker: Worker, task: Task) -> None:
    try:
        for found in worker.work(task):
            _say({"number": task["number"], **found})
    except BrokenPipeError:
        raise
    except Exception as error:
        _say({"number": task["number"], "error": f"{type(error).__name__}: {error}"})
    _say({"number": task["number"], "done": True})


def _say(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def _end_with_parent(folder: Path) -> None:
    """End, and clear away, when the server has ended without a word."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


class Worker:
    """Holds the samples and does tasks.

    Parameters
    ----------
    folder : Path
        Where the samples are (`X.npy` or `X.npz`) and what is known of them (`about.json`), and
        where reports go.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if (folder / "X.npy").exists():
            self.X: Any = np.load(folder / "X.npy", mmap_mode="r")
        else:
            from scipy.sparse import load_npz

            self.X = load_npz(folder / "X.npz")
        self.about = json.loads((folder / "about.json").read_text("utf-8"))

    def work(self, task: Task) -> Iterator[dict[str, Any]]:
        """Do a task; yield what was found, one thing after the other."""
        return self._report(task) if task["what"] == "report" else self._insight(task)

    def _insight(self, task: Task) -> Iterator[dict[str, Any]]:
        X, pairs, before = self._some_rows(task)
        order = _ranked(X, pairs).order_
        n_best = task["n_best"]
        best = order[:n_best].tolist()
        yield {"best": best, "n_rows": int(X.shape[0])}
        if not task["validate"]:
            return
        if before is not None:
            earlier = set(_ranked(X, before).order_[:n_best].tolist())
            yield {"n_kept": len(earlier & set(best)), "n_best": n_best}
        yield _estimate(X, pairs, n_best)

    def _some_rows(self, task: Task) -> tuple[Any, Any, Any]:
        """Return at most so many rows, and the pairs between them by their new numbers."""
        from linkselect.pairs import Pairs

        n_samples = self.X.shape[0]
        named = np.unique(np.array(task["must"] + task["cannot"], dtype=np.intp))
        n_more = max(0, min(n_samples, MOST_ROWS) - len(named))
        others = np.setdiff1d(np.arange(n_samples), named, assume_unique=True)
        drawn = np.random.default_rng(0).permutation(others)[:n_more]
        rows = np.sort(np.concatenate([named, drawn]))
        number = {row: place for place, row in enumerate(rows.tolist())}

        def pairs(links: Any, adaptive: Any = ()) -> Pairs:
            must, cannot, chosen = (
                [(number[a], number[b]) for a, b in one] for one in (*links, adaptive)
            )
            return Pairs(must, cannot, adaptive=chosen)

        before = task.get("before")
        return (
            self.X[rows],
            pairs((task["must"], task["cannot"]), task.get("adaptive", ())),
            None if before is None else pairs(before),
        )

    def _selector(self) -> Any:
        from linkselect.selectors import ConsensusSelector, ConstraintScore

        return ConstraintScore() if self.about["is_large"] else ConsensusSelector(random_state=0)

    def _report(self, task: Task) -> Iterator[dict[str, Any]]:
        from linkselect.evaluation import validate
        from linkselect.pairs import Pairs
        from linkselect.report import summarize, write_report

        about = self.about
        ids = about["ids"]
        name = (lambda row: ids[row]) if ids is not None else int
        must, cannot, adaptive = (
            [(name(a), name(b)) for a, b in task.get(kind, ())]
            for kind in ("must", "cannot", "adaptive")
        )
        pairs = Pairs(must, cannot, adaptive=adaptive)
        X = self.X if hasattr(self.X, "tocsr") else np.asarray(self.X)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            selector = self._selector().fit(X, pairs=pairs, sample_ids=ids)
            seconds = time.perf_counter() - start
        selector.feature_names_in_ = np.array(about["names"], dtype=object)
        found = validate(selector, X, pairs=pairs, sample_ids=ids)
        summary = summarize(
            selector,
            X,
            pairs=pairs,
            sample_ids=ids,
            source=about["source"],
            call=task["call"],
            preparation=about["preparation"],
            image_shape=about["image_shape"],
            warnings=list(dict.fromkeys(str(one.message) for one in caught)),
            seconds=seconds,
            view=not about["is_large"],
            validation=found,
        )
        write_report(summary, self.folder / "report.html")
        yield {"report": "report.html", "alarms": summary["alarms"]}


def _ranked(X: Any, pairs: Any) -> Any:
    from linkselect.selectors import ConsensusSelector

    return ConsensusSelector(random_state=0).fit(X, pairs=pairs)


def _estimate(X: Any, pairs: Any, n_best: int) -> dict[str, Any]:
    """Return how well the best features do on held-out pairs, or why that is not known."""
    from linkselect.evaluation import validate
    from linkselect.selectors import ConsensusSelector

    found = validate(ConsensusSelector(n_features_to_select=n_best, random_state=0), X, pairs=pairs)
    if found.estimate is None:
        return {"estimate": None, "reason": found.reason}
    value, error = found.estimate.value, found.estimate.standard_error
    return {
        "estimate": {
            "value": value,
            "low": max(0.0, value - 2 * error),
            "high": min(1.0, value + 2 * error),
            "chance": found.estimate.chance,
            "better_than_chance": found.better_than_chance,
        },
        "reason": found.reason,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
