"""Yeses of the user: for a digest, kept in a file that nobody else can write to."""

import os
from pathlib import Path

import pytest

from bela.storage import allow, config_folder, digest_of, is_allowed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own for the settings of the user, which is not there yet."""
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "config" / "bela"))
    return tmp_path / "config" / "bela"


def test_a_yes_is_for_one_digest(folder: Path) -> None:
    """And what is another by a byte, or of another kind, has none."""
    digest = digest_of("code", "m:f", b"x = 1")
    assert not is_allowed(digest)
    allow(digest, "the function m:f")
    allow(digest, "the function m:f")
    allow(digest_of("address", "http://localhost"), "an address")
    assert is_allowed(digest)
    assert not is_allowed(digest_of("code", "m:f", b"x = 2"))
    assert not is_allowed(digest_of("address", "m:f", b"x = 1"))


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
def test_nobody_else_can_write_or_read_it(folder: Path) -> None:
    """Mode 0600; a file that others may have written to counts for nothing."""
    digest = digest_of("code", "m:f")
    allow(digest, "the function m:f")
    (file,) = folder.glob("*.json")
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    file.chmod(0o620)
    assert not is_allowed(digest)


def test_a_damaged_file_allows_nothing(folder: Path) -> None:
    """And is no error; the next yes begins anew."""
    digest = digest_of("code", "m:f")
    allow(digest, "the function m:f")
    (file,) = folder.glob("*.json")
    file.write_bytes(file.read_bytes()[:-3])
    assert not is_allowed(digest)
    allow(digest, "the function m:f")
    assert is_allowed(digest)


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The yes is good for once then, and asked for again."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "file" / "bela"))
    allow("00", "anything")
    assert not is_allowed("00")


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the other settings of the user, unless told otherwise."""
    monkeypatch.delenv("BELA_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    assert config_folder() == tmp_path / "bela"
