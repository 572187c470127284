"""Tables 2 to 8 of Salmi, Hammouche & Macaire (2020)."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from linkselect.evaluation import Curve
from linkselect.reproduction._agreement import (
    FEATURES,
    RANK_SUM,
    SECONDS,
    same_winners,
    tolerances_of,
)
from linkselect.reproduction._paper import (
    Cell,
    Claim,
    PaperTable,
    Results,
    Setup,
    Unit,
    grouped,
    units_of,
)
from linkselect.reproduction._papers.similarity_2020.methods import (
    COMPARED,
    CONSTRAINT_SCORES,
    RIGHT_ORDER,
    SEES_MORE,
    WORST_FIRST,
)
from linkselect.reproduction._papers.similarity_2020.problems import (
    SETS,
    SMALL_AND_ORL,
    average_ranks,
    n_kept,
    rank_sums,
)
from linkselect.reproduction._papers.similarity_2020.protocol import (
    curves_of,
    mean_over_kept,
    paths_of,
    semi_supervised_runs,
    setup_of,
    setups_of,
    values_at,
)
from linkselect.reproduction._published import Published, published

NAME = "similarity-constraint-score-2020"
PS = (2, 3, 4)
# Sums over fewer runs are scaled, so that they can be compared with the published ones.
SCALED_SUM = f"{RANK_SUM}, scaled to 100 runs"
# A data set and p. The published ranks are the same in all 100 runs, impossible with random draws.
NOT_COMPARABLE = ("ORL", 4)


def p_of(setting: str) -> int:
    """Return the value of p in a setting such as "rank sum over 100 runs, p=2"."""
    return int(setting[setting.index("p=") + 2])


# -- tables 2 and 5: rank sums ----------------------------------------------------------------


def _rank_sum_cells(number: int, experiment: str, results: Results) -> list[Cell]:
    sums = _rank_sums(experiment, curves_of(results))
    cells = []
    for row in published(NAME, number):
        found = sums.get((row.dataset, p_of(row.setting)))
        if found is not None:
            comparable = (row.dataset, p_of(row.setting)) != NOT_COMPARABLE
            cells.append(row.cell(found[row.method], comparable=comparable))
    return cells


def _rank_sums(
    experiment: str, curves: dict[Setup, Curve]
) -> dict[tuple[str, int], dict[str, float]]:
    """Return the rank sums for each data set and p, scaled to 100 runs."""
    sums = {}
    for dataset in SMALL_AND_ORL:
        data = SETS[dataset]
        m = data.supervised if experiment == "prototypes" else data.semi_supervised
        for p in PS:
            wanted = setups_of(experiment, [dataset], CONSTRAINT_SCORES[experiment], [p])
            if m is not None and all(setup in curves for setup in wanted):
                values = {setup.method: values_at(curves[setup], m) for setup in wanted}
                n_runs = min(map(len, values.values()))
                found = rank_sums({name: runs[:n_runs].tolist() for name, runs in values.items()})
                sums[dataset, p] = {name: 100 / n_runs * value for name, value in found.items()}
    return sums


def _winner_claims(number: int, experiment: str, results: Results) -> list[Claim]:
    rows = same_winners(_rank_sum_cells(number, experiment, results))
    n_held = sum(rows.values())
    found = f"{n_held} of {len(rows)} rows"
    text = "The method with the lowest published rank sum also wins here in at least 80 % of rows"
    return [Claim(text, n_held >= 0.8 * len(rows), found)]


# -- tables 3 and 6: means over r % of the features -------------------------------------------


def _mean_cells(number: int, experiment: str, results: Results) -> list[Cell]:
    means = {
        (setup.dataset, setup.method): float(mean_over_kept(curve, setup.dataset).mean())
        for setup, curve in curves_of(results).items()
        if setup.experiment == experiment and setup.parameters == (("p", 3),)
    }
    ranks = _average_ranks(means, COMPARED[experiment])
    means |= {("Average rank", method): rank for method, rank in ranks.items()}
    cells = [
        row.cell(means[row.dataset, row.method])
        for row in published(NAME, number)
        if (row.dataset, row.method) in means
    ]
    unpublished = [
        Cell(dataset, method, published(NAME, number)[0].setting, "", None, mean)
        for (dataset, method), mean in means.items()
        if method == RIGHT_ORDER
    ]
    return [*cells, *unpublished]


def _average_ranks(means: dict[tuple[str, str], float], methods: Sequence[str]) -> dict[str, float]:
    """Return the average rank of each method over data sets with results of all methods."""
    complete = [name for name in SETS if all((name, method) in means for method in methods)]
    if not complete:
        return {}
    return average_ranks({method: [means[name, method] for name in complete] for method in methods})


def _first_place_claims(number: int, experiment: str, results: Results) -> list[Claim]:
    cells = [
        cell
        for cell in _mean_cells(number, experiment, results)
        if cell.dataset == "Average rank" and cell.published is not None
    ]
    if not cells:
        return []
    first = min(cells, key=lambda cell: cell.published or 0.0).method
    ordered = sorted(cells, key=lambda cell: cell.ours)
    found = ", ".join(f"{cell.method} {cell.ours:.2f}" for cell in ordered)
    claims = [Claim(f"{first} has the best average rank", ordered[0].method == first, found)]
    if experiment == "prototypes":
        filters = [cell.method for cell in ordered if cell.method != "SFS-1NN"]
        text = "eps^S has the best average rank of the filters (SFS-1NN uses all training labels)"
        claims.append(Claim(text, filters[0] == "eps^S", found))
    return claims


# -- table 4: new must-links ------------------------------------------------------------------


def _must_link_cells(results: Results) -> list[Cell]:
    runs = grouped(results)
    cells = []
    for row in published(NAME, 4):
        setup = setup_of("new must-links", row.dataset, "", p_of(row.setting))
        if setup in runs:
            mean = np.mean([result[row.method] for result in runs[setup]])
            cells.append(row.cell(float(mean)))
    return cells


# -- table 7: run times -----------------------------------------------------------------------


def _time_units(n_runs: int) -> list[Unit]:
    # The fastest of three runs is a sufficient estimate of the time that a method needs.
    return units_of(map(_timed, published(NAME, 7)), min(n_runs, 3))


def _timed(row: Published) -> Setup:
    return setup_of("run time", row.dataset, row.method, others=(("m", int(row.n_features)),))


def _time_cells(results: Results) -> list[Cell]:
    runs = grouped(results)
    cells = []
    for row in published(NAME, 7):
        setup = _timed(row)
        if setup in runs:
            cells.append(row.cell(min(result["seconds"] for result in runs[setup])))
    return cells


def _time_claims(results: Results) -> list[Claim]:
    """Check the claim that the similarity scores are always faster than the wrapper SFS-1NN."""
    seconds = {(c.dataset, c.n_features, c.method): c.ours for c in _time_cells(results)}
    claims = []
    for score in ("eps^S", "eps^SS"):
        both = [
            (*key[:2], time, seconds[*key[:2], "SFS-1NN"])
            for key, time in seconds.items()
            if key[2] == score and (*key[:2], "SFS-1NN") in seconds
        ]
        slower = [f"{name} ({m})" for name, m, ours, theirs in both if ours >= theirs]
        found = f"in {len(both) - len(slower)} of {len(both)} cases"
        found += f"; slower (features): {', '.join(slower)}" if slower else ""
        claims.append(Claim(f"{score} is always faster than SFS-1NN", not slower, found))
    return claims


# -- table 8: the selected number of features -------------------------------------------------


def _chosen_units(n_runs: int) -> list[Unit]:
    supervised = units_of(setups_of("prototypes", SETS, ["eps^S"]), n_runs)
    few = semi_supervised_runs(n_runs)
    return [*supervised, *units_of(setups_of("clustering", SETS, ["eps^SS"]), few)]


def _chosen_cells(results: Results) -> list[Cell]:
    """Return cells with accuracies, and separate cells with the numbers of features."""
    curves, paths = curves_of(results), paths_of(results)
    cells = []
    for row in published(NAME, 8):
        experiment = "prototypes" if row.method == "eps^S" else "clustering"
        setup = setup_of(experiment, row.dataset, row.method)
        if setup not in curves:
            continue
        kept = n_kept(SETS[row.dataset].n_features)
        mean = np.interp(np.arange(1, kept + 1), curves[setup].n_features, curves[setup].mean)
        best = mean if row.setting == "best m" else -paths[setup][:kept]
        number = int(best.argmax()) + 1
        cells.append(row.cell(float(mean[number - 1])))
        setting = f"{row.setting}: {FEATURES}"
        cells.append(
            Cell(row.dataset, row.method, setting, "", float(row.n_features), float(number))
        )
    return cells


def _chosen_claims(results: Results) -> list[Claim]:
    cells = [cell for cell in _chosen_cells(results) if cell.setting.startswith("chosen m:")]
    [near] = tolerances_of(FEATURES)
    close: dict[str, list[bool]] = defaultdict(list)
    for cell in cells:
        close[cell.dataset].append(near.agrees(cell))
    both = [name for name, flags in close.items() if all(flags)]
    n_cells = sum(map(sum, close.values()))
    found = f"both scores on {len(both)} of {len(close)} sets, {n_cells} of {len(cells)} numbers"
    text = f"The chosen numbers of features are within {near} on at least 75 % of data sets"
    return [Claim(text, len(both) >= 0.75 * len(close), found)]


# -- all tables -------------------------------------------------------------------------------


def _units(
    setups: Sequence[Setup], limit: Callable[[int], int] = int
) -> Callable[[int], Sequence[Unit]]:
    return lambda n_runs: units_of(setups, limit(n_runs))


TABLES = {
    2: PaperTable(
        2,
        "Rank sums of supervised constraint scores",
        _units(setups_of("prototypes", SMALL_AND_ORL, CONSTRAINT_SCORES["prototypes"], PS)),
        partial(_rank_sum_cells, 2, "prototypes"),
        SCALED_SUM,
        partial(_winner_claims, 2, "prototypes"),
    ),
    3: PaperTable(
        3,
        "Mean accuracy with up to r % of the features, supervised",
        _units(setups_of("prototypes", SETS, COMPARED["prototypes"])),
        partial(_mean_cells, 3, "prototypes"),
        claims=partial(_first_place_claims, 3, "prototypes"),
        marks=SEES_MORE,
    ),
    4: PaperTable(
        4,
        "New must-links, and the share of correct ones",
        _units(setups_of("new must-links", SMALL_AND_ORL, [""], PS)),
        _must_link_cells,
        "count, ratio or share",
    ),
    5: PaperTable(
        5,
        "Rank sums of semi-supervised constraint scores",
        _units(
            setups_of("clustering", SMALL_AND_ORL, CONSTRAINT_SCORES["clustering"], PS),
            semi_supervised_runs,
        ),
        partial(_rank_sum_cells, 5, "clustering"),
        SCALED_SUM,
        partial(_winner_claims, 5, "clustering"),
    ),
    6: PaperTable(
        6,
        "Mean accuracy with up to r % of the features, semi-supervised",
        _units(
            setups_of("clustering", SETS, [*COMPARED["clustering"], RIGHT_ORDER]),
            semi_supervised_runs,
        ),
        partial(_mean_cells, 6, "clustering"),
        claims=partial(_first_place_claims, 6, "clustering"),
        marks=WORST_FIRST,
    ),
    7: PaperTable(
        7,
        "Run times, measured on different machines",
        _time_units,
        _time_cells,
        SECONDS,
        _time_claims,
        SEES_MORE,
    ),
    8: PaperTable(
        8,
        "Best and chosen numbers of features",
        _chosen_units,
        _chosen_cells,
        "accuracy, %, or number of features",
        _chosen_claims,
    ),
}
