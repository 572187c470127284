"""Generate the data of the recipes: genes, cells, sensor runs and pictures."""

from importlib.util import find_spec
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
from PIL import Image
from scipy.sparse import csr_array

SEED = 7
INFORMATIVE = 12


def make_recipe_data(folder):
    """Write all data into a folder."""
    folder = Path(folder)
    make_gene_study(folder)
    make_cells(folder)
    make_sensor_runs(folder)
    make_pictures(folder / "photos")


def make_gene_study(folder, n_genes=600, n_patients=24, n_batches=3, n_diagnosed=10):
    """Write genes.csv (genes in rows) and samples.csv.

    Each patient has a sample in every batch, and every batch shifts all genes. Half of the patients
    are ill, and only some of them are diagnosed. The first genes differ between ill and healthy.
    """
    rng = np.random.default_rng(SEED)
    patient = np.repeat(np.arange(n_patients), n_batches)
    batch = np.tile(np.arange(n_batches), n_patients)
    ill = patient % 2 == 1
    values = rng.normal(size=(len(patient), n_genes))
    values += rng.normal(scale=0.5, size=(n_batches, n_genes))[batch]
    values[:, :INFORMATIVE] += 2.0 * ill[:, None]
    values = np.round(values + 8, 3)
    values[rng.random(values.shape) < 0.002] = np.nan
    samples = [f"S{number:03d}" for number in range(len(patient))]
    genes = [f"G{number:04d}" for number in range(n_genes)]
    genes[-1] = genes[20]  # two probes with the same symbol
    table = pd.DataFrame(values.T, index=pd.Index(genes, name="gene"), columns=samples)
    table.to_csv(folder / "genes.csv")
    diagnosis = np.where(ill, "ill", "healthy")
    about = pd.DataFrame(
        {
            "sample": samples,
            "patient": [f"P{number:02d}" for number in patient],
            "batch": [f"plate{number + 1}" for number in batch],
            "disease": np.where(patient < n_diagnosed, diagnosis, None),
        }
    )
    about.iloc[::-1].to_csv(folder / "samples.csv", index=False)


def make_cells(folder, n_labelled=8):
    """Write cells.h5ad: the blood cells shipped with scanpy, with a few labels per cell type."""
    scanpy = Path(next(iter(find_spec("scanpy").submodule_search_locations)))
    text = h5py.string_dtype()
    with (
        h5py.File(scanpy / "datasets" / "10x_pbmc68k_reduced.h5ad") as shipped,
        h5py.File(folder / "cells.h5ad", "w") as file,
    ):
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        raw = shipped["raw.X"]
        log = csr_array(
            (raw["data"][:], raw["indices"][:], raw["indptr"][:]), shape=shipped["X"].shape
        )
        for name, values in {"X": shipped["X"][:], "layers/log": log.toarray()}.items():
            file[name] = values
            file[name].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        types = shipped["obs"]["bulk_labels"]
        counts = pd.Series(types).groupby(types).cumcount()
        columns = {"few": np.where(counts < n_labelled, types, -1).astype(np.int8)}
        for axis, named in (("obs", columns), ("var", {})):
            frame = file.create_group(axis)
            frame["_index"] = [name.decode() for name in shipped[axis]["index"]]
            frame["_index"].attrs.update(
                {"encoding-type": "string-array", "encoding-version": "0.2.0"}
            )
            frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0"})
            frame.attrs.update({"_index": "_index", "column-order": np.array(list(named), text)})
            for name, codes in named.items():
                frame[f"{name}/codes"] = codes
                frame[f"{name}/categories"] = shipped["uns/bulk_labels_categories"][:].astype(text)
                kind = {"encoding-type": "categorical", "encoding-version": "0.2.0"}
                frame[name].attrs.update(kind | {"ordered": False})
                for part, encoding in (("codes", "array"), ("categories", "string-array")):
                    frame[f"{name}/{part}"].attrs.update(
                        {"encoding-type": encoding, "encoding-version": "0.2.0"}
                    )


def make_sensor_runs(folder, n_runs=240, n_sensors=40):
    """Write runs.parquet: sensor values of several machines, and the state of some runs."""
    rng = np.random.default_rng(SEED)
    machine = np.arange(n_runs) % 12
    fault = rng.random(n_runs) < 0.4
    values = rng.normal(size=(n_runs, n_sensors)) + rng.normal(size=(12, n_sensors))[machine]
    values[:, :4] += 1.8 * fault[:, None]
    table = pd.DataFrame(values, columns=[f"sensor_{number:02d}" for number in range(n_sensors)])
    table.insert(0, "run", [f"run-{number:04d}" for number in range(n_runs)])
    table.insert(1, "machine", [f"M{number:02d}" for number in machine])
    state = np.where(fault, "fault", "ok")
    # Every machine has the same number of labelled runs, so that machines can be permuted.
    table["state"] = np.where(np.arange(n_runs) // 12 % 2 == 0, state, None)
    table.to_parquet(folder / "runs.parquet", index=False)


def make_pictures(folder, n_pictures=36, side=48):
    """Write pictures with a bright spot in the upper or the lower half."""
    folder.mkdir()
    rng = np.random.default_rng(SEED)
    across = np.arange(side)
    for number in range(n_pictures):
        row = side // 4 + (side // 2) * (number % 2) + rng.integers(-4, 5)
        column = rng.integers(side // 4, 3 * side // 4)
        spot = np.exp(-((across[:, None] - row) ** 2 + (across - column) ** 2) / 60.0)
        noise = rng.normal(scale=12, size=(side, side))
        values = np.clip(60 + 150 * spot + noise, 0, 255).astype(np.uint8)
        Image.fromarray(values).save(folder / f"photo {number:02d}.png")
