"""A file that is ours while the page runs: noticing that something else moved or changed it."""

from collections.abc import Callable
from pathlib import Path

UNKNOWN = (-1, -1, -1)  # as no file looks


class WatchedFile:
    """Tells whether a file is as we left it, by how it looks, and by its content if that differs.

    Parameters
    ----------
    path : Path
        The file.
    holds_ours : callable
        Tells whether the file holds what we wrote.

    Attributes
    ----------
    is_told : bool
        Whether the person knows that the file is gone or was changed.
    """

    def __init__(self, path: Path, holds_ours: Callable[[], bool]) -> None:
        self.path = path
        self.is_told = False
        self._holds_ours = holds_ours
        self._left = _look(path)

    def note(self) -> None:
        """Keep how the file looks as we left it."""
        self._left = _look(self.path)
        self.is_told = False

    def condition(self) -> str:
        """Return "ours", "gone" or "changed"."""
        now = _look(self.path)
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


def _look(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
