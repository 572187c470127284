"""Valid files of every format, and random or malicious changes to them."""

import gzip
import io
import json
import lzma
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy import io as scipy_io
from scipy.sparse import csc_matrix

# Formats of the counts, offsets and sizes in binary files.
NUMBERS = [0, 1, -1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, 10**9, 255]
BITS = [
    *(b'"', b"'", b",", b";", b"\t", b"\n", b"\r\n", b"\x00", b"\xff\xfe", b"NA", b"?", b"nan"),
    *(b"1e999", b"-inf", b"9" * 400, b"1,5", "\u202e".encode(), b"=1+1", b'""', b"{", b"@data"),
    *(b"%", b":", b"-1:3", b"0", b"x" * 3000, b"\n" * 300, b"," * 3000, "\ud7ff".encode()),
]


def table(rng):
    """Return the columns of a small table: numbers, a label and an id."""
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


def feather(columns, compression=None):
    found = pa.table(columns)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with io.BytesIO() as buffer:
        with pa.ipc.new_file(buffer, found.schema, options=options) as writer:
            writer.write_table(found)
        return buffer.getvalue()


def mat(columns, sparse=False, **options):
    X, y = matrix(columns), (columns["class"] == "b")[:, None] * 1.0
    X = csc_matrix(np.where(X > 0, X, 0)) if sparse else X
    names = np.array([name for name in columns if name.startswith("x")], dtype=object)
    more = {} if options.get("format") == "4" else {"names": names}
    return written(scipy_io.savemat, {"X": X, "class": y, **more}, **options)


SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OPEN = "urn:oasis:names:tc:opendocument:xmlns"


def rows_of(columns):
    return [list(columns), *zip(*columns.values(), strict=True)]


def xlsx(columns):
    """Write the parts of a spreadsheet that readers require."""
    lines = []
    for i, row in enumerate(rows_of(columns), 1):
        cells = (
            f'<c r="{chr(65 + j)}{i}" t="inlineStr"><is><t>{value}</t></is></c>'
            if isinstance(value, str)
            else f'<c r="{chr(65 + j)}{i}"><v>{value}</v></c>'
            for j, value in enumerate(row)
        )
        lines.append(f'<row r="{i}">{"".join(cells)}</row>')
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package'
            f'.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kinds}'
            '.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
            f'ContentType="{kinds}.worksheet+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets>'
            '<sheet name="one" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
            "</Relationships>",
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{"".join(lines)}'
            "</sheetData></worksheet>",
        }
    )


def ods(columns):
    lines = []
    for row in rows_of(columns):
        cells = (
            f'<table:table-cell office:value-type="string"><text:p>{value}</text:p>'
            "</table:table-cell>"
            if isinstance(value, str)
            else f'<table:table-cell office:value-type="float" office:value="{value}"/>'
            for value in row
        )
        lines.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
    spaces = " ".join(f'xmlns:{one}="{OPEN}:{one}:1.0"' for one in ("office", "table", "text"))
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{OPEN}:manifest:1.0"/>',
            "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="one">{"".join(lines)}</table:table></office:spreadsheet>'
            "</office:body></office:document-content>",
        }
    )


def zipped(parts, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def npz(columns, method=zipfile.ZIP_STORED):
    arrays = {"X": matrix(columns), "class": columns["class"], "id": columns["id"]}
    return zipped({f"{name}.npy": written(np.save, one) for name, one in arrays.items()}, method)


def npy(columns):
    return written(np.save, np.column_stack([columns["class"] == "b", matrix(columns)]))


def parquet(columns, **options):
    return written(lambda file: pyarrow.parquet.write_table(pa.table(columns), file, **options))


def pairs_json(columns):
    ids = columns["id"].tolist()
    return json.dumps({"must": [ids[:2]], "cannot": [ids[1:3]]}).encode()


def pairs_csv(columns):
    ids = columns["id"].tolist()
    return f"a,b,link\n{ids[0]},{ids[1]},must\n{ids[1]},{ids[2]},cannot\n".encode()


# A kind without a leading dot is a variant: its ending is the part after the dot.
MAKERS = {
    ".csv": delimited,
    ".tsv": lambda columns: delimited(columns, "\t"),
    ".csv.gz": lambda columns: gzip.compress(delimited(columns), 1, mtime=0),
    ".parquet": parquet,
    "packed.parquet": lambda columns: parquet(columns, compression="zstd", row_group_size=5),
    ".feather": feather,
    "packed.feather": lambda columns: feather(columns, compression="lz4"),
    ".npy": npy,
    ".npz": npz,
    "packed.npz": lambda columns: npz(columns, zipfile.ZIP_DEFLATED),
    "lzma.npz": lambda columns: npz(columns, zipfile.ZIP_LZMA),
    ".mat": mat,
    "packed.mat": lambda columns: mat(columns, do_compression=True),
    "sparse.mat": lambda columns: mat(columns, sparse=True),
    "four.mat": lambda columns: mat(columns, format="4"),
    "sparse-four.mat": lambda columns: mat(columns, sparse=True, format="4"),
    ".xlsx": xlsx,
    ".ods": ods,
    ".arff": arff,
    ".svm": svmlight,
    "pairs.csv": pairs_csv,
    "pairs.json": pairs_json,
    "by-parts.parquet": lambda columns: parquet(columns, row_group_size=5),
    "by-parts.npy": npy,
}
KINDS = tuple(MAKERS)
ZIPPED = (".npz", "packed.npz", "lzma.npz", ".xlsx", ".ods")
BINARY = tuple(kind for kind in KINDS if kind.endswith((".mat", ".parquet", ".feather")))


def mutated(kind, seed):
    """Return a valid file of this kind, and the same file after one to four changes, mostly one."""
    rng = np.random.default_rng([seed, *kind.encode()])
    good = MAKERS[kind](table(rng))
    content = good
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        content = _inside(kind, content, rng) if rng.random() < 0.4 else _change(content, rng)
    return good, content


def _inside(kind, content, rng):
    """Change the contents of a compressed file and compress them again, with correct checksums."""
    try:
        if kind == ".csv.gz":
            return gzip.compress(_change(gzip.decompress(content), rng), 1, mtime=0)
        if kind in ZIPPED:
            return _change_a_member(kind, content, rng)
        if kind in BINARY:
            return overwrite_a_number(bytearray(content), rng, aligned=True)
        if kind.endswith(".npy"):
            return _change_header(content, rng)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, ValueError):
        pass
    except (KeyError, NotImplementedError, RuntimeError, IndexError):
        pass
    return _change(content, rng)


def _change_a_member(kind, content, rng):
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        method = old.infolist()[0].compress_type
        parts = {name: old.read(name) for name in old.namelist()}
    # The last part of a spreadsheet contains the values.
    chosen = list(parts)[int(rng.integers(len(parts))) if rng.random() < 0.5 else -1]
    change = _change_header if kind.endswith(".npz") and rng.random() < 0.5 else _change
    if kind in (".xlsx", ".ods") and rng.random() < 0.5:
        change = _change_xml
    return zipped({**parts, chosen: change(parts[chosen], rng)}, method)


def _change_xml(content, rng):
    """Change the place, count or type of cells."""
    old = rng.choice(['r="', '="', "<v>", "<row", 'value-type="', "<table:table-cell "])
    new = rng.choice(['9999999"', '="-1', '="1048576', '="XFD', 'boolean"', "<v>#REF!", "&#0;"])
    if "table-cell " in str(old):
        new = f'{old}table:number-columns-repeated="{rng.choice(["16384", "-1", "999999999"])}" '
    return content.replace(str(old).encode(), str(new).encode(), int(rng.choice([1, 1, 9])))


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


def overwrite_a_number(content, rng, aligned=False):
    """Overwrite some bytes with a number that is too large, or zero."""
    number = NUMBERS[int(rng.integers(len(NUMBERS)))]
    size = int(rng.choice([2, 4, 8]))
    packed = struct.pack("<q", max(min(number, 2**63 - 1), -(2**63)))[:size]
    place = int(rng.integers(len(content)))
    place -= place % size if aligned else 0
    content[place : place + size] = packed
    return bytes(content)


def _swap(content, rng):
    """Exchange two lines, or the halves of a file without lines."""
    lines = bytes(content).split(b"\n")
    if len(lines) < 3:
        half = len(content) // 2
        return bytes(content[half:] + content[:half])
    one, other = rng.integers(len(lines), size=2)
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)
