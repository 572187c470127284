"""Tests of awkward but common files: each is read correctly, or refused with a clear message."""

import datetime
import gzip
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from linkselect.cli._errors import InputError
from linkselect.cli._tables import Reading, read_table

# The contents of every valid file below: three samples, two features, and a label.
X = np.array([[1.5, -2.0], [0.25, 4.0], [3.0, 1000.0]])
LABELS = ["a", "b", "a"]
KIND = {"label": "kind"}


def text(content, name="t.csv", encoding="utf-8"):
    def make(folder):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return make


def zipped(content):
    return text(gzip.compress(content.encode()), "t.csv.gz")


def parquet(columns):
    def make(folder):
        pyarrow.parquet.write_table(pa.table(columns), folder / "t.parquet")
        return folder / "t.parquet"

    return make


def excel(*sheets, name="t.xlsx"):
    def make(folder):
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine")
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets:
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(folder / name)
        return folder / name

    return make


HEADER = ["width", "height", "kind"]
ROWS = [[1.5, -2, "a"], [0.25, 4, "b"], [3, 1000, "a"]]
DAY = datetime.date(2024, 1, 31)

# A description, the file, the options, and words of the expected note.
GOOD = {
    "plain": (text("width,height,kind\n1.5,-2,a\n.25,4,b\n3,1e3,a\n"), KIND, ""),
    "byte order mark": (text("﻿width,height,kind\n1.5,-2,a\n.25,4,b\n3,1000,a\n"), KIND, ""),
    "lines of Windows": (
        text("width,height,kind\r\n1.5,-2,a\r\n.25,4,b\r\n3,1000,a\r\n"),
        KIND,
        "",
    ),
    "no last line end": (text("width,height,kind\n1.5,-2,a\n.25,4,b\n3,1000,a"), KIND, ""),
    "blank lines": (text("\n\nwidth,height,kind\n1.5,-2,a\n\n.25,4,b\n3,1000,a\n\n"), KIND, ""),
    "spaces around": (text("width , height, kind\n 1.5 ,-2 , a\n.25, 4,b \n3, 1000,a\n"), KIND, ""),
    "semicolons and decimal commas": (
        text("width;height;kind\n1,5;-2;a\n0,25;4;b\n3;1000;a\n"),
        KIND,
        "Commas are read as decimal separators, as in '0,25'",
    ),
    "tabs in a .txt": (
        text("width\theight\tkind\n1.5\t-2\ta\n.25\t4\tb\n3\t1000\ta\n", "t.txt"),
        KIND,
        "",
    ),
    "bars": (text("width|height|kind\n1.5|-2|a\n.25|4|b\n3|1000|a\n"), KIND, ""),
    "what Excel writes first": (
        text("sep=;\nwidth;height;kind\n1.5;-2;a\n.25;4;b\n3;1000;a\n"),
        KIND,
        "",
    ),
    "UTF-16": (
        text("width\theight\tkind\n1.5\t-2\ta\n.25\t4\tb\n3\t1000\ta\n", "t.tsv", "utf-16"),
        KIND,
        "",
    ),
    "latin-1": (
        text("width,height,größe\n1.5,-2,ä\n.25,4,b\n3,1000,ä\n", encoding="latin-1"),
        {"label": "größe", "encoding": "latin-1"},
        "",
    ),
    "quoted newlines and commas": (
        text('"width","height","a ""b"",\nc"\n"1.5","-2","x\ny"\n.25,4,b\n3,1000,"x\ny"\n'),
        {"label": 'a "b",\nc'},
        "",
    ),
    "compressed": (zipped("width,height,kind\n1.5,-2,a\n.25,4,b\n3,1000,a\n"), KIND, ""),
    "header of R": (
        text("width,height,kind\np1,1.5,-2,a\np2,.25,4,b\np3,3,1000,a\n"),
        KIND,
        "as R writes it",
    ),
    "index of pandas": (
        text(",width,height,kind\n0,1.5,-2,a\n1,.25,4,b\n2,3,1000,a\n"),
        KIND,
        "Left out the column without a name, which contains row names or numbers",
    ),
    "a comment first": (
        text("# made today\nwidth,height,kind\n1.5,-2,a\n.25,4,b\n3,1e3,a\n"),
        KIND,
        "",
    ),
    "commas after the last column": (
        text("width,height,kind,\n1.5,-2,a,\n.25,4,b,\n3,1000,a,\n"),
        {**KIND, "drop": ("column 4",)},
        "",
    ),
    "empty rows of a spreadsheet": (
        text("width,height,kind\n1.5,-2,a\n.25,4,b\n3,1000,a\n,,\n,,\n"),
        KIND,
        "Left out 2 empty rows at the end",
    ),
    "text, dates, yes and no": (
        text(
            "who,width,when,height,smokes,kind\nAnn,1.5,2024-01-31,-2,yes,a\n"
            "Bob,.25,2024-02-01,4,no,b\nCy,3,,1000,no,a\n"
        ),
        KIND,
        "Left out 3 non-numeric columns: 'who' (different text in each row); 'when' (dates); "
        "'smokes' (yes/no). --encode converts dates",
    ),
    "numbers with a unit": (
        text("width,dose,height,kind\n1.5,5 mg,-2,a\n.25,7 mg,4,b\n3,,1000,a\n"),
        KIND,
        "Left out 1 non-numeric column: 'dose' (numbers with a unit). Remove the units to use "
        "these numbers.",
    ),
    "genes in rows": (
        text("name,p1,p2,p3\nwidth,1.5,.25,3\nheight,-2,4,1000\nkind,a,b,a\n"),
        {**KIND, "transpose": True},
        "",
    ),
    "genes in rows, from R": (
        text("p1,p2,p3\nwidth,1.5,.25,3\nheight,-2,4,1000\nkind,a,b,a\n"),
        {**KIND, "transpose": True, "id_column": ""},
        "as R writes it",
    ),
    "several names to drop": (
        text('width,"a, b",height,c,kind\n1.5,1,-2,1,a\n.25,2,4,2,b\n3,3,1000,3,a\n'),
        {**KIND, "drop": ("a, b", "c")},
        "",
    ),
    "numbers as text": (
        parquet({"width": ["1.5", ".25", "3"], "kind": LABELS, "height": [-2, 4, 1000]}),
        KIND,
        "",
    ),
    "categories": (
        parquet(
            {"width": X[:, 0], "height": X[:, 1], "kind": pa.array(LABELS).dictionary_encode()}
        ),
        KIND,
        "",
    ),
    "Excel": (excel(("Sheet1", [HEADER, *ROWS])), KIND, ""),
    "Excel with a title, dates and several sheets": (
        excel(
            (
                "Data",
                [["Table S1. Flowers"], [], [*HEADER, "when"], *([*row, DAY] for row in ROWS)],
            ),
            ("Legend", [["x"]]),
        ),
        KIND,
        "Skipped 2 rows above the header",
    ),
    "Excel, genes in rows": (
        excel(("S", [["gene", "p1", "p2", "p3"], *zip(HEADER, *ROWS, strict=True)])),
        {**KIND, "transpose": True, "id_column": "gene"},
        "",
    ),
}


@pytest.mark.parametrize("what", GOOD)
def test_values_are_read_correctly(what, tmp_path):
    make, how, note = GOOD[what]
    table = read_table(make(tmp_path), Reading(**how))
    # Numbers stored as text come last.
    order = np.argsort([["width", "height"].index(name) for name in table.names])
    np.testing.assert_array_equal(table.X[:, order], X)
    np.testing.assert_array_equal(table.codes() == table.codes()[0], [True, False, True])
    assert note in " ".join(table.notes)
    if not note:
        assert not table.notes, table.notes


def test_without_the_package_for_excel(tmp_path, monkeypatch):
    path = excel(("Data", [["x"], [1], [2]]))(tmp_path)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"pip install 'linkselect\[excel\]', or save the table"):
        read_table(path)


def test_duplicate_names_are_numbered(tmp_path):
    path = text("x,y,x,x\n1,2,3,4\n5,6,7,8\n")(tmp_path)
    table = read_table(path)
    assert table.names == ("x", "y", "x.2", "x.3")
    assert table.notes == (
        "Duplicate feature name 'x'; the second is renamed 'x.2'. 1 other duplicate is renamed "
        "too.",
    )


def test_text_columns_are_encoded(tmp_path):
    content = (
        "x,when,smokes,city,sex,who,odd\n1,31/01/2024,yes,Lille,f,Ann,01/02/2024\n"
        "2,01/02/2024,no,Arras,m,Bob,03/04/2024\n3,,NA,Calais,f,Cy,01/02/2024\n"
        "4,02/02/2024,no,Lille,,Di,01/02/2024\n"
    )
    table = read_table(text(content)(tmp_path), Reading(encode=True))
    cities = ("city=Arras", "city=Calais", "city=Lille")
    assert table.names == ("x", "when", "smokes", *cities, "sex=m")
    nan = np.nan
    days = [19753, 19754, nan, 19755]
    np.testing.assert_array_equal(table.X[:, 1], days)
    np.testing.assert_array_equal(table.X[:, 2], [1, 0, nan, 0])
    np.testing.assert_array_equal(table.X[:, 5], [1, 0, 0, 1])
    np.testing.assert_array_equal(table.X[:, 6], [0, 1, 0, nan])
    turned, left = table.notes
    assert turned.startswith("Encoded as numbers: 'when' as days since 1970, 'smokes' as 1 and 0")
    # No value shows whether 01/02 is the first of February.
    assert table.left_out == ("who", "odd")
    assert "'odd' (dates with an unclear order of day and month)" in left
    assert "Write dates as 2024-12-31 to use them." in left


def test_text_of_too_many_values_is_not_encoded(tmp_path):
    rows = "".join(f"{i},{i % 12},c{i % 12},{'no' if i % 2 else 'yes'}\n" for i in range(48))
    table = read_table(
        text(f"x,z,many,class\n{rows}")(tmp_path), Reading(label="class", encode=True)
    )
    assert table.left_out == ("many",)
    assert "'many' (text with 12 values; 2 to 10 can be encoded)." in table.notes[0]
    assert "--encode" not in table.notes[0]


def test_a_table_that_looks_transposed(tmp_path):
    genes = "".join(f"gene{i},{i},{i % 7},{i % 3}\n" for i in range(200))
    path = text(f"name,p1,p2,p3\n{genes}class,a,b,a\n")(tmp_path)
    with pytest.raises(InputError, match=r"line 202 begins with it.*pass --transpose"):
        read_table(path, Reading(label="class"))
    table = read_table(path, Reading(label="class", transpose=True, id_column="name"))
    assert (table.X.shape, table.ids, table.classes) == ((3, 200), ("p1", "p2", "p3"), ["a", "b"])
    table = read_table(text(f"name,p1,p2,p3\n{genes}")(tmp_path))
    assert (
        "If rows are features, such as genes, and columns are samples, pass --transpose"
        in (table.notes[-1])
    )


# A description, the file, the options, and what the message must contain: line, column, remedy.
BAD = {
    "a word among numbers": (
        text("x,y\n1,2\n3,tall\n4,5\n"),
        {},
        ["line 3", "column 'y'", "'tall'", "--missing 'tall'", "--drop 'y'"],
    ),
    "below the limit of detection": (
        text("x,y\n1,2\n3,<0.1\n4,5\n"),
        {},
        ["line 3", "column 'y'", "'<0.1'", "--missing '<0.1'"],
    ),
    "thousands": (
        text('x,y\n1,"1,000"\n2,"2,500"\n'),
        {},
        ["line 2", "column 'y'", "'1,000'", "without a thousands separator"],
    ),
    "a comma that may be either": (
        text("x;y\n1;1,000\n2;2,500\n"),
        {},
        ["line 2", "column 'y'", '--decimal ","'],
    ),
    "commas and points": (
        text("x;y\n1,5;2.5\n1,7;3.5\n"),
        {},
        ["line 2", "column 'x'", "'1,5'", '--decimal ","'],
    ),
    "a line too long": (
        text("x,y\n1,2\n1,2,3\n"),
        {},
        ["line 3", "3 values", "2 columns", "quote values"],
    ),
    "a title first": (
        text("Table\nx,y,z\n1,2,3\n"),
        {},
        ["line 2", "If the first line is a title, delete it"],
    ),
    "a title of two words first": (
        text("Table S1\nx,y,z\n1,2,3\n"),
        {},
        ["the first line 'Table S1'", "is a title, delete it"],
    ),
    "a foreign encoding": (
        text("x,größe\n1,2\n", encoding="latin-1"),
        {},
        ["line 1", "0xf6", "'x,grö", "--encoding latin-1"],
    ),
    "a foreign encoding further down": (
        text("x,y\n1,2\n3,ä\n", encoding="latin-1"),
        {"label": "y"},
        ["line 3", "0xe4", "--encoding latin-1"],
    ),
    "a measurement as label": (
        text("x,age\n" + "".join(f"{i},{20 + i % 68}\n" for i in range(200))),
        {"label": "age"},
        ["column 'age'", "68 different numbers", "from 20 to 87", "--bins 2", "--bins all"],
    ),
    "ids as label": (
        text("x,who\n1,Ann\n2,Bob\n3,Cy\n"),
        {"label": "who"},
        ["column 'who'", "Specify the column that contains the class labels."],
    ),
    "no numbers at all": (
        text("sex,city\nf,Lille\nm,Arras\nf,Arras\n"),
        {},
        ["'sex', 'city'", "--encode", "--separator"],
    ),
    "values separated by spaces": (text("x y z\n1 2 3\n"), {}, ["'x y z'", "--separator space"]),
    "numbers for names": (text("1.5,2\n3,4\n"), {}, ["--no-header", "x0"]),
    "a quote that never closes": (
        text('x,y\n1,2\n1,"2\n3,4\n5,6\n7,8\n'),
        {},
        ["line 3: a quote opens here and is never closed"],
    ),
    "a quote that never closes in text": (
        text('x,y\n1,a\n1,"b\n3,c\n'),
        {},
        ["line 3: a quote opens here and is never closed"],
    ),
    "not transposed after all": (
        text("name,width,kind\np1,1.5,a\np2,.25,b\n"),
        {**KIND, "transpose": True},
        ["'kind' is a column", "Omit --transpose"],
    ),
    "no rows": (text("x,y\n"), {}, ["2 columns", "no rows"]),
    "a sheet that is not there": (
        excel(("Data", [["x"], [1], [2]])),
        {"array": "Date"},
        ["no sheet 'Date'", "Did you mean 'Data'?", "--sheet"],
    ),
    "a label in another sheet": (
        excel(("About", [["Readme"], ["genes"]]), ("Genes", [HEADER, *ROWS])),
        KIND,
        ["Available: Readme. Only the first of 2 sheets, 'About', was read", "--sheet"],
    ),
    "a word among numbers in Excel": (
        excel(("Data", [["Title"], ["x", "y"], [1, 2], [2, "n.d."], [3, 4]])),
        {},
        ["row 4", "column 'y'", "'n.d.'", "--missing 'n.d.'"],
    ),
    "text that is called Excel": (
        text("x,y\n1,2\n", "t.xlsx"),
        {},
        ["t.xlsx is not a .xlsx file"],
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_messages_name_the_position_and_a_remedy(what, tmp_path):
    make, how, words = BAD[what]
    with pytest.raises(InputError) as caught:
        read_table(make(tmp_path), Reading(**how))
    message = str(caught.value)
    assert message.startswith("t."), message
    for word in words:
        assert word in message, message


def test_there_are_at_least_thirty_files():
    assert len(GOOD) + len(BAD) >= 30
