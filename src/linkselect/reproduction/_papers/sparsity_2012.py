"""Liu, Sun & Zhang (2012). Sparsity Score: a new filter method based on l1 graph.

Table 2 contains the highest accuracies of an RBF-SVM, and figure 1 shows its accuracy curves. The
paper states that 10-fold cross-validation was repeated ten times. It does not state how features
were scaled, which parameters the SVM had, or whether features were ranked within the folds. Here,
features are scaled to [0, 1] over all samples, missing values are replaced by medians, and the SVM
has scikit-learn's default parameters: C = 1 and a kernel width that depends on the variance. With
LIBSVM's default width, 1 / number of features, the kernel is so flat that the SVM predicts the
larger class for all samples of Colon Cancer. Methods that use labels rank the features on the
training rows of each fold. The other methods rank them once, on all rows.

On the small data sets, the highest accuracy is taken over all numbers of features, because in the
paper, Fisher Score and Fisher-Markov are most accurate with all 13 features of Wine. On the two
gene expression sets, the highest accuracy is taken over at most 400 features, where the curves in
the paper end. Consequently, no method can select all features.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect.evaluation import Curve
from linkselect.reproduction._classifiers import cross_validated_curve, rbf_svm_curve
from linkselect.reproduction._datasets import load_dataset
from linkselect.reproduction._paper import (
    Cell,
    Claim,
    Figure,
    Panel,
    Paper,
    PaperTable,
    Results,
    Setup,
    Unit,
    curve_of,
    grouped,
    mean_line,
    units_of,
)
from linkselect.reproduction._published import published
from linkselect.reproduction._scaling import fill_missing, scale_to_unit
from linkselect.selectors import (
    FisherMarkov,
    FisherScore,
    LaplacianScore,
    SparsityScore,
    VarianceScore,
)

NAME = "sparsity-score-2012"
DATASETS = (
    "Wine",
    "Hepatitis",
    "Ionosphere",
    "Steel Plate Faults",
    "Colon Cancer",
    "Prostate Cancer",
)
UNSUPERVISED: Mapping[str, Callable[[], Any]] = {
    "Sparsity Score": lambda: SparsityScore(solver="exact"),
    "Variance": VarianceScore,
    "Laplacian Score": LaplacianScore,
}
SUPERVISED: Mapping[str, Callable[[], Any]] = {
    "Fisher Score": FisherScore,
    "Fisher-Markov": FisherMarkov,
}
METHODS = (*UNSUPERVISED, *SUPERVISED)
ALL_FEATURES = "All features"
N_FOLDS = 10
MANY_FEATURES = 60
COUNTS_OF_MANY = (1, 2, 5, *range(10, 401, 10))
SVM: dict[str, Any] = {"C": 1.0, "gamma": "scale"}
SVM_CURVE = partial(rbf_svm_curve, **SVM)

# Everything besides the unit that affects the results of `compute`. Change it with the code.
PROTOCOL = {
    "folds": N_FOLDS,
    "SVM": SVM,
    "features": "[0, 1] over all rows, missing values by the median, constants removed",
    "ranked": {"all rows": tuple(UNSUPERVISED), "training rows of a fold": tuple(SUPERVISED)},
    "many features": MANY_FEATURES,
    "counts of many features": COUNTS_OF_MANY,
    "counts of few features": "1, 2, ... all",
}


def units(runs: int) -> list[Unit]:
    """Return a unit for each data set, method and repetition of the cross-validation."""
    methods = (*METHODS, ALL_FEATURES)
    return units_of([Setup("svm", name, method) for name in DATASETS for method in methods], runs)


def compute(unit: Unit, data_dir: Path | None) -> dict[str, Any]:
    """Compute the accuracy curve of one method on one data set in one cross-validation."""
    X, y = _prepared(unit.dataset, data_dir)
    counts = [X.shape[1]] if unit.method == ALL_FEATURES else _counts(X.shape[1])

    def rank(train: NDArray[Any], y_train: NDArray[Any]) -> NDArray[Any]:
        if unit.method in SUPERVISED:
            return SUPERVISED[unit.method]().fit(train, y_train).order_
        if unit.method in UNSUPERVISED:
            return _order_of_all_rows(unit.dataset, unit.method, data_dir)
        return np.arange(train.shape[1])

    curve = cross_validated_curve(
        X, y, rank, SVM_CURVE, counts, N_FOLDS, unit.random(), prepare=lambda X, train: X
    )
    return {"n_features": counts, "accuracy": curve.tolist()}


@lru_cache(maxsize=len(DATASETS))
def _prepared(dataset: str, data_dir: Path | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return an imputed and scaled data set without constant features (33 for Ionosphere)."""
    data = load_dataset(dataset, data_dir)
    X = fill_missing(data.X, np.arange(len(data.y)))
    return scale_to_unit(X[:, np.ptp(X, axis=0) > 0]), data.y


def _counts(n_features: int) -> list[int]:
    """Return the numbers of features to evaluate: all, or a grid up to 400."""
    return list(range(1, n_features + 1) if n_features <= MANY_FEATURES else COUNTS_OF_MANY)


@lru_cache(maxsize=len(DATASETS) * len(UNSUPERVISED))
def _order_of_all_rows(dataset: str, method: str, data_dir: Path | None) -> NDArray[Any]:
    # Cached: it is the same for all folds and runs, and the Sparsity Score takes up to 20 seconds.
    X, _ = _prepared(dataset, data_dir)
    return UNSUPERVISED[method]().fit(X).order_


def _curves(results: Results) -> dict[tuple[str, str], Curve]:
    """Return the accuracy curve for each data set and method, in per cent."""
    found = {setup: curve_of(runs) for setup, runs in grouped(results).items()}
    return {
        (setup.dataset, setup.method): Curve(shares.n_features, 100 * shares.values)
        for setup, shares in found.items()
    }


def cells(results: Results) -> list[Cell]:
    """Return table cells with the highest mean accuracy for each data set and method."""
    curves = _curves(results)
    return [
        row.cell(float(curves[row.dataset, row.method].mean.max()))
        for row in published(NAME, 2)
        if (row.dataset, row.method) in curves
    ]


def panels(results: Results) -> list[Panel]:
    """Return one panel for each data set, with the accuracy curves of all methods."""
    curves = _curves(results)
    return [
        Panel(
            dataset,
            "number of features",
            "accuracy, %",
            {
                method: mean_line(curves[dataset, method])
                for method in METHODS
                if (dataset, method) in curves
            },
        )
        for dataset in DATASETS
        if any((dataset, method) in curves for method in METHODS)
    ]


def table_claims(results: Results) -> list[Claim]:
    """Check the claims of the paper about the highest accuracies."""
    best = {name: float(curve.mean.max()) for name, curve in _curves(results).items()}
    datasets = [name for name in DATASETS if (name, "Sparsity Score") in best]

    def ahead_of(other: str) -> list[str]:
        return [d for d in datasets if best[d, "Sparsity Score"] > best[d, other]]

    claims = [
        _counted("SS is more accurate than LS", ahead_of("Laplacian Score"), datasets),
        _counted("SS is more accurate than LFS", ahead_of("Fisher-Markov"), datasets),
    ]
    for other, short in (("Fisher Score", "FS"), ("Variance", "Var")):
        ahead = ahead_of(other)
        claims.append(
            Claim(
                f"SS is more accurate than {short} in most cases",
                2 * len(ahead) > len(datasets),
                _named(ahead, datasets),
            )
        )
    for dataset in ("Wine", "Prostate Cancer"):
        if dataset in datasets:
            others = max(METHODS[1:], key=lambda method: best[dataset, method])
            ours, theirs = best[dataset, METHODS[0]], best[dataset, others]
            text = f"SS has the highest accuracy on {dataset}"
            claims.append(Claim(text, ours > theirs, f"SS {ours:.2f} %, {others} {theirs:.2f} %"))
    return claims


def figure_claims(results: Results) -> list[Claim]:
    """Check the claims of the paper about the accuracy curves."""
    curves = _curves(results)
    datasets = [name for name in DATASETS if (name, "Sparsity Score") in curves]
    few, wide = [], []
    for dataset in datasets:
        means = np.array([curves[dataset, method].mean for method in METHODS])
        first_fifth = max(1, means.shape[1] // 5)
        first = means[:, :first_fifth].mean(axis=1)
        if first[0] > first[1:].max():
            few.append(dataset)
        if (means[0] > means[1:].max(axis=0)).mean() > 0.5:
            wide.append(dataset)
    claims = [
        Claim(
            "With few features (the first fifth of the curve), SS is the most accurate method in "
            "most cases",
            2 * len(few) > len(datasets),
            _named(few, datasets),
        )
    ]
    genes = [name for name in datasets if name in DATASETS[-2:]]
    if genes:
        leading = [name for name in genes if name in wide]
        text = "On Colon and Prostate Cancer, SS is the most accurate method over most of the curve"
        claims.append(_counted(text, leading, genes))
    return claims


def _counted(text: str, sets: Sequence[str], all_sets: Sequence[str]) -> Claim:
    return Claim(text, len(sets) == len(all_sets), _named(sets, all_sets))


def _named(sets: Sequence[str], all_sets: Sequence[str]) -> str:
    names = f": {', '.join(sets)}" if sets else ""
    return f"on {len(sets)} of {len(all_sets)} sets{names}"


PAPER = Paper(
    name=NAME,
    title="Sparsity Score: a new filter feature selection method based on l1 graph (2012)",
    compute=compute,
    tables={
        2: PaperTable(
            2, "Highest accuracy over all numbers of features", units, cells, claims=table_claims
        )
    },
    figures={1: Figure(1, "Accuracy by number of features", units, panels, claims=figure_claims)},
    default_runs=10,
    protocol=PROTOCOL,
)
