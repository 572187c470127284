"""Select features with LinkSelector from the answers so far, fast enough between two questions."""

import warnings
from weakref import WeakKeyDictionary

import numpy as np

from linkselect._arrays import IntArray
from linkselect.asking._answers import Known
from linkselect.asking._asked_samples import SampleValues
from linkselect.pairs import Pairs
from linkselect.selectors import LinkSelector

MOST = 20
# Only the first "alike" answers are used: in LinkSelector, more than ten links have no more weight
# than ten, and the features would have to be selected again after each answer.
MOST_ALIKE = 50
# The first number of samples suffices to show how features vary. If these samples have more values
# than can be read before the next question, fewer samples are used, but at least 50.
ENOUGH_SAMPLES, FEWEST_SAMPLES, SIZE = 200, 50, 1 << 22

# The last two selections for each X, indexed by the pairs used. Two are kept because, once all
# samples occur in answers, each question is chosen without and with randomly drawn questions.
_last: WeakKeyDictionary[SampleValues, dict[bytes, IntArray]] = WeakKeyDictionary()


def best_features(samples: SampleValues, known: Known, order: IntArray) -> IntArray:
    """Return the features that LinkSelector ranks best: a third of all, at least 2, at most 20.

    The selection uses the samples in the first 50 "alike" answers, and the "different" answers
    between these samples. Random samples are added up to a total of 200 samples, or fewer if there
    are more than 20,000 features. Constant features are never returned.

    Parameters
    ----------
    samples : SampleValues
        The samples.
    known : Known
        The conclusions from the answers.
    order : ndarray of int of shape (n_samples,)
        All rows in random order; samples are added in this order.
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
            warnings.simplefilter("ignore")  # some features may be constant in these rows
            chosen = selector.fit(samples.rows(rows), pairs=pairs).order_[:n_best]
        chosen_from[key] = chosen[~samples.constant[chosen]]
    return chosen_from[key]
