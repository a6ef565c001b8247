"""Columns of images, of any size and mode, to features.

Images of unequal sizes are squashed to one small square. Padding would keep their proportions, but its borders are the
strongest edges of the picture, and image features are made of edges.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from PIL.Image import Image, Resampling, fromarray

from bela.data import is_no_image, open_image, upright
from bela.data._blocks import count_threads
from bela.errors import DataError
from bela.features._images import SIDES, fit_image_features
from bela.features._parts import Part, Step
from bela.features._scaling import Floats, Prepared, Size, mean_norm

Pixels = npt.NDArray[np.uint8]
Look = tuple[tuple[int, int], str]
"""What images are brought to: one size, as (width, height), and a mode, grey or in colours."""

LARGEST_KEPT = 64  # images that all have one size up to this are left as they are
SMALL_SQUARE = (SIDES[1], SIDES[1])  # image features look no closer
GREY_MODES = frozenset(["1", "L", "LA", "I", "F"])
LOOKED_AT = 200  # images decide whether all have one size, and whether they have colours
MOST_THREADS = 8  # Pillow lets others work while it decodes
AT_ONCE = 32  # images that a thread reads in a row: to hand over each small one would take as long as to read it
FIT_ROWS = 4_000  # images, or a few more, that directions are found on: somebody waits for the first row
NORM_ROWS = 1_000


class PictureSample:
    """Collects a sample of images, as the rows stream by, so that none of them is read twice.

    `unreadable` says of which rows an image cannot be read, and why; of all when their features are made.
    """

    def __init__(self, name: str, rows: npt.NDArray[np.intp], root: Path | None) -> None:
        self.name, self.columns, self.rows, self.root = name, (name,), rows, root
        self.unreadable: dict[int, str] = {}
        self._look: Look | None = None
        self._first: dict[int, tuple[Image, tuple[int, int], bool]] = {}
        self._pixels: dict[int, Pixels] = {}

    def pick(self, start: int, block: pa.RecordBatch) -> pa.RecordBatch:
        """Return all of it: which images are needed, and how, is known when those before have been read."""
        return block

    def add(self, block: pa.RecordBatch, start: int) -> None:
        """Read those images of the next block that are in the sample."""
        low, high = np.searchsorted(self.rows, [start, start + block.num_rows])
        rows = self.rows[low:high].tolist()
        with warnings.catch_warnings(action="ignore"):  # large images and odd metadata are no reason to stop
            while rows and self._look is None:
                row = rows.pop(0)
                self._look_at(row, block.column(self.name)[row - start].as_py())
        if self._look is not None:
            self._pixels |= self._read(block, start, rows, self._look)

    def fit(self, size: Size, step: Step) -> list[Part]:
        """Learn features from the images of the sample; one that is missing or unreadable is like the mean of all."""
        look = self._settle()
        every = max(1, len(self._pixels) // FIT_ROWS)
        sample = np.stack(list(self._pixels.values())[::every])
        features = fit_image_features(sample)
        norm = mean_norm([features.transform(sample[:: max(1, len(sample) // NORM_ROWS)])])

        def transform(block: pa.RecordBatch, rows: range) -> Prepared:
            unseen = [row for row in rows if row not in self._pixels and row not in self.unreadable]
            read = self._read(block, rows.start, unseen, look)
            images = {row: image for row in rows if (image := self._pixels.get(row, read.get(row))) is not None}
            dense: Floats = np.zeros((len(rows), features.n_features), np.float32)
            if images:
                places = np.array(list(images)) - rows.start
                dense[places] = features.transform(np.stack(list(images.values()))) / np.float32(norm)
            return Prepared(dense=dense)

        return [Part(transform=transform)]

    def pixels(self) -> Pixels:
        """Return the images of all rows, which must all be in the sample; black where there is none."""
        self._settle()
        images = np.zeros((len(self.rows), *next(iter(self._pixels.values())).shape), np.uint8)
        for row, pixels in self._pixels.items():
            images[row] = pixels
        return images

    def _look_at(self, row: int, value: object) -> None:
        """Keep one of the first images, and what it says about the size and the colours of all."""

        if is_no_image(value):
            return
        try:
            image = self._open(value, row)
            size, coloured = image.size, _has_colours(image)
            if max(size) > LARGEST_KEPT:  # no need to keep hundreds of photographs at full size
                image = fromarray(self._convert(image, row, (SMALL_SQUARE, "RGB" if coloured else "L")))
        except DataError as error:
            self.unreadable[row] = str(error)
            return
        self._first[row] = image, size, coloured
        if len(self._first) >= LOOKED_AT:
            self._settle()

    def _settle(self) -> Look:
        """Decide what all images are brought to, once, by those that were looked at."""
        if self._look is None:
            if not self._first:
                none = f"column {self.name!r} has no images: choose another kind for it"
                raise DataError(next(iter(self.unreadable.values()), none))
            images, sizes, coloured = zip(*self._first.values(), strict=True)
            kept = len(set(sizes)) == 1 and max(sizes[0]) <= LARGEST_KEPT
            self._look = sizes[0] if kept else SMALL_SQUARE, "RGB" if any(coloured) else "L"
            for row, image in zip(self._first, images, strict=True):
                self._pixels[row] = self._convert(image, row, self._look)
            self._first = {}
        return self._look

    def _read(self, block: pa.RecordBatch, start: int, rows: Sequence[int], look: Look) -> dict[int, Pixels]:
        """Read images, several at once; rows without any are left out, those that cannot be read taken note of."""
        column = block.column(self.name)

        def read(row: int) -> Pixels | DataError | None:
            value = column[row - start].as_py()
            try:
                return None if is_no_image(value) else self._convert(self._open(value, row), row, look)
            except DataError as error:
                return error

        def read_some(some: Sequence[int]) -> list[Pixels | DataError | None]:
            return [read(row) for row in some]

        n_threads = min(MOST_THREADS, count_threads())
        with warnings.catch_warnings(action="ignore"), ThreadPoolExecutor(n_threads) as threads:
            in_order = threads.map(read_some, (rows[i : i + AT_ONCE] for i in range(0, len(rows), AT_ONCE)))
            found = dict(zip(rows, chain.from_iterable(in_order), strict=True))
        self.unreadable |= {row: str(trouble) for row, trouble in found.items() if isinstance(trouble, DataError)}
        return {row: pixels for row, pixels in found.items() if isinstance(pixels, np.ndarray)}

    def _open(self, value: object, row: int) -> Image:
        return open_image(value, self.root, self._where(row), side=2 * LARGEST_KEPT)

    def _convert(self, image: Image, row: int, look: Look) -> Pixels:
        """Bring an image to the common size and colours."""

        try:
            (size, mode), image = look, upright(image)
            image = image if image.mode == mode else image.convert(mode)
            if image.size != size:
                smaller = min(image.size) >= max(size)
                image = image.resize(size, Resampling.BOX if smaller else Resampling.BILINEAR)
            return np.asarray(image, np.uint8)
        except Exception as error:
            raise DataError(f"the image of {self._where(row)} cannot be converted: {error}") from None

    def _where(self, row: int) -> str:
        return f"row {row} of column {self.name!r}"


def _has_colours(image: Image) -> bool:
    """Whether there is more in an image than shades of grey."""
    if image.mode in GREY_MODES or image.mode.startswith("I;"):
        return False
    channels = np.asarray(image.convert("RGB").resize((32, 32)), np.int16)
    return bool(np.abs(channels - channels.mean(axis=2, keepdims=True)).max() > 8)
