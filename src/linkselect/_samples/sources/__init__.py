"""Samples outside memory: memory maps, Zarr arrays, Parquet files and dask arrays."""

from linkselect._samples.sources.opening import (
    MEMORY_MAP_LIMIT,
    find_stored,
    open_stored,
    select_columns,
)
from linkselect._samples.sources.running import (
    TakenRows,
    map_parts,
    reduce_parts,
    reporting,
)
from linkselect._samples.sources.stored import SLAB_BYTES, WIDE_SAMPLES, Part, Stored

__all__ = [
    "MEMORY_MAP_LIMIT",
    "SLAB_BYTES",
    "WIDE_SAMPLES",
    "Part",
    "Stored",
    "TakenRows",
    "find_stored",
    "map_parts",
    "open_stored",
    "reduce_parts",
    "reporting",
    "select_columns",
]
