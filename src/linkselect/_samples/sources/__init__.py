"""Readers of samples outside memory: memory maps, Zarr arrays, HDF5, Parquet, dask arrays."""
