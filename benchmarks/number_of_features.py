"""Measure what the rules for the number of features cost, for docs/number_of_features.md.

    python benchmarks/number_of_features.py DATA                 # all sets; about 20 minutes
    python benchmarks/number_of_features.py DATA --splits 5 --only colon,sonar
    python benchmarks/number_of_features.py DATA --part pairs    # or labels, or nothing
    python benchmarks/number_of_features.py DATA --methods LinkSelector --write  # into the page

DATA is the folder of the .npz files that CONTRIBUTING names. Half of the samples (at most 400)
rank the features, scaled to [0, 1] by that half, and choose the number; 1-NN with the labels of the
same half is tested on the other half. The rules were chosen on the first sets; the others were held
out. Searches take as many steps as the largest fixed number needs.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

import linkselect as ls
import measured_pages
from linkselect.evaluation import choose_number, nearest_neighbor_curve
from linkselect.evaluation._number_of_features import number_without_labels

PAGE = Path(__file__).parents[1] / "docs" / "number_of_features.md"
CHOSEN_ON = (
    "sonar",
    "dermatology",
    "colon",
    "warp_pie10p",
    "multiple_features",
    "cnae_9",
    "ionosphere",
    "libras_movement",
    "allaml",
    "prostate_ge",
    "yale_32x32",
    "isolet_1560",
)
HELD_OUT = (
    "orl_32x32",
    "madelon",
    "usps",
    "olivetti_64x64",
    "steel_plates_faults",
    "prostate_singh_train",
)
MOST_SAMPLES = 800
N_PAIRS = 20
# Fixed numbers to compare with the rule: half of the features, but at most this many.
CAPS = (50, 100, 200, 300, 500, 1000)

PARTS = {
    "labels": [ls.LinkSelector(), ls.FisherScore(), ls.ReliefF()],
    "some labels": [ls.SCGS()],
    "pairs": [ls.LinkSelector(), ls.ConsensusSelector(random_state=0), ls.LSDF()],
    "nothing": [ls.LinkSelector(), ls.LaplacianScore(), ls.VarianceScore()],
}


@dataclass(frozen=True)
class Split:
    """Samples of one half and of the other, scaled by the first."""

    train: np.ndarray
    y_train: np.ndarray
    test: np.ndarray
    y_test: np.ndarray


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder / f"{name}.npz") as stored:
        X, y = stored["X"].astype(float), stored["y"]
    X = SimpleImputer(strategy="median").fit_transform(X)
    return X[:, X.std(axis=0) > 0], y


def split(X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    rows = np.random.RandomState(seed).permutation(len(y))[:MOST_SAMPLES]
    train, test = train_test_split(rows, test_size=0.5, random_state=seed, stratify=y[rows])
    scaler = MinMaxScaler().fit(X[train])
    return Split(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def known(part: str, y: np.ndarray, seed: int) -> dict[str, object]:
    """Return the supervision from the training half."""
    if part == "labels":
        return {"y": y}
    if part == "some labels":
        random = np.random.RandomState(seed)
        few = np.full(len(y), -1)
        for label in np.unique(y):
            places = random.permutation(np.flatnonzero(y == label))
            few[places[: max(2, (len(places) + 1) // 2)]] = label
        return {"y": few}
    if part == "pairs":
        drawn = ls.Pairs.from_labels(y, n_must=N_PAIRS, n_cannot=N_PAIRS, random_state=seed)
        return {"pairs": drawn}
    return {}


def measure(selector, part: str, data: Split, seed: int) -> dict[str, float]:
    """Return accuracies relative to half of the features, in points, and the rule's number."""
    given = known(part, data.y_train, seed)
    fitted = selector.fit(data.train, **given)
    n_features = data.train.shape[1]
    half = max(1, n_features // 2)
    searches = isinstance(selector, ls.LinkSelector)
    number = choose_number(fitted, data.train, **given) if "y" in given or searches else None
    kept = number_without_labels(n_features) if number is None else number.n_features
    if searches:  # it stops at its own number, before the fixed numbers
        steps = max(kept, min(half, CAPS[-1]))
        fitted = clone(selector).set_params(n_features_to_select=steps).fit(data.train, **given)
    labelled = np.asarray(given.get("y", data.y_train)) >= 0
    counts = np.unique([kept, half, n_features, *(min(half, cap) for cap in CAPS)])
    curve = nearest_neighbor_curve(
        data.train[labelled],
        data.y_train[labelled],
        data.test,
        data.y_test,
        fitted.order_,
        counts,
    )
    accuracy = dict(zip(counts.tolist(), 100 * curve, strict=True))
    found = {"half": accuracy[half], "n": kept, "share": kept / n_features}
    found["rule"] = accuracy[kept] - accuracy[half]
    found["all"] = accuracy[n_features] - accuracy[half]
    found |= {f"{cap:,}": accuracy[min(half, cap)] - accuracy[half] for cap in CAPS}
    found["optimism"] = np.nan
    if number is not None and number.curve is not None:
        held_out = number.curve.mean[number.curve.n_features == kept][0]
        found["optimism"] = 100 * held_out - accuracy[kept]
    return found


def points(difference: float) -> str:
    return "-" if np.isnan(difference) else f"{difference:+.1f}"


def table(part: str, selector, folder: Path, names: list[str], n_splits: int) -> list[str]:
    """Return the rows of a table, and print each as soon as it is measured."""
    columns = ["rule", *(f"{cap:,}" for cap in CAPS), "all"]
    columns += ["optimism"] if part.endswith("labels") else []
    lines = []

    def add(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    add(f"| set | half, % | kept | {' | '.join(columns)} |")
    add("|---" * (3 + len(columns)) + "|")
    for title, group in (("chosen on", CHOSEN_ON), ("held out", HELD_OUT)):
        rows = []
        for one in (one for one in group if one in names):
            X, y = load(folder, one)
            found = [measure(selector, part, split(X, y, i), i) for i in range(n_splits)]
            mean = {key: float(np.nanmean([run[key] for run in found])) for key in found[0]}
            rows.append(mean)
            kept = f"{np.median([run['n'] for run in found]):.0f} / {X.shape[1]:,}"
            values = " | ".join(points(mean[key]) for key in columns)
            add(f"| {one} | {mean['half']:.1f} | {kept} | {values} |")
        if rows:
            mean = {key: float(np.nanmean([row[key] for row in rows])) for key in rows[0]}
            values = " | ".join(points(mean[key]) for key in columns)
            add(f"| **{title}** | {mean['half']:.1f} | {mean['share']:.0%} | {values} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", default=",".join(CHOSEN_ON + HELD_OUT))
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--methods", help="names of classes, separated by commas")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in PARTS if options.part is None else [options.part]:
        for selector in PARTS[part]:
            name = type(selector).__name__
            if options.methods and name not in options.methods.split(","):
                continue
            source = "Without supervision" if part == "nothing" else f"From {part}"
            print(f"\n### {source}: {name}\n")
            lines = table(part, selector, options.data, options.only.split(","), options.splits)
            if options.write:
                page = PAGE.read_text(encoding="utf-8")
                PAGE.write_text(measured_pages.put(page, f"{part} {name}", lines), encoding="utf-8")


if __name__ == "__main__":
    main()
