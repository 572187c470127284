"""Measure how often the claims are wrong, on noise and on real data, for docs/calibration.md.

    python benchmarks/calibration.py DATA --minutes 60        # resumes the last run
    python benchmarks/calibration.py DATA --only real,rare_3  # some kinds of tables, or designs
    python benchmarks/calibration.py DATA --only link_selector     # or methods

On noise, the supervision is independent of X, so every claim is false. On real data, half of the
samples are given with pairs or labels, and the truth is measured on the other half. DATA is the
folder of the .npz files that CONTRIBUTING names; without it only noise is used. One line for each
table goes to benchmarks/calibration.jsonl; lines of another version of the code are ignored. Rows
of the page that were not measured again stay.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

# Set before NumPy is imported: every process uses one core.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import beta

from calibration_designs import (
    BY_LABELS,
    CHOSEN_ON,
    COMPARED,
    FAST,
    LABELLED,
    MUST_ONLY,
    N_DRAWS,
    NOISE,
    RANDOM_CHOICES,
    REAL,
    SLOW,
    compared,
    labels_on_noise,
    must_on_noise,
    on_noise,
    on_real,
    random_on_real,
)
from calibration_features import DESIGNS, tested
from linkselect.evaluation import _effort as effort
from pairs_alone_tables import HELD_OUT as AFTERWARDS

ROOT = Path(__file__).parents[1]
LINES = Path(__file__).with_suffix(".jsonl")
PAGE = ROOT / "docs" / "calibration.md"
START, END = "<!-- calibration: start -->", "<!-- calibration: end -->"
JUDGED = (
    "_held_out*",
    "_permutation",
    "_pair_folds",
    "_pair_auc",
    "_effort",
    "_fold_rankings",
    "_measuring",
    "_significance",
    "_feature_p_values",
    "_permuted_scores",
)
N_TABLES, N_SLOW_TABLES = 200, 60
# Slower methods get only some of the designs.
DESIGNS_OF = {
    "lsdf": {*COMPARED, "clustered", "rare_5", "asked_100", "given_and_asked"},
    "constrained_laplacian": {*COMPARED},
    "consensus": {*COMPARED, "rare_5", "200_samples"} - {"labels", "labels_replicates"},
}
# A rate above this is measured again with other seeds, and the new rate replaces it.
DOUBTED, N_AGAIN, FIRST_AGAIN = 0.05, 1000, 10_000


# -- running -----------------------------------------------------------------------------------


def tasks(data):
    """List all tasks, ordered so that all cells grow together."""
    found = []
    for seed in range(N_TABLES):
        found += [
            ("noise", design, method, seed)
            for design in NOISE
            for method in FAST
            if design in DESIGNS_OF.get(method, NOISE)
        ]
        found += [("must", "must_links", method, seed) for method in MUST_ONLY if method != "scgs"]
        of_labels = ("link_selector", "fisher")
        found += [("labels", design, method, seed) for design in LABELLED for method in of_labels]
        found += [("compare", design, "", seed) for design in COMPARED]
        found += [
            ("features", design, method, seed)
            for design, methods in DESIGNS.items()
            for method in methods
            if design.startswith("noise") or seed < N_SLOW_TABLES
        ]
        if seed < N_SLOW_TABLES:
            found += [
                ("noise", design, method, seed) for method in SLOW for design in DESIGNS_OF[method]
            ]
            found += [("must", "must_links", "scgs", seed)]
            found += [("labels", design, "relieff", seed) for design in LABELLED]
        if data is not None and seed < N_DRAWS:
            for name in (*CHOSEN_ON, *AFTERWARDS):
                found += [("random", design, "", seed, name) for design in RANDOM_CHOICES]
                for design in REAL:
                    methods = list(FAST)
                    if design == "20 must-links":
                        methods = list(MUST_ONLY)
                    elif design.endswith("labels per class") and design[0] != "a":
                        methods = list(BY_LABELS)
                    elif seed < 2 and design.startswith("20 + 20"):
                        methods = [*FAST, *SLOW]
                    found += [("real", design, method, seed, name) for method in methods]
    return found


def doubted(done):
    """Yield tasks with other seeds for cells whose claims were wrong more often than allowed."""
    first = {task: found for task, found in done.items() if task[3] < FIRST_AGAIN}
    for kind in ("noise", "must", "labels", "compare"):
        for (design, method), found in cells(first, kind).items():
            wrong = [
                [bool(one.get(claim)) for one in found] for claim in ("chance", "random", "any")
            ]
            if len(found) >= N_SLOW_TABLES and max(map(np.mean, wrong)) > DOUBTED:
                seeds = range(FIRST_AGAIN, FIRST_AGAIN + N_AGAIN)
                yield from ((kind, design, method, seed) for seed in seeds)


def run(task, data):
    kind, design, method, seed, *name = task
    effort.MOST_RESAMPLES = effort.FEWEST_RESAMPLES = 0  # no claim about them is tested here
    does = {
        "noise": on_noise,
        "must": must_on_noise,
        "labels": labels_on_noise,
        "compare": compared,
        "features": tested,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind == "random":
                return task, random_on_real(design, method, seed, name[0], data)
            if kind == "real":
                return task, on_real(design, method, seed, name[0], data)
            return task, does[kind](design, method, seed)
        except ValueError as error:
            return task, {"refused": str(error)[:200]}


def fingerprint():
    """Return a hash of the tested code; its strings are ignored."""
    digest = hashlib.sha256()
    folder = ROOT / "src" / "linkselect" / "evaluation"
    for file in sorted(path for name in JUDGED for path in folder.glob(f"{name}.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()[:12]


def read_lines():
    if not LINES.exists():
        return {}
    state, found = fingerprint(), {}
    for text in LINES.read_text().splitlines():
        line = json.loads(text)
        if line["state"] == state:
            found[tuple(line["task"])] = line["found"]
    return found


def work(data, minutes, jobs, only):
    done = read_lines()
    wanted = [t for t in (*tasks(data), *doubted(done)) if t not in done]
    wanted = [task for task in wanted if not only or {*task[:3]} & {*only}]
    end, state = time.monotonic() + 60 * minutes, fingerprint()
    with ProcessPoolExecutor(jobs) as pool, LINES.open("a") as file:
        waiting = iter(wanted)
        running = {pool.submit(run, task, data) for task in islice(waiting, 2 * jobs)}
        while running:
            ready = {one for one in running if one.done()}
            if not ready:
                time.sleep(0.01)
            for one in ready:
                running.remove(one)
                task, found = one.result()
                file.write(json.dumps({"state": state, "task": task, "found": found}) + "\n")
                file.flush()
                done[tuple(task)] = found
                if time.monotonic() < end:
                    running |= {pool.submit(run, task, data) for task in islice(waiting, 1)}
    return done


# -- the page ----------------------------------------------------------------------------------


def share(values):
    """Return a share as text, with its exact 95 % interval."""
    n, k = len(values), sum(map(bool, values))
    if not n:
        return "-"
    low = 0.0 if k == 0 else beta.ppf(0.025, k, n - k + 1)
    high = 1.0 if k == n else beta.ppf(0.975, k + 1, n - k)
    return f"{100 * k / n:.1f} % [{100 * low:.0f}, {100 * high:.0f}]"


def cells(done, kind):
    found, again = defaultdict(list), defaultdict(list)
    for task, one in sorted(done.items(), key=str):
        if task[0] == kind:
            (again if task[3] >= FIRST_AGAIN else found)[task[1], task[2]].append(one)
    return {**found, **again}


def covered(one, truth):
    return abs(one["value"] - truth) <= 2 * one["error"]


def noise_table(done):
    yield (
        "| design | method | tables | no claim | better than chance | "
        "better than random features | interval contains 0.5 |"
    )
    yield "|---|---|---|---|---|---|---|"
    both = {**cells(done, "noise"), **cells(done, "must")}
    order = {name: place for place, name in enumerate([*NOISE, "must_links"])}
    for (design, method), found in sorted(both.items(), key=lambda item: order[item[0][0]]):
        told = [one for one in found if one.get("value") is not None]
        claims = [bool(one.get("chance")) for one in found]
        beside = [bool(one.get("random")) for one in found]
        silent = sum(one.get("chance") is None for one in found)
        holds = share([covered(one, 0.5) for one in told])
        yield (
            f"| {design} | {method} | {len(found)} | {100 * silent / len(found):.0f} % | "
            f"{share(claims)} | {share(beside)} | {holds} |"
        )


def label_table(done):
    yield (
        "| labels | method | tables | better than chance | better than random features | "
        "chosen number: better than chance | its accuracy | accuracy of the best number |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for (design, method), found in cells(done, "labels").items():
        found = [one for one in found if "refused" not in one]
        values, best = (
            np.mean([one[key] for one in found]) for key in ("chosen_value", "best_value")
        )
        yield (
            f"| {design} | {method} | {len(found)} | {share([one['chance'] for one in found])} | "
            f"{share([one['random'] for one in found])} | "
            f"{share([one['chosen_chance'] for one in found])} | {100 * values:.1f} % | "
            f"{100 * best:.1f} % |"
        )


def compare_table(done):
    yield (
        "| design | tables | compared | any method better than another | "
        "any better than a random choice |"
    )
    yield "|---|---|---|---|---|"
    for (design, _), found in cells(done, "compare").items():
        told = [one for one in found if one.get("any") is not None]
        yield (
            f"| {design} | {len(found)} | {len(told)} | {share([one['any'] for one in told])} | "
            f"{share([one['random'] for one in told])} |"
        )


def feature_table(done):
    yield (
        "| design | method | tables | any irrelevant feature with adjusted p < .05 | "
        "any with q <= .1 | irrelevant features with q <= .1 | relevant ones | "
        "irrelevant share of those found |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for (design, method), found in cells(done, "features").items():
        wrong, right = (np.array([one[key] for one in found]) for key in ("wrong", "right"))
        proportion = wrong / np.maximum(wrong + right, 1)
        relevant = "-" if design.startswith("noise") else f"{right.mean():.1f}"
        yield (
            f"| {design} | {method} | {len(found)} | {share([one['any'] for one in found])} | "
            f"{share(wrong > 0)} | {wrong.mean():.2f} | {relevant} | "
            f"{100 * proportion.mean():.1f} % |"
        )


def real_table(done):
    yield (
        "| design | method | runs | with an interval | bias | covered | covered, held-out sets |"
    )
    yield "|---|---|---|---|---|---|---|"
    for (design, method), found in cells(done, "real").items():
        told = [one for one in found if one.get("value") is not None]
        gaps = [one["value"] - one["truth"] for one in told]
        later = [one for one in told if one["set"] in AFTERWARDS]
        bias = f"{np.mean(gaps):+.3f}" if gaps else "-"
        yield (
            f"| {design} | {method} | {len(found)} | {len(told)} | {bias} | "
            f"{share([covered(one, one['truth']) for one in told])} | "
            f"{share([covered(one, one['truth']) for one in later])} |"
        )


def random_table(done):
    yield "| ranking | runs | better than random features |"
    yield "|---|---|---|"
    for (design, _), found in cells(done, "random").items():
        yield f"| {design} | {len(found)} | {share([one['random'] for one in found])} |"


def power_table(done):
    yield "| method | useful rankings (truth 0.65 or more) | better than chance | no claim |"
    yield "|---|---|---|---|"
    for (design, method), found in cells(done, "real").items():
        if design != "20 + 20 pairs, disjoint":
            continue
        useful = [one for one in found if one.get("truth", 0) >= 0.65]
        silent = sum(one["chance"] is None for one in useful)
        shown = share([one["chance"] for one in useful])
        yield f"| {method} | {len(useful)} | {shown} | {silent} |"


def with_kept_rows(lines, before):
    """Add the page's rows of designs and methods that were not measured now."""
    header = next(line for line in lines if line.startswith("| "))
    width = 2 if header.split("|")[2] == " method " else 1
    rows = {tuple(line.split("|")[1 : 1 + width]): line for line in lines if line.startswith("| ")}
    old = [line for line in before if line.startswith("| ")]
    kept = {tuple(line.split("|")[1 : 1 + width]): line for line in old}
    head = [line for line in lines if line.startswith("|-")]
    first = next(iter(rows))
    designs = dict.fromkeys(key[0] for key in (*kept, *rows) if key != first)
    keys = [key for name in designs for key in {**kept, **rows} if key[0] == name]
    return [rows[first], *head, *({**kept, **rows}[key] for key in keys)]


# Explanation of the columns of each table, which is written below its heading.
LEGENDS = {
    "On noise: pairs": "The last column gives a share of intervals; the other columns give shares "
    "of tables.",
    "On noise: labels": "The first column gives the size (samples x features) or the share of the "
    "smaller class. The last three columns refer to the number of features that `choose_number` "
    "selects.",
    "On noise: comparisons": "Both shares refer to tables in which methods were compared.",
    "Single features": "The columns give the share of tables with a false positive, the mean "
    "number of features with q <= 0.1, and the false discovery rate.",
    "On real data: intervals": "The bias is the mean estimate minus the mean true value; the last "
    "columns give the coverage of the intervals.",
    "On real data: random rankings": "The last column gives the share of runs in which "
    "this claim was made; it is always false.",
    "On real data: power": "All columns refer to useful rankings obtained from 20 + 20 disjoint "
    "pairs.",
}


def write_page(done):
    parts = [
        "## On noise: pairs\n",
        *noise_table(done),
        "\n## On noise: labels\n",
        *label_table(done),
        "\n## On noise: comparisons\n",
        *compare_table(done),
        "\n## Single features\n",
        *feature_table(done),
        "\n## On real data: intervals\n",
        *real_table(done),
        "\n## On real data: random rankings\n",
        *random_table(done),
        "\n## On real data: power\n",
        *power_table(done),
    ]
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    old = {part.split("\n")[0]: part.split("\n") for part in rest.split(END)[0].split("## ")}
    new = {part.split("\n")[0]: part.split("\n") for part in "\n".join(parts).split("## ")[1:]}
    tables = (
        [f"## {title}", "", LEGENDS[title], "", *with_kept_rows(lines, old.get(title, []))]
        for title, lines in new.items()
    )
    table = "\n\n".join("\n".join(lines) for lines in tables)
    PAGE.write_text(f"{before}{START}\n{table}\n{END}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    options = parser.parse_args()
    done = work(options.data, options.minutes, options.jobs, options.only)
    wanted = {*tasks(options.data), *doubted(done)}
    done = {task: found for task, found in done.items() if task in wanted}
    write_page(done)
    print(f"Measured {len(done)} of {len(wanted)} tables and wrote {PAGE.name}.")


if __name__ == "__main__":
    main()
