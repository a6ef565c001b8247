"""Images to numbers in which distances mean something: where edges run, and where it is bright.

Histograms of oriented gradients (Dalal and Triggs 2005) at two scales, and the square roots of the pixels, both
reduced to principal components. Cells are weighted sums, hence one matrix product, so that any image size will do.

A picture that is shifted, turned, scaled or slanted a little shows the same thing. So the directions in which that
moves histograms count for less in distances: half of the distance is measured beside the spread of such moves, as a
discriminant analysis measures it beside the spread within classes, only that nobody need say which these are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from bela.errors import DataError
from bela.features._scaling import FIT_ROWS, Components, Doubles, Floats, fit_rows
from bela.records import AnyArray

ORIENTATIONS = 9
SCALES = (4, 7)  # cells a side: coarse for the shape, fine for the detail
SIDES = (16, 32)  # images are brought to a size in this range; beyond it cells say nothing new
NOISE = 0.02  # mean gradients below this share of the brightness range are not blown up to full size
BLOCK_PIXELS = 400_000  # a block's working arrays stay in the cache
HOG_COMPONENTS, PIXEL_COMPONENTS = 192, 64
PIXEL_WEIGHT = 0.6  # against 1 for the gradients
MOVED_IMAGES = 400  # are moved in every way
SHIFT = 0.04  # of the side
BEND = 0.14  # of the distance from the middle: 8 degrees, or as much larger or more slanted
FIRM = 0.3  # times the mean spread of moves, below which a direction counts as no steadier


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFeatures:
    """Features of images of one size, fitted by `fit_image_features`."""

    shape: tuple[int, ...]
    scale: float
    grid: "_Grid"
    hog: Components
    pixels: Components

    @property
    def n_features(self) -> int:
        """How many numbers an image becomes."""
        return self.hog.n_components + self.pixels.n_components

    def transform(self, images: AnyArray) -> Floats:
        """Turn images of the fitted size into rows of features."""
        images = _check(images)
        if images.shape[1:] != self.shape:
            raise DataError(f"images are {images.shape[1:]} but the features were fitted to {self.shape}: resize them")
        out = np.empty((len(images), self.n_features), np.float32)
        for start in range(0, len(images), self.grid.block):
            small = self.grid.resize(images[start : start + self.grid.block], self.scale)
            rows = out[start : start + self.grid.block]
            self.hog.transform(self.grid.hog(small), out=rows[:, : self.hog.n_components])
            self.pixels.transform(_roots(small), out=rows[:, self.hog.n_components :])
        return out


def fit_image_features(images: AnyArray, *, seed: int = 0) -> ImageFeatures:
    """Learn principal components and scales from a sample of the images, chosen by `seed`.

    They are (n, height, width) or (n, height, width, channels), of any numeric type. Only differences of brightness
    relative to the largest one in the sample matter.
    """
    sample = sample_of_images(images, seed=seed)
    shape = sample.shape[1:]
    scale = float(np.abs(sample).max()) if sample.dtype.kind != "u" else float(np.iinfo(sample.dtype).max)
    if not np.isfinite(scale):
        raise DataError("images have NaN or infinite pixels: repair or leave out those rows")
    scale = 1.0 / scale if scale > 0 else 1.0
    grid = _Grid.of(shape)
    gradients, brightness = [], []
    for start in range(0, len(sample), grid.block):
        small = grid.resize(sample[start : start + grid.block], scale)
        gradients.append(grid.hog(small))
        brightness.append(_roots(small))
    hogs = np.concatenate(gradients)
    hog = Components.fit(hogs, HOG_COMPONENTS, metric=_steady_metric(grid, sample, scale, hogs))
    pixels = Components.fit(np.concatenate(brightness), PIXEL_COMPONENTS, weight=PIXEL_WEIGHT)
    return ImageFeatures(shape=shape, scale=scale, grid=grid, hog=hog, pixels=pixels)


def sample_of_images(images: AnyArray, *, seed: int = 0) -> AnyArray:
    """Return the images that features are fitted to, all of them if they are not too many."""
    images = _check(images)
    return images if len(images) <= FIT_ROWS else images[fit_rows(len(images), seed)]


def image_features(images: AnyArray, *, seed: int = 0) -> Floats:
    """Turn images into rows of at most 256 features.

    >>> image_features(np.random.default_rng(0).integers(0, 255, (300, 28, 28), np.uint8)).shape
    (300, 256)
    """
    return fit_image_features(images, seed=seed).transform(images)


def _steady_metric(grid: "_Grid", sample: AnyArray, scale: float, hogs: Floats) -> Floats | None:
    """Return what to multiply histograms by so that half of a distance is beside what small moves do to them.

    None where nothing moves them, as in pictures of one colour.
    """
    some = slice(None, None, -(-len(sample) // MOVED_IMAGES))
    small = grid.resize(sample[some], scale)
    height, width = small.shape[2:]
    moved: Doubles = np.zeros((hogs.shape[1], hogs.shape[1]))
    for bend, shift in _moves():
        flat = small.reshape(-1, height * width)
        now = np.ascontiguousarray((_warping((height, width), bend, shift) @ flat.T).T, np.float32)
        move = _hogs(grid, now.reshape(small.shape)) - hogs[some]
        moved += move.T @ move
    spread = np.cov(hogs[some].T.astype(np.float64), bias=True).reshape(moved.shape)
    if min(np.trace(moved), np.trace(spread)) <= 0:
        return None
    moved[np.diag_indices_from(moved)] += FIRM * np.trace(moved) / len(moved)
    beside = np.linalg.inv(moved)
    both = beside / np.einsum("ij,ji->", spread, beside)
    both[np.diag_indices_from(both)] += 1.0 / np.trace(spread)
    return np.asarray(np.linalg.cholesky(both), np.float32)


def _hogs(grid: "_Grid", small: Floats) -> Floats:
    return np.concatenate([grid.hog(small[start : start + grid.block]) for start in range(0, len(small), grid.block)])


def _moves() -> Iterator[tuple[Doubles, tuple[float, float]]]:
    """Yield ways to move a picture a little: a matrix about its middle, and a shift as a share of its sides."""
    same = np.eye(2)
    for way in (-1.0, 1.0):
        yield same, (way * SHIFT, 0.0)
        yield same, (0.0, way * SHIFT)
        for bend in ([[0, -1], [1, 0]], [[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [1, 0]]):
            yield same + way * BEND * np.array(bend), (0.0, 0.0)


def _warping(side: tuple[int, int], bend: Doubles, shift: tuple[float, float]) -> sparse.csr_array:
    """Return the matrix that moves the pixels of a picture; beyond its border all is as there."""
    n = side[0] * side[1]
    most = np.array(side) - 1
    place = np.stack(np.unravel_index(np.arange(n), side), axis=1) - most / 2
    place = np.clip(place @ bend.T + np.array(shift) * side + most / 2, 0, most)
    low = place.astype(np.intp)
    high, part = np.minimum(low + 1, most), place - low
    corners = [(y, x) for y in (low, high) for x in (low, high)]
    weights = [a * b for a in (1 - part[:, 0], part[:, 0]) for b in (1 - part[:, 1], part[:, 1])]
    columns = [y[:, 0] * side[1] + x[:, 1] for y, x in corners]
    entries = (np.concatenate(weights).astype(np.float32), (np.tile(np.arange(n), 4), np.concatenate(columns)))
    return sparse.csr_array(sparse.coo_array(entries, shape=(n, n)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """The linear maps for one image size: resizing, and pooling into cells."""

    side: tuple[int, int]
    channels: int
    block: int
    down: Floats | None
    across: Floats | None
    pool: Floats
    cells: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Self:
        height, width = shape[:2]
        channels = shape[2] if len(shape) == 3 else 1
        side = (int(np.clip(height, *SIDES)), int(np.clip(width, *SIDES)))
        down = None if side[0] == height else _resizing(height, side[0])
        across = None if side[1] == width else _resizing(width, side[1])
        cells = tuple((min(c, side[0]), min(c, side[1])) for c in SCALES)
        pool = np.concatenate([np.kron(_cells(side[0], a), _cells(side[1], b)) for a, b in cells])
        block = max(1, BLOCK_PIXELS // (side[0] * side[1] * channels))
        pool = np.ascontiguousarray(pool.T, np.float32)
        return cls(side=side, channels=channels, block=block, down=down, across=across, pool=pool, cells=cells)

    def resize(self, images: AnyArray, scale: float) -> Floats:
        """Images of the working size, largest brightness 1, as (n, channels, height, width)."""
        x = images.astype(np.float32)
        x *= np.float32(scale)
        x = x[:, None] if x.ndim == 3 else np.moveaxis(x, 3, 1)
        x = x if self.down is None else self.down @ x
        return np.ascontiguousarray(x if self.across is None else x @ self.across.T)

    def hog(self, x: Floats) -> Floats:
        """Block-normalised histograms of gradient directions at every scale."""
        gy, gx = np.zeros_like(x), np.zeros_like(x)
        if self.side[0] > 2:
            np.subtract(x[:, :, 2:], x[:, :, :-2], out=gy[:, :, 1:-1])
        if self.side[1] > 2:
            np.subtract(x[:, :, :, 2:], x[:, :, :, :-2], out=gx[:, :, :, 1:-1])
        if self.channels > 1:  # the channel with the steepest gradient speaks for the pixel
            best = np.argmax(gx * gx + gy * gy, axis=1)[:, None]
            gx, gy = np.take_along_axis(gx, best, axis=1), np.take_along_axis(gy, best, axis=1)
        gx, gy = gx.reshape(len(x), -1), gy.reshape(len(x), -1)
        length = np.sqrt(gx * gx + gy * gy)
        # the direction without its sign, in units of bins; each pixel votes for the two nearest
        turn = np.arctan2(gy, gx)
        turn *= np.float32(ORIENTATIONS / np.pi)
        turn[turn < 0] += np.float32(ORIENTATIONS)
        votes = np.empty((ORIENTATIONS, *length.shape), np.float32)
        for o in range(ORIENTATIONS):
            vote = np.subtract(turn, np.float32(o), out=votes[o])
            np.abs(vote, out=vote)
            if o == 0:  # the last bin's neighbour is the first
                np.minimum(vote, np.float32(ORIENTATIONS) - turn, out=vote)
            np.subtract(np.float32(1), vote, out=vote)
            np.maximum(vote, np.float32(0), out=vote)
            vote *= length
        histograms = (votes.reshape(-1, length.shape[1]) @ self.pool).reshape(ORIENTATIONS, len(x), -1)
        histograms = np.ascontiguousarray(histograms.transpose(1, 2, 0))
        parts, start = [], 0
        for a, b in self.cells:
            cell = histograms[:, start : start + a * b].reshape(len(x), a, b, ORIENTATIONS)
            parts.append(_blocks(cell).reshape(len(x), -1))
            start += a * b
        return np.concatenate(parts, axis=1)


def _blocks(cell: Floats) -> Floats:
    """Blocks of 2 x 2 cells, each of length 1, without any entry that outshouts the rest (L2-Hys)."""
    if cell.shape[1] > 1:
        cell = np.concatenate([cell[:, :-1], cell[:, 1:]], axis=3)
    if cell.shape[2] > 1:
        cell = np.concatenate([cell[:, :, :-1], cell[:, :, 1:]], axis=3)
    return _unit(np.minimum(_unit(cell), np.float32(0.2)))


def _unit(block: Floats) -> Floats:
    norm = np.sqrt(np.einsum("nabo,nabo->nab", block, block) + np.float32(NOISE**2))
    return np.asarray(block / norm[..., None], np.float32)


def _check(images: AnyArray) -> AnyArray:
    images = np.asarray(images)
    if images.ndim not in (3, 4) or images.dtype.kind not in "buif":
        found = f"{images.shape} of {images.dtype}"
        raise DataError(f"images are an array (n, height, width[, channels]) of numbers, not {found}")
    if 0 in images.shape:
        raise DataError(f"there is nothing to see in images of shape {images.shape}: give at least one pixel")
    return images


def _roots(x: Floats) -> Floats:
    """Square roots bring out the faint; the sign is kept for pixels below zero."""
    roots = np.sqrt(np.abs(x))
    return np.copysign(roots, x, out=roots).reshape(len(x), -1)


def _resizing(n: int, m: int) -> Floats:
    """The (m, n) matrix that resizes a line of n pixels to m: means when smaller, linear when larger."""
    if m < n:
        edges, pixel = np.linspace(0, n, m + 1), np.arange(n)
        weights = np.maximum(0, np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel))
    else:
        centre = np.clip((np.arange(m) + 0.5) * n / m - 0.5, 0, n - 1)
        weights = np.maximum(0, 1 - np.abs(centre[:, None] - np.arange(n)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


def _cells(n: int, m: int) -> Doubles:
    """The (m, n) weights with which n pixels of a line belong to m cells: fading to the middle of the next cell.

    With sharp edges a stroke that moves by one pixel can change cells, and more rows get neighbours of another class.
    """
    weights = np.maximum(0, 1 - np.abs((np.arange(m)[:, None] + 0.5) / m - (np.arange(n) + 0.5) / n) * m)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
