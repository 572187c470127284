"""The rankings that follow answers in the background: what is wanted, and what was found last."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse, save_npz

__all__ = ["Background", "Found", "Links"]

Links = tuple[list[tuple[int, int]], list[tuple[int, int]]]

# How much lower than ours the priority of the other process is: questions come first.
NICER = 10
# The held-out estimate and the change of the best features come with every tenth answer.
EVERY = 10


@dataclass(frozen=True)
class Found:
    """What the background knows.

    Attributes
    ----------
    best : tuple of int
        The best features by the default selector.
    n_answers : int
        How many answers that ranking knows.
    n_rows : int
        On how many samples it was made.
    checked : dict or None
        `estimate`, `reason`, `n_kept`, `n_best` and `n_answers` of the last check.
    report : bytes or None
        The report, once it was asked for and made.
    report_answers : int
        How many answers the report knows.
    trouble : str or None
        Why the last task failed.
    """

    best: tuple[int, ...] = ()
    n_answers: int = 0
    n_rows: int = 0
    checked: dict[str, Any] | None = None
    report: bytes | None = None
    report_answers: int = -1
    trouble: str | None = None


class Background:
    """Ranks features by the default selector, one ranking after the other, always of the newest.

    Parameters
    ----------
    X : array or sparse matrix
        The samples as they are ranked.
    about : dict
        What the report says of them: `names`, `ids`, `source`, `preparation`, `image_shape`.
    n_best : int
        How many features are called the best.
    """

    def __init__(self, X: Any, about: dict[str, Any], n_best: int) -> None:
        self._X = X
        self._about = about
        self._n_best = n_best
        self._changed = threading.Condition()
        self._wanted: list[dict[str, Any]] = []
        self._running: dict[str, Any] | None = None
        self._closed = False
        self._number = 0
        self._process: subprocess.Popen[str] | None = None
        self._folder: Path | None = None
        self.found = Found()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether something is wanted that is not there yet."""
        with self._changed:
            return bool(self._wanted) or self._running is not None

    def rank(self, n_answers: int, links: Links, before: Links | None) -> None:
        """Ask for the ranking that so many answers give, and with every tenth for a check."""
        must, cannot = links
        if not must or not cannot:
            return
        task = {
            "what": "insight",
            "n_answers": n_answers,
            "must": must,
            "cannot": cannot,
            "before": before if before and all(before) else None,
            "validate": n_answers % EVERY == 0,
            "n_best": self._n_best,
        }
        with self._changed:
            # A newer ranking takes the place of one that waits, but a check is not left out.
            waiting = [one for one in self._wanted if one["what"] == "report" or one["validate"]]
            if task["validate"]:
                waiting = [one for one in waiting if one["what"] == "report"]
            self._want([*waiting, task])

    def write_report(self, n_answers: int, links: Links, call: str) -> None:
        """Ask for the report that so many answers give; what else is wanted can wait."""
        must, cannot = links
        task = {
            "what": "report",
            "n_answers": n_answers,
            "must": must,
            "cannot": cannot,
            "call": call,
        }
        with self._changed:
            running = self._running
            if self.found.report_answers == n_answers:
                return
            if running and (running["what"], running["n_answers"]) == ("report", n_answers):
                return
            self._want([task, *(one for one in self._wanted if one["what"] != "report")])
            if running and self._process is not None:
                self._process.kill()

    def _want(self, tasks: list[dict[str, Any]]) -> None:
        self._wanted = tasks
        self._changed.notify_all()

    def close(self) -> None:
        """End the other process, and clear away its files."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            if self._process is not None:
                self._process.kill()
        self._thread.join(timeout=5.0)

    def _serve(self) -> None:
        try:
            while (task := self._next()) is not None:
                try:
                    self._do(task)
                except OSError as error:
                    self._note(task, {"error": str(error)})
                with self._changed:
                    self._running = None
        finally:
            self._end_process()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _next(self) -> dict[str, Any] | None:
        with self._changed:
            while not self._wanted and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            self._number += 1
            self._running = {**self._wanted.pop(0), "number": self._number}
            return self._running

    def _do(self, task: dict[str, Any]) -> None:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self._end_process()
            return
        for line in process.stdout:
            found = json.loads(line)
            if found.get("number") != task["number"]:
                continue
            if found.get("done"):
                return
            self._note(task, found)
        # It ended: somebody wanted a report first, or there was not enough memory.
        self._end_process()
        with self._changed:
            overtaken = any(one["what"] == "report" for one in self._wanted) or self._closed
        if not overtaken:
            self._note(task, {"error": "the computation ended early; is there enough memory?"})

    def _note(self, task: dict[str, Any], found: dict[str, Any]) -> None:
        """Keep what was found."""
        n_answers = task["n_answers"]
        with self._changed:
            now = replace(self.found, trouble=found.get("error"))
            if "best" in found:
                best = tuple(found["best"])
                now = replace(now, best=best, n_answers=n_answers, n_rows=found["n_rows"])
            if "n_kept" in found or "estimate" in found:
                same = now.checked is not None and now.checked["n_answers"] == n_answers
                known = now.checked if same else {"estimate": None, "reason": None, "n_kept": None}
                now = replace(now, checked={**(known or {}), **found, "n_answers": n_answers})
            if "report" in found:
                assert self._folder is not None
                page = (self._folder / found["report"]).read_bytes()
                now = replace(now, report=page, report_answers=n_answers)
            self.found = now

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            folder = self._written()
            command = [sys.executable, "-m", "linkselect.labelling.worker", str(folder)]
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                env=_environment(),
                # Ctrl-C is for the server, which ends this process in its own way.
                start_new_session=True,
            )
            if hasattr(os, "setpriority"):
                os.setpriority(os.PRIO_PROCESS, process.pid, NICER)
            with self._changed:
                self._process = process
                if self._closed:
                    process.kill()
        assert self._process is not None
        return self._process

    def _written(self) -> Path:
        """Write the samples once, for the other process to map into its memory."""
        if self._folder is None:
            folder = Path(tempfile.mkdtemp(prefix="linkselect-"))
            self._folder = folder
            if issparse(self._X):
                save_npz(folder / "X.npz", self._X, compressed=False)
            else:
                np.save(folder / "X.npy", self._X)
            (folder / "about.json").write_text(json.dumps(self._about), encoding="utf-8")
        return self._folder

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process.wait()
            self._process = None


def _environment() -> dict[str, str]:
    """Let the other process find the library that we are, wherever it was imported from."""
    import linkselect

    ours = str(Path(linkselect.__file__).parents[1])
    given: Sequence[str] = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(given)}
