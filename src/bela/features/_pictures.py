"""Columns of images to features."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bela.errors import DataError
from bela.features._components import Floats
from bela.features._image_files import (
    LARGEST_KEPT,
    SMALL_SQUARE,
    Look,
    Pixels,
    common_look,
    has_colours,
    is_missing,
    open_image,
    read_pixels,
    to_pixels,
)
from bela.features._images import ImageFeatures, fit_image_features
from bela.features._part import Piece

if TYPE_CHECKING:
    import pyarrow as pa
    from PIL.Image import Image

LOOKED_AT = 200  # images decide whether all have one size, and whether they have colours
MOST_THREADS = 8  # Pillow lets others work while it decodes
FIT_ROWS = 4_000  # images, or a few more, that directions are found on: somebody waits for the first row
NORM_ROWS = 1_000


@dataclass(slots=True)
class PictureSample:
    """Collects a sample of images, as the rows stream by, so that none of them is read twice."""

    name: str
    rows: npt.NDArray[np.intp]
    root: Path | None
    look: Look | None = field(init=False, default=None)
    _first: dict[int, Image] = field(init=False, default_factory=dict)
    _sizes: set[tuple[int, int]] = field(init=False, default_factory=set)
    _colours: bool = field(init=False, default=False)
    _pixels: dict[int, Pixels] = field(init=False, default_factory=dict)

    def add(self, block: pa.RecordBatch, start: int) -> None:
        """Read those images of the next block that are in the sample."""
        low, high = np.searchsorted(self.rows, [start, start + block.num_rows])
        rows = self.rows[low:high].tolist()
        column = block.column(self.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # large images and odd metadata are no reason to stop
            while rows and self.look is None:
                row = rows.pop(0)
                self._look_at(row, column[row - start].as_py())
        if self.look is not None:
            self._pixels.update(_read(block, start, rows, name=self.name, root=self.root, look=self.look))

    def fit(self) -> PictureFeatures:
        """Learn features from the images of the sample."""
        self._settle()
        if self.look is None or not self._pixels:
            raise DataError(f"column {self.name!r} has no images: choose another kind for it")
        every = max(1, len(self._pixels) // FIT_ROWS)
        sample = np.stack(list(self._pixels.values())[::every])
        features = fit_image_features(sample)
        dense = features.transform(sample[:: max(1, len(sample) // NORM_ROWS)])
        norm = float(np.sqrt(np.mean(np.einsum("ij,ij->i", dense, dense)))) or 1.0
        return PictureFeatures(
            name=self.name, root=self.root, look=self.look, features=features, norm=norm, seen=self._pixels
        )

    def _look_at(self, row: int, value: object) -> None:
        from PIL import Image as Images

        if is_missing(value):
            return
        where = _where(self.name, row)
        image = open_image(value, self.root, where)
        coloured = has_colours(image)
        self._sizes.add(image.size)
        self._colours |= coloured
        if max(image.size) > LARGEST_KEPT:  # no need to keep hundreds of photographs at full size
            image = Images.fromarray(to_pixels(image, Look(size=SMALL_SQUARE, colours=coloured), where))
        self._first[row] = image
        if len(self._first) >= LOOKED_AT:
            self._settle()

    def _settle(self) -> None:
        if self._first:
            self.look = common_look(self._sizes, colours=self._colours)
            for row, image in self._first.items():
                self._pixels[row] = to_pixels(image, self.look, _where(self.name, row))
            self._first = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFeatures:
    """Features of a column of images; a missing image is like the mean of all."""

    name: str
    root: Path | None
    look: Look
    features: ImageFeatures
    norm: float
    seen: dict[int, Pixels]
    share: float = 1.0
    linear_norm: float = 1.0

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of images into features; `rows` are their numbers."""
        unseen = [row for row in rows if row not in self.seen]
        read = _read(block, rows.start, unseen, name=self.name, root=self.root, look=self.look)
        images = {row: image for row in rows if (image := self.seen.get(row, read.get(row))) is not None}
        dense: Floats = np.zeros((len(rows), self.features.n_features), np.float32)
        if images:
            places = np.array(list(images)) - rows.start
            dense[places] = self.features.transform(np.stack(list(images.values()))) / np.float32(self.norm)
        return Piece(dense=dense)


def _read(
    block: pa.RecordBatch, start: int, rows: Sequence[int], *, name: str, root: Path | None, look: Look
) -> dict[int, Pixels]:
    """Read images, several at once; rows without any are left out."""
    column = block.column(name)

    def read(row: int) -> Pixels | None:
        return read_pixels(column[row - start].as_py(), root, _where(name, row), look)

    if not rows:
        return {}
    with warnings.catch_warnings(), ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as threads:
        warnings.simplefilter("ignore")
        found = zip(rows, threads.map(read, rows), strict=True)
        return {row: pixels for row, pixels in found if pixels is not None}


def _where(name: str, row: int) -> str:
    return f"row {row} of column {name!r}"
