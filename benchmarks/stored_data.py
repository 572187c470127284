"""Write the files that stored.py measures, block by block.

Every block has its own seed, so files of several kinds and an array in memory have the same values,
and a smaller table is the beginning of a larger one.
"""

import numpy as np

N_CLASSES = 4
RANK = 20
# Rows of a row group or chunk of tall data, columns of wide data that are drawn at a time.
BLOCK = 25_000
WIDE_BLOCK = 20_000
# Columns of a chunk of wide data: 20 MB. Larger chunks request new memory from the system each
# time, which nearly doubles the cost of reading.
WIDE_CHUNK = 10_000


def tall_blocks(n_rows, n_columns):
    """Yield (rows, values, classes): noise and a structure of rank 20 that depends on classes."""
    factors = np.random.default_rng(1).standard_normal((RANK, n_columns), dtype=np.float32)
    factors *= np.linspace(0, 1, n_columns, dtype=np.float32) ** 2
    centres = np.random.default_rng(2).standard_normal((N_CLASSES, RANK), dtype=np.float32)
    for number, start in enumerate(range(0, n_rows, BLOCK)):
        rng = np.random.default_rng([3, number])
        classes = rng.integers(0, N_CLASSES, BLOCK)
        hidden = rng.standard_normal((BLOCK, RANK), dtype=np.float32) + centres[classes]
        values = hidden @ factors
        values += rng.standard_normal((BLOCK, n_columns), dtype=np.float32)
        rows = slice(start, min(start + BLOCK, n_rows))
        n_here = rows.stop - start
        yield rows, values[:n_here], classes[:n_here]


def tall_classes(n_rows):
    """Return the class of every row."""
    blocks = range(0, n_rows, BLOCK)
    drawn = [
        np.random.default_rng([3, number]).integers(0, N_CLASSES, BLOCK)
        for number in range(len(blocks))
    ]
    return np.concatenate(drawn)[:n_rows]


def tall_in_memory(n_rows, n_columns):
    """Return the same values as an array."""
    X = np.empty((n_rows, n_columns), np.float32)
    for rows, values, _ in tall_blocks(n_rows, n_columns):
        X[rows] = values
    return X


def write_parquet(path, n_rows, n_columns, group_rows=BLOCK):
    """Write tall data; a row group may have more rows than a block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"f{column}" for column in range(n_columns)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    held = []
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for rows, values, _ in tall_blocks(n_rows, n_columns):
            held.append(pa.Table.from_arrays([*np.ascontiguousarray(values.T)], schema=schema))
            if rows.stop % group_rows == 0 or rows.stop == n_rows:
                writer.write_table(pa.concat_tables(held), row_group_size=group_rows)
                held = []


def write_zarr(path, n_rows, n_columns):
    """Write tall data in chunks of whole rows."""
    import zarr

    array = zarr.create_array(
        path, shape=(n_rows, n_columns), chunks=(min(BLOCK, n_rows), n_columns), dtype="f4"
    )
    for rows, values, _ in tall_blocks(n_rows, n_columns):
        array[rows] = values


def wide_classes(n_rows):
    """Return the class of every row of wide data."""
    return np.random.default_rng(4).integers(0, N_CLASSES, n_rows)


def wide_blocks(n_rows, n_columns):
    """Yield (columns, values) of wide data, in which every tenth column depends on the class."""
    classes = wide_classes(n_rows)
    for number, start in enumerate(range(0, n_columns, WIDE_BLOCK)):
        rng = np.random.default_rng([5, number])
        columns = slice(start, min(start + WIDE_BLOCK, n_columns))
        values = rng.standard_normal((n_rows, columns.stop - start), dtype=np.float32)
        values[:, ::10] += rng.random(dtype=np.float32) * classes[:, None].astype(np.float32)
        yield columns, values


def write_wide(folder, n_rows, n_columns):
    """Write wide data as a .npy file and as a Zarr array of columns."""
    import zarr

    map_ = np.lib.format.open_memmap(folder / "wide.npy", "w+", np.float32, (n_rows, n_columns))
    chunks = (n_rows, min(WIDE_CHUNK, n_columns))
    array = zarr.create_array(
        folder / "wide.zarr", shape=(n_rows, n_columns), chunks=chunks, dtype="f4"
    )
    for columns, values in wide_blocks(n_rows, n_columns):
        map_[:, columns] = values
        array[:, columns] = values
    map_.flush()


def write_awkward(path, n_rows, missing_row=None):
    """Write columns of many types: nullable, dictionary, half floats, booleans, decimals."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    half = np.float16
    writer = None
    for start in range(0, n_rows, BLOCK):
        rng = np.random.default_rng([6, start])
        n_here = min(BLOCK, n_rows - start)
        floats = rng.standard_normal(n_here)
        if missing_row is not None and start <= missing_row < start + n_here:
            floats[missing_row - start] = np.nan
        counts = rng.integers(0, 100, n_here)
        table = pa.table(
            {
                "float": floats,
                "half": rng.standard_normal(n_here).astype(half),
                "nullable": pa.array(counts, pa.int64()),
                "dictionary": pa.array(rng.integers(0, 7, n_here)).dictionary_encode(),
                "flag": counts > 50,
                "small": counts.astype(np.uint8),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def write_narrow(path, n_rows):
    """Write four columns of float64 with repeated rows."""
    map_ = np.lib.format.open_memmap(path, "w+", np.float64, (n_rows, 4))
    block = np.random.default_rng(7).standard_normal((10 * BLOCK, 4))
    for start in range(0, n_rows, len(block)):
        map_[start : start + len(block)] = block[: n_rows - start]
