"""Limit the memory that a table may use, before and while it is read."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkselect.cli._errors import UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# A table is in memory up to three times: as read, as one matrix, and scaled.
_COPIES = 3
# Memory that libraries take while they read.
_OVERHEAD = 256 << 20
_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")


def parse_size(text: str) -> int:
    """Convert a size such as "500MB" or "2GB", or a number of bytes, to bytes.

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
        raise UsageError(f"--max-memory {text!r} is not a size. For example, write 500MB or 4GB.")
    return size


def readable_size(n_bytes: float) -> str:
    """Format a number of bytes with a unit.

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
    """Return the memory in bytes for reading and scaling a table of this shape."""
    return int(_COPIES * n_rows * n_columns * itemsize)


def available_memory() -> int | None:
    """Return the memory in bytes that is available without swapping, or None if unknown."""
    found = [_system_size("meminfo", "MemAvailable"), _cgroup_left()]
    return min((size for size in found if size is not None), default=None)


def _system_size(file: str, name: str) -> int | None:
    """Look up a size in a file in /proc, and return it in bytes."""
    try:
        lines = (_PROC / file).read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if name in line), None)


def _cgroup_left() -> int | None:
    try:
        most = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        # Cached files count as used, but the system frees them on demand.
        kept = {"active_file", "inactive_file"}
        cached = sum(int(size) for name, size in map(str.split, lines) if name in kept)
        return max(0, most - used + cached)
    except (OSError, ValueError):  # no such group, or "max": no limit
        return None


def memory_limit(max_memory: str | None) -> int:
    """Return the limit in bytes: `max_memory`, or three quarters of the available memory."""
    if max_memory is not None:
        return parse_size(max_memory)
    available = available_memory()
    return available * 3 // 4 if available else 4 << 30


@contextmanager
def limited_memory(limit: int) -> Iterator[None]:
    """Limit the memory of this process; exceeding the limit raises MemoryError."""
    try:
        import resource
    except ImportError:  # not on this system, where only the checks of sizes apply
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    bounds = [size for size in before if size != resource.RLIM_INFINITY]
    used = _system_size("self/status", "VmData") or 1 << 30
    most = min(used + limit + _OVERHEAD, 2**62, *bounds)
    resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
