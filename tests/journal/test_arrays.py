"""Arrays that may vanish, and are never trusted when damaged."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bela.journal import FolderStore
from bela.protocols import ArrayStore

ARRAYS = [np.arange(6).reshape(2, 3), np.array([0.5, np.nan], dtype=np.float32), np.zeros(0, dtype=bool), np.array(7)]


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """A store with some arrays in it."""
    made = FolderStore(tmp_path / "cache" / "revisions")
    made.save("name", ARRAYS)
    return made


def test_what_is_kept_comes_back(store: FolderStore) -> None:
    """Arrays come back as they were, in their order, of the same types; others under their own names."""
    assert isinstance(store, ArrayStore)
    found = store.load("name")
    assert found is not None
    assert len(found) == len(ARRAYS)
    for one, other in zip(found, ARRAYS, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    store.save("name", ARRAYS[:1])
    again = store.load("name")
    assert again is not None
    assert len(again) == 1
    assert store.load("other") is None
    many = [np.array([i]) for i in range(12)]  # more than one digit in a name
    store.save("many", many)
    assert [int(array[0]) for array in store.load("many") or ()] == list(range(12))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_damage_is_absence(store: FolderStore, place: float, value: int) -> None:
    """A file with a byte flipped (or cut short, for 0) is as good as none."""
    path = store.folder / "name.arrays"
    store.save("name", ARRAYS)
    content = bytearray(path.read_bytes())
    if value:
        content[int(place * len(content))] ^= value
    path.write_bytes(content if value else content[: int(place * len(content))])
    assert store.load("name") is None


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    """Where nothing can be kept, nothing is kept, and nobody is disturbed."""
    (tmp_path / "file").write_text("in the way")
    store = FolderStore(tmp_path / "file" / "revisions")
    store.save("name", ARRAYS)
    assert store.load("name") is None


def test_nothing_is_left_lying_about(store: FolderStore) -> None:
    """Half-written files of processes that were killed go after a while; those of others at work stay."""
    old, new = store.folder / "old.part", store.folder / "new.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    FolderStore(store.folder).save("more", ARRAYS)
    assert sorted(path.name for path in store.folder.iterdir()) == ["more.arrays", "name.arrays", "new.part"]
