"""Entropy, mutual information (natural logarithm) and symmetric uncertainty, by counting.

One bit per sample and state: a table of two variables is then a few words of `and` and
`bitwise_count`, in a thirty-second of the memory of one-hot codes in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._search.ties import UNIT, Rounded

# A table costs (states x states x samples / 64) word operations by bits and about one or two per
# sample by sorting. Up to here the bits win.
STATES_AS_BITS = 16
CELLS_AS_BITS = 256


@dataclass(frozen=True)
class Discrete:
    """Hold discrete features, ready to be counted.

    Attributes
    ----------
    states : ndarray of int of shape (n_samples, n_features)
        Small non-negative integers.
    n_states : ndarray of shape (n_features,)
        One more than the largest state.
    terms : ndarray of shape (n_samples + 1,)
        `-p log p` for p = count / n_samples, for every count.
    entropy : ndarray of shape (n_features,)
        The entropy of each feature.
    bits : ndarray of uint64 of shape (at most 16, n_samples / 64, n_features)
        Bit i of word w is set where sample `64 w + i` is in the state. All zero for a feature
        with more states, which is counted by sorting: its bits would take memory quadratic in
        the number of samples.
    """

    states: NDArray[np.integer[Any]]
    n_states: IntArray
    terms: FloatArray
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
        return cls(states, n_states, terms, entropy, bits)


def mutual_information(
    features: Discrete, variable: NDArray[np.integer[Any]], columns: IntArray | None = None
) -> Rounded:
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
    Rounded
        One value per wanted feature, at least 0, and by how much it may be off: docs/bounds.md
        derives that.

    Examples
    --------
    >>> import numpy as np
    >>> features = Discrete.of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> mutual_information(features, np.array([0, 0, 1, 1])).value.round(4)
    array([0.6931, 0.    ])
    """
    columns = np.arange(len(features.n_states)) if columns is None else columns
    entropies, n_values = _entropies(features, variable, columns), int(variable.max()) + 1
    information = entropies - _joint_entropy(features, variable, n_values, columns)
    # More cells than that are added up pairwise.
    n_cells = np.minimum(features.n_states[columns] * n_values, CELLS_AS_BITS)
    error = UNIT * (4 + 2 * (n_cells + 6) * entropies)
    # What rounding leaves of independence is no information; a quotient must not take it for some.
    information = np.where(information <= error, 0.0, information)
    return Rounded(information, np.where(information > 0, error, 0.0))


def symmetric_uncertainty(
    features: Discrete, variable: NDArray[np.integer[Any]], columns: IntArray | None = None
) -> Rounded:
    """Compute `2 I(f; variable) / (H(f) + H(variable))`: 0 to 1, and 0 where both are constant."""
    columns = np.arange(len(features.n_states)) if columns is None else columns
    entropies = _entropies(features, variable, columns)
    divisor = np.where(entropies > 0, entropies, 1.0)
    information = mutual_information(features, variable, columns)
    return Rounded(2.0 * information.value / divisor, 3.0 * information.error / divisor)


def _entropies(
    features: Discrete, variable: NDArray[np.integer[Any]], columns: IntArray
) -> FloatArray:
    """Return `H(f) + H(variable)`."""
    return features.entropy[columns] + features.terms[np.bincount(variable)].sum()


def _joint_entropy(
    features: Discrete, variable: NDArray[np.integer[Any]], n_values: int, columns: IntArray
) -> FloatArray:
    n_states = features.n_states[columns]
    few = (n_states <= STATES_AS_BITS) & (n_states * n_values <= CELLS_AS_BITS)
    joint = np.empty(len(columns))
    joint[few] = _joint_entropy_by_bits(features, variable, n_values, columns[few])
    for place in np.flatnonzero(~few):
        cells = features.states[:, columns[place]].astype(np.int64) * n_values + variable
        joint[place] = features.terms[np.unique(cells, return_counts=True)[1]].sum()
    return joint


def _joint_entropy_by_bits(
    features: Discrete, variable: NDArray[np.integer[Any]], n_values: int, columns: IntArray
) -> FloatArray:
    joint = np.zeros(len(columns))
    if len(columns) == 0:
        return joint
    # The bits of all features are read in place; a copy pays off only once many are gone.
    everything = len(columns) == features.bits.shape[2]
    of_variable = _packed(variable[:, None] == np.arange(n_values))
    for of_state in features.bits:
        of_feature = of_state if everything else of_state[:, columns]
        for value in range(n_values):
            common = np.bitwise_count(of_feature & of_variable[:, [value]])
            joint += features.terms[common.sum(axis=0, dtype=np.intp)]
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
