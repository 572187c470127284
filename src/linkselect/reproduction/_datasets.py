"""The data sets used in the four papers: their locations and required contents."""

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
    """Raised when a data set is not in the data folder and cannot be fetched."""


@dataclass(frozen=True, eq=False)  # comparing arrays does not return a single Boolean
class Dataset:
    """A data set as used in the papers; its arrays are read-only because repeated loads share them.

    Parameters
    ----------
    name : str
        The name in the papers' tables.
    X : array of float64, shape (n_samples, n_features)
        The samples, in the same order as in the source; missing values are NaN.
    y : array of int64, shape (n_samples,)
        The class of each sample, from 0 to k - 1.
    class_names : tuple of str
        The name of each class.
    feature_names : tuple of str or None
        The names of the features; None if the source has none.
    image_shape : (height, width) or None
        The shape of each image if the samples are images. Their pixels are in column-major order,
        so `x.reshape(width, height).T` is the upright image.
    """

    name: str
    X: FloatArray
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class DatasetSpec:
    """The required file, shape, class counts and checksum of a data set, and its source.

    Parameters
    ----------
    name : str
        The name in the papers' tables.
    file : str or None
        The file in the data folder; it contains the arrays X, y, class_names and optionally
        feature_names. None if scikit-learn includes the set.
    shape : (n_samples, n_features)
        The shape of X. If the file has more samples, only the first `n_samples` are used.
    class_counts : tuple of int
        The number of samples in each class.
    sha256 : str
        The checksum of the arrays, not of the file: see `checksum`.
    source : UciSource or str
        The download location of the set, or a description of its origin.
    image_shape : (height, width) or None
        The shape of each image if the samples are images.
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
    """Return the names of all data sets that `load_dataset` can load.

    Examples
    --------
    >>> from linkselect.reproduction import dataset_names
    >>> len(dataset_names())
    22
    """
    return tuple(DATASETS)


def checksum(X: NDArray[Any], y: NDArray[Any]) -> str:
    """Return the SHA-256 checksum of X and y, which does not depend on their types or file format.

    The checksum covers the shape of X as text; the values of X as little-endian float64, row by
    row, with a single representation of NaN and of zero; and y as little-endian int64.
    """
    values = np.array(X, dtype="<f8", order="C") + 0.0  # converts -0 to 0
    values[np.isnan(values)] = np.nan
    digest = hashlib.sha256(repr(tuple(map(int, values.shape))).encode())
    digest.update(values.tobytes())
    digest.update(np.ascontiguousarray(y, dtype="<i8").tobytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder for fetched data sets, which may not exist yet."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "linkselect"


def load_dataset(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    fetch: bool = True,
    progress: ProgressFunction | None = None,
) -> Dataset:
    """Load a data set from the papers and verify its contents.

    Parameters
    ----------
    name : str
        The name in the papers' tables; `dataset_names()` lists all names. Zhang, Chen & Zhou (2008)
        use "ORL 64x64", whereas Salmi, Hammouche & Macaire (2020) use "ORL".
    data_dir : path, optional
        The folder that contains the data files. Default: the folder specified by the environment
        variable LINKSELECT_DATA; otherwise, the folder for fetched sets, `~/.cache/linkselect`
        (XDG_CACHE_HOME is respected).
    fetch : bool
        Whether to download a set that is in neither folder from the UCI repository, if it is
        available there. The set is then stored in the folder for fetched sets. (Downloads were
        tested only with a local server.)
    progress : function, optional
        Function that is called during a download with the numbers of bytes received and expected.
        Default: a progress bar, if rich is installed and the output is a terminal.

    Returns
    -------
    Dataset
        The data set, after its shape, class counts and checksum have been verified.

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
            f"There is no data set {name!r}.", f"Choose one of: {', '.join(DATASETS)}."
        )
    return DATASETS[name]


def folders(data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders to search for files; a folder specified by the user must exist."""
    named = data_dir or os.environ.get("LINKSELECT_DATA")
    if not named:
        return [cache_folder()]
    if not Path(named).is_dir():
        raise DataNotFoundError(
            f"There is no folder {str(named)!r} ({'data_dir' if data_dir else 'LINKSELECT_DATA'}). "
            "Pass the folder of the data files, or omit it to download the available data sets."
        )
    return [Path(named), cache_folder()]


def _obtain(
    spec: DatasetSpec,
    data_dir: str | os.PathLike[str] | None,
    fetch: bool,
    progress: ProgressFunction | None,
) -> Path:
    """Fetch the set into the cache and return its path, or explain how to obtain it."""
    places = " or ".join(map(str, folders(data_dir)))
    missing = (
        f"The data set {spec.name!r} requires the file {spec.file}, which is not in {places}. "
        f"Source: {spec.source}. Put the file into this folder, or set its folder with data_dir=, "
        "--data-dir or LINKSELECT_DATA."
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
        f"The file from {uci_address()}/{source.files[0]}",
        f"Obtain {spec.file} from another source and set its folder with data_dir=, --data-dir or "
        "LINKSELECT_DATA, or set another download address with LINKSELECT_UCI.",
    )
    path = cache_folder() / str(spec.file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as part:
            np.savez_compressed(part, X=X, y=y, class_names=np.array(names))
    except OSError as error:
        raise FetchError(
            f"Cannot write {path} ({error.strerror}). Set XDG_CACHE_HOME to use another folder for "
            "downloaded data sets."
        ) from error
    return path


# Cached, because many runs load the same sets. The modification time is part of the key, so that a
# replaced file is read again.
@lru_cache(maxsize=12)
def _read(name: str, path: Path, _changed: int) -> Dataset:
    spec = DATASETS[name]
    try:
        dataset = _from_file(spec, path)
    except (BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"{path} is damaged or is not a file with the arrays X, y and class_names ({error}). "
            f"Replace or remove it. Source: {spec.source}."
        ) from error
    return _checked(dataset, str(path), "Replace or remove the file.")


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
    hint = "Install a version of scikit-learn that includes the original data set."
    return _checked(dataset, "The set in scikit-learn", hint)


def _checked(dataset: Dataset, origin: str, hint: str) -> Dataset:
    """Return the set with read-only arrays, or raise an error that lists unexpected contents."""
    spec = DATASETS[dataset.name]
    counts = tuple(np.bincount(dataset.y, minlength=len(spec.class_counts)).tolist())
    differences = []
    if dataset.X.shape != spec.shape:
        differences.append(f"shape {dataset.X.shape} instead of {spec.shape}")
    if counts != spec.class_counts:
        differences.append(f"class counts {counts} instead of {spec.class_counts}")
    if not differences and checksum(dataset.X, dataset.y) != spec.sha256:
        differences.append("other values or another order of rows (the checksum differs)")
    if differences:
        raise ValueError(
            f"{origin} differs from the data set {dataset.name!r} of the experiments: "
            f"{'; '.join(differences)}. {hint} Source: {spec.source}."
        )
    dataset.X.flags.writeable = False
    dataset.y.flags.writeable = False
    return dataset
