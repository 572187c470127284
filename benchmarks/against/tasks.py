"""The tasks: for each method its problem, its sizes and the alternatives."""

from collections.abc import Callable
from dataclasses import dataclass, field

from against import contenders, problems
from against.agreement import (
    same_choice,
    same_neighbors,
    same_order,
    same_ranking,
    same_scores,
)

OURS = "linkselect"


@dataclass(frozen=True)
class Contender:
    """One library's implementation of a task.

    `compare` returns whether its output agrees with ours. If it computes something else, `other`
    describes it. `how` is what makes the outputs comparable, and `ahead` is the reason if it is
    faster. A `limit` is not an alternative but work that every exact method must do. An `own`
    contender is another solver of linkselect. With more samples than `most` it is skipped.
    """

    name: str
    prepare: Callable
    call: str = ""
    compare: Callable | None = None
    other: str = ""
    how: str = ""
    ahead: str = ""
    limit: bool = False
    own: bool = False
    most: int | None = None


@dataclass(frozen=True)
class Task:
    """A method, its sizes in increasing order, and its contenders.

    `repeats` is the number of turns; with 0 the first call counts.
    """

    title: str
    make: Callable
    sizes: tuple
    ours: Callable
    others: tuple
    warm: tuple = (60, 20)
    repeats: int = 5
    contenders: tuple = field(init=False)

    def __post_init__(self):
        contenders = (Contender(OURS, self.ours), *self.others)
        object.__setattr__(self, "contenders", contenders)

    def contender(self, name):
        return next(c for c in self.contenders if c.name == name)


def cross(n_samples, n_features):
    """Return sizes: three numbers of samples with all features, three of features with half."""
    return (
        (n_samples // 4, n_features),
        (n_samples // 2, n_features // 4),
        (n_samples // 2, n_features // 2),
        (n_samples // 2, n_features),
        (n_samples, n_features),
    )


LOOPS = "its graph without self-loops"
TASKS = {
    "laplacian": Task(
        "Laplacian Score, 5 neighbours",
        problems.neighbor_graph,
        cross(5000, 2000),
        contenders.our_laplacian,
        (
            Contender(
                "skfeature-chappers",
                contenders.skfeature_laplacian,
                "lap_score",
                same_order(1e-9, larger_is_better=False),
                how=LOOPS,
            ),
        ),
    ),
    "spectral": Task(
        "SPEC, all eigenvalues but the first, 5 neighbours",
        problems.neighbor_graph,
        cross(600, 160),
        contenders.our_spectral,
        (
            Contender(
                "skfeature-chappers",
                contenders.skfeature_spectral,
                "spec",
                same_scores(1e-9),
                how=f"{LOOPS}; scores compared, because its ranking is reversed",
            ),
        ),
    ),
    "neighbors": Task(
        "5 nearest neighbours",
        problems.mnist,
        cross(20_000, 784),
        contenders.our_neighbors,
        (
            Contender(
                "scikit-learn",
                contenders.sklearn_neighbors,
                "NearestNeighbors",
                same_neighbors(0.999),
                most=10_000,
            ),
            Contender("matrix products alone", contenders.products_alone, limit=True),
        ),
        warm=(500, 49),
    ),
    "relieff": Task(
        "ReliefF, 10 neighbours, 2 classes",
        problems.labelled,
        cross(5000, 2000),
        contenders.our_relieff,
        (
            Contender(
                "fast-select",
                contenders.fast_select_relieff,
                "ReliefF",
                same_scores(1e-4),
                how="after compilation; float32",
                ahead="it uses float32 distances; linkselect decides close ones again in float64",
            ),
        ),
        warm=(1300, 100),
    ),
    "relieff_small": Task(
        "ReliefF, 10 neighbours, 2 classes",
        problems.labelled_units,
        cross(600, 200),
        contenders.our_relieff,
        (
            Contender("skrebate", contenders.skrebate_relieff, "ReliefF", same_scores(1e-9)),
            Contender(
                "skfeature-chappers",
                contenders.skfeature_relieff,
                "reliefF",
                same_scores(1e-9),
                how="features in [0, 1] and two classes, because it does not scale by range or "
                "class share",
            ),
        ),
        warm=(100, 20),
    ),
    "mrmr": Task(
        "mRMR (difference), 50 features, 3 states",
        problems.states,
        cross(2000, 1000),
        contenders.our_mrmr(50),
        (
            Contender(
                "fast-select",
                contenders.fast_select_mrmr(50),
                "mRMR",
                same_choice(ordered=True),
                how="after compilation",
            ),
        ),
        warm=(100, 60),
    ),
    "mrmr_small": Task(
        "mRMR (difference), 10 features, 3 states",
        problems.states_and_values,
        cross(800, 200),
        contenders.our_mrmr(10),
        (
            Contender(
                "mrmr_selection",
                contenders.mrmr_selection(10),
                "mrmr_classif",
                same_choice(ordered=True),
                other="F statistic over mean correlation, no mutual information",
            ),
            Contender(
                "fastcan",
                contenders.fastcan_search(10),
                "FastCan",
                same_choice(ordered=True),
                other="forward selection by canonical correlation",
            ),
            Contender(
                "skfeature-chappers",
                contenders.skfeature_mrmr(10),
                "lcsi",
                same_choice(ordered=True),
                other="subtracts 0.8 times the sum of redundancies, not their mean",
            ),
        ),
    ),
    "fcbf": Task(
        "FCBF, 3 states",
        problems.states_by_uncertainty,
        cross(1000, 400),
        contenders.our_fcbf,
        (
            Contender(
                "skfeature-chappers",
                contenders.skfeature_fcbf,
                "fcbf",
                same_choice(ordered=True),
                how="columns sorted by uncertainty, because it visits them by index",
            ),
        ),
    ),
    "information": Task(
        "Mutual information with the class, 3 states",
        problems.states,
        cross(2000, 1000),
        contenders.our_information,
        (
            Contender(
                "scikit-learn",
                contenders.sklearn_information,
                "mutual_info_classif",
                same_scores(1e-9),
            ),
            Contender(
                "skfeature-chappers", contenders.skfeature_information, "midd", same_scores(1e-9)
            ),
        ),
    ),
    "trace_ratio": Task(
        "Trace ratio, 100 features, 2 classes",
        problems.equal_scatter,
        cross(400, 4000),
        contenders.our_trace_ratio(100),
        (
            Contender(
                "skfeature-chappers",
                contenders.skfeature_trace_ratio(100),
                "trace_ratio",
                same_choice(ordered=True),
                how="features of equal within-class scatter; otherwise its subset is not optimal",
            ),
        ),
        warm=(60, 120),
    ),
    "sfs": Task(
        "Forward selection by 1-NN, 3 features, 5 folds",
        problems.classification,
        cross(240, 40),
        contenders.our_sfs(3),
        (
            Contender(
                "scikit-learn",
                contenders.sklearn_sfs(3),
                "SequentialFeatureSelector",
                same_choice(ordered=False),
            ),
            Contender(
                "mlxtend",
                contenders.mlxtend_sfs(3),
                "SequentialFeatureSelector",
                same_choice(ordered=False),
            ),
        ),
    ),
    "fisher": Task(
        "Fisher Score, 10 classes",
        problems.ten_classes,
        cross(5000, 2000),
        contenders.our_fisher,
        (
            Contender(
                "scikit-learn",
                contenders.sklearn_f_classif,
                "f_classif",
                same_scores(1e-9),
                how="F times a constant",
                ahead="it sums uncentred squares, which saves a pass but loses digits far from 0",
            ),
        ),
    ),
    "fisher_small": Task(
        "Fisher Score, 10 classes",
        problems.ten_classes,
        cross(1000, 400),
        contenders.our_fisher,
        (
            Contender(
                "skfeature-chappers",
                contenders.skfeature_fisher,
                "fisher_score",
                same_order(1e-9, larger_is_better=True),
            ),
        ),
        warm=(120, 20),
    ),
    "variance": Task(
        "Variance",
        problems.scaled,
        cross(10_000, 1000),
        contenders.our_variance,
        (
            Contender(
                "scikit-learn",
                contenders.sklearn_variance,
                "VarianceThreshold",
                same_scores(1e-9),
                ahead="it calls `np.nanvar` once; linkselect copies blocks for weighted sums",
            ),
        ),
    ),
    "sparsity": Task(
        "Sparsity Score",
        problems.faces,
        cross(720, 1024),
        contenders.our_sparsity(),
        (
            Contender(
                "linkselect, exact",
                contenders.our_sparsity(solver="exact"),
                'solver="exact"',
                same_ranking(0.99),
                own=True,
                most=180,
            ),
        ),
        repeats=0,  # once: there is no alternative, and the largest takes a minute or two
    ),
}
