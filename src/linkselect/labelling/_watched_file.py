"""A file that is ours while the page runs: noticing that something else moved or changed it."""

from collections.abc import Callable
from pathlib import Path

Look = tuple[int, ...]
UNKNOWN: Look = (-1,)  # as no file looks


class WatchedFile:
    """Tells whether a file is as we left it, by how it looks, and by its content if that differs.

    Parameters
    ----------
    path : Path
        The file.
    holds_ours : callable
        Tells whether the file holds what we wrote.
    beside : Path, optional
        Another file that must stay where it is, whatever it holds.

    Attributes
    ----------
    is_told : bool
        Whether the person knows that the file is gone or was changed.
    """

    def __init__(
        self, path: Path, holds_ours: Callable[[], bool], beside: Path | None = None
    ) -> None:
        self.path = path
        self.is_told = False
        self._holds_ours = holds_ours
        self._beside = beside
        self._left = self._look()

    def note(self) -> None:
        """Keep how the file looks as we left it."""
        self._left = self._look()
        self.is_told = False

    def is_in_place(self) -> bool:
        """Tell whether the file is still the same one, whatever it holds."""
        now = self._look()
        return now is not None and self._left is not None and now[0] == self._left[0]

    def condition(self) -> str:
        """Return "ours", "gone" or "changed"."""
        now = self._look()
        if now == self._left:
            self.is_told = False
            return "ours"
        if now is None:
            return "gone"
        if self._holds_ours():  # it was only touched, or copied back
            self.note()
            return "ours"
        self._left = UNKNOWN  # so that the content decides next time, too
        return "changed"

    def complaint(self) -> str:
        """Return what the person must know before another answer is taken; empty if nothing.

        That the file is gone is said once: if it is not put back then, it is meant to be written
        anew.
        """
        condition = self.condition()
        if condition == "ours" or (condition == "gone" and self.is_told):
            return ""
        self.is_told = True
        if condition == "gone":
            return (
                f"{self.path} was moved or deleted while this page was open. Put it back and "
                "answer again. Without it, the next answer writes it anew, with all earlier ones."
            )
        return (
            f"{self.path} was changed by something else while this page was open, and is not "
            "written over. Put it back as it was, or move it away; then answer again. Once it is "
            "away, it is written anew, with all earlier answers."
        )

    def _look(self) -> Look | None:
        """Return what changes with the file; None if there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        beside = 0
        if self._beside is not None and self._beside.exists():
            beside = self._beside.stat().st_ino
        return found.st_ino, found.st_size, found.st_mtime_ns, beside
