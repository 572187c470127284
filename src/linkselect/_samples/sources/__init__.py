"""Samples outside memory: memory maps, Zarr arrays, HDF5, Parquet files and dask arrays."""

from linkselect._samples.sources.opening import MEMORY_MAP_LIMIT as MEMORY_MAP_LIMIT
from linkselect._samples.sources.opening import find_stored as find_stored
from linkselect._samples.sources.opening import open_stored as open_stored
from linkselect._samples.sources.opening import select_columns as select_columns
from linkselect._samples.sources.running import TakenRows as TakenRows
from linkselect._samples.sources.running import map_parts as map_parts
from linkselect._samples.sources.running import reduce_parts as reduce_parts
from linkselect._samples.sources.running import reporting as reporting
from linkselect._samples.sources.stored import SLAB_BYTES as SLAB_BYTES
from linkselect._samples.sources.stored import WIDE_SAMPLES as WIDE_SAMPLES
from linkselect._samples.sources.stored import Part as Part
from linkselect._samples.sources.stored import Stored as Stored
