"""Features on disk: computed once, renewed when anything changes, complete or absent."""

import os
import runpy
import time
from pathlib import Path

import numpy as np
import pytest

from bela.errors import BelaError, DataError
from bela.features import compute_features, plan_features
from bela.features._source import NpyWriter
from bela.storage import read_checked, write_checked

RECORDS = runpy.run_path(str(Path(__file__).with_name("table_records.py")))
ArrowTable = RECORDS["ArrowTable"]
RNG = np.random.default_rng(0)
WORDS = ["red", "green", "blue", "cat", "dog", "sun", "moon", "tree"]


class Counted(ArrowTable):
    """Table that count how often they are gone through."""

    n_passes = 0

    def batches(self, columns=None):
        self.n_passes += 1
        yield from super().batches(columns)


def records(n=300, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(n)]
    return Counted({"text": texts, "price": rng.normal(size=n)})


def only(cache):
    (folder,) = cache.glob("features-*")
    return folder


def test_the_second_opening_computes_nothing(tmp_path):
    """Opening the cache reads no rows, is quick, and gives the same features."""
    data = records()
    plan = plan_features(data)
    first = compute_features(data, plan, cache=tmp_path / "new" / "cache")
    data.n_passes = 0
    start = time.perf_counter()
    second = compute_features(data, plan, cache=tmp_path / "new" / "cache")
    assert time.perf_counter() - start < 1
    assert data.n_passes == 0
    np.testing.assert_array_equal(first.prepared.dense, second.prepared.dense)
    np.testing.assert_array_equal(first.prepared.columns, second.prepared.columns)
    assert (first.prepared.linear != second.prepared.linear).nnz == 0


def test_a_cache_is_as_good_as_none(tmp_path):
    """Features from a cache and without are the same."""
    data = records()
    plan = plan_features(data)
    kept, fresh = compute_features(data, plan, cache=tmp_path), compute_features(data, plan)
    np.testing.assert_array_equal(kept.prepared.dense, fresh.prepared.dense)


def test_features_are_mapped_not_read(tmp_path):
    """The arrays are views of files, read-only."""
    data = records()
    dense = compute_features(data, plan_features(data), cache=tmp_path).prepared.dense
    assert not dense.flags.writeable
    assert isinstance(dense.base, np.memmap)


@pytest.mark.parametrize("change", ["data", "plan", "seed"])
def test_a_change_renews_the_features(tmp_path, change):
    """Other data, another plan or another seed: computed anew, and what is outdated is removed."""
    data = records()
    plan = plan_features(data)
    compute_features(data, plan, cache=tmp_path)
    old = only(tmp_path)
    if change == "data":
        data = records(seed=1)
    elif change == "plan":
        plan = plan_features(data, kinds={"price": "ignored"})
    data.n_passes = 0
    compute_features(data, plan, cache=tmp_path, seed=1 if change == "seed" else 0)
    assert data.n_passes > 0
    assert only(tmp_path) != old


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def lengthen(path):
    path.write_bytes(path.read_bytes() + b"1234")


def zero(path):
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("name", ["dense.npy", "values.npy", "places.npy", "pointer.npy", "columns.npy", "header.json"])
@pytest.mark.parametrize("damage", [cut, lengthen, zero, os.unlink])
def test_a_damaged_cache_is_rebuilt(tmp_path, name, damage):
    """Files that are cut, too long, full of zeros or gone: computed anew, the same as before."""
    data = records(80)
    plan = plan_features(data)
    before = np.array(compute_features(data, plan, cache=tmp_path).prepared.dense)
    damage(only(tmp_path) / name)
    after = compute_features(data, plan, cache=tmp_path).prepared.dense
    np.testing.assert_array_equal(before, after)
    data.n_passes = 0
    compute_features(data, plan, cache=tmp_path)
    assert data.n_passes == 0


def test_a_header_of_another_key_is_not_believed(tmp_path):
    """What the features were made from is compared in full, not by the folder's name."""
    data = records(80)
    plan = plan_features(data)
    compute_features(data, plan, cache=tmp_path)
    header = only(tmp_path) / "header.json"
    write_checked(header, {**read_checked(header), "key": "0" * 64})
    data.n_passes = 0
    compute_features(data, plan, cache=tmp_path)
    assert data.n_passes > 0


def test_an_interrupted_computation_leaves_nothing(tmp_path):
    """Neither features nor rubbish; and what a killed process left behind goes with the next computation."""
    data = records()
    plan = plan_features(data)

    def stop(what, share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute_features(data, plan, cache=tmp_path, progress=stop)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    left = tmp_path / ".features-killed"
    left.mkdir()
    (left / "dense.npy").write_bytes(b"half")
    compute_features(data, plan, cache=tmp_path)
    assert not left.exists()


def test_without_a_cache_the_files_go_with_the_source(tmp_path, monkeypatch):
    """Nothing is left in the temporary folder, errors included."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = records()
    source = compute_features(data, plan_features(data))
    assert list(tmp_path.iterdir())
    del source
    assert not list(tmp_path.iterdir())
    plan = plan_features(data)
    data.batches = lambda columns: iter(())
    with pytest.raises(DataError):
        compute_features(data, plan)
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_written(tmp_path):
    """A file in the place of the folder gets one sentence."""
    (tmp_path / "cache").write_text("here I am")
    data = records()
    with pytest.raises(BelaError, match="cannot take the features"):
        compute_features(data, plan_features(data), cache=tmp_path / "cache")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_gets_one_sentence(tmp_path, monkeypatch):
    """No room: the error says so, and nothing half-written stays."""
    opened = Path.open

    def full(path, mode="r", **options):
        return opened(Path("/dev/full") if path.name == "dense.npy" and "w" in mode else path, mode, **options)

    data = records()
    plan = plan_features(data)
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(BelaError, match="cannot take the features: No space left on device"):
        compute_features(data, plan, cache=tmp_path)
    assert not list(tmp_path.glob("*features-*"))


@pytest.mark.parametrize("shape", [(0, 3), (5,), (2, 3), (1000, 7)])
def test_what_is_written_block_by_block_is_an_ordinary_file(tmp_path, shape):
    """NumPy reads it."""
    array = RNG.normal(size=shape).astype(np.float32)
    with NpyWriter(tmp_path / "a.npy", np.float32) as writer:
        for start in range(0, max(len(array), 1), 300):
            writer.append(array[start : start + 300])
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)
