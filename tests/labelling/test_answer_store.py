"""Answers on disk: stored whole, resumed, and never over what somebody else wrote."""

import json
import resource
import sqlite3
from contextlib import contextmanager

import numpy as np
import pytest

from linkselect import Pairs
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect.asking import PairQueries
from linkselect.labelling._answer_store import TABLES, AnswerFile, NotStoredError, answer_file_of
from tests.helpers.labellings import grouped

X, y = grouped()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "pairs.csv"


def answered(n_answers, queries=None, **options):
    queries = PairQueries(X, random_state=0, **options) if queries is None else queries
    for _ in range(n_answers):
        a, b = queries.next_pair()
        rows = [queries.sample_ids.index(sample) for sample in (a, b)]
        queries.answer((a, b), "alike" if y[rows[0]] == y[rows[1]] else "different")
    return queries


def stored(out):
    """Return the queries that a file gives back."""
    file = AnswerFile(out)
    try:
        return PairQueries.from_state(X, file.state())
    finally:
        file.close()


def test_answers_come_back_with_the_same_next_question(out):
    queries = answered(7, pairs=Pairs(must=[(0, 1)] if y[0] == y[1] else [], cannot=[]))
    queries.answer((50, 51), "unsure")
    file = AnswerFile(out)
    assert file.state() is None
    file.store(queries)
    file.close()
    back = stored(out)
    assert back.history == queries.history
    assert back.given == queries.given
    assert back.next_pair() == queries.next_pair()
    assert Pairs.from_csv(out) == queries.pairs


def test_every_change_is_stored(out):
    file = AnswerFile(out)
    queries = answered(0)
    for step in (
        lambda: answered(3, queries),
        lambda: queries.undo(),
        lambda: queries.answer((40, 41), "unsure"),
        lambda: queries.change((40, 41), "alike" if y[40] == y[41] else "different"),
        lambda: queries.change(queries.history[0].pair, None),
        lambda: answered(2, queries),
    ):
        step()
        file.store(queries)
        assert Pairs.from_csv(out) == queries.pairs
    file.close()
    assert stored(out).history == queries.history


def test_only_what_is_new_is_written(out):
    file = AnswerFile(out)
    queries = answered(5)
    file.store(queries)
    old = file._connection.execute("SELECT place, time FROM answer").fetchall()
    file.store(answered(1, queries))
    new = file._connection.execute("SELECT place, time FROM answer").fetchall()
    assert new[:5] == old
    assert len(new) == 6
    file.close()


def test_ids_that_look_like_numbers_stay_text(out):
    ids = [f"{i:03}" for i in range(len(X))]
    file = AnswerFile(out)
    queries = answered(6, sample_ids=ids)
    file.store(queries)
    file.close()
    assert Pairs.from_csv(out, id_type=str) == queries.pairs


def test_ids_that_csv_cannot_hold_are_refused(out):
    file = AnswerFile(out)
    with pytest.raises(GuidedTypeError, match="float"):
        file.store(answered(1, sample_ids=np.arange(len(X)) + 0.5))
    file.close()


def test_a_file_is_written_by_one_process_only(out):
    file = AnswerFile(out)
    with pytest.raises(GuidedValueError, match="in use"):
        AnswerFile(out)
    file.close()
    AnswerFile(out).close()


def test_pairs_from_elsewhere_are_not_written_over(out):
    out.write_text("a,b,link\n0,1,must\n")
    with pytest.raises(GuidedValueError, match="pairs from elsewhere"):
        AnswerFile(out)
    assert not answer_file_of(out).exists()
    assert out.read_text() == "a,b,link\n0,1,must\n"


def test_a_csv_file_that_was_edited_is_not_written_over(out):
    file = AnswerFile(out)
    file.store(answered(3))
    file.close()
    edited = out.read_text() + "8,9,must\n"
    out.write_text(edited)
    with pytest.raises(GuidedValueError, match=r"changed by something else.*move"):
        AnswerFile(out)
    assert out.read_text() == edited


def test_a_csv_file_that_is_one_answer_behind_or_gone_is_no_trouble(out):
    file = AnswerFile(out)
    queries = answered(3)
    file.store(queries)
    before = out.read_bytes()
    file.store(answered(1, queries))
    file.close()
    out.write_bytes(before)  # as if the process had ended before the new one took its place
    assert len(stored(out).history) == 4
    out.unlink()
    assert len(stored(out).history) == 4


def test_other_files_are_refused(out):
    path = answer_file_of(out)
    path.write_text("something else, and long enough to look like a file of a data base" * 20)
    with pytest.raises(GuidedValueError, match="not a file of answers"):
        AnswerFile(out)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    with pytest.raises(GuidedValueError, match="not a file of answers"):
        AnswerFile(out)


def test_a_file_of_another_version_is_refused(out):
    AnswerFile(out).close()
    connection = sqlite3.connect(answer_file_of(out))
    connection.execute("UPDATE about SET value = '99' WHERE name = 'format'")
    connection.commit()
    connection.close()
    with pytest.raises(GuidedValueError, match="another version"):
        AnswerFile(out)
    assert answer_file_of(out).exists(), "it is not ours to take away"


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="cannot be opened"):
        AnswerFile(tmp_path / "absent" / "pairs.csv")


@contextmanager
def files_of_at_most(size):
    """Let every write beyond a size fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("limit", [10, 2000], ids=["of the CSV file", "of the answers"])
def test_a_full_disk_refuses_the_answer_and_keeps_the_others(out, limit):
    file = AnswerFile(out)
    queries = answered(3)
    file.store(queries)
    answered(1, queries)
    with files_of_at_most(limit), pytest.raises(NotStoredError, match="Earlier answers are still"):
        file.store(queries)
    assert Pairs.from_csv(out).ids == answered(3).pairs.ids
    assert {one.name for one in out.parent.iterdir()} <= {
        "pairs.csv",
        "pairs.linkselect.sqlite",
        "pairs.linkselect.sqlite-wal",
    }
    file.close()
    assert stored(out).history == answered(3).history
    file = AnswerFile(out)
    file.state()
    file.store(queries)  # there is space again
    file.close()
    assert stored(out).history == queries.history


def test_not_stored_is_an_error_of_the_system():
    assert issubclass(NotStoredError, OSError)


@pytest.mark.parametrize("n_tables", [0, 1, 2])
def test_a_file_that_was_being_made_counts_as_new(out, n_tables):
    path = answer_file_of(out)
    path.touch()
    with sqlite3.connect(path) as connection:
        for statement in TABLES[:n_tables]:
            connection.execute(statement)
    connection.close()
    file = AnswerFile(out)
    queries = answered(2)
    file.store(queries)
    file.close()
    assert stored(out).history == queries.history


def test_a_new_file_is_taken_away_only_if_nothing_was_stored(out):
    file = AnswerFile(out)
    file.discard()
    assert not answer_file_of(out).exists()
    file = AnswerFile(out)
    file.store(answered(1))
    file.discard()
    assert len(stored(out).history) == 1
    file = AnswerFile(out)
    file.discard()
    assert answer_file_of(out).exists()


def test_how_pairs_were_chosen_is_stored(out):
    file = AnswerFile(out)
    file.store(answered(11, pairs=Pairs([(0, 1)] if y[0] == y[1] else [], [])))
    file.close()
    back = stored(out)
    assert [one.adaptive for one in back.history] == [place % 5 < 4 for place in range(11)]
    lines = out.read_text().splitlines()
    assert lines[0] == "a,b,link,drawn"
    assert sum(line.endswith(",adaptive") for line in lines) == back.pairs.n_adaptive == 9
    assert Pairs.from_csv(out) == back.pairs


def test_a_file_of_a_version_that_drew_no_questions_goes_on(out):
    file = AnswerFile(out)
    file.store(answered(6))
    file.close()
    connection = sqlite3.connect(answer_file_of(out))
    ((text,),) = connection.execute("SELECT value FROM about WHERE name = 'state'")
    state = {name: one for name, one in json.loads(text).items() if name != "adaptive"}
    connection.execute("UPDATE about SET value = ? WHERE name = 'state'", [json.dumps(state)])
    connection.commit()
    connection.close()
    file = AnswerFile(out)
    queries = PairQueries.from_state(X, file.state())
    assert queries.pairs.n_adaptive == 6
    file.store(answered(4, queries))
    file.close()
    assert [one.adaptive for one in stored(out).history] == [True] * 9 + [False]


def test_an_empty_file_that_was_there_is_not_taken_away(out):
    answer_file_of(out).touch()
    AnswerFile(out).discard()
    assert answer_file_of(out).exists()


def test_answers_survive_a_loss_of_power(out):
    """SQLite waits for the disk at every commit only if it is told to (FULL is 2)."""
    file = AnswerFile(out)
    assert file._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert file._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()
