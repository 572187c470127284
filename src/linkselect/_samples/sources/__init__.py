"""Samples outside memory: memory maps, Zarr arrays, HDF5 and Parquet files, dask arrays."""
