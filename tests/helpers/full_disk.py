"""Simulate a full disk for one process."""

import resource
from contextlib import contextmanager


@contextmanager
def files_of_at_most(size):
    """Make every write beyond a size fail."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
