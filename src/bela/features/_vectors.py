"""Columns of vectors: those that the data bring, and those that a model makes of texts and images.

Beside the words or the gradients of what they were made from they count more, and the learner sees each by itself too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from bela.errors import DataError
from bela.features import _scaling as scaling
from bela.features._arrow import list_lengths
from bela.features._parts import Part, fit_matrix
from bela.features._scaling import SHARED_COLUMNS, Components, Doubles, Floats, Prepared, Size

READ_BY_MODEL = 3.0  # of the distance: what a model reads in a column, beside 1 for what else is computed of it
MOST_VIEWED = 512  # columns of a view; more are reduced to components


def fit_embedding(sample: pa.RecordBatch, size: Size, *, beside: bool = False) -> list[Part]:
    """Learn scales from a sample of a column of lists, all of one length; a missing list is like the mean of all.

    Where texts or images are `beside` them, some model has made them of these: they count as its vectors do.
    """
    (name,) = sample.schema.names
    X = list_matrix(name, sample.column(name))

    def encode(block: pa.RecordBatch, start: int) -> tuple[Doubles, Doubles]:
        return (list_matrix(name, block.column(name), start, X.shape[1]),) * 2

    part = fit_matrix(encode, X, size)
    if not beside or X.shape[1] < SHARED_COLUMNS or np.isnan(X).all():
        return [part]
    mean = np.nanmean(X, axis=0)

    def complete(rows: Doubles) -> Floats:
        return np.asarray(np.where(np.isnan(rows), mean, rows), np.float32)

    view = _fit_vectors(complete(X), MOST_VIEWED, MOST_VIEWED)

    def transform(block: pa.RecordBatch, rows: range) -> Prepared:
        vectors = list_matrix(name, block.column(name), rows.start, X.shape[1])
        return replace(part.transform(block, rows), views=(view(complete(vectors)),))

    return [replace(part, transform=transform, share=READ_BY_MODEL)]


def vector_part(vectors: Floats, *, seed: int) -> Part:
    """Return the part of a column that a model has read: its vectors count more than all else of that column.

    Components will do for distances, where other things are beside them; whole, they are a view of their own.
    """
    sample = np.asarray(vectors[scaling.fit_rows(len(vectors), seed, vectors.shape[1])], np.float32)
    few = _fit_vectors(sample, scaling.MOST_COLUMNS, scaling.COMPONENTS)
    many = _fit_vectors(sample, MOST_VIEWED, MOST_VIEWED)

    def transform(_: pa.RecordBatch, rows: range) -> Prepared:
        block = np.asarray(vectors[rows.start : rows.stop], np.float32)
        return Prepared(dense=few(block), views=(many(block),))

    return Part(transform=transform, share=READ_BY_MODEL)


def _fit_vectors(sample: Floats, most: int, n_components: int) -> Callable[[Floats], Floats]:
    """Learn to centre vectors and to bring them to mean squared norm 1; if they are long, as components."""
    mean = sample.mean(axis=0, dtype=np.float64)
    norm = scaling.mean_norm([sample - mean])
    components = Components.fit(sample, n_components) if sample.shape[1] > most else None
    return partial(scaling.reduced, components=components, mean=mean, norm=norm, direction=True)


def as_view(part: Part) -> Part:
    """Let the learner see a part by itself as well as beside the others."""

    def transform(block: pa.RecordBatch, rows: range) -> Prepared:
        made = part.transform(block, rows)
        return replace(made, views=(made.dense,))

    return replace(part, transform=transform)


def list_matrix(name: str, lists: pa.Array, start: int | None = None, width: int | None = None) -> Doubles:
    """Return lists, all of `width` or that of the first, as rows, NaN for a missing one; `start` is for errors."""
    there = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    lengths = list_lengths(lists)
    if width is None:
        width = int(lengths[there][0]) if there.any() else 1
    odd = there & (lengths != width)
    if odd.any():
        row = int(odd.argmax())
        where = "a row" if start is None else f"row {start + row}"
        found = f"column {name!r} has {int(lengths[row])} numbers in {where} where others have {width}"
        raise DataError(f"{found}: embeddings must be of one length")
    numbers = np.asarray(lists.flatten().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    X = np.full((len(lists), width), np.nan)
    X[there] = numbers.reshape(-1, width)
    bad = there & ~np.isfinite(X).all(axis=1)
    if bad.any():  # in an embedding, each is a fault of what made it
        where = "" if start is None else f", the first is row {start + int(bad.argmax())}"
        rows = f"{int(bad.sum())} row(s){where}"
        raise DataError(f"column {name!r} has NaN or infinite values in {rows}: fill or leave them out")
    return X
