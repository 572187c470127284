"""Answers about pairs: contradictions, changes, undo, and a state to resume from."""

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from linkselect import ConstraintScore, Pairs
from linkselect._messages import GuidedError
from linkselect.asking import STRATEGIES, Answer, Contradiction, PairQueries
from linkselect.pairs import PairConflictError

X = np.random.default_rng(0).normal(size=(8, 5))
IDS = list("abcdefgh")


def labelled(strategy="grow", **options):
    return PairQueries(X, sample_ids=IDS, strategy=strategy, random_state=0, **options)


# -- answers ----------------------------------------


def test_answers_become_pairs_and_history():
    queries = labelled(pairs=Pairs(must=[("a", "b")]))
    assert queries.answer(("c", "d"), "alike") is None
    assert queries.answer(("a", "c"), "different") is None
    assert queries.answer(("e", "a"), "unsure") is None
    assert queries.pairs == Pairs(
        must=[("a", "b"), ("c", "d")], cannot=[("a", "c")], adaptive=[("c", "d"), ("a", "c")]
    )
    assert queries.given == (Answer(("a", "b"), "alike", adaptive=False),)
    assert queries.history == (
        Answer(("c", "d"), "alike"),
        Answer(("a", "c"), "different"),
        Answer(("e", "a"), "unsure"),
    )
    assert queries.counts == {"alike": 1, "different": 1, "unsure": 1}
    assert queries.named() == ("a", "b", "c", "d", "e")
    assert queries.follows(("d", "b")) == "different"
    assert queries.follows(("a", "e")) is None


def test_an_answer_is_kept_in_the_order_in_which_it_was_asked():
    queries = labelled()
    pair = queries.next_pair()
    queries.answer(pair[::-1], "different")
    assert queries.history == (Answer(pair, "different"),)


def test_samples_are_numbered_without_ids():
    queries = PairQueries(X, random_state=0)
    queries.answer((np.int64(0), 3), "alike")
    assert queries.pairs == Pairs(must=[(0, 3)], adaptive=[(0, 3)])
    assert queries.pairs.n_samples == 8
    assert all(type(sample) is int for sample in queries.next_pair())


def test_the_index_of_a_frame_names_samples():
    frame = pd.DataFrame(X, index=IDS, columns=list("vwxyz"))
    queries = PairQueries(frame, Pairs(must=[("a", "b")]))
    assert set(queries.next_pair()) <= set(IDS)
    assert queries.feature_names.tolist() == list("vwxyz")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_question_that_is_being_asked_can_be_skipped(strategy):
    queries = labelled(strategy)
    for said in ("different", "different", "unsure"):
        queries.answer(queries.next_pair(), said)
    first = queries.next_pair()
    asked = [first[::-1]]
    while (pair := queries.next_pair(skip=asked)) is not None:
        assert frozenset(pair) not in map(frozenset, asked)
        assert queries.follows(pair) is None
        asked.append(pair)
    # All pairs but the three that were answered.
    assert len(asked) == 8 * 7 / 2 - 3
    assert queries.next_pair(skip=asked[1:]) == queries.next_pair() == first
    assert strategy == "random" or asked[1][0] not in first


# -- contradictions ----------------------------------------


def test_different_after_a_chain_of_alike_is_returned_with_the_chain():
    queries = labelled()
    for pair in ("ab", "bc", "cd"):
        queries.answer(tuple(pair), "alike")
    before = queries.state()
    assert queries.contradiction(("d", "a"), "alike") is None
    found = queries.answer(("d", "a"), "different")
    assert found == queries.contradiction(("d", "a"), "different")
    assert isinstance(found, Contradiction)
    assert set(found.pair) == {"a", "d"}
    assert found.answer == "different"
    assert found.conflict.chain in (tuple("abcd"), tuple("dcba"))
    assert [one.pair for one in found.earlier] == [("a", "b"), ("b", "c"), ("c", "d")]
    assert str(found) == "d and a cannot be different: d = c = b = a."
    assert queries.state() == before


def test_alike_across_groups_that_differ_is_returned_with_the_chain():
    queries = labelled(pairs=Pairs(must=[("a", "b")], cannot=[("b", "c"), ("e", "f")]))
    queries.answer(("c", "d"), "alike")
    found = queries.answer(("a", "d"), "alike")
    assert found.conflict.cannot == ("b", "c")
    assert found.conflict.chain == tuple("badc")
    assert {one.pair for one in found.earlier} == {("a", "b"), ("b", "c"), ("c", "d")}
    assert str(found) == "a and d cannot be alike: b and c are different, but then b = a = d = c."
    # Changing any of the earlier answers resolves the contradiction.
    for one in found.earlier:
        other = PairQueries.from_state(X, queries.state(), IDS)
        assert other.change(one.pair, "unsure") is None
        assert other.answer(("a", "d"), "alike") is None


def test_the_opposite_of_an_earlier_answer_contradicts_it():
    queries = labelled()
    queries.answer(("a", "b"), "different")
    found = queries.answer(("b", "a"), "alike")
    assert found.earlier == (Answer(("a", "b"), "different"),)
    assert queries.answer(("a", "b"), "different") is None
    assert len(queries.history) == 1


def test_unsure_contradicts_nothing_and_replaces_nothing():
    queries = labelled()
    queries.answer(("a", "b"), "alike")
    assert queries.answer(("b", "a"), "unsure") is None
    assert queries.history == (Answer(("a", "b"), "alike"),)
    queries.answer(("c", "d"), "unsure")
    queries.answer(("e", "f"), "alike")
    assert queries.answer(("d", "c"), "alike") is None
    assert queries.history[-1] == Answer(("d", "c"), "alike")
    assert queries.counts == {"alike": 3, "different": 0, "unsure": 0}


# -- changing and undoing ----------------------------------------


def test_a_changed_answer_keeps_its_place():
    queries = labelled()
    for pair, said in (("ab", "alike"), ("bc", "alike"), ("cd", "different")):
        queries.answer(tuple(pair), said)
    assert queries.change(("c", "b"), "different") is None
    assert [one.answer for one in queries.history] == ["alike", "different", "different"]
    assert queries.change(("b", "c"), None) is None
    kept = {"must": [("a", "b")], "cannot": [("c", "d")]}
    assert queries.pairs == Pairs(**kept, adaptive=[("a", "b"), ("c", "d")])


def test_a_change_that_contradicts_changes_nothing():
    queries = labelled()
    for pair, said in (("ab", "alike"), ("bc", "alike"), ("ac", "alike")):
        queries.answer(tuple(pair), said)
    before = queries.state()
    found = queries.change(("a", "c"), "different")
    assert [one.pair for one in found.earlier] == [("a", "b"), ("b", "c")]
    assert queries.state() == before


def test_a_given_pair_that_is_changed_becomes_an_answer():
    queries = labelled(pairs=Pairs(must=[("a", "b"), ("c", "d")]))
    assert queries.change(("b", "a"), "different") is None
    assert queries.given == (Answer(("c", "d"), "alike", adaptive=False),)
    assert queries.history == (Answer(("a", "b"), "different", adaptive=False),)
    queries.change(("c", "d"), None)
    assert queries.pairs == Pairs(cannot=[("a", "b")])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_undoing_asks_the_same_again(strategy):
    queries = labelled(strategy)
    y = dict(zip(IDS, [0, 0, 1, 1, 2, 2, 0, 1], strict=True))
    pairs = []
    for _ in range(8):
        pairs.append(queries.next_pair())
        a, b = pairs[-1]
        queries.answer((a, b), "alike" if y[a] == y[b] else "different")
    for pair in reversed(pairs):
        assert queries.undo().pair == pair
        assert queries.next_pair() == pair
    assert queries.undo() is None
    assert queries.history == ()


def test_given_pairs_are_not_undone():
    queries = labelled(pairs=Pairs(must=[("a", "b")]))
    assert queries.undo() is None
    assert queries.pairs.n_must == 1


def test_undoing_the_change_of_a_given_pair_gives_it_again():
    queries = labelled(pairs=Pairs(must=[("a", "b"), ("c", "d")]))
    before = queries.given
    queries.change(("a", "b"), "different")
    queries = PairQueries.from_state(X, queries.state(), IDS)  # also after resuming
    assert queries.undo() == Answer(("a", "b"), "different", adaptive=False)
    assert set(queries.given) == set(before)
    assert queries.history == ()
    queries.change(("a", "b"), "unsure")
    queries.change(("a", "b"), None)
    assert queries.undo() is None
    assert queries.given == (Answer(("c", "d"), "alike", adaptive=False),)


def test_a_given_pair_does_not_come_back_against_later_answers():
    queries = labelled(pairs=Pairs(must=[("a", "b")]))
    queries.answer(("a", "c"), "unsure")
    queries.answer(("b", "c"), "unsure")
    queries.change(("a", "b"), "different")
    queries.change(("a", "c"), "alike")
    queries.change(("b", "c"), "different")
    assert queries.undo() == Answer(("a", "b"), "different", adaptive=False)
    links = [("a", "c")], [("b", "c")]
    assert queries.pairs == Pairs(*links, adaptive=[*links[0], *links[1]])


# -- random use, compared with Pairs ------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_any_use_leaves_pairs_without_conflicts_that_are_the_answers(seed):
    rng = np.random.default_rng(seed)
    queries = PairQueries(X, random_state=seed, strategy=list(STRATEGIES)[seed % 3])
    kept = {}
    for _ in range(60):
        pair = tuple(int(row) for row in rng.choice(8, 2, replace=False))
        key, said = frozenset(pair), str(rng.choice(["alike", "different", "unsure"]))
        links = {**kept, key: said}
        must, cannot = (
            [tuple(k) for k, value in links.items() if value == kind]
            for kind in ("alike", "different")
        )
        conflicts = Pairs(must, cannot).n_conflicts > 0
        action = rng.integers(4)
        if action == 0 and kept:
            assert frozenset(queries.undo().pair) == list(kept)[-1]
            kept.popitem()
        elif action == 1 and key in kept:
            assert (queries.change(pair, said) is not None) == conflicts
            kept[key] = kept[key] if conflicts else said
        elif key not in kept:
            assert (queries.answer(pair, said) is not None) == conflicts
            if not conflicts:
                kept[key] = said
        assert {frozenset(one.pair): one.answer for one in queries.history} == kept
        assert queries.pairs.n_conflicts == 0
        asked = queries.next_pair()
        assert asked is None or (queries.follows(asked) is None and frozenset(asked) not in kept)


# -- the live ranking ----------------------------------------


@pytest.mark.filterwarnings("ignore:.*features? (is constant|are constant|vary|varies)")
@pytest.mark.parametrize("kind", ["plain", "offset", "int8", "sparse"])
def test_scores_are_those_of_the_constraint_score(kind):
    values = np.random.default_rng(1).normal(size=(8, 6))
    values[:, 2] = values[:, 1]
    values[:, 3] = 7.0
    values[:4, 4] = 0.0  # 0 / 0 for the first pairs
    if kind == "offset":
        values += 1e8
    made = {"int8": lambda values: (50 * values).astype(np.int8), "sparse": csr_array}
    given = made.get(kind, np.asarray)(values)
    queries = PairQueries(given, random_state=0)
    assert queries.scores() is None
    queries.answer((0, 1), "alike")
    assert queries.scores() is None
    for pair, said in (((1, 2), "different"), ((2, 3), "alike"), ((4, 5), "alike")):
        queries.answer(pair, said)
        expected = ConstraintScore().fit(given, pairs=queries.pairs).scores_
        np.testing.assert_allclose(queries.scores(), expected, rtol=1e-12)
    queries.undo()
    queries.change((1, 2), "unsure")
    assert queries.scores() is None


def test_scores_that_differ_by_rounding_are_equal():
    values = np.zeros((10, 24))
    values[1:8:2] = np.array(list(permutations([0.1, 0.2, 0.3, 0.7]))).T
    values[9] = 1.0
    queries = PairQueries(values, Pairs([(0, 1), (2, 3), (4, 5), (6, 7)], [(8, 9)]))
    assert len(np.unique(queries.scores())) == 1


# -- the state ----------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("ids", [None, IDS, [(1, letter) for letter in IDS]])
def test_a_state_goes_through_json_and_asks_the_same(strategy, ids):
    queries = PairQueries(X, None, ids, strategy, random_state=np.random.RandomState(3))
    for said in ("alike", "different", "unsure", "different", "alike"):
        assert queries.answer(queries.next_pair(), said) is None
        resumed = PairQueries.from_state(X, json.loads(json.dumps(queries.state())), ids)
        assert resumed.next_pair() == queries.next_pair()
        assert resumed.history == queries.history
        assert resumed.state() == queries.state()


def test_a_state_keeps_given_pairs_apart_from_answers():
    queries = labelled(pairs=Pairs(must=[("a", "b")], cannot=[("a", "c")]))
    queries.answer(("b", "e"), "alike")
    resumed = PairQueries.from_state(X, queries.state(), IDS)
    assert (resumed.given, resumed.history) == (queries.given, queries.history)
    assert resumed.pairs == queries.pairs


def test_without_a_seed_two_labellings_differ_but_each_resumes():
    seeds = {PairQueries(X).seed for _ in range(3)}
    assert len(seeds) == 3


def test_progress_is_told():
    told = []
    PairQueries(X, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == len(told)


# -- bad input ----------------------------------------


def test_pairs_that_contradict_each_other_are_refused():
    with pytest.raises(PairConflictError, match="without_conflicts"):
        labelled(pairs=Pairs(must=[("a", "b")], cannot=[("a", "b")]))


@pytest.mark.parametrize(
    ("pair", "answer", "problem"),
    [
        (("a", "z"), "alike", "'z', which is not one of the 8 samples"),
        (("a", "a"), "alike", "the same sample twice"),
        (("a", ["b"]), "alike", "not one of"),
        ("ab", "alike", "a pair has two samples"),
        (("a", "b", "c"), "alike", "a pair has two samples"),
        (7, "alike", "a pair has two samples"),
        (("a", "b"), "must", "it must be 'alike', 'different' or 'unsure'"),
        (("a", "b"), None, "it must be 'alike'"),
        (("a", "b"), ["alike"], "it must be 'alike'"),
    ],
)
def test_bad_answers_say_what_to_do(pair, answer, problem):
    queries = labelled()
    with pytest.raises(GuidedError, match=problem) as caught:
        queries.answer(pair, answer)
    assert caught.value.hint
    assert queries.history == ()


def test_only_an_answer_can_change():
    with pytest.raises(GuidedError, match="no answer to change"):
        labelled().change(("a", "b"), "alike")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"strategy": "best"}, "'best', but there is no such strategy"),
        ({"strategy": None}, "no such strategy"),
        ({"random_state": "x"}, "cannot seed"),
        ({"random_state": -1}, "cannot seed"),
        ({"sample_ids": ["a"]}, "1 id for 8 samples"),
        ({"pairs": [(0, 1)]}, "must be a linkselect.Pairs"),
    ],
)
def test_bad_parameters_say_what_to_do(options, problem):
    with pytest.raises(GuidedError, match=problem) as caught:
        PairQueries(X, **options)
    assert caught.value.hint


def test_samples_that_cannot_be_asked_about_are_refused():
    with pytest.raises(ValueError, match="minimum of 2 is required by PairQueries"):
        PairQueries(X[:1])
    with pytest.raises(ValueError, match="NaN"):
        PairQueries([[np.nan], [1.0]])
    with pytest.raises(GuidedError, match="squares overflow"):
        PairQueries([[1e200], [-1e200], [0.0]])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"version": 2}, "version 2"),
        ({"n_samples": 9}, "9 samples with 5 features"),
        ({"names": {"0": "'b'"}}, "Row 0 is the sample 'b' in the state, but 'a' in X"),
        ({"names": {"99": "'b'"}}, "not a state"),
        ({"answers": [[0, 99, "alike"]]}, "not a state"),
        ({"answers": [[-1, 0, "alike"]]}, "not a state"),
        ({"answers": [[0, 1, "must"]]}, "not a state"),
        ({"answers": 7}, "not a state"),
        ({"adaptive": 7}, "not a state"),
        ({"adaptive": [[0]]}, "not a state"),
        ({"answers": [[0, 1, "alike"]], "given": [[1, 0, "different"]]}, "contradicts itself"),
    ],
)
def test_a_state_of_something_else_is_refused(change, problem):
    state = labelled().state() | change
    with pytest.raises(GuidedError, match=problem):
        PairQueries.from_state(X, state, IDS)


def test_what_is_no_state_is_refused():
    for state in ({}, None, "x", {"version": 1}):
        with pytest.raises(GuidedError, match="not a state"):
            PairQueries.from_state(X, state)


def test_a_given_pair_that_was_changed_and_taken_back_does_not_come_again():
    queries = PairQueries(X, Pairs(must=[(0, 1)]), random_state=0)
    queries.change((0, 1), "different")
    queries.change((0, 1), None)
    assert PairQueries.from_state(X, queries.state()).pairs == Pairs(n_samples=len(X))
    queries.answer((0, 1), "different")
    queries.undo()
    assert queries.given == ()
    assert queries.history == ()
