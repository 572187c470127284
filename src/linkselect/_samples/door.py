"""Conversion of any supported input X to a `Samples` object for its kind of storage."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from linkselect._samples.device import OnDevice
from linkselect._samples.devices import device_of
from linkselect._samples.parts import Parts
from linkselect._samples.samples import Samples
from linkselect._samples.sources.annotated import is_annotated, names_of, unwrapped
from linkselect._samples.sources.opening import find_stored
from linkselect._samples.sparse import Sparse


def as_samples(X: Any) -> Samples:
    """Wrap X, without a copy, in the `Samples` class for its kind of storage."""
    if isinstance(X, Samples):
        return X
    if type(X) is np.ndarray:
        return Samples(X)
    if (parts := as_parts(X)) is not None:
        return parts
    X = unwrapped(X)
    if issparse(X):
        return Sparse(X)
    if (here := device_of(X)) is not None:
        return OnDevice(here, X)
    return Samples(np.asarray(X))


def as_parts(X: Any) -> Parts | None:
    """Return X as `Parts` if it is stored outside memory, otherwise None."""
    if isinstance(X, Parts):
        return X
    if type(X) is np.ndarray:
        return None
    stored = find_stored(X)
    return None if stored is None else Parts(stored)


def matrix_and_names(X: Any) -> tuple[Any, Any]:
    """Return the matrix and feature names of an AnnData object, or X and None for other types."""
    if type(X) is np.ndarray or not is_annotated(X):
        return X, None
    return unwrapped(X), names_of(X)
