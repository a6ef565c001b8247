"""Datasets by name: the IDX reader, where files are looked for, what happens without a network."""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from bela.data import DATASETS, cache_folder, load_dataset
from bela.data import _datasets as datasets
from bela.data._datasets import read_idx, write_idx
from bela.errors import DataError, DatasetNotFound, ParameterError

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
HAS_MNIST = (Path(os.environ.get("BELA_DATA", "")) / "mnist" / f"{IMAGES}.gz").is_file()


def idx_bytes(array: np.ndarray[Any, Any]) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def small_mnist(monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A dataset of 20 pictures that goes by the name of MNIST, with its checksums."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (20, 28, 28)), rng.integers(0, 10, 20)
    known = replace(
        datasets._IDX_DATASETS["mnist"],
        images_sha256=hashlib.sha256(idx_bytes(images)).hexdigest(),
        labels_sha256=hashlib.sha256(idx_bytes(labels)).hexdigest(),
    )
    monkeypatch.setitem(datasets._IDX_DATASETS, "mnist", known)
    return images, labels


@pytest.fixture
def empty_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No BELA_DATA, and a cache with nothing in it."""
    monkeypatch.delenv("BELA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("compressed", [True, False])
def test_reading_gives_back_what_was_written(tmp_path: Path, compressed: bool) -> None:
    """An IDX file reads as the array that it was made of, compressed or not."""
    array = np.arange(24).reshape(2, 3, 4)
    path = tmp_path / "some.idx"
    if compressed:
        write_idx(path, array)
    else:
        path.write_bytes(idx_bytes(array))
    np.testing.assert_array_equal(read_idx(path, n_dimensions=3), array)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "cut short"),
        (b"\0\0", "cut short"),
        (b"\0\0\x0d\x01\0\0\0\x01\0\0\0\0", "no IDX file"),
        (b"PNG, say", "no IDX file"),
        (idx_bytes(np.zeros(5)), "dimension"),
        (idx_bytes(np.zeros((2, 2, 2)))[:9], "cut short"),
        (idx_bytes(np.zeros((2, 2, 2)))[:-1], "cut short"),
        (idx_bytes(np.zeros((2, 2, 2))) + b"\0", "longer"),
        (gzip.compress(idx_bytes(np.zeros((2, 2, 2))), mtime=0)[:-9], "cut short"),
        (gzip.compress(idx_bytes(np.arange(800).reshape(2, 20, 20) % 251), mtime=0)[:40], "cut short"),
    ],
)
def test_a_damaged_file_is_told_in_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    """Whatever is wrong with an IDX file, the error names the file and the trouble."""
    path = tmp_path / "bad.idx"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        read_idx(path, n_dimensions=3)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_checksum_is_compared(tmp_path: Path) -> None:
    """A file that is whole but another than the one wanted is an error."""
    path = tmp_path / "other.idx"
    content = idx_bytes(np.zeros(4))
    path.write_bytes(content)
    read_idx(path, n_dimensions=1, sha256=hashlib.sha256(content).hexdigest())
    with pytest.raises(DataError, match="SHA-256"):
        read_idx(path, n_dimensions=1, sha256="0" * 64)


@pytest.mark.parametrize("name", ["digits", "blobs"])
def test_small_datasets_need_no_file(name: str, empty_places: Path) -> None:
    """Digits and blobs are there at once, finite, ten classes, the same each time."""
    first, second = load_dataset(name), load_dataset(name)
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    assert first.X.dtype == np.float32
    assert np.isfinite(first.X).all()
    assert sorted(set(first.y.tolist())) == list(range(10))
    assert first.name == name in DATASETS
    if first.image_shape is not None:
        assert np.prod(first.image_shape) == first.X.shape[1]
        assert (first.X.min(), first.X.max()) == (0, 1)


def test_bela_data_comes_before_the_cache(
    small_mnist: Any, empty_places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are taken from BELA_DATA where it has them, else from the cache; pixels go from 0 to 1."""
    images, labels = small_mnist
    for base in (cache_folder(), empty_places / "data"):
        write_idx(base / "mnist" / f"{IMAGES}.gz", images)
        write_idx(base / "mnist" / f"{LABELS}.gz", labels)
    from_cache = load_dataset("mnist")
    np.testing.assert_allclose(from_cache.X, images.reshape(20, -1) / 255, rtol=1e-6)
    np.testing.assert_array_equal(from_cache.y, labels)
    assert from_cache.image_shape == (28, 28)
    monkeypatch.setenv("BELA_DATA", str(empty_places / "data"))
    (empty_places / "data" / "mnist" / f"{LABELS}.gz").write_bytes(b"broken")
    with pytest.raises(DataError, match="data"):
        load_dataset("mnist")
    monkeypatch.setenv("BELA_DATA", str(empty_places / "elsewhere"))
    np.testing.assert_array_equal(load_dataset("mnist").y, labels)


def test_a_download_is_kept(small_mnist: Any, empty_places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What OpenML gives is asked for once: the next time it comes from the cache."""
    images, labels = small_mnist
    table = SimpleNamespace(data=images.reshape(20, -1).astype(float), target=labels.astype(str).astype(object))
    calls = []
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *_, **options: calls.append(options) or table)
    first, second = load_dataset("mnist"), load_dataset("mnist")
    assert len(calls) == 1
    assert calls[0]["as_frame"] is False
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, labels)


def test_no_network_is_one_clear_sentence(empty_places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without files and without a network, the error says what to do."""

    def fail(*_: Any, **__: Any) -> None:
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(DatasetNotFound, match="BELA_DATA") as caught:
        load_dataset("fashion-mnist")
    assert "\n" not in str(caught.value)
    assert "no route to host" in str(caught.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(ParameterError, match="mnist, fashion-mnist, digits, blobs"):
        load_dataset("nist")


@pytest.mark.skipif(not HAS_MNIST, reason="needs the MNIST files: set BELA_DATA to the folder above mnist/")
def test_mnist_is_the_training_set() -> None:
    """MNIST is the 60,000 training pictures, in their order."""
    data = load_dataset("mnist")
    assert data.X.shape == (60_000, 784)
    assert data.y[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert (data.X.min(), data.X.max()) == (0, 1)
