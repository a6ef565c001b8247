"""Tables to features: numbers, truth values, categories and dates side by side, whatever is missing.

Each column gets the same variance, a category with twenty values as much as a number. What is missing counts as the
middle of its column, and a column of its own says that it was missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from bela.features._components import Floats
from bela.features._matrix import MatrixFeatures, Size, share_unit
from bela.features._parse import Doubles, as_categories, as_days, as_numbers, as_truths
from bela.features._part import Piece
from bela.features._scaling import SHARED_COLUMNS, TREE_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 64  # of a category; the rest are pooled
RARE = (0.005, 2, 10)  # values are pooled if they are fewer than this share of the rows, but between these numbers
CYCLES = {"time": 1.0, "weekday": 7.0, "season": 365.2425}  # in days
FEWEST_CYCLES = {"time": 2.0, "weekday": 3.0, "season": 1.5}  # the data must span so many to tell anything
CYCLE_VARIANCE = 0.5
FLAG_VARIANCE = 0.1  # that a value is missing says less than a value
FLAGS_ALONE = 0.3  # columns: all flags together, where nothing else is beside numbers of one unit
ALONE = 3.0  # a single column beside a text has 1 / (1 + ALONE) of the text's weight, many columns come near to 1


class _Column(Protocol):
    """One column of a table: what distances see of it, in groups with variances, and what trees see."""

    @property
    def name(self) -> str:
        """The column."""

    @property
    def variances(self) -> list[tuple[int, float]]:
        """For each group of columns: how many they are, and what their variance should be."""

    def encode(self, array: pa.Array) -> tuple[Doubles, Doubles]:
        """Return the columns for distances, with NaN for what is missing, and those for trees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    name: str
    truth: bool = False
    variances: list[tuple[int, float]]

    def encode(self, array: pa.Array) -> tuple[Doubles, Doubles]:
        values = (as_truths(array) if self.truth else as_numbers(array))[:, None]
        return values, values


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flag:
    """Whether the value of a column is missing; trees see that in the column itself."""

    name: str
    kind: str
    variances: list[tuple[int, float]]

    def encode(self, array: pa.Array) -> tuple[Doubles, Doubles]:
        missing = np.isnan(_READERS[self.kind](array)).astype(np.float64)[:, None]
        return missing, missing[:, :0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Category:
    name: str
    values: pa.Array
    variances: list[tuple[int, float]]

    def encode(self, array: pa.Array) -> tuple[Doubles, Doubles]:
        import pyarrow.compute as pc

        texts = as_categories(array)
        n = len(self.values)
        places = np.asarray(pc.fill_null(pc.index_in(texts, value_set=self.values), n).to_numpy(), np.intp)
        missing = np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False), np.bool_)
        places[missing] = n + 1
        hot = np.zeros((len(places), n + 2))
        hot[np.arange(len(places)), places] = 1
        return hot, np.where(missing, np.nan, places)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Date:
    name: str
    cycles: tuple[str, ...]
    variances: list[tuple[int, float]]

    def encode(self, array: pa.Array) -> tuple[Doubles, Doubles]:
        days = as_days(array)
        near, raw = [days], [days]
        for cycle in self.cycles:
            turn = np.mod(days / CYCLES[cycle], 1)
            raw.append(turn)
            near += [np.sin(2 * np.pi * turn), np.cos(2 * np.pi * turn)]
        return np.stack(near, axis=1), np.stack(raw, axis=1)


_READERS = {"number": as_numbers, "boolean": as_truths, "date": as_days}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFeatures:
    """Columns of a table with their scales."""

    columns: tuple[_Column, ...]
    matrix: MatrixFeatures
    trees: bool
    share: float

    @property
    def linear_norm(self) -> float:
        """The root of the mean squared norm that rows have in the form for linear models."""
        return self.matrix.linear_norm

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of rows into features."""
        near, raw = _encode(self.columns, block)
        dense, linear = self.matrix.transform(near)
        limit = float(np.finfo(np.float32).max)
        trees: Floats | None = np.clip(raw, -limit, limit).astype(np.float32) if self.trees else None
        return Piece(dense=dense, linear=linear, columns=trees)


def fit_table(sample: pa.RecordBatch, kinds: Sequence[tuple[str, str]], size: Size) -> list[TableFeatures]:
    """Learn encodings and scales from a sample of rows.

    Many numbers that share a unit, as pixels do, become a part of their own, apart from the other columns.

    Parameters
    ----------
    sample
        Rows with all of the columns.
    kinds
        The columns by name, each with its kind: number, boolean, category or date.
    size
        How many features there may be.
    """
    encoders = {name: _fit_column(name, kind, sample.column(name)) for name, kind in kinds}
    flags = _fit_flags(sample, kinds)
    numbers = [encoders[name] for name, kind in kinds if kind == "number"]
    if len(numbers) >= SHARED_COLUMNS:
        near, _ = _encode(numbers, sample)
        if share_unit(near):
            matrix = MatrixFeatures.fit(near, shared=True, size=size)
            trees = len(numbers) <= TREE_COLUMNS
            part = TableFeatures(columns=tuple(numbers), matrix=matrix, trees=trees, share=1.0)
            others = [encoders[name] for name, kind in kinds if kind != "number"]
            rest = [*others, *flags]
            return [part, _fit_part(sample, rest, len(others) or FLAGS_ALONE, size)] if rest else [part]
    return [_fit_part(sample, [*encoders.values(), *flags], len(encoders), size)]


def _fit_part(sample: pa.RecordBatch, columns: Sequence[_Column], n: float, size: Size) -> TableFeatures:
    near, raw = _encode(columns, sample)
    groups = [group for column in columns for group in column.variances]
    matrix = MatrixFeatures.fit(
        near,
        shared=False,
        groups=np.repeat(np.arange(len(groups)), [n_columns for n_columns, _ in groups]),
        variance=np.array([variance for _, variance in groups]),
        size=size,
    )
    trees = 0 < raw.shape[1] <= TREE_COLUMNS
    return TableFeatures(columns=tuple(columns), matrix=matrix, trees=trees, share=n / (n + ALONE))


def _encode(columns: Sequence[_Column], block: pa.RecordBatch) -> tuple[Doubles, Doubles]:
    pairs = [column.encode(block.column(column.name)) for column in columns]
    return np.concatenate([near for near, _ in pairs], axis=1), np.concatenate([raw for _, raw in pairs], axis=1)


def _fit_column(name: str, kind: str, array: pa.Array) -> _Column:
    if kind == "category":
        values = _frequent(as_categories(array))
        return _Category(name=name, values=values, variances=[(len(values) + 2, 1.0)])
    if kind == "date":
        days = as_days(array)
        days = days[np.isfinite(days)]
        span = float(np.ptp(days)) if len(days) else 0.0
        clock = bool(np.any(days != np.floor(days)))
        cycles = tuple(
            cycle
            for cycle, length in CYCLES.items()
            if span >= FEWEST_CYCLES[cycle] * length and (clock or cycle != "time")
        )
        return _Date(name=name, cycles=cycles, variances=[(1, 1.0)] + [(2, CYCLE_VARIANCE)] * len(cycles))
    return _Number(name=name, truth=kind == "boolean", variances=[(1, 1.0)])


def _fit_flags(sample: pa.RecordBatch, kinds: Sequence[tuple[str, str]]) -> list[_Column]:
    """A flag for each column with missing values; columns that miss the same rows share one."""
    flags: list[_Column] = []
    seen = set()
    for name, kind in kinds:
        if kind == "category":  # has a value for it
            continue
        missing = np.isnan(_READERS[kind](sample.column(name)))
        pattern = np.packbits(missing).tobytes()
        if missing.any() and not missing.all() and pattern not in seen:
            seen.add(pattern)
            flags.append(_Flag(name=name, kind=kind, variances=[(1, FLAG_VARIANCE)]))
    return flags


def _frequent(texts: pa.Array) -> pa.Array:
    """The values that are frequent enough to have a column of their own, the most frequent first."""
    import pyarrow as pa

    counts = texts.drop_null().value_counts()
    values = counts.field("values").to_pylist()
    numbers: npt.NDArray[np.int64] = np.asarray(counts.field("counts").to_numpy())
    fewest = np.clip(RARE[0] * numbers.sum(), *RARE[1:])
    order = sorted((-int(number), value) for number, value in zip(numbers, values, strict=True) if number >= fewest)
    return pa.array([value for _, value in order[:MOST_VALUES]], pa.string())
