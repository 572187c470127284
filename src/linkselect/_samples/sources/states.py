"""Detection of files that change after being opened, and errors for opening and reading files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from linkselect._messages import GuidedValueError, many

State = tuple[int, int, int]


def missing(label: str, path: str) -> GuidedValueError:
    """Return the error for a file that does not exist."""
    name = Path(path).name
    where = "" if path == name else f" at {path}"
    named = label if name in label else f"{label}, file {name},"
    return GuidedValueError(f"{named} was not found{where}.", parameter="X")


def is_a(X: Any, name: str) -> bool:
    """Return whether X is of the type with the given name, without importing its library."""
    module, _, kind = name.rpartition(".")
    known = getattr(sys.modules.get(module), kind, None)
    return isinstance(known, type) and isinstance(X, known)


def package_for(path: Path, package: str, extra: str = "dask") -> Any:
    """Import the package that reads a file.

    Raise an error if the file or the package is missing.
    """
    if not path.exists():
        raise missing(path.name, str(path))
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(
            f"{path.name} needs {package}, which is not installed: "
            f"pip install 'linkselect[{extra}]'"
        ) from None


def two_dimensional(shape: tuple[int, ...], label: str) -> tuple[int, int]:
    """Return a shape unchanged; raise an error unless it has two dimensions."""
    if len(shape) != 2:
        raise GuidedValueError(
            f"{label} has {many(len(shape), 'dimension')}, but samples x features are required.",
            "Store it as a matrix, for example after reshape(n_samples, -1).",
            "X",
        )
    return shape[0], shape[1]


def state_of(path: str) -> State | None:
    """Return the size, modification time and inode of a file; None if it does not exist.

    The inode is included because a file that replaces another file may have the same size and
    modification time.
    """
    try:
        state = Path(path).stat()
    except FileNotFoundError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino


@dataclass(frozen=True)
class FileState:
    """State of a file at the time when it was opened.

    Attributes
    ----------
    path, label : str
        The path of the file, and the name used for it in messages.
    state : tuple of int or None
        See `state_of`.
    """

    path: str
    label: str
    state: State | None

    @classmethod
    def of(cls, path: Path, label: str) -> FileState:
        """Record the state of a file; raise an error if the file does not exist."""
        found = cls(str(path.absolute()), label, state_of(str(path)))
        if found.state is None:
            raise missing(label, str(path))
        return found

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed since it was opened."""
        state = state_of(self.path)
        if state is None and self.state is not None:
            raise missing(self.label, self.path)
        if state != self.state:
            raise GuidedValueError(
                f"{self.label} changed while it was being read.",
                "No model was fitted. Fit again when no other program writes to it.",
                "X",
            )
