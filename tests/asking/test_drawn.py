"""Every fifth question is drawn at random, and answers record how their pair was chosen."""

import json
from itertools import combinations

import numpy as np
import pytest

from linkselect import Pairs
from linkselect.asking import Answer, PairQueries

LOOKING = ["grow", "minmax"]


def samples(n_samples=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, 4))


def truth(pair):
    return "alike" if (pair[0] - pair[1]) % 3 == 0 else "different"


def asked(queries, n_questions, answer=truth):
    """Answer some questions, and return their pairs."""
    pairs = []
    for _ in range(n_questions):
        pairs.append(queries.next_pair())
        assert queries.answer(pairs[-1], answer(pairs[-1])) is None
    return pairs


def is_adaptive(queries):
    return [one.adaptive for one in queries.history]


# -- random questions ------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", LOOKING)
@pytest.mark.parametrize("answer", [truth, lambda pair: "unsure"], ids=["sure", "unsure"])
def test_every_fifth_question_is_drawn_from_samples_that_no_pair_names(strategy, answer):
    queries = PairQueries(samples(), Pairs(cannot=[(0, 1)]), strategy=strategy, random_state=0)
    pairs = asked(queries, 22, answer)
    assert is_adaptive(queries) == [number % 5 > 0 for number in range(1, 23)]
    drawn = pairs[4::5]
    others = {0, 1}.union(*(pair for pair in pairs if pair not in drawn))
    assert len({*drawn[0], *drawn[1], *drawn[2], *drawn[3]} - others) == 8


@pytest.mark.parametrize("strategy", LOOKING)
def test_what_is_drawn_does_not_depend_on_the_samples(strategy):
    said = {(0, 1): "alike", (2, 1): "different", (3, 4): "unsure", (5, 0): "different"}
    found = set()
    for X in (samples(seed=0), samples(seed=1) ** 3, np.ones((60, 2))):
        queries = PairQueries(X, strategy=strategy, random_state=7)
        for pair, answer in said.items():
            queries.answer(pair, answer)
        found.add(queries.next_pair())
    assert len(found) == 1


def test_all_pairs_of_samples_that_no_pair_names_are_drawn_alike():
    counts = dict.fromkeys(combinations(range(4, 8), 2), 0)
    X = samples(8)
    for seed in range(600):
        queries = PairQueries(X, random_state=seed)
        for pair in ((0, 1), (1, 2), (2, 3), (0, 2)):
            queries.answer(pair, "different")
        counts[tuple(sorted(queries.next_pair()))] += 1
    assert min(counts.values()) > 60  # 100 are expected, with a standard deviation of 9


@pytest.mark.parametrize("strategy", LOOKING)
def test_a_strategy_learns_nothing_from_drawn_questions(strategy):
    sequences = set()
    for said in ("alike", "different", "unsure"):
        queries = PairQueries(samples(), strategy=strategy, random_state=0)
        pairs = []
        for number in range(1, 20):
            pairs += asked(queries, 1, truth if number % 5 else lambda pair, said=said: said)
        sequences.add(tuple(pairs))
    assert len(sequences) == 1


@pytest.mark.parametrize("strategy", LOOKING)
def test_if_all_samples_are_named_any_open_pair_is_drawn(strategy):
    queries = PairQueries(samples(6), strategy=strategy, random_state=0)
    for pair in ((0, 1), (2, 3), (4, 0), (1, 2)):
        queries.answer(pair, "different")
    pair = queries.next_pair()  # only sample 5 has no pair
    assert queries.follows(pair) is None
    queries.answer(pair, "different")
    assert not queries.history[-1].adaptive


def test_all_questions_of_the_strategy_random_are_drawn():
    queries = PairQueries(samples(), strategy="random", random_state=0)
    asked(queries, 12)
    assert queries.pairs.n_adaptive == 0


# -- provenance --------------------------------------------------------------------------------


@pytest.fixture
def queries():
    """Return a session whose fifth question was drawn at random; all answers are "different"."""
    queries = PairQueries(samples(), random_state=0)
    asked(queries, 5, lambda pair: "different")
    return queries


def drawn(queries):
    """Return the pairs that were not chosen by looking at the samples."""
    pairs = queries.pairs
    return {*pairs.must, *pairs.cannot} - {*pairs.adaptive}


def test_answers_to_what_was_not_asked_are_adaptive(queries):
    fifth = queries.history[4].pair
    queries.undo()
    queries.answer((50, 51), "alike")
    assert is_adaptive(queries) == [True] * 5
    assert drawn(queries) == set()
    queries = PairQueries(samples(), strategy="random", random_state=0)
    queries.answer(fifth, "alike")
    assert queries.pairs.adaptive == (fifth,)


def test_given_pairs_keep_theirs():
    given = Pairs([(0, 3), (1, 4)], [(0, 1)], adaptive=[(4, 1)])
    queries = PairQueries(samples(), given, random_state=0)
    assert queries.pairs == given
    queries.change((0, 3), "different")
    queries.change((1, 4), "unsure")
    queries.answer((4, 1), "different")
    assert queries.pairs.adaptive == ((4, 1),)
    queries.undo()
    assert queries.pairs == Pairs([(1, 4)], [(0, 1), (0, 3)], adaptive=[(1, 4)])


def test_a_changed_answer_keeps_its_own(queries):
    fifth = queries.history[4].pair
    for said in ("alike", "unsure"):
        queries.change(fifth, said)
        assert queries.history[4] == Answer(fifth, said, adaptive=False)
    queries.answer(fifth[::-1], "different")
    assert drawn(queries) == {fifth[::-1]}
    first = queries.history[0].pair
    queries.change(first, "unsure")
    queries.answer(first, "different")
    assert first in queries.pairs.adaptive


def test_undoing_asks_the_same_and_draws_it_again(queries):
    fifth = queries.history[4].pair
    assert queries.undo() == Answer(fifth, "different", adaptive=False)
    assert queries.next_pair() == fifth
    queries.answer(fifth, "alike")
    assert drawn(queries) == {fifth}


def test_a_snapshot_keeps_it(queries):
    before = queries.snapshot()
    expected = queries.pairs
    queries.undo()
    queries.put_back(before)
    assert queries.pairs == expected


@pytest.mark.parametrize("strategy", [*LOOKING, "random"])
def test_a_state_keeps_it(strategy):
    given = Pairs([(0, 3), (1, 4)], adaptive=[(1, 4)])
    queries = PairQueries(samples(), given, strategy=strategy, random_state=0)
    for _ in range(12):
        asked(queries, 1)
        queries = PairQueries.from_state(samples(), json.loads(json.dumps(queries.state())))
    n_adaptive = 0 if strategy == "random" else 10
    assert is_adaptive(queries).count(True) == n_adaptive
    assert queries.pairs.n_adaptive == n_adaptive + 1
    queries.change((0, 3), "unsure")
    queries = PairQueries.from_state(samples(), queries.state())
    queries.undo()
    assert queries.given[-1] == Answer((0, 3), "alike", adaptive=False)


@pytest.mark.parametrize("strategy", [*LOOKING, "random"])
def test_in_the_state_of_an_older_version_a_strategy_has_chosen_all(strategy):
    queries = PairQueries(samples(), Pairs([(0, 3)]), strategy=strategy, random_state=0)
    asked(queries, 6)
    state = {name: value for name, value in queries.state().items() if name != "adaptive"}
    resumed = PairQueries.from_state(samples(), state)
    assert is_adaptive(resumed) == [strategy != "random"] * 6
    assert resumed.given == queries.given
    assert resumed.next_pair() is not None


# -- several windows --------------------------------------------------------------------------


def test_a_question_of_another_window_counts_as_it_was_asked(queries):
    queries.undo()
    one = queries.next_pair()
    two = queries.next_pair(skip=[one])
    assert not {*one} & {*two}
    queries.answer(two, "different")
    three = queries.next_pair(skip=[one])  # `one` is still shown elsewhere
    four = queries.next_pair(skip=[one, three])
    queries.answer(four, "different")
    queries.answer(one, "different")
    queries.answer(three, "different")
    assert is_adaptive(queries)[4:] == [False, True, False, True]


def test_a_drawn_question_that_a_strategy_asks_later_was_chosen_by_it():
    X = samples(4)
    queries = PairQueries(X, random_state=0)
    for pair in ((0, 1), (1, 2), (0, 2), (0, 3)):
        queries.answer(pair, "different" if pair != (0, 3) else "unsure")
    never_answered = queries.next_pair()  # one of the last two
    other = {(1, 3), (2, 3)} - {tuple(sorted(never_answered))}
    queries.answer(other.pop(), "different")
    assert set(queries.next_pair()) == set(never_answered)
    queries.answer(never_answered, "different")
    assert queries.history[-1].adaptive
