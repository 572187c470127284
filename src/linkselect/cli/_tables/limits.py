"""How much memory a table may take, known before it is read and held while it is."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linkselect.cli._errors import InputError, UsageError

try:
    from lzma import LZMAError
except ImportError:  # some builds of Python lack it, and zipfile then says so

    class LZMAError(Exception):  # type: ignore[no-redef]
        """What is never raised."""


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# What a damaged zip archive raises: RuntimeError if it is locked by a password, NotImplementedError
# for a way to compress that Python does not know, OSError for bzip2.
DAMAGED_ARCHIVE = (
    *(zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, ValueError),
    *(RuntimeError, NotImplementedError, OverflowError),
)
# A table is held as it is read, as one matrix, and scaled.
_COPIES = 3
# To turn a CSV file of so many columns into Parquet takes Arrow 30 KB for each, and fails if
# their names do not fit in a block.
_MANY_COLUMNS = 10_000
# A name that a shell takes as it is, inside double quotes.
_PLAIN_NAME = re.compile(r"[\w.,@ -]+")
# What libraries take for themselves while they read.
_OVERHEAD = 256 << 20
_CGROUP = Path("/sys/fs/cgroup")


def parse_size(text: str) -> int:
    """Turn "500MB", "2GB" or a number of bytes into bytes.

    Examples
    --------
    >>> parse_size("2GB") == 2 * 1024**3
    True
    """
    found = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    try:
        size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise UsageError(f"--max-memory {text!r} is not a size. Write 500MB or 4GB.")
    return size


def readable_size(n_bytes: float) -> str:
    """Write a number of bytes for people.

    Examples
    --------
    >>> readable_size(3 * 1024**3)
    '3.0 GB'
    """
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:,.1f} TB"


def bytes_needed(n_rows: float, n_columns: float, itemsize: int = 8) -> int:
    """Return the bytes that so many numbers take while a table is read and scaled."""
    return int(_COPIES * n_rows * n_columns * itemsize)


def available_memory() -> int | None:
    """Return the bytes that can be had without swapping; None if the system does not tell."""
    found = [_meminfo(), _cgroup_left()]
    known = [size for size in found if size is not None]
    return min(known) if known else None


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if "MemAvailable" in line), None)


def _cgroup_left() -> int | None:
    try:
        most = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        # Copies of files count as used, but make room for whoever needs it.
        kept = {"active_file", "inactive_file"}
        copies = sum(int(size) for name, size in map(str.split, lines) if name in kept)
        return max(0, most - used + copies)
    except (OSError, ValueError):  # no such group, or "max": no limit
        return None


@dataclass(frozen=True)
class Budget:
    """The bytes that reading one table may take."""

    limit: int
    source: str

    @classmethod
    def of(cls, max_memory: str | None, source: str) -> Budget:
        """Take the limit that was asked for, or three quarters of what is available."""
        if max_memory is not None:
            return cls(parse_size(max_memory), source)
        available = available_memory()
        return cls(available * 3 // 4 if available else 4 << 30, source)

    def check(self, n_rows: float, n_columns: float, itemsize: int = 8) -> None:
        """Refuse a table of this many numbers if it does not fit."""
        needed = bytes_needed(n_rows, n_columns, itemsize)
        if needed > self.limit:
            self.refuse(
                f"it holds about {n_rows:,.0f} rows x {n_columns:,.0f} columns, "
                f"which needs {readable_size(needed)}",
                by_parts=n_columns < _MANY_COLUMNS or _has_parts(self.source),
            )

    def check_bytes(self, n_bytes: int, what: str) -> None:
        """Refuse something of this many bytes if it does not fit."""
        if n_bytes > self.limit:
            self.refuse(f"{what} unpacks to {readable_size(n_bytes)}")

    def refuse(
        self, why: str, *, by_parts: bool = True, fewer: str = "fewer rows or columns"
    ) -> None:
        """Raise the error that says why a table does not fit, and whether parts of it would."""
        raise InputError(
            f"{self.source}: too large for the memory that may be used "
            f"({readable_size(self.limit)}): {why}. Allow more with --max-memory, or make the "
            f"table smaller: {fewer}.{_other_way(self.source) if by_parts else ''}"
        )

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Make the system refuse memory beyond the limit: what a file declares may be a lie."""
        try:
            import resource
        except ImportError:  # not on this system; the running count must do
            yield
            return
        before = resource.getrlimit(resource.RLIMIT_DATA)
        allowed = min(_data_size() + self.limit + _OVERHEAD, 2**62)
        most = allowed if before[1] == resource.RLIM_INFINITY else min(allowed, before[1])
        if before[0] != resource.RLIM_INFINITY:
            most = min(most, before[0])
        resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
        try:
            yield
        except MemoryError:
            self.refuse("reading it took more than that")
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, before)


def _has_parts(source: str) -> bool:
    """Tell whether a table is of a kind that can be read by parts; a folder has no ending."""
    return Path(source).suffix.lower() in (".parquet", ".pq", ".npy", ".zarr", "")


def _other_way(source: str) -> str:
    """Say how a table of another kind can be read by parts."""
    if _has_parts(source):
        return " Only linkselect rank reads such tables by parts."
    path = Path(source)
    said = " linkselect rank reads Parquet by parts, whatever its size"
    kinds = {".csv": "csv", ".feather": "feather", ".arrow": "feather"}
    kind = kinds.get(path.suffix.lower())
    if kind is None or not _PLAIN_NAME.fullmatch(source):
        return f"{said}: save the table so."
    code = (
        f"import pyarrow.dataset as d; d.write_dataset(d.dataset({source!r}, format={kind!r}), "
        f"{path.stem!r}, format='parquet')"
    )
    commas = ", if commas separate its columns" if kind == "csv" else ""
    return f'{said}. This, where the table is, writes a folder of it{commas}: python -c "{code}"'


def _data_size() -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 1 << 30
    return next((int(line.split()[1]) << 10 for line in lines if "VmData" in line), 1 << 30)
