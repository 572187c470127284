"""Files are written completely or not at all."""

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from linkselect._files import clear_parts, write_whole, written_whole
from tests.helpers.full_disk import files_of_at_most


def write(path, text):
    with written_whole(path) as part:
        part.write_text(text)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def interrupt(path, error):
    with written_whole(path) as part:
        part.write_text("half of")
        raise error


def test_the_file_appears_at_the_end_of_the_block(tmp_path):
    path = tmp_path / "table.csv"
    with written_whole(path) as part:
        part.write_text("a,b\n")
        assert not path.exists()
        # Renaming requires the same folder, and the format follows from the ending.
        assert part.parent == tmp_path
        assert part.suffix == ".csv"
    assert path.read_text() == "a,b\n"
    assert names_in(tmp_path) == ["table.csv"]


def test_readers_see_the_old_file_until_the_end(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with written_whole(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_paths_may_be_text_and_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("plain", "all of it")
    assert (tmp_path / "plain").read_text() == "all of it"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_inside_the_block_changes_nothing(tmp_path, error, exists):
    path = tmp_path / "table.csv"
    if exists:
        path.write_text("old")
    with pytest.raises(error):
        interrupt(path, error)
    assert names_in(tmp_path) == (["table.csv"] if exists else [])
    assert not exists or path.read_text() == "old"


def test_an_existing_file_keeps_its_mode(tmp_path):
    path = tmp_path / "secret.json"
    path.write_text("old")
    path.chmod(0o600)
    write(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "new"


def test_a_new_file_has_the_mode_of_any_other(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "a", "text")
        (tmp_path / "b").write_text("text")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_keeps_pointing_where_it_did(tmp_path, exists):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if exists:
        (folder / "real.csv").write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to(folder / "real.csv")
    write(link, "new")
    assert link.is_symlink()
    assert (folder / "real.csv").read_text() == "new"
    assert names_in(folder) == ["real.csv"]


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(secrets, "token_hex", lambda size: "guessed")
    (tmp_path / ".table.guessed.part.csv").symlink_to(victim)
    with pytest.raises(FileExistsError) as caught:
        write(tmp_path / "table.csv", "new")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "table.csv").exists()
    assert "guessed" not in str(caught.value)


def test_names_differ_from_one_time_to_the_next(tmp_path):
    path = tmp_path / "table.csv"
    with written_whole(path) as first, written_whole(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    # The outer block ends last.
    assert path.read_text() == "first"


def test_a_missing_folder_is_reported_by_the_name_of_the_target(tmp_path):
    path = tmp_path / "missing" / "table.csv"
    with pytest.raises(FileNotFoundError) as caught:
        write(path, "text")
    assert caught.value.filename == str(path)
    assert ".part" not in str(caught.value)
    assert names_in(tmp_path) == []


def test_a_folder_in_the_place_of_the_file_is_reported_and_stays(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(OSError, match="folder") as caught:
        write(path, "text")
    assert caught.value.filename == str(path)
    assert ".part" not in str(caught.value)
    assert names_in(tmp_path) == ["folder"]


def test_errors_about_other_files_keep_their_names(tmp_path):
    other = tmp_path / "not there"
    with pytest.raises(FileNotFoundError) as caught, written_whole(tmp_path / "table.csv"):
        other.read_text()
    assert caught.value.filename == str(other)
    assert names_in(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(path, "text")
        assert (path.is_fifo(), os.read(reader, 9)) == (True, b"text")
    finally:
        os.close(reader)
    assert names_in(tmp_path) == ["pipe.csv"]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="the system names no open files")
def test_a_pipe_without_a_name_is_written_to():
    reader, writer = os.pipe()
    with written_whole(f"/dev/fd/{writer}") as part:
        part.write_text("new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    os.close(writer)


def test_a_name_of_the_greatest_length_can_be_written(tmp_path):
    path = tmp_path / ("\u00e4" * 120 + ".csv")
    write(path, "text")
    assert path.read_text() == "text"


# -- written bytes, and no leftovers --------------------------------------


@pytest.fixture(params=["unnamed", "named"])
def way(request, monkeypatch):
    """Both ways of writing, if the system supports unnamed files."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("the system has no files without a name")


def test_bytes_take_the_place_of_a_file(tmp_path, way):
    path = tmp_path / "pairs.csv"
    write_whole(path, b"first")
    path.chmod(0o600)
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o600
    assert names_in(tmp_path) == ["pairs.csv"]


def test_bytes_in_a_new_file_have_the_mode_of_any_other(tmp_path, way):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", b"text")
        (tmp_path / "b").write_text("text")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_bytes_go_through_a_link(tmp_path, way):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real.csv")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_bytes() == b"new"


def test_bytes_for_a_pipe(tmp_path, way):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(path, b"text")
        assert (path.is_fifo(), os.read(reader, 9)) == (True, b"text")
    finally:
        os.close(reader)


def test_bytes_that_the_disk_has_no_room_for_leave_the_old_file(tmp_path, way):
    path = tmp_path / "pairs.csv"
    write_whole(path, b"old")
    with files_of_at_most(1000), pytest.raises(OSError, match="too large"):
        write_whole(path, b"x" * 5000)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["pairs.csv"]


def test_bytes_that_cannot_be_written_leave_the_old_file(tmp_path, way):
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(OSError, match="folder") as caught:
        write_whole(path, b"text")
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "missing" / "a.csv", b"text")
    assert ".part" not in str(caught.value)
    assert names_in(tmp_path) == ["folder"]


WRITER = """
import sys
from linkselect._files import write_whole
print("ready", flush=True)
while True:
    for letter in b"ab":
        write_whole(sys.argv[1], bytes([letter]) * 100_000)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
def test_a_kill_leaves_one_whole_file(tmp_path):
    path = tmp_path / "pairs.csv"
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        while not path.exists():
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
        clear_parts(path)  # after the temporary name was given, before the final one
        assert names_in(tmp_path) == ["pairs.csv"]


def test_parts_of_one_file_are_cleared(tmp_path):
    path = tmp_path / "pa[i]rs.csv"
    part = "0123456789abcdef.part.csv"
    others = [".pairs.0123456789abcdef.part.csv", ".pa[i]rs.mine.part.csv", "pa[i]rs.csv"]
    for name in (f".pa[i]rs.{part}", f".pa[i]rs.{part[::-1]}", *others):
        (tmp_path / name).touch()
    clear_parts(path)
    assert names_in(tmp_path) == sorted([f".pa[i]rs.{part[::-1]}", *others])
