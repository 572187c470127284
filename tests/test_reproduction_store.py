import json
import multiprocessing
import sqlite3

import numpy as np
import pytest

import linkselect
from linkselect.reproduction.paper import Unit
from linkselect.reproduction.store import Store, StoreError

UNIT = Unit("curve", "Wine", "Variance", 3, (("p", 2),), seed=7)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.sqlite", "a-paper")


def test_what_is_kept_is_found(store):
    kept = store.keep(UNIT, {"values": np.array([0.5, 1.0]), "best": np.int64(3)}, 1.5)
    assert kept == store.find([UNIT])[UNIT]
    assert kept.result == {"values": [0.5, 1.0], "best": 3}
    assert kept.seconds == 1.5


def test_only_wanted_units_are_found(store):
    others = [Unit("curve", "Wine", "Variance", run) for run in range(3)]
    for unit in [UNIT, *others]:
        store.keep(unit, {"run": unit.run}, 0.0)
    found = store.find(others[1:])
    assert {unit: stored.result["run"] for unit, stored in found.items()} == {
        others[1]: 1,
        others[2]: 2,
    }
    assert store.find([Unit("curve", "Wine", "Variance", 99)]) == {}


def test_the_first_result_stays(store):
    store.keep(UNIT, {"value": 1}, 0.1)
    assert store.keep(UNIT, {"value": 2}, 0.2).result == {"value": 1}


@pytest.mark.parametrize(
    "change", [{"paper": "another"}, {"version": "0.0.0"}, {"protocol": '{"folds": 5}'}]
)
def test_results_belong_to_a_paper_a_version_and_a_protocol(store, change):
    store.keep(UNIT, {"value": 1}, 0.1)
    other = Store(store.path, **({"paper": store.paper} | change))
    assert other.find([UNIT]) == {}
    assert other.keep(UNIT, {"value": 2}, 0.1).result == {"value": 2}
    assert store.find([UNIT])[UNIT].result == {"value": 1}


def test_rows_say_what_they_are(store):
    store.keep(UNIT, {"value": 1}, 0.25)
    connection = sqlite3.connect(store.path)
    connection.row_factory = sqlite3.Row
    (row,) = connection.execute("SELECT * FROM results").fetchall()
    connection.close()
    assert dict(row) == {
        "paper": "a-paper",
        "key": UNIT.key,
        "version": linkselect.__version__,
        "protocol": "{}",
        "experiment": "curve",
        "dataset": "Wine",
        "method": "Variance",
        "run": 3,
        "parameters": json.dumps({"p": 2}),
        "seed": 7,
        "seconds": 0.25,
        "result": '{"value": 1}',
    }


def test_no_plain_data(store):
    with pytest.raises(TypeError, match="must be plain data"):
        store.keep(UNIT, {"value": object()}, 0.1)
    assert store.find([UNIT]) == {}


def test_a_file_that_is_no_database(store):
    store.path.write_text("dataset,method\n" * 1000)
    with pytest.raises(StoreError, match="results.sqlite is damaged, or no store"):
        store.find([UNIT])


def test_a_damaged_store(store):
    for run in range(20):
        store.keep(Unit("curve", "Wine", "Variance", run), {"value": list(range(2000))}, 0.0)
    content = bytearray(store.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    store.path.write_bytes(content)
    with pytest.raises(StoreError, match="Move it away"):
        store.find([UNIT, Unit("curve", "Wine", "Variance", 0)])


def test_the_database_of_another_program(store):
    connection = sqlite3.connect(store.path)
    connection.execute("CREATE TABLE results (id INTEGER)")
    connection.commit()
    connection.close()
    before = store.path.read_bytes()
    with pytest.raises(StoreError, match="another program's database"):
        store.find([UNIT])
    assert store.path.read_bytes() == before


def test_a_store_of_results_without_a_protocol(store):
    connection = sqlite3.connect(store.path)
    connection.execute("CREATE TABLE results (paper TEXT, key TEXT, version TEXT, result TEXT)")
    connection.execute("PRAGMA application_id = 0x6C6B736C")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="by another version of linkselect.* Move it away"):
        store.find([UNIT])


class NoWriteAheadLog(sqlite3.Connection):
    def execute(self, query, *values):
        if "journal_mode" in query:  # SQLite does not wait for the lock here
            raise sqlite3.OperationalError("database is locked")
        return super().execute(query, *values)


def test_a_new_store_does_without_a_write_ahead_log(store, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, timeout: connect(path, timeout, factory=NoWriteAheadLog)
    )
    assert store.keep(UNIT, {"value": 1}, 0.1).result == {"value": 1}


@pytest.mark.parametrize(
    ("seconds", "message"), [(0.0, "another process. Try"), (2.0, "another process for 2 seconds")]
)
def test_a_locked_store_says_how_long_it_waited(store, monkeypatch, seconds, message):
    store.find([UNIT])
    monkeypatch.setattr("linkselect.reproduction.store.SECONDS_TO_WAIT_FOR_A_LOCK", seconds)
    other = sqlite3.connect(store.path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=message):
        store.keep(UNIT, {"value": 1}, 0.1)
    other.close()


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "missing" / "results.sqlite", "a-paper").find([UNIT])


def keep_many(path, process):
    store = Store(path, "a-paper")
    for run in range(40):
        store.keep(Unit("curve", "Wine", "Variance", run), {"process": process}, 0.0)


def test_processes_share_a_store(store):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=keep_many, args=(store.path, i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(store.find([Unit("curve", "Wine", "Variance", run) for run in range(40)])) == 40
