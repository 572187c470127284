"""The data sets of the four papers: where they are looked for, and what must be in them."""

import hashlib
import os
import tomllib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import FloatArray
from linkselect._files import written_whole
from linkselect._messages import GuidedValueError
from linkselect.reproduction._fetch import (
    FetchError,
    ProgressFunction,
    UciSource,
    fetch_arrays,
    uci_address,
)


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
        None if the source names no features.
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
        The file in the data folder, with arrays X, y, class_names and, if known,
        feature_names. None: scikit-learn ships the set.
    shape : (n_samples, n_features)
        If the file has more rows, the first `n_samples` are taken.
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


def _read_table() -> dict[str, DatasetSpec]:
    """Read `datasets.toml`."""
    text = files("linkselect.reproduction").joinpath("datasets.toml").read_text(encoding="utf-8")
    return {name: _spec_of(name, entry) for name, entry in tomllib.loads(text).items()}


def _spec_of(name: str, entry: dict[str, Any]) -> DatasetSpec:
    fields = {"file": None, **_with_tuples(entry)}
    if "uci" in fields:
        uci = _with_tuples(fields.pop("uci"))
        separator = uci.pop("separator", ",") or None  # TOML has no None
        fields["source"] = UciSource(separator=separator, **uci)
    return DatasetSpec(name, **fields)


def _with_tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


DATASETS = _read_table()


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
        As in the papers' tables; `dataset_names()` lists them. Zhang, Chen & Zhou (2008) use
        "ORL 64x64", Salmi, Hammouche & Macaire (2020) use "ORL".
    data_dir : path, optional
        Where the files are. Default: the environment variable LINKSELECT_DATA, else the folder
        for fetched sets, `~/.cache/linkselect` (XDG_CACHE_HOME is respected).
    fetch : bool
        Download a set that is in neither folder from the UCI repository, if that has it. It is
        kept in the folder for fetched sets. (Only tried against a server on this machine.)
    progress : function, optional
        Called with the bytes received and expected while a set is fetched. Default: a bar on a
        terminal, if rich is installed.

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
    paths = (folder / spec.file for folder in folders(data_dir))
    found = (path for path in paths if path.is_file())
    path = next(found, None) or _obtain(spec, data_dir, fetch, progress)
    return _read(spec.name, path, path.stat().st_mtime_ns)


def _spec(name: str) -> DatasetSpec:
    if name not in DATASETS:
        raise GuidedValueError(
            f"There is no data set {name!r}.", f"Known are: {', '.join(DATASETS)}."
        )
    return DATASETS[name]


def folders(data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders in which files are looked for; the one that was named must exist."""
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


def _obtain(
    spec: DatasetSpec,
    data_dir: str | os.PathLike[str] | None,
    fetch: bool,
    progress: ProgressFunction | None,
) -> Path:
    """Fetch the set into the cache and return its path, or say how to get it."""
    places = " and ".join(map(str, folders(data_dir)))
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
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as part:
            np.savez_compressed(part, X=X, y=y, class_names=np.array(names))
    except OSError as error:
        raise FetchError(
            f"{path} cannot be written ({error.strerror}). XDG_CACHE_HOME names another folder "
            "for fetched sets."
        ) from error
    return path


# Units load their sets again and again, in any order; the file's time is in the key, so that a
# replaced file is read anew.
@lru_cache(maxsize=12)
def _read(name: str, path: Path, _changed: int) -> Dataset:
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


def _checked(dataset: Dataset, origin: str, hint: str) -> Dataset:
    """Return the set with read-only arrays, or raise an error that lists the differences."""
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
            f"made with: {'; '.join(differences)}. {hint} Source: {spec.source}."
        )
    dataset.X.flags.writeable = False
    dataset.y.flags.writeable = False
    return dataset
