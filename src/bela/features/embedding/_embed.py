"""Columns to vectors: in batches of rows of like length, each kept as soon as it is done, and none done twice."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PIL.Image import Image, fromarray

from bela._functions import said
from bela.data import is_no_image, open_image, upright
from bela.errors import BelaError, DataError, EmbeddingError
from bela.features._arrow import as_texts, fixed_blocks
from bela.features._scaling import Floats
from bela.features._source import NpyWriter
from bela.features.embedding._doors import ADDRESS, EMBEDDINGS, Embedding
from bela.protocols import Embedder, EmbeddingDoor, Table
from bela.records import AnyArray
from bela.storage import KEY_BYTES, Keys, VectorFile

SORTED = {"text": 32_768, "image": 512}  # rows that wait until they are put in order of length
WAITING_CHARACTERS = 1 << 26  # of texts, however few they are
MOST_CHARACTERS = 200_000  # of a batch: few long texts take as long as many short ones
SIDE = 448  # pixels: models look no closer
GATHERED = 8_192
MOST_THREADS = 8
ROUNDS = 2  # the second is for vectors that were damaged on disk

Step = Callable[[float], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A column that a model is to read, and where its vectors are kept.

    If that is `allowed`, the model may be behind a door that is not safe.
    """

    records: Table
    column: str
    kind: str
    embedding: Embedding
    kept: Path
    allowed: bool

    def write(self, path: Path, step: Step) -> Floats:
        """Write a vector for each row to a file, the mean of all where there is nothing to read, and map it.

        `step` is called with the share of the rows that is done. The model is loaded if a vector is missing only.
        """
        self.kept.mkdir(parents=True, exist_ok=True)
        chosen = self.embedding
        named = hashlib.sha256(f"{chosen.door} {chosen.model} {chosen.digest} {self.kind}".encode()).hexdigest()
        vectors = VectorFile(self.kept / named[:32])
        model = _Lazy(self.embedding, self.kind, allowed=self.allowed)
        damaged: Keys = np.empty(0, f"S{KEY_BYTES}")
        for _ in range(ROUNDS):
            keys = self._complete(vectors, model, step, damaged)
            vectors.refresh()
            mean, damaged = _mean(vectors, keys)
            if not len(damaged):
                break
        else:
            raise EmbeddingError(f"{self.kept} gives back other vectors than were written: the disk may be damaged")
        with NpyWriter(path, np.float32) as writer:
            for start in range(0, len(keys), GATHERED):
                block = vectors.take(vectors.find(keys[start : start + GATHERED]))
                writer.append(np.where(np.isnan(block), mean, block))
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]

    def _complete(self, vectors: VectorFile, model: _Lazy, step: Step, renewed: Keys) -> Keys:
        """Have the model read what has no vector yet, or has a damaged one; return the keys of all rows, b"" for none.

        Equal rows have one vector.
        """
        found, waiting = list[Keys](), dict[bytes, object]()
        gone, n_rows, share, n_waiting = set(renewed.tolist()), self.records.n_rows, 0.0, 0
        for start, block in fixed_blocks(self.records, [self.column]):
            values = as_texts(block.column(0)).to_pylist() if self.kind == "text" else block.column(0).to_pylist()
            keys = self._keys(values)
            there = vectors.find(keys) >= 0
            for key, value, known in zip(keys.tolist(), values, there.tolist(), strict=True):
                if key and (not known or key in gone):
                    waiting[key] = value
                    n_waiting += len(value) if isinstance(value, str | bytes) else 1
            found.append(keys)
            done = start + block.num_rows
            if len(waiting) >= SORTED[self.kind] or n_waiting > WAITING_CHARACTERS or done == n_rows:
                self._read(waiting, vectors, model, partial(_between, step, share, done / n_rows))
                vectors.refresh()  # the rows to come may be equal to these
                waiting, n_waiting = {}, 0
            if not waiting:
                share = done / n_rows
                step(share)
        return np.concatenate(found)

    def _keys(self, values: Sequence[object]) -> Keys:
        """Return a digest of what a model would see of each value."""
        return np.array([_digest(value, self.kind, self.records.root) for value in values], f"S{KEY_BYTES}")

    def _read(self, waiting: dict[bytes, object], vectors: VectorFile, model: _Lazy, step: Step) -> None:
        """Have the model read values, the longest first, so that the time left is never underestimated."""
        if not waiting:
            return
        embedder, keys = model(), list(waiting)
        weight = {key: len(str(waiting[key])) if self.kind == "text" else 1 for key in keys}
        keys.sort(key=weight.__getitem__, reverse=True)
        total, done = sum(weight.values()) or 1, 0
        for some in _batches(keys, weight, embedder.batch):
            items, good = self._items([waiting[key] for key in some])
            if good:
                block = self._call(embedder, items, vectors.width)
                vectors.append(np.array([some[i] for i in good], f"S{KEY_BYTES}"), block)
            done += sum(weight[key] for key in some)
            step(done / total)
        vectors.sync()

    def _items(self, values: list[object]) -> tuple[list[object], list[int]]:
        """Return what the model is shown, and which of the values that is: images that cannot be read are left out."""
        if self.kind == "text":
            return values, list(range(len(values)))

        def read(value: object) -> Image | None:
            try:
                return as_image(value, self.records.root)
            except DataError:  # whoever computes the other features of images says which
                return None

        n_threads = min(MOST_THREADS, os.cpu_count() or 1)
        with warnings.catch_warnings(action="ignore"), ThreadPoolExecutor(n_threads) as threads:
            images = list(threads.map(read, values))
        good = [i for i, image in enumerate(images) if image is not None]
        return [images[i] for i in good], good

    def _call(self, embedder: Embedder, items: list[object], width: int) -> Floats:
        """Return a finite vector for each item, all of one length."""
        name, n = self.embedding.title, len(items)
        try:
            block = np.asarray(embedder(items), np.float32)
        except BelaError:
            raise
        except (Exception, SystemExit) as error:  # somebody's function may want to end the program
            raise EmbeddingError(
                f"the model {name!r} failed on {n} row(s) of {self.column!r}: {said(error)}"
            ) from error
        if block.ndim != 2 or len(block) != n or block.shape[1] == 0 or width not in (0, block.shape[1]):
            shape = f"an array of shape {block.shape} for {n} rows" + (f" where others have {width}" if width else "")
            raise EmbeddingError(f"the model {name!r} returned {shape}: a vector for each is needed, all of one length")
        if not np.isfinite(block).all():
            raise EmbeddingError(f"the model {name!r} returned NaN or infinite numbers for rows of {self.column!r}")
        return block


def _between(step: Step, start: float, end: float, share: float) -> None:
    step(start + (end - start) * share)


class _Lazy:
    """A model that is loaded when it is first needed, if it is still the one that was chosen."""

    def __init__(self, embedding: Embedding, kind: str, *, allowed: bool) -> None:
        self._embedding, self._kind, self._allowed = embedding, kind, allowed
        self._loaded: Embedder | None = None

    def __call__(self) -> Embedder:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> Embedder:
        chosen, door = self._embedding, door_of(self._embedding)
        if not self._allowed and not door.is_safe:
            how = f"{chosen.model}@{chosen.door}"
            raise EmbeddingError(
                f"some rows must be read by {how}, which runs code or sends rows elsewhere: allow it with "
                f"--allow-code, or by --embed {how}"
            )
        model = address_of(chosen)
        if chosen.digest and door.digest(model, self._kind, _refuse) != chosen.digest:
            raise EmbeddingError(
                f"the model {chosen.title!r} is not the one that the other rows were read by: put that one back, or "
                "begin another campaign with --campaign"
            )
        return door.load(model, self._kind)


def _refuse(what: str) -> None:
    raise EmbeddingError(f"a model that was here is gone ({what}): put it back, or name it again with --embed")


def door_of(embedding: Embedding) -> EmbeddingDoor:
    """Return the door that a model is behind; an address is behind the one for addresses."""
    return EMBEDDINGS["openai" if embedding.door.startswith(ADDRESS) else embedding.door]


def address_of(embedding: Embedding) -> str:
    """Return how the door is told which model: with its address, where there is one."""
    return f"{embedding.model}@{embedding.door}" if embedding.door.startswith(ADDRESS) else embedding.model


def _batches(keys: list[bytes], weight: dict[bytes, int], n: int) -> Iterator[list[bytes]]:
    """Cut keys, the heaviest first, into batches of so many, fewer where they are heavy."""
    start = 0
    while start < len(keys):
        size = max(1, min(n, MOST_CHARACTERS // max(1, weight[keys[start]])))
        yield keys[start : start + size]
        start += size


def _mean(vectors: VectorFile, keys: Keys) -> tuple[Floats, Keys]:
    """Return the mean of the vectors of all rows, and the keys of those that are damaged."""
    total, n, damaged = np.zeros(vectors.width), 0, list[Keys]()
    for start in range(0, len(keys), GATHERED):
        places = vectors.find(keys[start : start + GATHERED])
        block = vectors.take(places)
        good = (places >= 0) & ~np.isnan(block).any(axis=1)
        total += block[good].sum(axis=0, dtype=np.float64)
        n += int(good.sum())
        damaged.append(keys[start : start + GATHERED][(places >= 0) & ~good])
    if n == 0 and not sum(map(len, damaged)):
        raise DataError("a column of texts or images has nothing that a model could read: leave it out (--kind)")
    return (total / max(n, 1)).astype(np.float32), np.unique(np.concatenate(damaged))


def _digest(value: object, kind: str, root: Path | None) -> bytes:
    """Return a digest of a text or of the content of an image, nothing where there is none or it cannot be read."""
    if kind == "text":
        content = str(value or "").encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=KEY_BYTES).digest() if content.strip() else b""
    if is_no_image(value):
        return b""
    if isinstance(value, list):
        return hashlib.blake2b(np.asarray(value).tobytes(), digest_size=KEY_BYTES).digest()
    raw = value.get("bytes") or value.get("path") if isinstance(value, dict) else value
    try:
        content = raw if isinstance(raw, bytes) else ((root or Path()) / str(raw)).read_bytes()
    except OSError:
        return b""
    return hashlib.blake2b(content, digest_size=KEY_BYTES).digest()


def as_image(value: object, root: Path | None) -> Image:
    """Return an image in colours, as it is to be seen; rows of an array are images as well."""
    if isinstance(value, list):
        return fromarray(_pixels(np.asarray(value))).convert("RGB")
    return upright(open_image(value, root, "a row", side=SIDE)).convert("RGB")


def _pixels(array: AnyArray) -> AnyArray:
    """Return the pixels of an array in 256 levels."""
    if array.dtype.kind == "f" and float(np.max(array, initial=0)) <= 1:
        array = array * 255
    array = np.clip(array, 0, 255).astype(np.uint8)
    return array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
