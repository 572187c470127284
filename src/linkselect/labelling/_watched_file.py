"""Detect that another program has moved or changed a file while the page is open."""

from collections.abc import Callable
from pathlib import Path

Look = tuple[int, ...]
UNKNOWN: Look = (-1,)  # matches no file


class WatchedFile:
    """A file whose changes are detected by inode, size and time, then by content.

    Parameters
    ----------
    path : Path
        The file.
    holds_ours : callable
        A function that returns whether the file contains what this process wrote.
    beside : Path, optional
        Another file that must stay in place, whatever its content.

    Attributes
    ----------
    is_reported : bool
        Whether the user has been informed that the file is missing or was changed.
    """

    def __init__(
        self, path: Path, holds_ours: Callable[[], bool], beside: Path | None = None
    ) -> None:
        self.path = path
        self.is_reported = False
        self._holds_ours = holds_ours
        self._beside = beside
        self._left = self._look()

    def note(self) -> None:
        """Record that this process wrote the current state of the file."""
        self._left = self._look()
        self.is_reported = False

    def is_in_place(self) -> bool:
        """Return whether the path still refers to the same file, whatever its content."""
        now = self._look()
        return now is not None and self._left is not None and now[0] == self._left[0]

    def condition(self) -> str:
        """Return the condition of the file: "ours", "gone" or "changed"."""
        now = self._look()
        if now == self._left:
            self.is_reported = False
            return "ours"
        if now is None:
            return "gone"
        if self._holds_ours():  # only touched, or copied back
            self.note()
            return "ours"
        self._left = UNKNOWN  # so that the next call also compares the content
        return "changed"

    def complaint(self) -> str:
        """Return the reason why the next answer cannot be stored, or "" if it can.

        A missing file is reported once. If it is still missing at the next answer, a new file is
        written.
        """
        condition = self.condition()
        if condition == "ours" or (condition == "gone" and self.is_reported):
            return ""
        self.is_reported = True
        if condition == "gone":
            return (
                f"{self.path} was moved or deleted while this page was open. Put the file back and "
                "answer again. Otherwise, the next answer creates a new file with all answers."
            )
        return (
            f"{self.path} was changed by another program while this page was open and will not be "
            "overwritten. Restore the file or move it to another folder, then answer again. Once "
            "it has been moved, a new file with all answers is created."
        )

    def _look(self) -> Look | None:
        """Return the inode, size and time of the file, or None if it does not exist."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        beside = 0
        if self._beside is not None and self._beside.exists():
            beside = self._beside.stat().st_ino
        return found.st_ino, found.st_size, found.st_mtime_ns, beside
