"""Good files of every format, and what chance or malice makes of them."""

import gzip
import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy import io as scipy_io
from scipy.sparse import csc_matrix

# What numbers in a binary file most often stand for: counts, offsets, sizes.
NUMBERS = [0, 1, -1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, 10**9, 255]
BITS = [
    *(b'"', b"'", b",", b";", b"\t", b"\n", b"\r\n", b"\x00", b"\xff\xfe", b"NA", b"?", b"nan"),
    *(b"1e999", b"-inf", b"9" * 400, b"1,5", "\u202e".encode(), b"=1+1", b'""', b"{", b"@data"),
    *(b"%", b":", b"-1:3", b"0", b"x" * 3000, b"\n" * 300, b"," * 3000, "\ud7ff".encode()),
]


def table(rng):
    """Return columns of a small table: numbers, a label, an id."""
    n_rows, n_features = int(rng.integers(4, 30)), int(rng.integers(2, 9))
    columns = {f"x{i}": rng.normal(size=n_rows).round(4) for i in range(n_features)}
    columns["class"] = rng.choice(["a", "b"], n_rows)
    columns["id"] = np.array([f"s{i}" for i in range(n_rows)])
    return columns


def delimited(columns, separator=","):
    rows = zip(*columns.values(), strict=True)
    lines = [separator.join(columns), *(separator.join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def arff(columns):
    kinds = ["{a,b}" if name == "class" else "numeric" for name in columns if name != "id"]
    names = [name for name in columns if name != "id"]
    head = [f"@attribute {name} {kind}" for name, kind in zip(names, kinds, strict=True)]
    rows = zip(*(columns[name] for name in names), strict=True)
    lines = ["@relation t", *head, "@data", *(",".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def svmlight(columns):
    X = matrix(columns)
    lines = []
    for row, label in zip(X, columns["class"], strict=True):
        entries = (f"{i + 1}:{value}" for i, value in enumerate(row))
        lines.append(f"{'ab'.index(label)} {' '.join(entries)}")
    return ("\n".join(lines) + "\n").encode()


def matrix(columns):
    return np.column_stack([values for name, values in columns.items() if name.startswith("x")])


def written(write, *arguments, **options):
    buffer = io.BytesIO()
    write(buffer, *arguments, **options)
    return buffer.getvalue()


def feather(columns):
    found = pa.table(columns)
    with io.BytesIO() as buffer:
        with pa.ipc.new_file(buffer, found.schema) as writer:
            writer.write_table(found)
        return buffer.getvalue()


def mat(columns):
    X, y = matrix(columns), (columns["class"] == "b")[:, None] * 1.0
    sparse = csc_matrix(np.where(X > 0, X, 0))
    buffer = io.BytesIO()
    scipy_io.savemat(buffer, {"X": sparse if len(X) % 2 else X, "class": y})
    return buffer.getvalue()


def pairs_json(columns):
    ids = columns["id"].tolist()
    return json.dumps({"must": [ids[:2]], "cannot": [ids[1:3]]}).encode()


def pairs_csv(columns):
    ids = columns["id"].tolist()
    return f"a,b,link\n{ids[0]},{ids[1]},must\n{ids[1]},{ids[2]},cannot\n".encode()


MAKERS = {
    ".csv": delimited,
    ".tsv": lambda columns: delimited(columns, "\t"),
    ".csv.gz": lambda columns: gzip.compress(delimited(columns), 1, mtime=0),
    ".parquet": lambda columns: written(
        lambda file, found: pyarrow.parquet.write_table(found, file), pa.table(columns)
    ),
    ".feather": feather,
    ".npy": lambda columns: written(
        np.save, np.column_stack([columns["class"] == "b", matrix(columns)])
    ),
    ".npz": lambda columns: written(
        np.savez, X=matrix(columns), **{"class": columns["class"], "id": columns["id"]}
    ),
    ".mat": mat,
    ".arff": arff,
    ".svm": svmlight,
    "pairs.csv": pairs_csv,
    "pairs.json": pairs_json,
}
KINDS = tuple(MAKERS)


def mutated(kind, seed):
    """Return a good file of this kind and the same file after one to four changes, mostly one."""
    rng = np.random.default_rng([seed, *kind.encode()])
    good = MAKERS[kind](table(rng))
    content = good
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        content = _inside(kind, content, rng) if rng.random() < 0.4 else _change(content, rng)
    return good, content


def _inside(kind, content, rng):
    """Change what a compressed file holds, so that its checksums are right again."""
    try:
        if kind == ".csv.gz":
            return gzip.compress(_change(gzip.decompress(content), rng), 1, mtime=0)
        if kind == ".npz":
            return _change_a_member(content, rng)
        if kind == ".npy":
            return _change_header(content, rng)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, ValueError, KeyError):
        pass
    return _change(content, rng)


def _change_a_member(content, rng):
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(changed, "w") as new:
        members = old.namelist()
        chosen = int(rng.integers(len(members)))
        for place, name in enumerate(members):
            data = old.read(name)
            new.writestr(name, _change_header(data, rng) if place == chosen else data)
    return changed.getvalue()


def _change_header(content, rng):
    head, rest = content[:128], content[128:]
    old = rng.choice(["(", "<f8", "False", ","])
    new = rng.choice(["(1000000000, ", ">f8", "|O", "<U9", "True", "-", "", "((", "|V0"])
    return head.replace(old.encode(), new.encode(), 1) + rest


def _change(content, rng):
    if not content:
        return bytes(rng.choice(BITS))
    change = rng.choice([flip_bits, _cut, _insert, _repeat, _remove, overwrite_a_number, _swap])
    return change(bytearray(content), rng)


def flip_bits(content, rng):
    for place in rng.integers(len(content), size=int(rng.integers(1, 9))):
        content[place] ^= 1 << int(rng.integers(8))
    return bytes(content)


def _cut(content, rng):
    return bytes(content[: int(rng.integers(len(content)))])


def _insert(content, rng):
    place = int(rng.integers(len(content)))
    content[place:place] = BITS[int(rng.integers(len(BITS)))]
    return bytes(content)


def _repeat(content, rng):
    start, end = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return bytes(content[:end] + content[start:end] * int(rng.integers(1, 20)) + content[end:])


def _remove(content, rng):
    start, end = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return bytes(content[:start] + content[min(end, start + 40) :])


def overwrite_a_number(content, rng):
    """Write a number that means too much, or nothing, over some bytes."""
    number = NUMBERS[int(rng.integers(len(NUMBERS)))]
    size = int(rng.choice([2, 4, 8]))
    packed = struct.pack("<q", max(min(number, 2**63 - 1), -(2**63)))[:size]
    place = int(rng.integers(len(content)))
    content[place : place + size] = packed
    return bytes(content)


def _swap(content, rng):
    """Exchange two lines, or halves if there are none."""
    lines = bytes(content).split(b"\n")
    if len(lines) < 3:
        half = len(content) // 2
        return bytes(content[half:] + content[:half])
    one, other = rng.integers(len(lines), size=2)
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)
