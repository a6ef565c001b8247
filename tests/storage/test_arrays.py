"""Arrays of a campaign: they come back as they were, and what does not is an error."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bela.storage
from bela.errors import JournalError, ParameterError
from bela.protocols import ArrayStore
from bela.storage import FolderStore, MemoryArrays, _mapped, empty_array

STORES: dict[str, Callable[[Path], ArrayStore]] = {
    "FolderStore": lambda folder: FolderStore(folder / "campaign" / "revisions"),
    "MemoryArrays": lambda folder: MemoryArrays(),
}
ARRAYS = [np.arange(6).reshape(2, 3), np.array([0.5, np.nan], dtype=np.float32), np.zeros(0, dtype=bool), np.array(7)]
DTYPES = hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | hnp.byte_string_dtypes()


@pytest.fixture(params=[False, True], ids=["small", "large"])
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether arrays are taken for large ones, which are mapped."""
    if request.param:
        monkeypatch.setattr(_mapped, "LARGE", -1)
    return bool(request.param)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, large: bool) -> ArrayStore:
    """An empty store of each kind."""
    return STORES[request.param](tmp_path)


@pytest.fixture
def folder_store(tmp_path: Path, large: bool) -> FolderStore:
    """A folder with some arrays in it."""
    made = FolderStore(tmp_path / "revisions")
    made.save("name", ARRAYS)
    return made


def test_every_store_is_here() -> None:
    """A class that the package exports as a store of arrays runs through these laws."""
    exported = {name for name in bela.storage.__all__ if hasattr(getattr(bela.storage, name), "load")}
    assert exported == set(STORES)


def test_it_keeps_the_protocol(store: ArrayStore) -> None:
    """A store is what the seam says, and starts empty."""
    assert isinstance(store, ArrayStore)
    with pytest.raises(JournalError, match=r"there (is|are) no .*name"):
        store.load("name")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arrays=st.lists(hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)), max_size=3))
def test_arrays_come_back_as_they_were(store: ArrayStore, arrays: list[np.ndarray]) -> None:
    """Types, byte orders, shapes and values are those that were saved, to the last bit."""
    store.save("name", arrays)
    found = store.load("name")
    assert [(a.dtype.str, a.shape, a.tobytes()) for a in found] == [(a.dtype.str, a.shape, a.tobytes()) for a in arrays]


def test_names_are_kept_apart(store: ArrayStore) -> None:
    """Each name has its own arrays, in their order, the latest of them."""
    store.save("name", ARRAYS)
    store.save("many", [np.array([i]) for i in range(12)])  # more than one digit in a name
    store.save("name", ARRAYS[:1])
    assert len(store.load("name")) == 1
    assert [int(array[0]) for array in store.load("many")] == list(range(12))


def test_nobody_changes_what_was_kept(store: ArrayStore) -> None:
    """Arrays are kept as they were when they were saved, whatever is done to them before or after."""
    array = np.zeros(3)
    store.save("name", [array])
    array[0] = 1
    store.load("name")[0][1] = 1
    np.testing.assert_array_equal(store.load("name")[0], np.zeros(3))


@pytest.mark.parametrize("name", ["", "../name", "a/b", "a\\b", ".hidden", "a\0b", "a:b", "name\n"])
def test_names_stay_in_the_folder(store: ArrayStore, name: str) -> None:
    """A name that could be a path is refused."""
    with pytest.raises(ParameterError, match="arrays are named"):
        store.save(name, ARRAYS)
    with pytest.raises(ParameterError, match="arrays are named"):
        store.load(name)


def test_objects_are_refused(store: ArrayStore) -> None:
    """What could only be kept as a pickle is not kept."""
    with pytest.raises(ParameterError, match="Python objects"):
        store.save("name", [np.array(["a", None], dtype=object)])


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_damage_is_an_error(folder_store: FolderStore, place: float, value: int) -> None:
    """A file with a byte flipped (or cut short, for 0) is refused, with its name."""
    path = folder_store.folder / "name.arrays"
    folder_store.save("name", ARRAYS)
    content = bytearray(path.read_bytes())
    if value:
        content[int(place * len(content))] ^= value
    path.write_bytes(content if value else content[: int(place * len(content))])
    with pytest.raises(JournalError, match=r"name\.arrays is damaged: restore"):
        folder_store.load("name")


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    """Where nothing can be kept, whoever saves is told so."""
    (tmp_path / "file").write_text("in the way")
    store = FolderStore(tmp_path / "file" / "revisions")
    with pytest.raises(JournalError, match=r"name\.arrays cannot be written: Not a directory"):
        store.save("name", ARRAYS)
    with pytest.raises(JournalError, match=r"name\.arrays"):
        store.load("name")


def test_nothing_is_lost_where_a_write_fails(folder_store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the arrays that were there stay, and no half of a file."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(JournalError, match="No space left"):
            folder_store.save("name", ARRAYS[:1])
    assert len(folder_store.load("name")) == len(ARRAYS)
    assert [path.name for path in folder_store.folder.iterdir()] == ["name.arrays"]


def test_nothing_is_left_lying_about(folder_store: FolderStore) -> None:
    """Half-written files of processes that were killed go after a while; those of others at work stay."""
    old, new = folder_store.folder / "name.arrays.1-1.part", folder_store.folder / "name.arrays.2-2.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    folder_store.save("name", ARRAYS)
    assert sorted(path.name for path in folder_store.folder.iterdir()) == ["name.arrays", "name.arrays.2-2.part"]


def test_a_large_array_is_mapped_and_a_small_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for many rows is made in a file, which is gone from its folder at once."""
    monkeypatch.setattr(_mapped, "LARGE", 100)
    assert not isinstance(empty_array((10,), np.int64), np.memmap)
    array = empty_array((20, 3), np.int16)
    assert isinstance(array, np.memmap)
    array[:] = 7
    assert int(array.sum()) == 7 * 60


def test_a_large_array_is_in_memory_where_the_disk_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its room is taken before anybody writes to it: a mapped page without room would end the process (SIGBUS)."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(_mapped, "LARGE", 100)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        array = empty_array((1000, 3), np.int64)
        array[:] = 7
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not isinstance(array, np.memmap)
    assert int(array.sum()) == 7 * 3000


def test_arrays_that_are_mapped_are_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in a file stays there until somebody looks at it, and each array begins where processors like it."""
    monkeypatch.setattr(_mapped, "LARGE", -1)
    store = FolderStore(tmp_path)
    store.save("name", [np.arange(5, dtype=np.int8), np.arange(1000.0)])
    few, many = store.load("name")
    assert isinstance(many, np.memmap)
    assert few.tolist() == [0, 1, 2, 3, 4]
    assert many.ctypes.data % 8 == 0
    assert float(many.sum()) == 499_500.0
