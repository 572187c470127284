"""Files as they were when they were opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from linkselect._messages import GuidedValueError, many


def changed(label: str) -> GuidedValueError:
    """Return the error for a file that is not what it was."""
    return GuidedValueError(
        f"{label} changed while it was read.",
        "Nothing was fitted. Fit again when nobody writes to it.",
        "X",
    )


def missing(label: str, path: str) -> GuidedValueError:
    """Return the error for a file that is not there."""
    name = Path(path).name
    where = "" if path == name else f", at {path}"
    named = label if name in label else f"{label}, file {name},"
    return GuidedValueError(f"{named} is not there{where}.", parameter="X")


def needs(package: str, name: str) -> ImportError:
    """Return the error for a file that cannot be read without a package."""
    return ImportError(
        f"{name} needs {package}, which is not installed: pip install 'linkselect[dask]'"
    )


def two_dimensional(shape: tuple[int, ...], label: str) -> tuple[int, int]:
    """Return the shape, which must be one of samples and features."""
    if len(shape) != 2:
        raise GuidedValueError(
            f"{label} has {many(len(shape), 'dimension')}, but samples x features are two.",
            "Store it with two dimensions, such as by reshape(n_samples, -1).",
            "X",
        )
    return shape[0], shape[1]


@dataclass(frozen=True)
class FileState:
    """A file, its size and the time of its last change.

    Attributes
    ----------
    path, label : str
        Where it is, and what messages call it.
    size, changed_ns, number : int
        What the file system says of it; the number is the file's own, if there is one.
    """

    path: str
    label: str
    size: int
    changed_ns: int
    number: int

    @classmethod
    def of(cls, path: str, label: str) -> FileState:
        """Look at a file."""
        try:
            state = Path(path).stat()
        except FileNotFoundError:
            raise missing(label, path) from None
        absolute = str(Path(path).absolute())
        return cls(absolute, label, state.st_size, state.st_mtime_ns, state.st_ino)

    def check_unchanged(self) -> None:
        """Raise an error if the file is not what it was."""
        if FileState.of(self.path, self.label) != self:
            raise changed(self.label)

    def opened(self) -> BinaryIO:
        """Open the file without a buffer."""
        try:
            return cast("BinaryIO", Path(self.path).open("rb", buffering=0))
        except FileNotFoundError:
            raise missing(self.label, self.path) from None
