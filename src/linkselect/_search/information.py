"""Entropy, mutual information (in nats) and symmetric uncertainty, computed from counts.

States are stored as one bit per sample and state. Contingency tables are then computed with the
operations `and` and `bitwise_count` on words, and the states require 1/32 of the memory of one-hot
codes in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._search.ties import UNIT, Rounded

# A contingency table takes (states x states x samples / 64) word operations with bits, and about
# one or two operations per sample with sorting. Up to these sizes, bits are faster.
STATES_AS_BITS = 16
CELLS_AS_BITS = 256


@dataclass(frozen=True)
class Discrete:
    """Discrete features in a form that allows fast counting.

    Attributes
    ----------
    states : ndarray of int of shape (n_samples, n_features)
        The state of each value, which is a small non-negative integer.
    n_states : ndarray of shape (n_features,)
        The largest state of each feature plus 1.
    terms : ndarray of shape (n_samples + 1,)
        The entropy terms `-p log p` with p = count / n_samples for every count.
    entropy : ndarray of shape (n_features,)
        The entropy of each feature.
    bits : ndarray of uint64 of shape (at most 16, n_samples / 64, n_features)
        Bit i of word w is set if sample `64 w + i` is in the state. All bits are 0 for features
        with more than 16 states. These features are counted by sorting, because the memory of their
        bits could be quadratic in the number of samples.
    """

    states: NDArray[np.integer[Any]]
    n_states: IntArray
    terms: FloatArray
    entropy: FloatArray
    bits: NDArray[np.uint64]

    @classmethod
    def of(cls, states: NDArray[np.integer[Any]]) -> Discrete:
        """Count the states of all features and pack them into bits."""
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
    """Compute the mutual information between features and a discrete variable.

    The mutual information is `H(f) + H(variable) - H(f, variable)`, where H is the entropy.

    Parameters
    ----------
    features : Discrete
        The features.
    variable : ndarray of int of shape (n_samples,)
        The states of the variable, numbered from 0.
    columns : ndarray of int, optional
        The features to evaluate. Default: all.

    Returns
    -------
    values : Rounded
        One non-negative value per evaluated feature, with its error bound (derived in
        docs/bounds.md).

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
    # Tables with more cells are summed pairwise.
    n_cells = np.minimum(features.n_states[columns] * n_values, CELLS_AS_BITS)
    error = UNIT * (4 + 2 * (n_cells + 6) * entropies)
    # The rounding error of independent variables must count as 0, above all in quotients.
    information = np.where(information <= error, 0.0, information)
    return Rounded(information, np.where(information > 0, error, 0.0))


def symmetric_uncertainty(
    features: Discrete, variable: NDArray[np.integer[Any]], columns: IntArray | None = None
) -> Rounded:
    """Compute the symmetric uncertainty `2 I(f; variable) / (H(f) + H(variable))`, from 0 to 1.

    The symmetric uncertainty is defined as 0 if both variables are constant.
    """
    columns = np.arange(len(features.n_states)) if columns is None else columns
    entropies = _entropies(features, variable, columns)
    divisor = np.where(entropies > 0, entropies, 1.0)
    information = mutual_information(features, variable, columns)
    return Rounded(2.0 * information.value / divisor, 3.0 * information.error / divisor)


def _entropies(
    features: Discrete, variable: NDArray[np.integer[Any]], columns: IntArray
) -> FloatArray:
    """Return the sum of entropies `H(f) + H(variable)`."""
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
    # To evaluate all features, read their bits in place instead of copying them.
    everything = len(columns) == features.bits.shape[2]
    of_variable = _packed(variable[:, None] == np.arange(n_values))
    for of_state in features.bits:
        of_feature = of_state if everything else of_state[:, columns]
        for value in range(n_values):
            common = np.bitwise_count(of_feature & of_variable[:, [value]])
            joint += features.terms[common.sum(axis=0, dtype=np.intp)]
    return joint


def _entropy_terms(n_samples: int) -> FloatArray:
    """Return a table of `-p log p` with p = count / n_samples for every count."""
    shares = np.arange(1, n_samples + 1) / n_samples
    return np.abs(np.concatenate([[0.0], -shares * np.log(shares)]))


def _packed(flags: BoolArray) -> NDArray[np.uint64]:
    """Pack the rows of a Boolean matrix into 64-bit words, padding the last word with zeros."""
    n_samples, n_columns = flags.shape
    padded = np.zeros((n_columns, _words_for(n_samples) * 64), dtype=bool)
    padded[:, :n_samples] = flags.T
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def _words_for(n_samples: int) -> int:
    return -(-n_samples // 64)
