"""The machine and the versions as text, and a fingerprint of the code."""

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info

FOLDER = Path(__file__).parents[1]
PACKAGES = ("linkselect", "numpy", "scipy", "numba", "pandas")
ALTERNATIVES = (
    "scikit-learn",
    "skfeature-chappers",
    "skrebate",
    "fast-select",
    "mrmr-selection",
    "mlxtend",
    "fastcan",
)


def processor():
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory():
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return "unknown"
    return f"{total / 2**30:.0f} GiB"


def cores():
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def describe():
    """Return the properties of the machine that matter for comparisons."""
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    kernels = ", ".join(
        sorted({f"{b['internal_api']} {b['version']} {b.get('architecture', '')}" for b in blas})
    )
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    return {
        "processor": f"{processor()}, {cores()} cores",
        "memory": memory(),
        "system": f"{system}, Python {platform.python_version()}",
        "BLAS": kernels,
        "versions": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "alternatives": ", ".join(f"{name} {version(name)}" for name in ALTERNATIVES),
    }


def fingerprint(description, tasks):
    """Return a hash of the code, the tasks and the machine.

    The text of tables is excluded: it may change without measuring again.
    """
    parts = sorted(description.items())
    parts += sorted((name, task.sizes, task.warm, task.repeats) for name, task in tasks.items())
    digest = hashlib.sha256(repr(parts).encode())
    measured = [FOLDER / "against" / name for name in ("problems.py", "contenders.py", "worker.py")]
    for file in sorted((FOLDER.parent / "src" / "linkselect").rglob("*.py")) + measured:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]
