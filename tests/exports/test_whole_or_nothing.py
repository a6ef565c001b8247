"""An export is complete, with its own certificate, or absent: whatever happens while it is written."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pyarrow as pa
import pytest
from filelock import FileLock

from bela.errors import DataError, ExportError
from bela.exports import EXPORTS, check_export, export, read_certificate

HERE = Path(__file__).parent
TABLES = SimpleNamespace(**runpy.run_path(str(HERE / "tables.py")))

only_posix = pytest.mark.skipif(os.name != "posix", reason="needs signals, fork and resource limits")


@pytest.fixture
def folder(tmp_path):
    """A folder in memory where there is one: hundreds of writes that wait for the disk take their time."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder in it has a name of its own
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory) as name:
        yield Path(name)


def crash(*arguments):
    """What the script says that dies while it exports."""
    command = [sys.executable, str(HERE / "crashing.py"), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@only_posix
@pytest.mark.parametrize("name", ["label-studio", "hf"])
def test_death_at_any_step_leaves_a_whole_export_or_none(name, folder):
    """Dying before each step on disk leaves nothing, the old export or the new one; the next export cleans up.

    If the old one was out of the way when the process died, the next export puts it back.
    """
    found = crash(folder / "out", name)
    assert len(found) > 30
    assert {case["version"] for case in found if case["replacing"]} == {0, None, 1}
    assert {case["version"] for case in found if not case["replacing"]} == {None, 1}
    for case in found:
        assert case["problems"] == []
        assert case["hidden"] == []
        assert case["after"] in ((0, 1) if case["replacing"] else (None, 1))
        assert not case["done"] or case["version"] == case["after"] == 1


@only_posix
@pytest.mark.parametrize("name", ["csv", "parquet", "hf"])
def test_killed_at_random_moments(name, folder):
    """`kill -9` at a random moment leaves a whole export of one of the versions, or none."""
    target = folder / "out"
    assert all(case["problems"] == [] for case in crash(target, name, 10))
    export(*TABLES.some_rows(100), target, format=name)
    assert check_export(target) == []
    assert [entry for entry in os.listdir(folder) if entry.startswith(".")] == []


FULL_DISK = """
import resource, runpy, sys
from pathlib import Path
from bela.errors import ExportError
from bela.exports import EXPORTS, export
records, result = runpy.run_path(sys.argv[1])["some_rows"](20_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
for name in EXPORTS:
    try:
        export(records, result, Path(sys.argv[2], "out"), format=name)
        print(name, "was written")
    except ExportError as error:
        print(error)
"""


@only_posix
def test_a_full_disk_is_a_clear_error_and_leaves_nothing(folder):
    """No room on the disk: one sentence for each format, and not one file more than before."""
    command = [sys.executable, "-W", "error", "-c", FULL_DISK, str(HERE / "tables.py"), str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert len(lines) == len(EXPORTS.names)
    assert all("there is not enough room on the disk" in line for line in lines), lines
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", EXPORTS.names)
def test_an_error_halfway_keeps_what_was_there(name, tmp_path):
    """Data that break off while they are read: an error, and the export from before as it was."""
    records, result = TABLES.some_rows(3000)
    target = export(records, result, tmp_path / "out", format=name)
    before = read_certificate(target)

    class Broken(type(records)):
        def batches(self, columns=None):
            for i, batch in enumerate(super().batches(columns)):
                if i == 2:
                    return
                yield batch

    if name != "snorkel":  # which does not read the data
        with pytest.raises(DataError, match="no longer do"):
            export(Broken(records.table, block=1000), result, target, format=name)
    assert read_certificate(target) == before
    assert check_export(target) == []
    assert [entry for entry in os.listdir(tmp_path) if entry.startswith(".")] == []


def test_one_writer_at_a_time(tmp_path):
    """A second export to the same place is refused while the first is at work; the first is not disturbed."""
    records, result = TABLES.some_rows(10)
    hidden = tmp_path / ".out.csv.bela-export"
    hidden.mkdir()
    (hidden / "new").mkdir()
    with FileLock(hidden / "lock"):
        with pytest.raises(ExportError, match="another export"):
            export(records, result, tmp_path / "out.csv")
        export(records, result, tmp_path / "other.csv")
        assert (hidden / "new").is_dir()
    export(records, result, tmp_path / "other.csv")
    assert not hidden.exists()


@only_posix
@pytest.mark.parametrize("targets", ["one", "several"])
def test_exports_side_by_side_do_not_disturb_each_other(targets, folder):
    """Four at once into one folder, to one place or to four: each is written whole, or told that another is at work."""
    refused = [case["refused"] for case in crash(folder, targets, 60)]
    assert all(targets == "one" and sentence.startswith("another export") for sentence in refused), refused
    names = sorted(path.name for path in folder.glob("*.csv"))
    assert len(names) == (1 if targets == "one" else 4)
    assert all(check_export(folder / name) == [] for name in names)
    assert sorted(os.listdir(folder)) == sorted([*names, *(f"{name}.certificate.json" for name in names)])


def test_memory_does_not_grow_with_the_data(tmp_path):
    """Eighty blocks go through one after the other: a few of them are held at any time."""
    text = "x" * 1000
    block = pa.record_batch({"text": [text] * 200})

    class Long:
        n_rows, columns, fingerprint, root = 16_000, ("text",), "f00d", None

        def batches(self, columns=None):
            for _ in range(80):
                yield pa.record_batch({"text": [text] * 200})

        def iter_records(self):
            yield from ({"text": text} for _ in range(self.n_rows))

    result = TABLES.make_result(["a", "b"] * 8000)
    for name in ("csv", "jsonl", "label-studio"):
        start, seen = pa.total_allocated_bytes(), []
        path = tmp_path / f"out.{name}"
        export(
            Long(), result, path, format=name, progress=lambda *_, seen=seen: seen.append(pa.total_allocated_bytes())
        )
        assert path.stat().st_size > 16e6
        assert len(seen) == 80
        assert max(seen) - start < 12 * block.nbytes
