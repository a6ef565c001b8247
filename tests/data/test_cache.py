"""The cache: the second opening is the first without the work, and nothing wrong ever comes out of it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bela.data import ArrowTable, open_table
from bela.data import _store as store
from bela.errors import DataError

ROWS = [["é" * (i % 5), str(i)] for i in range(3000)]


def write(path: Path, rows: list[list[str]] = ROWS) -> Path:
    """Write a table that is old enough for its time of change to be trusted."""
    path.write_text("text,n\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "t.csv")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read, in order."""
    seen: list[Path] = []
    real = store._file_blocks

    def spy(file: Any, *arguments: Any) -> Any:
        seen.append(file.path)
        return real(file, *arguments)

    monkeypatch.setattr(store, "_file_blocks", spy)
    return seen


def content(records: Any) -> list[list[str]]:
    return [list(record.values()) for record in records.iter_records()]


def test_the_second_opening_reads_nothing(
    data: Path, tmp_path: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
):
    """With the same cache and an unchanged file neither is the file read nor are digests computed."""
    first = open_table(data, cache=tmp_path / "cache")
    expected = first.fingerprint, first.row_digests().tolist(), content(first)
    monkeypatch.setattr("bela.data._files._sha256", None)
    monkeypatch.setattr("bela.data._open.digests_of", None)
    second = open_table(data, cache=tmp_path / "cache")
    assert (second.fingerprint, second.row_digests().tolist(), content(second)) == expected
    assert reads == [data]


def test_digests_do_not_depend_on_the_cache(data: Path, tmp_path: Path):
    """Fingerprint and digests are those of the content, wherever it lies and however it is kept."""
    kept, plain = open_table(data, cache=tmp_path / "cache"), open_table(data)
    moved = open_table(write(tmp_path / "u.csv"), cache=tmp_path / "other")
    for other in (plain, moved):
        assert other.fingerprint == kept.fingerprint
        assert (other.row_digests() == kept.row_digests()).all()


def test_a_touched_file_is_not_read_again(data: Path, tmp_path: Path, reads: list[Path]):
    """Another time of change with the same content is found out by its digest."""
    open_table(data, cache=tmp_path / "cache")
    os.utime(data)
    assert content(open_table(data, cache=tmp_path / "cache")) == ROWS
    assert reads == [data]


def test_a_changed_file_is_read_again(data: Path, tmp_path: Path):
    """Other content of the same size, even within the same tick of the clock, is seen."""
    before = open_table(data, cache=tmp_path / "cache").fingerprint
    for value in ("7777", "8888", "9999"):
        rows = [*ROWS[:-1], ["", value]]
        data.write_text("text,n\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
        records = open_table(data, cache=tmp_path / "cache")
        assert content(records) == rows
        assert records.fingerprint != before
    assert len(list((tmp_path / "cache").glob("table-*"))) == 1


def test_the_encoding_is_part_of_the_table(tmp_path: Path):
    """The same bytes in another encoding are another table."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n\xe4\n")
    assert open_table(path, cache=tmp_path / "c", encoding="latin-1").record(0) == {"a": "ä"}
    assert open_table(path, cache=tmp_path / "c", encoding="cp1251").record(0) == {"a": "д"}
    digests = {
        int(open_table(path, cache=tmp_path / "c", encoding=name).row_digests()[0])
        for name in ("latin-1", "cp1251", "latin-1")
    }
    assert len(digests) == 2


@pytest.mark.parametrize("how", ["cut", "flipped", "empty", "garbage", "gone", "swapped"])
@pytest.mark.parametrize("which", ["files.json", "table-*/header.json", "table-*/table.arrow", "rows-*/rows.npy"])
def test_a_damaged_cache_is_made_anew(data: Path, tmp_path: Path, how: str, which: str):
    """Whatever happens to a file of the cache, the data are right; and the next cache is whole again."""
    cache = tmp_path / "cache"
    first = open_table(data, cache=cache)
    expected = first.fingerprint, first.row_digests().tolist(), content(first)
    del first
    [path] = cache.glob(which)
    whole = path.read_bytes()
    rng = np.random.default_rng(len(how) + len(which))
    for _ in range(8):
        bad = bytearray(whole)
        if how == "flipped":
            at = int(rng.integers(len(bad)))
            bad[at] ^= 1 << int(rng.integers(8))
        path.unlink()  # another open table keeps its pages
        if how != "gone":
            path.write_bytes(
                {
                    "cut": whole[: int(rng.integers(len(whole)))],
                    "flipped": bytes(bad),
                    "empty": b"",
                    "garbage": rng.bytes(len(whole)),
                    "swapped": whole[len(whole) // 2 :] + whole[: len(whole) // 2],
                }[how]
            )
        again = open_table(data, cache=cache)
        assert (again.fingerprint, again.row_digests().tolist(), content(again)) == expected
        [path] = cache.glob(which)
        del again
    assert path.read_bytes() == whole


def test_a_cache_of_other_data_is_replaced(data: Path, tmp_path: Path):
    """A folder that holds another table is taken over; its leavings are removed."""
    other = write(tmp_path / "other.csv", [["a", "b"]])
    for path, rows in ((data, ROWS), (other, [["a", "b"]]), (data, ROWS)):
        records = open_table(path, cache=tmp_path / "cache")
        records.row_digests()
        assert content(records) == rows
        names = sorted(path.name.split("-")[0] for path in (tmp_path / "cache").iterdir())
        assert names == ["files.json", "rows", "rows.lock", "table", "table.lock"]


def test_no_temporary_files_are_left(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without a cache a temporary file is used, which goes with the records, at the end of a program, or on failure."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    records = open_table(data)
    assert list(tmp_path.glob("bela-*"))
    del records
    assert not list(tmp_path.glob("bela-*"))
    data.write_text("a,b\n1\n")
    with pytest.raises(DataError):
        open_table(data)
    assert not list(tmp_path.glob("bela-*"))
    write(data)
    script = f"from bela.data import open_table; records = open_table({str(data)!r}); print(records.n_rows)"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, check=True
    )
    assert done.stdout.strip() == b"3000"
    assert not list(tmp_path.glob("bela-*"))


def test_a_full_disk(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """When there is no room, the error says so, and nothing is left behind."""

    def no_room(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    cache = tmp_path / "cache"
    monkeypatch.setattr(store, "fit", no_room)
    with pytest.raises(DataError, match=r"cannot take the table: No space left on device; make room"):
        open_table(data, cache=cache)
    assert sorted(path.name for path in cache.iterdir()) == ["files.json", "table.lock"]


def test_a_folder_that_cannot_be_written_to(data: Path, tmp_path: Path):
    """A cache that is no folder is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/cache cannot"):
        open_table(data, cache=tmp_path / "file" / "cache")


def test_leavings_of_killed_processes_go(data: Path, tmp_path: Path):
    """What was not finished is removed by the next one who writes; only one can at a time."""
    left = tmp_path / "cache" / ".table-1-2"
    left.mkdir(parents=True)
    (left / "0.part").write_text("")
    open_table(data, cache=tmp_path / "cache")
    assert not left.exists()


def test_a_killed_reader_leaves_a_cache_that_works(tmp_path: Path):
    """Killed at any moment of the first reading, the next one is right."""
    data = write(tmp_path / "t.csv", [["word " * 40, str(i)] for i in range(60_000)])
    script = (
        "import sys; from pathlib import Path; from bela.data import open_table; print(flush=True); "
        f"open_table({str(data)!r}, cache=Path({str(tmp_path / 'cache')!r})).row_digests()"
    )
    for wait in (0.05, 0.2):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        records = open_table(data, cache=tmp_path / "cache")
        assert records.n_rows == 60_000
        assert records.record(59_999)["n"] == "59999"
        next((tmp_path / "cache").glob("table-*/header.json")).unlink()


def test_the_book_is_not_believed_when_damaged(data: Path, tmp_path: Path):
    """A digest that was tampered with is not taken for the file's."""
    cache = tmp_path / "cache"
    right = open_table(data, cache=cache).fingerprint
    book = cache / "files.json"
    check, _, text = book.read_text().partition("\n")
    changed = json.loads(text)
    changed["t.csv"][2] = "0" * 64
    book.write_text(f"{check}\n{json.dumps(changed)}")
    assert open_table(data, cache=cache).fingerprint == right


PEAK = """
import resource, sys
import numpy, pyarrow, pyarrow.compute
from bela.data import open_table
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
before = peak()
records = open_table(sys.argv[1])
records.row_digests()
assert sum(batch.num_rows for batch in records.batches()) == 120_000
print(peak() - before)
"""


def test_memory_stays_bounded(tmp_path: Path):
    """Reading, digesting and going through 120 MB takes less than that: the table is never in memory as a whole."""
    pytest.importorskip("resource")
    path = tmp_path / "big.csv"
    with path.open("w") as file:
        file.write("text,n\n")
        for _ in range(120):
            file.write(("x" * 990 + ",1\n") * 1000)
    done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, check=True, text=True)
    assert float(done.stdout) < 100


def test_records_outlive_their_cache(data: Path, tmp_path: Path):
    """A table that is open stays so when its cache is deleted or replaced."""
    cache = tmp_path / "cache"
    records = open_table(data, cache=cache)
    assert isinstance(records, ArrowTable)
    shutil.rmtree(cache)
    assert content(records) == ROWS
