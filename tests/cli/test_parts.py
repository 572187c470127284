"""Tests of tables that `linkselect rank` reads in parts."""

import json
import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
import zarr
from threadpoolctl import threadpool_limits

from linkselect import _blocks as blocks
from linkselect._samples.sources import arrays
from linkselect._samples.sources import stored as kinds
from linkselect.cli import _by_parts as by_parts
from linkselect.cli import run
from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, read_table
from linkselect.cli._tables.parts import open_table
from linkselect.cli._tables.reading import TableFile

N_ROWS, NAMES = 240, [f"f{j}" for j in range(10)]
TINY = ("--max-memory", "1KB")


@pytest.fixture(scope="module")
def values():
    """Return features with unusual units, and classes."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 3
    X = rng.normal(size=(N_ROWS, len(NAMES)))
    X[:, :4] += np.outer(y, [1.0, 0.5, 0.2, 0.1])
    X[:, 5] = 7 + 1e-3 * X[:, 5]
    X[:, 6] *= 1e6
    return X, y


def columns_of(values, **more):
    X, y = values
    return {
        "patient": [f"p{row}" for row in range(N_ROWS)],
        **dict(zip(NAMES, X.T, strict=True)),
        "class": [("a", "b", "c")[one] for one in y],
        **more,
    }


def write(path, columns, group=37):
    pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=group)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory, values):
    some = [one if row % 3 else None for row, one in enumerate(columns_of(values)["class"])]
    return write(tmp_path_factory.mktemp("table") / "big.parquet", columns_of(values, some=some))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, values):
    rows = np.random.default_rng(1).permutation(N_ROWS)[:40].reshape(20, 2)
    kinds = ["must" if values[1][a] == values[1][b] else "cannot" for a, b in rows]
    lines = [f"p{a},p{b},{kind}" for (a, b), kind in zip(rows, kinds, strict=True)]
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    path.write_text("\n".join(["a,b,link", *lines]) + "\n")
    return path


@pytest.fixture
def rank(capsys):
    """Return a function that runs `linkselect rank`, and returns exit code, output and errors."""

    def call(*arguments):
        code = run(["rank", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def ranking(rank):
    """Return a function that runs `linkselect rank --json`, and returns the parsed output."""

    def call(*arguments):
        code, text, errors = rank(*arguments, "--json", "--no-validate")
        assert code == 0, errors
        return json.loads(text)

    return call


LABELS = ("--label", "class", "--id-column", "patient", "--drop", "some")


def scores_of(found):
    return dict(zip(found["ranking"]["feature"], found["ranking"]["score"], strict=True))


def assert_same(found, expected):
    assert found["ranking"]["feature"] == expected["ranking"]["feature"]
    np.testing.assert_allclose(found["ranking"]["score"], expected["ranking"]["score"], rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "fisher"),
        ("--method", "variance", "--scale", "none"),
        ("--method", "constraint", "--scale", "standard"),
        ("--method", "laplacian(max_queries=60)"),
    ],
)
def test_same_ranking_as_in_memory(ranking, table, options):
    asked = (table, *LABELS, "--n-features", 4, *options)
    assert_same(ranking(*asked, "--by-parts"), ranking(*asked))


def test_pairs_name_rows_by_id(ranking, rank, table, pairs):
    known = (table, "--pairs", pairs, "--id-column", "patient", "--drop", "class,some")
    code, text, errors = rank(*known, *TINY)
    assert (code, text.split("\n")[0]) == (
        0,
        f"big.parquet: {N_ROWS} rows, 10 features, 4 must-links and 16 cannot-links",
    )
    assert (
        "Note: big.parquet is read in parts, because it would require 56.2 KB of memory and the "
        "limit is 1.0 KB." in errors
    )
    assert "Method: link_selector; larger scores are better." in text
    assert "90 % of what all" in text
    assert "was not validated" in errors
    found = ranking(*known, *TINY)
    assert_same(found, ranking(*known))
    assert found["notes"][0].startswith("big.parquet is read in parts, because it would ")


@pytest.mark.parametrize(
    "known",
    [("--label", "some", "--drop", "class,patient"), LABELS, ("--drop", "class,some,patient")],
    ids=["some labels", "labels", "nothing"],
)
def test_the_default_reads_parts_with_any_supervision(ranking, table, known):
    found = ranking(table, *known, "--by-parts")
    assert found["method"]["name"] == "LinkSelector"
    assert_same(found, ranking(table, *known))


def test_labels_and_pairs_by_parts(ranking, rank, table, pairs):
    known = (
        table,
        "--pairs",
        pairs,
        "--id-column",
        "patient",
        "--label",
        "some",
        "--drop",
        "class",
    )
    assert "20 pairs and 160 labels are used together." in rank(*known, "--by-parts")[2]
    assert_same(ranking(*known, "--by-parts"), ranking(*known))


def test_must_links_alone(rank, table, tmp_path):
    path = tmp_path / "must.csv"
    path.write_text("a,b,link\np0,p3,must\np1,p4,must\n")
    code, text, _ = rank(table, "--pairs", path, "--id-column", "patient", "--by-parts")
    assert code == 0
    assert "Method: link_selector;" in text


def test_labelled_rows_are_read_into_memory(ranking, rank, table):
    asked = (table, "--label", "some", "--drop", "class,patient", "--method", "mrmr")
    assert_same(ranking(*asked, "--by-parts"), ranking(*asked))
    code, _, errors = rank(*asked, *TINY)
    assert code == 1
    assert "160 labelled rows require 37.5 KB of memory, but the limit is 1.0 KB" in errors


def test_method_that_needs_memory(rank, table):
    code, _, errors = rank(table, *LABELS, "--method", "relieff", "--by-parts")
    assert code == 2
    assert "relieff requires the table in memory, but big.parquet is read in parts." in errors
    able = errors.split("supports this (")[1].split(")")[0].split(", ")
    assert {"constraint", "fisher", "fisher_markov", "laplacian", "lsdf", "variance"} <= set(able)
    assert "relieff" not in able
    assert "consensus_selector" not in able
    # More memory alone would change nothing: --by-parts is given.
    assert "or read it into memory: omit --by-parts" in errors
    ball = ("--method", "laplacian", "--set", "radius=1")
    code, _, errors = rank(table, *LABELS, *ball, "--by-parts")
    assert code == 1
    assert errors.endswith(
        "radius requires the samples in memory, but X is stored outside memory.\n"
    )


def test_a_column_without_a_name_is_ignored(ranking, tmp_path, values):
    path = write(tmp_path / "odd.parquet", {**columns_of(values), "": range(N_ROWS)})
    for how in ((), ("--by-parts",)):
        notes = ranking(path, *LABELS[:4], *how)["notes"]
        assert any(one.startswith("Left out the column without a name, which") for one in notes)


def test_columns_without_numbers_are_left_out(ranking, tmp_path, values):
    import datetime

    more = {
        "day": [datetime.date(2024, 1, 1)] * N_ROWS,
        "ok": [True, False] * (N_ROWS // 2),
        "text": ["x"] * N_ROWS,
        "list": [[1.0]] * N_ROWS,
        "__index_level_0__": range(N_ROWS),
        "kind": pa.array([1.5, 2.5] * (N_ROWS // 2)).dictionary_encode(),
    }
    path = write(tmp_path / "odd.parquet", columns_of(values, **more))
    found = ranking(path, "--label", "class", "--id-column", "patient", "--by-parts")
    assert sorted(found["ranking"]["feature"]) == [*NAMES, "kind"]
    assert found["notes"][1:3] == [
        "Left out 4 non-numeric columns: 'day' (dates), 'ok' (yes/no), 'text' (text), "
        "'list' (lists or bytes).",
        "Left out column '__index_level_0__', which contains row names or numbers; --id-column "
        "'__index_level_0__' uses it as ids.",
    ]
    in_memory = ranking(path, "--label", "class", "--id-column", "patient")
    assert_same(found, in_memory)


@pytest.fixture(scope="module")
def gaps(tmp_path_factory, values):
    """Write a table with missing values, and a column that has no other."""
    columns = columns_of(values)
    for place, name in ((150, "f3"), (160, "f3"), (200, "f8")):
        columns[name] = columns[name].copy()
        columns[name][place] = np.nan
    columns["f9"] = pa.array([None] * 5 + list(columns["f9"][5:]), pa.float64())
    columns["nothing"] = pa.array([None] * N_ROWS, pa.float32())
    return write(tmp_path_factory.mktemp("gaps") / "gaps.parquet", columns)


@pytest.mark.parametrize("impute", ["mean", "median"])
@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_filling_as_in_memory(ranking, gaps, impute, scale):
    asked = (gaps, "--label", "class", "--drop", "patient", "--impute", impute, "--scale", scale)
    asked += ("--method", "constraint")
    found, expected = ranking(*asked, "--by-parts"), ranking(*asked)
    assert_same(found, expected)
    assert found["data"] == {**expected["data"], "kind": "stored, float64"}
    assert [note for note in found["notes"] if "missing" in note or "any value" in note] == [
        "Left out 1 column without any value: 'nothing'.",
        "8 of 2,400 values are missing in 3 of 10 columns ('f3', 'f8', 'f9'). With --impute "
        "none, missing values raise an error.",
    ]


def test_median_of_many_rows_is_estimated(ranking, gaps, monkeypatch):
    monkeypatch.setattr("linkselect.cli._preparation.MOST_ROWS", 100)
    asked = (gaps, "--label", "class", "--drop", "patient", "--method", "fisher")
    found = ranking(*asked, "--by-parts")
    assert any(note.startswith("Medians were estimated from 100 random") for note in found["notes"])
    exact = ranking(*asked)
    ours, theirs = scores_of(found), scores_of(exact)
    assert ours["f0"] == pytest.approx(theirs["f0"], rel=1e-10)
    assert ours["f9"] == pytest.approx(theirs["f9"], rel=0.1)
    assert ours["f9"] != theirs["f9"]


def test_missing_and_infinite_values_are_named(rank, gaps, tmp_path, values):
    asked = ("--label", "class", "--drop", "patient,nothing,f9", "--by-parts")
    code, _, errors = rank(gaps, *asked, "--impute", "none")
    assert code == 1
    assert (
        "gaps.parquet: 3 of 2,160 values are missing in 2 of 9 columns ('f3', 'f8'), the first in "
        "row 151. Use --impute median or mean"
    ) in errors
    columns = columns_of(values)
    columns["f7"] = np.where(np.arange(N_ROWS) == 99, np.inf, columns["f7"])
    path = write(tmp_path / "endless.parquet", columns)
    code, _, errors = rank(path, "--label", "class", "--drop", "patient", "--by-parts")
    assert code == 1
    assert "endless.parquet, row 100: the value of 'f7' is infinite." in errors


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "tsv"])
def test_selected_features_are_written_by_parts(rank, table, tmp_path, ending):
    here, there = tmp_path / f"parts.{ending}", tmp_path / f"memory.{ending}"
    asked = (table, *LABELS, "--n-features", 3, "--no-validate", "--quiet")
    assert rank(*asked, "--by-parts", "--select", here) == (
        0,
        "",
        "",
    )
    assert rank(*asked, "--select", there)[0] == 0
    if ending == "parquet":
        assert pyarrow.parquet.read_table(here).equals(pyarrow.parquet.read_table(there))
        assert pyarrow.parquet.ParquetFile(here).num_row_groups > 1
    elif ending == "feather":
        assert pyarrow.feather.read_table(here).equals(pyarrow.feather.read_table(there))
    else:
        assert here.read_text() == there.read_text()
    assert sorted(one.name for one in tmp_path.iterdir()) == [f"memory.{ending}", here.name]


def test_a_failed_write_leaves_the_old_selection(rank, table, tmp_path, monkeypatch):
    import linkselect.cli._selected as selected

    def pieces(data):
        yield next(iter(data.X.parts[0].slabs()))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(selected, "_pieces", pieces)
    path = tmp_path / "small.parquet"
    path.write_text("what was there before")
    code, _, errors = rank(table, *LABELS, "--by-parts", "--select", path)
    assert code == 1
    assert "small.parquet cannot be written: No space left on device." in errors
    assert [one.name for one in tmp_path.iterdir()] == ["small.parquet"]
    assert path.read_text() == "what was there before"


def test_all_outputs_are_written(rank, table, tmp_path):
    report, figure, out = (tmp_path / name for name in ("r.html", "f.svg", "o.json"))
    written = ("--report", report, "--figure", figure, "--out", out)
    code, _, errors = rank(table, *LABELS, "--by-parts", *written)
    assert code == 0, errors
    assert "is read in parts" in report.read_text("utf-8")
    assert json.loads(out.read_text("utf-8"))["validation"] is None
    assert figure.stat().st_size > 1000


def test_folder_of_files(ranking, rank, table, tmp_path, values):
    folder = tmp_path / "many"
    folder.mkdir()
    whole = pyarrow.parquet.read_table(table)
    for place, start in enumerate(range(0, N_ROWS, 100)):
        pyarrow.parquet.write_table(whole.slice(start, 100), folder / f"part-{place}.parquet")
    expected = ranking(table, *LABELS)
    # A table that fits is read into memory, and then everything else works, too.
    assert ranking(folder, *LABELS)["ranking"] == expected["ranking"]
    assert_same(ranking(folder, *LABELS, "--by-parts"), expected)
    before = (folder / "part-0.parquet").read_bytes()
    for option, name in (("--select", "small.parquet"), ("--out", "part-0.parquet")):
        code, _, errors = rank(folder, *LABELS, option, folder / name)
        assert (code, "is inside" in errors) == (2, True)
    assert (folder / "part-0.parquet").read_bytes() == before
    assert rank(folder, *LABELS, "--by-parts", "--out", folder / "ranking.csv")[0] == 0
    with pytest.raises(InputError, match="Only linkselect rank reads such tables in parts"):
        read_table(folder, Reading(max_memory="1KB"))
    by_class = tmp_path / "by_class"
    options = {"partitioning": ["class"], "partitioning_flavor": "hive"}
    pyarrow.dataset.write_dataset(whole, by_class, format="parquet", **options)
    assert_same(ranking(by_class, *LABELS, "--by-parts"), expected)
    _, _, errors = rank(by_class, "--method", "variance")
    assert "'class' (folder names)" in errors
    (folder / "part-0.parquet").rename(folder / "part-10.parquet")
    _, _, errors = rank(folder, *LABELS, "--by-parts", "--quiet")
    assert errors == ""
    _, _, errors = rank(folder, *LABELS, "--by-parts")
    assert "Note: part-10.parquet is read before part-2.parquet" in errors
    (tmp_path / "empty").mkdir()
    code, _, errors = rank(tmp_path / "empty")
    assert (code, "contains no pictures or Parquet files" in errors) == (1, True)


def test_arrays(ranking, tmp_path, values):
    zarr = pytest.importorskip("zarr")
    X, y = values
    np.save(tmp_path / "X.npy", np.column_stack([X, y]))
    expected = ranking(tmp_path / "X.npy", "--label", "-1")
    assert_same(ranking(tmp_path / "X.npy", "--label", "-1", *TINY), expected)
    zarr.save_array(str(tmp_path / "X.zarr"), np.column_stack([X, y]))
    assert_same(ranking(tmp_path / "X.zarr", "--label", "-1", "--by-parts"), expected)
    group = zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    group.create_array("data", data=X, chunks=(50, 4))
    group.create_array("y", data=y)
    found = ranking(tmp_path / "group.zarr", "--array", "data", "--label", "y", *TINY)
    assert_same(found, expected)


def test_wide_tables_go_by_columns(ranking, rank, tmp_path, monkeypatch):
    monkeypatch.setattr("linkselect._samples.sources.stored.SLAB_BYTES", 20 * 7 * 8)
    X = np.random.default_rng(4).normal(size=(20, 60))
    X[:, 0] = np.arange(20) % 2
    X[3, 50], X[5, 31] = np.nan, np.nan
    np.save(tmp_path / "wide.npy", X)
    asked = (tmp_path / "wide.npy", "--label", "0", "--method", "fisher", "--scale", "standard")
    asked += ("--impute", "mean", "--n-features", "0.9")
    assert_same(ranking(*asked, "--by-parts"), ranking(*asked))
    here, there = tmp_path / "parts.csv", tmp_path / "memory.csv"
    for path, more in ((here, ["--by-parts"]), (there, [])):
        assert rank(*asked, *more, "--select", path, "--no-validate")[0] == 0
    assert here.read_text() == there.read_text()
    code, _, errors = rank(*asked, "--select", here, "--max-memory", "2KB")
    assert code == 1
    assert "is written at once because it has few rows. 20 rows x 53" in errors
    code, _, errors = rank(*asked[:5], "--by-parts", "--impute", "none")
    assert (code, "the first in row 4." in errors) == (1, True)


def test_damaged_files(rank, table, tmp_path):
    content = table.read_bytes()
    for name, damaged in (("cut", content[:-50]), ("text", b"PAR1 no table at all PAR1")):
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(damaged)
        code, _, errors = rank(path, *LABELS, "--by-parts")
        assert (code, path.name in errors, "fault" in errors) == (1, True, False), errors


def test_group_of_arrays(rank, tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    group.create_array("data", data=np.ones((4, 2)))
    code, _, errors = rank(tmp_path / "group.zarr")
    assert code == 1
    assert "is a group of Zarr arrays (data). Choose the features with --array NAME." in errors


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--encode",), 2, "--encode needs the table in memory, but big.parquet is read in parts."),
        (("--transpose", "--by-parts"), 2, "--transpose needs the table in memory, but"),
        (("--missing", "-999"), 2, "--missing -999 needs the table in memory, but"),
        (("--select", "small.json"), 2, "--select small.json: big.parquet is read in parts"),
        (("--n-features", "11"), 2, "--n-features 11, but big.parquet has 10 features"),
        (("--set", "nonsense=1"), 2, "has no parameter 'nonsense'"),
    ],
)
def test_options_that_need_the_table_in_memory(rank, table, options, code, words):
    found, _, errors = rank(table, *LABELS, *TINY, *options)
    assert (found, words in errors) == (code, True), errors


def test_other_kinds_of_tables(rank, tmp_path):
    path = tmp_path / "big.csv"
    path.write_text("a,b\n" + "1,2\n3,4\n" * 50)
    code, _, errors = rank(path, *TINY)
    assert code == 1
    assert "linkselect rank reads Parquet tables of any size in parts." in errors
    code = errors.split('python -c "')[1].rsplit('"')[0]
    assert code == (
        "import pyarrow.dataset as d; d.write_dataset(d.dataset('big.csv', format='csv'), 'big', "
        "format='parquet')"
    )
    # The suggested command must not contain shell code, and Arrow cannot read that many columns.
    for name, table in (("$(ls).csv", path.read_text()), ("wide.csv", "a,b," * 5000 + "c\n")):
        (tmp_path / name).write_text(table)
        code, _, errors = rank(tmp_path / name, *TINY)
        assert (code, "does not fit" in errors, "python -c" in errors) == (1, True, False)
    code, _, errors = rank(path, "--by-parts")
    assert (code, "--by-parts: big.csv cannot be read in parts" in errors) == (2, True)


def test_columns_that_do_not_fit_are_refused_before_they_are_read(rank, table, monkeypatch):
    monkeypatch.setattr("linkselect.cli._tables.columnar._MANY_COLUMNS", 5)
    for arguments in ((), ("--by-parts",)):
        code, _, errors = rank(table, *LABELS, *arguments, "--max-memory", "90KB")
        assert (code, "the list of its columns and row groups needs" in errors) == (1, True)
        assert errors.rstrip().endswith("or use fewer rows or columns.")


def test_file_that_changes_while_it_is_read(rank, table, tmp_path, monkeypatch):
    from linkselect.cli import _rank as command

    path = tmp_path / "changing.parquet"
    path.write_bytes(table.read_bytes())
    settle = command.settle_values

    def change(*arguments):
        found = settle(*arguments)
        path.write_bytes(table.read_bytes() + b"x")
        return found

    monkeypatch.setattr(command, "settle_values", change)
    code, _, errors = rank(path, *LABELS, "--by-parts")
    assert code == 1
    assert "changing.parquet" in errors
    assert "changed" in errors
    assert "bug in linkselect" not in errors


def test_bar_shows_the_share_and_the_time_left(table, monkeypatch, capsys):
    from linkselect._samples.sources.opening import open_stored
    from linkselect._samples.sources.running import map_parts
    from linkselect.cli._by_parts import parts_shown

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with parts_shown():
        map_parts(open_stored(table, columns=NAMES), len_of, what="reading: sums", n_jobs=1)
    text = capsys.readouterr().err
    assert "reading: sums" in text
    assert "1/1" in text
    assert "0:00:00" in text


def len_of(part):
    return sum(len(slab) for _, slab in part.slabs())


@pytest.fixture
def set_patience(monkeypatch):
    return lambda n: monkeypatch.setattr("linkselect.cli._by_parts.CONNECT_SECONDS", n)


def test_scheduler_that_does_not_answer(rank, table, set_patience):
    pytest.importorskip("distributed")
    set_patience(1)
    code, _, errors = rank(table, *LABELS, "--scheduler", "tcp://127.0.0.1:9")
    assert code == 1
    assert "--scheduler tcp://127.0.0.1:9: no Dask scheduler answered within 1 s" in errors
    # Logging is disabled only while the client tries to connect.
    assert logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)
    for address in ("nonsense://", "127.0.0.1", ""):
        code, _, errors = rank(table, *LABELS, "--scheduler", address)
        assert (code, "Traceback" in errors) == (2, False)
        assert f"--scheduler '{address}' is not the address of a Dask scheduler" in errors


def test_scheduler_without_dask(rank, table, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, errors = rank(table, *LABELS, "--scheduler", "tcp://127.0.0.1:9")
    assert (code, "pip install 'linkselect[dask]'" in errors) == (1, True)


def test_cluster(ranking, table, set_patience):
    distributed = pytest.importorskip("distributed")
    set_patience(120)
    expected = ranking(table, *LABELS, "--by-parts")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster:
        found = ranking(table, *LABELS, "--scheduler", cluster.scheduler_address)
    assert found["ranking"] == expected["ranking"]
    with pytest.raises(ValueError, match="No global client"):
        distributed.get_client()


# -- memory ----------------------------------------------------------------------------------


def test_pieces_and_threads_follow_the_limit(table, monkeypatch):
    opened = open_table(TableFile(table, Reading(label="class", id_column="patient")))
    assert by_parts.pieces_for(opened, 4 << 30, 2) == (2, 1.0)
    n_threads, share = by_parts.pieces_for(opened, 300 << 20, 2)
    assert n_threads == 2
    assert 0.25 < share < 0.5
    n_threads, share = by_parts.pieces_for(opened, 150 << 20, 8)
    assert n_threads == 1
    assert 1 / 16 < share < 0.25
    # A limit below the needs of the libraries is raised to these needs.
    assert by_parts.pieces_for(opened, 1, 8) == by_parts.pieces_for(opened, 96 << 20, 8)
    monkeypatch.setattr(by_parts, "_ROW_WITH_TEXT", 1 << 20)
    problem = r"requires 324\.2 MB of memory \(240\.0 MB .* limit is 300.* --max-memory 325MB\."
    with pytest.raises(InputError, match=problem):
        by_parts.pieces_for(opened, 300 << 20, 8)
    assert by_parts.pieces_for(opened, 325 << 20, 8)[0] == 1


def test_chunks_count_with_their_actual_size(tmp_path, monkeypatch):
    array = zarr.create_array(str(tmp_path / "X.zarr"), shape=(600, 4), chunks=(300, 2), dtype="f8")
    array[:] = np.random.default_rng(0).random((600, 4))
    opened = open_table(TableFile(tmp_path / "X.zarr"))
    assert opened.X.source.line_bytes() == 300 * 4 * 8
    monkeypatch.setattr(arrays, "LINE_BYTES", 5000)
    assert opened.X.source.line_bytes() == 300 * 2 * 8


def test_memory_and_thread_limits_apply_to_every_part(ranking, table, monkeypatch):
    monkeypatch.setattr(kinds, "PART_BYTES", 1000)  # several parts, whatever the limit
    asked = (table, *LABELS, "--method", "fisher", "--by-parts")
    shares, threads, slabs, share_out = set(), set(), kinds.Part.slabs, blocks._share_out
    monkeypatch.setattr(
        kinds.Part,
        "slabs",
        lambda part: shares.add(part.samples.slab_bytes / kinds.SLAB_BYTES) or slabs(part),
    )
    monkeypatch.setattr(
        blocks, "_share_out", lambda *all_: threads.add(all_[2]) or share_out(*all_)
    )
    with threadpool_limits(3, user_api="blas"):
        usual = ranking(*asked)
        assert (shares, threads) == ({1.0}, {3})
        shares.clear(), threads.clear()
        assert_same(ranking(*asked, "--max-memory", "100MB"), usual)
        assert blocks.blas_threads() == 3
    assert max(shares) < 0.1
    assert not threads


def test_pairs_name_row_numbers_whatever_the_index_of_a_file(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
    table, pairs, out = (tmp_path / name for name in ("X.parquet", "pairs.csv", "ranking.csv"))
    pairs.write_text("a,b,link\n0,3,must\n1,5,must\n0,9,cannot\n4,8,cannot\n")
    written = []
    for start in (0, 5):
        frame.set_index(pd.RangeIndex(start, start + 20)).to_parquet(table)
        call = ["rank", str(table), "--pairs", str(pairs), "--method", "constraint", "--by-parts"]
        assert run([*call, "--out", str(out)]) == 0
        written.append(out.read_text())
    assert written[0] == written[1]


@pytest.mark.parametrize("arguments", [[], ["--by-parts"]])
def test_a_named_index_of_pandas_is_reported(arguments, tmp_path, capsys):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc"))
    table = tmp_path / "t.parquet"
    frame.set_index(pd.Index([1, 0, *range(2, 30)], name="visit")).to_parquet(table)
    assert run(["rank", str(table), "--method", "variance", *arguments]) == 0
    assert "Column 'visit' is the index that pandas wrote" in capsys.readouterr().err
    assert run(["rank", str(table), "--id-column", "visit", *arguments]) == 0
    assert "visit" not in capsys.readouterr().err
