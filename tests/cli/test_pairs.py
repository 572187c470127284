import json
import random

import pytest

from linkselect import Pairs
from linkselect.cli import run


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"p{i},{i}.5,{'ab'[i % 2] if i < 8 else ''}" for i in range(10)]
    path.write_text("\n".join(["who,x,kind", *rows]) + "\n")
    return path


def test_make_by_row_and_by_id(table, tmp_path, capsys):
    out = tmp_path / "pairs.csv"
    call = ["pairs", "make", str(table), "--label", "kind", "--must", "3", "--cannot", "4"]
    assert run([*call, "--out", str(out), "--drop", "who"]) == 0
    assert "3 must-links, 4 cannot-links, by row numbers" in capsys.readouterr().out
    pairs = Pairs.from_csv(out)
    assert all((a - b) % 2 == 0 and max(a, b) < 8 for a, b in pairs.must)
    assert all((a - b) % 2 == 1 and max(a, b) < 8 for a, b in pairs.cannot)
    out = tmp_path / "pairs.json"
    assert run([*call, "--out", str(out), "--id-column", "who", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert Pairs.from_json(out).ids[0].startswith("p")


def test_make_is_reproducible(table, tmp_path):
    call = ["pairs", "make", str(table), "--label", "kind", "--drop", "who", "--must", "3"]
    for name, seed in [("a", "1"), ("b", "1"), ("c", "2")]:
        assert run([*call, "--quiet", "--seed", seed, "--out", str(tmp_path / f"{name}.csv")]) == 0
    texts = [(tmp_path / f"{name}.csv").read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


def test_make_with_invalid_numbers(table, tmp_path, capsys):
    call = ["pairs", "make", str(table), "--drop", "who", "--out", str(tmp_path / "p.csv")]
    assert run([*call, "--label", "kind", "--must", "1000"]) == 1
    assert "labels imply 12" in capsys.readouterr().err
    assert run(call) == 2
    assert "--label" in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


def write(path, text):
    path.write_text(text)
    return str(path)


def test_check(table, tmp_path, capsys):
    good = write(tmp_path / "good.csv", "a,b,link\np0,p2,must\np0,p1,cannot\n")
    by_id = [str(table), "--id-column", "who", "--drop", "kind"]
    assert run(["pairs", "check", good, *by_id]) == 0
    assert "30.0 % of the rows" in capsys.readouterr().out
    assert run(["pairs", "check", good]) == 0
    capsys.readouterr()
    absent = write(tmp_path / "absent.csv", "a,b,link\np0,p2,must\np0,p77,cannot\n")
    assert run(["pairs", "check", absent, *by_id]) == 1
    assert "'p77'" in capsys.readouterr().err
    odd = write(tmp_path / "odd.csv", "a,b,link\np0,p2,must\np2,p4,must\np0,p4,cannot\n")
    assert run(["pairs", "check", odd, *by_id]) == 1
    assert "pairs explain" in capsys.readouterr().err
    assert run(["pairs", "check", odd, *by_id, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["conflicts"] == 1


def test_explain(tmp_path, capsys):
    odd = write(tmp_path / "odd.csv", "a,b,link\np0,p2,must\np2,p4,must\np0,p4,cannot\n")
    assert run(["pairs", "explain", odd]) == 0
    text = capsys.readouterr().out
    assert "1 cannot-link in conflict with the must-links" in text
    assert "p0 = p2 = p4" in text
    assert run(["pairs", "explain", odd, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == [{"cannot": ["p0", "p4"], "chain": ["p0", "p2", "p4"]}]
    assert run(["pairs", "explain", odd, "--limit", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err
    good = write(tmp_path / "good.csv", "a,b,link\np0,p2,must\n")
    assert run(["pairs", "explain", good]) == 0
    assert "no conflicts in 1 pair." in capsys.readouterr().out


def test_convert_round_trip(tmp_path, capsys):
    source = write(tmp_path / "p.csv", "a,b,link\n0,2,must\n0,1,cannot\n")
    other, back = str(tmp_path / "p.json"), str(tmp_path / "q.csv")
    assert run(["pairs", "convert", source, other]) == 0
    assert json.loads((tmp_path / "p.json").read_text()) == {"must": [[0, 2]], "cannot": [[0, 1]]}
    assert run(["pairs", "convert", other, back, "--quiet"]) == 0
    assert Pairs.from_csv(back) == Pairs.from_csv(source)
    capsys.readouterr()
    assert run(["pairs", "convert", source, str(tmp_path / "p.xml")]) == 2
    assert ".json" in capsys.readouterr().err
    assert run(["pairs", "convert", str(tmp_path / "none.csv"), other]) == 1


def test_check_and_make_accept_text_columns(table, tmp_path, capsys):
    pairs = write(tmp_path / "p.csv", "a,b,link\n0,2,must\n0,1,cannot\n")
    assert run(["pairs", "check", pairs, str(table)]) == 0
    assert "30.0 % of the rows" in capsys.readouterr().out
    out = str(tmp_path / "q.csv")
    assert run(["pairs", "make", str(table), "--label", "kind", "--must", "2", "--out", out]) == 0


def test_input_files_are_not_overwritten(table, tmp_path, capsys):
    before = table.read_text()
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for out in (table, link):
        assert run(["pairs", "make", str(table), "--label", "kind", "--out", str(out)]) == 2
        assert "same file as the table" in capsys.readouterr().err
    assert table.read_text() == before
    pairs = write(tmp_path / "p.csv", "a,b,link\n0,2,must\n")
    assert run(["pairs", "convert", pairs, pairs]) == 2
    assert "same file" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"cannot": 5}', '{"cannot": [5]}', '{"must": [[1, {}]]}'])
def test_json_of_another_form(text, tmp_path, capsys):
    assert run(["pairs", "explain", write(tmp_path / "p.json", text)]) == 1
    assert 'form {"must": [[a, b]], "cannot": [[a, c]]}' in capsys.readouterr().err


def test_numbers_in_json_name_rows_by_id(tmp_path):
    table = write(tmp_path / "t.csv", "i,x\n0,1\n1,2\n2,5\n")
    pairs = write(tmp_path / "p.json", '{"must": [[0.0, 1]]}')
    assert run(["pairs", "check", pairs, table, "--id-column", "i"]) == 0


def test_ids_of_a_table_that_look_like_numbers(tmp_path, capsys):
    table = write(tmp_path / "t.csv", "who,x,kind\n101,1,a\n102,2,a\n103,4,b\n")
    by_id, out = ["--id-column", "who"], str(tmp_path / "p.csv")
    assert run(["pairs", "make", table, "--label", "kind", *by_id, "--out", out]) == 0
    assert (tmp_path / "p.csv").read_text().splitlines()[1] == "101,102,must"
    assert run(["pairs", "check", out, table, *by_id, "--drop", "kind"]) == 0
    assert "100.0 % of the rows" in capsys.readouterr().out


def test_convert_refuses_to_change_an_id(tmp_path, capsys):
    source = write(tmp_path / "p.json", '{"must": [[" a", "b"]]}')
    target = write(tmp_path / "p.csv", "before")
    assert run(["pairs", "convert", source, target]) == 1
    assert "' a' would be read from CSV as 'a'" in capsys.readouterr().err
    assert (tmp_path / "p.csv").read_text() == "before"


@pytest.fixture
def wide(tmp_path):
    """Return a table of two groups that x, y and z separate, and pairs of its rows."""
    path = tmp_path / "wide.csv"
    draw = random.Random(1).random
    rows = [
        ",".join([f"p{i}", *(f"{i % 2 + draw():.2f}" for _ in "xyz"), f"{draw():.2f}"])
        for i in range(12)
    ]
    path.write_text("\n".join(["who,x,y,z,noise", *rows]) + "\n")
    links = ["p0,p2,must", "p1,p5,must", "p4,p8,must"]
    links += ["p0,p1,cannot", "p2,p7,cannot", "p4,p6,cannot"]
    pairs = write(tmp_path / "links.csv", "\n".join(["a,b,link", *links, ""]))
    return [pairs, str(path), "--id-column", "who"]


def test_worth(wide, tmp_path, capsys):
    assert run(["pairs", "worth", *wide]) == 0
    text = capsys.readouterr().out
    assert "(constraint, 4 features; -1 is one rank better)" in text
    assert text.count("must") == 3
    assert "noise -2, z +1" in text
    out = tmp_path / "worth.csv"
    assert run(["pairs", "worth", *wide, "--json", "--out", str(out), "--n-features", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    shifts = [one["rank_shift"] for one in found["pairs"]]
    assert shifts == sorted(shifts, reverse=True)
    assert {"feature", "places"} == set(found["pairs"][0]["moved"][0])
    lines = out.read_text().splitlines()
    assert lines[0] == "a,b,link,rank_shift,n_replaced,moved"
    assert len(lines) == 7


def test_worth_by_other_methods(wide, capsys):
    options = ["--method", "lsdf", "--set", "n_neighbors=3", "--scale", "standard"]
    assert run(["pairs", "worth", *wide, *options]) == 0
    assert "(lsdf, 4 features" in capsys.readouterr().out
    assert run(["pairs", "worth", *wide, "--method", "variance"]) == 2
    assert "does not use pairs" in capsys.readouterr().err
    for count in ("0", "9"):
        assert run(["pairs", "worth", *wide, "--n-features", count]) == 2
        assert "a whole number from 1 to 4" in capsys.readouterr().err


def test_worth_of_needed_and_contradicting_pairs(wide, tmp_path, capsys):
    few = write(tmp_path / "few.csv", "a,b,link\np0,p2,must\np0,p1,cannot\np2,p3,cannot\n")
    assert run(["pairs", "worth", few, *wide[1:]]) == 0
    assert "no ranking without it" in capsys.readouterr().out.splitlines()[3]
    assert run(["pairs", "worth", few, *wide[1:], "--json", "--out", str(tmp_path / "w.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"][0]["rank_shift"] is None
    odd = write(tmp_path / "odd.csv", "a,b,link\np0,p2,must\np2,p4,must\np0,p4,cannot\n")
    assert run(["pairs", "worth", odd, *wide[1:]]) == 1
    assert "on_conflict=drop" in capsys.readouterr().err
    one_kind = write(tmp_path / "one.csv", "a,b,link\np0,p2,must\n")
    assert run(["pairs", "worth", one_kind, *wide[1:]]) == 1
    assert "a cannot-link" in capsys.readouterr().err
    assert run(["pairs", "worth", one_kind, *wide[1:], "--method", "compensated_laplacian"]) == 0
    assert "the only pair, so nothing to compare" in capsys.readouterr().out


def test_suspects(wide, tmp_path, capsys):
    assert run(["pairs", "suspects", *wide]) == 0
    text = capsys.readouterr().out
    assert "p4 p6" in text.splitlines()[3], "the wrong pair comes first"
    assert "Check the first pairs again" in text
    out = tmp_path / "suspects.json"
    assert run(["pairs", "suspects", *wide, "--json", "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(out.read_text())
    assert list(found[0]) == ["a", "b", "link", "suspicion", "rank"]
    # Contradicting pairs are accepted, but both kinds of pairs are needed.
    odd = write(tmp_path / "odd.csv", "a,b,link\np0,p2,must\np2,p4,must\np0,p4,cannot\n")
    assert run(["pairs", "suspects", odd, *wide[1:]]) == 0
    capsys.readouterr()
    one_kind = write(tmp_path / "one.csv", "a,b,link\np0,p2,must\n")
    assert run(["pairs", "suspects", one_kind, *wide[1:]]) == 1
    assert "no cannot-link" in capsys.readouterr().err
    assert run(["pairs", "suspects", *wide, "--out", wide[0]]) == 2
    assert "same file as the pairs" in capsys.readouterr().err


def test_suspects_shows_the_first_and_counts_the_others(tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["x,y", *(f"{i % 3 + i / 99},{i * 7 % 11}" for i in range(60))]))
    links = [f"{i},{i + 3},must\n{i},{i + 1},cannot" for i in range(15)]
    pairs = write(tmp_path / "p.csv", "\n".join(["a,b,link", *links, ""]))
    for command in ("suspects", "worth"):
        assert run(["pairs", command, pairs, str(table)]) == 0
        assert "and 10 more pairs" in capsys.readouterr().out


def test_warnings_suggest_options(wide, capsys):
    arguments = ["--method", "scgs", "--set", "max_iter=1", "--scale", "none"]
    assert run(["pairs", "worth", *wide, *arguments]) == 0
    note = capsys.readouterr().err
    assert "Note: SCGS did not converge within 1 step" in note
    assert "--scale standard or --set max_iter=VALUE" in note
    assert "Warning" not in note


def test_adaptive_pairs_are_kept_and_reported(table, tmp_path, capsys):
    text = "a,b,link,drawn\np0,p2,must,adaptive\np0,p1,cannot,random\np4,p77,cannot,adaptive\n"
    source, target = write(tmp_path / "p.csv", text), str(tmp_path / "p.json")
    assert run(["pairs", "convert", source, target]) == 0
    assert "1 must-link, 2 cannot-links (2 adaptive)." in capsys.readouterr().out
    assert Pairs.from_json(target).adaptive == (("p0", "p2"), ("p4", "p77"))
    assert run(["pairs", "check", target]) == 0
    assert "chosen by looking at the samples" in capsys.readouterr().out
    by_id = [str(table), "--id-column", "who", "--drop", "kind"]
    assert run(["pairs", "check", source, *by_id, "--json"]) == 1  # p77 is not a row
    assert json.loads(capsys.readouterr().out)["adaptive"] == 1
    rows = write(tmp_path / "rows.csv", "a,b,link,drawn\n0,2,must,adaptive\n0,1,cannot,random\n")
    assert run(["pairs", "check", rows, str(table)]) == 0
    assert "1 must-link, 1 cannot-link (1 adaptive), 3 samples" in capsys.readouterr().out
    odd = write(tmp_path / "odd.csv", "a,b,link,drawn\np0,p2,must,often\n")
    assert run(["pairs", "check", odd]) == 1
    assert "odd.csv, line 2 has drawn='often' for the pair 'p0', 'p2'" in capsys.readouterr().err


# -- pairs from a design -----------------------------------------------------------------------

STUDY = """sample,patient,batch,disease
s1,ann,1,ill
s2,ann,2,ill
s3,bob,1,well
s4,bob,2,well
s5,cem,1,NA
s6,,2,ill
"""


@pytest.fixture
def make(tmp_path, capsys):
    """Return a function that runs `pairs make` on metadata, and returns pairs and printed text."""
    study, out = write(tmp_path / "m.csv", STUDY), tmp_path / "p.csv"

    def call(*options, by_id=True, code=0):
        file = ["--metadata", study, "--id-column", "sample"] if by_id else [study]
        out.unlink(missing_ok=True)
        assert run(["pairs", "make", *file, *options, "--out", str(out)]) == code
        said = capsys.readouterr()
        if code:
            assert not out.exists()
            return said.err
        return Pairs.from_csv(out), said.out + said.err

    return call


def test_replicates_of_a_patient_across_batches(make):
    pairs, said = make("--same", "patient", "--across", "batch")
    assert pairs == Pairs([("s1", "s2"), ("s3", "s4")])
    assert "2 must-links, 0 cannot-links, by the ids of 'sample'." in said
    pairs, said = make("--same", "patient", "--across", "batch", by_id=False)
    assert pairs == Pairs([(0, 1), (2, 3)])
    assert "by row numbers from 0" in said


def test_both_kinds_of_links_by_design(make):
    cannot = [("s1", "s3"), ("s2", "s4"), ("s4", "s6")]
    design = ["--same", "patient", "--different", "disease", "--across", "batch"]
    assert make(*design)[0] == Pairs([("s1", "s2"), ("s3", "s4")], cannot)
    drawn, _ = make(*design, "--max-pairs", "1", "--seed", "3")
    assert (drawn.n_must, drawn.n_cannot) == (1, 1)
    assert drawn == make(*design, "--max-pairs", "1", "--seed", "3")[0]
    said = make("--different", "disease", "--missing", "well", code=1)
    assert "Missing values: 3 in disease" in said


def test_labels_with_batches(make):
    by_batch = ["--label", "disease", "--batch", "batch"]
    pairs, _ = make(*by_batch)
    assert pairs.must == (("s1", "s2"), ("s1", "s6"), ("s3", "s4"))
    assert pairs.cannot == (("s1", "s3"), ("s2", "s4"), ("s4", "s6"))
    drawn, _ = make(*by_batch, "--must", "2", "--cannot", "0")
    assert set(drawn.must) < set(pairs.must)
    assert (drawn.n_must, drawn.n_cannot) == (2, 0)
    said = make(*by_batch, "--must", "10", code=1)
    assert "--must 10, but only 3 pairs can be drawn across" in said


def test_a_kind_without_pairs_is_noted(make):
    pairs, said = make("--same", "patient", "--different", "batch", "--across", "disease")
    assert pairs.n_must == 0
    assert "Note: No two rows have the same patient but differ in disease" in said


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 2, "either --label, or --same"),
        (["--same", "patient", "--label", "disease"], 2, "or both"),
        (["--same", "patient", "--must", "3"], 2, "--must needs --label"),
        (["--same", "patient", "--batch", "batch"], 2, "--batch needs --label"),
        (["--label", "disease", "--across", "batch"], 2, "--across needs --same"),
        (["--label", "disease", "--max-pairs", "3"], 2, "--max-pairs needs --same"),
        (["--same", "patient", "--max-pairs", "0"], 2, "Must be >= 1"),
        (["--same", "pateint"], 1, r"no column 'pateint' (--same). Did you mean 'patient'"),
        (["--same", "patient", "--across", "disease"], 1, "No two rows have the same patient"),
    ],
)
def test_invalid_calls_make_no_pairs(make, options, code, message):
    assert message in make(*options, code=code)


def test_a_file_and_its_ids_are_needed(tmp_path, capsys):
    study, out = write(tmp_path / "m.csv", STUDY), ["--out", str(tmp_path / "p.csv")]
    assert run(["pairs", "make", "--same", "patient", *out]) == 2
    assert "Pass the table that contains the columns, or --metadata" in capsys.readouterr().err
    assert run(["pairs", "make", "--metadata", study, "--same", "patient", *out]) == 2
    assert "Use --id-column to choose the column of ids" in capsys.readouterr().err
    by_batch = ["--metadata", study, "--id-column", "batch"]
    assert run(["pairs", "make", *by_batch, "--same", "patient", *out]) == 1
    assert "duplicate id '1' in 3 rows" in capsys.readouterr().err
    same_file = ["--metadata", study, "--id-column", "sample", "--same", "patient", "--out", study]
    assert run(["pairs", "make", *same_file]) == 2
    assert "same file as the metadata" in capsys.readouterr().err


def test_ids_that_become_one_link_a_sample_to_itself(tmp_path, capsys):
    table = write(tmp_path / "t.csv", "i,x\n1,1\n2,2\n")
    pairs = write(tmp_path / "p.json", '{"must": [[1, "1"]]}')
    assert run(["pairs", "check", pairs, table, "--id-column", "i"]) == 1
    assert "links a sample to itself" in capsys.readouterr().err
