"""Measure which test reaches which line, and how long each test takes.

Only tests that reach the changed line can detect a change, so a mutant costs only seconds.
"""

import ast
import json
import os
import time
from collections import Counter

import pytest

LOOK_AT_DEFINITIONS = (
    "tests/docs/test_bibliography.py",
    "tests/test_defaults.py",
    "tests/all_selectors/test_bounds.py::test_the_constants",
)


class Recorder:
    """Record passed tests and their seconds; set the coverage context to the running test."""

    def __init__(self, cover):
        self.cover = cover
        self.seconds = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.cover.switch_context(item.nodeid)
        started = time.process_time()
        yield
        self.cover.switch_context("")
        if item.nodeid in self.seconds:
            self.seconds[item.nodeid] = time.process_time() - started

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = 0.0


def measure(files, sources, arguments, target):
    """Run files of tests; write the seconds of each test and the tests of each line."""
    os.environ["COVERAGE_CORE"] = "ctrace"  # the core that supports contexts
    from coverage import Coverage

    cover = Coverage(data_file=None, include=[str(source) for source in sources])
    recorder = Recorder(cover)
    cover.start()
    code = pytest.main([*arguments, *files], plugins=[recorder])
    cover.stop()
    data = cover.get_data()
    numbers = {test: number for number, test in enumerate(recorder.seconds)}
    lines = {
        str(source): {
            line: sorted(numbers[test] for test in tests if test in numbers)
            for line, tests in data.contexts_by_lineno(str(source)).items()
        }
        for source in sources
    }
    target.write_text(json.dumps({"seconds": recorder.seconds, "lines": lines}))
    return code


class Cover:
    """The tests of each line of each source file, and the seconds of each test."""

    def __init__(self, contents):
        self.seconds, self.tests = {}, {}
        for content in contents:
            names = list(content["seconds"])
            self.seconds.update(content["seconds"])
            for path, lines in content["lines"].items():
                for line, numbers in lines.items():
                    found = self.tests.setdefault(path, {}).setdefault(int(line), set())
                    found.update(names[number] for number in numbers)

    def reaching(self, path, code, line):
        """Return the tests that reach the statement of a line.

        Code outside functions runs at import, so it belongs to all tests of the file: those that
        reach it, those of the mirroring file, and those that inspect definitions.
        """
        of_file = self.tests.get(path, {})
        if in_a_function(code, line):
            return set().union(*(of_file.get(number, ()) for number in statement_lines(code, line)))
        others = (mirror_of(path), *LOOK_AT_DEFINITIONS)
        found = {test for test in self.seconds if test.startswith(others)}
        return found.union(*of_file.values())

    def in_order(self, tests, path, budget):
        """Return tests within a budget of seconds, the quickest of each function first.

        Tests of the mirroring file, and those that inspect definitions, come first.
        """
        first = (mirror_of(path), *LOOK_AT_DEFINITIONS)
        seen, ranked = Counter(), []
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            function = test.split("[")[0]
            ranked.append((not test.startswith(first), seen[function], self.seconds[test], test))
            seen[function] += 1
        chosen, total = [], 0.0
        for _, _, seconds, test in sorted(ranked):
            if not chosen or total + seconds <= budget:
                chosen.append(test)
                total += seconds
        return chosen


def mirror_of(path):
    """Return the prefix of the tests that mirror a source file."""
    *folders, name = path.split("linkselect/", 1)[1].split("/")
    return "/".join(
        ["tests", *(folder.lstrip("_") for folder in folders), f"test_{name.lstrip('_')}"]
    )


def statement_lines(code, line):
    """Return the line numbers of the smallest statement that contains a line.

    Coverage does not record each line of a statement. Only the head of a statement with a body
    counts.
    """
    best = range(line, line + 1)
    smallest = len(code)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno
            lines = range(node.lineno, max(end, node.lineno) + 1)
            if line in lines and len(lines) < smallest:
                best, smallest = lines, len(lines)
    return best


def in_a_function(code, line):
    """Return whether a line is in the body of a function."""
    functions = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef))
    return any(node.body[0].lineno <= line <= node.end_lineno for node in functions)
