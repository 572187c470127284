"""A labelling session: effects of answers, and no change if they cannot be stored."""

import threading
import time

import numpy as np
import pytest

from linkselect import Pairs
from linkselect.evaluation import suspect_pairs
from linkselect.labelling._answer_store import NotStoredError
from linkselect.labelling._labelling import PAUSE
from tests.helpers.labellings import N_SAMPLES, begun, grouped

X, y = grouped()
GROUPS = [np.flatnonzero(y == group).tolist() for group in range(3)]


@pytest.fixture
def labelling(tmp_path):
    labelling = begun(tmp_path / "pairs.csv")
    yield labelling
    labelling.close()


def truth(rows):
    return "alike" if y[rows[0]] == y[rows[1]] else "different"


def answer_some(labelling, n_answers):
    for _ in range(n_answers):
        rows = labelling.question()
        assert labelling.answer(rows, truth(rows)).kind == "saved"


def said(labelling):
    return [(set(one.pair), one.answer) for one in labelling.queries.history]


def test_answers_are_saved_and_undone(labelling):
    rows = labelling.question()
    assert labelling.answer(rows, truth(rows)).kind == "saved"
    assert labelling.question() != rows
    assert labelling.undo() == "undone"
    assert labelling.question() == rows
    assert labelling.undo() == "nothing"
    assert said(labelling) == []


def test_a_repeated_answer_changes_nothing(labelling):
    a, b = GROUPS[0][:2]
    labelling.answer((a, b), "alike")
    assert labelling.answer((b, a), "alike").kind == "same"
    outcome = labelling.answer((a, b), "different")
    assert (outcome.kind, outcome.answer) == ("meanwhile", "alike")
    assert labelling.answer((a, b), "unsure").kind == "meanwhile"
    assert said(labelling) == [({a, b}, "alike")]


def test_a_clear_answer_replaces_unsure(labelling):
    labelling.answer((0, 1), "unsure")
    assert labelling.answer((0, 1), "alike").kind == "saved"
    assert said(labelling) == [({0, 1}, "alike")]


def test_an_implied_answer_is_accepted(labelling):
    a, b, c = GROUPS[0][:3]
    labelling.answer((a, b), "alike")
    labelling.answer((b, c), "alike")
    assert labelling.answer((a, c), "alike").kind == "saved"


def test_a_contradiction_is_not_saved(labelling):
    a, b, c = GROUPS[0][:3]
    labelling.answer((a, b), "alike")
    labelling.answer((b, c), "alike")
    outcome = labelling.answer((a, c), "different")
    assert outcome.kind == "contradiction"
    assert {frozenset(one.pair) for one in outcome.contradiction.earlier} == {
        frozenset((a, b)),
        frozenset((b, c)),
    }
    assert len(said(labelling)) == 2
    assert labelling.change((b, c), "different").kind == "saved"
    assert labelling.answer((a, c), "different").kind == "saved"


def test_windows_with_names_ask_different_questions(labelling):
    answer_some(labelling, 4)
    first, second, third = (labelling.question(name) for name in ("one", "two", "three"))
    assert len({frozenset(rows) for rows in (first, second, third)}) == 3
    assert labelling.question("one") == first
    assert labelling.question("two") == second
    assert labelling.question() == first, "a page without a name shows the next question"
    labelling.answer(second, truth(second))
    assert set(labelling.question("two")) not in (set(first), set(second), set(third))


def test_an_undone_question_returns_to_its_window(labelling):
    rows = labelling.question("one")
    labelling.answer(rows, truth(rows))
    labelling.question("one")
    labelling.undo()
    assert set(labelling.question("one")) == set(rows)


def test_two_threads_lose_nothing(labelling):
    taken = [[], []]

    def work(mine, name):
        for _ in range(30):
            rows = labelling.question(name)
            outcome = labelling.answer(rows, truth(rows))
            assert outcome.kind in ("saved", "same")
            mine.append((frozenset(rows), truth(rows)))

    threads = [threading.Thread(target=work, args=(taken[i], str(i))) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    there = {(frozenset(one.pair), one.answer) for one in labelling.queries.history}
    assert {*taken[0], *taken[1]} <= there
    labelling.close()
    assert Pairs.from_csv(labelling.file.out) == labelling.queries.pairs


@pytest.mark.parametrize(
    "act",
    [
        lambda one: one.answer((N_SAMPLES - 1, N_SAMPLES - 2), "unsure"),
        lambda one: one.answer(one.question(), truth(one.question())),
        lambda one: one.undo(),
        lambda one: one.change(_first(one), "unsure"),
        lambda one: one.change(_first(one), None),
        lambda one: one.answer(_unsure(one), truth(_unsure(one))),
        lambda one: one.change((GROUPS[0][-3], GROUPS[0][-2]), "different"),
        lambda one: one.change((GROUPS[0][-3], GROUPS[0][-2]), None),
    ],
    ids=[
        "unsure",
        "answer",
        "undo",
        "change",
        "remove",
        "instead of unsure",
        "change given",
        "remove given",
    ],
)
def test_changes_that_cannot_be_stored_are_reverted(labelling, act, monkeypatch, tmp_path):
    labelling.close()
    a, b, c = GROUPS[0][-3:]
    pairs = Pairs(must=[(a, b), (b, c)])
    labelling = begun(tmp_path / "others.csv", pairs=pairs)
    answer_some(labelling, 5)
    labelling.answer((3, 4), "unsure")
    answer_some(labelling, 1)
    before = labelling.queries.given, said(labelling)

    def full(queries):
        raise NotStoredError("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(labelling.file, "store", full)
        with pytest.raises(NotStoredError):
            act(labelling)
    assert before == (labelling.queries.given, said(labelling)), "in the same order"
    act(labelling)
    assert before != (labelling.queries.given, said(labelling))
    labelling.close()
    assert Pairs.from_csv(tmp_path / "others.csv") == labelling.queries.pairs


def _first(labelling):
    return labelling._rows(labelling.queries.history[0].pair)


def _unsure(labelling):
    return 3, 4


def test_different_pairs_alone_do_not_rank(labelling):
    labelling.answer((GROUPS[0][0], GROUPS[1][0]), "different")
    assert not labelling.can_rank
    assert labelling.ask_for_report() is None
    labelling.answer(GROUPS[0][:2], "alike")
    assert labelling.can_rank
    labelling.undo()
    assert not labelling.can_rank, "despite the earlier ranking"


def test_suspicious_answers_are_listed_first(labelling):
    answer_some(labelling, 15)
    a, b = GROUPS[0][-1], GROUPS[1][-1]
    labelling.answer((a, b), "alike")  # wrong
    answer_some(labelling, 2)
    listed = labelling.all_answers()
    suspicion = suspect_pairs(X, labelling.queries.pairs)
    expected = [{one.a, one.b} for one in suspicion if one.suspicion > 0]
    assert {a, b} in expected
    assert [set(one.pair) for one, _, _ in listed[: len(expected)]] == expected
    rest = [set(one.pair) for one, _, _ in listed[len(expected) :]]
    newest_first = [set(one.pair) for one in labelling.queries.history[::-1]]
    assert rest == [pair for pair in newest_first if pair not in expected]


def test_imported_pairs_are_listed_and_can_change(tmp_path):
    a, b = GROUPS[0][:2]
    labelling = begun(tmp_path / "pairs.csv", pairs=Pairs(must=[(a, b)]))
    (listed,) = labelling.all_answers()
    assert (listed[0].pair, listed[1]) == ((a, b), True)
    assert labelling.change((a, b), "different").kind == "saved"
    assert said(labelling) == [({a, b}, "different")]
    labelling.close()


def test_a_session_is_resumed(tmp_path):
    out = tmp_path / "pairs.csv"
    labelling = begun(out)
    answer_some(labelling, 6)
    before, question = said(labelling), labelling.question()
    labelling.close()
    again = begun(out)
    assert said(again) == before
    assert again.question() == question
    again.close()


def csv_of(labelling):
    return Pairs.from_csv(labelling.file.out)


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def test_pairs_are_written_in_a_pause(labelling):
    answer_some(labelling, 3)
    assert not labelling.file.out.exists(), "not after each answer"
    wait_for(labelling.file.out.exists)
    answer_some(labelling, 3)
    wait_for(lambda: csv_of(labelling) == labelling.queries.pairs)


def test_pairs_are_written_with_the_report(labelling, tmp_path):
    answer_some(labelling, 6)
    labelling.ask_for_report()
    assert csv_of(labelling) == labelling.queries.pairs
    labelling.close()
    given = begun(tmp_path / "given.csv", pairs=Pairs(must=[GROUPS[0][:2]]))
    given.ask_for_report()
    assert csv_of(given) == given.queries.pairs, "even without answers"
    given.close()


def test_outdated_pairs_are_updated_at_the_start(labelling):
    answer_some(labelling, 6)
    labelling.file._connection.close()  # as if the process was killed before a pause
    again = begun(labelling.file.out)
    assert csv_of(again) == labelling.queries.pairs
    again.close()


def test_nothing_is_written_after_the_end(labelling, tmp_path):
    answer_some(labelling, 1)
    labelling.close()
    written = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    time.sleep(1.2 * PAUSE)
    labelling.export()
    labelling.close()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == written


def test_changed_files_are_reported_at_the_end(labelling):
    answer_some(labelling, 2)
    labelling.export()
    labelling.file.out.write_text("mine")
    labelling.close()
    assert "pairs.csv was changed by another program" in labelling.trouble


def test_the_ranking_before_the_last_ten_answers(tmp_path):
    labelling = begun(
        tmp_path / "pairs.csv", pairs=Pairs([GROUPS[0][:2]], [(GROUPS[1][0], GROUPS[0][0])])
    )
    asked = []
    labelling.background.rank = lambda *arguments: asked.append(arguments)
    for number in range(23):
        rows = labelling.question()
        labelling.answer(rows, "unsure" if number % 7 == 2 else truth(rows))
    for n_answers, links, before in asked:
        if n_answers <= 10:
            assert before is None
            continue
        earlier = asked[n_answers - 11][1] if n_answers > 10 else None
        assert [some.tolist() for some in before] == [some.tolist() for some in earlier]
        assert len(links.must) + len(links.cannot) == 2 + n_answers - (n_answers + 4) // 7
    labelling.close()


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.linkselect.sqlite"])
def test_answers_are_refused_while_a_file_is_changed(labelling, tmp_path, name):
    answer_some(labelling, 2)
    labelling.export()
    file = tmp_path / name
    content = file.read_bytes()
    file.write_bytes(b"mine")
    rows = labelling.question()
    before = said(labelling)
    for _ in range(2):
        with pytest.raises(NotStoredError, match=f"{name} was changed by another program"):
            labelling.answer(rows, truth(rows))
    assert said(labelling) == before
    file.write_bytes(content)
    assert labelling.answer(rows, truth(rows)).kind == "saved"
    labelling.close()
    assert labelling.trouble == ""
