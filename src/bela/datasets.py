"""Datasets by name: looked for on disk, downloaded once, always the same rows in the same order."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError, DatasetNotFound, ParameterError
from bela.records import IntArray
from bela.sources._idx import read_idx, write_idx

DATASETS = ("mnist", "fashion-mnist", "digits", "blobs")
"""The names that `load_dataset` knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Features and true labels; `image_shape` is that of a row's picture, None where it is none."""

    name: str
    X: npt.NDArray[np.float32]
    y: IntArray
    image_shape: tuple[int, int] | None
    description: str

    @property
    def images(self) -> npt.NDArray[np.float32]:
        """The rows as images where they are images, otherwise as they are."""
        return self.X if self.image_shape is None else self.X.reshape(-1, *self.image_shape)

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.y.shape != self.X.shape[:1]:
            raise DataError(f"{self.name} has features of shape {self.X.shape} but labels of shape {self.y.shape}")


@dataclass(frozen=True, slots=True)
class _IdxDataset:
    """A training set that is kept as two IDX files, and where OpenML has it."""

    openml: tuple[str, int]
    images_sha256: str
    labels_sha256: str
    description: str


_IMAGES, _LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
_N_TRAINING = 60_000  # OpenML has the training and the test set in one table, the training set first

_IDX_DATASETS = {  # the checksums are those of the uncompressed files, as their authors publish them
    "mnist": _IdxDataset(
        ("mnist_784", 1),
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "60,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes and Burges)",
    ),
    "fashion-mnist": _IdxDataset(
        ("Fashion-MNIST", 1),
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "60,000 pictures of clothes in ten kinds, 28 x 28 pixels (Xiao, Rasul and Vollgraf)",
    ),
}


def load_dataset(name: str) -> Dataset:
    """Return a dataset by its name: mnist, fashion-mnist, digits or blobs.

    The first two are looked for in the folder that the environment variable BELA_DATA names
    (`$BELA_DATA/mnist/train-images-idx3-ubyte.gz` and so on), then in the user's cache, then downloaded from OpenML.
    Pixels are numbers from 0 to 1, labels whole numbers.

    Examples
    --------
    >>> digits = load_dataset("digits")
    >>> digits.X.shape, digits.image_shape, sorted(set(digits.y.tolist())) == list(range(10))
    ((1797, 64), (8, 8), True)
    """
    if name == "digits":
        return _digits()
    if name == "blobs":
        return _blobs()
    if name not in _IDX_DATASETS:
        raise ParameterError(f"there is no dataset {name!r}: choose one of {', '.join(DATASETS)}")
    known = _IDX_DATASETS[name]
    folder = _find(name) or _download(name, known)
    images = read_idx(_file(folder, _IMAGES), n_dimensions=3, sha256=known.images_sha256)
    labels = read_idx(_file(folder, _LABELS), n_dimensions=1, sha256=known.labels_sha256)
    X = images.reshape(len(images), -1).astype(np.float32)
    X /= 255
    height, width = images.shape[1:]
    return Dataset(
        name=name, X=X, y=labels.astype(np.int64), image_shape=(height, width), description=known.description
    )


def cache_folder() -> Path:
    """Return where downloads are kept."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "bela" / "Cache" if base else Path.home() / "AppData" / "Local" / "bela" / "Cache"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bela"


def _find(name: str) -> Path | None:
    """Return the first folder that has both files of a dataset."""
    given = os.environ.get("BELA_DATA")
    bases = [Path(given), cache_folder()] if given else [cache_folder()]
    for folder in (base / name for base in bases):
        if _file(folder, _IMAGES).exists() and _file(folder, _LABELS).exists():
            return folder
    return None


def _file(folder: Path, stem: str) -> Path:
    plain = folder / stem
    return plain if plain.exists() else folder / f"{stem}.gz"


def _download(name: str, known: _IdxDataset) -> Path:
    """Fetch a dataset from OpenML into the cache, in the form in which its authors publish it."""
    from sklearn.datasets import fetch_openml

    title, version = known.openml
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each retry is announced by a warning
            table: Any = fetch_openml(title, version=version, as_frame=False, parser=parser, cache=False, n_retries=1)
    except (OSError, ValueError, HTTPException) as error:
        raise DatasetNotFound(
            f"{name} is neither in BELA_DATA nor in {cache_folder()}, and cannot be downloaded "
            f"({type(error).__name__}: {' '.join(str(error).split())}): connect to the network, or put {_IMAGES}.gz "
            f"and {_LABELS}.gz into a folder {name} and set BELA_DATA to the folder above it"
        ) from None
    folder = cache_folder() / name
    write_idx(folder / f"{_IMAGES}.gz", np.asarray(table.data)[:_N_TRAINING].reshape(-1, 28, 28))
    write_idx(folder / f"{_LABELS}.gz", np.asarray(table.target)[:_N_TRAINING].astype(np.uint8))
    return folder


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Dataset(
        name="digits",
        X=(X / 16).astype(np.float32),
        y=y.astype(np.int64),
        image_shape=(8, 8),
        description="1,797 handwritten digits of 8 x 8 pixels, which scikit-learn ships",
    )


def _blobs(n_rows: int = 10_000, n_clusters: int = 10) -> Dataset:
    """Gaussian clusters in the plane, mostly distinct, as in the paper's synthetic experiment."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-15, 15, (1, 2))
    while len(centres) < n_clusters:  # centres that are no closer than four standard deviations
        centre = rng.uniform(-15, 15, 2)
        if np.linalg.norm(centres - centre, axis=1).min() >= 4:
            centres = np.vstack([centres, centre])
    y = rng.permutation(np.arange(n_rows) % n_clusters)
    X = centres[y] + rng.normal(size=(n_rows, 2))
    return Dataset(
        name="blobs",
        X=X.astype(np.float32),
        y=y.astype(np.int64),
        image_shape=None,
        description="10,000 points of ten isotropic Gaussian clusters in the plane, mostly distinct",
    )
