"""The rankings that follow answers in the background: what is wanted, and what was found last."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse, save_npz

Links = tuple[list[tuple[int, int]], list[tuple[int, int]]]

# How much lower than ours the priority of the other process is: questions come first.
NICER = 10
# The held-out estimate and the change of the best features come with every tenth answer.
EVERY = 10


def key_of(links: Links) -> str:
    """Return what tells links apart from other ones, in whatever order they were answered.

    Examples
    --------
    >>> key_of(([(0, 1)], [(2, 3)])) == key_of(([(1, 0)], [(2, 3)]))
    True
    """
    plain = [sorted(sorted(pair) for pair in some) for some in links]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


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
    report_key : str
        The `key_of` the links that the report knows.
    alarms : tuple of str
        What the report says against the selected features.
    trouble : str or None
        Why the last ranking failed.
    report_trouble : str or None
        Why the last report failed.
    report_trouble_key : str
        The `key_of` the links of the report that failed.
    """

    best: tuple[int, ...] = ()
    n_answers: int = 0
    n_rows: int = 0
    checked: dict[str, Any] | None = None
    report: bytes | None = None
    report_key: str = ""
    alarms: tuple[str, ...] = ()
    trouble: str | None = None
    report_trouble: str | None = None
    report_trouble_key: str = ""


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
        self._overtaken = False  # the process was killed, so that a report comes first
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

    def rank(
        self,
        n_answers: int,
        links: Links,
        before: Links | None,
        adaptive: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Ask for the ranking that so many answers give, and with every tenth for a check.

        Those of the links that are adaptive cannot be held out in the check.
        """
        must, cannot = links
        if not must or not cannot:
            return
        task = {
            "what": "insight",
            "n_answers": n_answers,
            "must": must,
            "cannot": cannot,
            "adaptive": adaptive,
            "before": before if before and all(before) else None,
            "validate": n_answers % EVERY == 0,
            "n_best": self._n_best,
        }
        with self._changed:
            self._want([*_still_wanted(self._wanted, task), task])

    def write_report(
        self,
        links: Links,
        call: str,
        adaptive: Sequence[tuple[int, int]] = (),
        *,
        again: bool = False,
    ) -> str:
        """Ask for the report that links give, unless it is there or has failed; return their key.

        What else is wanted waits until the report is there. With `again`, a report that has failed
        is made again.
        """
        must, cannot = links
        key = key_of(links)
        task = {"what": "report", "key": key, "must": must, "cannot": cannot, "call": call}
        task["adaptive"] = adaptive
        with self._changed:
            if again and self.found.report_trouble_key == key:
                self.found = replace(self.found, report_trouble=None, report_trouble_key="")
            running = self._running
            # One that was killed is underway no more.
            making = [] if running is None or self._overtaken else [running]
            underway = [one.get("key") for one in (*making, *self._wanted[:1])]
            if key in (self.found.report_key, self.found.report_trouble_key, *underway):
                return key
            waiting = [one for one in self._wanted if one["what"] != "report"]
            if running and self._process is not None and not self._overtaken:
                self._overtaken = True
                self._process.kill()
                newest = waiting[-1:] or [running]
                if running["what"] != "report" and running in _still_wanted([running], newest[0]):
                    waiting = [running, *waiting]
            self._want([task, *waiting])
            return key

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
        # A process that has ended is noticed below.
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
        for found in _said(process):
            if found.get("number") != task["number"]:
                continue
            if found.get("done"):
                return
            self._note(task, found)
        # It ended: somebody wanted a report first, or there was not enough memory.
        with self._changed:
            expected = self._overtaken or self._closed
        self._end_process()
        if not expected:
            self._note(task, {"error": "the computation ended early; is there enough memory?"})

    def _note(self, task: dict[str, Any], found: dict[str, Any]) -> None:
        """Keep what was found."""
        with self._changed:
            if task["what"] == "report":
                self.found = self._with_report(task["key"], found)
            else:
                self.found = _with_ranking(self.found, task["n_answers"], found)

    def _with_report(self, key: str, found: dict[str, Any]) -> Found:
        if "report" not in found:
            return replace(self.found, report_trouble=found["error"], report_trouble_key=key)
        assert self._folder is not None
        page = (self._folder / found["report"]).read_bytes()
        return replace(
            self.found,
            report=page,
            report_key=key,
            alarms=tuple(found["alarms"]),
            report_trouble=None,
            report_trouble_key="",
        )

    def _started(self) -> subprocess.Popen[str]:
        with self._changed:
            is_killed = self._overtaken
        if is_killed or (self._process is not None and self._process.poll() is not None):
            self._end_process()
        if self._process is None:
            folder = self._written()
            command = [sys.executable, "-m", "linkselect.labelling._worker", str(folder)]
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
                # What it did not read is still to be written, and cannot be.
                with suppress(BrokenPipeError):
                    if stream is not None:
                        stream.close()
            self._process.wait()
            with self._changed:
                self._process, self._overtaken = None, False


def _still_wanted(tasks: list[dict[str, Any]], newer: dict[str, Any]) -> list[dict[str, Any]]:
    """Leave out rankings that a newer one makes useless; a check only a newer check does."""
    return [
        one
        for one in tasks
        if one is newer or one["what"] == "report" or (one["validate"] and not newer["validate"])
    ]


def _with_ranking(before: Found, n_answers: int, found: dict[str, Any]) -> Found:
    """Add what a ranking and its check found."""
    now = replace(before, trouble=found.get("error"))
    if "best" in found:
        best = tuple(found["best"])
        now = replace(now, best=best, n_answers=n_answers, n_rows=found["n_rows"])
    if "n_kept" in found or "estimate" in found:
        same = now.checked is not None and now.checked["n_answers"] == n_answers
        known = now.checked if same else {"estimate": None, "reason": None, "n_kept": None}
        now = replace(now, checked={**(known or {}), **found, "n_answers": n_answers})
    return now


def _said(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Yield what the other process says, until it ends."""
    assert process.stdout is not None
    for line in process.stdout:
        with suppress(json.JSONDecodeError):  # half a line of a process that was killed
            yield json.loads(line)


def _environment() -> dict[str, str]:
    """Let the other process find the library that we are, wherever it was imported from."""
    import linkselect

    ours = str(Path(linkselect.__file__).parents[1])
    given: Sequence[str] = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(given)}
