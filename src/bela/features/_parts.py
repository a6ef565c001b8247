"""What every kind of column turns its rows into to be put beside the others: embeddings, arrays, tables.

Each column of a table gets the same variance, a category with twenty values as much as a number. What is missing counts
as the middle of its column, and a column of its own says that it was missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from bela.data import ArraySource
from bela.features import _scaling as scaling
from bela.features._arrow import READERS, as_categories, as_days, stack, taken
from bela.features._scaling import SHARED_COLUMNS, TREE_COLUMNS, Components, Doubles, Floats, Prepared, Size
from bela.features._source import learner_features
from bela.records import AnyArray, Matrix

LARGEST_SHARED = 1e15  # columns with larger numbers are not compared by their units
MOST_VALUES = 64  # of a category; the rest are pooled
RARE = (0.005, 2, 10)  # values are pooled if they are fewer than this share of the rows, but between these numbers
CYCLES = {"time": 1.0, "weekday": 7.0, "season": 365.2425}  # in days
FEWEST_CYCLES = {"time": 2.0, "weekday": 3.0, "season": 1.5}  # the data must span so many to tell anything
CYCLE_VARIANCE, FLAG_VARIANCE = 0.5, 0.1  # that a value is missing says less than a value
FLAGS_ALONE = 0.3  # columns: all flags together, where nothing else is beside numbers of one unit
ALONE = 3.0  # a single column beside a text has 1 / (1 + ALONE) of the text's weight, many columns come near to 1

Encode = Callable[[pa.Array], tuple[Doubles, Doubles]]
"""Values to the columns that distances see, NaN for what is missing, and to those that trees see."""
Step = Callable[[str, float], object]
"""Told what is being done, and the share of it that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Features of one or several columns: `transform` makes them of a block of rows, given the numbers of the rows.

    `share` is how much of the distance between two rows this part should make up, 1 for a part of full weight;
    `linear_norm` the root of the mean squared norm that rows have in the form for linear models.
    """

    transform: Callable[[pa.RecordBatch, range], Prepared]
    share: float = 1.0
    linear_norm: float = 1.0


class Sample(Protocol):
    """A sample of some columns that is collected as the rows stream by, and that features are learned from."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to look at."""

    def pick(self, start: int, block: pa.RecordBatch) -> Any:
        """Return what may be needed of a block, which need not be the next one; nothing changes."""

    def add(self, picked: Any, start: int) -> None:
        """Take what was picked from the next block."""

    def fit(self, size: Size, step: Step) -> list[Part]:
        """Learn from the sample."""


def join_pieces(parts: Sequence[Part], pieces: Sequence[Prepared]) -> Prepared:
    """Put the features of several parts side by side, each with its share of the squared distances.

    A part without a form for linear models stands in with its dense form where others have one.
    """
    if len(pieces) == 1:
        return pieces[0]
    whole = sum(part.share for part in parts)
    dense, linear = [], []
    for part, piece in zip(parts, pieces, strict=True):
        weight = np.float32(np.sqrt(part.share / whole))
        dense.append(piece.dense * weight)
        linear.append(dense[-1] if piece.linear is None else piece.linear * np.float32(weight / part.linear_norm))
    together = None
    if any(sparse.issparse(piece.linear) for piece in pieces):
        together = sparse.csr_array(sparse.hstack([sparse.csr_array(form) for form in linear], format="csr"))
    elif any(piece.linear is not None for piece in pieces):
        together = np.concatenate(linear, axis=1)
    trees: list[Floats] = []
    for form in (piece.columns for piece in pieces if piece.columns is not None):
        if not trees or sum(tree.shape[1] for tree in (*trees, form)) <= TREE_COLUMNS:  # tables first
            trees.append(form)
    columns = np.concatenate(trees, axis=1) if trees else None
    views = tuple(view for piece in pieces for view in piece.views)
    return Prepared(dense=np.concatenate(dense, axis=1), linear=together, columns=columns, views=views)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSample:
    """A sample of given rows, and what learns from them."""

    columns: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    learn: Callable[[pa.RecordBatch, Size], list[Part]]
    _batches: list[pa.RecordBatch] = field(default_factory=list)

    def pick(self, start: int, block: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are in the block."""
        return taken(block.select(self.columns), start, self.rows)

    def add(self, picked: pa.RecordBatch, start: int) -> None:
        """Take the rows of the next block."""
        self._batches.append(picked)

    def fit(self, size: Size, step: Step) -> list[Part]:
        """Learn from the sample."""
        return self.learn(stack(self._batches), size)


def fit_matrix(
    encode: Callable[[pa.RecordBatch, int], tuple[Doubles, Doubles]], sample: Doubles, size: Size, *,
    shared: bool | None = None, groups: Sequence[tuple[int, float]] | None = None, share: float = 1.0,
) -> Part:  # fmt: skip
    """Learn scales for columns that are encoded as a matrix, from a sample of its rows.

    `encode` gets a block, and the number of its first row for errors; it returns the columns that distances see, and
    those that trees see. NaN count as the middle of their column, infinities as its largest or smallest number.
    `shared` says whether the columns share a unit, None to judge by the numbers. If not, each gets the same variance,
    or each group of neighbours of some width its total variance: `groups`.
    """
    middle, low, high = _order(sample)
    sample = _complete(sample, middle, low, high)
    seen: AnyArray = sample
    scales = None
    if _one_unit(sample) if shared is None else shared:
        reach = 9 * (high - low)
        low, high = low - reach, high + reach
    else:
        centre, spread = scaling.column_scales(sample)
        scales = centre, 1 / (spread if groups is None else _group_spread(spread, groups))
        seen = scaling.clipped((sample - scales[0]) * scales[1])
    mean, norm, components = np.asarray(seen.mean(axis=0), np.float64), 1.0, None
    if sample.shape[1] > size.most_columns:
        components = Components.fit(np.asarray(seen, np.float32), size.n_components)
    else:
        norm = scaling.mean_norm([(seen - mean).astype(np.float32)])

    def transform(block: pa.RecordBatch, rows: range) -> Prepared:
        near, raw = encode(block, rows.start)
        X = _complete(near, middle, low, high)
        standard = None if scales is None else scaling.clipped((X - scales[0]) * scales[1])
        seen = np.clip(X, low, high) if standard is None else standard
        dense = scaling.reduced(seen, components, mean, norm, direction=standard is not None)
        columns = scaling.as_floats(raw) if 0 < raw.shape[1] <= TREE_COLUMNS else None
        return Prepared(dense=dense, linear=standard, columns=columns)

    return Part(transform=transform, share=share, linear_norm=scaling.mean_norm([seen]))


def _group_spread(spread: Doubles, groups: Sequence[tuple[int, float]]) -> Doubles:
    """The spread by which each column is divided so that its group has the variance that it should have."""
    widths, variances = zip(*groups, strict=True)
    group = np.repeat(np.arange(len(groups)), widths)
    total = np.bincount(group, np.where(np.isinf(spread), 0, spread) ** 2)
    total = np.where(total > 0, total / np.array(variances), np.inf)
    return np.where(np.isinf(spread), np.inf, np.sqrt(total)[group])


def _one_unit(sample: Doubles) -> bool:
    return float(np.abs(sample).max(initial=0)) < LARGEST_SHARED and scaling.shares_unit(sample)


def _order(sample: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """The middle, smallest and largest finite number of each column, 0 for a column without any."""
    finite = np.isfinite(sample)
    low = sample.min(axis=0, initial=np.inf, where=finite)
    high = sample.max(axis=0, initial=-np.inf, where=finite)
    some, middle = finite.any(axis=0), np.zeros(sample.shape[1])
    if finite.all() and len(sample):
        middle = np.median(sample, axis=0)
    elif some.any():
        middle[some] = np.nanmedian(np.where(finite, sample, np.nan)[:, some], axis=0)
    return middle, np.where(some, low, 0.0), np.where(some, high, 0.0)


def _complete(X: Doubles, middle: Doubles, low: Doubles, high: Doubles) -> Doubles:
    """Put numbers where there are none."""
    finite = np.isfinite(X)
    return X if finite.all() else np.where(finite, X, np.where(np.isnan(X), middle, np.where(X > 0, high, low)))


def ready_part(array: Matrix, *, seed: int) -> Part:
    """Return what the learner would see of an array, computed all at once, with mean squared norm 1."""
    found = learner_features(ArraySource(array), seed)
    ready = found if isinstance(found, Prepared) else Prepared(dense=found)
    ready = replace(ready, dense=ready.dense / np.float32(_norm(ready.dense)))

    def transform(_: pa.RecordBatch, rows: range) -> Prepared:
        dense, linear, columns = (None if form is None else form[rows.start : rows.stop] for form in ready.forms)
        return Prepared(dense=np.asarray(dense), linear=linear, columns=columns)

    return Part(transform=transform, linear_norm=1.0 if ready.linear is None else _norm(ready.linear))


def _norm(X: Matrix) -> float:
    """The root of the mean squared norm of rows."""
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X, dtype=np.float64)
    return float(np.sqrt(squares / X.shape[0])) or 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One column of a table; of each group of columns that it becomes, how many they are, and their variance."""

    name: str
    encode: Encode
    groups: tuple[tuple[int, float], ...] = ((1, 1.0),)


def _encode_number(kind: str, array: pa.Array) -> tuple[Doubles, Doubles]:
    return (READERS[kind](array)[:, None],) * 2


def _encode_flag(kind: str, array: pa.Array) -> tuple[Doubles, Doubles]:
    """Whether a value is missing; trees see that in the column itself."""
    missing = np.isnan(READERS[kind](array)).astype(np.float64)[:, None]
    return missing, missing[:, :0]


def _encode_category(values: pa.Array, array: pa.Array) -> tuple[Doubles, Doubles]:
    """One column for each of the values, one for all others, one for what is missing; trees see their number."""
    texts, n = as_categories(array), len(values)
    places = np.asarray(pc.fill_null(pc.index_in(texts, value_set=values), n).to_numpy(), np.intp)
    missing = np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False), np.bool_)
    places[missing] = n + 1
    hot = np.zeros((len(places), n + 2))
    hot[np.arange(len(places)), places] = 1
    return hot, np.where(missing, np.nan, places)[:, None]


def _encode_date(cycles: Sequence[str], array: pa.Array) -> tuple[Doubles, Doubles]:
    """The day, and for each cycle where in it the day is: for distances, a point on a circle."""
    days = as_days(array)
    near, raw = [days], [days]
    for cycle in cycles:
        turn = np.mod(days / CYCLES[cycle], 1)
        raw.append(turn)
        near += [np.sin(2 * np.pi * turn), np.cos(2 * np.pi * turn)]
    return np.stack(near, axis=1), np.stack(raw, axis=1)


def fit_table(kinds: Mapping[str, str], sample: pa.RecordBatch, size: Size) -> list[Part]:
    """Learn encodings and scales; many numbers that share a unit, as pixels do, become a part of their own."""
    columns = {name: _fit_column(name, kind, sample.column(name)) for name, kind in kinds.items()}
    flags = _fit_flags(sample, kinds)
    numbers = [columns[name] for name, kind in kinds.items() if kind == "number"]
    if len(numbers) >= SHARED_COLUMNS:
        near, _ = _encode(numbers, sample, 0)
        if _one_unit(_complete(near, *_order(near))):
            part = fit_matrix(partial(_encode, numbers), near, size, shared=True)
            others = [column for name, column in columns.items() if kinds[name] != "number"]
            rest = [*others, *flags]
            return [part, _fit_part(sample, rest, len(others) or FLAGS_ALONE, size)] if rest else [part]
    return [_fit_part(sample, [*columns.values(), *flags], len(columns), size)]


def _fit_part(sample: pa.RecordBatch, columns: Sequence[_Column], n: float, size: Size) -> Part:
    near, _ = _encode(columns, sample, 0)
    groups = [group for column in columns for group in column.groups]
    return fit_matrix(partial(_encode, columns), near, size, shared=False, groups=groups, share=n / (n + ALONE))


def _encode(columns: Sequence[_Column], block: pa.RecordBatch, start: int) -> tuple[Doubles, Doubles]:
    pairs = [column.encode(block.column(column.name)) for column in columns]
    return np.concatenate([near for near, _ in pairs], axis=1), np.concatenate([raw for _, raw in pairs], axis=1)


def _fit_column(name: str, kind: str, array: pa.Array) -> _Column:
    if kind == "category":
        values = _frequent(as_categories(array))
        return _Column(name=name, encode=partial(_encode_category, values), groups=((len(values) + 2, 1.0),))
    if kind == "date":
        cycles = _cycles(as_days(array))
        groups = ((1, 1.0), *[(2, CYCLE_VARIANCE)] * len(cycles))
        return _Column(name=name, encode=partial(_encode_date, cycles), groups=groups)
    return _Column(name=name, encode=partial(_encode_number, kind))


def _cycles(days: Doubles) -> list[str]:
    """The cycles that the days go through often enough to tell anything."""
    days = days[np.isfinite(days)]
    span = float(np.ptp(days)) if len(days) else 0.0
    enough = [cycle for cycle, length in CYCLES.items() if span >= FEWEST_CYCLES[cycle] * length]
    return [cycle for cycle in enough if cycle != "time" or np.any(days != np.floor(days))]


def _fit_flags(sample: pa.RecordBatch, kinds: Mapping[str, str]) -> list[_Column]:
    """A flag for each column with missing values; columns that miss the same rows share one."""
    flags: dict[bytes, _Column] = {}
    for name, kind in kinds.items():
        if kind != "category":  # which has a value for it
            missing = np.isnan(READERS[kind](sample.column(name)))
            if missing.any() and not missing.all():
                flag = _Column(name=name, encode=partial(_encode_flag, kind), groups=((1, FLAG_VARIANCE),))
                flags.setdefault(np.packbits(missing).tobytes(), flag)
    return list(flags.values())


def _frequent(texts: pa.Array) -> pa.Array:
    """The values that are frequent enough to have a column of their own, the most frequent first."""
    counts = texts.drop_null().value_counts()
    values, numbers = counts.field("values").to_pylist(), np.asarray(counts.field("counts").to_numpy())
    fewest = np.clip(RARE[0] * numbers.sum(), *RARE[1:])
    order = sorted((-int(number), value) for number, value in zip(numbers, values, strict=True) if number >= fewest)
    return pa.array([value for _, value in order[:MOST_VALUES]], pa.string())
