"""Tests of metadata joined to a table, and of tables whose rows are features."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from linkselect.cli import run
from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._tables import Reading, open_parts, read_rows, read_table
from linkselect.cli._tables.table import StoredTable

# Four samples of two features; the rows of the metadata are in another order.
X = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, np.nan], [4.0, 8.0]])
GENES = "gene,S1,S2,S3,S4\ng,1,2,3,4\nh,5,6,NA,8\n"
SAMPLES = "sample,g,h\nS1,1,5\nS2,2,6\nS3,3,\nS4,4,8\n"
ABOUT = [
    ("sample", "disease", "patient", "plate", "note"),
    ("S4", "well", "P2", "2", "\ud83d"),
    ("S2", "ill", "P1", "2", "x"),
    ("S1", "ill", "P1", "1", "y"),
    ("S3", None, "P2", "1", "1,5"),
]
HOW = {"id_column": "sample", "label": "disease", "group": "patient", "batch": "plate"}


def write(path, text):
    path.write_text(text)
    return path


def write_csv(path, rows=ABOUT):
    lines = [";".join("" if one is None else one for one in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")


def write_columns(path, rows=ABOUT):
    header, *rows = rows
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    # The unused column has values that no table of numbers could contain.
    columns["note"] = [b"\xff" * 9, b"", None, b"1"]
    columns["plate"] = pa.array([int(one) for one in columns["plate"]]).dictionary_encode()
    table = pa.table(columns)
    is_parquet = path.suffix == ".parquet"
    (pyarrow.parquet.write_table if is_parquet else pyarrow.feather.write_feather)(table, path)


def write_excel(path, rows=ABOUT):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.append(["Table S2. Samples"])
    for row in rows:
        cells = ["odd" if one == "\ud83d" else one for one in row]
        book.active.append([int(one) if (one or "").isdecimal() else one for one in cells])
    book.save(path)


WRITERS = {
    "csv": write_csv,
    "parquet": write_columns,
    "feather": write_columns,
    "xlsx": write_excel,
}


@pytest.fixture
def study(tmp_path):
    """Return a function that reads a table with its metadata."""

    def read(table=GENES, about=ABOUT, kind="csv", **how):
        WRITERS[kind](tmp_path / f"about.{kind}", about)
        path = write(tmp_path / "genes.csv", table)
        how = {**HOW, "transpose": table.startswith("gene"), **how}
        return read_table(path, Reading(metadata=tmp_path / f"about.{kind}", **how))

    return read


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("table", [GENES, SAMPLES, SAMPLES.replace("sample", "")])
def test_rows_are_joined_by_id(table, kind, study):
    found = study(table, kind=kind)
    np.testing.assert_array_equal(found.X, X)
    assert (found.names, found.ids) == (("g", "h"), ("S1", "S2", "S3", "S4"))
    assert found.labels.tolist() == ["ill", "ill", None, "well"]
    assert found.group_codes().tolist() == [0, 0, 1, 1]
    assert found.batch_codes().tolist() == [0, 1, 0, 1]
    assert all("Skipped 1 row above" in note for note in found.notes), found.notes


def test_each_column_may_be_in_either_file(study):
    table = SAMPLES.replace("sample,g", "sample,disease,g").replace("S1,", "S1,a,")
    table = table.replace("S2,", "S2,a,").replace("S3,", "S3,b,").replace("S4,", "S4,b,")
    about = [(row[0], *row[2:]) for row in ABOUT]
    found = study(table, about)
    assert found.labels.tolist() == ["a", "a", "b", "b"]
    assert (found.names, found.group_codes().tolist()) == (("g", "h"), [0, 0, 1, 1])


def test_in_both_files_values_must_agree(study):
    table = "sample,disease,g\nS1,ill,1\nS2,ill,2\nS3,NA,3\nS4,{},4\n"
    found = study(table.format("well"))
    assert found.labels.tolist() == ["ill", "ill", None, "well"]
    words = r"both have a column 'disease' \(--label\), but differ for sample 'S4': 'ill' "
    with pytest.raises(InputError, match=words + "and 'well'"):
        study(table.format("ill"))


def test_rows_of_a_transposed_table_may_be_labels(study):
    genes = GENES + "disease,a,b,a,b\n"
    found = study(genes, [(row[0], *row[2:]) for row in ABOUT])
    assert (found.labels.tolist(), found.names) == (["a", "b", "a", "b"], ("g", "h"))


def test_every_mismatch_is_reported(study):
    about = [
        *ABOUT[:3],
        ("s1", "ill", "P1", "1", ""),
        *((f"T{i}", "ill", "P9", "9", "") for i in range(6)),
        ("", "", "", "", ""),
    ]
    found = study(about=about)
    assert found.labels.tolist() == [None, "ill", None, "well"]
    assert found.group_codes().tolist() == [0, 1, 2, 3]
    assert found.batch_codes().tolist() == [0, 1, 0, 1]
    assert found.notes == (
        "about.csv: Skipped 1 row without an id.",
        "2 of 4 samples in genes.csv not found in about.csv ('S1', 'S3'): kept without metadata. "
        "'S1' is probably 's1' in about.csv: write ids the same way in both files.",
        "7 samples in about.csv not found in genes.csv: skipped ('s1', 'T0', 'T1' and 4 more).",
        "2 rows without a group ('patient'): each is treated as its own group.",
        "No two rows have the same 'patient', so --group has no effect.",
        "2 rows without a batch ('plate'): treated as one separate batch.",
    )


NONE = [ABOUT[0], *((f"T{i}", *row[1:]) for i, row in enumerate(ABOUT[1:]))]
LOWER = [ABOUT[0], *((row[0].lower(), *row[1:]) for row in ABOUT[1:])]
EMPTY = [(row[0], None if i else "disease", *row[2:]) for i, row in enumerate(ABOUT)]


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"id_column": None}, UsageError, "--metadata about.csv is joined by sample ids"),
        ({"id_column": "samples"}, InputError, "about.csv has no column 'samples' (--id-column). "
         "Did you mean 'sample'?"),
        ({"label": "diseas"}, InputError, "Neither genes.csv nor about.csv has a column 'diseas' "
         "(--label). Did you mean 'disease'?"),
        ({"batch": "G"}, InputError, "has a column 'G' (--batch). Did you mean 'g'?"),
        ({"id_column": "patient"}, InputError, "about.csv: duplicate id 'P2' in 2 "
         "rows (column 'patient'). Make ids unique, or choose another column with --id-column."),
        ({"about": [("", *ABOUT[0][1:]), *ABOUT[1:]]}, InputError, "about.csv has no column "
         "'sample' (--id-column). Available: disease, patient, plate, note. If the column without "
         "a name contains the ids, pass --id-column ''."),
        ({"about": NONE}, InputError, "genes.csv and about.csv have no samples in common: the "
         "first is 'S1' in the table and 'T0' in the metadata. Check that --id-column"),
        ({"about": LOWER}, InputError, "'S1' is probably 's1' in about.csv (and 3 similar "
         "cases): write ids the same way in both files."),
        ({"about": EMPTY}, InputError, "about.csv: the label column 'disease' is empty."),
        ({"about": EMPTY, "label": None, "group": "disease"}, InputError, "about.csv: column "
         "'disease' (--group) has no values."),
        ({"transpose": False}, InputError, "genes.csv has no column 'sample' (--id-column), by "
         "which about.csv is joined. Its columns are samples of about.csv ('S1', 'S2' and 2 more): "
         "pass --transpose."),
        ({"table": SAMPLES, "transpose": True}, InputError, "The rows are already samples: "
         "omit --transpose."),
        ({"table": SAMPLES.replace("sample", "Sample")}, InputError, "Did you mean 'Sample'? The "
         "id column must have the same name in both files."),
        ({"table": SAMPLES.replace("S4", "S1")}, InputError, "duplicate id 'S1' in 2 rows "
         "(column 'sample')."),
        ({"about": [("a", "b", "sample"), ("1", "2", "3"), ("1", "2", "3")]}, InputError,
         "duplicate id '3' in 2 rows"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(how, error, words, study):
    with pytest.raises(error) as caught:
        study(**how)
    assert words in str(caught.value), caught.value


def test_a_transposed_table_whose_first_column_is_named_like_the_ids(study):
    with pytest.raises(InputError, match="columns of the table are the samples: pass --transpose"):
        study(GENES.replace("gene", "sample"), transpose=False)


def test_unused_metadata_are_reported(study):
    found = study(label=None, group=None, batch=None)
    assert found.labels is found.groups is found.batches is None
    assert found.notes[-1] == (
        "about.csv is ignored: --label, --group and --batch name none of its columns ('sample', "
        "'disease', 'patient', 'plate', 'note')."
    )


@pytest.mark.parametrize(("ids", "hint"), [("7", ""), ("007", "is probably"), ("7.0", "")])
def test_numeric_ids(ids, hint, tmp_path):
    pyarrow.parquet.write_table(
        pa.table({"sample": [7.0, 8.0, 9.0], "g": [1, 2, 3]}), tmp_path / "t.parquet"
    )
    about = pa.table({"sample": [9, 8, 7], "k": ["b", "a", "a"]})
    how = {"id_column": "sample", "label": "k"}
    if ids == "7":
        pyarrow.parquet.write_table(about, tmp_path / "m.parquet")
        metadata = tmp_path / "m.parquet"
    else:
        metadata = write(tmp_path / "m.csv", f"sample,k\n9,b\n8,a\n{ids},a\n")
    found = read_table(tmp_path / "t.parquet", Reading(metadata=metadata, **how))
    # Text is compared unchanged: 7.0 in a CSV file is not the id 7.
    assert found.labels.tolist() == (["a", "a", "b"] if ids == "7" else [None, "a", "b"])
    assert (hint in " ".join(found.notes)) is True


def test_numbers_of_the_metadata_are_cut_into_classes(study):
    about = [("sample", "age"), ("S1", "30"), ("S2", "41"), ("S3", "70"), ("S4", "NA")]
    found = study(about=about, label="age", bins="2", group=None, batch=None)
    assert found.labels.tolist() == ["<= 41", "<= 41", "> 41", None]


def test_labels_and_ids_without_features(tmp_path):
    write_csv(tmp_path / "m.csv")
    path = write(tmp_path / "genes.csv", GENES)
    how = Reading(**HOW, metadata=tmp_path / "m.csv", transpose=True)
    found = read_rows(path, how)
    assert (found.X.shape, found.ids) == ((4, 0), ("S1", "S2", "S3", "S4"))
    assert found.labels.tolist() == ["ill", "ill", None, "well"]
    arguments = ["pairs", "make", str(path), "--transpose", "--metadata", str(tmp_path / "m.csv")]
    arguments += ["--id-column", "sample", "--label", "disease", "--out", str(tmp_path / "p.csv")]
    assert run([*arguments, "--quiet"]) == 0
    assert sorted((tmp_path / "p.csv").read_text().split()) == [
        "S1,S2,must", "S1,S4,cannot", "S2,S4,cannot", "a,b,link",
    ]  # fmt: skip


def test_wide_metadata_are_read_with_little_memory(tmp_path):
    n = 3000
    wide = {f"c{i}": np.arange(n, dtype=float) + i for i in range(400)}
    columns = {"sample": [f"s{i}" for i in range(n)], "k": ["a", "b"] * (n // 2), **wide}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "m.parquet")
    pyarrow.parquet.write_table(
        pa.table({"sample": columns["sample"], "x": np.arange(n)}), tmp_path / "t.parquet"
    )
    how = {"id_column": "sample", "label": "k", "max_memory": "2MB"}
    found = read_table(tmp_path / "t.parquet", Reading(metadata=tmp_path / "m.parquet", **how))
    assert found.classes == ["a", "b"]
    with pytest.raises(InputError, match="does not fit in the memory limit"):
        read_table(tmp_path / "m.parquet", Reading(**how))


# -- reading in parts --------------------------------------------------------------------------


def test_metadata_of_a_table_that_is_read_by_parts(tmp_path, capsys):
    rng = np.random.default_rng(0)
    kinds = np.repeat(["a", "b"], 40)
    columns = {f"x{j}": rng.normal(size=80) + (j == 0) * 3 * (kinds == "b") for j in range(5)}
    ids = [f"s{i}" for i in range(80)]
    pyarrow.parquet.write_table(pa.table({"id": ids, **columns}), tmp_path / "t.parquet")
    lines = [f"s{i},{kinds[i]},p{i % 8},q{i % 2}" for i in range(79, -1, -1)]
    write(tmp_path / "m.csv", "\n".join(["id,kind,who,plate", *lines, ""]))
    how = Reading(
        label="kind", id_column="id", metadata=tmp_path / "m.csv", group="who", batch="plate"
    )
    found = open_parts(tmp_path / "t.parquet", how)
    assert isinstance(found, StoredTable)
    assert found.labels.tolist() == kinds.tolist()
    assert found.group_codes().tolist() == [i % 8 for i in range(80)]
    call = ["rank", str(tmp_path / "t.parquet"), "--label", "kind", "--id-column", "id"]
    call += ["--metadata", str(tmp_path / "m.csv"), "--method", "fisher", "--json"]
    results = []
    for more in (["--no-validate"], ["--by-parts", "--group", "who", "--batch", "plate"]):
        assert run([*call, *more]) == 0
        results.append(json.loads(capsys.readouterr().out))
    whole, by_parts = (one["ranking"] for one in results)
    assert whole["feature"] == by_parts["feature"]
    np.testing.assert_allclose(whole["score"], by_parts["score"], rtol=1e-10)
    assert any("--group and --batch are ignored." in note for note in results[1]["notes"])
    assert run([*call, "--by-parts", "--batch", "plate", "--center-batches"]) == 2
    assert "--center-batches requires the table in memory" in capsys.readouterr().err
    # The size is checked although the label is in the other file.
    assert run([*call, "--max-memory", "5KB", "--batch", "plate"]) == 0
    assert "is read in parts" in capsys.readouterr().err


# -- tables whose rows are features --------------------------------------------------------------


def transposed(path, header, rows):
    """Write rows of features in the format of a path."""
    kind = path.suffix.removeprefix(".")
    if kind in ("csv", "tsv"):
        sign = {"csv": ",", "tsv": "\t"}[kind]
        lines = [sign.join("" if one is None else str(one) for one in row) for row in rows]
        return write(path, "\n".join([sign.join(header), *lines, ""]))
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine")
        book = openpyxl.Workbook()
        for row in (header, *rows):
            book.active.append(row)
        book.save(path)
        return path
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(header)})
    if kind == "feather":
        pyarrow.feather.write_feather(table, path)
    else:  # as pandas stores its index: last
        table = table.select([*header[1:], header[0]])
        pyarrow.parquet.write_table(
            table.replace_schema_metadata({"pandas": json.dumps({"index_columns": [header[0]]})}),
            path,
        )
    return path


ROWS = [["TP53", 1.5, None, 3.0], ["MYC", -2.0, 4.0, 1e3], ["TP53", 0.0, 1.0, None]]


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx", "parquet", "feather"])
def test_ids_are_in_the_header_and_names_in_the_first_column(kind, tmp_path):
    path = transposed(tmp_path / f"t.{kind}", ["gene", "101", "s2", "s3"], ROWS)
    found = read_table(path, Reading(transpose=True))
    assert (found.ids, found.names) == (("101", "s2", "s3"), ("TP53", "MYC", "TP53.2"))
    np.testing.assert_array_equal(found.X, np.array([row[1:] for row in ROWS], dtype=float).T)
    assert found.notes == ("Duplicate feature name 'TP53'; the second is renamed 'TP53.2'.",)
    assert read_table(path, Reading(transpose=True, id_column="gene")).ids == found.ids
    with pytest.raises(InputError, match="has no column 'sample' .--id-column."):
        read_table(path, Reading(transpose=True, id_column="sample"))


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_row_may_hold_ids_or_labels(kind, tmp_path):
    rows = [
        ["who", "ann", "bob", "cy"],
        ["MYC", "-2", "4", "1"],
        ["kind", "x", "NA", "y"],
        ["day", "2024-01-31", "", "2024-02-01"],
    ]
    path = transposed(tmp_path / f"t.{kind}", ["", "V1", "V2", "V3"], rows)
    found = read_table(path, Reading(transpose=True, id_column="who", label="kind"))
    assert (found.ids, found.names) == (("ann", "bob", "cy"), ("MYC",))
    assert found.labels.tolist() == ["x", None, "y"]
    assert found.left_out == ("day",)
    np.testing.assert_array_equal(found.X, [[-2.0], [4.0], [1.0]])


def test_a_row_of_numbers_may_hold_labels(tmp_path):
    path = transposed(tmp_path / "t.parquet", ["gene", "a", "b", "c"], [*ROWS, ["kind", 1, 0, 1]])
    found = read_table(path, Reading(transpose=True, label="kind"))
    assert (found.labels.tolist(), found.names) == (["1", "0", "1"], ("TP53", "MYC", "TP53.2"))


def test_decimal_commas_marks_and_empty_columns_of_a_transposed_table(tmp_path):
    text = "gene;a;b;c;\ng;1,5;-999;2;\nh;2,5;1;n.d.;\n"
    path = write(tmp_path / "t.csv", text)
    found = read_table(path, Reading(transpose=True, missing=("-999", "n.d.")))
    np.testing.assert_array_equal(found.X, [[1.5, 2.5], [np.nan, 1], [2, np.nan]])
    assert found.ids == ("a", "b", "c")
    assert found.notes == (
        "Commas are read as decimal separators, as in '1,5'.",
        "Left out 1 empty column at the end.",
    )


def test_a_value_that_is_not_a_number_is_named_by_row_and_column(tmp_path):
    path = write(tmp_path / "t.csv", "gene,a,b,c\ng,1,2,3\nh,1,x,3\n")
    with pytest.raises(InputError, match=r"t.csv, column 'b': row 'h' has the value 'x'"):
        read_table(path, Reading(transpose=True))


def test_samples_that_share_an_id(tmp_path):
    path = write(tmp_path / "t.csv", "gene,a,a,b\ng,1,2,3\nh,1,5,3\n")
    found = read_table(path, Reading(transpose=True))
    assert found.ids == ("a", "a.2", "b")
    assert found.notes == ("Duplicate sample id 'a'; the second is renamed 'a.2'.",)


@pytest.mark.parametrize("n_spaces", [0, 4500])
def test_a_transposed_table_of_many_lines(n_spaces, tmp_path):
    """Compare with the values of each cell, for one block of 4 MB and for several."""
    rng = np.random.default_rng(1)
    values = np.round(rng.normal(size=(300, 7)), 3)
    values[rng.random(values.shape) < 0.1] = np.nan
    lines = [
        ",".join([f"g{i}", *(" " * n_spaces + ("" if v != v else str(v)) for v in r)])
        for i, r in enumerate(values)
    ]
    lines[150] = "kind," + ",".join("abababa")
    lines[151] = "word," + ",".join(["x"] * 7)
    path = write(tmp_path / "t.csv", "\n".join(["gene," + ",".join("tuvwxyz"), *lines, ""]))
    found = read_table(path, Reading(transpose=True, label="kind"))
    np.testing.assert_array_equal(found.X, np.delete(values, [150, 151], axis=0).T)
    assert found.names == tuple(f"g{i}" for i in range(300) if i not in (150, 151))
    assert (found.labels.tolist(), found.left_out) == (list("abababa"), ("word",))


@pytest.mark.parametrize("first", ["gene", ""])
def test_a_duplicate_name_does_not_hide_that_a_table_looks_transposed(first, tmp_path):
    names = [*(f"g{i}" for i in range(200)), "g3"]
    rows = "".join(f"{name},{i},{i % 7},{i % 3}\n" for i, name in enumerate(names))
    path = write(tmp_path / "t.csv", f"{first},a,b,c\n{rows}")
    hint = "If rows are features, such as genes, and columns are samples, pass --transpose"
    if first:
        assert hint in read_table(path).notes[-1]
    else:
        with pytest.raises(InputError, match=hint):
            read_table(path)


def test_pairs_name_samples_of_a_transposed_table(tmp_path, capsys):
    path = transposed(tmp_path / "t.csv", ["gene", "101", "s2", "s3"], ROWS)
    write(tmp_path / "p.csv", "a,b,link\n101,s2,must\n101,s3,cannot\n")
    call = ["rank", str(path), "--transpose", "--pairs", str(tmp_path / "p.csv"), "--json"]
    assert run([*call, "--no-validate"]) == 0
    assert json.loads(capsys.readouterr().out)["supervision"]["must"] == 1
