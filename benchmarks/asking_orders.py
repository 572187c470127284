"""Orders of questions that asking.py tries in addition to those of the library.

Most use the posterior of LinkSelector's model: the expected squared difference of two samples given
the must-links, which is also the variance of a further observation.
"""

import numpy as np

from linkselect._samples import as_samples
from linkselect._samples.scaling import find_scaling
from linkselect._search.explained import condition
from linkselect._search.observations import observe
from linkselect._supervision import Supervision
from linkselect.asking import _strategies as asking
from linkselect.pairs import Pairs

NOISE, N_BEST = 0.03, 20
# The posterior of the current samples, which is reused.
_held = {}


class Posterior:
    """The posterior of LinkSelector's model over the samples, given the supervision."""

    def __init__(self, samples):
        every = as_samples(samples.rows(np.arange(samples.n_samples)))
        self.constant = samples.constant
        scaling = find_scaling(every, self.constant, "auto", 1)
        self.columns = every.held().scaled_columns(scaling, 1)
        self.kernel = self.columns.kernel()
        self.size = float(np.trace(self.kernel)) / samples.n_samples
        self.noise = NOISE * self.size
        self._last = None, None

    def moment(self, known):
        """Return the second moment given the supervision; the last one is cached."""
        key = known.must.tobytes(), known.cannot.tobytes()
        if self._last[0] != key:
            self._last = key, self._moment(known)
        return self._last[1]

    def _moment(self, known):
        if not len(known.must):
            return self.kernel
        nothing = np.full(len(known.group), -1)
        seen = observe(Supervision(nothing, known.must, known.cannot))
        cross = seen.weights.T @ self.kernel
        targets = seen.targets * self.size**0.5
        return condition(self.kernel, cross, cross @ seen.weights, targets, self.noise)

    def gaps(self, known, rows, others):
        """Return the expected squared differences of rows (rows) and others (columns)."""
        T = self.moment(known)
        found = T[rows, rows][:, None] + T[others, others] - 2.0 * T[np.ix_(rows, others)]
        return np.maximum(found, 0.0)

    def as_before(self, known, links):
        """Return the expected differences of answered pairs as if they were unanswered."""
        if not len(links):
            return np.zeros(0)
        weight = min(1.0, 10.0 / max(len(known.must), 1))
        noise = self.noise / weight
        T = self.moment(known)
        a, b = links.T
        now = np.minimum(T[a, a] + T[b, b] - 2.0 * T[a, b], noise * 0.999)
        return noise * now / (noise - now)

    def likely_alike(self, known, gaps, power=1):
        """Return the probability that pairs are alike, from the distances of answered pairs.

        A pair at distance 0 counts as one more alike answer, one at the largest distance as one
        more different answer.
        """
        order = np.sort(self.gaps(known, *[np.arange(len(self.kernel))] * 2).ravel())
        share = np.searchsorted(order, gaps) / len(order)
        alike = np.sort(self.as_before(known, known.must))
        other = np.sort(self.gaps_of(known, known.cannot))
        far = len(alike) - np.searchsorted(alike, gaps)
        near = np.searchsorted(other, gaps, side="right")
        return (far + (1.0 - share) ** power) / (far + near + 1.0)

    def gaps_of(self, known, links):
        T = self.moment(known)
        a, b = links.T
        return T[a, a] + T[b, b] - 2.0 * T[a, b]

    def information(self, known, rows, others, power=1):
        """Return the expected information of an answer; LinkSelector learns only from "alike"."""
        gaps = self.gaps(known, rows, others)
        return self.likely_alike(known, gaps, power) * np.log1p(gaps / self.noise)


def posterior(samples):
    if _held.get("samples") is not samples:
        _held.update(samples=samples, posterior=Posterior(samples))
    return _held["posterior"]


def by_constraint_score(now):
    """Grow; distances are in the features of the best Constraint Score.

    The score uses all implied pairs, and is shrunk while there are fewer than five of a kind.
    """

    def nearest(now, row, others):
        samples, known = now.samples, now.known
        pairs = Pairs(known.must.tolist(), known.cannot.tolist()).closure()
        parts = []
        for links in (pairs.must, pairs.cannot):
            weight = min(len(links), 5) / 5
            a, b = np.reshape(links, (-1, 2)).astype(int).T
            squares = ((samples.rows(a) - samples.rows(b)) ** 2).sum(axis=0)
            typical = (1.05 - weight) * samples.spread
            parts.append(weight * squares / max(len(links), 1) + typical)
        score = np.divide(*parts, out=np.full(len(parts[0]), np.inf), where=~samples.constant)
        n_best = max(2, min(N_BEST, samples.n_features // 3))
        features = np.argsort(score, kind="stable")[: min(n_best, (~samples.constant).sum())]
        return int(others[samples.distances(row, others, features).argmin()])

    return asking.place(now, nearest, most=asking.QUESTIONS)


def _expected(now, row, others):
    return int(others[posterior(now.samples).gaps(now.known, np.array([row]), others)[0].argmin()])


def expected(now):
    """Grow; the nearest group has the smallest expected difference."""
    return asking.place(now, _expected, most=asking.QUESTIONS)


def _pick(now, value):
    """Ask about the pair with the largest value among those with unknown answers."""
    rows = now.order[: asking.POOL]
    found = np.where(_open(now, rows), value(rows), -np.inf)
    a, b = np.unravel_index(found.argmax(), found.shape)
    return None if np.isneginf(found[a, b]) else (int(rows[a]), int(rows[b]))


def _open(now, rows):
    every = np.zeros((len(rows), len(rows)), dtype=bool)
    for place, row in enumerate(rows.tolist()):
        every[place] = np.isin(rows, now.known.open_rows(row, rows))
    return np.triu(every, 1)


def least_sure(now):
    """Ask about the two samples whose difference has the largest variance."""
    return _pick(now, lambda rows: posterior(now.samples).gaps(now.known, rows, rows))


def information(now):
    """Ask about the pair whose answer has the largest expected information."""
    return _pick(now, lambda rows: posterior(now.samples).information(now.known, rows, rows))


def informative(now):
    """Grow; the next sample has the largest expected information with its nearest group."""

    def choose(now, unnamed, others):
        held = posterior(now.samples)
        gaps = held.gaps(now.known, unnamed, others).min(axis=1)
        value = held.likely_alike(now.known, gaps) * np.log1p(gaps / held.noise)
        return int(unnamed[value.argmax()])

    return asking.place(now, _expected, choose, most=asking.QUESTIONS)


def closest(now):
    """Grow; the next sample has the smallest expected difference from any group."""

    def choose(now, unnamed, others):
        gaps = posterior(now.samples).gaps(now.known, unnamed, others)
        return int(unnamed[gaps.min(axis=1).argmin()])

    return asking.place(now, _expected, choose, most=asking.QUESTIONS)


def once(now):
    """Ask a random sample against its nearest group only, in expected difference."""
    return asking.place(now, _expected, most=1)


def large_groups(now):
    """Grow; the largest of the sample's three nearest groups comes first."""

    def nearest(now, row, others):
        gaps = posterior(now.samples).gaps(now.known, np.array([row]), others)[0]
        group = now.known.group[others]
        order = np.argsort(gaps, kind="stable")
        first = others[order[np.sort(np.unique(group[order], return_index=True)[1])][:3]]
        size = np.bincount(now.known.group + 1)[now.known.group[first] + 1]
        return int(first[size.argmax()])

    return asking.place(now, nearest, most=asking.QUESTIONS)


def _first_open(now, rows, among, nearest):
    """Return the first row with an open question, and its nearest partner."""
    for row in rows.tolist():
        others = now.known.open_rows(row, among)
        if len(others):
            return row, nearest(now, row, others)
    return None


def nearest(now):
    """Ask a random sample against the nearest one in the features that LinkSelector selects.

    Samples with only drawn or unsure answers are skipped: drawn questions serve the validation.
    """
    is_named, is_linked = now.known.named[now.order], now.known.group[now.order] >= 0
    rows = np.concatenate([now.order[~is_named], now.order[is_linked]])
    usable = now.order[~is_named | is_linked]
    found = _first_open(now, rows, usable, asking._nearest_by_best)
    return found or _first_open(now, now.order, now.order, asking._nearest_by_best)


def _against_any(now, nearest, most=1):
    """Ask a random sample against any others; see `nearest`."""
    known, row = now.known, asking._being_placed(now, most)
    unnamed, linked = (now.order[some[now.order]] for some in (~known.named, known.group >= 0))
    first = [] if row is None else [row]
    for row in (*first, *unnamed, *linked):
        asked = known.group[asking._partners(now, row)]
        others = known.open_rows(row, np.concatenate([unnamed, linked]))
        others = others[~np.isin(known.group[others], asked[asked >= 0])]
        if len(others):
            return int(row), nearest(now, int(row), others)
    return _first_open(now, now.order, now.order, nearest)


def neighbour(now):
    """Ask a random sample against its nearest neighbours, in expected difference."""
    return _against_any(now, _expected, asking.QUESTIONS)


def neighbour_once(now):
    """Ask a random sample against its nearest neighbour, in expected difference."""
    return _against_any(now, _expected)


def neighbour_in_all(now):
    """Ask a random sample against its nearest neighbour in all features."""

    def nearest(now, row, others):
        K = posterior(now.samples).kernel
        return int(others[(K[others, others] - 2.0 * K[row, others]).argmin()])

    return _against_any(now, nearest)


def nearest_of_five(now):
    """Ask about the one of five random samples that is nearest to another, in expectation."""
    known = now.known
    unnamed, linked = (now.order[some[now.order]] for some in (~known.named, known.group >= 0))
    others = np.concatenate([unnamed, linked])
    if not len(unnamed) or len(others) < 2:
        return neighbour_once(now)
    gaps = posterior(now.samples).gaps(known, unnamed[:5], others)
    np.fill_diagonal(gaps, np.inf)  # these samples come first among the others
    row, other = np.unravel_index(gaps.argmin(), gaps.shape)
    return int(unnamed[row]), int(others[other])


def informative_partner(now):
    """Ask a random sample against the partner with the largest expected information."""

    def best(now, row, others):
        value = posterior(now.samples).information(now.known, np.array([row]), others)
        return int(others[value[0].argmax()])

    return _against_any(now, best)


def likely_partner(now):
    """The same, with a prior under which distant pairs are less likely alike."""

    def best(now, row, others):
        value = posterior(now.samples).information(now.known, np.array([row]), others, 5)
        return int(others[value[0].argmax()])

    return _against_any(now, best)


def farthest(now):
    """Place the sample with the largest expected difference from all groups."""

    def choose(now, unnamed, others):
        gaps = posterior(now.samples).gaps(now.known, unnamed, others)
        return int(unnamed[gaps.min(axis=1).argmax()])

    return asking.place(now, _expected, choose)


TRIED = {
    "grow, Constraint Score": by_constraint_score,
    "grow, expected difference": expected,
    "grow, nearest group only": once,
    "grow, largest of three groups": large_groups,
    "grow, closest sample": closest,
    "grow, most informative sample": informative,
    "minmax, expected difference": farthest,
    "nearest": nearest,
    "nearest, expected difference": neighbour_once,
    "nearest, all features": neighbour_in_all,
    "nearest, of five samples": nearest_of_five,
    "nearest, three times": neighbour,
    "largest variance": least_sure,
    "most informative pair": information,
    "most informative partner": informative_partner,
    "most informative partner, near ones": likely_partner,
}
