"""Files that unpack to far more than they are: refused before they fill the memory or the disk."""

import bz2
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bela.data import open_table
from bela.errors import DataError, JournalError
from bela.storage import FolderStore, _unpacked


@pytest.fixture
def small_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files may unpack to a megabyte, or a hundred times what they are, so that a test need not make gigabytes."""
    monkeypatch.setattr(_unpacked, "ROOM", 1 << 20)


def gz(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content))


def bz(path: Path, content: bytes) -> None:
    path.write_bytes(bz2.compress(content))


def zst(path: Path, content: bytes) -> None:
    path.write_bytes(pa.compress(content, "zstd", asbytes=True))


@pytest.mark.usefixtures("small_room")
@pytest.mark.parametrize(("ending", "pack"), [("gz", gz), ("bz2", bz), ("zst", zst)])
@pytest.mark.parametrize("line", [b"text,number\n" + b"a,1\n" * (1 << 20), b"a" * (4 << 20)], ids=["lines", "one line"])
def test_packed_texts(tmp_path: Path, ending: str, pack: Callable[[Path, bytes], None], line: bytes) -> None:
    """Many lines, or a single one that is never done."""
    pack(tmp_path / f"a.csv.{ending}", line)
    with pytest.raises(DataError, match="unpack"):
        open_table(tmp_path / f"a.csv.{ending}")


@pytest.mark.usefixtures("small_room")
def test_arrays(tmp_path: Path) -> None:
    """By what the archive says, before anything is read."""
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1000, 1000)))
    with pytest.raises(DataError, match="unpack"):
        open_table(tmp_path / "a.npz")


@pytest.mark.usefixtures("small_room")
def test_tables_of_one_value(tmp_path: Path) -> None:
    """Parquet says a million times the same in a few bytes."""
    text = pa.array(["the same in all rows, which takes no room"] * 300_000)
    pq.write_table(pa.table({"text": text.dictionary_encode()}), tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(DataError, match="unpack"):
        open_table(tmp_path / "a.parquet")


@pytest.mark.usefixtures("small_room")
def test_workbooks(tmp_path: Path) -> None:
    """A workbook is an archive of texts."""
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (8 << 20))
    with pytest.raises(DataError, match="unpack"):
        open_table(tmp_path / "a.xlsx")


@pytest.mark.usefixtures("small_room")
def test_arrays_of_a_campaign(tmp_path: Path) -> None:
    """With a digest that fits, as anybody can make one."""
    store = FolderStore(tmp_path)
    store.save("small", [np.arange(1000)])
    assert len(store.load("small")[0]) == 1000
    store.save("bomb", [np.zeros(1 << 20)])
    with pytest.raises(JournalError, match="damaged"):
        store.load("bomb")


def test_an_array_that_says_it_is_huge(tmp_path: Path) -> None:
    """The shape in a header is not believed."""
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(8))
    content = buffer.getvalue().replace(b"(8,)", b"(8" + b"0" * 13 + b",)")
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError):
        open_table(tmp_path / "a.npy")


@pytest.mark.usefixtures("small_room")
def test_what_is_merely_packed_well_is_read(tmp_path: Path) -> None:
    """Below the room, or below a hundred times its size."""
    rng = np.random.default_rng(0)
    lines = "".join(f"{a},{b}\n" for a, b in rng.integers(0, 10**9, (60_000, 2)).tolist())
    gz(tmp_path / "a.csv.gz", f"a,b\n{lines}".encode())
    assert open_table(tmp_path / "a.csv.gz").n_rows == 60_000
    gz(tmp_path / "b.csv.gz", b"text,number\n" + b"a,1\n" * 10_000)
    assert open_table(tmp_path / "b.csv.gz").n_rows == 10_000
