"""Datasets by name: looked for on disk, downloaded once, always the same rows in the same order."""

import gzip
import hashlib
import importlib.util
import math
import os
import struct
import sys
import warnings
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bela.data._files import readable
from bela.errors import DataError, DatasetNotFound, ParameterError
from bela.records import AnyArray, IntArray
from bela.storage import write_durably

DATASETS = ("mnist", "fashion-mnist", "digits", "blobs")
"""The names that `load_dataset` knows."""
_IMAGES, _LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
_N_TRAINING = 60_000  # OpenML has the training and the test set in one table, the training set first
_UNSIGNED_BYTE = 0x08


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Features and true labels; `image_shape` is that of a row's picture, None where it is none."""

    name: str
    X: npt.NDArray[np.float32]
    y: IntArray
    image_shape: tuple[int, int] | None = None

    @property
    def images(self) -> npt.NDArray[np.float32]:
        """The rows as images where they are images, otherwise as they are."""
        return self.X if self.image_shape is None else self.X.reshape(-1, *self.image_shape)


@dataclass(frozen=True, slots=True)
class _IdxDataset:
    """What OpenML calls a training set, and the checksums of its uncompressed files as their authors publish them."""

    openml: str
    images_sha256: str
    labels_sha256: str


_IDX_DATASETS = {
    "mnist": _IdxDataset(
        "mnist_784", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    "fashion-mnist": _IdxDataset(
        "Fashion-MNIST", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
}  # fmt: skip


def load_dataset(name: str) -> Dataset:
    """Return a dataset by its name; pixels are numbers from 0 to 1, labels whole numbers.

    Those are mnist (60,000 handwritten digits of 28 x 28 pixels, by LeCun, Cortes and Burges), fashion-mnist (as many
    pictures of clothes in ten kinds, by Xiao, Rasul and Vollgraf), digits (1,797 of 8 x 8 pixels, which scikit-learn
    ships) and blobs (10,000 points of ten Gaussian clusters in the plane, mostly distinct). The first two are looked
    for in `$BELA_DATA` (mnist/train-images-idx3-ubyte.gz and so on), then in the user's cache, then downloaded.

    Examples
    --------
    >>> digits = load_dataset("digits")
    >>> digits.X.shape, digits.image_shape, sorted(set(digits.y.tolist())) == list(range(10))
    ((1797, 64), (8, 8), True)
    """
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return Dataset(name=name, X=(X / 16).astype(np.float32), y=y.astype(np.int64), image_shape=(8, 8))
    if name == "blobs":
        return _blobs()
    if name not in _IDX_DATASETS:
        raise ParameterError(f"there is no dataset {name!r}: choose one of {', '.join(DATASETS)}")
    known = _IDX_DATASETS[name]
    folder = _find(name) or _download(name, known.openml)
    images = read_idx(_file(folder, _IMAGES), n_dimensions=3, sha256=known.images_sha256)
    labels = read_idx(_file(folder, _LABELS), n_dimensions=1, sha256=known.labels_sha256)
    X = np.divide(images.reshape(len(images), -1), 255, dtype=np.float32)
    return Dataset(name=name, X=X, y=labels.astype(np.int64), image_shape=(images.shape[1], images.shape[2]))


def cache_folder() -> Path:
    """Return where downloads are kept."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "bela" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bela"


def _find(name: str) -> Path | None:
    """Return the first folder that has both files of a dataset."""
    given = os.environ.get("BELA_DATA")
    folders = [Path(base) / name for base in (given, cache_folder()) if base]
    return next((at for at in folders if _file(at, _IMAGES).exists() and _file(at, _LABELS).exists()), None)


def _file(folder: Path, stem: str) -> Path:
    return folder / (stem if (folder / stem).exists() else f"{stem}.gz")


def _download(name: str, title: str) -> Path:
    """Fetch a dataset from OpenML into the cache, in the form in which its authors publish it."""
    from sklearn.datasets import fetch_openml

    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each retry is announced by a warning
            table = fetch_openml(title, version=1, as_frame=False, parser=parser, cache=False, n_retries=1)
    except (OSError, ValueError, HTTPException) as error:
        missing, reason = f"{name} is neither in BELA_DATA nor in {cache_folder()}", " ".join(str(error).split())
        advice = f"put {_IMAGES}.gz and {_LABELS}.gz into a folder {name} and set BELA_DATA to the folder above it"
        failed = f"cannot be downloaded ({type(error).__name__}: {reason})"
        raise DatasetNotFound(f"{missing}, and {failed}: connect to the network, or {advice}") from None
    folder = cache_folder() / name
    write_idx(folder / f"{_IMAGES}.gz", np.asarray(table.data)[:_N_TRAINING].reshape(-1, 28, 28))
    write_idx(folder / f"{_LABELS}.gz", np.asarray(table.target)[:_N_TRAINING].astype(np.uint8))
    return folder


def _blobs(n_rows: int = 10_000, n_clusters: int = 10) -> Dataset:
    """Gaussian clusters in the plane, as in the paper's synthetic experiment."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-15, 15, (1, 2))
    while len(centres) < n_clusters:  # centres that are no closer than four standard deviations
        centre = rng.uniform(-15, 15, 2)
        if np.linalg.norm(centres - centre, axis=1).min() >= 4:
            centres = np.vstack([centres, centre])
    y = rng.permutation(np.arange(n_rows) % n_clusters)
    X = centres[y] + rng.normal(size=(n_rows, 2))
    return Dataset(name="blobs", X=X.astype(np.float32), y=y.astype(np.int64))


def read_idx(path: Path, *, n_dimensions: int, sha256: str | None = None) -> npt.NDArray[np.uint8]:
    """Return the bytes of an IDX file, plain or compressed with gzip; `sha256` is that of the uncompressed content."""
    with readable(path):
        content = path.read_bytes()
    try:
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is cut short or damaged ({error}): fetch it again") from None
    if len(content) < 4:
        raise DataError(f"{path} is cut short: it has {len(content)} bytes, fewer than an IDX file's first four")
    zero, kind, n_found = struct.unpack(">HBB", content[:4])
    if (zero, kind) != (0, _UNSIGNED_BYTE):
        raise DataError(f"{path} is no IDX file of bytes: it begins with 0x{content[:4].hex()}, not with 0x000008")
    if n_found != n_dimensions:
        raise DataError(f"{path} has {n_found} dimension(s) where {n_dimensions} are needed")
    start = 4 + 4 * n_dimensions
    if len(content) < start:
        raise DataError(f"{path} is cut short within its dimensions: fetch it again")
    shape = struct.unpack(f">{n_dimensions}I", content[4:start])
    found, needed = len(content) - start, math.prod(shape)
    if found != needed:
        trouble = "is cut short" if found < needed else "is longer than it says"
        raise DataError(f"{path} {trouble}: it holds {found} bytes of data where its header says {needed}")
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{path} is not the file it should be (its SHA-256 is another): fetch it again")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def write_idx(path: Path, array: AnyArray) -> None:
    """Write whole numbers from 0 to 255 as a compressed IDX file, all of it or nothing."""
    head = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTE, array.ndim, *array.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(path, gzip.compress(head + array.astype(np.uint8).tobytes(), compresslevel=6, mtime=0))
