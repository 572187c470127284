"""Conclusions updated by one answer are the same as those computed from all answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkselect import Pairs
from linkselect.asking import STRATEGIES, PairQueries
from linkselect.asking._answers import Known, in_order, know
from linkselect.asking._conclusions import Conclusions

N_SAMPLES = 9
X = np.random.default_rng(0).normal(size=(N_SAMPLES, 4))


def assert_same(found, expected):
    for name in Known.__dataclass_fields__:
        one, other = getattr(found, name), getattr(expected, name)
        if isinstance(other, np.ndarray):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), name
            assert one.tolist() == other.tolist(), name
        else:
            assert one == other, name


def assert_drawn_as_anew(queries):
    anew = Conclusions.of(queries._given, queries._answers, queries._names)
    kept = queries._all
    assert_same(kept.known, anew.known)
    assert_same(kept.seen, anew.seen)
    assert kept.placed == anew.placed
    assert kept.adaptive.tolist() == anew.adaptive.tolist()
    assert kept.counts == anew.counts


rows = st.tuples(st.integers(0, N_SAMPLES - 1), st.integers(0, N_SAMPLES - 1)).filter(
    lambda pair: pair[0] != pair[1]
)
said = st.sampled_from(["alike", "different", "unsure"])
steps = st.one_of(
    st.tuples(st.just("asked"), said),
    st.tuples(st.just("asked elsewhere"), said),
    st.tuples(st.just("answer"), rows, said),
    st.tuples(st.just("change"), st.integers(0, 30), st.one_of(said, st.none())),
    st.just(("undo",)),
    st.just(("put back",)),
)


def take(queries, step, before):
    kind, *rest = step
    if kind == "undo":
        queries.undo()
    elif kind == "put back":
        queries.put_back(before)
    elif kind == "answer":
        queries.answer(*rest)
    elif kind == "change":
        listed = (*queries.given, *queries.history)
        if listed:
            queries.change(listed[rest[0] % len(listed)].pair, rest[1])
    else:
        asked = queries.next_pair()
        if kind == "asked elsewhere" and asked:
            asked = queries.next_pair(skip=[asked])
        if asked:
            queries.answer(asked, rest[0])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(STRATEGIES)), st.booleans(), st.lists(steps, max_size=40), st.data())
def test_any_use_leaves_the_conclusions_of_all_answers(strategy, is_given, taken, data):
    pairs = Pairs([(0, 1), (4, 3)], [(1, 2)], adaptive=[(4, 3)]) if is_given else None
    queries = PairQueries(X, pairs, strategy=strategy, random_state=0)
    before = queries.snapshot()
    for step in taken:
        revision, history = queries.revision, queries.history
        take(queries, step, before)
        assert_drawn_as_anew(queries)
        if queries.revision == revision:
            assert queries.history[: len(history)] == history, "answers were only added at the end"
        else:
            assert queries.revision > revision
        if data.draw(st.booleans()):
            before = queries.snapshot()
    resumed = PairQueries.from_state(X, queries.state())
    assert resumed.next_pair() == queries.next_pair()
    must, cannot, adaptive = (set(map(tuple, some.tolist())) for some in queries.links())
    assert must == {in_order(*pair) for pair in queries.pairs.must}
    assert cannot == {in_order(*pair) for pair in queries.pairs.cannot}
    assert adaptive == {in_order(*pair) for pair in queries.pairs.adaptive}


@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_answers_one_by_one(seed):
    random = np.random.default_rng(seed)
    y = random.integers(7, size=80)
    lines, kept = [], know([], 80)
    for _ in range(400):
        a, b = sorted(random.choice(80, 2, replace=False).tolist())
        truth = "alike" if y[a] == y[b] else "different"
        answer = truth if random.random() < 0.9 else "unsure"
        if (a, b) in {line[:2] for line in lines}:
            continue
        lines.append((a, b, answer))
        kept = kept.after(a, b, answer)
        assert_same(kept, know(lines, 80))
    for a, b in random.integers(80, size=(200, 2)).tolist():
        follows = {frozenset(pair) for pair in kept.apart.tolist()}
        groups = kept.group[[a, b]].tolist()
        expected = "alike" if groups[0] == groups[1] else None
        expected = "different" if frozenset(groups) in follows else expected
        assert kept.follows(a, b) == (None if -1 in groups else expected)


def test_what_is_new_in_a_state():
    queries = PairQueries(X, Pairs([(0, 1)]), random_state=0)
    for answer in ("different", "unsure", "different"):
        queries.answer(queries.next_pair(), answer)
    whole, new = queries.state(), queries.state(after=2)
    assert whole["answers"][2:] == new["answers"]
    assert new["given"] == []
    assert new["names"] == {str(row): str(row) for row in sorted(new["answers"][0][:2])}
    assert queries.state(after=3)["answers"] == []


def test_what_is_known_of_one_pair():
    queries = PairQueries(X, Pairs([(0, 1)]), random_state=0)
    queries.answer((2, 3), "unsure")
    assert queries.answer_to((3, 2)).answer == "unsure"
    assert queries.answer_to((1, 0)).answer == "alike"
    assert queries.answer_to((1, 2)) is None
