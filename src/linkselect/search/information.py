"""Entropy, mutual information (natural logarithm) and symmetric uncertainty, by counting.

One bit per sample and state: a table of two variables is then a few words of `and` and
`bitwise_count`, in a thirty-second of the memory of one-hot codes in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.arrays import BoolArray, FloatArray, IntArray

__all__ = ["DECIMALS", "Discrete", "mutual_information", "symmetric_uncertainty"]

# A table costs (states x states x samples / 64) word operations by bits and about one or two per
# sample by sorting. Up to here the bits win.
STATES_AS_BITS = 16
CELLS_AS_BITS = 256
# Information is compared after rounding to this many decimals: far coarser than the rounding of the
# sums, so that features that tie in exact arithmetic tie here too, and go by index.
DECIMALS = 11


@dataclass(frozen=True)
class Discrete:
    """Hold discrete features, ready to be counted.

    Attributes
    ----------
    states : ndarray of int of shape (n_samples, n_features)
        Small non-negative integers.
    n_states : ndarray of shape (n_features,)
        One more than the largest state.
    entropy : ndarray of shape (n_features,)
        The entropy of each feature.
    bits : ndarray of uint64 of shape (at most 16, n_samples / 64, n_features)
        Bit i of word w is set where sample `64 w + i` is in the state. All zero for a feature
        with more states, which is counted by sorting: its bits would take memory quadratic in
        the number of samples.
    """

    states: NDArray[np.integer[Any]]
    n_states: IntArray
    entropy: FloatArray
    bits: NDArray[np.uint64]

    @classmethod
    def of(cls, states: NDArray[np.integer[Any]]) -> Discrete:
        """Count and pack the states of features."""
        n_samples, n_features = states.shape
        n_states = states.max(axis=0).astype(np.intp) + 1
        few = n_states <= STATES_AS_BITS
        n_bits = int(n_states[few].max(initial=0))
        bits = np.zeros((n_bits, _words_for(n_samples), n_features), dtype=np.uint64)
        for state in range(n_bits):
            bits[state][:, few] = _packed(states[:, few] == state)
        terms = _entropy_terms(n_samples)
        entropy = terms[np.bitwise_count(bits).sum(axis=1, dtype=np.intp)].sum(axis=0)
        for feature in np.flatnonzero(~few):
            entropy[feature] = terms[np.bincount(states[:, feature])].sum()
        return cls(states, n_states, entropy, bits)


def mutual_information(
    features: Discrete, variable: NDArray[np.integer[Any]], columns: IntArray | None = None
) -> FloatArray:
    """Compute `H(f) + H(variable) - H(f, variable)` of features with one discrete variable.

    Parameters
    ----------
    features : Discrete
        The features.
    variable : ndarray of int of shape (n_samples,)
        States from 0.
    columns : ndarray of int, optional
        The features wanted. Default: all.

    Returns
    -------
    ndarray
        One value per wanted feature, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> features = Discrete.of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> mutual_information(features, np.array([0, 0, 1, 1])).round(4)
    array([0.6931, 0.    ])
    """
    columns = np.arange(len(features.n_states)) if columns is None else columns
    terms = _entropy_terms(len(variable))
    counts = np.bincount(variable)
    joint = _joint_entropy(features, variable, len(counts), columns, terms)
    information = features.entropy[columns] + terms[counts].sum() - joint
    # What rounding leaves of independence is no information; a quotient must not take it for some.
    return np.where(information < 10.0**-DECIMALS / 100, 0.0, information)


def symmetric_uncertainty(
    features: Discrete, variable: NDArray[np.integer[Any]], columns: IntArray | None = None
) -> FloatArray:
    """Compute `2 I(f; variable) / (H(f) + H(variable))`: 0 to 1, and 0 where both are constant."""
    columns = np.arange(len(features.n_states)) if columns is None else columns
    own = _entropy_terms(len(variable))[np.bincount(variable)].sum()
    entropies = features.entropy[columns] + own
    information = mutual_information(features, variable, columns)
    return 2.0 * information / np.where(entropies > 0, entropies, 1.0)


def _joint_entropy(
    features: Discrete,
    variable: NDArray[np.integer[Any]],
    n_values: int,
    columns: IntArray,
    terms: FloatArray,
) -> FloatArray:
    n_states = features.n_states[columns]
    few = (n_states <= STATES_AS_BITS) & (n_states * n_values <= CELLS_AS_BITS)
    joint = np.empty(len(columns))
    joint[few] = _joint_entropy_by_bits(features.bits, variable, n_values, columns[few], terms)
    for place in np.flatnonzero(~few):
        cells = features.states[:, columns[place]].astype(np.int64) * n_values + variable
        joint[place] = terms[np.unique(cells, return_counts=True)[1]].sum()
    return joint


def _joint_entropy_by_bits(
    bits: NDArray[np.uint64],
    variable: NDArray[np.integer[Any]],
    n_values: int,
    columns: IntArray,
    terms: FloatArray,
) -> FloatArray:
    joint = np.zeros(len(columns))
    if len(columns) == 0:
        return joint
    # The bits of all features are read in place; a copy pays off only once many are gone.
    everything = len(columns) == bits.shape[2]
    of_variable = _packed(variable[:, None] == np.arange(n_values))
    for of_state in bits:
        of_feature = of_state if everything else of_state[:, columns]
        for value in range(n_values):
            common = np.bitwise_count(of_feature & of_variable[:, [value]])
            joint += terms[common.sum(axis=0, dtype=np.intp)]
    return joint


def _entropy_terms(n_samples: int) -> FloatArray:
    """Tabulate `-p log p` for p = count / n_samples, for every count."""
    shares = np.arange(1, n_samples + 1) / n_samples
    return np.abs(np.concatenate([[0.0], -shares * np.log(shares)]))


def _packed(flags: BoolArray) -> NDArray[np.uint64]:
    """Pack the rows of a boolean matrix into words of 64, the last filled up with zeros."""
    n_samples, n_columns = flags.shape
    padded = np.zeros((n_columns, _words_for(n_samples) * 64), dtype=bool)
    padded[:, :n_samples] = flags.T
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def _words_for(n_samples: int) -> int:
    return -(-n_samples // 64)
