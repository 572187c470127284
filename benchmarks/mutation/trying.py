"""Run tests against a copy of the code in which one file was changed.

Processes are forked from one that has imported everything but linkselect, since imports take longer
than most tests. Each works in a copy of the checkout and writes no byte code, so that the changed
file runs.
"""

import gc
import importlib
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

import pytest

# -x: one failing test is enough. The seed fixes the draws of Hypothesis. No other plugin is loaded,
# because loading takes longer than a test.
ARGUMENTS = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
ARGUMENTS += ["--hypothesis-seed=0", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
IMPORTED = [
    "numpy",
    "scipy.linalg",
    "scipy.sparse.csgraph",
    "scipy.spatial",
    "scipy.optimize",
    "scipy.stats",
    "joblib",
    "sklearn.cluster",
    "sklearn.datasets",
    "sklearn.feature_selection",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.utils.estimator_checks",
    "hypothesis.extra.numpy",
    "array_api_strict",
    "numba",
    "pandas",
]
ROOM = 4 << 30
PARTS = ("src", "tests", "pyproject.toml")


def prepare():
    """Import the dependencies of the tests, without linkselect."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in IMPORTED:
        importlib.import_module(name)
    if "linkselect" in sys.modules:
        raise SystemExit("linkselect was imported before it could be changed.")
    gc.freeze()  # existing objects are never garbage, and visiting them would copy their pages


def copy_checkout(root, folder):
    """Copy what the tests need."""
    for part in PARTS:
        source = root / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / part)


def compile_tests(files):
    """Collect all tests once, so that their byte code exists."""
    return pytest.main([*ARGUMENTS, "--collect-only", *files])


def fork(work, folder, log):
    """Call a function in a new process and process group, in a copy of the checkout."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        os.setsid()  # so that all of its processes can be killed together
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        file = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder / "src")
        sys.path.insert(0, str(folder / "src"))
        code = int(work())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Chosen:
    """Let pytest run only the chosen tests, in their order, each with a limit of CPU time.

    CPU time does not depend on other processes. A test beyond its limit ends the process, even
    inside C code.
    """

    def __init__(self, tests, seconds):
        self.places = {test: place for place, test in enumerate(tests)}
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items):
        items[:] = sorted(
            (item for item in items if item.nodeid in self.places),
            key=lambda item: self.places[item.nodeid],
        )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, 10 + 10 * self.seconds[item.nodeid])
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report):
        if report.failed:  # one failure suffices
            os.write(1, f"\nFAILED {report.nodeid}\n".encode())
            os._exit(1)


def run_tests(tests, seconds):
    """Run the chosen tests file by file until one fails; return the exit code of pytest.

    Collecting the tests of a file takes longer than running some of them, so the file of the first
    tests runs first.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = _data_size() + ROOM
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    code = 0
    for file in dict.fromkeys(test.split("::")[0] for test in tests):
        of_file = [test for test in tests if test.startswith(f"{file}::")]
        code = pytest.main([*ARGUMENTS, file], plugins=[Chosen(of_file, seconds)])
        if code not in (0, 5):
            break
    return code


def _data_size():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if "VmData" in line)


def outcome(code):
    """Return the outcome of a mutant from the exit code of its tests."""
    if code in (0, 5):  # no test failed, or none was left to run
        return "survived"
    if code == -signal.SIGPROF:
        return "hangs"
    if code < 0:
        return "crashes"
    if code in (1, 2, 4):  # a test failed, or could not be imported
        return "killed"
    raise SystemExit(f"pytest ended with {code}, which says nothing about a mutant.")


def wait_for_any(running, limit):
    """Return the process that ended first and its exit code; kill one that is over its limit."""
    while True:
        for pid, started in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return pid, os.waitstatus_to_exitcode(status)
            if time.monotonic() - started > limit:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return pid, -signal.SIGPROF
        time.sleep(0.01)
