import json
import multiprocessing
import sqlite3
import sys
import time
from contextlib import closing

import numpy as np
import pytest

import linkselect
from linkselect.reproduction._paper import Unit
from linkselect.reproduction._store import Store, StoreError

UNIT = Unit("curve", "Wine", "Variance", 3, (("p", 2),), seed=7)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.sqlite", "a-paper")


def test_a_stored_result_is_found(store):
    kept = store.keep(UNIT, {"values": np.array([0.5, 1.0]), "best": np.int64(3)}, 1.5)
    assert kept == store.find([UNIT])[UNIT]
    assert kept.result == {"values": [0.5, 1.0], "best": 3}
    assert kept.seconds == 1.5


def test_only_requested_units_are_found(store):
    others = [Unit("curve", "Wine", "Variance", run) for run in range(3)]
    for unit in [UNIT, *others]:
        store.keep(unit, {"run": unit.run}, 0.0)
    found = store.find(others[1:])
    assert {unit: stored.result["run"] for unit, stored in found.items()} == {
        others[1]: 1,
        others[2]: 2,
    }
    assert store.find([Unit("curve", "Wine", "Variance", 99)]) == {}


def test_the_first_result_is_kept(store):
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


def test_rows_describe_their_unit(store):
    store.keep(UNIT, {"value": 1}, 0.25)
    connection = sqlite3.connect(store.path)
    connection.row_factory = sqlite3.Row
    row = dict(connection.execute("SELECT * FROM results").fetchone())
    connection.close()
    assert len(row.pop("checksum")) == 64
    assert row == {
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


def test_results_must_be_plain_data(store):
    with pytest.raises(TypeError, match="must be JSON data"):
        store.keep(UNIT, {"value": object()}, 0.1)
    assert store.find([UNIT]) == {}


@pytest.mark.parametrize(
    "change",
    [
        "result = NULL",
        "result = 'other text'",
        "result = '[1, 2]'",
        """result = '{"another": "shape"}'""",
        "result = x'ff00fe'",
        "result = 7",
        "seconds = NULL",
        "seconds = 'long'",
        "seconds = 1e9",
        "checksum = NULL",
    ],
)
def test_a_modified_row_is_ignored_and_replaced(store, change):
    other = Unit("curve", "Wine", "Variance", 99)
    store.keep(UNIT, {"value": 1}, 0.1)
    store.keep(other, {"value": 2}, 0.1)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"UPDATE results SET {change} WHERE run = {UNIT.run}")
    with pytest.warns(UserWarning, match=r"^Ignoring 1 row of .*results.sqlite that another"):
        assert set(store.find([UNIT, other])) == {other}
    assert store.keep(UNIT, {"value": 3}, 0.2).result == {"value": 3}
    assert store.find([UNIT, other])[UNIT].result == {"value": 3}


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as on Unix")
def test_a_full_disk_is_reported_and_loses_no_results(store):
    import resource
    import signal

    store.keep(UNIT, {"value": 1}, 0.1)
    large = Unit("curve", "Wine", "Variance", 99)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(StoreError, match="disk may be full.* Free disk space") as caught:
            store.keep(large, {"value": "long" * 100_000}, 0.1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "damaged" not in str(caught.value)
    assert set(store.find([UNIT, large])) == {UNIT}
    assert store.keep(large, {"value": "long" * 100_000}, 0.1).seconds == 0.1


def claim_elsewhere(path, until):
    Store(path, "a-paper").claim(UNIT)
    until.wait(600)


def test_a_claimed_unit_is_left_to_the_process_that_claimed_it(store):
    store.find([UNIT])
    context = multiprocessing.get_context("spawn")
    until = context.Event()
    process = context.Process(target=claim_elsewhere, args=(store.path, until))
    process.start()
    wait_for_a_claim(store.path)
    assert not store.claim(UNIT)
    store.give_back(UNIT)  # has no effect, since another process has claimed it
    assert not store.claim(UNIT)
    until.set()
    process.join()
    assert store.claim(UNIT)  # the other process has ended
    assert store.claim(UNIT)  # claimed by this process itself
    store.keep(UNIT, {}, 0.0)
    assert not store.claim(UNIT)


def wait_for_a_claim(path):
    give_up = time.monotonic() + 300
    while time.monotonic() < give_up:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            if connection.execute("SELECT count(*) FROM claims").fetchone() == (1,):
                return
        time.sleep(0.05)
    raise AssertionError("no process claimed the unit")


@pytest.mark.parametrize(("age", "free"), [(10.0, False), (1e6, True)])
def test_a_claim_of_another_machine_expires(store, age, free):
    store.claim(UNIT)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        since = time.time() - age
        connection.execute("UPDATE claims SET machine = 'elsewhere', since = ?", (since,))
    assert store.claim(UNIT) is free


@pytest.mark.parametrize("change", ["process = NULL", "process = 'a'", "since = 'now'"])
def test_a_damaged_claim_is_ignored(store, change):
    store.claim(UNIT)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"UPDATE claims SET machine = 'elsewhere', {change}")
    assert store.claim(UNIT)


def test_a_file_that_is_not_a_database(store):
    store.path.write_text("dataset,method\n" * 1000)
    with pytest.raises(StoreError, match="results.sqlite is damaged or is not a store"):
        store.find([UNIT])


def test_a_damaged_store(store):
    for run in range(20):
        store.keep(Unit("curve", "Wine", "Variance", run), {"value": list(range(2000))}, 0.0)
    content = bytearray(store.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    store.path.write_bytes(content)
    with pytest.raises(StoreError, match="Move this file to start"):
        store.find([UNIT, Unit("curve", "Wine", "Variance", 0)])


def test_the_database_of_another_program(store):
    connection = sqlite3.connect(store.path)
    connection.execute("CREATE TABLE results (id INTEGER)")
    connection.commit()
    connection.close()
    before = store.path.read_bytes()
    with pytest.raises(StoreError, match="a database of another program"):
        store.find([UNIT])
    assert store.path.read_bytes() == before


def test_a_store_of_results_without_a_protocol(store):
    connection = sqlite3.connect(store.path)
    connection.execute("CREATE TABLE results (paper TEXT, key TEXT, version TEXT, result TEXT)")
    connection.execute("PRAGMA application_id = 0x6C6B736C")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="by another version of linkselect.* Move this file to"):
        store.find([UNIT])


class NoWriteAheadLog(sqlite3.Connection):
    def execute(self, query, *values):
        if "journal_mode" in query:  # for this statement, SQLite does not wait for the lock
            raise sqlite3.OperationalError("database is locked")
        return super().execute(query, *values)


def test_a_store_works_without_a_write_ahead_log(store, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, timeout: connect(path, timeout, factory=NoWriteAheadLog)
    )
    assert store.keep(UNIT, {"value": 1}, 0.1).result == {"value": 1}


@pytest.mark.parametrize(
    ("seconds", "message"), [(0.5, "another process. Try"), (2.0, "another process for 2 seconds")]
)
def test_the_error_for_a_locked_store_states_the_waiting_time(store, monkeypatch, seconds, message):
    store.find([UNIT])
    monkeypatch.setattr("linkselect.reproduction._store.SECONDS_TO_WAIT_FOR_A_LOCK", seconds)
    other = sqlite3.connect(store.path)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    with pytest.raises(StoreError, match=message):
        store.keep(UNIT, {"value": 1}, 0.1)
    assert time.monotonic() - start > 0.4, "it does wait"
    other.close()


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(StoreError, match="Cannot open .* for writing"):
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
