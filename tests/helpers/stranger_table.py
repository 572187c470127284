"""A typical unprepared table: ids, text, dates, yes and no, gaps, and labels for some rows."""

import csv

import numpy as np

SHIFT = 1.2
N_INFORMATIVE = 15


def make_stranger(n_rows=200, n_genes=3000, seed=0, labelled=0.5, missing=0.01, one_sided=False):
    """Return the header, the rows as text, and the names of the informative genes.

    Two classes; the informative genes of one are shifted by 1.2 standard deviations, half of them
    up and half down, or all of them up. Each gene has its own scale.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_genes))
    y = rng.permutation(np.arange(n_rows) % 2)
    informative = np.sort(rng.choice(n_genes, N_INFORMATIVE, replace=False))
    direction = np.where(np.arange(N_INFORMATIVE) % 2, 1.0, -1.0)
    if one_sided:
        direction[:] = 1.0
    X[:, informative] += SHIFT * direction * y[:, None]
    X = X * rng.lognormal(sigma=1.0, size=n_genes) + rng.normal(scale=5, size=n_genes)
    cells = np.char.mod("%.5g", X).astype(object)
    cells[rng.random(X.shape) < missing] = "NA"
    known = np.zeros(n_rows, dtype=bool)
    known[rng.permutation(n_rows)[: round(labelled * n_rows)]] = True
    names = [f"GENE{i:04d}" for i in range(n_genes)]
    header = ["patient", "sex", "hospital", "admitted", "smoker", "age", "comment"]
    header += [*names, "empty", "batch", "class"]
    rows = []
    for i in range(n_rows):
        about = [
            f"TCGA-{i:04d}",
            "female" if rng.random() < 0.5 else "male",
            str(rng.choice(["Lille", "Calais", "Arras", ""])),
            f"20{rng.integers(10, 24)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
            str(rng.choice(["True", "False"])),
            "?" if rng.random() < 0.05 else str(rng.integers(20, 90)),
            f"seen by doctor {i}, twice",
        ]
        label = ("tumour", "normal")[y[i]] if known[i] else str(rng.choice(["", "NA"]))
        rows.append([*about, *cells[i], "", "1", label])
    return header, rows, [names[i] for i in informative]


def write_stranger(folder, **how):
    """Write the table as CSV; return the file and the names of the informative genes."""
    header, rows, informative = make_stranger(**how)
    path = folder / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path, informative
