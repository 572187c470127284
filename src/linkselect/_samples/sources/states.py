"""Files as they were when they were opened, and the errors of opening and reading them."""

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
    where = "" if path == name else f", at {path}"
    named = label if name in label else f"{label}, file {name},"
    return GuidedValueError(f"{named} is not there{where}.", parameter="X")


def is_a(X: Any, name: str) -> bool:
    """Whether X is of a type; it can only be so if the library was imported."""
    module, _, kind = name.rpartition(".")
    known = getattr(sys.modules.get(module), kind, None)
    return isinstance(known, type) and isinstance(X, known)


def package_for(path: Path, package: str, extra: str = "dask") -> Any:
    """Import the package that reads a file or folder, which must exist."""
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
    """Return the shape, which must be one of samples and features."""
    if len(shape) != 2:
        raise GuidedValueError(
            f"{label} has {many(len(shape), 'dimension')}, but samples x features are two.",
            "Store it with two dimensions, such as by reshape(n_samples, -1).",
            "X",
        )
    return shape[0], shape[1]


def state_of(path: str) -> State | None:
    """Return the size of a file, the time of its last change and its inode; None if none is there.

    A file that another one replaced may have the same size and time, but not the same inode.
    """
    try:
        state = Path(path).stat()
    except FileNotFoundError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino


@dataclass(frozen=True)
class FileState:
    """One file as it was when it was opened.

    Attributes
    ----------
    path, label : str
        Where it is, and what messages call it.
    state : tuple of int or None
        See `state_of`.
    """

    path: str
    label: str
    state: State | None

    @classmethod
    def of(cls, path: Path, label: str) -> FileState:
        """Look at a file, which must exist."""
        found = cls(str(path.absolute()), label, state_of(str(path)))
        if found.state is None:
            raise missing(label, str(path))
        return found

    def check_unchanged(self) -> None:
        """Raise an error if the file is not what it was."""
        state = state_of(self.path)
        if state is None and self.state is not None:
            raise missing(self.label, self.path)
        if state != self.state:
            raise GuidedValueError(
                f"{self.label} changed while it was read.",
                "Nothing was fitted. Fit again when no program writes to it.",
                "X",
            )
