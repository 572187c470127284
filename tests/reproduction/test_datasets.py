import numpy as np
import pytest

from linkselect.reproduction import DataNotFoundError, dataset_names, load_dataset
from linkselect.reproduction._datasets import DATASETS, cache_folder, checksum
from tests.conftest import DATA


@pytest.fixture
def no_folders(monkeypatch, tmp_path):
    """Hide local data folders; return the cache folder."""
    monkeypatch.delenv("LINKSELECT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "linkselect"


@pytest.fixture
def iono(tmp_path):
    """Return a folder with a copy of Ionosphere that tests may change."""
    if not (DATA / "ionosphere.npz").exists():
        pytest.skip(f"needs ionosphere.npz in {DATA}; set LINKSELECT_DATA to the data folder")
    with np.load(DATA / "ionosphere.npz") as content:
        arrays = dict(content)

    def write(**changed):
        np.savez(tmp_path / "ionosphere.npz", **(arrays | changed))
        return tmp_path

    return arrays, write


@pytest.mark.parametrize("name", dataset_names())
def test_every_data_set_has_the_expected_contents(name):
    file = DATASETS[name].file
    if file and not (DATA / file).exists():
        pytest.skip(f"needs {file} in {DATA}; set LINKSELECT_DATA to the data folder")
    dataset = load_dataset(name, DATA, fetch=False)
    assert dataset.X.shape == DATASETS[name].shape
    assert dataset.X.dtype == np.float64
    assert len(dataset.class_names) == dataset.y.max() + 1
    if dataset.image_shape:
        assert np.prod(dataset.image_shape) == dataset.X.shape[1]
    if dataset.feature_names:
        assert len(dataset.feature_names) == dataset.X.shape[1]


def test_the_papers_use_22_data_sets():
    assert len(dataset_names()) == 22
    assert sum(spec.file is None for spec in DATASETS.values()) == 2
    assert all(sum(spec.class_counts) == spec.shape[0] for spec in DATASETS.values())


def test_loaded_arrays_are_read_only():
    dataset = load_dataset("Wine")
    assert load_dataset("Wine") is dataset
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 1.0


def test_a_file_is_searched_in_the_given_folders(no_folders, iono, monkeypatch):
    _, write = iono
    folder = write()
    by_argument = load_dataset("Ionosphere", folder, fetch=False)
    monkeypatch.setenv("LINKSELECT_DATA", str(folder))
    assert load_dataset("Ionosphere", fetch=False) is by_argument
    monkeypatch.delenv("LINKSELECT_DATA")
    no_folders.mkdir(parents=True)
    (folder / "ionosphere.npz").rename(no_folders / "ionosphere.npz")
    cached = load_dataset("Ionosphere", fetch=False)
    np.testing.assert_array_equal(cached.X, by_argument.X)


def test_the_cache_is_in_the_home_folder_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "linkselect"


def test_a_missing_data_set_without_an_address_has_a_hint(no_folders, tmp_path):
    with pytest.raises(DataNotFoundError) as caught:
        load_dataset("YaleB", tmp_path)
    message = str(caught.value)
    for part in (
        "yaleb_32x32.npz",
        str(tmp_path),
        str(no_folders),
        "LINKSELECT_DATA",
        "--data-dir",
    ):
        assert part in message


def test_a_data_folder_that_does_not_exist(no_folders, tmp_path, monkeypatch):
    with pytest.raises(DataNotFoundError, match="There is no folder '.*dta' .data_dir."):
        load_dataset("Ionosphere", tmp_path / "dta")
    monkeypatch.setenv("LINKSELECT_DATA", "nowhere")
    with pytest.raises(DataNotFoundError, match="'nowhere' .LINKSELECT_DATA."):
        load_dataset("Ionosphere")


def test_a_damaged_file_is_named(no_folders, tmp_path):
    path = tmp_path / "ionosphere.npz"
    np.savez_compressed(path, X=np.eye(3), y=np.arange(3), class_names=["a", "b", "c"])
    whole = path.read_bytes()
    flipped = bytes(byte ^ 255 if 60 < place < 90 else byte for place, byte in enumerate(whole))
    np.savez(path, X=np.eye(3))
    without_y = path.read_bytes()
    for content in (b"", b"no archive", whole[:100], flipped, without_y):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"ionosphere.npz is damaged or .*Replace or"):
            load_dataset("Ionosphere", tmp_path)


def test_the_error_for_an_unknown_name_lists_all_names():
    with pytest.raises(ValueError, match="no data set 'Iris'. Choose one of: Ionosphere, Sonar"):
        load_dataset("Iris")


def test_a_changed_value_is_detected(no_folders, iono):
    arrays, write = iono
    X = arrays["X"].copy()
    X[100, 7] += 1e-9
    with pytest.raises(ValueError, match="other values or another order of rows"):
        load_dataset("Ionosphere", write(X=X))


def test_another_order_of_rows_is_detected(no_folders, iono):
    arrays, write = iono
    rows = np.arange(351)
    rows[[3, 5]] = 5, 3
    with pytest.raises(ValueError, match="another order"):
        load_dataset("Ionosphere", write(X=arrays["X"][rows], y=arrays["y"][rows]))


def test_another_shape_and_other_classes_are_named(no_folders, iono):
    arrays, write = iono
    changed = write(X=arrays["X"][:, :33], y=1 - arrays["y"])
    with pytest.raises(ValueError, match=r"shape \(351, 33\) .* counts \(225, 126\) instead"):
        load_dataset("Ionosphere", changed)


def test_a_repaired_file_is_read_again(no_folders, iono):
    arrays, write = iono
    with pytest.raises(ValueError, match="differs from the data set"):
        load_dataset("Ionosphere", write(y=1 - arrays["y"]))
    assert load_dataset("Ionosphere", write()).X.shape == (351, 34)


def test_the_checksum_depends_on_values_and_not_on_their_type():
    X, y = np.array([[1, 2], [3, 0]]), np.array([0, 1])
    same = checksum(X, y)
    assert checksum(X.astype(np.uint8), y.astype(np.int8)) == same
    assert checksum(np.asfortranarray(X.astype(np.float32)), y) == same
    assert checksum(np.array([[1.0, 2.0], [3.0, -0.0]]), y) == same
    assert checksum(X.reshape(1, 4), y) != same
    assert checksum(X, 1 - y) != same
    nan = np.array([[np.nan, 1.0]])
    assert checksum(nan, y) == checksum(-nan * [1, -1], y)
