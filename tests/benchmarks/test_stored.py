"""Tests of the benchmark of samples outside memory: its data, measurements and tables."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import linkselect as ls

pytest.importorskip("zarr")
pytest.importorskip("pyarrow")


@pytest.fixture
def benchmarks(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    names = ("stored", "stored_data", "stored_runs", "stored_tables", "billion_rows")
    found = SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    monkeypatch.setattr(found.stored, "STORE", tmp_path / "stored.json")
    monkeypatch.setattr(found.stored_data, "BLOCK", 40)
    return found


def test_all_kinds_of_files_have_the_same_values(benchmarks, tmp_path):
    data = benchmarks.stored_data
    X = data.tall_in_memory(100, 7)
    data.write_parquet(tmp_path / "X.parquet", 100, 7)
    data.write_zarr(tmp_path / "X.zarr", 100, 7)
    for kind in ("parquet", "zarr"):
        assert_array_equal(np.asarray(ls.open_stored(tmp_path / f"X.{kind}")), X)
        for how in ("library", "slabs"):
            found = benchmarks.stored_runs.read({"how": how, "file": str(tmp_path / f"X.{kind}")})
            assert found["total"] == 100
    # A smaller table equals the first rows of a larger one.
    assert_array_equal(data.tall_in_memory(60, 7), X[:60])
    classes = np.concatenate([classes for *_, classes in data.tall_blocks(100, 7)])
    assert_array_equal(data.tall_classes(100), classes)


def test_wide_files_have_the_same_values(benchmarks, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks.stored_data, "WIDE_BLOCK", 30)
    benchmarks.stored_data.write_wide(tmp_path, 5, 70)
    X = np.load(tmp_path / "wide.npy")
    assert np.isfinite(X).all()
    assert_array_equal(np.asarray(ls.open_stored(tmp_path / "wide.zarr")), X)


def test_a_process_is_measured_once(benchmarks, tmp_path, monkeypatch):
    options = SimpleNamespace(methods=None, kinds=None, rows=100, queries=20)
    bench = benchmarks.stored.Bench(options, tmp_path)
    task = {"method": "VarianceScore", "known": None, "X": "memory", "shape": [100, 5]}
    found = bench.measure("moments/100/memory/VarianceScore nothing", "fit", task)
    assert found["cpu"] > 0
    assert 20 < found["anonymous"] < 1000
    assert json.loads(benchmarks.stored.STORE.read_text()) == bench.found
    monkeypatch.setattr(benchmarks.stored, "run", None)
    again = benchmarks.stored.Bench(options, tmp_path)
    assert again.measure("moments/100/memory/VarianceScore nothing", "fit", task) == found


def test_the_time_of_a_search_is_compared_with_its_products(benchmarks, tmp_path, monkeypatch):
    runs = benchmarks.stored_runs
    benchmarks.stored_data.write_zarr(tmp_path / "X.zarr", 100, 5)
    monkeypatch.setattr(runs, "product_seconds", lambda n_columns: 2.0)
    task = {"method": "LaplacianScore", "known": None, "products": True, "shape": [100, 5]}
    task |= {"options": {"max_queries": 20, "random_state": 0}}
    here = runs.fit(task | {"X": "memory", "scores": str(tmp_path / "here.npy")})
    # Neighbours were searched for all queries, and for the neighbours of these.
    assert 20 < here["searched"] <= 20 * 6
    assert here["products"] == 2.0 * 100 * here["searched"]
    there = {"X": "zarr", "file": str(tmp_path / "X.zarr"), "compare": str(tmp_path / "here.npy")}
    assert runs.fit(task | there)["difference"] < 1e-10


def test_tables_show_the_largest_size(benchmarks):
    fit = {"cpu": 3.0, "anonymous": 400, "digest": "a", "wall": 2.0}
    found = {
        "read/100/zarr/library": fit | {"cpu": 1.0},
        "moments/100/zarr/FisherScore all": fit | {"difference": 1e-14},
        "moments/50/zarr/FisherScore all": fit | {"cpu": 77.0},
        "search/100/20/zarr/LSDF": fit | {"products": 2.0, "searched": 90, "difference": 0.0},
        "wide/300/memory/LaplacianScore": fit,
        "wide/300/npy/LaplacianScore": fit | {"cpu": 1.5},
        "wide/400/before/FisherScore": fit,
        "wide/400/zarr/FisherScore": fit | {"cpu": 6.0},
        "load/400/zarr/library": fit | {"cpu": 2.0},
        "load/400/zarr/slabs": fit | {"cpu": 1.5},
        "cluster/100/FisherScore/threads": fit,
        "cluster/100/FisherScore/2 killed": fit | {"killed": [1.0], "workers": 300},
        "cluster/100/FisherScore/2 gone": {"error": "E: no", "wall": 61, "anonymous": 9},
        "cluster/100/FisherScore/4": fit | {"digest": "b"},
        "before/0/now": {"LSDF 5 x 2": 1.0, "anonymous": 3},
        "before/0/before": {"LSDF 5 x 2": 2.0, "anonymous": 3},
        "awkward/9/types": fit,
    }
    makers = benchmarks.stored_tables.TABLES.items()
    tables = {name: "\n".join(make(found)) for name, make in makers}
    assert "| Fisher, all labels | Zarr | 100 | 3.0 | 3.0 | - | 400 | 1e-14 |" in tables["moments"]
    assert "77" not in tables["moments"]
    assert "| LSDF | Zarr | 100 | 20 | 90 | 3.0 | 1.50 | 400 | identical |" in tables["search"]
    assert "| Laplacian | `.npy` | 500 x 300 | 1.5 | 0.50 | - | - | - | 400 | - |" in tables["wide"]
    assert (
        "| loading the file | Zarr | 500 x 400 | 2.0 | - | - | - | - | 400 | - |" in tables["wide"]
    )
    assert (
        "| reading parts only | Zarr | 500 x 400 | 1.5 | - | - | - | - | 400 | - |"
        in tables["wide"]
    )
    assert (
        "| Fisher | Zarr | 500 x 400 | 6.0 | - | 2.00 | 0.50 | 1.20 | 400 | - |" in tables["wide"]
    )
    assert "2 workers, one killed after 1 s | 2 | 300 | identical |" in tables["cluster"]
    assert "all killed permanently | 61 | 9 | *no* |" in tables["cluster"]
    assert "4 workers | 2 | 400 | **different** |" in tables["cluster"]
    assert "| LSDF | 5 x 2 | 2.00 | 1.00 | 0.50 (0.50 to 0.50) |" in tables["before"]
    assert "fitted" in tables["awkward"]


def test_the_cost_of_a_billion_rows(benchmarks):
    cost = benchmarks.billion_rows
    setting = cost.Setting(n_rows=10**9, n_columns=10_000, machines=100, cores=32)
    assert setting.size == 4 * 10**13
    rates = cost.Rates(read=1.0, moments=2.0, pairs=1.5, search=0.0)
    once, pairs, graph = cost.costs(setting, rates).values()
    assert once["cpu"] == 2.0 * 40_000
    assert pairs["cpu"] == 1.5 * 40_000
    assert pairs["read"] == once["read"]
    # Each of 100 machines reads at 10 Gbit/s.
    assert once["reading"] == pytest.approx(40e12 / 125e9)
    assert graph["passes"] == 1 + 2 * setting.batches + 3
    twice_as_many = cost.Setting(machines=200)
    faster, *_ = cost.costs(twice_as_many, rates).values()
    assert faster["reading"] == once["reading"] / 2


def test_merges_are_simulated_by_the_real_tree(benchmarks):
    cost = benchmarks.billion_rows
    setting = cost.Setting(n_rows=10**6, n_columns=20, max_queries=30)
    found = cost.simulate_merges(setting)
    sizes = cost.level_sizes(setting.n_parts)
    for one in found.values():
        assert one["depth"] == len(sizes) - 1
        assert one["moved"] == one["size"] * sum(sizes[:-1])
