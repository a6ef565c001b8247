"""Images, each from its file or its bytes, of any mode, and of any format and size that is harmless."""

import functools
import io
from pathlib import Path

import numpy as np
from PIL import Image as Images
from PIL import ImageOps, UnidentifiedImageError
from PIL.Image import Image

from bela.data._files import is_inside, read_regular
from bela.errors import DataError

# What people have, and Pillow reads by itself; others, such as EPS, are programs that another program would run.
_FORMATS = (
    "AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP",
)  # fmt: skip
MOST_PIXELS = 1024 * 1024 * 1024 // 12  # as many as Pillow takes without a warning, a quarter of a gigabyte in colours
_MOST_BYTES = 4 * MOST_PIXELS
_MOST_SCANS = 100  # of a JPEG, each over all its pixels; cameras and programs make about ten
_SEE_THROUGH_MODES = frozenset(["LA", "La", "PA", "RGBA", "RGBa"])


@functools.cache
def _formats() -> tuple[str, ...]:
    Images.init()
    return tuple(form for form in _FORMATS if form in Images.OPEN)


@functools.cache
def image_endings() -> frozenset[str]:
    """Return the endings of images that can be read."""
    formats = _formats()
    return frozenset(ending for ending, form in Images.registered_extensions().items() if form in formats)


def is_no_image(value: object) -> bool:
    """Whether a value stands for no image at all."""
    if isinstance(value, dict):
        return not value.get("bytes") and not value.get("path")
    return value is None or value in ("", b"")


def open_image(value: object, root: Path | None, where: str, *, side: int = 128) -> Image:
    """Open an image: a path relative to `root`, bytes, or a mapping with "path" and "bytes" as Hugging Face has.

    `where` names the row in errors. The longer side is needed with `side` pixels: formats that can be read at a
    fraction of their size are. A file must lie below `root`, if there is one: a table that somebody has sent names
    whatever it likes.
    """
    given: dict[str, object] = value if isinstance(value, dict) else {"bytes": value, "path": value}
    raw, place = given.get("bytes"), given.get("path")
    content, path = raw if isinstance(raw, bytes) else None, place if isinstance(place, str) else None
    if content is None and path is None:
        raise DataError(f"{where} holds no image but {type(value).__name__}: give a path or the bytes of an image file")
    file = None if path is None else (root or Path()) / path
    told = where if path is None else f"{file if content is None else path} ({where})"
    try:
        if content is None and file is not None:
            if root is not None and not is_inside(root, file):
                raise DataError(f"{told} lies outside of the folder of the data: put the file there")
            content = read_regular(file, told, _MOST_BYTES)
        return _decode(content or b"", side)
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"there is no image {told}: put the file back, or leave out the row") from None
    except UnidentifiedImageError:
        raise DataError(f"{told} is no image of a known format: replace it, or leave out the row") from None
    except (_TooMuch, Images.DecompressionBombError, Images.DecompressionBombWarning) as error:
        raise DataError(f"{told} is too much for one image: {error}; make it smaller, or leave out the row") from None
    except Exception as error:  # readers of some formats raise whatever comes to hand when a file is damaged
        raise DataError(f"{told} is no image that can be read, it may be cut short: {error}") from None


class _TooMuch(Exception):  # noqa: N818 - reads as what happened
    """An image takes more memory or time than it should."""


def _decode(content: bytes, side: int) -> Image:
    image = Images.open(io.BytesIO(content), formats=_formats())
    if image.width * image.height > MOST_PIXELS:
        raise _TooMuch(f"it has {image.width} x {image.height} pixels")
    # Such a marker is in no data of a JPEG, as there a zero follows each byte of ones.
    if image.format in ("JPEG", "MPO") and (n_scans := content.count(b"\xff\xda")) > _MOST_SCANS:
        raise _TooMuch(f"it goes over its pixels in {n_scans} scans")
    image.draft("RGB", (side, side))
    image.load()
    return image


def upright(image: Image) -> Image:
    """Return an image as it is to be seen: turned as its camera says, in 256 levels, on white where it is clear.

    The one that is given may be changed.
    """
    ImageOps.exif_transpose(image, in_place=True)  # else it is copied, turned or not
    if image.mode.startswith("I") or image.mode == "F":  # more than 256 levels of grey
        image = _eight_bits(image)
    if image.mode in _SEE_THROUGH_MODES or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Images.alpha_composite(Images.new("RGBA", image.size, "white"), image)
    return image


def _eight_bits(image: Image) -> Image:
    """Pillow cuts off all levels above 255; here the darkest and the brightest of a depth keep their places."""
    levels = np.nan_to_num(np.asarray(image, np.float32))
    top = float(levels.max(initial=0))
    full = next((full for full in (1.0, 255.0, 65535.0) if top <= full), top)
    return Images.fromarray((np.clip(levels / full, 0, 1) * 255).astype(np.uint8))
