"""Images from files, bytes or arrays, of any size, to features.

Images of unequal sizes are squashed to one small square. Padding would keep their proportions, but its borders are the
strongest edges of the picture, and image features are made of edges.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError
from bela.features._components import Floats
from bela.features._images import SIDES, ImageFeatures, fit_image_features
from bela.features._part import Piece

if TYPE_CHECKING:
    import pyarrow as pa
    from PIL.Image import Image

Pixels = npt.NDArray[np.uint8]

IMAGE_ENDINGS = frozenset(
    f".{ending}" for ending in ("png", "jpg", "jpeg", "jpe", "bmp", "gif", "tif", "tiff", "webp", "ppm", "pgm", "pbm")
) | {".ico", ".avif", ".jp2"}
LOOKED_AT = 200  # images decide whether all have one size, and whether they have colours
LARGEST_KEPT = 64  # images that all have one size up to this are left as they are
GREY_MODES = frozenset(["1", "L", "LA", "I", "F"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What images are brought to: one size, as (height, width), and grey or in colours."""

    size: tuple[int, int]
    colours: bool


def open_image(value: Any, root: Path | None, where: str) -> Image:
    """Open an image that is given by its path, its bytes, or both.

    Parameters
    ----------
    value
        A path, relative to `root`; bytes; or a mapping with "path" and "bytes", as Hugging Face datasets have.
    root
        The folder that paths start from.
    where
        Names the row in errors, where no path does.
    """
    from PIL import Image, UnidentifiedImageError

    content, path = _content(value)
    if content is None and path is None:
        raise DataError(f"{where} holds no image but {type(value).__name__}: give a path or the bytes of an image file")
    file = None if path is None else (root or Path()) / path
    name = str(file) if content is None else path
    told = where if name is None else f"{name} ({where})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # large images and odd metadata are no reason to stop
            if content is None and file is not None:
                content = file.read_bytes()
            image = Image.open(io.BytesIO(content or b""))
            image.draft("RGB", (2 * LARGEST_KEPT, 2 * LARGEST_KEPT))  # JPEG can be read at a fraction of its size
            image.load()
    except FileNotFoundError:
        raise DataError(f"there is no image {told}: put the file back, or leave out the row") from None
    except UnidentifiedImageError:
        raise DataError(f"{told} is no image of a known format: replace it, or leave out the row") from None
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise DataError(f"{told} is no image that can be read, it may be cut short: {error}") from None
    return image


def pixels(image: Image, look: Look) -> Pixels:
    """Bring an image to the common size and colours."""
    from PIL import Image as Images
    from PIL import ImageOps

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = ImageOps.exif_transpose(image) or image
        if image.mode.startswith("I") or image.mode == "F":  # more than 256 levels of grey
            image = _eight_bits(image)
        if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
            image = image.convert("RGBA")
            paper = Images.new("RGBA", image.size, "white")
            image = Images.alpha_composite(paper, image)
        image = image.convert("RGB" if look.colours else "L")
        size = (look.size[1], look.size[0])
        if image.size != size:
            image = image.resize(
                size, Images.Resampling.BOX if min(image.size) >= max(size) else Images.Resampling.BILINEAR
            )
    return np.asarray(image, np.uint8)


def look_at(sizes: set[tuple[int, int]], *, colours: bool) -> Look:
    """Choose a common size for images of these sizes, given as (width, height)."""
    if len(sizes) == 1 and max(next(iter(sizes))) <= LARGEST_KEPT:
        width, height = next(iter(sizes))
        return Look(size=(height, width), colours=colours)
    return Look(size=(SIDES[1], SIDES[1]), colours=colours)


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
        from PIL import Image as Images

        low, high = np.searchsorted(self.rows, [start, start + block.num_rows])
        column = block.column(self.name)
        for row in self.rows[low:high].tolist():
            value = column[row - start].as_py()
            if is_missing(value):
                continue
            image = open_image(value, self.root, f"row {row} of column {self.name!r}")
            if self.look is not None:
                self._pixels[row] = pixels(image, self.look)
                continue
            self._sizes.add(image.size)
            coloured = _has_colours(image)
            self._colours |= coloured
            if max(image.size) > LARGEST_KEPT:  # no need to keep hundreds of photographs at full size
                image = Images.fromarray(pixels(image, Look(size=(SIDES[1], SIDES[1]), colours=coloured)))
            self._first[row] = image
            if len(self._first) >= LOOKED_AT:
                self._settle()

    def fit(self) -> PictureFeatures:
        """Learn features from the images of the sample."""
        if self.look is None:
            self._settle()
        if self.look is None or not self._pixels:
            raise DataError(f"column {self.name!r} has no images: choose another kind for it")
        sample = np.stack(list(self._pixels.values()))
        features = fit_image_features(sample, seed=0)
        dense = features.transform(sample)
        norm = float(np.sqrt(np.mean(np.einsum("ij,ij->i", dense, dense)))) or 1.0
        return PictureFeatures(
            name=self.name, root=self.root, look=self.look, features=features, norm=norm, seen=self._pixels
        )

    def _settle(self) -> None:
        if self._first:
            self.look = look_at(self._sizes, colours=self._colours)
            for row, image in self._first.items():
                self._pixels[row] = pixels(image, self.look)
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
        """Turn a block of images into features."""
        column = block.column(self.name)
        dense: Floats = np.zeros((block.num_rows, self.features.n_features), np.float32)
        there: list[int] = []
        stack: list[Pixels] = []
        for i, row in enumerate(rows):
            known = self.seen.get(row)
            if known is None:
                value = column[i].as_py()
                if is_missing(value):
                    continue
                image = open_image(value, self.root, f"row {row} of column {self.name!r}")
                known = pixels(image, self.look)
            there.append(i)
            stack.append(known)
        if there:
            dense[there] = self.features.transform(np.stack(stack)) / np.float32(self.norm)
        return Piece(dense=dense)


def is_missing(value: Any) -> bool:
    """Whether there is no image at all."""
    if isinstance(value, dict):
        return value.get("bytes") is None and not value.get("path")
    return value is None or value in ("", b"")


def _content(value: Any) -> tuple[bytes | None, str | None]:
    if isinstance(value, bytes):
        return value, None
    if isinstance(value, str):
        return None, value
    if isinstance(value, dict):
        content, path = value.get("bytes"), value.get("path")
        return (content if isinstance(content, bytes) else None), (path if isinstance(path, str) else None)
    return None, None


def _eight_bits(image: Image) -> Image:
    """Pillow cuts off all levels above 255; here the darkest and the brightest of a depth keep their places."""
    from PIL import Image as Images

    levels = np.asarray(image, np.float64)
    top = float(levels.max(initial=0))
    full = next((full for full in (1.0, 255.0, 65535.0) if top <= full), top)
    return Images.fromarray((np.clip(levels / full, 0, 1) * 255).astype(np.uint8))


def _has_colours(image: Image) -> bool:
    if image.mode in GREY_MODES or image.mode.startswith("I;"):
        return False
    channels = np.asarray(image.convert("RGB").resize((32, 32)), np.int16)
    return bool(np.abs(channels - channels.mean(axis=2, keepdims=True)).max() > 8)
