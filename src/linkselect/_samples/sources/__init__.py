"""Samples outside memory: memory maps, Zarr arrays, HDF5, Parquet files and dask arrays."""
