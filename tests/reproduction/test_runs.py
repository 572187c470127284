import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from linkselect.reproduction._paper import Unit
from linkselect.reproduction._runs import UnitError, WorkerError, run_units
from linkselect.reproduction._store import Store

UNITS = [
    Unit("curve", dataset, method, run)
    for dataset in ("Wine", "Sonar")
    for method in ("Variance", "Fisher")
    for run in range(3)
]


def draw(unit, data_dir):
    random = unit.random()
    square = random.normal(size=(60, 60))
    return {"draw": random.random(), "inverse": np.linalg.inv(square)[0], "data": str(data_dir)}


def refuse_sonar(unit, data_dir):
    if unit.dataset == "Sonar" and unit.run == 1:
        raise FileNotFoundError("sonar.npz is not in the data folder")
    return {"value": unit.run}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.sqlite", "a-paper")


def test_results_in_the_order_of_the_units(store):
    results = run_units(UNITS, draw, store, data_dir=Path("folder"))
    assert list(results) == UNITS
    assert results[UNITS[0]]["data"] == "folder"


def test_all_methods_of_a_run_see_the_same_draws(store):
    results = run_units(UNITS, draw, store)
    variance, fisher = (Unit("curve", "Wine", method, 1) for method in ("Variance", "Fisher"))
    assert results[variance] == results[fisher]
    assert results[variance] != results[Unit("curve", "Wine", "Variance", 2)]
    assert results[variance] != results[Unit("curve", "Sonar", "Variance", 1)]


def test_results_do_not_depend_on_the_number_of_jobs(store, tmp_path):
    alone = run_units(UNITS, draw, store)
    together = run_units(UNITS, draw, Store(tmp_path / "other.sqlite", "a-paper"), jobs=2)
    assert alone == together


def test_stored_units_are_not_computed_again(store):
    first = run_units(UNITS[:5], draw, store)
    computed = []

    def watch(unit, data_dir):
        computed.append(unit)
        return draw(unit, data_dir)

    again = run_units(UNITS, watch, store)
    assert set(computed) == set(UNITS[5:])
    assert {unit: again[unit] for unit in first} == first


def test_a_unit_stored_meanwhile_by_another_process_is_used(store):
    def compute(unit, data_dir):
        for other in UNITS[:2]:
            store.keep(other, {"value": "from elsewhere"}, 0.0)
        return {"value": "from here"}

    results = run_units(UNITS[:2], compute, store)
    assert [result["value"] for result in results.values()] == ["from elsewhere"] * 2


def test_a_unit_named_twice_is_computed_once(store):
    seen = []
    run_units(UNITS[:1] * 3, lambda unit, data_dir: seen.append(unit) or {}, store)
    assert seen == UNITS[:1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_names_the_unit_and_keeps_the_rest(store, jobs):
    message = "curve, Sonar, (Variance|Fisher), run 1: sonar.npz is not in"
    with pytest.raises(UnitError, match=message):
        run_units(UNITS, refuse_sonar, store, jobs=jobs)
    kept = store.find(UNITS)
    # The other process may still compute a unit when the first one fails.
    assert len({unit for unit in UNITS if unit.run == 0} - set(kept)) < jobs
    assert not any(unit.dataset == "Sonar" and unit.run == 1 for unit in kept)


def die_once(unit, data_dir):
    mark = data_dir / f"{unit.dataset}-{unit.method}-{unit.run}"
    if unit.dataset == "Sonar" and unit.run == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(unit, None)


def always_die(unit, data_dir):
    if unit == UNITS[-1]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": unit.run}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")
def test_the_unit_of_a_killed_worker_is_retried(store, tmp_path):
    results = run_units(UNITS, die_once, store, jobs=2, data_dir=tmp_path)
    assert results == run_units(UNITS, draw, Store(tmp_path / "other.sqlite", "a-paper"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")
def test_repeatedly_killed_workers_are_an_error(store):
    with pytest.raises(WorkerError, match="killed 4 times in a row.* Finished results are stored"):
        run_units(UNITS[-4:], always_die, store, jobs=2)
    assert {UNITS[-3], UNITS[-2]} <= set(store.find(UNITS)) < set(UNITS)


def test_a_run_interrupted_within_a_unit_can_be_resumed_immediately(store):
    def stop(unit, data_dir):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_units(UNITS[:1], stop, store)
    assert run_units(UNITS[:1], lambda unit, data_dir: {"value": 1}, store)


def test_warnings_of_selectors_are_hidden(store):
    def compute(unit, data_dir):
        warnings.warn("4 features are constant", UserWarning, stacklevel=2)
        return {}

    # A visible warning would be an error, as in all tests.
    run_units(UNITS[:1], compute, store)


def test_progress(store):
    run_units(UNITS[:3], draw, store)
    seen = []
    run_units(UNITS, draw, store, progress=seen.append)
    assert [step.done for step in seen] == list(range(3, len(UNITS) + 1))
    assert {(step.total, step.found) for step in seen} == {(len(UNITS), 3)}
    assert seen[0].seconds_left > 0
    assert seen[-1].seconds_left == 0


def test_the_remaining_time_accounts_for_slow_units(store):
    def kept(dataset, runs, seconds):
        for run in range(runs):
            store.keep(Unit("curve", dataset, "Variance", run), {}, seconds)

    kept("Wine", 9, 1.0)
    kept("Sonar", 2, 100.0)
    units = [Unit("curve", name, "Variance", run) for name in ("Wine", "Sonar") for run in range(9)]
    seen = []
    run_units(units, lambda unit, data_dir: {}, store, progress=seen.append)
    assert seen[0].seconds_left == pytest.approx(700.0)


def test_the_remaining_time_is_unknown_before_the_first_unit(store):
    seen = []
    run_units(UNITS[:1], draw, store, progress=seen.append)
    assert seen[0].seconds_left is None


def test_timed_units_come_last_one_at_a_time(store):
    units = [Unit(name, "Wine", "Variance", run) for name in ("time", "curve") for run in range(3)]
    results = run_units(units, when_and_where, store, jobs=2, timed=("time",))
    timed = [results[unit] for unit in units if unit.experiment == "time"]
    others = [results[unit] for unit in units if unit.experiment != "time"]
    assert {result["process"] for result in timed} == {os.getpid()}
    assert os.getpid() not in {result["process"] for result in others}
    last = max(result["end"] for result in others)
    assert all(result["start"] >= last for result in timed)


def when_and_where(unit, data_dir):
    start = time.monotonic()  # one clock for all processes, which is never adjusted
    return {"start": start, "end": time.monotonic(), "process": os.getpid()}


SHARED_RUN = """
import sys, time
from pathlib import Path
from linkselect.reproduction._paper import Unit
from linkselect.reproduction._runs import run_units
from linkselect.reproduction._store import Store

computed = 0

def compute(unit, data_dir):
    global computed
    computed += 1
    Path(f"{at_work}-{sys.argv[3]}").touch()
    while len(list(at_work.parent.glob("at-work-*"))) < 2:
        time.sleep(0.01)
    return {"value": unit.run}

store = Store(Path(sys.argv[1]), "a-paper")
at_work = Path(sys.argv[2])
units = [Unit("e", f"d{d}", f"m{m}", run) for run in range(2) for d in range(5) for m in range(8)]
run_units(units, compute, store)
print(computed)
"""


def test_two_processes_share_the_work(store, tmp_path):
    script = tmp_path / "shared_run.py"
    script.write_text(SHARED_RUN)
    command = [sys.executable, str(script), str(store.path), str(tmp_path / "at-work")]
    runs = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "ab"]
    counts = [int(run.communicate(timeout=300)[0]) for run in runs]
    assert min(counts) > 0
    assert sum(counts) == 80, counts


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks processes up in /proc")
def test_workers_end_if_their_parent_is_killed(store, tmp_path):
    script = tmp_path / "slow_run.py"
    script.write_text(SLOW_RUN)
    run = subprocess.Popen([sys.executable, str(script), str(store.path)])
    workers = processes_at_work(run, store)
    assert run.pid not in workers
    run.kill()
    run.wait()
    wait_until(lambda: not any(map(is_running, workers)))


def is_running(process):
    try:
        # A terminated process stays a zombie until its new parent waits for it.
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


def wait_until(condition):
    give_up = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def processes_at_work(run, store):
    """Wait until each of two processes has finished a unit; return their numbers.

    A process that receives Ctrl-C during its start would print a traceback.
    """

    def found():
        assert run.poll() is None
        stored = store.find(SLOW_UNITS).values() if store.path.exists() else ()
        return {one.result["process"] for one in stored}

    wait_until(lambda: len(found()) == 2)
    return found()


SLOW_UNITS = [Unit("e", "d", "m", number) for number in range(60)]
SLOW_RUN = """
import os, sys, time
from pathlib import Path
from linkselect.reproduction._paper import Unit
from linkselect.reproduction._runs import run_units
from linkselect.reproduction._store import Store

def compute(unit, data_dir):
    process = os.getpid()
    if len(list(data_dir.glob(f"{process}-*"))) == 2:
        time.sleep(600)  # it is stopped here, whenever that is
    (data_dir / f"{process}-{unit.run}").touch()
    return {"value": unit.run, "process": os.getpid()}

if __name__ == "__main__":
    path = Path(sys.argv[1])
    units = [Unit("e", "d", "m", run) for run in range(60)]
    try:
        run_units(units, compute, Store(path, "a-paper"), jobs=2, data_dir=path.parent)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")
@pytest.mark.parametrize(("signal_name", "status"), [("SIGINT", 130), ("SIGKILL", -9)])
def test_an_interrupted_run_keeps_finished_units(store, tmp_path, signal_name, status):
    script = tmp_path / "slow_run.py"
    script.write_text(SLOW_RUN)
    command = [sys.executable, str(script), str(store.path)]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    processes_at_work(run, store)
    n_finished = len(store.find(SLOW_UNITS))
    # Ctrl-C reaches the whole group of processes.
    os.killpg(run.pid, getattr(signal, signal_name))
    _, errors = run.communicate(timeout=300)
    assert run.returncode == status
    if signal_name == "SIGINT":
        assert "Traceback" not in errors
    assert 2 <= n_finished <= len(store.find(SLOW_UNITS)) <= 4
    results = run_units(SLOW_UNITS, lambda unit, data_dir: {"value": unit.run}, store)
    assert [result["value"] for result in results.values()] == list(range(60))
