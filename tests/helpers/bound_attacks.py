"""Searches for inputs whose rounding errors approach the error bounds of the fast paths.

Each search returns the largest ratio of error to bound that it found; above 1, the bound is wrong.
It starts from inputs that are bad by construction and keeps changes that increase the error.
`docs/bounds.md` derives the bounds, and `benchmarks/bounds.py` writes its table.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import sparse

from linkselect._compiled import similarity_sums as compiled
from linkselect._compiled.manhattan import FEATURES_PER_SUM, manhattan_distances
from linkselect._samples import as_samples
from linkselect._samples.neighbors import PRODUCT_WIDTH, product_errors
from linkselect._search import all_pairs
from linkselect._search.criterion import form_rounding
from linkselect._search.screening import Screen
from linkselect.scores import _relief as relief

U32, U64 = 2.0**-24, 2.0**-53


class Attack(NamedTuple):
    """A search for the worst input of one bound."""

    bound: str
    way: str
    search: Callable[[np.random.Generator, int], float]
    """The search. It takes a random generator and the number of changes to try."""
    expected: float = 0.0
    """On any machine, the search finds at least this fraction of the bound."""
    needs_numba: bool = False


def climb(share, start, change, rng, rounds):
    """Change an input repeatedly, and keep changes that increase the error."""
    best, most = start, share(start)
    for _ in range(rounds):
        changed = change(best, rng)
        found = share(changed)
        if found >= most:
            best, most = changed, found
    return most


def nudge(values, rng):
    """Move some values by a few units in the last place, copy a row, or swap two columns."""
    values = values.copy()
    kind = rng.integers(4)
    row, column = rng.integers(len(values)), rng.integers(values.shape[1], size=2)
    if kind == 0:
        values[row] = values[rng.integers(len(values))]
    elif kind == 1:
        values[:, column] = values[:, column[::-1]]
    else:
        some = rng.random(values.shape) < rng.choice([0.01, 0.1, 1.0])
        ulps = rng.choice([2.0**-52, 2.0**-30, 2.0**-24, 2.0**-21, 2.0**-12])
        values[some] *= 1 + ulps * rng.integers(-3, 4)
    return values


# -- distances by products ----------------------------------------------------------------------


def drifting(n_features, unit, n_rows=16):
    """Return rows whose products round in the same direction in every step of a sum.

    The first term is 1. The others are just above or below half a unit in its last place, so that
    each step of a sum from left to right errs by half a unit. Every row is paired with its
    negative: the mean is 0, and centring changes nothing.
    """
    tail = np.sqrt(unit) * np.array([1.0, 1 + 2.0**-10, 1 - 2.0**-10])
    rows = np.repeat(tail, n_features).reshape(3, n_features)
    rows[:, 0] = 1.0
    rows = np.tile(rows, (n_rows, 1))
    return np.vstack([rows, -rows])


def opposite_drifting(n_features):
    """Return rows of opposite sign whose products and differences err in opposite directions."""
    # Sums start at 1 and 4. In units of their half steps, terms of the product are a little above
    # 1, which rounds up, and squared differences in every eighth place below 3, which rounds down.
    left, right = (3**0.5 + 2**0.5) * (1 + 2.0**-20), (3**0.5 - 2**0.5) * (1 + 2.0**-20)
    rows = np.full((2, n_features), np.sqrt(U64))
    rows[0] *= np.where(np.arange(n_features) % 8 == 0, left * (1 - 2.0**-19), 1 + 2.0**-20)
    rows[1] *= np.where(np.arange(n_features) % 8 == 0, right * (1 + 2.0**-18), 1 + 2.0**-20)
    rows[:, 0] = 1.0
    rows = np.tile(rows, (12, 1))
    return np.vstack([rows, -rows])


def awkward(n_features, rng):
    """Draw rows for which sums and subtractions lose digits."""
    shape = 24, n_features
    plain = rng.normal(size=shape)
    place = np.arange(n_features)
    return [
        plain,
        plain + 1e8,
        plain * np.where(place == n_features // 2, 1e6, 1.0),
        plain * 2.0 ** (-30 * place / n_features),
        np.sort(np.abs(plain), axis=1) * np.where(place % 2, 1, -1),
        np.repeat(plain[:, :1], n_features, axis=1),
        2.0**24 + rng.integers(-3, 4, shape),
        np.vstack([plain[1:] * 1e-39, np.ones((1, n_features))]),
        np.vstack([plain[2:] * 1e-42, np.ones((1, n_features)), -np.ones((1, n_features))]),
        1 + rng.integers(0, 5, shape) * 2.0**-25,
        rng.integers(0, 2, shape) * 1.0,
    ]


def share_of_distance_error(X, dtype=np.float32, store=np.asarray):
    """Return the error of distances by products, divided by its bound."""
    stored = store(X)
    rows = as_samples(stored).products(dtype, 1)
    found = rows.distances(np.arange(len(X)), rows) + rows.norms[:, None]
    left, right = np.indices(found.shape).reshape(2, -1)
    exact = as_samples(stored).pair_distances(left, right, 1).reshape(found.shape) / rows.scale**2
    return float((np.abs(found - exact) / (rows.errors[:, None] + rows.errors)).max())


def float32_distances(rng, rounds):
    sizes = (1, 2, 17, 256, 1024, 1500, 10_000)
    most = max(share_of_distance_error(X) for n in sizes for X in awkward(n, rng))
    for n_features in (1, 17, 128, 384):
        start = drifting(n_features, U32)
        most = max(most, climb(share_of_distance_error, start, nudge, rng, rounds))
    return most


def float64_distances(rng, rounds, store=np.asarray, sizes=(1, 2, 7, 17, 100, 384, 1100)):
    def share(X):
        return share_of_distance_error(X, np.float64, store)

    most = max(share(X) for n in sizes for X in awkward(n, rng))
    # A few rows suffice for sparse products; dense ones are summed in order only if they are large.
    for start in (drifting(7, U64), opposite_drifting(128), drifting(sizes[-2], U64)):
        kept = start if store is np.asarray else start[[0, 1, 2, -3, -2, -1]]
        most = max(most, climb(share, kept, nudge, rng, rounds))
    return most


def sparse_distances(rng, rounds):
    return float64_distances(rng, rounds, sparse.csr_array, (1, 7, 60, 300))


def in_order(terms):
    """Sum the terms one after another, in their own precision."""
    return float(np.add.accumulate(terms)[-1])


def float32_products_in_order(rng, rounds):
    """Search the worst order of summation, from left to right; the bound holds for any order."""
    n_features = PRODUCT_WIDTH

    def share(rows):
        rows = rows.astype(np.float32)
        left, right = rows.astype(np.float64)
        norms = np.array([left @ left, right @ right])
        off = 2 * abs(in_order(rows[0] * rows[1]) - left @ right)
        return off / product_errors(norms, n_features + 1, np.float32).sum()

    return climb(share, drifting(n_features, U32)[:2], nudge, rng, rounds)


def float64_products_in_order(rng, rounds):
    """Do the same in float64, for rows that share only their first value.

    A difference then has twice as many nonzero values as a row.
    """
    length = 128

    def share(values):
        left, right = np.zeros((2, 2 * length - 1))
        left[:length], right[length:] = values[0], values[1, 1:]
        right[0] = -values[1, 0]
        product, norm = in_order(left * right), in_order(right * right)
        # The squared norm of the other row is the same for all its distances.
        by_products = in_order(np.longdouble(left) ** 2) - 2 * product + norm
        by_differences = in_order((left - right) ** 2)
        norms = np.array([left @ left, right @ right])
        return abs(by_products - by_differences) / product_errors(norms, length, np.float64).sum()

    values = np.full((2, length), np.sqrt(U64))
    values *= np.array([[np.sqrt(4 - 2.0**-9)], [np.sqrt(3 + 2.0**-9)]])
    values[:, 0] = 1.0
    return climb(share, values, nudge, rng, rounds)


# -- ReliefF ------------------------------------------------------------------------------------


def worst_codes(n_features, rng):
    """Return two samples whose codes and differences all round in the same direction."""
    above = 0.75 + 2.0**-24 * rng.integers(0, 2**20, n_features)
    below = 0.25 + 2.0**-25 * (2 * rng.integers(0, 2**20, n_features) + 1)
    # Their difference is halfway between two float32 numbers, and is rounded to the even one.
    middle = np.rint((above - below) * 2.0**25) % 4
    shift = np.where(middle == 1, 0.0, 2.0**-24)
    ends = np.array([above + shift + 2.0**-25.01, below - 2.0**-26.01])
    return np.vstack([ends, np.zeros((1, n_features)), np.ones((1, n_features))])


def drifting_codes(n_features):
    """Return samples that differ by 1 in the first feature, and by half its last unit elsewhere."""
    codes = np.full((3, n_features), 0.0)
    codes[1], codes[2] = U32 * (1 + 2.0**-9), U32 * (1 - 2.0**-9)
    codes[1:, 0] = 1.0
    return codes


def share_of_manhattan_error(codes, cut=False):
    between = manhattan_distances()
    single = codes.astype(np.float32)
    found = between(single, single, cut).astype(np.float64)
    exact = np.abs(codes[:, None] - codes)
    exact = (np.minimum(exact, 1.0) if cut else exact).sum(axis=2)
    n_features = codes.shape[1]
    bound = relief._sum_rounding(n_features) * exact + n_features * relief.CODE_ROUNDING
    return float((np.abs(found - exact) / bound).max())


def manhattan(rng, rounds):
    def nudge_codes(codes, rng):
        return np.clip(nudge(codes, rng), 0, 1)

    most = 0.0
    for n_features in (1, 17, 300, 4096, 4097, 10_000):
        kinds = [
            worst_codes(n_features, rng),
            drifting_codes(n_features),
            rng.random((4, n_features)),
        ]
        kinds += [rng.integers(0, 9, (4, n_features)) / 8.0, rng.random((4, n_features)) * 1e-40]
        # Small differences of codes that round in opposite directions: mostly rounding error.
        halves = 2.0**-25 * np.repeat([[0.999], [1.001]], n_features, axis=1)
        kinds.append(0.75 + halves)
        most = max(most, *map(share_of_manhattan_error, kinds))
        categories = rng.integers(0, 2**24, (4, n_features)) * 1.0
        most = max(most, share_of_manhattan_error(categories, cut=True))
    for n_features in (1, 8):
        start = worst_codes(n_features, rng)
        most = max(most, climb(share_of_manhattan_error, start, nudge_codes, rng, 10 * rounds))
    return most


def manhattan_in_order(rng, rounds):
    """Sum float32 differences from left to right, the worst order."""

    def share(terms):
        terms = np.abs(terms).astype(np.float32)[0]
        exact = terms.astype(np.float64).sum()
        off = abs(in_order(terms) - exact)
        return off / (relief._sum_rounding(len(terms)) * exact)

    start = drifting_codes(FEATURES_PER_SUM)[1:2]
    return climb(share, start, nudge, rng, rounds)


# -- the compiled sums of the similarity search -------------------------------------------------


def kernel_values(rng, rounds):
    """Search differences, offsets and kernels of the other features, many at once."""
    sums = compiled.pair_sums()
    size = 20_000

    def shares(draws):
        first, apart, weight = draws
        scaled = np.stack([first, first + apart], axis=1)
        single = (scaled / np.sqrt(2)).astype(np.float32)
        found = np.empty(len(first))
        for part in np.array_split(np.arange(len(first)), len(first) // 500):
            # One weight for all, because the features of a call share the kernel of the others.
            found[part] = sums.cannot_parts(
                single[part], np.full((2, 2), weight[part[0]], np.float32), np.array([1, 2])
            )
            weight[part] = weight[part[0]]
        exact = (weight * np.exp(-((scaled[:, 0] - scaled[:, 1]) ** 2) / 2)) ** 2
        # The loop squares, which doubles the error and adds one rounding.
        return np.abs(found / exact - 1) / (2 * compiled.KERNEL_ROUNDING + U32)

    low, most = -compiled.WIDEST, 0.0
    for _ in range(10 + rounds):
        starts = rng.uniform(low, 0, size), compiled.WIDEST * np.sqrt(rng.random(size))
        draws = np.stack([*starts, np.sort(10.0 ** rng.uniform(-16, 0, size))])
        for _ in range(8):
            found = shares(draws)
            most = max(most, float(found.max()))
            parents = draws[:, np.argsort(found)[-size // 50 :]]
            draws = np.repeat(parents, 50, axis=1)
            draws[:2] += rng.normal(size=(2, size)) * 10.0 ** rng.uniform(-9, -3, size)
            draws[0] = np.clip(draws[0], low, 0)
            draws[1] = np.clip(draws[1], 0, compiled.WIDEST)
            draws = draws[:, np.argsort(draws[2], kind="stable")]
    return most


def must_sums(rng, rounds):
    """Sum `(1 - w)^2` for a constant feature, so that only the sum is rounded."""
    sums = compiled.pair_sums()
    n_samples = compiled.MUST_LINKS_PER_SUM + 1
    samples, ends = np.zeros((n_samples, 1), np.float32), np.zeros(n_samples, np.intp)
    ends[0] = n_samples

    def share(similarity):
        similarity = similarity.astype(np.float32)
        found = sums.must_parts(samples, similarity, ends)[0]
        exact = float(((1 - similarity[0, 1:].astype(np.float64)) ** 2).sum())
        return abs(found - exact) / (compiled.MUST_ROUNDING * found)

    start = np.full((1, n_samples), 1 - 2.0**-12 * (1 + 2.0**-7))
    start[0, :2] = 1.0, 0.0
    return climb(share, start, nudge, rng, 20 * rounds)


def cannot_sums_in_order(rng, rounds):
    """Square and add from left to right, the worst order."""

    def share(weights):
        weights = weights.astype(np.float32)[0]
        exact = float((weights.astype(np.float64) ** 2).sum())
        off = abs(in_order(weights * weights) - exact)
        return off / (compiled.CANNOT_ROUNDING * exact)

    start = drifting(compiled.CANNOT_LINKS_PER_SUM, U32)[1:2]
    return climb(share, start, nudge, rng, rounds)


def screened(columns, groups, similarity):
    """Return a screen after some features have been selected."""
    scaled = columns - (columns.max(axis=1) / 2 + columns.min(axis=1) / 2)[:, None]
    screen = Screen(
        scaled, groups, compiled.pair_sums(), lambda work, parts: list(map(work, parts))
    )
    screen.add([(slice(0, len(groups)), similarity)], 0.0)
    return screen


def shares_of_screen_errors(columns, groups, similarity):
    """Return the errors of both parts of the criterion, divided by their bounds."""
    screen = screened(columns, groups, similarity)
    everything = np.arange(len(columns))
    must, cannot = screen.must_parts(everything), screen.cannot_parts(everything)
    same = groups[:, None] == groups
    kernel = similarity * np.exp(-((columns[:, :, None] - columns[:, None]) ** 2) / 2)
    of_must = (((1 - kernel) ** 2) * (same & ~np.eye(len(groups), dtype=bool))).sum(axis=(1, 2))
    of_cannot = (kernel**2 * ~same).sum(axis=(1, 2))
    slack = screen.must_slack(must, float((similarity * same).sum()))
    of_must = np.abs(must - of_must) / slack
    of_cannot = np.abs(cannot - of_cannot) / (compiled.CANNOT_ROUNDING * cannot + slack)
    return float(of_must.max()), float(of_cannot.max())


def screens(rng, rounds):
    """Search columns with two distinct values, for which all pairs have the same error."""
    n_samples = 64
    pairs = np.repeat(np.arange(n_samples // 2), 2)
    halves = np.repeat([0, 1], n_samples // 2)
    two = np.arange(n_samples) % 2
    most = 0.0
    for groups in (pairs, halves):
        for weight in (1.0, 0.7, 0.5, 1e-6, 1e-15):
            similarity = np.full((n_samples, n_samples), weight)
            np.fill_diagonal(similarity, 1.0)

            def share(ends, groups=groups, similarity=similarity):
                columns = ends[:, :1] + two * np.clip(ends[:, 1:], 0, compiled.WIDEST)
                return max(shares_of_screen_errors(columns, groups, similarity))

            start = np.stack([rng.uniform(-1, 1, 64), rng.uniform(0, 1.01, 64)], axis=1)
            most = max(most, climb(share, start, nudge, rng, rounds // 4))
    return most


# -- forms of the similarity search -------------------------------------------------------------


def coarse_forms(rng, rounds):
    """Search vectors and matrices whose forms differ most between float32 and float64."""
    n_samples = all_pairs.VALUES_PER_COARSE_SUM + all_pairs.ROWS_PER_BLOCK
    criterion = all_pairs.AllPairs(
        rng.random((n_samples, 2)), np.sort(rng.integers(0, 2, n_samples)), 1.0, 1
    )

    def blocks(matrix):
        return [matrix[b.rows, b.rows.start :] for b in criterion.blocks]

    def share(values):
        # Many at once, because the product with a single vector is summed in another order.
        vectors, matrix = np.tile(values[:1], (16, 1)), np.tile(values[1:], (n_samples, 1))
        single = all_pairs._coarse(blocks(matrix))
        found = criterion._forms(vectors.astype(np.float32), single)[0]
        exact = criterion._forms(vectors, blocks(matrix))[0]
        size = criterion._forms(np.abs(vectors), blocks(np.abs(matrix)))[0]
        return abs(found - exact) / (all_pairs.COARSE_ROUNDING * size)

    most = 0.0
    for sign in (1.0, -1.0):
        most = max(most, climb(share, drifting_form(n_samples, sign), nudge, rng, rounds))
    values = rng.normal(size=(2, n_samples))
    return max(most, climb(share, values, nudge, rng, rounds))


def drifting_form(n_samples, sign=1.0):
    """Return a vector and a matrix row for which rounding errors add up in both sums of a form."""
    values = np.ones((2, n_samples))
    values[0, 1:] = U32 * (1 + sign * 2.0**-9)
    return values


def coarse_forms_in_order(rng, rounds):
    """Sum a block of a form from left to right, the worst order."""

    def share(values):
        vector, row = values.astype(np.float32)
        product = np.float32(in_order(row * vector))
        found = in_order(product * vector[: all_pairs.ROWS_PER_BLOCK])
        exact = (values[0] @ values[1]) * values[0, : all_pairs.ROWS_PER_BLOCK].sum()
        size = np.abs(values[0] * values[1]).sum()
        size *= np.abs(values[0, : all_pairs.ROWS_PER_BLOCK]).sum()
        return abs(found - exact) / (all_pairs.COARSE_ROUNDING * size)

    return climb(share, drifting_form(all_pairs.VALUES_PER_COARSE_SUM), nudge, rng, rounds)


def scaled_inputs(rng, rounds):
    """Search two values and a width for which scaling changes the kernel most."""

    def share(drawn):
        (low, high, sigma) = drawn[0]
        column = np.array([[low, high]])
        if low == high:
            return 0.0
        scaled = (column - (column.max() / 2 + column.min() / 2)) / sigma
        most = 0.0
        for factor, used, allowed in ((1, scaled, 1), (2, np.sqrt(2.0) * scaled, 2)):
            exact = factor * ((Fraction(high) - Fraction(low)) / Fraction(sigma)) ** 2
            rounded = (Fraction(used[0, 1]) - Fraction(used[0, 0])) ** 2
            off = abs(float(rounded - exact)) / 2 * np.exp(-float(exact) / 2)
            bound = allowed * all_pairs.INPUT_ROUNDING * float(np.ptp(scaled))
            most = max(most, off / bound)
        return most

    most = 0.0
    for offset in (0.0, 1.0, 1e8, 2.0**52):
        for _ in range(8):
            low = offset + float(rng.random())
            high = low + max(float(rng.random()), np.spacing(low))
            start = np.array([[low, high, abs(high - low) / rng.uniform(0.5, 2)]])
            most = max(most, climb(share, start, nudge, rng, rounds))
    return most


def fine_forms(rng, rounds):
    """Return the error of float64 products compared with sums over pairs in extended precision."""
    n_samples = 96
    groups = np.repeat([0, 1, 2], n_samples // 3)

    def share(X):
        criterion = all_pairs.AllPairs(X, groups, 1.0, 1)
        criterion.add(0)
        found = criterion._changes_by_terms(np.arange(X.shape[1]))
        columns = X.T.astype(np.longdouble)
        kernels = np.exp(-((columns[:, :, None] - columns[:, None]) ** 2) / 2)
        before, target = kernels[0], groups[:, None] == groups
        exact = ((kernels * before - target) ** 2 - (before - target) ** 2).sum(axis=(1, 2))
        size = criterion.sum_squared + 2 * criterion.sum_alike
        bound = form_rounding(n_samples, criterion.n_terms) / 2 * size
        bound = bound + criterion._truncation(np.arange(X.shape[1]))
        return float((np.abs(found - exact) / bound).max())

    most = 0.0
    for scale, offset in ((1.0, 0.0), (8.0, 0.0), (1.0, 1e6), (0.01, 0.0)):
        start = rng.random((n_samples, 4)) * scale + offset
        most = max(most, climb(share, start, nudge, rng, rounds // 10))
    return most


ATTACKS = {
    "distances in float32": Attack("`product_errors`, float32", "as computed", float32_distances),
    "float32, in order": Attack(
        "`product_errors`, float32", "from left to right", float32_products_in_order, 0.9
    ),
    "distances in float64": Attack("`product_errors`, float64", "as computed", float64_distances),
    "sparse distances": Attack(
        "`product_errors`, float64", "as computed, sparse", sparse_distances
    ),
    "float64, in order": Attack(
        "`product_errors`, float64", "from left to right", float64_products_in_order, 0.5
    ),
    "ReliefF": Attack(
        "`CODE_ROUNDING` with `_sum_rounding`", "as compiled", manhattan, 0.4, needs_numba=True
    ),
    "ReliefF, in order": Attack("`_sum_rounding`", "from left to right", manhattan_in_order, 0.9),
    "kernel values": Attack(
        "`KERNEL_ROUNDING`", "as compiled", kernel_values, 0.25, needs_numba=True
    ),
    "must-links": Attack("`MUST_ROUNDING`", "as compiled", must_sums, 0.7, needs_numba=True),
    "cannot-links, in order": Attack(
        "`CANNOT_ROUNDING`", "from left to right", cannot_sums_in_order, 0.8
    ),
    "screen": Attack(
        "`Screen.must_slack`, `CANNOT_ROUNDING`", "as compiled", screens, 0.03, needs_numba=True
    ),
    "coarse forms": Attack("`COARSE_ROUNDING`", "as computed", coarse_forms),
    "coarse forms, in order": Attack(
        "`COARSE_ROUNDING`", "from left to right", coarse_forms_in_order, 0.9
    ),
    "scaled inputs": Attack("`INPUT_ROUNDING`", "as computed", scaled_inputs, 0.05),
    "fine forms": Attack("`form_rounding`", "as computed", fine_forms),
}
