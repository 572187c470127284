"""Write what every selector and clusterer computes to a file, or compare with such a file.

For changes that must not change a number. Before the change:

    python benchmarks/fingerprints.py write before.json

and after it `check before.json`. Every score, order, support and cluster on six data sets, dense
and sparse, is compared to the last bit. `--plain` leaves numba out.
"""

import argparse
import hashlib
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls

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
STORAGES = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sparse.csr_array}


def data_sets():
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    for name, n_features in (("sonar", 60), ("colon", 400)):
        if not (DATA / f"{name}.npz").exists():
            print(f"{name} is left out: it is not in {DATA}", file=sys.stderr)
            continue
        with np.load(DATA / f"{name}.npz") as content:
            yield name, content["X"][:, :n_features].astype(float), content["y"]


def jobs(X, y):
    """Yield every estimator with what it is told."""
    some = np.where(np.random.default_rng(0).random(len(y)) < 0.3, y, -1)
    pairs = ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    small = len(X) < 250
    yield from ((one, {}) for one in [*UNSUPERVISED, *(RECONSTRUCTING if small else [])])
    yield from ((one, {"y": y}) for one in SUPERVISED)
    for one in FROM_PAIRS:
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
        # The large set is there for what is compiled, which needs no second storage.
        storages = ["dense"] if len(X) > 1000 else list(STORAGES)
        for storage in storages:
            for estimator, known in jobs(X, y):
                key = " | ".join([name, storage, " ".join(repr(estimator).split()), *known])
                found[key] = fingerprint(estimator, STORAGES[storage](X), known)
        print(f"{name}: {len(found)} so far", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--plain", action="store_true", help="do as if numba were not installed")
    options = parser.parse_args()
    if options.plain:
        sys.modules["numba"] = None
    warnings.simplefilter("ignore")
    found = fingerprints()
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
