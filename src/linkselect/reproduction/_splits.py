"""Splits into training and test rows, and random supervision of the training rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._messages import many
from linkselect.pairs import Pairs

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]


def _members(y: NDArray[Any]) -> list[Rows]:
    """Return the rows of each class, in the same order as in the file."""
    return [np.flatnonzero(y == label) for label in np.unique(y)]


def _split(y: NDArray[Any], train: list[Rows]) -> Split:
    rows = np.sort(np.concatenate(train))
    return rows, np.setdiff1d(np.arange(len(y)), rows)


def first_half(y: NDArray[Any]) -> Split:
    """Use the first half of each class, rounded up, for training and the rest for testing.

    Returns
    -------
    train, test : arrays of row numbers, ascending

    Examples
    --------
    >>> import numpy as np
    >>> from linkselect.reproduction import first_half
    >>> train, test = first_half(np.array([0, 0, 1, 1, 1, 0]))
    >>> train.tolist(), test.tolist()
    ([0, 1, 2, 3], [4, 5])
    """
    return _split(y, [rows[: (len(rows) + 1) // 2] for rows in _members(y)])


def first_part(y: NDArray[Any], n_train: int) -> Split:
    """Use the first rows of each class for training, `n_train` rows in total.

    The number of training rows from each class is proportional to the size of the class, rounded by
    the largest remainder method.
    """
    members = _members(y)
    shares = np.array([len(rows) * n_train / len(y) for rows in members])
    sizes = np.floor(shares).astype(int)
    short = n_train - sizes.sum()
    sizes[np.argsort(sizes - shares, kind="stable")[:short]] += 1
    return _split(y, [rows[:size] for rows, size in zip(members, sizes, strict=True)])


def every_second(y: NDArray[Any]) -> Split:
    """Use the 1st, 3rd, 5th, ... row of each class for training and the rest for testing."""
    return _split(y, [rows[::2] for rows in _members(y)])


def stratified_half(y: NDArray[Any], random: np.random.Generator) -> Split:
    """Use a random half of each class, rounded up, for training and the rest for testing."""
    return _split(y, [random.permutation(rows)[: (len(rows) + 1) // 2] for rows in _members(y)])


def fixed_size(y: NDArray[Any], n_per_class: int, random: np.random.Generator) -> Split:
    """Use `n_per_class` random rows of each class for training and the rest for testing.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The class of each row.
    n_per_class : int
        The number of training rows per class.
    random : numpy Generator
        The random number generator for the draw.

    Returns
    -------
    train, test : arrays of row numbers, ascending
    """
    return _split(y, [prototypes(y, n_per_class, random)])


def prototypes(y: NDArray[Any], p: int, random: np.random.Generator) -> Rows:
    """Draw `p` random rows of each class, whose labels are treated as known.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The class of each row.
    p : int
        The number of rows per class.
    random : numpy Generator
        The random number generator for the draw.

    Returns
    -------
    array of row numbers, ascending
    """
    members = _members(y)
    smallest = min(map(len, members))
    if p > smallest:
        raise ValueError(f"p={p}, but the smallest class has only {many(smallest, 'row')}.")
    drawn = [random.choice(rows, p, replace=False) for rows in members]
    return np.sort(np.concatenate(drawn))


def random_pairs(y: NDArray[Any], n_must: int, n_cannot: int, random: np.random.Generator) -> Pairs:
    """Draw must-links within classes and cannot-links between them, uniformly at random.

    Parameters
    ----------
    y : array of shape (n_samples,)
        The class of each row.
    n_must, n_cannot : int
        The number of pairs of each kind.
    random : numpy Generator
        The random number generator for the draw.

    Returns
    -------
    Pairs
        The pairs, identified by row numbers.
    """
    seed = int(random.integers(2**32))
    return Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed)
