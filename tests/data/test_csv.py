"""CSV and TSV: what was written is read, and what cannot be read is named."""

from __future__ import annotations

import bz2
import csv
import gzip
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bela.data import READERS, OpenFile, Reader, index_column, open_table, row_ids
from bela.errors import DataError, ParameterError

ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6),
    min_size=1,
    max_size=5,
    unique=True,
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """A header and rows of any text, with what is hard on parsers more often than chance has it."""
    header = draw(NAMES)
    hard = st.sampled_from(["", " ", '"', '""', "\n", "\r\n", "\r", ",", "\t", "\0", "🙈", "\ufeff", "NA", "007", "-0"])
    row = st.lists(st.one_of(TEXT, hard), min_size=len(header), max_size=len(header))
    return header, draw(st.lists(row, min_size=1, max_size=8))


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], **how: str) -> Path:
    """Write a table with Python's own csv module."""
    encoding, end = how.get("encoding", "utf-8"), how.get("end", "\r\n")
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter="\t" if ".tsv" in path.name else ",", lineterminator=end)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def read(path: Path, **how: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows as they are read."""
    records = open_table(path, **how)  # type: ignore[arg-type]
    return list(records.columns), [list(record.values()) for record in records.iter_records()]


# ---------------------------------------------------------------------------------------------------- round trips


@ANY_FOLDER
@given(table=tables(), ending=st.sampled_from(["csv", "tsv"]), end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_csv_writes_is_read(tmp_path: Path, table: tuple[list[str], list[list[str]]], ending: str, end: str):
    """Any table of text that Python's csv module writes comes back value by value, with any line ends."""
    header, rows = table
    if {"\r", "\n"} & set("".join(chain(header, *rows))):
        end = "\r\n"  # the module quotes line ends of its own kind only, and would not read back others itself
    if header[0].startswith("\ufeff"):
        header = ["x" + header[0], *header[1:]]  # this would be a byte order mark
    path = write(tmp_path / f"t.{ending}", header, rows, end=end)
    assert read(path) == (header, rows)


@ANY_FOLDER
@given(table=tables(), at=st.integers(0, 7), more=st.booleans())
def test_ragged_rows_are_refused(tmp_path: Path, table: tuple[list[str], list[list[str]]], at: int, more: bool):
    """A row with a value too many or too few is an error that names its line."""
    header, rows = [*table[0], "last column"], [["x", *row] for row in table[1]]
    rows = [[value.replace("\r", " ").replace("\n", " ") for value in row] for row in rows]
    header = [f"{i}{name}".replace("\r", " ").replace("\n", " ") for i, name in enumerate(header)]
    at = at % len(rows)
    rows[at] = [*rows[at], "z"] if more else rows[at][:-1]
    with pytest.raises(DataError, match=rf"in line {at + 2} where its header names {len(header)} columns"):
        open_table(write(tmp_path / "t.csv", header, rows))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_need_no_name(tmp_path: Path, encoding: str):
    """UTF-8 with and without its mark, and the others by theirs, are told apart."""
    path = write(tmp_path / "t.csv", ["naïve", "b"], [["é🙈", "ß"], ["", "語"]], encoding=encoding)
    assert read(path) == (["naïve", "b"], [["é🙈", "ß"], ["", "語"]])


def test_other_encodings_are_named(tmp_path: Path):
    """Another encoding has to be named; without its name the error says where it shows."""
    rows = [["a", "b"]] * 50_000 + [["Grüße", "x"]]
    path = write(tmp_path / "t.csv", ["p", "q"], rows, encoding="cp1252")
    with pytest.raises(
        DataError, match=r"not a text file in UTF-8: .* at line 50002, so name the encoding .*--encoding latin-1"
    ):
        open_table(path)
    assert open_table(path, encoding="cp1252").record(50_000) == {"p": "Grüße", "q": "x"}
    with pytest.raises(ParameterError, match="no encoding 'klingon'"):
        open_table(path, encoding="klingon")
    with pytest.raises(ParameterError, match="no encoding 'base64'"):
        open_table(path, encoding="base64")
    path.write_bytes("a,b\n1,2\n".encode("utf-16")[:-1])
    with pytest.raises(DataError, match="UTF-16"):
        open_table(path)


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_compressed_files(tmp_path: Path, ending: str):
    """Compressed files are read as what is in them; cut short, they are refused."""
    plain = write(tmp_path / "t.csv", ["a", "b"], [[str(i), "é" * (i % 7)] for i in range(5000)])
    packed = tmp_path / f"t.csv.{ending}"
    data = plain.read_bytes()
    if ending == "zst":
        packed.write_bytes(pa.Codec("zstd").compress(data, asbytes=True))
    else:
        packed.write_bytes({"gz": gzip.compress, "bz2": bz2.compress}[ending](data))
    assert read(packed) == read(plain)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(DataError, match="cut short"):
        open_table(packed)
    packed.write_bytes(b"no such thing")
    with pytest.raises(DataError, match="cut short or damaged"):
        open_table(packed)


# ------------------------------------------------------------------------------------------------- odd and broken


def test_ten_thousand_columns(tmp_path: Path):
    """Width is no obstacle."""
    header = [f"c{i}" for i in range(10_000)]
    rows = [[str(i * j) for i in range(10_000)] for j in range(3)]
    records = open_table(write(tmp_path / "wide.csv", header, rows))
    assert len(records.columns) == 10_000
    assert list(records.record(2).values()) == rows[2]
    assert records.column("c9999").to_pylist() == ["0", "9999", "19998"]


def test_a_very_long_field(tmp_path: Path):
    """A value may be a book, and many blocks of rows are one table."""
    rows = [["x" * 17_000_000, "1"], ["y", "2"], ["z" * 1_000_000, "3"], ["", "4"]]
    records = open_table(write(tmp_path / "long.csv", ["text", "n"], rows))
    assert len(list(records.batches())) > 1
    assert [len(records.record(i)["text"]) for i in range(4)] == [17_000_000, 1, 1_000_000, 0]
    assert records.column("n").to_pylist() == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "has no rows"),
        ("a,,c\n1,2,3\n", "no name for column 2"),
        ("a,b,a\n1,2,3\n", "twice: 'a' is column 1 and column 3"),
        ("a,b\n1\n", "1 value.s. in line 2 where its header names 2 columns"),
        ('a,b\n1,"x\ny"\n1,2,3\n', "3 value.s. in line 4"),
        ('a,b\n1,2\n3,"4\n5,6\n', "begins in line 3 which is never closed"),
        ('a,b\n1,"2"3\n', "at line 2"),
        ("a\0,b\n1,2\n", "zero byte"),
    ],
)
def test_broken_files(tmp_path: Path, content: str, says: str):
    """Each fault is told in one sentence, with its place."""
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=says) as caught:
        open_table(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", ["a,b\n\n1,2\n\n\n3,4", "a,b\r1,2\r3,4\r", "\n\na,b\n1,2\n3,4\n"])
def test_blank_lines_and_ends(tmp_path: Path, content: str):
    """Blank lines are skipped; the last line needs no end, and any end will do."""
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode())
    assert read(path) == (["a", "b"], [["1", "2"], ["3", "4"]])


def test_a_file_cut_anywhere(tmp_path: Path):
    """Wherever a file is cut, what is read is a beginning of it, or it is refused."""
    header, rows = ["a", "b"], [["1", 'say "hi", é'], ["2\n3", "x"], ["4", ""]]
    path = write(tmp_path / "t.csv", header, rows)
    whole = path.read_bytes()
    n_read = 0
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        try:
            _, found = read(path)
        except DataError:
            continue
        n_read += 1
        *before, last = found
        assert before == rows[: len(before)]
        assert all(kept.startswith(value) for kept, value in zip(rows[len(before)], last, strict=True))
    assert n_read


def test_the_data_are_watched_while_they_are_read(tmp_path: Path):
    """A file that grows under the reader is refused, not half read."""
    path = write(tmp_path / "t.csv", ["a"], [["1"], ["2"]])

    def meddle(words: str, share: float) -> None:
        assert words == "reading t.csv"
        assert 0 <= share <= 1
        with path.open("a") as file:
            file.write("3\r\n")

    with pytest.raises(DataError, match="changed while it was read"):
        open_table(path, progress=meddle)


# ------------------------------------------------------------------------------------------------- as people have them


def test_an_unnamed_first_column_is_an_index(tmp_path: Path):
    """What pandas writes by default: the column has its pandas name, and the table says what it is."""
    path = write(tmp_path / "t.csv", ["", "text", "label"], [["0", "good film", "yes"], ["1", "bad film", "no"]])
    table = open_table(path, cache=tmp_path / "cache")
    assert table.columns == ("Unnamed: 0", "text", "label")
    assert [*table.notices] == ["column 'Unnamed: 0' is an index: no feature, but good as an id"]
    assert index_column(table.columns) == "Unnamed: 0"
    assert row_ids(table, "Unnamed: 0") == ["0", "1"]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_noticed(tmp_path: Path, separator: str):
    """A file that is called .csv and has other separators is read, and that is said, also from the cache."""
    rows = [["1,5", "a; b"], ["2,5", 'c "d"'], ["3", "e\nf"]]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows([["n", "text"], *rows])
    for _ in range(2):
        table = open_table(path, cache=tmp_path / "cache")
        assert [list(record.values()) for record in table.iter_records()] == rows
        assert "separated by" in table.notices[0]
    assert not open_table(write(tmp_path / "u.csv", ["n", "text"], [["1.5", "a; b"], ["2", "c; d"]])).notices


def test_decimal_commas_are_noticed(tmp_path: Path):
    """They do not pass for separators, and are not guessed to be points."""
    (tmp_path / "t.csv").write_text("\n".join(f"{i},5;{i % 3},1;{i % 2}" for i in range(30)))
    table = open_table(tmp_path / "t.csv")
    assert table.record(29) == {"column 1": "29,5", "column 2": "2,1", "column 3": "1"}
    assert (
        table.notices[2]
        == "numbers with commas (1,5 in column 'column 1' and 1 more) are texts: write them with points"
    )


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("5.1,3.5,setosa", "4.{i},3.{i},virginica"),
        ("5,0,0,17", "{i},0,{i},0"),
        ("ham,see you at {i}", "ham,see you at {i}"),
        ("3,good", "{i},bad {i}"),
    ],
)
def test_a_missing_header_is_noticed(tmp_path: Path, line: str, more: str):
    """A first line that looks like the others is one of them."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join([line, *(more.format(i=i % 9) for i in range(30))]) + "\n")
    table = open_table(path)
    assert table.n_rows == 31
    assert table.columns[:2] == ("column 1", "column 2")
    assert list(table.record(0).values()) == line.split(",")
    assert "has no header" in table.notices[0]


@pytest.mark.parametrize("header", ["country,2019,2020", ",0,1", "text,label,n", "0,1,2", "a,b,c"])
def test_a_header_is_a_header(tmp_path: Path, header: str):
    """Names that are numbers, as pandas gives them and years are, stay names."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join([header, *(f"x{i},{i * 37},{i * 7.5}" for i in range(30))]) + "\n")
    assert open_table(path).n_rows == 30


def test_lines_of_text(tmp_path: Path):
    """A .txt file has a row a line; blank lines are none."""
    (tmp_path / "t.txt").write_bytes("one row\r\n\n  \nanother, with a comma\nétude".encode())
    table = open_table(tmp_path / "t.txt")
    assert table.column("text").to_pylist() == ["one row", "another, with a comma", "étude"]


def test_excel(tmp_path: Path):
    """The first sheet with anything in it is read; numbers, texts, dates and gaps come as they are."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.create_sheet("films")
    for row in (["id", "text", "score", None], [1, "good", 0.5], [2, None, 3], [None, None, None], [3, "bad", 2.5]):
        sheet.append(row)
    book.create_sheet("notes").append(["x"])
    book.save(tmp_path / "t.xlsx")
    table = open_table(tmp_path / "t.xlsx")
    assert [*table.iter_records()] == [
        {"id": 1, "text": "good", "score": 0.5},
        {"id": 2, "text": None, "score": 3},
        {"id": 3, "text": "bad", "score": 2.5},
    ]
    assert table.notices == ("t.xlsx has 2 sheets, of which 'films' is read",)
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match="Excel workbook, it may be damaged"):
        open_table(tmp_path / "t.xlsx")


def test_a_reader_is_one_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever yields blocks of rows reads files of its ending, compressed ones and folders of them included."""

    def read(file: OpenFile) -> Iterator[pa.RecordBatch]:
        file.notices.append("read by the test")
        yield pa.RecordBatch.from_pydict({"word": file.text.lines.read().split()})

    monkeypatch.setattr(READERS, "_entries", dict(READERS._own))
    READERS.add("words", Reader(endings=(".words",), read=read, is_text=True, parts=True))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.words").write_text("a b c")
    (tmp_path / "parts" / "2.words.gz").write_bytes(gzip.compress(b"d e"))
    table = open_table(tmp_path / "parts")
    assert table.column("word").to_pylist() == list("abcde")
    assert table.notices == ("read by the test",)
    with pytest.raises(DataError, match=r"ends in none of .*\.words"):
        open_table(write(tmp_path / "x.docx", ["a"], []))


def test_a_title_above_the_header_of_a_sheet_is_told(tmp_path):
    """Merged cells above the names of the columns: one sentence says what to do."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Customers"], ["Name", "Age"], ["Ann", 30]):
        book.active.append(row)
    book.active.merge_cells("A1:B1")
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="delete titles above the names of the columns"):
        open_table(tmp_path / "t.xlsx")
