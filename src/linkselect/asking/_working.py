"""The features that LinkSelector chooses from the answers so far, quickly enough for a question."""

import warnings
from weakref import WeakKeyDictionary

import numpy as np

from linkselect._arrays import IntArray
from linkselect.asking._answers import Known
from linkselect.asking._asked_samples import SampleValues
from linkselect.pairs import Pairs
from linkselect.selectors import LinkSelector

MOST = 20
# The first alike answers decide: more than ten weigh no more than ten, and the features would have
# to be chosen anew after each.
MOST_ALIKE = 50
# So many samples suffice to show how features vary; fewer, but 50, if they hold more numbers than
# there is time for before the next question.
ENOUGH_SAMPLES, FEWEST_SAMPLES, SIZE = 200, 50, 1 << 22

# The last two choices for each table, by the links that they were made from: once all samples are
# named, each question is looked for without and with what drawn questions told.
_last: WeakKeyDictionary[SampleValues, dict[bytes, IntArray]] = WeakKeyDictionary()


def best_features(samples: SampleValues, known: Known, order: IntArray) -> IntArray:
    """Return the features that LinkSelector chooses: a third of all, from 2 to 20.

    It sees the samples of the first 50 alike answers, the different answers between these, and
    others up to 200 in all, fewer if there are more than 20,000 features. Constant features are not
    among the best.

    Parameters
    ----------
    samples : SampleValues
        The samples.
    known : Known
        What follows from the answers.
    order : ndarray of int of shape (n_samples,)
        All rows in a random order; the first ones fill up the samples.
    """
    must = known.must[:MOST_ALIKE]
    ends = np.unique(must)
    cannot = known.cannot[np.isin(known.cannot, ends).all(axis=1)]
    key = must.tobytes() + b"|" + cannot.tobytes()
    chosen_from = _last.setdefault(samples, {})
    if key not in chosen_from:
        if len(chosen_from) > 1:
            del chosen_from[next(iter(chosen_from))]
        enough = min(ENOUGH_SAMPLES, max(FEWEST_SAMPLES, SIZE // samples.n_features))
        others = order[~np.isin(order, ends)][: max(enough - len(ends), 0)]
        rows = np.sort(np.concatenate([ends, others]))
        links = (np.searchsorted(rows, some).tolist() for some in (must, cannot))
        pairs = Pairs(*links, n_samples=len(rows)) if len(must) else None
        n_best = max(2, min(MOST, samples.n_features // 3))
        selector = LinkSelector(min(n_best, samples.n_features))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of features that are constant in these rows
            chosen = selector.fit(samples.rows(rows), pairs=pairs).order_[:n_best]
        chosen_from[key] = chosen[~samples.constant[chosen]]
    return chosen_from[key]
