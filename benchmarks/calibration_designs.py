"""Data on which claims are tested: many kinds of noise, and real data; see calibration.py."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

import linkselect as ls
from linkselect.asking import PairQueries
from linkselect.evaluation import choose_number, compare, nearest_neighbor_curve, validate
from linkselect.evaluation._pair_auc import auc_of_distances, total_distances

N_SELECTED = 20
# The variance factor for refitting was chosen on these sets, not on the held-out ones.
CHOSEN_ON = [
    "colon",
    "allaml",
    "prostate_ge",
    "sonar",
    "ionosphere",
    "dermatology",
    "usps",
    "isolet_1560",
    "image_segmentation",
    "warp_pie10p",
    "yale_32x32",
    "cnae_9",
]
N_DRAWS = 3

FAST = {
    "link_selector": ls.LinkSelector(N_SELECTED),
    "variance": ls.VarianceScore(N_SELECTED),
    "constraint": ls.ConstraintScore(N_SELECTED),
    "lsdf": ls.LSDF(N_SELECTED),
    "constrained_laplacian": ls.ConstrainedLaplacianScore(N_SELECTED, sigma="auto"),
}
SLOW = {"consensus": ls.ConsensusSelector(n_features_to_select=N_SELECTED, random_state=0)}
MUST_ONLY = {
    "link_selector": FAST["link_selector"],
    "variance": FAST["variance"],
    "scgs": ls.SCGS(N_SELECTED),
}
BY_LABELS = {
    "link_selector": FAST["link_selector"],
    "fisher": ls.FisherScore(N_SELECTED),
    "relieff": ls.ReliefF(N_SELECTED),
}


# -- noise -------------------------------------------------------------------------------------


def normal(rng, n, d=100):
    return rng.normal(size=(n, d))


def low_rank(rng, n, d=100):
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.1 * rng.normal(size=(n, d))


def clustered(rng, n, d=100):
    return normal(rng, n, d) + 3 * rng.normal(size=(3, d))[rng.integers(0, 3, n)]


def drawn(y, rng, n_must=20, n_cannot=20):
    return ls.Pairs.from_labels(y, n_must=n_must, n_cannot=n_cannot, random_state=seed_of(rng))


def seed_of(rng):
    return int(rng.integers(1 << 31))


def classes(n_classes, n=60, make=normal):
    def design(rng):
        return make(rng, n), drawn(rng.integers(0, n_classes, n), rng), {}

    return design


def rare(size, n=60):
    def design(rng):
        return normal(rng, n), drawn((np.arange(n) < size).astype(int), rng), {}

    return design


def disjoint_links(y, rng, n_links):
    """Draw pairs that share no sample, up to `n_links` of each kind."""
    left, found = list(rng.permutation(len(y))), {True: [], False: []}
    while left and min(map(len, found.values())) < n_links:
        one, alike = left.pop(), len(found[True]) <= len(found[False])
        other = next((row for row in left if (y[row] == y[one]) == alike), None)
        if other is not None:
            left.remove(other)
            found[alike].append((int(one), int(other)))
    return ls.Pairs(found[True], found[False])


def disjoint(rng, n=100):
    return normal(rng, n), disjoint_links(rng.integers(0, 2, n), rng, 20), {}


def hub(rng, n=60):
    rows = rng.permutation(n).tolist()
    must = list(zip(rows[1:41:2], rows[2:41:2], strict=True))
    return normal(rng, n), ls.Pairs(must, [(rows[0], row) for row in rows[21:41]]), {}


def few_labels(y, rng, per_class=3):
    kept = [rng.permutation(np.flatnonzero(y == one))[:per_class] for one in np.unique(y)]
    known = np.full(len(y), -1)
    known[np.concatenate(kept)] = y[np.concatenate(kept)]
    return known


def few(n_classes, n=60):
    def design(rng):
        y = rng.permutation(np.arange(n) % n_classes)
        return normal(rng, n), ls.Pairs.from_labels(few_labels(y, rng)), {}

    return design


def answers(X, y, rng, n_answers, given=None):
    queries = PairQueries(X, pairs=given, random_state=seed_of(rng))
    for _ in range(n_answers):
        pair = queries.next_pair()
        if pair is None:
            break
        queries.answer(pair, "alike" if y[pair[0]] == y[pair[1]] else "different")
    return queries.pairs


def asked(n_answers, make=normal, n=200):
    def design(rng):
        X = make(rng, n)
        return X, answers(X, rng.integers(0, 2, n), rng, n_answers), {}

    return design


def given_and_asked(rng, n=120):
    """Give 40 pairs, and ask 20 further questions that depend on them."""
    X, y = normal(rng, n), rng.integers(0, 2, n)
    given = disjoint_links(y, rng, 20)
    return X, given | answers(X, y, rng, 20, given), {}


def replicates(rng, n=60):
    """Draw three rows of each of 40 patients, and pairs between patients."""
    patient = np.repeat(np.arange(2 * n // 3), 3)
    X = normal(rng, len(patient) // 3)[patient] + 0.3 * normal(rng, len(patient))
    y = rng.integers(0, 2, len(patient) // 3)[patient]
    return X, drawn(y, rng), {"groups": patient}


def labels_and_pairs(rng, n=40):
    """Draw three rows of each patient, one labelled, and pairs between the other two."""
    patient = np.repeat(np.arange(n), 3)
    X = normal(rng, n)[patient] + 0.1 * normal(rng, len(patient))
    y = rng.permutation(np.arange(n) % 2)[patient]
    labelled = np.arange(len(patient)) % 3 == 0
    rows = np.flatnonzero(~labelled)
    links = drawn(y[rows], rng, 40, 40)
    must, cannot = (
        [(int(rows[a]), int(rows[b])) for a, b in kind] for kind in (links.must, links.cannot)
    )
    known = np.where(labelled, y, -1)
    both = ls.Pairs(must, cannot) | ls.Pairs.from_labels(known)
    return X, both, {"y": known, "groups": patient}


def plates(rng, n=120):
    """Draw batches that shift all features, and pairs inside batches only."""
    batch = np.arange(n) % 3
    X = normal(rng, n) + 2 * rng.normal(size=(3, 100))[batch]
    must, cannot = [], []
    for one in range(3):
        rows = np.flatnonzero(batch == one)
        links = disjoint_links(rng.integers(0, 2, len(rows)), rng, 8)
        must += [tuple(rows[list(pair)].tolist()) for pair in links.must]
        cannot += [tuple(rows[list(pair)].tolist()) for pair in links.cannot]
    return X, ls.Pairs(must, cannot), {"batches": batch}


def centred(rng, n_batches=20, size=6):
    """Draw small batches, centred; must-links join two of them, cannot-links lie inside one."""
    batch = np.repeat(np.arange(n_batches), size)
    X = normal(rng, len(batch)) + 2 * rng.normal(size=(n_batches, 100))[batch]
    left, found = list(rng.permutation(len(batch))), {True: [], False: []}
    while left and min(map(len, found.values())) < 20:
        one, inside = left.pop(), len(found[True]) > len(found[False])
        other = next((row for row in left if (batch[row] == batch[one]) == inside), None)
        if other is not None:
            left.remove(other)
            found[not inside].append((int(one), int(other)))
    return ls.center_batches(X, batch), ls.Pairs(found[True], found[False]), {"batches": batch}


def must_only(rng, n=100):
    return normal(rng, n), drawn(rng.integers(0, 2, n), rng, 20, 0), {}


NOISE = {
    "two_classes": classes(2),
    "three_classes": classes(3),
    "40_samples": classes(2, 40),
    "200_samples": classes(2, 200),
    "clustered": classes(2, 60, clustered),
    "low_rank": classes(2, 60, low_rank),
    "disjoint": disjoint,
    "rare_2": rare(2),
    "rare_3": rare(3),
    "rare_5": rare(5),
    "rare_10": rare(10),
    "hub": hub,
    "few_labels_2": few(2),
    "few_labels_12": few(12),
    "replicates": replicates,
    "labels_and_pairs": labels_and_pairs,
    "batches": plates,
    "batches_centred": centred,
    "asked_100": asked(100),
    "given_and_asked": given_and_asked,
    "asked_100_low_rank": asked(100, low_rank),
}


def validated(selector, X, pairs, **known):
    found = validate(selector, X, pairs=pairs, **known)
    estimate = found.estimate
    return {
        "chance": found.better_than_chance,
        "random": found.better_than_random if found.p_value is not None else None,
        "value": None if estimate is None else round(estimate.value, 4),
        "error": None if estimate is None else round(estimate.standard_error, 4),
    }


def on_noise(design, method, seed):
    X, pairs, known = NOISE[design](np.random.default_rng([seed, 27]))
    return validated({**FAST, **SLOW}[method], X, pairs, **known)


def must_on_noise(_, method, seed):
    X, pairs, _ = must_only(np.random.default_rng([seed, 28]))
    return validated(MUST_ONLY[method], X, pairs)


LABELLED = {"60 x 100": (60, 100, 0.5), "40 x 500": (40, 500, 0.5), "one in ten": (100, 100, 0.1)}


def labels_on_noise(design, method, seed):
    """Validate a fixed number of features, and one that is chosen by accuracy."""
    n, d, share = LABELLED[design]
    rng = np.random.default_rng([seed, 29])
    X, y = normal(rng, n, d), rng.permutation((np.arange(n) < share * n).astype(int))
    selector = BY_LABELS[method]
    given = validate(selector, X, y)
    fitted = ls.FisherScore() if method == "fisher" else ls.ReliefF()
    fitted.fit(X, y)
    number = choose_number(fitted, X, y)
    fitted.set_params(n_features_to_select=number.n_features).fit(X, y)
    chosen = validate(fitted, X, y, rankings=number.rankings)
    return {
        "chance": given.better_than_chance,
        "random": given.better_than_random,
        "chosen_chance": chosen.better_than_chance,
        "chosen_value": round(chosen.estimate.value, 4),
        "best_value": round(float(number.curve.mean.max()), 4),
    }


COMPARED = {"two_classes": classes(2), "low_rank": classes(2, 60, low_rank), "rare_10": rare(10)}
COMPARED |= {"disjoint": disjoint, "labels": None, "labels_replicates": None}


def compared(design, _, seed):
    """Compare methods on noise; return whether any is called better than another or than chance."""
    rng = np.random.default_rng([seed, 30])
    names = ("variance", "constraint", "lsdf")
    if design.startswith("labels"):
        X, y, groups = normal(rng, 60), rng.permutation(np.arange(60) % 2), None
        if design != "labels":  # three rows of each of 30 patients
            groups = np.repeat(np.arange(30), 3)
            X, y = X[groups] + 0.3 * normal(rng, 90), rng.permutation(np.arange(30) % 2)[groups]
        methods = {"variance": FAST["variance"], **BY_LABELS}
        found = compare(methods, X, y, groups=groups, n_features=[5, 10, 20])
    else:
        X, pairs, _ = COMPARED[design](rng)
        try:
            found = compare(
                {name: FAST[name] for name in names}, X, pairs=pairs, n_features=[5, 10, 20]
            )
        except ValueError:
            return {"any": None, "random": None}
    measure = found.measures[0]
    shown = [one for one in measure.differences if one.p_adjusted < found.level]
    return {
        "any": bool(shown),
        "random": any(one.worse == "random choice" for one in shown),
    }


# -- real data ---------------------------------------------------------------------------------


def load(name, data, seed):
    with np.load(data / f"{name}.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"]
    rng = np.random.default_rng([seed, 31])
    rows = rng.permutation(len(y))[:400]
    X, y = X[rows], y[rows]
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1), y, rng


REAL = {
    "20 + 20 pairs, disjoint": lambda X, y, rng: disjoint_links(y, rng, 20),
    "20 + 20 pairs": lambda X, y, rng: drawn(y, rng),
    "10 + 10 pairs": lambda X, y, rng: drawn(y, rng, 10, 10),
    "50 + 50 pairs": lambda X, y, rng: drawn(y, rng, 50, 50),
    "all pairs of 3 labels per class": lambda X, y, rng: ls.Pairs.from_labels(few_labels(y, rng)),
    "100 answers": lambda X, y, rng: answers(X, y, rng, 100),
    "20 must-links": lambda X, y, rng: drawn(y, rng, 20, 0),
    "5 labels per class": lambda X, y, rng: few_labels(y, rng, 5),
    "15 labels per class": lambda X, y, rng: few_labels(y, rng, 15),
}


def on_real(design, method, seed, name, data):
    X, y, rng = load(name, data, seed)
    half = len(y) // 2
    known = REAL[design](X[:half], y[:half], rng)
    by_labels = isinstance(known, np.ndarray)
    selector = {**FAST, **SLOW, **MUST_ONLY, **BY_LABELS}[method]
    selector.set_params(n_features_to_select=min(N_SELECTED, X.shape[1] // 2))
    given = {"y": known} if by_labels else {"pairs": known}
    if by_labels:
        rows = np.flatnonzero(known >= 0)
        found = validate(selector, X[:half][rows], known[rows])
        truth = nearest_neighbor_curve(
            X[rows], known[rows], X[half:], y[half:], list(found.selected), [len(found.selected)]
        )[0]
    else:
        found = validate(selector, X[:half], **given)
        truth = true_auc(X[half:], y[half:], np.array(found.selected), rng, known.n_cannot == 0)
    estimate = found.estimate
    return {
        "set": name,
        "chance": found.better_than_chance,
        "truth": round(float(truth), 4),
        "value": None if estimate is None else round(estimate.value, 4),
        "error": None if estimate is None else round(estimate.standard_error, 4),
    }


class RandomOrder(BaseEstimator):
    """A random ranking of features, the same for all pairs and labels."""

    def __init__(self, n_features_to_select=1, seed=0):
        self.n_features_to_select = n_features_to_select
        self.seed = seed

    def fit(self, X, y=None):
        n_features = np.shape(X)[1]
        self.order_ = np.random.default_rng(self.seed).permutation(n_features)
        self.support_ = np.isin(np.arange(n_features), self.order_[: self.n_features_to_select])
        return self

    def get_support(self):
        return self.support_


RANDOM_CHOICES = ("1 random feature", "3 random features", "20 random features")


def random_on_real(design, _, seed, name, data):
    """Return whether a random choice of features is called better than random choices."""
    X, y, rng = load(name, data, seed)
    number = int(design.split()[0])
    found = validate(RandomOrder(number, seed_of(rng)), X, y)
    return {"chance": None, "random": found.better_than_random}


def true_auc(X, y, features, rng, must_only):
    links = rng.integers(len(y), size=(60_000, 2))
    links = links[links[:, 0] != links[:, 1]]
    alike = y[links[:, 0]] == y[links[:, 1]]
    apart = links if must_only else links[~alike]
    distances = (total_distances(X, one[:1500], features) for one in (links[alike], apart))
    return auc_of_distances(*distances).auc
