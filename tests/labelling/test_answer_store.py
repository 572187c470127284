"""Answers on disk are complete, can be resumed and never overwrite other programs' files."""

import json
import os
import shutil
import sqlite3

import numpy as np
import pytest

from linkselect import Pairs
from linkselect._messages import GuidedTypeError, GuidedValueError
from linkselect.asking import PairQueries
from linkselect.labelling._answer_store import (
    TABLES,
    AnswerFile,
    NotStoredError,
    answer_file_of,
    check_names,
)
from tests.helpers.full_disk import files_of_at_most
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


def saved(out, *steps):
    """Store the answers after each step, close the file, and return the final queries."""
    file = AnswerFile(out)
    state = file.state()
    queries = answered(0) if state is None else PairQueries.from_state(X, state)
    for step in steps:
        step(queries)
        file.store(queries)
    assert file.close(queries) == ""
    return queries


def more(n_answers):
    return lambda queries: answered(n_answers, queries)


def stored(out):
    """Return the queries restored from a file."""
    return saved(out)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


BOTH = ["pairs.csv", "pairs.linkselect.sqlite"]


def test_answers_come_back_with_the_same_next_question(out):
    queries = answered(7, pairs=Pairs(must=[(0, 1)] if y[0] == y[1] else [], cannot=[]))
    queries.answer((50, 51), "unsure")
    file = AnswerFile(out)
    assert file.state() is None
    file.store(queries)
    file.close(queries)
    back = stored(out)
    assert back.history == queries.history
    assert back.given == queries.given
    assert back.next_pair() == queries.next_pair()
    assert Pairs.from_csv(out) == queries.pairs


def test_every_change_is_stored(out):
    file = AnswerFile(out)
    queries = answered(0, pairs=Pairs([(0, 3)] if y[0] == y[3] else [], [(0, 1)]))
    for step in (
        lambda: answered(3, queries),
        lambda: queries.undo(),
        lambda: queries.answer((40, 41), "unsure"),
        lambda: queries.change((40, 41), "alike" if y[40] == y[41] else "different"),
        lambda: queries.change(queries.history[0].pair, None),
        lambda: queries.change((0, 1), "unsure"),
        lambda: answered(2, queries),
    ):
        step()
        file.store(queries)
        file.export(queries)
        assert Pairs.from_csv(out) == queries.pairs
        beside = out.parent / "copy.sqlite"
        shutil.copy(answer_file_of(out), beside)  # it contains every answer by itself
        with sqlite3.connect(beside) as connection:
            found = connection.execute("SELECT given, a, b, answer FROM answer ORDER BY place")
            state = queries.state()
            assert found.fetchall() == [
                (given, *line)
                for given, kind in ((1, "given"), (0, "answers"))
                for line in state[kind]
            ]
        connection.close()
    file.close(queries)
    assert stored(out).history == queries.history


def test_only_what_is_new_is_written(out):
    file = AnswerFile(out)
    queries = answered(5)
    file.store(queries)
    old = file._connection.execute("SELECT place, time FROM answer").fetchall()
    said = []
    file._connection.set_trace_callback(said.append)
    file.store(answered(1, queries))
    assert [text.split()[0] for text in said] == ["BEGIN", "INSERT", "COMMIT"]
    queries.undo()
    file.store(answered(2, queries))
    new = file._connection.execute("SELECT place, time FROM answer").fetchall()
    assert new[:5] == old
    assert len(new) == 7
    file.close(queries)


def test_ids_that_look_like_numbers_stay_text(out):
    ids = [f"{i:03}" for i in range(len(X))]
    file = AnswerFile(out)
    queries = answered(6, sample_ids=ids)
    check_names(queries)
    file.store(queries)
    file.close(queries)
    assert Pairs.from_csv(out, id_type=str) == queries.pairs


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (np.arange(len(X)) + 0.5, "float"),
        ([f" s{i}" for i in range(len(X))], "would be read from CSV"),
    ],
    ids=["numbers", "spaces"],
)
def test_ids_that_csv_cannot_store_are_refused(ids, problem):
    with pytest.raises(GuidedTypeError, match=problem):
        check_names(answered(0, sample_ids=ids))


def test_a_file_is_written_by_one_process_only(out):
    file = AnswerFile(out)
    with pytest.raises(GuidedValueError, match="in use"):
        AnswerFile(out)
    file.discard()
    AnswerFile(out).discard()
    assert names_in(out.parent) == []


def test_pairs_from_another_source_are_not_overwritten(out):
    out.write_text("a,b,link\n0,1,must\n")
    with pytest.raises(GuidedValueError, match="from another source"):
        AnswerFile(out)
    assert not answer_file_of(out).exists()
    assert out.read_text() == "a,b,link\n0,1,must\n"


def test_an_edited_csv_file_is_not_overwritten(out):
    saved(out, more(3))
    edited = out.read_text() + "8,9,must\n"
    out.write_text(edited)
    with pytest.raises(GuidedValueError, match=r"changed by another program.*move"):
        AnswerFile(out)
    assert out.read_text() == edited


def test_an_outdated_or_missing_csv_file_is_rewritten(out):
    saved(out, more(3))
    file = AnswerFile(out)
    queries = PairQueries.from_state(X, file.state())
    file.store(answered(4, queries))
    file._connection.close()  # as if the process was killed
    assert len(Pairs.from_csv(out).must) < queries.pairs.n_must
    assert stored(out).history == queries.history
    assert Pairs.from_csv(out) == queries.pairs
    out.unlink()
    assert stored(out).history == queries.history


def test_other_files_are_refused(out):
    path = answer_file_of(out)
    path.write_text("something else, and long enough to look like a file of a data base" * 20)
    with pytest.raises(GuidedValueError, match="not an answer file"):
        AnswerFile(out)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    with pytest.raises(GuidedValueError, match="not an answer file"):
        AnswerFile(out)


def test_a_file_of_another_version_is_refused(out):
    saved(out, more(1))
    out.unlink()
    connection = sqlite3.connect(answer_file_of(out))
    connection.execute("UPDATE about SET value = '99' WHERE name = 'format'")
    connection.commit()
    connection.close()
    with pytest.raises(GuidedValueError, match="another version"):
        AnswerFile(out)
    assert answer_file_of(out).exists(), "it must not be deleted"


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(OSError, match="cannot be opened"):
        AnswerFile(tmp_path / "absent" / "pairs.csv")


def test_a_full_disk_refuses_the_answer_and_keeps_the_others(out):
    file = AnswerFile(out)
    queries = answered(3)
    file.store(queries)
    answered(1, queries)
    with files_of_at_most(2000), pytest.raises(NotStoredError, match="Earlier answers are safe"):
        file.store(queries)
    file._connection.close()
    assert stored(out).history == answered(3).history
    file = AnswerFile(out)
    file.state()
    file.store(queries)  # disk space is available again
    file.close(queries)
    assert stored(out).history == queries.history


def test_a_full_disk_keeps_the_old_csv_file_and_is_reported_at_the_end(out):
    # With long names, all pairs need more space than SQLite's log of the last answer.
    ids = [f"{'s' * 300}{i}" for i in range(len(X))]
    file = AnswerFile(out)
    queries = answered(60, sample_ids=ids)
    file.store(queries)
    file.export(queries)
    before = out.read_bytes()
    answered(1, queries)
    file.store(queries)
    with files_of_at_most(len(before)):
        said = file.close(queries)
    assert f"{out} could not be written: File too large. All answers are in" in said
    assert out.read_bytes() == before
    file = AnswerFile(out)
    back = PairQueries.from_state(X, file.state(), ids)
    assert back.history == queries.history
    assert file.close(back) == ""
    assert Pairs.from_csv(out) == queries.pairs


def test_not_stored_is_an_os_error():
    assert issubclass(NotStoredError, OSError)


@pytest.mark.parametrize("n_statements", range(len(TABLES) + 1))
def test_a_partly_created_file_counts_as_new(out, n_statements):
    path = answer_file_of(out)
    path.touch()
    with sqlite3.connect(path) as connection:
        for statement in TABLES[:n_statements]:
            connection.execute(statement)
    connection.close()
    queries = saved(out, more(2))
    assert stored(out).history == queries.history


def test_without_an_answer_nothing_is_kept(out):
    file = AnswerFile(out)
    file.discard()
    assert names_in(out.parent) == []
    answer_file_of(out).touch()
    saved(out)
    assert names_in(out.parent) == []
    file = AnswerFile(out)
    queries = answered(0, pairs=Pairs([], [(0, 1)]))
    assert file.close(queries) == ""
    assert names_in(out.parent) == [], "the same pairs are imported at the next start"
    saved(out, more(1), PairQueries.undo)
    assert names_in(out.parent) == BOTH
    AnswerFile(out).discard()
    assert names_in(out.parent) == BOTH


def test_how_pairs_were_chosen_is_stored(out):
    file = AnswerFile(out)
    queries = answered(11, pairs=Pairs([(0, 1)] if y[0] == y[1] else [], []))
    file.store(queries)
    file.close(queries)
    back = stored(out)
    assert [one.adaptive for one in back.history] == [place % 5 < 4 for place in range(11)]
    lines = out.read_text().splitlines()
    assert lines[0] == "a,b,link,drawn"
    assert sum(line.endswith(",adaptive") for line in lines) == back.pairs.n_adaptive == 9
    assert Pairs.from_csv(out) == back.pairs


OLD_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE answer (
    place INTEGER PRIMARY KEY, given INTEGER NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL,
    name_a TEXT NOT NULL, name_b TEXT NOT NULL, answer TEXT NOT NULL, time REAL NOT NULL
) STRICT""",
)


@pytest.mark.parametrize("has_drawn", [True, False], ids=["some drawn", "none drawn"])
def test_a_file_of_format_1_is_resumed(out, has_drawn):
    queries = answered(6, pairs=Pairs([(0, 1)] if y[0] == y[1] else [], []))
    state = queries.state()
    rest = {name: state[name] for name in state.keys() - {"given", "answers", "names"}}
    if not has_drawn:  # as in files from before random questions
        del rest["adaptive"]
    connection = sqlite3.connect(answer_file_of(out))
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        for statement in OLD_TABLES:
            connection.execute(statement)
        about = {"format": "1", "state": json.dumps(rest)}
        connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        lines = [(1, *one) for one in state["given"]] + [(0, *one) for one in state["answers"]]
        connection.executemany(
            "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, 1.0)",
            [
                (place, given, a, b, str(a), str(b), said)
                for place, (given, a, b, said) in enumerate(lines)
            ],
        )
    connection.close()
    back = stored(out)
    assert back.given == queries.given
    assert [one.pair for one in back.history] == [one.pair for one in queries.history]
    assert [one.adaptive for one in back.history] == [
        one.adaptive or not has_drawn for one in queries.history
    ]
    assert saved(out, more(4)).history[:6] == back.history
    assert len(stored(out).history) == 10
    assert names_in(out.parent) == BOTH


def test_answers_survive_a_loss_of_power(out):
    """SQLite syncs to disk at every commit only with synchronous = FULL, which is 2."""
    file = AnswerFile(out)
    assert file._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    file.discard()


# -- changed by another program while open ----------------------------------------------


@pytest.fixture(params=["in a pause", "between answers"])
def opened(out, request):
    """Return an open file with five or more answers, five of them exported, and the queries."""
    file = AnswerFile(out)
    queries = answered(5)
    file.store(queries)
    file.export(queries)
    if request.param == "between answers":
        answer_taken(file, queries)
        answer_taken(file, queries)
    return file, queries


def answer_refused(file, queries, match):
    before = queries.snapshot()
    answered(1, queries)
    with pytest.raises(NotStoredError, match=match):
        file.store(queries)
    queries.put_back(before)


def answer_taken(file, queries):
    answered(1, queries)
    file.store(queries)


def ended(file, queries, out):
    assert file.close(queries) == ""
    assert names_in(out.parent) == BOTH
    assert Pairs.from_csv(out) == queries.pairs
    assert stored(out).history == queries.history


@pytest.fixture(params=BOTH)
def target(request, out):
    return out.with_name(request.param)


def test_a_file_is_moved_away_and_back(opened, target, out):
    away = out.with_name("away")
    target.rename(away)
    answer_refused(*opened, f"{target.name} was moved or deleted")
    away.rename(target)
    answer_taken(*opened)
    target.rename(away)
    answer_refused(*opened, "moved or deleted")
    ended_away = away.read_bytes()
    shutil.copy(away, target)  # another file with the same content
    away.unlink()
    assert target.read_bytes() == ended_away
    answer_taken(*opened)
    ended(*opened, out)


def test_a_deleted_file_is_rewritten_after_a_message(opened, target, out):
    target.unlink()
    answer_refused(*opened, "the next answer creates a new file")
    answer_taken(*opened)
    answer_taken(*opened)
    ended(*opened, out)


def test_both_are_deleted_with_their_folder(opened, out):
    shutil.rmtree(out.parent)
    answer_refused(*opened, r"pairs.linkselect.sqlite was moved.*pairs.csv was moved")
    answer_taken(*opened)
    ended(*opened, out)


def test_a_touched_or_unchanged_file_is_still_ours(opened, target, out):
    os.utime(target, ns=(1, 1))
    answer_taken(*opened)
    if target == out:
        out.write_bytes(out.read_bytes())
        answer_taken(*opened)
    ended(*opened, out)


@pytest.mark.parametrize("way", ["written over", "replaced"])
def test_a_changed_file_refuses_answers_until_it_is_moved_away(opened, target, out, way):
    file, queries = opened
    other = b"something else" * 300
    if way == "replaced":
        target.unlink()
    target.write_bytes(other)
    for _ in range(2):
        answer_refused(file, queries, f"{target.name} was changed by another program")
    file.export(queries)
    assert target.read_bytes() == other
    target.rename(out.with_name("other"))
    answer_taken(file, queries)
    assert file.close(queries) == ""
    assert out.with_name("other").read_bytes() == other
    assert names_in(out.parent) == ["other", *BOTH]
    assert stored(out).history == queries.history


def test_a_changed_file_can_be_restored(opened, target, out):
    before = target.read_bytes()
    target.write_bytes(b"something else")
    answer_refused(*opened, "changed by another program")
    target.write_bytes(before)
    answer_taken(*opened)
    ended(*opened, out)


def test_a_missing_file_is_rewritten_at_the_end(opened, target, out):
    file, queries = opened
    target.unlink()
    said = file.close(queries)
    assert ("rewritten" in said) == (target != out)
    assert names_in(out.parent) == BOTH
    assert Pairs.from_csv(out) == queries.pairs
    assert stored(out).history == queries.history


def test_a_missing_folder_is_created_again_at_the_end(opened, out):
    file, queries = opened
    shutil.rmtree(out.parent)
    assert "rewritten" in file.close(queries)
    assert stored(out).history == queries.history


def test_a_changed_csv_file_is_kept_at_the_end(opened, out):
    file, queries = opened
    out.write_text("mine")
    said = file.close(queries)
    assert "pairs.csv was changed by another program and has not been overwritten" in said
    assert "All answers are in" in said
    assert out.read_text() == "mine"
    with pytest.raises(GuidedValueError, match="no longer matches"):
        AnswerFile(out)
    out.unlink()
    assert stored(out).history == queries.history


@pytest.mark.parametrize("way", ["written over", "replaced", "copied"])
def test_a_changed_answer_file_is_kept_and_ours_gets_another_name(opened, out, way):
    file, queries = opened
    path = answer_file_of(out)
    if way == "copied":  # from another labelling
        other = out.with_name("other.csv")
        saved(other, lambda queries: queries.answer(queries.next_pair(), "unsure"))
        shutil.copy(answer_file_of(other), path)
    else:
        if way == "replaced":
            path.unlink()
        path.write_bytes(b"something else" * 1000)
    foreign, pairs = path.read_bytes(), out.read_bytes()
    said = file.close(queries)
    assert "pairs-2.linkselect.sqlite" in said
    assert "pairs-2.csv" in said
    assert (path.read_bytes(), out.read_bytes()) == (foreign, pairs)
    assert Pairs.from_csv(out.with_name("pairs-2.csv")) == queries.pairs
    assert stored(out.with_name("pairs-2.csv")).history == queries.history


def test_an_earlier_copy_is_brought_up_to_date(opened, out):
    other = out.with_name("other.csv")
    saved(other, more(2))
    path = answer_file_of(out)
    path.unlink()
    shutil.copy(answer_file_of(other), path)  # as from a backup
    for file in (other, answer_file_of(other)):
        file.unlink()
    answer_taken(*opened)
    ended(*opened, out)


def test_the_log_is_deleted(opened, out):
    log = out.with_name("pairs.linkselect.sqlite-wal")
    log.unlink()
    answer_taken(*opened)
    assert log.exists()
    ended(*opened, out)


def test_a_moved_answer_file_is_completed(opened, out):
    file, queries = opened
    away = out.with_name("away.linkselect.sqlite")
    answer_file_of(out).rename(away)
    answer_refused(file, queries, "moved or deleted")
    history = queries.history
    answer_taken(file, queries)
    assert stored(out.with_name("away.csv")).history == history
    file.close(queries)


def test_a_new_file_that_is_replaced_before_the_first_answer(out):
    file = AnswerFile(out)
    queries = answered(0)
    path = answer_file_of(out)
    path.unlink()
    path.write_text("something else")
    answer_refused(file, queries, "changed by another program")
    assert file.close(queries) == ""
    assert path.read_text() == "something else"


def test_a_folder_that_cannot_be_created_is_reported(opened, out):
    file, queries = opened
    shutil.rmtree(out.parent)
    out.parent.write_text("a file where the folder was")
    assert "could not be written" in file.close(queries)
