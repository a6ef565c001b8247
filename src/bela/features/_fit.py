"""The first pass over the data: what the second needs to know to turn any block of rows into features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bela._functions import load_function
from bela.errors import DataError
from bela.features._array_records import array_of
from bela.features._blocks import fixed_blocks, stack, taken
from bela.features._functions import call_function, load_sentence_model
from bela.features._matrix import MatrixFeatures, Size
from bela.features._numbers import ArrayFeatures, ArrayPictures, EmbeddingFeatures, ReadyFeatures, list_matrix
from bela.features._parse import as_texts
from bela.features._part import Part
from bela.features._pictures import PictureSample
from bela.features._plan import FeaturePlan
from bela.features._scaling import COMPONENTS, fit_rows, prepare_features
from bela.features._store import NpyWriter
from bela.features._table import fit_table
from bela.features._texts import TextSample, fit_texts
from bela.protocols import Records

if TYPE_CHECKING:
    import pyarrow as pa

TABLE_KINDS = ("number", "boolean", "category", "date")
FEWEST_COMPONENTS = 16
READING = 0.7  # the share of this pass that reading takes

Step = Callable[[str, float], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The parts, and the columns that they must be shown of each block; none where the rows are in arrays."""

    parts: tuple[Part, ...]
    columns: tuple[str, ...] = ()


def fit_parts(records: Records, plan: FeaturePlan, *, folder: Path, seed: int, step: Step) -> Fitted:
    """Learn scales, words and components from samples of the rows.

    Parameters
    ----------
    records
        The data.
    plan
        The kinds of the columns.
    folder
        Where the numbers that a function or a model returns are kept for the second pass.
    seed
        Chooses samples.
    step
        Told what is being done, and the share of this pass that is done.
    """
    if plan.function is not None:
        return Fitted(parts=(_fit_function(records, plan, folder, seed, step),))
    size = _size(plan)
    ready: list[Part] = []
    array = array_of(records)
    if array is not None and plan.columns.get(array.name) in ("embedding", "image"):
        ready.append(_fit_array(array.array, array.name, seed, size))
    else:
        array = None
    texts = plan.of_kind("text")
    if plan.text_model is not None:
        model = load_sentence_model(plan.text_model)
        for i, name in enumerate(texts):
            file = folder / f"text-{i}.raw.npy"
            raw = _read_texts(records, name, (plan.text_model, model), file, step)
            ready.append(ArrayFeatures.fit(raw, name=f"text model {plan.text_model}", seed=seed, size=size))
        texts = ()
    samples = _Samples(records, plan, texts, seed, but=array.name if array is not None else None)
    for start, block in fixed_blocks(records, samples.columns) if samples.columns else ():
        samples.add(block, start)
        step("looking at the rows", READING * (start + block.num_rows) / records.n_rows)
    return Fitted(parts=(*samples.fit(size, step), *ready), columns=samples.columns)


class _Samples:
    """Samples of the rows, collected as they stream by: of each kind of column as many as it needs."""

    def __init__(
        self, records: Records, plan: FeaturePlan, texts: Sequence[str], seed: int, *, but: str | None
    ) -> None:
        self.tables = [(name, kind) for name, kind in plan.columns.items() if kind in TABLE_KINDS]
        self.names = [name for name, _ in self.tables]
        self.lists = [name for name in plan.of_kind("embedding") if name != but]
        self.texts = tuple(texts)
        self.seed = seed
        self._table_rows = fit_rows(records.n_rows, seed, len(self.names))
        self._rows = fit_rows(records.n_rows, seed)
        self._tables: list[pa.RecordBatch] = []
        self._lists: dict[str, list[pa.RecordBatch]] = {name: [] for name in self.lists}
        self._texts = TextSample(records.n_rows, self.texts, seed)
        self._images = [PictureSample(name, self._rows, records.root) for name in plan.of_kind("image") if name != but]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to look at."""
        return (*self.names, *self.texts, *self.lists, *(sample.name for sample in self._images))

    def add(self, block: pa.RecordBatch, start: int) -> None:
        """Take some rows of the next block."""
        if self.names:
            self._tables.append(taken(block.select(self.names), start, self._table_rows))
        for name, batches in self._lists.items():
            batches.append(taken(block.select([name]), start, self._rows))
        if self.texts:
            self._texts.add(block)
        for sample in self._images:
            sample.add(block, start)

    def fit(self, size: Size, step: Step) -> list[Part]:
        """Learn from the samples."""
        parts: list[Part] = []
        if self.names:
            parts += fit_table(stack(self._tables, self.names), self.tables, size)
        for i, name in enumerate(self.texts):

            def found(share: float, i: int = i, name: str = name) -> None:
                step(f"finding words in {name!r}", READING + (1 - READING) * (i + share) / len(self.texts))

            sample = self._texts.texts(name)
            parts.append(fit_texts(name, sample, n_components=size.n_components, seed=self.seed, step=found))
        for name in self.lists:
            X = list_matrix(name, stack(self._lists[name], [name]).column(name))
            parts.append(EmbeddingFeatures(name=name, matrix=MatrixFeatures.fit(X, size=size)))
        return [*parts, *(sample.fit() for sample in self._images)]


def _size(plan: FeaturePlan) -> Size:
    """All kinds of columns together get about as many features as one alone would."""
    table = bool(plan.of_kind(*TABLE_KINDS))
    n = table + len(plan.of_kind("text", "embedding", "image"))
    if n == 1:
        return Size()
    n_components = max(FEWEST_COMPONENTS, min(COMPONENTS, 2 * COMPONENTS // n))
    return Size(n_components=n_components, most_columns=n_components)


def _fit_array(array: Any, name: str, seed: int, size: Size) -> Part:
    if not isinstance(array, np.ndarray):
        return ReadyFeatures(prepared=prepare_features(array, seed=seed))
    if array.ndim == 2:
        return ArrayFeatures.fit(array, name=name, seed=seed, size=size)
    return ArrayPictures.fit(array, name=name, seed=seed)


def _fit_function(records: Records, plan: FeaturePlan, folder: Path, seed: int, step: Step) -> Part:
    name = plan.function or ""
    function = load_function(name)

    def ask(block: pa.RecordBatch, start: int) -> Any:
        step(f"calling {name}", start / records.n_rows)
        return call_function(name, function, block.to_pylist(), start)

    raw = _write_all(records, list(plan.columns), ask, folder / "function.raw.npy")
    return ArrayFeatures.fit(raw, name=name, seed=seed)


def _read_texts(
    records: Records, name: str, model: tuple[str, Callable[[Sequence[str]], Any]], path: Path, step: Step
) -> Any:
    """Let a model read the texts, once; what it returns is kept in a file for the second pass."""

    def ask(block: pa.RecordBatch, start: int) -> Any:
        step(f"reading {name!r} with {model[0]}", READING * start / records.n_rows)
        return call_function(model[0], model[1], as_texts(block.column(name)).to_pylist(), start)

    return _write_all(records, [name], ask, path)


def _write_all(
    records: Records, columns: list[str], ask: Callable[[pa.RecordBatch, int], Any], path: Path
) -> np.memmap[Any, Any]:
    """Write what is returned for all rows to a file, and map the file."""
    width = None
    with NpyWriter(path, np.float32) as writer:
        for start, block in fixed_blocks(records, columns):
            found = ask(block, start)
            width = width or found.shape[1]
            if found.shape[1] != width:
                raise DataError(
                    f"the features have {width} numbers before row {start} and {found.shape[1]} from there on: "
                    "return as many for each row"
                )
            writer.append(found)
    return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
