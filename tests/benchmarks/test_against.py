"""Tests of `make bench`: growth, ratios, agreement, tables and measuring processes."""

import ast
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
ALTERNATIVES = {"skfeature", "skrebate", "fast_select", "mrmr", "mlxtend", "fastcan"}
OURS = "linkselect"


@pytest.fixture
def part(monkeypatch):
    """Import a benchmark module, which is not part of the library."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return lambda name: import_module(f"against.{name}")


@pytest.fixture
def results(part):
    return part("results")


@pytest.fixture
def agreement(part):
    return part("agreement")


def contender(name="rival", **options):
    defaults = {"call": "fit", "other": "", "how": "", "ahead": "", "limit": False, "own": False}
    return SimpleNamespace(name=name, **{**defaults, **options})


def measured(seconds, *, same=True, found="same order", failed=None, peak=3 << 20):
    agreed = {"same": same, "found": found}
    return {"seconds": seconds, "failed": failed, "peak": peak, "agreement": agreed}


def task_and_records(*others, ours=(1.0, 2.0, 4.0), data="generated"):
    """Return a task measured at three sizes.

    Every other contender comes with a function that turns our time into its result.
    """
    task = SimpleNamespace(title="A Score", contenders=(contender(OURS), *(c for c, _ in others)))
    sizes = [(100, 10), (200, 10), (400, 10)]
    records = [
        {
            "size": list(size),
            "data": data,
            "found": {
                OURS: {"seconds": [time] * 5, "failed": None, "peak": None},
                **{c.name: made(time) for c, made in others},
            },
        }
        for size, time in zip(sizes, ours, strict=True)
    ]
    return task, records


def test_growth_finds_the_powers(results):
    sizes = [(100, 10), (200, 10), (200, 20), (200, 40), (400, 40)]
    seconds = [3e-6 * n**2.0 * d**0.5 for n, d in sizes]
    assert results.growth(sizes, seconds) == pytest.approx((2.0, 0.5))


def test_growth_is_least_squares_in_logarithms(results):
    # For 1, 2 and 4 times as many samples, times of 1, 4 and 4 s give a log-log slope of 1.
    in_samples, in_features = results.growth([(10, 5), (20, 5), (40, 5)], [1.0, 4.0, 4.0])
    assert in_samples == pytest.approx(1.0)
    assert in_features is None
    assert results.growth([(10, 5), (20, 10)], [1.0, 2.0]) == (None, None)


def test_ratios_are_computed_within_each_turn(results):
    # Both were slow in the third turn, so this ratio is not an outlier.
    assert results.ratio_range([1.0, 2.0, 10.0], [3.0, 4.0, 30.0]) == (3.0, 2.0, 3.0)
    assert results.ratio_range([1.0], []) is None


def test_scores_agree_relative_to_the_largest(agreement):
    compare = agreement.same_scores(1e-3)
    assert compare(np.array([100.0, 1.0]), np.array([100.0, 1.05])).same
    assert not compare(np.array([1.0, 1.0]), np.array([1.0, 1.05])).same
    assert not compare(np.ones(3), np.ones(2)).same
    assert not compare(np.ones(2), np.array([1.0, np.nan])).same


def test_an_order_agrees_if_our_scores_decrease_along_it(agreement):
    scores = np.array([0.5, 3.0, 1.0])
    larger = agreement.same_order(1e-9, larger_is_better=True)
    smaller = agreement.same_order(1e-9, larger_is_better=False)
    assert larger(scores, np.array([1, 2, 0])).same
    assert not larger(scores, np.array([1, 0, 2])).same
    assert smaller(scores, np.array([0, 2, 1])).same
    assert not larger(scores, np.array([1, 2, 2])).same
    nearly = np.array([1.0, 1.0 + 1e-12])
    assert larger(nearly, np.array([0, 1])).same


def test_a_selection_agrees_in_order_or_as_a_set(agreement):
    ours = np.array([4, 2, 7])
    turned = np.array([2, 4, 7])
    assert not agreement.same_choice(ordered=True)(ours, turned).same
    assert agreement.same_choice(ordered=False)(ours, turned).same
    less = agreement.same_choice(ordered=False)(ours, np.array([4, 2]))
    assert (less.same, less.found) == (False, "2 of 3 features shared")


def test_rankings_agree_if_highly_correlated(agreement):
    compare = agreement.same_ranking(0.9)
    assert compare(np.arange(10.0), np.arange(10.0) ** 3).found == "rank correlation 1.000"
    assert not compare(np.arange(10.0), np.arange(10.0)[::-1]).same


def test_neighbors_agree_in_any_order_with_few_exceptions(agreement):
    ours = np.tile([[1, 2]], (100, 1))
    other = np.tile([[2, 1]], (100, 1))
    assert agreement.same_neighbors(0.99)(ours, other).same
    other[:2] = 3
    assert not agreement.same_neighbors(0.99)(ours, other).same


def test_a_ratio_is_printed_only_if_outputs_agree(results):
    ours = measured([1.0, 1.0, 1.0])
    assert results.verdict(contender(), ours, measured([2.0, 3.0, 4.0])) == (
        "3.00 (2.00 to 4.00)",
        "same order",
    )
    differs = measured([2.0] * 3, same=False, found="1 of 3 features shared")
    ratio, said = results.verdict(contender(), ours, differs)
    assert ratio == ""
    assert "1 of 3 features shared" in said
    ratio, said = results.verdict(contender(other="counts otherwise"), ours, differs)
    assert ratio == ""
    assert "counts otherwise" in said
    ratio, said = results.verdict(contender(), ours, measured([], failed="more than 9 s"))
    assert (ratio, said) == ("", "more than 9 s")


def test_a_faster_alternative_is_reported_with_the_reason(results):
    ours = measured([2.0, 2.0, 2.0])
    ratio, said = results.verdict(contender(ahead="it rounds"), ours, measured([1.0] * 3))
    assert ratio.startswith("0.50")
    assert "**faster than linkselect**: it rounds" in said
    mostly = results.verdict(contender(ahead="it rounds"), ours, measured([1.0, 2.5, 1.0]))[1]
    assert "**faster in most turns**: it rounds" in mostly


def test_a_limit_is_not_an_alternative(results):
    ratio, said = results.verdict(contender(limit=True), measured([3.0]), measured([2.0]))
    assert ratio == ""
    assert "1.50 (1.50 to 1.50) times" in said


def test_the_summary_has_the_largest_size_with_a_comparison(results):
    def gives_up(time):
        return measured([3 * time] * 5) if time < 4 else measured([], failed="more than 9 s")

    task, records = task_and_records((contender(), gives_up))
    (line,) = results.summary_rows(task, records)
    assert "200 x 10" in line
    assert "3.00 (3.00 to 3.00)" in line
    assert "larger sizes skipped" in line
    alone, records = task_and_records(data="MNIST")
    (line,) = results.summary_rows(alone, records)
    assert "400 x 10, MNIST" in line
    assert "no alternative" in line
    another = contender("linkselect, slowly", own=True), gives_up
    first, second = results.summary_rows(*task_and_records(another))
    assert "no alternative" in first
    assert "linkselect, slowly" in second


def test_the_page_has_all_sizes_growth_and_the_machine(results):
    rival = contender(), lambda time: measured([2 * time] * 5)
    task, records = task_and_records(rival)
    page = results.results_page({"a": task}, {"a": records}, {"processor": "one | two"})
    assert page.count("2.00 (2.00 to 2.00)") == 4  # in the summary and for each of three sizes
    assert "| A Score, up to 400 x 10 | rival | 1.0 |  |" in page
    assert "| processor | one \\| two |" in page
    assert "| 400 x 10 | rival | 8.00 s | 3 MB | 5 |" in page


def test_the_summary_is_found_between_its_marks(results):
    page = "before\n<!-- summary of make bench -->\ntable\n<!-- end of summary -->\nafter"
    assert results.summary_of(page) == "table"


def test_readme_summarises_the_table_of_the_results(results):
    page = (BENCHMARKS / "RESULTS.md").read_text(encoding="utf-8")
    line = "\n".join(results.speed_lines(results.summary_of(page)))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert line in readme, "stale: python benchmarks/run.py --copy"


def test_the_page_of_the_docs_includes_the_results():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert page.count("```{include} ../benchmarks/RESULTS.md") == 2
    for mark in ("<!-- measured -->", "<!-- end of summary -->"):
        assert mark in page
        assert mark in (BENCHMARKS / "RESULTS.md").read_text(encoding="utf-8")


def test_the_speed_line_has_the_extremes_and_skips_rows_without_a_ratio(results):
    head = "\n".join(results.SUMMARY_HEAD)
    rows = [
        "| A, 5 x 2 | 1 s | rival `a` | 2 s | 2.00 (1 to 3) | same |",
        "| B, 5 x 2 | 1 s | rival `b` | 9 s |  | other definition |",
        "| C, 5 x 2 | 1 s | other `c` | 4 s | 4.00 (3 to 5) | same |",
        "| D, 5 x 2 | 1 s | peer `d` | 8 s | 8.00 (7 to 9) | same |",
    ]
    line = " ".join(results.speed_lines("\n".join([head, *rows])))
    assert "In 3 comparisons" in line
    assert "2.00 times (A, rival) to 8.00 times (D, peer)" in line
    assert "median 4.00" in line


def test_every_alternative_is_measured_and_compared(part):
    tasks = part("tasks").TASKS
    names = {c.name for task in tasks.values() for c in task.others if not (c.limit or c.own)}
    lines = (BENCHMARKS / "requirements.txt").read_text().splitlines()
    pinned = {line.split("==")[0] for line in lines if not line.startswith("#")}
    assert names - {"scikit-learn"} <= pinned
    assert len(names) == 7
    for task in tasks.values():
        assert all(c.limit or c.compare is not None for c in task.others)
        samples, features = (set(along) for along in zip(*task.sizes, strict=True))
        assert len(samples) >= 3
        assert len(features) >= 3
        assert task.sizes[-1] == tuple(map(max, (samples, features)))
        assert all(c.own for c in task.others) or task.repeats >= 5


def test_only_the_measuring_process_imports_alternatives():
    library = list((ROOT / "src").rglob("*.py"))
    for file in [*library, *BENCHMARKS.glob("against/*.py"), BENCHMARKS / "run.py"]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        nodes = ast.walk(tree) if file in library else tree.body
        for node in nodes:
            if isinstance(node, ast.Import):
                found = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found = {(node.module or "").split(".")[0]}
            else:
                continue
            assert not found & ALTERNATIVES, file.name


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_contenders_are_measured_in_turns_in_their_own_processes(part):
    measuring, task = part("measuring"), part("tasks").TASKS["variance"]
    record = measuring.measure("variance", task, (70, 30), repeats=2, limit=60.0)
    ours, other = record["found"][OURS], record["found"]["scikit-learn"]
    assert [len(ours["seconds"]), len(other["seconds"])] == [2, 2]
    assert other["agreement"]["same"]
    assert ours["peak"] >= 0
    assert record["data"] == "generated"
    late = measuring.measure("variance", task, (70, 30), repeats=1, limit=0.0, skip=[OURS])
    assert late["found"]["scikit-learn"]["failed"] == "more than 0 s"
