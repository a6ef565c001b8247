"""Arrays as records: in memory, mapped from files, sparse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from bela.data import ArraySource, ArrayTable, open_table
from bela.errors import DataError
from bela.protocols import Table

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def opened(data: Any) -> ArrayTable:
    records = open_table(data)
    assert isinstance(records, ArrayTable)
    return records


def test_the_array_is_there_as_it_is(tmp_path: Path):
    """Features can be taken from `array`, with no detour and no copy; a file is mapped, not read."""
    assert opened(X).array is X
    np.save(tmp_path / "x.npy", X)
    records = opened(tmp_path / "x.npy")
    assert isinstance(records.array, np.memmap)
    assert (records.columns, records.main, records.root) == (("features",), "features", tmp_path)
    assert records.record(1) == {"features": [3.0, 4.0, 5.0]}
    assert ArraySource(records.array).n_features == 3
    assert (records.row_digests() == opened(X).row_digests()).all()
    assert records.column("features").type == pa.list_(pa.float32(), 3)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_have_columns(tmp_path: Path, save: Any):
    """The arrays of an archive are columns, X or the only matrix is the main one; single values are no columns."""
    y = np.array(["cat", "dog", "", "é"])
    save(tmp_path / "x.npz", label=y, images=np.zeros((4, 2, 2)), version=3)
    records = opened(tmp_path / "x.npz")
    assert (records.columns, records.main) == (("label", "images"), "images")
    assert records.array.shape == (4, 2, 2)
    assert isinstance(records.array, np.memmap) == (save is np.savez)
    assert records.record(3) == {"label": "é", "images": [[0.0, 0.0], [0.0, 0.0]]}
    save(tmp_path / "x.npz", X=np.asfortranarray(X), Z=X)
    records = opened(tmp_path / "x.npz")
    assert (records.main, records.array.tolist()) == ("X", X.tolist())
    save(tmp_path / "x.npz", a=np.arange(4), b=y)
    assert opened(tmp_path / "x.npz").record(1) == {"a": 1, "b": "dog"}


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"a": X, "b": X}, "must have its features in an array named X"),
        ({"X": X, "y": np.arange(5)}, "different numbers of rows .X 4, y 5."),
        ({"n": np.array(3)}, "no array with rows"),
        ({"X": X[:0]}, "no rows"),
        ({"X": np.array([None])}, "Python objects"),
    ],
)
def test_archives_that_are_no_rows(tmp_path: Path, arrays: dict[str, Any], says: str):
    """Each fault is told in one sentence."""
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=says):
        open_table(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_files_cut_anywhere(tmp_path: Path, name: str):
    """A file that is cut short is refused wherever it ends."""
    path = tmp_path / name
    (np.savez if name.endswith("z") else np.save)(path, X)
    whole = path.read_bytes()
    for end in [*range(0, len(whole), 13), len(whole) - 1]:
        path.write_bytes(whole[:end])
        with pytest.raises(DataError, match=r"cut short|no array") as caught:
            open_table(path)
        assert "\n" not in str(caught.value)
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        open_table(tmp_path / "x.npy")


def test_sparse_rows():
    """A sparse row is what is not zero in it; how it is kept changes no digest."""
    dense = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]])
    records = opened(sparse.coo_matrix(dense))
    assert isinstance(records, Table)
    assert [*records.iter_records()] == [
        {"features": {"indices": [1], "values": [1.5]}},
        {"features": {"indices": [], "values": []}},
        {"features": {"indices": [0, 2], "values": [2.0, 3.0]}},
    ]
    assert records.record(2) == [*records.iter_records()][2]
    assert (records.array.toarray() == dense).all()
    stuffed = sparse.csr_array((np.array([0.0, 1.5]), np.array([0, 1]), np.array([0, 2, 2, 2])), shape=(3, 3))
    assert (opened(stuffed).row_digests()[:2] == records.row_digests()[:2]).all()
    assert opened(stuffed).row_digests()[2] != records.row_digests()[2]
    assert len(set(records.row_digests().tolist())) == 3


def test_digests_see_every_bit():
    """Any value that changes, in any place, changes the digest of its row; shape and type count."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(50, 7, 3)).astype(np.float32)
    before = opened(data).row_digests()
    assert len(set(before.tolist())) == 50
    for _ in range(50):
        at = tuple(rng.integers(n) for n in data.shape)
        changed = data.copy()
        changed[at] = np.nextafter(changed[at], np.float32(9))
        assert np.flatnonzero(opened(changed).row_digests() != before).tolist() == [at[0]]
    assert not (opened(data.reshape(50, 21)).row_digests() == before).any()
    assert (opened(np.asfortranarray(data).astype(">f4")).row_digests() == before).all()
    assert opened(data).fingerprint != opened(data[::-1]).fingerprint
