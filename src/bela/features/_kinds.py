"""What kind of thing a column holds, told from a sample of its values, with the reason in plain words."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bela.data import image_endings, index_column, is_no_image, open_image
from bela.errors import DataError
from bela.features import _arrow as arrow
from bela.features._arrow import each_block, stack, taken
from bela.features._scaling import Doubles
from bela.features._texts import SINGLE, words_a_text
from bela.protocols import Table

LOOKED_AT_ROWS = 10_000
LOOKED_AT_VALUES = 5_000_000  # fewer rows of a wide table
LOOKED_AT_BYTES, KEPT_BYTES = 1 << 30, 256 << 20
FEWEST_ROWS = 200
MOST = 0.98  # of the values must be readable; the others count as missing
TRIED_IMAGES, LOOKED_AT_NAMES, LONGEST_ENDING = 5, 200, 6
NAMES_OF_IDS = frozenset(["id", "ids", "idx", "index", "key", "uid", "uuid", "guid", "row", "rowid", "unnamed: 0", ""])
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKind:
    """A kind, why, and whether the column is left out only because its values look like names of rows."""

    kind: str
    reason: str
    named_rows: bool = False


def _ignored(reason: str, *, named_rows: bool = False) -> ColumnKind:
    return ColumnKind(kind="ignored", reason=reason, named_rows=named_rows)


SAME, EMPTY = _ignored("all values are the same"), _ignored("it is empty")
OWN = _ignored("each value is its own", named_rows=True)


def look(records: Table, names: list[str], kinds: Mapping[str, str]) -> dict[str, ColumnKind]:
    """Judge each column by a sample of rows from all of the data, or from the first gigabyte."""
    rows, sample = _sample(records, names)
    index = index_column(records.columns)
    verdicts = {}
    for name in names:
        values = sample.column(name)
        if name in kinds:
            _check(name, kinds[name], values, records.root)
            verdicts[name] = ColumnKind(kind=kinds[name], reason="as told")
        elif name == index:
            verdicts[name] = _ignored("it is an index")
        else:
            verdicts[name] = _judge(name, values, rows, n_rows=records.n_rows, root=records.root)
    return verdicts


def _sample(records: Table, names: list[str]) -> tuple[Rows, pa.RecordBatch]:
    """Some rows in their order, with their numbers: fewer where they are long."""
    n = min(records.n_rows, LOOKED_AT_ROWS, max(FEWEST_ROWS, LOOKED_AT_VALUES // len(names)))
    rows = np.sort(np.random.default_rng(0).choice(records.n_rows, n, replace=False))
    found, n_bytes = list[pa.RecordBatch](), 0
    for some, size in each_block(records, names, partial(_looked_at, rows)):
        found.append(some)
        if sum(batch.nbytes for batch in found) > KEPT_BYTES:  # long texts or images: every second of them will do
            sample = stack(found)
            rows, found = rows[::2], [taken(sample, 0, np.arange(0, sample.num_rows, 2))]
        n_bytes += size
        if n_bytes > LOOKED_AT_BYTES and sum(batch.num_rows for batch in found) >= FEWEST_ROWS:
            break
    sample = stack(found)
    return rows[: sample.num_rows], sample


def _looked_at(rows: Rows, start: int, block: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    return taken(block, start, rows), block.nbytes


def _judge(name: str, values: pa.Array, rows: Rows, *, n_rows: int, root: Path | None) -> ColumnKind:
    """Choose a kind for a column by a sample of its values, those of `rows`; a single row in all is no constant."""
    t = values.type
    if pa.types.is_null(t) or values.null_count == len(values):
        return EMPTY
    if pa.types.is_struct(t) or pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return _judge_bytes(values, root)
    if arrow.is_list(values):
        return _judge_lists(values)
    if arrow.is_text(values):
        return _judge_texts(name, values, rows, n_rows=n_rows, root=root)
    if pa.types.is_boolean(t):
        return _unless_constant(arrow.as_truths(values), n_rows, ColumnKind(kind="boolean", reason="yes or no"))
    if arrow.is_date(values):
        return _judge_days(arrow.as_days(values), n_rows)
    if arrow.is_number(values):
        return _judge_numbers(name, arrow.as_numbers(values), rows, n_rows, whole=bool(pa.types.is_integer(t)))
    return _ignored(f"values of type {t} say nothing to compare rows by")


def _check(name: str, kind: str, values: pa.Array, root: Path | None) -> None:
    """Raise a DataError if the values do not bear out a kind that somebody has chosen."""
    found: list[bool] | npt.NDArray[np.bool_] = [True]
    try:
        if kind in arrow.READERS:
            found = ~np.isnan(arrow.READERS[kind](values))
        elif kind == "category":
            found = [text is not None for text in arrow.as_categories(values).to_pylist()]
        elif kind == "text":
            found = [bool(text) for text in arrow.as_texts(values).to_pylist()]
        elif kind == "embedding":
            verdict = _judge_lists(values)
            if verdict.kind != "embedding":
                raise DataError(f"the values are no lists of numbers of one length: {verdict.reason}")
        elif kind == "image":
            _try_images([value for value in values.to_pylist() if not is_no_image(value)], root)
        if not any(found):
            raise DataError("none of the values looked at can be read so")
    except DataError as error:
        raise DataError(f"column {name!r} cannot be of kind {kind}: {error}") from None


def _judge_numbers(name: str, numbers: Doubles, rows: Rows, n_rows: int, *, whole: bool, odd: int = 0) -> ColumnKind:
    there = ~np.isnan(numbers)
    if not there.any():
        return EMPTY
    if whole and n_rows > 2 and there.all():
        if len(numbers) > 1 and _counts(numbers, n_rows):
            return _ignored("it counts the rows", named_rows=True)
        name = name.strip().lower()
        named = name in NAMES_OF_IDS or name.endswith(("_id", " id", "-id", ".id"))
        if named and len(np.unique(numbers)) == len(numbers):
            return OWN
    missing, reason = float(np.mean(~there)), ""
    if odd:
        reason = f"{odd} of {len(numbers)} values looked at are no numbers and count as missing"
    elif missing:
        reason = f"{100 * missing:.0f} % missing" if missing >= 0.01 else "less than 1 % missing"
    return _unless_constant(numbers, n_rows, ColumnKind(kind="number", reason=reason))


def _counts(numbers: Doubles, n_rows: int) -> bool:
    """Whether numbers only say which row it is: they rise from row to row, or each up to their number is there once."""
    if bool(np.all(np.diff(numbers) > 0)):
        return True
    return len(numbers) == n_rows == len(np.unique(numbers)) == 1 + np.ptp(numbers)


def _judge_texts(name: str, values: pa.Array, rows: Rows, *, n_rows: int, root: Path | None) -> ColumnKind:
    said = arrow.trimmed(values)
    if (n := len(said) - said.null_count) == 0:
        return EMPTY
    numbers = arrow.as_numbers(said)
    n_numbers = int(np.sum(~np.isnan(numbers)))
    codes = pc.sum(pc.match_substring_regex(said, arrow.CODE)).as_py() or 0
    if n_numbers >= MOST * n and not codes:
        whole = bool(pc.all(pc.match_substring_regex(said, r"^[+-]?\d+$")).as_py())
        return _judge_numbers(name, numbers, rows, n_rows, whole=whole, odd=n - n_numbers)
    lowered = set(pc.unique(pc.ascii_lower(said).drop_null()).to_pylist())
    if any(lowered <= set(pair) for pair in arrow.TRUTHS):
        return _unless_constant(arrow.as_truths(said), n_rows, ColumnKind(kind="boolean", reason="yes or no"))
    days = arrow.as_days(said)
    if np.sum(~np.isnan(days)) >= MOST * n:
        return _judge_days(days, n_rows)
    some = said.drop_null().slice(0, LOOKED_AT_NAMES).to_pylist()
    endings = [os.path.splitext(text)[1].lower() for text in some]
    if 0 < len(endings[0]) <= LONGEST_ENDING and np.isin(endings, list(image_endings())).mean() >= MOST:
        try:
            _try_images(some, root)
            return ColumnKind(kind="image", reason="paths of image files")
        except DataError as error:
            return _ignored(f"it looks like paths of images, but {error}", named_rows=True)
    return _judge_words(arrow.as_categories(values), n_rows)


def _judge_words(texts: pa.Array, n_rows: int) -> ColumnKind:
    """Texts that are nothing else: categories, sentences, or names of rows."""
    there = texts.drop_null()
    n, n_values = len(there), pc.count_distinct(there).as_py()
    if n_values <= 1 and n == len(texts) and n_rows > 1:
        return SAME
    # scripts without spaces are counted by their signs, but "a-b.c" is one word
    spaced = pc.utf8_trim_whitespace(pc.replace_substring_regex(there, SINGLE, r" \1 "))
    words = pc.mean(pc.list_value_length(pc.utf8_split_whitespace(spaced))).as_py() or 0
    if words < 2 and n_values == n and n > 1:
        return OWN
    if n_values <= (n / 5 if words >= 2 else n / 2) or (n_values == 1 and n_rows > 1):
        return ColumnKind(kind="category", reason=f"{n_values} values")
    count = words_a_text(there)
    return ColumnKind(kind="text", reason=f"{count:.0f} words on average" if count >= 2 else "compared by letters")


def _judge_lists(values: pa.Array) -> ColumnKind:
    if not arrow.is_list(values):
        return _ignored("they are no lists")
    inner = values.type.value_type
    if pa.types.is_string(inner) or pa.types.is_large_string(inner):
        return ColumnKind(kind="text", reason="lists of texts, joined")
    if not (pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner)):
        return _ignored(f"lists of {inner} say nothing to compare rows by")
    lengths = arrow.list_lengths(values)[np.asarray(values.is_valid().to_numpy(zero_copy_only=False))]
    if not len(lengths):
        return EMPTY
    if lengths.min() != lengths.max():
        return _ignored(f"its lists have from {lengths.min()} to {lengths.max()} numbers")
    return (
        _ignored("its lists are empty")
        if lengths[0] == 0
        else ColumnKind(kind="embedding", reason=f"{lengths[0]} numbers each")
    )


def _judge_bytes(values: pa.Array, root: Path | None) -> ColumnKind:
    if pa.types.is_struct(values.type) and not {field.name for field in values.type} & {"bytes", "path"}:
        return _ignored("nested values say nothing to compare rows by")
    images = [value for value in values.slice(0, 100).to_pylist() if not is_no_image(value)][:TRIED_IMAGES]
    if not images:
        return EMPTY
    try:
        _try_images(images, root)
    except DataError:
        return _ignored("it holds bytes that are no images")
    return ColumnKind(kind="image", reason="image files")


def _try_images(values: list[object], root: Path | None) -> None:
    if not values:
        raise DataError("there is no image")
    tried, broken = values[:TRIED_IMAGES], []
    with warnings.catch_warnings(action="ignore"):  # large images and odd metadata are no reason to stop
        for value in tried:
            try:
                open_image(value, root, "looked at")
            except DataError as error:
                broken.append(error)
    if 2 * len(broken) > len(tried):
        raise broken[0]


def _unless_constant(numbers: Doubles, n_rows: int, verdict: ColumnKind) -> ColumnKind:
    return SAME if n_rows > 1 and len(numbers) and bool(np.all(numbers == numbers[0])) else verdict


def _judge_days(days: Doubles, n_rows: int) -> ColumnKind:
    there, reason = days[np.isfinite(days)], ""
    if len(there):
        first, last = (np.datetime64(int(np.floor(day)), "D") for day in (there.min(), there.max()))
        reason = f"from {first} to {last}"
    return _unless_constant(days, n_rows, ColumnKind(kind="date", reason=reason))
