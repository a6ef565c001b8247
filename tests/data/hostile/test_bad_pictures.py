"""Pictures that are made to harm: programs, bombs, pipes, files of somebody else."""

import io
import os
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Images

from bela.data import image_endings, open_image, open_table
from bela.data._files import is_inside, read_regular
from bela.errors import BelaError, DataError, QuestionError
from bela.features import prepare
from bela.views import Pictures

EPS = (
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n(/tmp/x) (w) file closefile\nshowpage\n%%EOF\n"
)


def png_bomb(width: int, height: int) -> bytes:
    """Return a PNG that says that it is this large, in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compressobj(9)
    data = rows.compress(bytes(min(height * (1 + (width + 7) // 8), 1 << 20))) + rows.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def many_scans(n: int) -> bytes:
    """Return a progressive JPEG that goes over all its pixels n times."""
    file = io.BytesIO()
    Images.fromarray(np.zeros((64, 64), np.uint8)).save(file, "JPEG", progressive=True)
    content = file.getvalue()
    start = content.rindex(b"\xff\xda")
    return content[:start] + content[start:-2] * n + content[-2:]


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be started."""

    def refuse(*args: object, **_: object) -> None:
        raise AssertionError(f"a program was started: {args}")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(subprocess, "check_call", refuse)


@pytest.mark.usefixtures("no_programs")
@pytest.mark.parametrize("name", ["a.eps", "a.png", "a.jpg"])
def test_no_program_is_started_for_a_picture(tmp_path: Path, name: str) -> None:
    """PostScript is a program, whatever its file is called, and Pillow has Ghostscript run it."""
    (tmp_path / name).write_bytes(EPS)
    with pytest.raises(DataError, match="format"):
        open_image(name, tmp_path, "row 0")
    with pytest.raises(DataError, match="format"):
        open_image(EPS, None, "row 0")
    table = open_table([{"picture": EPS}])
    with pytest.raises(DataError):
        Pictures(table, ("picture",)).picture(0, "picture")


def test_the_formats_are_named() -> None:
    """Those that people have, each read by Pillow itself; what it may learn in the future is not among them."""
    endings = image_endings()
    assert {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".webp", ".ppm"} <= endings
    assert not {".eps", ".ps", ".wmf", ".emf", ".pdf", ".mpg", ".h5", ".hdf", ".psd", ".fli", ".icns"} & endings


@pytest.mark.parametrize("size", [(10_000, 9_000), (100_000, 100_000), (2**31 - 1, 2**31 - 1)])
def test_pictures_have_a_largest_size_everywhere(tmp_path: Path, size: tuple[int, int]) -> None:
    """The same for features and for the page, before any pixel is made."""
    content = png_bomb(*size)
    (tmp_path / "a.png").write_bytes(content)
    for value, root in (("a.png", tmp_path), (content, None)):
        with pytest.raises(DataError, match="pixels"):
            open_image(value, root, "row 0")
    with pytest.raises(DataError, match="pixels"):
        Pictures(open_table([{"picture": content}]), ("picture",)).picture(0, "picture")


def test_a_picture_that_is_read_very_often_is_refused() -> None:
    """Each scan of a JPEG goes over all its pixels: a small file could take hours."""
    assert open_image(many_scans(2), None, "row 0").size == (64, 64)
    with pytest.raises(DataError, match="scans"):
        open_image(many_scans(1000), None, "row 0")


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices are those of POSIX")
def test_pictures_are_regular_files(tmp_path: Path) -> None:
    """Neither a pipe, which nobody writes to, nor a device, which never ends, nor a folder."""
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    for name in ("pipe.png", "folder.png"):
        with pytest.raises(DataError, match="regular file"):
            open_image(name, tmp_path, "row 0")
    with pytest.raises(DataError):
        open_image("/dev/zero", tmp_path, "row 0")
    with pytest.raises(DataError, match="regular file"):
        open_image("/dev/zero", None, "row 0")  # data in memory may name any file


def test_a_picture_file_has_a_largest_size(tmp_path: Path) -> None:
    """No more of a file is read than a picture can take."""
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(1 << 40)  # takes no room on disk
    with pytest.raises(DataError, match="MB"):
        open_image("a.png", tmp_path, "row 0")


@pytest.mark.parametrize("how", ["absolute", "up", "link"])
def test_pictures_lie_in_the_folder_of_the_data(tmp_path: Path, how: str) -> None:
    """What is not below it is neither shown nor learned from, or a table that somebody sends could name any file."""
    outside, data = tmp_path / "outside.png", tmp_path / "data"
    Images.new("L", (8, 8)).save(outside)
    data.mkdir()
    (data / "link.png").symlink_to(outside)
    name = {"absolute": str(outside), "up": "../outside.png", "link": "link.png"}[how]
    with pytest.raises(DataError, match="outside"):
        open_image(name, data, "row 0")
    (data / "table.csv").write_text(f"picture,number\n{name},1\n{name},2\n")
    with pytest.raises(QuestionError, match="inside"):
        Pictures(open_table(data / "table.csv"), ("picture",)).picture(0, "picture")


@pytest.mark.skipif(os.name != "posix", reason="links need no rights there")
def test_a_path_is_inside_where_its_real_place_is(tmp_path: Path) -> None:
    """Links, steps up through links, and names of nothing: what is below by its words must be so on disk as well."""
    data, other = tmp_path / "data", tmp_path / "other"
    for folder in (data / "a" / "b", other / "c"):
        folder.mkdir(parents=True)
        (folder / "x.png").touch()
    (data / "out").symlink_to(other)
    (data / "within").symlink_to(data / "a")
    (data / "deep").symlink_to(data / "a" / "b")
    (tmp_path / "alias").symlink_to(data)
    names = [
        "a/b/x.png", "a/none.png", "none/at/all", "out/c/x.png", "within/b/x.png", "deep/../b/x.png", "out/../x.png",
        "a/b/x.png/y", "../other/c/x.png", "../data/a/b/x.png", "../data-not", "a/../../other/c/x.png", "", ".",
    ]  # fmt: skip
    for root in (data, tmp_path / "alias", tmp_path / "other" / ".." / "data", other / "c"):
        for path in [root / name for name in names]:
            words = os.path.abspath(path).startswith(os.path.abspath(root) + os.sep)
            real = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
            assert is_inside(root, path) == (words and real), (root, path)
    assert not is_inside(data, data / "a\0b")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="files that say no size are those of Linux")
def test_all_of_a_file_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is longer than it says, as one that grows while it is read."""
    assert read_regular(Path("/proc/self/status"), "status", 1 << 20).startswith(b"Name:")
    assert len(read_regular(Path("/proc/self/status"), "status", 100)) == 100
    (tmp_path / "a").write_bytes(b"12345")
    assert read_regular(tmp_path / "a", "a", 5) == b"12345"
    as_it_was = (tmp_path / "a").stat()
    (tmp_path / "a").write_bytes(b"1234567890")
    monkeypatch.setattr(os, "fstat", lambda handle: as_it_was)
    assert [read_regular(tmp_path / "a", "a", most) for most in (5, 7, 99)] == [b"12345", b"1234567", b"1234567890"]


def test_one_bad_picture_among_many_is_set_aside(tmp_path: Path) -> None:
    """And the others are worked with."""
    rng = np.random.default_rng(0)
    for i in range(12):
        Images.fromarray(rng.integers(0, 255, (16, 16), np.uint8)).save(tmp_path / f"{i}.png")
    (tmp_path / "bomb.png").write_bytes(png_bomb(100_000, 100_000))
    (tmp_path / "eps.png").write_bytes(EPS)
    prepared = prepare(tmp_path)
    assert len(prepared.unreadable) == 2


@pytest.mark.parametrize(
    "content",
    [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a" + b"\xff" * 30, b"RIFF\xff\xff\xff\xffWEBP", b"II*\0" + b"\xff" * 40],
)
def test_damaged_pictures_are_an_error_of_ours(content: bytes) -> None:
    """Whatever a reader makes of it."""
    with pytest.raises(BelaError):
        open_image(content, None, "row 0")
