"""Images from files or bytes, of any format, size and mode, to pixels of one size.

Images of unequal sizes are squashed to one small square. Padding would keep their proportions, but its borders are the
strongest edges of the picture, and image features are made of edges.
"""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError
from bela.features._images import SIDES

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = npt.NDArray[np.uint8]

LARGEST_KEPT = 64  # images that all have one size up to this are left as they are
GREY_MODES = frozenset(["1", "L", "LA", "I", "F"])
SEE_THROUGH_MODES = frozenset(["LA", "La", "PA", "RGBA", "RGBa"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What images are brought to: one size, as (height, width), and grey or in colours."""

    size: tuple[int, int]
    colours: bool


SMALL_SQUARE = (SIDES[1], SIDES[1])  # image features look no closer


def common_look(sizes: set[tuple[int, int]], *, colours: bool) -> Look:
    """Choose what images of these sizes, given as (width, height), are brought to."""
    if len(sizes) == 1 and max(next(iter(sizes))) <= LARGEST_KEPT:
        width, height = next(iter(sizes))
        return Look(size=(height, width), colours=colours)
    return Look(size=SMALL_SQUARE, colours=colours)


@functools.cache
def image_endings() -> frozenset[str]:
    """The endings of files that Pillow may be able to read."""
    from PIL import Image

    Image.init()
    return frozenset(ending for ending, form in Image.registered_extensions().items() if form in Image.OPEN)


def is_missing(value: Any) -> bool:
    """Whether there is no image at all."""
    if isinstance(value, dict):
        return not value.get("bytes") and not value.get("path")
    return value is None or value in ("", b"")


def open_image(value: Any, root: Path | None, where: str) -> Image:
    """Open an image that is given by its path, its bytes, or both.

    Parameters
    ----------
    value
        A path, relative to `root`; bytes; or a mapping with "path" and "bytes", as Hugging Face datasets have.
    root
        The folder that paths start from.
    where
        Names the row in errors.
    """
    from PIL import Image, UnidentifiedImageError

    content, path = _content(value)
    if content is None and path is None:
        raise DataError(f"{where} holds no image but {type(value).__name__}: give a path or the bytes of an image file")
    file = None if path is None else (root or Path()) / path
    told = where if path is None else f"{file if content is None else path} ({where})"
    try:
        if content is None and file is not None:
            content = file.read_bytes()
        image = Image.open(io.BytesIO(content or b""))
        image.draft("RGB", (2 * LARGEST_KEPT, 2 * LARGEST_KEPT))  # JPEG can be read at a fraction of its size
        image.load()
    except FileNotFoundError:
        raise DataError(f"there is no image {told}: put the file back, or leave out the row") from None
    except UnidentifiedImageError:
        raise DataError(f"{told} is no image of a known format: replace it, or leave out the row") from None
    except Exception as error:  # readers of some formats raise whatever comes to hand when a file is damaged
        raise DataError(f"{told} is no image that can be read, it may be cut short: {error}") from None
    return image


def read_pixels(value: Any, root: Path | None, where: str, look: Look) -> Pixels | None:
    """Read an image and bring it to the common size and colours; None where there is none."""
    return None if is_missing(value) else to_pixels(open_image(value, root, where), look, where)


def to_pixels(image: Image, look: Look, where: str) -> Pixels:
    """Bring an image to the common size and colours."""
    from PIL import Image as Images
    from PIL import ImageOps

    try:
        image = ImageOps.exif_transpose(image) or image
        if image.mode.startswith("I") or image.mode == "F":  # more than 256 levels of grey
            image = _eight_bits(image)
        if image.mode in SEE_THROUGH_MODES or "transparency" in image.info:
            image = image.convert("RGBA")
            image = Images.alpha_composite(Images.new("RGBA", image.size, "white"), image)
        image = image.convert("RGB" if look.colours else "L")
        size = (look.size[1], look.size[0])
        if image.size != size:
            smaller = min(image.size) >= max(size)
            image = image.resize(size, Images.Resampling.BOX if smaller else Images.Resampling.BILINEAR)
        return np.asarray(image, np.uint8)
    except Exception as error:
        raise DataError(f"the image of {where} cannot be converted: {error}") from None


def has_colours(image: Image) -> bool:
    """Whether there is more in an image than shades of grey."""
    if image.mode in GREY_MODES or image.mode.startswith("I;"):
        return False
    channels = np.asarray(image.convert("RGB").resize((32, 32)), np.int16)
    return bool(np.abs(channels - channels.mean(axis=2, keepdims=True)).max() > 8)


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

    levels = np.nan_to_num(np.asarray(image, np.float64))
    top = float(levels.max(initial=0))
    full = next((full for full in (1.0, 255.0, 65535.0) if top <= full), top)
    return Images.fromarray((np.clip(levels / full, 0, 1) * 255).astype(np.uint8))
