"""Tests of `linkselect ask`: inputs, messages and how it ends."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.datasets import load_iris

from linkselect import Pairs
from linkselect.cli import _ask as module
from linkselect.cli import run
from linkselect.cli._output import write_columns
from linkselect.cli._tables import DEFAULT_READING, read_text_column
from linkselect.labelling._shown_samples import png
from tests.helpers.iris_table import write_iris
from tests.helpers.labellings import asked, client_of


@pytest.fixture
def iris(tmp_path):
    return write_iris(tmp_path)


@pytest.fixture
def ask(tmp_path, capsys, monkeypatch):
    """Run `linkselect ask` without its server; return what it would serve."""
    monkeypatch.chdir(tmp_path)
    served = []

    def serve(labelling, source, port, browser):
        served.append((labelling, source, port, browser))

    monkeypatch.setattr(module, "_serve", serve)

    def call(*arguments):
        code = run(["ask", *map(str, arguments)])
        said = capsys.readouterr()
        return code, served[-1][0] if code == 0 else None, said.err

    yield call
    for labelling, *_ in served:
        labelling.close()


def test_the_digits_are_the_example(ask, tmp_path):
    code, labelling, _ = ask()
    assert code == 0
    assert labelling.samples.kind == "pixels"
    assert labelling.queries.X.shape == (1797, 64)
    assert labelling.queries.X.max() == 1
    assert not (tmp_path / "pairs.csv").exists(), "written only after the first pair"
    code = compile(labelling.repeat, "repeat", "exec")
    assert b"load_digits" in repr(code.co_names).encode()


def test_a_table_with_ids(ask, iris):
    _, labelling, _ = ask(iris, "--id-column", "id", "--drop", "species", "--out", "p.csv")
    assert labelling.samples.kind == "values"
    assert labelling.samples.ids[:2] == ("p0", "p1")
    assert labelling.samples.names == (
        "sepal length",
        "sepal width",
        "petal length",
        "petal width",
    )
    assert labelling.samples.values(0).tolist() == load_iris().data[0].tolist(), "as in the table"
    assert labelling.queries.X.max() == 1, "scaled as for ranking"
    assert labelling.repeat == (
        f"linkselect rank {iris} --id-column id --drop species --pairs p.csv --report report.html"
    )


def test_the_command_ranks_again(ask, iris, capsys):
    _, labelling, _ = ask(iris, "--id-column", "id", "--show", "species", "--scale", "standard")
    labelling.answer((0, 1), "alike")
    labelling.answer((0, 60), "different")
    labelling.close()
    assert run([*shlex.split(labelling.repeat)[1:], "--no-validate"]) == 0
    said = capsys.readouterr().out
    assert "1 must-link and 1 cannot-link" in said
    assert "Each feature was scaled to variance 1 and mean 0." in said


def test_shown_columns_are_not_features(ask, iris):
    _, labelling, _ = ask(iris, "--id-column", "id", "--show", "species")
    assert labelling.queries.X.shape == (150, 4)
    assert labelling.samples.shown(0)["more"] == [("species", "setosa")]


def test_texts(ask, tmp_path):
    table = tmp_path / "texts.csv"
    lines = ["words,length,said"] + [f"{i % 3},{i},text {i}" for i in range(10)]
    table.write_text("\n".join(lines) + "\n")
    _, labelling, _ = ask(table, "--text", "said")
    assert labelling.samples.kind == "text"
    assert labelling.samples.texts[3] == "text 3"
    assert labelling.samples.names == ("words", "length")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
def test_columns_may_contain_any_text_and_numbers(tmp_path, ending):
    columns = {"x": [1.0, 2.0, 3.0], "said": ["same", "same", None], "year": [1990, 1991, 1992]}
    path = tmp_path / f"table{ending}"
    write_columns(path, columns)
    read = [read_text_column(path, DEFAULT_READING, name, "--show") for name in ("said", "year")]
    assert read == [["same", "same", ""], ["1990", "1991", "1992"]]


def test_curves_and_pixels(ask, tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(20, 6)))
    assert ask(tmp_path / "X.npy", "--curve", "--out", "a.csv")[1].samples.kind == "curve"
    found = ask(tmp_path / "X.npy", "--image-shape", "2x3", "--out", "b.csv")[1].samples
    assert (found.kind, found.image_shape) == ("pixels", (2, 3))


def test_curves_of_a_folder(ask, pictured):
    folder = pictured.parent / "curves"
    folder.mkdir()
    for i in range(8):
        np.savetxt(folder / f"s{i}.csv", np.arange(5 + i), header="volt", comments="")
    given = (pictured, "--id-column", "id", "--drop", "file", "--curves", folder)
    _, labelling, said = ask(*given)
    assert "2 of 10 samples have no curve." in said
    assert (labelling.samples.kind, labelling.samples.names) == ("curve", ("x", "y"))
    assert labelling.samples.drawn([0, 7], np.empty(0, int)).x_texts == ("1", "12")
    assert "--curves" not in labelling.repeat


def test_curves_of_columns_that_match_a_pattern(ask, tmp_path):
    lines = ["ecg_10,age,ecg_2,ECG_3,sex"]
    lines += [f"{i},{50 + i},{i % 3},{-i},{'fm'[i % 2]}" for i in range(12)]
    (tmp_path / "hearts.csv").write_text("\n".join(lines) + "\n")
    _, labelling, _ = ask("hearts.csv", "--encode", "--curves", "ecg_*")
    samples = labelling.samples
    assert samples.names == ("ecg_10", "age", "ecg_2", "ECG_3", "sex=m")
    assert labelling.queries.X.shape == (12, 5), "all columns are features"
    assert samples.kind == "curve"
    assert samples.drawn([0, 5], np.empty(0, int)).x_texts == ("ecg_10", "ecg_2")


def test_dates_keep_all_digits_and_numbers_are_rounded(ask, tmp_path):
    lines = ["day,mass"] + [f"2020-01-{i + 1:02d},{0.123456789 * (i + 1)}" for i in range(9)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    _, labelling, _ = ask("visits.csv", "--encode")
    found = {one.name: one.texts for one in labelling.samples.compared(0, 8, 0, 12)}
    assert found == {"day": ("18262", "18270"), "mass": ("0.1235", "1.111")}


@pytest.fixture
def pictured(tmp_path):
    """Write a table of ten samples, with a column of picture files, and the pictures."""
    (tmp_path / "seen").mkdir()
    lines = ["id,x,y,file"]
    for i in range(10):
        (tmp_path / "seen" / f"s{i}.png").write_bytes(png(np.zeros((2, 2), dtype=np.uint8)))
        lines.append(f"s{i},{i},{i % 2},seen/s{i}.png")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "table.csv"


@pytest.mark.parametrize("images", ["seen", "file"], ids=["folder", "column"])
def test_pictures(ask, pictured, images):
    drop = ["--drop", "file"] if images == "seen" else []
    _, labelling, _ = ask(pictured, "--id-column", "id", "--images", images, *drop)
    assert labelling.samples.kind == "picture"
    assert len(labelling.samples.pictures) == 10
    assert labelling.samples.names == ("x", "y")


def test_pairs_to_continue_with(ask, iris, tmp_path):
    (tmp_path / "old.csv").write_text("a,b,link\np0,p1,must\np0,p60,cannot\n")
    arguments = (iris, "--id-column", "id", "--drop", "species", "--pairs", "old.csv")
    _, labelling, _ = ask(*arguments)
    assert labelling.queries.pairs == Pairs.from_csv("old.csv")
    labelling.answer((0, 2), "alike")
    labelling.close()
    _, labelling, said = ask(*arguments)
    assert "Resuming after 1 answer in" in said
    assert len(labelling.queries.history) == 1
    labelling.close()
    (tmp_path / "old.csv").write_text("a,b,link\np0,p1,must\np0,p61,cannot\n")
    assert "later changes to them are ignored" in ask(*arguments)[2]


def test_resuming_with_another_strategy_or_seed_is_reported(ask):
    _, labelling, _ = ask("--strategy", "minmax", "--seed", "3")
    labelling.answer((0, 1), "unsure")
    labelling.close()
    _, labelling, said = ask("--strategy", "minmax", "--seed", "3")
    labelling.close()
    assert "original settings" not in said
    _, labelling, said = ask()
    assert "The original settings are kept: strategy minmax, seed 3." in said
    assert (labelling.queries.strategy, labelling.queries.seed) == ("minmax", 3)


def test_samples_without_a_picture_are_counted(ask, pictured):
    (pictured.parent / "seen" / "s3.png").unlink()
    said = ask(pictured, "--id-column", "id", "--images", "seen", "--drop", "file")[2]
    assert "1 of 10 samples has no picture." in said


def test_a_refused_call_leaves_no_file(ask, iris, tmp_path):
    (tmp_path / "old.csv").write_text("a,b,link\np0,p1,must\np0,p1,cannot\n")
    code, *_ = ask(iris, "--id-column", "id", "--drop", "species", "--pairs", "old.csv")
    assert code != 0
    assert not [*tmp_path.glob("*.sqlite*")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("absent.csv",), "There is no file"),
        (("iris.csv", "--drop", "species", "--drop", "id", "--image-shape", "3"), "such as 8x8"),
        (("iris.csv", "--drop", "species", "--drop", "id", "--image-shape", "3x3"), "9 pixels"),
        (("iris.csv", "--drop", "species", "--drop", "id", "--text", "x"), "no column 'x'"),
        (("iris.csv", "--drop", "species", "--id-column", "id", "--images", "nowhere"), "nowhere"),
        (("iris.csv", "--id-column", "id", "--images", "species"), "picture file"),
        (("iris.csv", "--out", "iris.csv"), "same file"),
        (("iris.csv", "--out", "pairs.json"), "Choose .csv"),
        (("--text", "said"), "need a table"),
        (("--image-shape", "8x8"), "need a table"),
        (("--curves", "curves"), "need a table"),
        (("iris.csv", "--drop", "species", "--id-column", "id", "--curves", "ecg_*"), "0 features"),
        (("iris.csv", "--drop", "species", "--id-column", "id", "--curves", "absent"), "no such f"),
        (("iris.csv", "--drop", "species", "--id-column", "id", "--curves", "."), "has a curve"),
        (("iris.csv", "--id-column", "id", "--text", "x"), "no column 'x' (--text)"),
        (("iris.csv", "--id-column", "id", "--show", "x"), "no column 'x' (--show)"),
        (("iris.csv", "--id-column", "id", "--images", "x"), "no folder with this name either"),
        (("iris.csv", "--id-column", "id", "--images", "x"), "no column 'x' (--images)"),
        (("iris.csv", "--drop", "species", "--pairs", "absent.csv"), ""),
    ],
    ids=str,
)
def test_mistakes_are_explained(ask, iris, arguments, said):
    code, _, error = ask(*arguments)
    assert code in (1, 2)
    assert said in error
    assert "bug in linkselect" not in error


def test_pairs_from_another_source_are_not_overwritten(ask, iris, tmp_path):
    (tmp_path / "pairs.csv").write_text("a,b,link\np0,p1,must\n")
    code, _, error = ask(iris, "--id-column", "id", "--drop", "species")
    assert code == 1
    assert "already exists, but pairs.linkselect.sqlite does not exist" in error


def test_answers_about_other_samples_are_refused(ask, iris):
    _, labelling, _ = ask()
    labelling.answer((0, 1), "unsure")
    labelling.close()
    code, _, error = ask(iris, "--id-column", "id", "--drop", "species")
    assert code == 1
    assert "pairs.csv belongs to other samples" in error
    assert "--out is the file to write" in error


def test_pairs_that_contradict_each_other(ask, iris, tmp_path):
    (tmp_path / "old.csv").write_text("a,b,link\np0,p1,must\np0,p1,cannot\n")
    code, _, error = ask(iris, "--id-column", "id", "--drop", "species", "--pairs", "old.csv")
    assert code == 1
    assert "contradict" in error
    assert "linkselect pairs explain" in error


def test_a_missing_extra_is_named(ask, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    code, _, error = ask()
    assert code == 1
    assert "pip install 'linkselect[ask]'" in error


def test_a_port_that_is_taken(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert run(["ask", "--no-browser", "--port", str(port)]) == 1
    assert f"Port {port} cannot be used" in capsys.readouterr().err


def test_ctrl_c_before_the_first_answer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def press(address):
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", press)
    assert run(["ask"]) == 0
    said = capsys.readouterr()
    assert "0 unsure. There were no answers, so no pairs were written." in said.out
    assert said.err == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_from_the_start_to_ctrl_c_or_a_closed_terminal(tmp_path, sign):
    command = [sys.executable, "-m", "linkselect", "ask", "--no-browser"]
    # The address must appear at once, even if Python buffers output to a pipe.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    timer = threading.Timer(600, process.kill)
    timer.start()
    address = process.stdout.readline().split()[1]
    with client_of(address) as client:
        a, b = asked(client.get("").text)
        client.post("answer", data={"a": a, "b": b, "answer": "different"})
    process.send_signal(sign)
    said, error = process.communicate()
    timer.cancel()
    assert process.returncode == 0
    assert error == ""
    assert "0 alike, 1 different, 0 unsure. The pairs are in pairs.csv" in said
    assert Pairs.from_csv(tmp_path / "pairs.csv") == Pairs(cannot=[(a, b)], adaptive=[(a, b)])
    assert {one.name for one in tmp_path.iterdir()} == {"pairs.csv", "pairs.linkselect.sqlite"}
