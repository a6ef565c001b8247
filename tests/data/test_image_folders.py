"""Folders of images: stable rows, labels by folder, digests of what is in the images."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bela.data import _files as files
from bela.data import column_labels, open_table
from bela.errors import DataError
from bela.protocols import Table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images of several formats in several folders, among other things."""
    root = tmp_path / "pets"
    for i, name in enumerate(
        ["b.png", "a.JPG", "cat/2.webp", "cat/10.bmp", "cat/old/1.gif", "dog/x.tiff", "_d/é 🙈.png"]
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (i, 0, 0)).save(root / name)
    (root / "README.md").write_text("hello")
    (root / ".hidden.png").write_text("no image")
    (root / "__MACOSX").mkdir()
    shutil.copy(root / "b.png", root / "__MACOSX" / "b.png")
    (root / "cat" / "Thumbs.db").write_text("")
    (root / "labels.csv").write_text("a,b\n1,2\n")
    return root


PATHS = ["_d/é 🙈.png", "a.JPG", "b.png", "cat/10.bmp", "cat/2.webp", "cat/old/1.gif", "dog/x.tiff"]


def test_rows_are_images_in_the_order_of_their_paths(folder: Path):
    """Every format of Pillow, subfolders too, hidden files not; the folder is the label, and none at the top."""
    records = open_table(folder)
    assert isinstance(records, Table)
    assert records.columns == ("path", "folder")
    assert records.column("path").to_pylist() == PATHS
    assert (records.root, records.n_rows) == (folder, 7)
    assert records.record(3) == {"path": "cat/10.bmp", "folder": "cat"}
    assert column_labels(records, "folder") == {0: "_d", 3: "cat", 4: "cat", 5: "old", 6: "dog"}
    assert all((folder / path).is_file() for path in PATHS)


def test_a_copy_is_the_same_data(folder: Path, tmp_path: Path):
    """Digests are of the content: a copy elsewhere, with other times, has the same; a changed pixel shows."""
    records = open_table(folder)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)
    assert open_table(copy).fingerprint == records.fingerprint
    assert (open_table(copy).row_digests() == records.row_digests()).all()
    Image.new("RGB", (4, 4), (99, 0, 0)).save(copy / "cat" / "10.bmp")
    changed = open_table(copy)
    assert np.flatnonzero(changed.row_digests() != records.row_digests()).tolist() == [3]
    assert changed.fingerprint != records.fingerprint
    (copy / "b.png").rename(copy / "z.png")
    assert open_table(copy).row_digests()[-1] != records.row_digests()[2]


def test_images_are_read_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With a cache, only images whose size or time has changed are read again."""
    for path in PATHS:
        os.utime(folder / path, (1_600_000_000, 1_600_000_000))
    seen: list[str] = []
    real = files._sha256

    def spy(file: files.DataFile, tell: Callable[[int], object]) -> str:
        seen.append(file.name)
        return real(file, tell)

    monkeypatch.setattr(files, "_sha256", spy)
    told: list[tuple[str, float]] = []
    first = open_table(folder, cache=tmp_path / "cache", progress=lambda words, share: told.append((words, share)))
    assert seen == []  # not before somebody asks
    fingerprint, digests = first.fingerprint, first.row_digests()
    assert seen == PATHS
    assert [words for words, _ in told] == ["checking the files"] * 7
    os.utime(folder / "b.png", (1_600_000_001, 1_600_000_001))
    again = open_table(folder, cache=tmp_path / "cache")
    assert (again.fingerprint, again.row_digests().tolist()) == (fingerprint, digests.tolist())
    assert seen == [*PATHS, "b.png"]


def test_folders_with_nothing_in_them(tmp_path: Path):
    """A folder without rows is refused, with what it might have held."""
    with pytest.raises(DataError, match="no images in it, and no files of one table"):
        open_table(tmp_path)
    with pytest.raises(DataError, match="there is no file or folder"):
        open_table(tmp_path / "nothing")
    (tmp_path / "x.docx").touch()
    with pytest.raises(DataError, match=r"ends in none of .*\.csv"):
        open_table(tmp_path / "x.docx")
    with pytest.raises(DataError, match="cannot be read"):
        open_table("x" * 5000)


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names are always text here")
def test_a_name_that_is_no_text(tmp_path: Path):
    """A file name that cannot be shown is named as well as it can be."""
    Image.new("L", (2, 2)).save(tmp_path / "ok.png")
    os.rename(tmp_path / "ok.png", os.fsencode(tmp_path) + b"/bad\xff.png")
    with pytest.raises(DataError, match=r"name is no text \('bad\\udcff\.png'\)"):
        open_table(tmp_path)
