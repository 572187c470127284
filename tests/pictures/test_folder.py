import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest
from PIL import Image
from tests.helpers.made_pictures import made_picture, make_pictures

from linkselect._pictures import find_pictures, named_features, read_folder, thumbnail_of
from linkselect._pictures.picture_features import SIDE, measure


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    make_pictures(folder, 12)
    return folder


def counted(progress):
    return lambda done, total, doing: progress.append((done, total))


def test_pictures_with_all_extensions_and_in_subfolders(photos):
    made_picture("plain", np.random.default_rng(0)).save(photos / "LAST.Jpeg")
    (photos / ".hidden.png").write_bytes(b"")
    (photos / ".thumbs").mkdir()
    (photos / ".thumbs" / "a.png").write_bytes(b"")
    (photos / "notes.txt").write_text("no picture")
    (photos / "a.HEIC").write_bytes(b"not known to Pillow")
    (photos / "above").symlink_to(photos.parent)
    (photos.parent / "outside.png").write_bytes(b"")
    (photos / "outside.png").symlink_to("../outside.png")
    found, left_out = find_pictures(photos)
    assert len(found) == 13
    assert found[0] == "LAST.Jpeg"
    assert "more of them/photo 004.png" in found
    assert left_out == {
        "a.HEIC": "has an unsupported format; save it as JPEG or PNG",
        "outside.png": "is a link to a file outside the folder",
    }


def test_names_may_contain_all_but_control_characters(photos):
    """File names of macOS screenshots have a narrow no-break space before PM."""
    whole = (photos / "photo 000.png").read_bytes()
    names = [
        "shot at 3.04\u202fPM.png",
        "a\u00a0b.png",
        "'\"<b>&.png",
        "\U0001f469\u200d\U0001f9b0.png",
    ]
    for name in names:
        (photos / name).write_bytes(whole)
    (photos / os.fsdecode(b"\xff.png")).write_bytes(whole)
    (photos / "two\nlines.png").write_bytes(whole)
    found = read_folder(photos)
    assert set(names) <= set(found.ids)
    why = "has control characters in its name; rename it"
    assert found.left_out == {r"'two\nlines.png'": why, r"'\udcff.png'": why}


def test_features_are_those_of_the_picture(photos):
    found = read_folder(photos, ("color", "hog"))
    assert found.names == tuple(one.name for one in named_features(("color", "hog")))
    assert found.X.shape == (12, 72)
    row = found.ids.index("photo 000.png")
    picture = Image.open(photos / "photo 000.png").convert("RGB")
    pixels = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BOX)) / 255
    expected = dict(zip((one.name for one in named_features()), measure(pixels), strict=True))
    np.testing.assert_allclose(
        found.X[row], [expected[name] for name in found.names], rtol=1e-6, atol=1e-4
    )


def test_the_next_start_reads_only_new_pictures(photos, tmp_path):
    store = tmp_path / "pairs.pictures.sqlite"
    steps = []
    first = read_folder(photos, store=store, progress=counted(steps))
    assert steps
    assert steps[0] == (0, 12)
    steps.clear()
    again = read_folder(photos, store=store, progress=counted(steps))
    assert not steps
    np.testing.assert_array_equal(first.X, again.X)
    assert read_folder(photos, ("pixels",), store, counted(steps)).X.shape == (12, 256)
    assert not steps  # all families are stored

    made_picture("sun", np.random.default_rng(5)).save(photos / "photo 000.png")
    (photos / "photo 001.JPG").unlink()
    (photos / "photo 002.webp").write_bytes(b"broken meanwhile")
    changed = read_folder(photos, store=store, progress=counted(steps))
    assert steps == [(0, 2)]
    assert changed.ids == tuple(name for name in first.ids if name[-7:-4] not in ("001", "02."))
    assert list(changed.left_out) == ["photo 002.webp"]
    assert thumbnail_of(store, "photo 000.png")[:2] == b"\xff\xd8"
    assert thumbnail_of(tmp_path / "moved away", "photo 000.png") is None


def test_notes_name_skipped_files(photos):
    for number in range(7):
        (photos / f"broken {number}.png").write_bytes(b"no picture")
    notes = read_folder(photos).notes
    assert notes[0] == "Skipped broken 0.png: it is not a readable picture."
    assert notes[-1] == "Skipped 2 more files."


def test_without_pictures(tmp_path):
    with pytest.raises(ValueError, match=r"it is empty\. Supported file extensions are \.png"):
        read_folder(tmp_path)
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"has no usable pictures: a\.png is not"):
        read_folder(tmp_path)


def damage_pages(store):
    content = bytearray(store.read_bytes())
    content[4096:] = b"\x07" * (len(content) - 4096)
    store.write_bytes(content)


def change(sql):
    def work(store):
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.executescript(sql)

    return work


@pytest.mark.parametrize(
    ("damage", "is_left_alone"),
    [
        (lambda store: store.write_text("my diary, longer than a page" * 999), True),
        (damage_pages, True),
        (change("DROP TABLE picture; CREATE TABLE picture (other)"), True),
        (change("UPDATE picture SET features = NULL"), False),
        (change("UPDATE picture SET features = x'00', thumbnail = NULL"), False),
        (change("PRAGMA user_version = 7"), False),
    ],
)
def test_a_damaged_store_only_costs_time(photos, tmp_path, damage, is_left_alone):
    store = tmp_path / "pairs.pictures.sqlite"
    expected = read_folder(photos, store=store)
    damage(store)
    before = store.read_bytes()
    found = read_folder(photos, store=store)
    np.testing.assert_array_equal(found.X, expected.X)
    assert (store.read_bytes() == before) == is_left_alone
    assert ("cannot store the features" in "".join(found.notes)) == is_left_alone
    thumbnail_of(store, "photo 000.png")


def test_another_folder_keeps_stored_features(photos, tmp_path):
    store = tmp_path / "pairs.pictures.sqlite"
    read_folder(photos, store=store)
    make_pictures(tmp_path / "others", 3, seed=5)
    (tmp_path / "others" / "photo 000.png").rename(tmp_path / "others" / "new.png")
    assert "new.png" in read_folder(tmp_path / "others", store=store).ids
    steps = []
    assert len(read_folder(photos, store=store, progress=counted(steps)).ids) == 12
    assert steps == [(0, 2)]  # two pictures have the same name in the other folder


@pytest.mark.slow
def test_a_killed_start_is_resumed(tmp_path):
    """Features computed before a kill are kept."""
    folder, store = tmp_path / "photos", tmp_path / "pairs.pictures.sqlite"
    make_pictures(folder, 100)
    code = (
        "import sys, pathlib, time\n"
        "from linkselect._pictures import read_folder\n"
        "def slowly(done, total, doing):\n"
        "    print(done, flush=True); time.sleep(0.2)\n"
        "read_folder(pathlib.Path(sys.argv[1]), store=pathlib.Path(sys.argv[2]), progress=slowly)\n"
    )
    command = [sys.executable, "-c", code, str(folder), str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while int(process.stdout.readline()) < 64:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    steps = []
    found = read_folder(folder, store=store, progress=counted(steps))
    assert len(found.ids) == 100
    assert steps[0][1] <= 100 - 32
