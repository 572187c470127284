"""Write the results of every selector and clusterer to a file, or compare them with such a file.

For code changes that must not change a number. Before the change:

    python benchmarks/fingerprints.py write before.json

and after it `check before.json`. Every score, order, support and cluster on six data sets, dense,
sparse and in float32, is compared bit for bit. On wine, so are results from small stored parts
(.npy, Zarr, Parquet, dask; by rows and by columns), from array-api-strict, and the output of
`rank --json` and `compare --json` except for times. `--plain` runs without numba.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

# Must be set before SciPy is imported, for arrays of other libraries.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import array_api_strict
import dask.array
import numpy as np
import pandas as pd
import zarr
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls
from linkselect._samples.sources import stored as kinds
from linkselect.cli import run

# Small parts, to imitate large data.
kinds.SLAB_BYTES = kinds.PART_BYTES = 2000

DATA = Path(os.environ.get("LINKSELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))

UNSUPERVISED = [
    ls.VarianceScore(),
    ls.LaplacianScore(),
    ls.LaplacianScore(weights="binary"),
    ls.LaplacianScore(radius=2.0),
    *(ls.SpectralScore(style=style) for style in (1, 2, 3)),
]
# Slow on many samples.
RECONSTRUCTING = [
    ls.SparsityScore(),
    ls.SparsityScore(graph="l2"),
    ls.SparsityScore(graph="lle"),
    ls.SparsityScore(form="tolerance", tolerance=1e3),
]
SUPERVISED = [
    ls.FisherScore(),
    ls.FRLL(),
    ls.FRLL(criterion="difference", neighbors="per_class"),
    ls.ReliefF(),
    ls.ReliefF(n_neighbors=10),
    ls.FisherMarkov(),
    ls.MRMR(4),
    ls.MRMR(4, scheme="quotient", discretize="quantile"),
    ls.FCBF(),
    ls.TraceRatio(),
    ls.TraceRatio(3),
    ls.NearestNeighborSFS(4),
    ls.NearestNeighborSFS(4, cv=3),
    ls.StableSelector(ls.FisherScore(), n_resamples=10, random_state=0),
    ls.StableSelector(ls.ConstraintScore(criterion="difference"), n_resamples=10, random_state=0),
    ls.Redundancy(ls.FisherScore()),
    ls.Redundancy(ls.VarianceScore()),
]
FROM_PAIRS = [
    ls.LinkSelector(),
    ls.LinkSelector(0.5, noise=0.3, scale="range"),
    ls.ConstraintScore(),
    ls.ConstraintScore(criterion="difference"),
    ls.LSDF(),
    ls.LaplacianConstraintScore(),
    ls.ConstrainedLaplacianScore(),
    ls.ConstrainedLaplacianScore(variant="2014", sigma="auto"),
    ls.CompensatedLaplacianScore(),
    ls.SCGS(tol=1e-2),
    ls.EnsembleCLS(n_estimators=10, random_state=0),
    ls.SimilarityConstraintScore(),
    ls.SimilarityConstraintScore(4, sigma="target"),
    ls.SimilarityConstraintScore(4, mode="semi-supervised"),
    ls.SimilarityConstraintScore(4, mode="semi-supervised", max_pairs=500, random_state=0),
    ls.ConstrainedSpectralClustering(3, random_state=0),
    ls.ConstrainedSpectralClustering(3, normalization="symmetric", random_state=0),
    ls.COPKMeans(3, random_state=0, n_init=2),
]
# Slow on many features or samples.
CONSENSUS = [
    ls.ConsensusSelector(random_state=0),
    ls.ConsensusSelector(estimators=[("lsdf", ls.LSDF()), ("constraint", ls.ConstraintScore())]),
]
STORAGES = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": np.float32,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
}


def data_sets():
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    for name, n_features in (("sonar", 60), ("colon", 400)):
        if not (DATA / f"{name}.npz").exists():
            print(f"Skipping {name}: it is not in {DATA}", file=sys.stderr)
            continue
        with np.load(DATA / f"{name}.npz") as content:
            yield name, content["X"][:, :n_features].astype(float), content["y"]


def jobs(X, y):
    """Yield every estimator with its supervision."""
    some = np.where(np.random.default_rng(0).random(len(y)) < 0.3, y, -1)
    pairs = ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    small = len(X) < 250
    yield from ((one, {}) for one in [*UNSUPERVISED, *(RECONSTRUCTING if small else [])])
    yield from ((one, {"y": y}) for one in SUPERVISED)
    for one in [*FROM_PAIRS, *(CONSENSUS if small else [])]:
        if len(X) < 1000 or not isinstance(one, ls.SCGS):
            yield one, {"y": some}
            yield one, {"pairs": pairs}


def digest(values):
    values = np.ascontiguousarray(values)
    content = f"{values.dtype.str}{values.shape}".encode() + values.tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def fingerprint(estimator, X, known):
    try:
        fitted = estimator.fit(X, **known)
    except ValueError as error:
        return f"refused: {str(error)[:60]}"
    names = ["labels_"] if hasattr(fitted, "labels_") else ["scores_", "order_", "support_"]
    return [digest(getattr(fitted, name)) for name in names]


def fingerprints():
    found = {}
    for name, X, y in data_sets():
        X = MinMaxScaler().fit_transform(X)
        # The large set tests compiled loops, for which one storage suffices.
        storages = ["dense"] if len(X) > 1000 else list(STORAGES)
        for storage in storages:
            for estimator, known in jobs(X, y):
                key = " | ".join([name, storage, " ".join(repr(estimator).split()), *known])
                found[key] = fingerprint(estimator, STORAGES[storage](X), known)
        print(f"{name}: {len(found)} so far", file=sys.stderr)
    return found


def parts_of(X, folder):
    """Yield X in several storages, in small parts of rows or of columns."""
    n_rows, n_columns = X.shape
    np.save(folder / "rows.npy", X)
    np.save(folder / "columns.npy", np.asfortranarray(X))
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(n_columns)])
    frame.to_parquet(folder / "rows.parquet", row_group_size=40)
    chunks = {"rows": (40, n_columns), "columns": (n_rows, 3)}
    for way, chunk in chunks.items():
        stored = zarr.open_array(folder / f"{way}.zarr", mode="w", shape=X.shape, chunks=chunk)
        stored[:] = X
        yield f"npy by {way}", ls.open_stored(folder / f"{way}.npy")
        yield f"zarr by {way}", ls.open_stored(folder / f"{way}.zarr")
        yield f"dask by {way}", dask.array.from_array(X, chunks=chunk)
    yield "parquet by rows", ls.open_stored(folder / "rows.parquet")


def elsewhere(X, y):
    """Fit the estimators that read parts or device arrays, on stored and on device samples."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        places = [*parts_of(X, Path(folder)), ("array-api-strict", array_api_strict.asarray(X))]
        for place, samples in places:
            is_array = place == "array-api-strict"
            kind = "device" if is_array else "parts"
            for estimator, known in jobs(X, y):
                if kind in getattr(estimator, "works_on", ()):
                    key = " | ".join([place, " ".join(repr(estimator).split()), *known])
                    with config_context(array_api_dispatch=is_array):
                        found[key] = fingerprint(estimator, samples, known)
    return found


COMMANDS = {
    "labels": ["rank", "wine.csv", "--label", "class"],
    "some labels": ["rank", "wine.csv", "--label", "some", "--drop", "class"],
    "pairs": ["rank", "wine.csv", "--pairs", "pairs.csv", "--drop", "class,some"],
    "nothing": ["rank", "wine.csv", "--drop", "class,some"],
    "by parts": ["rank", "wine.parquet", "--label", "class", "--drop", "some", "--by-parts"],
    "compare": ["compare", "wine.csv", "--label", "class", "--drop", "some", "--repeats", "3"],
    "compare by pairs": ["compare", "wine.csv", "--pairs", "pairs.csv", "--drop", "class,some"],
}


def printed(X, y):
    """Return hashes of the JSON output of commands, without times."""
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]).assign(
        some=np.where(np.arange(len(y)) % 3 == 0, y.astype(str), ""), **{"class": y}
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        frame.to_csv("wine.csv", index=False)
        frame.to_parquet("wine.parquet")
        ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0).to_csv("pairs.csv")
        for name, command in COMMANDS.items():
            text = io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
                run([*command, "--json"])
            told = json.dumps(without_times(json.loads(text.getvalue())), sort_keys=True)
            found[f"command | {name}"] = hashlib.sha256(told.encode()).hexdigest()[:16]
    return found


def without_times(value):
    if isinstance(value, dict):
        # `call` depends on how this script was started.
        kept = {name for name in value if "second" not in name and name != "call"}
        return {name: without_times(value[name]) for name in kept}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--plain", action="store_true", help="run as if numba were not installed")
    options = parser.parse_args()
    if options.plain:
        sys.modules["numba"] = None
    warnings.simplefilter("ignore")
    X, y = load_wine(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    found = fingerprints() | elsewhere(X, y) | printed(X, y)
    if options.what == "write":
        options.file.write_text(json.dumps(found, indent=1) + "\n")
        return
    before = json.loads(options.file.read_text())
    changed = [key for key in before if found.get(key) != before[key]]
    print(*(f"changed: {key}" for key in changed), sep="\n")
    print(f"{len(before)} compared, {len(changed)} changed")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
