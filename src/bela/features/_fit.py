"""The first pass over the data, which learns from samples, and what the second turns any block of rows into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bela._functions import load_function, said
from bela.errors import DataError
from bela.features import _parts as parts
from bela.features import _vectors as vectors
from bela.features._arrow import MOST_ROWS, READERS, each_block, fixed_blocks
from bela.features._parts import Part, Sample, Step
from bela.features._pictures import PictureSample
from bela.features._plan import FeaturePlan, array_of
from bela.features._scaling import COMPONENTS, Floats, Prepared, Size, fit_rows
from bela.features._source import NpyWriter
from bela.features._texts import TextSample
from bela.protocols import Table

TABLE_KINDS = ("number", "boolean", "category", "date")
FEWEST_COMPONENTS = 16
CALL_ROWS = 512  # records that a function gets at once
Function = Callable[..., object]  # some records to a row of numbers for each
READING = 0.7  # the share of this pass that reading takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The parts, the columns that they must be shown of each block, and what of each image column cannot be read."""

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    unreadable: tuple[dict[int, str], ...]

    def transform(self, records: Table) -> Iterator[Prepared]:
        """Turn all rows into features, block by block."""
        nothing = ((start, None) for start in range(0, records.n_rows, MOST_ROWS))
        for start, block in fixed_blocks(records, self.columns) if self.columns else nothing:
            n = MOST_ROWS if block is None else block.num_rows
            rows = range(start, min(start + n, records.n_rows))
            yield self.of(block, rows)

    def of(self, block: pa.RecordBatch | None, rows: range) -> Prepared:
        """Turn a block into features."""
        return parts.join_pieces(self.parts, [part.transform(block, rows) for part in self.parts])


def fit_parts(records: Table, plan: FeaturePlan, read: Sequence[Floats], *, seed: int, step: Step) -> Fitted:
    """Learn scales, words and components from samples of the rows.

    In `read` are the vectors of each column that a model reads, in the order of the plan.
    """
    ready, kinds, array = list[Part](), dict(plan.columns), array_of(records)
    if array is not None and kinds.get(array.main) in ("embedding", "image"):
        part = parts.ready_part(array.array, seed=seed)
        ready.append(vectors.as_view(part) if array.main in plan.embed else part)
        del kinds[array.main]
    ready += [vectors.vector_part(found, seed=seed) for found in read]
    samples = _samples(records, kinds, seed)
    columns = tuple(name for sample in samples for name in sample.columns)
    for start, end, picked in each_block(records, columns, partial(_pick, samples)) if columns else ():
        for sample, some in zip(samples, picked, strict=True):
            sample.add(some, start)
        step("looking at the rows", READING * end / records.n_rows)

    def learning(what: str, share: float) -> None:
        step(what, READING + (1 - READING) * share)

    fitted = list[Part]()
    for sample in samples:
        found = sample.fit(_size(plan), learning)
        if isinstance(sample, TextSample | PictureSample):  # each of their columns is a part
            some = zip(found, sample.columns, strict=True)
            viewed = bool(plan.of_kind("embedding"))
            found = [vectors.as_view(part) if viewed or name in plan.embed else part for part, name in some]
        fitted += found
    unreadable = tuple(sample.unreadable for sample in samples if isinstance(sample, PictureSample))
    return Fitted(parts=(*fitted, *ready), columns=columns, unreadable=unreadable)


def _pick(samples: Sequence[Sample], start: int, block: pa.RecordBatch) -> tuple[int, int, list[Any]]:
    return start, start + block.num_rows, [sample.pick(start, block) for sample in samples]


def _samples(records: Table, kinds: dict[str, str], seed: int) -> list[Sample]:
    """What features are learned from: of each kind of column as many rows as it needs."""
    n_rows, rows, samples = records.n_rows, fit_rows(records.n_rows, seed), list[Sample]()
    if table := {name: kind for name, kind in kinds.items() if kind in TABLE_KINDS}:
        some = fit_rows(n_rows, seed, len(table))
        samples.append(parts.RowSample(columns=tuple(table), rows=some, learn=partial(parts.fit_table, table)))
    if texts := tuple(name for name, kind in kinds.items() if kind == "text"):
        samples.append(TextSample(texts, n_rows, seed))
    lists, images = ([name for name in kinds if kinds[name] == kind] for kind in ("embedding", "image"))
    learn = partial(vectors.fit_embedding, beside=bool(texts or images))
    samples += [parts.RowSample(columns=(name,), rows=rows, learn=learn) for name in lists]
    return samples + [PictureSample(name, rows, records.root) for name in images]


def _size(plan: FeaturePlan) -> Size:
    """All kinds of columns together get about as many features as one alone would."""
    n = bool(plan.of_kind(*TABLE_KINDS)) + len(plan.of_kind("text", "embedding", "image"))
    if n == 1:
        return Size()
    n_components = max(FEWEST_COMPONENTS, min(COMPONENTS, 2 * COMPONENTS // n))
    return Size(n_components=n_components, most_columns=n_components)


def raw_numbers(records: Table, plan: FeaturePlan) -> tuple[Floats, dict[int, str]]:
    """Return the numbers of all columns side by side as they are, with the pixels of images, and unreadable rows."""
    blocks: dict[str, list[Floats]] = {name: [] for name in plan.used}
    images = {name: PictureSample(name, np.arange(records.n_rows), records.root) for name in plan.of_kind("image")}
    for start, block in fixed_blocks(records, plan.used):
        for name, found in blocks.items():
            if name in images:
                images[name].add(block, start)
            elif plan.columns[name] == "embedding":
                found.append(vectors.list_matrix(name, block.column(name), start).astype(np.float32))
            else:
                found.append(READERS[plan.columns[name]](block.column(name))[:, None].astype(np.float32))
    pixels = {name: [sample.pixels().reshape(records.n_rows, -1)] for name, sample in images.items()}
    X = np.concatenate([np.concatenate(pixels.get(name, found)) for name, found in blocks.items()], axis=1)
    unreadable = {row: reason for sample in images.values() for row, reason in sample.unreadable.items()}
    return X.astype(np.float32, copy=False), unreadable


def function_features(records: Table, plan: FeaturePlan, path: Path, step: Step) -> Floats:
    """Have a function compute the features of all rows, from the columns of the plan, and write them to a file."""
    name = plan.function or ""
    blocks = _rows_of(records, list(plan.columns), lambda block: block, lambda share: step(f"calling {name}", share))
    return _write_all(name, load_function(name), blocks, path)


def _rows_of(
    records: Table, columns: list[str], take: Callable[[pa.RecordBatch], pa.Array], step: Callable[[float], object]
) -> Iterator[tuple[int, list[object]]]:
    """Yield as many rows as a function gets at once, and the number of the first."""
    for start, block in fixed_blocks(records, columns):
        step(start / records.n_rows)
        values = take(block).to_pylist()
        for i in range(0, len(values), CALL_ROWS):
            yield start + i, values[i : i + CALL_ROWS]


def _write_all(name: str, function: Function, rows: Iterable[tuple[int, list[object]]], path: Path) -> Floats:
    """Write what a function returns for all rows to a file, and map the file."""
    width = None
    with NpyWriter(path, np.float32) as writer:
        for start, some in rows:
            found = _call(name, function, some, start)
            width = width or found.shape[1]
            if found.shape[1] != width:
                change = f"{width} numbers before row {start} and {found.shape[1]} from there on"
                raise DataError(f"the features {name!r} have {change}: return as many for each row")
            writer.append(found)
    return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]


def _call(name: str, function: Function, records: list[object], start: int) -> Floats:
    """Return a row of finite numbers for each of the records, the first of which is row `start`."""
    n = len(records)
    try:
        returned = function(records)
    except Exception as error:
        rows = f"rows {start} to {start + n - 1}"
        raise DataError(f"the features {name!r} failed for {rows}: {said(error)}") from error
    try:
        block = np.asarray(returned.toarray() if hasattr(returned, "toarray") else returned, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features {name!r} must be an array of numbers for each row: {error}") from None
    if block.ndim == 1:
        block = block[:, None]
    if block.ndim != 2 or len(block) != n or block.shape[1] == 0:
        what = f"an array of shape {block.shape} for {n} records"
        raise DataError(f"the features {name!r} returned {what}: return one row for each")
    bad = ~np.isfinite(block).all(axis=1)
    if bad.any():
        which = f"{int(bad.sum())} row(s), the first is row {start + int(bad.argmax())}"
        raise DataError(f"the features {name!r} are NaN or infinite for {which}: return finite numbers")
    return block
