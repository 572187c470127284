"""AnnData objects with generated cells: types, a few informative genes, batches and donors."""

import warnings
from contextlib import contextmanager

import anndata
import numpy as np
import pandas as pd

N_CELLS, N_GENES = 60, 12
TYPES = np.repeat(["B", "T", "NK"], N_CELLS // 3)

# anndata before 0.12.7 uses an option that pandas 3 has removed, and cannot write its strings.
OF_ANNDATA = "ignore:The 'mode.chained_assignment' option"


@contextmanager
def text_as_objects():
    """Make pandas store text as objects, which every version of anndata can write."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = pd.options.future.infer_string
        pd.options.future.infer_string = False
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pd.options.future.infer_string = before


def counts(seed=0):
    rng = np.random.default_rng(seed)
    values = rng.poisson(1, (N_CELLS, N_GENES)).astype(np.float32)
    values[TYPES == "B", 3] += 5
    values[TYPES == "T", 5] += 4
    values[TYPES == "NK", 5] += 1
    return values


def annotated(values=None):
    """Return an AnnData object with types (some unknown), batches and donors in `obs`."""
    values = counts() if values is None else values
    cells = pd.Index([f"c{place}" for place in range(len(TYPES))], dtype=object)
    genes = pd.Index([f"g{place}" for place in range(N_GENES)], dtype=object)
    some = np.where(np.arange(N_CELLS) % 3 == 0, TYPES, None)
    obs = pd.DataFrame(
        {
            "type": pd.Categorical(TYPES.astype(object)),
            "some": pd.Categorical(some),
            "batch": np.tile(np.array(["one", "two"], dtype=object), N_CELLS // 2),
            "donor": np.arange(N_CELLS) // 4,
        },
        index=cells,
    )
    return anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=genes))


@contextmanager
def as_scanpy_needs():
    """Allow warnings that scanpy and anndata cause, and make text writable."""
    with text_as_objects(), warnings.catch_warnings():
        for module in (
            "anndata",
            "scanpy",
            "legacy_api_wrap",
            "umap",
            "pynndescent",
            "numba",
            "tokenize",
        ):
            warnings.filterwarnings("ignore", module=rf"{module}(\.|$)")
        yield
