"""Finding pictures by sample id inside one folder."""

import pytest

from linkselect._messages import GuidedValueError
from linkselect.labelling._sample_pictures import named_pictures, pictures_in_folder


@pytest.fixture
def folder(tmp_path):
    pictures = tmp_path / "pictures"
    (pictures / "inner").mkdir(parents=True)
    for name in ("a.png", "b.JPG", "notes.txt", "c.svg", "inner/d.png"):
        (pictures / name).write_bytes(name.encode())
    (tmp_path / "secret.png").write_bytes(b"secret")
    (pictures / "e.png").symlink_to(tmp_path / "secret.png")
    (pictures / "f.png").symlink_to(pictures / "a.png")
    (pictures / "g.png").symlink_to(pictures / "g.png")
    return pictures


def test_files_are_found_by_id(folder):
    found = pictures_in_folder(folder, ["b", "x", "a", "f"])
    assert {row: file.name for row, file in found.items()} == {0: "b.JPG", 2: "a.png", 3: "a.png"}


def test_ids_that_are_numbers(tmp_path):
    (tmp_path / "7.png").write_bytes(b"")
    assert pictures_in_folder(tmp_path, [5, 7]) == {1: tmp_path / "7.png"}


@pytest.mark.parametrize("sample", ["e", "g", "c", "notes", "../secret", "inner/d", ""])
def test_no_id_leads_out_of_the_folder_or_to_other_files(folder, sample):
    assert pictures_in_folder(folder, ["a", sample]).keys() == {0}


def test_names_are_relative_to_the_folder_of_the_table(folder):
    found = named_pictures(folder, ["inner/d.png", "", "b.JPG"])
    assert {row: file.name for row, file in found.items()} == {0: "d.png", 2: "b.JPG"}


@pytest.mark.parametrize(
    "name",
    ["../secret.png", "e.png", "g.png", "absent.png", "notes.txt", "c.svg", "a.png\0.png", "inner"],
)
def test_names_that_lead_elsewhere_are_refused(folder, name):
    with pytest.raises(GuidedValueError, match="Row 2"):
        named_pictures(folder, ["a.png", name])


def test_an_absolute_name_is_refused(folder):
    with pytest.raises(GuidedValueError, match="inside"):
        named_pictures(folder, [str(folder.parent / "secret.png")])


def test_a_folder_without_matching_pictures_is_explained(folder, tmp_path):
    with pytest.raises(GuidedValueError, match=r"like 'x'.*like 'a'.*Name each file"):
        pictures_in_folder(folder, ["x", "y"])
    with pytest.raises(GuidedValueError, match="There is no folder"):
        pictures_in_folder(tmp_path / "absent", ["x"])
    with pytest.raises(GuidedValueError, match="No row has a picture"):
        named_pictures(folder, ["", ""])
