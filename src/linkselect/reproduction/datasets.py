"""The data sets of the four papers: where they are looked for, and what must be in them."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from linkselect.arrays import FloatArray
from linkselect.reproduction.fetch import (
    FetchError,
    ProgressFunction,
    UciSource,
    fetch_arrays,
    uci_address,
)

__all__ = [
    "DATASETS",
    "DataNotFoundError",
    "Dataset",
    "DatasetSpec",
    "cache_folder",
    "checksum",
    "dataset_names",
    "load_dataset",
]


class DataNotFoundError(FileNotFoundError):
    """Raised when a data set is neither in the data folder nor can be fetched."""


@dataclass(frozen=True, eq=False)  # arrays have no plain equality
class Dataset:
    """A data set as the papers use it. Its arrays are read-only: loads share them.

    Parameters
    ----------
    name : str
        Its name in the papers' tables.
    X : array of float64, shape (n_samples, n_features)
        Missing values are NaN. Rows are in the order of the source.
    y : array of int64, shape (n_samples,)
        Classes 0 to k - 1.
    class_names : tuple of str
        The name of each value of `y`.
    feature_names : tuple of str or None
        None where the source names no features.
    image_shape : (height, width) or None
        Pixels are column-major: `x.reshape(width, height).T` shows the picture upright.
    """

    name: str
    X: FloatArray
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class DatasetSpec:
    """What a data set must be: its file, shape, class counts and checksum, and its source.

    Parameters
    ----------
    name : str
        Its name in the papers' tables.
    file : str or None
        The file in the data folder, with arrays X, y, class_names and, where known,
        feature_names. None: scikit-learn ships the set.
    shape : (n_samples, n_features)
        Where the file has more rows, the first `n_samples` are taken.
    class_counts : tuple of int
        How many samples each class has.
    sha256 : str
        Of the arrays, not of the file: see `checksum`.
    source : UciSource or str
        Where the set can be fetched, or where it comes from, in words.
    image_shape : (height, width) or None
        Of sets of pictures.
    """

    name: str
    file: str | None
    shape: tuple[int, int]
    class_counts: tuple[int, ...]
    sha256: str
    source: UciSource | str
    image_shape: tuple[int, int] | None = None


_ASU = "ASU feature selection repository (scikit-feature); not fetched"
_FACES = "copies of the face database are passed around as MATLAB files; not fetched"
_GENES = "R package datamicroarray; not fetched"

_SPECS = (
    DatasetSpec(
        "Ionosphere",
        "ionosphere.npz",
        (351, 34),
        (126, 225),
        "4034791db0fb35822c78093c6dd5f7bab6ea6e1764a31d0aad07e4c71fde7cb5",
        UciSource(52, ("ionosphere/ionosphere.data",), ("b", "g"), class_names=("bad", "good")),
    ),
    DatasetSpec(
        "Sonar",
        "sonar.npz",
        (208, 60),
        (97, 111),
        "e538d2617204575c53f6ac0bb4c99f9833f56ad87c3005d54e4830cb64bf4761",
        UciSource(
            151,
            ("undocumented/connectionist-bench/sonar/sonar.all-data",),
            ("R", "M"),
            class_names=("rock", "mine"),
        ),
    ),
    DatasetSpec(
        "Soybean",
        "soybean_small.npz",
        (47, 35),
        (10, 10, 10, 17),
        "dbba4f648ec3ba78e9651526ff88c5f76a875aa814fde600211bc6d4a6ac608a",
        UciSource(91, ("soybean/soybean-small.data",), ("D1", "D2", "D3", "D4")),
    ),
    DatasetSpec(
        "Wine",
        None,
        (178, 13),
        (59, 71, 48),
        "3fdc6d142f2be1ee7308926eac7c83883814d23d9a593a72ae53a57bf3096457",
        "scikit-learn (UCI 109)",
    ),
    DatasetSpec(
        "ORL 64x64",
        "olivetti_64x64.npz",
        (400, 4096),
        (10,) * 40,
        "fc195fa35738b05dbac0d1d088a7cfec8007d27e8c8b201d06e08b2d603f39f9",
        _FACES,
        (64, 64),
    ),
    DatasetSpec(
        "YaleB",
        "yaleb_32x32.npz",
        (640, 1024),
        (64,) * 10,
        "e2c68aa5476d594fceae857b0bfc2b550ee9e06ef95831fed1c0db7bd61bcf87",
        _FACES,
        (32, 32),
    ),
    DatasetSpec(
        "Hepatitis",
        "hepatitis.npz",
        (155, 19),
        (32, 123),
        "cb3b8d55619576b2352eb671ad763429a732df30f8dd463abfe2d261020ee3b6",
        UciSource(46, ("hepatitis/hepatitis.data",), ("1", "2"), "first", ("die", "live")),
    ),
    DatasetSpec(
        "Steel Plate Faults",
        "steel_plates_faults.npz",
        (1941, 27),
        (158, 190, 391, 72, 55, 402, 673),
        "c59a29586744161f1a880876334658e0feb4d67ba020c4757f36c42c0123795b",
        UciSource(
            198,
            ("00198/Faults.NNA",),
            ("Pastry", "Z_Scratch", "K_Scatch", "Stains", "Dirtiness", "Bumps", "Other_Faults"),
            "one-hot",
            separator=None,
        ),
    ),
    DatasetSpec(
        "Colon Cancer",
        "colon.npz",
        (62, 2000),
        (40, 22),
        "49d0cc97778b040f9ed58d270d5f9b1ef1195828df0b70a7649025ade03f6733",
        _GENES,
    ),
    DatasetSpec(
        "Prostate Cancer",
        "prostate_singh_train.npz",
        (102, 12600),
        (52, 50),
        "5cc1e0f1b34903ece53c9cf2d572c74d766cccfb7c57ba6a544fcfde09e3fec0",
        _GENES,
    ),
    DatasetSpec(
        "PIE",
        "pie_32x32_first10.npz",
        (1700, 1024),
        (170,) * 10,
        "8dfbe55b1dfd4944c60793499327676cee43c0bb4a413b3cc826a8d0a7cd8e20",
        _FACES,
        (32, 32),
    ),
    DatasetSpec(
        "Yale",
        "yale_32x32.npz",
        (165, 1024),
        (11,) * 15,
        "8bbcd466c7110ed32c7efa4d1600a8345a2313ef82969de0104f49a1601755b8",
        _ASU,
        (32, 32),
    ),
    DatasetSpec(
        "WBCD",
        "wbcd_original.npz",
        (683, 9),
        (444, 239),
        "b202a73aa1f9888c16962267e1814cf155b58f9f56195023b1393f8b55726e9a",
        UciSource(
            15,
            ("breast-cancer-wisconsin/breast-cancer-wisconsin.data",),
            ("2", "4"),
            class_names=("benign", "malignant"),
            n_ids=1,
            complete_only=True,
        ),
    ),
    DatasetSpec(
        "Image Segmentation",
        "image_segmentation.npz",
        (2310, 19),
        (330,) * 7,
        "f19d48f1e4488356d97188e3993c0ee35aac698aaaaf7bfbbc2088525065a098",
        UciSource(
            50,
            ("image/segmentation.data", "image/segmentation.test"),
            ("BRICKFACE", "SKY", "FOLIAGE", "CEMENT", "WINDOW", "PATH", "GRASS"),
            "first",
        ),
    ),
    DatasetSpec(
        "WDBC",
        None,
        (569, 30),
        (212, 357),
        "785a9190557f2de8e457b4298dd6f0f5437d0bfaa352f6914e735925e041b30b",
        "scikit-learn (UCI 17)",
    ),
    DatasetSpec(
        "Dermatology",
        "dermatology.npz",
        (366, 34),
        (112, 61, 72, 49, 52, 20),
        "a3bcc01c09a0acab1618a9f79a5fbb715ee552a0b167c9067e6cc5cb7364b96c",
        UciSource(
            33,
            ("dermatology/dermatology.data",),
            ("1", "2", "3", "4", "5", "6"),
            class_names=(
                "psoriasis",
                "seboreic dermatitis",
                "lichen planus",
                "pityriasis rosea",
                "cronic dermatitis",
                "pityriasis rubra pilaris",
            ),
        ),
    ),
    DatasetSpec(
        "Libras Movement",
        "libras_movement.npz",
        (360, 90),
        (24,) * 15,
        "d07318ea887ac949fecf26ccacbb4483a6e2077da0bd91c1de623639053c0bf2",
        UciSource(181, ("libras/movement_libras.data",), tuple(map(str, range(1, 16)))),
    ),
    DatasetSpec(
        "Multiple Features",
        "multiple_features.npz",
        (2000, 649),
        (200,) * 10,
        "4b29f18f50a1f02b05779240975c6e9be4ef050ed86d74f6d386dead66bae348",
        UciSource(
            72,
            tuple(f"mfeat/mfeat-{view}" for view in ("fou", "fac", "kar", "pix", "zer", "mor")),
            tuple("0123456789"),
            "blocks",
            separator=None,
            digits=5,
        ),
    ),
    DatasetSpec(
        "CNAE-9",
        "cnae_9.npz",
        (1080, 856),
        (120,) * 9,
        "b5b6957b698397b5c69f8eb5b3b00c9202b6f6bbdbd34776e76e1a984ed537e1",
        UciSource(233, ("00233/CNAE-9.data",), tuple("123456789"), "first"),
    ),
    DatasetSpec(
        "ORL",
        "orl_32x32.npz",
        (400, 1024),
        (10,) * 40,
        "215df6742cbea02313a9a031ca3cbc5bf1b067ffc59da404562e9a40fd8dbf9c",
        _ASU,
        (32, 32),
    ),
    DatasetSpec(
        "Pie10P",
        "warp_pie10p.npz",
        (210, 2420),
        (21,) * 10,
        "66830663c4f6b3bb8db08f1d6b1b215a934e732a9f02925bb9027afee5d3ff54",
        _ASU,
        (55, 44),
    ),
    DatasetSpec(
        "ALLAML",
        "allaml.npz",
        (72, 7129),
        (47, 25),
        "12517149f47dab7fc38bd9f56908b26fc8b50e8b69cba5d09ff1a639f5951925",
        _ASU,
    ),
)

DATASETS = {spec.name: spec for spec in _SPECS}


def dataset_names() -> tuple[str, ...]:
    """Return the names that `load_dataset` knows.

    Examples
    --------
    >>> from linkselect.reproduction import dataset_names
    >>> len(dataset_names())
    22
    """
    return tuple(DATASETS)


def checksum(X: NDArray[Any], y: NDArray[Any]) -> str:
    """Return the SHA-256 of a data set's contents, whatever type and file hold them.

    Hashed are the shape of X as text, X as little-endian float64 in row order with one NaN and
    one zero for all, and y as little-endian int64.
    """
    values = np.array(X, dtype="<f8", order="C") + 0.0  # turns -0 into 0
    values[np.isnan(values)] = np.nan
    digest = hashlib.sha256(repr(tuple(map(int, values.shape))).encode())
    digest.update(values.tobytes())
    digest.update(np.ascontiguousarray(y, dtype="<i8").tobytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder that fetched data sets are kept in, whether or not it exists."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "linkselect"


def load_dataset(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    fetch: bool = True,
    progress: ProgressFunction | None = None,
) -> Dataset:
    """Load a data set of the papers and check that it is the right one.

    Parameters
    ----------
    name : str
        As in the papers' tables; `dataset_names()` lists them. The ORL of 2008 is "ORL 64x64",
        that of 2020 is "ORL".
    data_dir : path, optional
        Where the files are. Default: the environment variable LINKSELECT_DATA, else the folder
        for fetched sets, `~/.cache/linkselect` (XDG_CACHE_HOME is respected).
    fetch : bool
        Download a set that is in neither folder from the UCI repository, where it is there. It
        is kept in the folder for fetched sets. (Only tried against a server on this machine.)
    progress : function, optional
        Called with the bytes received and expected while a set is fetched. Default: a bar on a
        terminal, where rich is installed.

    Returns
    -------
    Dataset
        Its shape, class counts and checksum are those that the experiments were made with.

    Examples
    --------
    >>> from linkselect.reproduction import load_dataset
    >>> load_dataset("Wine").X.shape
    (178, 13)
    """
    spec = _spec(name)
    if spec.file is None:
        return _shipped(spec.name)
    path = _find(spec, data_dir) or _obtain(spec, data_dir, fetch, progress)
    return _read(spec.name, path, path.stat().st_mtime_ns)


def _spec(name: str) -> DatasetSpec:
    if name not in DATASETS:
        known = ", ".join(DATASETS)
        raise ValueError(f"There is no data set {name!r}. Known are: {known}.")
    return DATASETS[name]


def _folders(data_dir: str | os.PathLike[str] | None) -> list[Path]:
    named = data_dir or os.environ.get("LINKSELECT_DATA")
    if not named:
        return [cache_folder()]
    if not Path(named).is_dir():
        raise DataNotFoundError(
            f"There is no folder {str(named)!r}, which "
            f"{'data_dir' if data_dir else 'LINKSELECT_DATA'} names. Name the folder of the data "
            "files, or none to fetch what can be fetched."
        )
    return [Path(named), cache_folder()]


def _find(spec: DatasetSpec, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return the path of the set's file, or None."""
    paths = (folder / str(spec.file) for folder in _folders(data_dir))
    return next((path for path in paths if path.is_file()), None)


def _obtain(
    spec: DatasetSpec,
    data_dir: str | os.PathLike[str] | None,
    fetch: bool,
    progress: ProgressFunction | None,
) -> Path:
    """Fetch the set into the cache and return its path, or say how to get it."""
    places = " and ".join(map(str, _folders(data_dir)))
    missing = (
        f"The data set {spec.name!r} needs the file {spec.file}, looked for in {places}. "
        f"Source: {spec.source}. "
        "Put the file there, or name its folder by data_dir=, --data-dir or LINKSELECT_DATA."
    )
    if not fetch or not isinstance(spec.source, UciSource):
        raise DataNotFoundError(missing)
    try:
        return _fetch(spec, spec.source, progress)
    except FetchError as error:
        raise DataNotFoundError(f"{error} {missing}") from error


def _fetch(spec: DatasetSpec, source: UciSource, progress: ProgressFunction | None) -> Path:
    X, y = fetch_arrays(source, spec.shape[1], progress)
    names = source.class_names or source.labels
    _checked(
        Dataset(spec.name, X, y, names),
        f"What was fetched from {uci_address()}/{source.files[0]}",
        f"Get {spec.file} elsewhere and name its folder by data_dir=, --data-dir or "
        "LINKSELECT_DATA; LINKSELECT_UCI names another address to fetch from.",
    )
    path = cache_folder() / str(spec.file)
    try:
        _write_whole(path, X, y, np.array(names))
    except OSError as error:
        raise FetchError(
            f"{path} cannot be written ({error.strerror}). XDG_CACHE_HOME names another folder "
            "for fetched sets."
        ) from error
    return path


def _write_whole(path: Path, X: NDArray[Any], y: NDArray[Any], class_names: NDArray[Any]) -> None:
    """Write a file so that others see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        part = Path(file.name)
        try:
            np.savez_compressed(file, X=X, y=y, class_names=class_names)
            file.close()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


# Units load their sets again and again, in any order; the file's time is in the key, so that a
# replaced file is read anew.
@lru_cache(maxsize=12)
def _read(name: str, path: Path, changed: int) -> Dataset:
    spec = DATASETS[name]
    try:
        dataset = _from_file(spec, path)
    except (BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"{path} is damaged, or no file with arrays X, y and class_names ({error}). "
            f"Replace it, or remove it. Source: {spec.source}."
        ) from error
    return _checked(dataset, str(path), "Replace the file, or remove it.")


def _from_file(spec: DatasetSpec, path: Path) -> Dataset:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        arrays = {key: content[key] for key in content.files}
    n_samples = spec.shape[0]
    names = arrays.get("feature_names")
    return Dataset(
        spec.name,
        arrays["X"][:n_samples].astype(np.float64),
        arrays["y"][:n_samples].astype(np.int64),
        tuple(arrays["class_names"].tolist()[: len(spec.class_counts)]),
        None if names is None else tuple(names.tolist()),
        spec.image_shape,
    )


@lru_cache(maxsize=2)
def _shipped(name: str) -> Dataset:
    from sklearn.datasets import load_breast_cancer, load_wine

    loaders: dict[str, Callable[[], Any]] = {"Wine": load_wine, "WDBC": load_breast_cancer}
    content = loaders[name]()
    dataset = Dataset(
        name,
        content.data.astype(np.float64),
        content.target.astype(np.int64),
        tuple(map(str, content.target_names)),
        tuple(map(str, content.feature_names)),
    )
    return _checked(dataset, "scikit-learn", "Use a release of scikit-learn that has it.")


def _checked(dataset: Dataset, origin: str, way_out: str) -> Dataset:
    """Return the set with read-only arrays, or say in what it is not the expected one."""
    spec = DATASETS[dataset.name]
    counts = tuple(np.bincount(dataset.y, minlength=len(spec.class_counts)).tolist())
    differences = []
    if dataset.X.shape != spec.shape:
        differences.append(f"shape {dataset.X.shape} instead of {spec.shape}")
    if counts != spec.class_counts:
        differences.append(f"class counts {counts} instead of {spec.class_counts}")
    if not differences and checksum(dataset.X, dataset.y) != spec.sha256:
        differences.append("other values or another order of rows (its checksum differs)")
    if differences:
        raise ValueError(
            f"{origin} does not hold the data set {dataset.name!r} that the experiments were "
            f"made with: {'; '.join(differences)}. {way_out} Source: {spec.source}."
        )
    dataset.X.flags.writeable = False
    dataset.y.flags.writeable = False
    return dataset
