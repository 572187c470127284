"""Small data with the difficulties of real data: ties, constants, duplicates, unusual types.

`samples`, `labels` and `link_lists` are hypothesis strategies. `draw_problem` draws a whole problem
of a given kind from a NumPy generator, so that a seed identifies it.
"""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from tests.helpers import literal

from linkselect import Pairs


@st.composite
def samples(draw, min_samples=8, max_samples=13, min_features=1):
    """Draw X with tied values, constant columns, repeated rows and columns with an offset."""
    n = draw(st.integers(min_samples, max_samples))
    d = draw(st.integers(min_features, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    columns = []
    for _ in range(d):
        kind = draw(st.sampled_from(["normal", "grid", "constant", "binary", "shifted"]))
        columns.append(
            {
                "normal": lambda: rng.normal(size=n),
                "grid": lambda: rng.integers(-2, 3, n) / 2.0,
                "constant": lambda: np.full(n, rng.normal()),
                "binary": lambda: rng.integers(0, 2, n).astype(float),
                "shifted": lambda: rng.normal(size=n) + 100.0,
            }[kind]()
        )
    X = np.column_stack(columns)
    for _ in range(draw(st.integers(0, 3))):
        X[rng.integers(n)] = X[rng.integers(n)]
    return X


@st.composite
def labels(draw, n, unlabelled=True):
    """Draw labels of at least two classes, one of which has two samples."""
    low = -1 if unlabelled else 0
    y = np.array(draw(st.lists(st.integers(low, 2), min_size=n, max_size=n)))
    y[:3] = [0, 0, 1]
    return np.random.default_rng(draw(st.integers(0, 1000))).permutation(y)


@st.composite
def link_lists(draw, n):
    """Draw lists of must-links and cannot-links that do not contradict each other."""
    truth = draw(labels(n, unlabelled=False))
    pairs = Pairs.from_labels(truth)
    must = draw(st.lists(st.sampled_from(pairs.must), min_size=1, max_size=6))
    cannot = draw(st.lists(st.sampled_from(pairs.cannot), min_size=1, max_size=6))
    return must, cannot


@st.composite
def weak_supervision(draw, min_features=1):
    """Draw X and partial labels or pairs, for a selector and as the sets of the definitions."""
    X = draw(samples(min_features=min_features))
    if draw(st.booleans()):
        y = draw(labels(len(X)))
        return X, {"y": y}, *literal.links(y), y < 0, y
    must, cannot = draw(link_lists(len(X)))
    groups = literal.groups_of_pairs(len(X), must, cannot)
    matrices = literal.links_of_pairs(len(X), must, cannot)
    return X, {"pairs": Pairs(must, cannot)}, *matrices, groups < 0, groups


# -- plain problems ----------------------------------------------------------------------------


def partly_labelled(seed, n_samples, n_features, n_classes=3):
    """Draw standardised samples whose first feature shows the class; half of them have labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += 2 * y
    return StandardScaler().fit_transform(X), np.where(np.arange(n_samples) % 2, y, -1)


def discrete_problem(seed, n_samples, n_features=8):
    """Draw noise, copies of the class with errors, and constant features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_samples)
    y[:2] = 0, 1
    noise = rng.integers(0, rng.integers(1, 5, n_features), (n_samples, n_features))
    kept = rng.random((n_samples, n_features)) < rng.random(n_features)
    return np.where(kept, noise, y[:, None]), y


def prototypes(y, per_class, seed):
    """Keep the labels of some samples of every class; the others are -1."""
    rng = np.random.default_rng(seed)
    partial = np.full(len(y), -1)
    for label in np.unique(y):
        partial[rng.choice(np.flatnonzero(y == label), per_class, replace=False)] = label
    return partial


def pairs_of(groups):
    """Return all pairs within groups, and all between groups; -1 has no group."""
    i, j = np.triu_indices(len(groups), 1)
    known = (groups[i] >= 0) & (groups[j] >= 0)
    pairs, same = np.column_stack([i, j])[known], (groups[i] == groups[j])[known]
    return pairs[same], pairs[~same]


# -- whole problems from a seed ----------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Samples with every kind of supervision.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    storage : str
        One of `DENSE` or `SPARSE`.
    X : ndarray of float64
        The values, exactly equal to those in `stored`.
    stored : array or sparse array
        The same values in the type and storage that selectors receive.
    y, partial, one_each : ndarray of int
        Labels of all samples, of some, and of one sample of each class; -1 means unlabelled.
    must, cannot : list of pairs of rows
        Links without contradictions.
    draw : int
        A random number for further choices.
    """

    kind: str
    storage: str
    X: np.ndarray
    stored: object
    y: np.ndarray
    partial: np.ndarray
    one_each: np.ndarray
    must: list
    cannot: list
    draw: int

    @property
    def is_beyond_squares(self):
        """Whether sums of squares come near the limits of float64; selectors may then refuse X."""
        spread = np.ptp(self.X.astype(np.longdouble), axis=0)
        return bool((spread[spread > 0] < 1e-89).any() or np.abs(self.X).max() > 1e75)

    def permuted(self, rows, columns):
        """Return the same problem with its samples and features in another order."""
        place = np.argsort(rows).tolist()
        return replace(
            self,
            X=self.X[rows][:, columns],
            stored=self.stored[rows][:, columns],
            y=self.y[rows],
            partial=self.partial[rows],
            one_each=self.one_each[rows],
            must=[(place[a], place[b]) for a, b in self.must],
            cannot=[(place[a], place[b]) for a, b in self.cannot],
        )


def draw_problem(rng, kind, storage=None):
    """Draw a problem of the given kind, in the given storage or in any that can represent it."""
    n, d = int(rng.integers(6, 13)), int(rng.integers(1, 6))
    if kind == "many":
        # Enough for several blocks of edges and candidates.
        n, d = int(rng.integers(40, 130)), int(rng.integers(2, 7))
    values = KINDS[kind](rng, n, d)
    if storage is None:
        can_be_sparse = values.dtype != np.float16
        storage = str(rng.choice([*DENSE, *(SPARSE if can_be_sparse else ())]))
    # No whole numbers above 2^53 are drawn, because float64 cannot represent all of them.
    X = values.astype(np.float64)
    y, partial, one_each = draw_labels(rng, n)
    must, cannot = draw_links(rng, n)
    number = int(rng.integers(2**20))
    stored = store(rng, values, storage)
    return Problem(kind, storage, X, stored, y, partial, one_each, must, cannot, number)


def draw_labels(rng, n):
    """Draw two or three classes; return the labels of all samples, of some, and one per class."""
    y = rng.integers(0, rng.integers(2, 4), n)
    y[:3] = [0, 0, 1]
    y = rng.permutation(y)
    partial = np.where(rng.random(n) < rng.choice([0.2, 0.5, 0.8]), -1, y)
    for label in (0, 0, 1):
        partial[rng.choice(np.flatnonzero(y == label))] = label
    one_each = np.full(n, -1)
    for label in np.unique(y):
        one_each[rng.choice(np.flatnonzero(y == label))] = label
    return y, partial, one_each


def draw_links(rng, n):
    truth, _, _ = draw_labels(rng, n)
    pairs = Pairs.from_labels(truth)

    def some(links):
        size = min(len(links), int(rng.integers(1, 7)))
        chosen = rng.choice(len(links), size, replace=False)
        return [tuple(int(end) for end in links[place]) for place in chosen]

    return some(pairs.must), some(pairs.cannot)


# Types that can represent whole numbers from -128 to 127.
NUMBERS = ["i1", "i2", "i4", "i8", "f2", "f4", "f8"]


def _normal(rng, n, d):
    return rng.normal(size=(n, d))


def _grid(rng, n, d):
    return rng.integers(-2, 3, (n, d)) / 2.0


def _binary(rng, n, d):
    return rng.integers(0, 2, (n, d)).astype(float)


def _plain(rng, n, d):
    """Draw each column from another distribution; some as multiples of 0.5, with exact ties."""
    ways = [_normal, _grid, _binary]
    return np.hstack([ways[rng.integers(len(ways))](rng, n, 1) for _ in range(d)])


def _ties(rng, n, d):
    """Draw few distinct values: multiples of 0.5, or whole numbers of any type."""
    if rng.random() < 0.5:
        return _grid(rng, n, d)
    return rng.integers(0, 4, (n, d)).astype(rng.choice(NUMBERS))


def _twins(rng, n, d):
    """Repeat rows, and make columns copies or mirror images of others."""
    X = _plain(rng, n, d) if rng.random() < 0.5 else _grid(rng, n, d)
    for _ in range(int(rng.integers(1, n))):
        X[rng.integers(n)] = X[rng.integers(n)]
    for _ in range(int(rng.integers(0, d))):
        X[:, rng.integers(d)] = rng.choice([-1, 1]) * X[:, rng.integers(d)]
    return X


def _constants(rng, n, d):
    X = _plain(rng, n, d)
    for column in rng.permutation(d)[: max(1, d // 2)]:
        # In binary, the mean of many 0.1 is not 0.1.
        X[:, column] = rng.choice([0.0, 0.1, -1e8, rng.normal()])
    return X


def _offset(rng, n, d):
    """Add large offsets to columns; the remaining digits define the problem."""
    spread = 10.0 ** rng.integers(-3, 1, d)
    return _plain(rng, n, d) * spread + rng.choice([0.0, 1e3, -1e8, 1e8], d)


def _scales(rng, n, d):
    exponents = rng.integers(-12, 13, d if rng.random() < 0.5 else 1)
    return _normal(rng, n, d) * 10.0**exponents


def _tiny(rng, n, d):
    return _normal(rng, n, d) * 10.0 ** rng.integers(-140, -60, d if rng.random() < 0.5 else 1)


def _huge(rng, n, d):
    return _normal(rng, n, d) * 10.0 ** rng.integers(50, 170, d if rng.random() < 0.5 else 1)


def _integers(rng, n, d):
    """Draw integers of any width; narrow ones over their whole range, so that differences wrap."""
    dtype = np.dtype(rng.choice(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]))
    limits = np.iinfo(dtype)
    low, high = max(limits.min, -(2**53)), min(limits.max, 2**53)
    if rng.random() < 0.5:
        low, high = max(low, -3), 3
    X = rng.integers(low, high, (n, d), dtype=dtype, endpoint=True)
    X[0], X[-1] = low, high
    return rng.permutation(X)


def _bool(rng, n, d):
    return rng.random((n, d)) < rng.choice([0.2, 0.5])


def _float16(rng, n, d):
    # The squares of the larger values overflow in float16.
    return (_plain(rng, n, d) * rng.choice([1, 100, 1e4])).astype(np.float16)


def _float32(rng, n, d):
    X = _plain(rng, n, d) * 10.0 ** rng.integers(-10, 11) + rng.choice([0, 0, 1e4])
    return X.astype(np.float32)


def _isolated(rng, n, d):
    """Move single samples or pairs so far away that their Gaussian weights are 0."""
    whole = rng.random() < 0.5
    X = rng.integers(-2, 3, (n, d)).astype(float) if whole else _normal(rng, n, d)
    for _ in range(int(rng.integers(1, 4))):
        away = rng.integers(n)
        X[away] += rng.integers(40, 60, d) * rng.choice([-1, 1], d)
        if rng.random() < 0.3:
            X[rng.integers(n)] = X[away] + rng.integers(0, 2, d)
    return X.astype(rng.choice(NUMBERS)) if whole and np.abs(X).max() < 128 else X


def _clusters(rng, n, d):
    """Draw groups so far apart that the spread between neighbours is negligible."""
    centres = rng.integers(-1000, 1001, (int(rng.integers(2, 4)), d)) * rng.choice([1, 1, 30])
    X = centres[rng.integers(len(centres), size=n)] + rng.integers(-1, 2, (n, d))
    return X.astype(rng.choice(["i2", "i4", "i8", "f4", "f8"]))


def _zeros(rng, n, d):
    return _plain(rng, n, d) * (rng.random((n, d)) < 0.4)


KINDS = {
    "plain": _plain,
    "ties": _ties,
    "twins": _twins,
    "constants": _constants,
    "offset": _offset,
    "scales": _scales,
    "tiny": _tiny,
    "huge": _huge,
    "integers": _integers,
    "bool": _bool,
    "float16": _float16,
    "float32": _float32,
    "isolated": _isolated,
    "clusters": _clusters,
    "zeros": _zeros,
    "many": _plain,
}
DENSE = ["C", "Fortran", "strided", "reversed", "read-only"]
SPARSE = ["CSR", "CSC", "CSR, untidy", "CSC, untidy"]


def store(rng, values, storage):
    """Store the values in another layout; untidy sparse arrays have zeros and unsorted indices."""
    n, d = values.shape
    match storage:
        case "C":
            return np.ascontiguousarray(values)
        case "Fortran":
            return np.asfortranarray(values)
        case "strided":
            wide = np.ones((2 * n, 3 * d), dtype=values.dtype)
            wide[::2, 1::3] = values
            return wide[::2, 1::3]
        case "reversed":
            return np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
        case "read-only":
            copy = values.copy()
            copy.setflags(write=False)
            return copy
        case "CSR":
            return sparse.csr_array(values)
        case "CSC":
            return sparse.csc_array(values)
        case "CSR, untidy":
            return sparse.csr_array(_untidy(rng, values), shape=(n, d))
        case "CSC, untidy":
            return sparse.csc_array(_untidy(rng, values.T), shape=(n, d))
    raise ValueError(f"storage={storage!r}")


def _untidy(rng, lines):
    """Return data, indices and ends of compressed rows or columns, shuffled and with some zeros."""
    data, indices, ends = [], [], [0]
    for line in lines:
        kept = rng.permutation(np.flatnonzero((line != 0) | (rng.random(len(line)) < 0.3)))
        data.extend(line[kept])
        indices.extend(kept)
        ends.append(len(indices))
    return np.array(data, dtype=lines.dtype), np.array(indices, int), np.array(ends, int)
