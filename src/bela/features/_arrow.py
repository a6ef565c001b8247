"""Tables of Arrow: rows in blocks, and the values of a column as numbers, days, truth values or texts.

The borders of blocks depend on the data only, never on how the source cuts them, so that the same data give the same
features to the last bit from any source. Texts are read in one way only, the same in every country: "1.5" is a number
and "1,234" is none, "2024-03-01" is a date and "01/03/2024" is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bela.errors import DataError
from bela.features._scaling import Doubles
from bela.protocols import FarBlocks, FarTable, Table

Found = TypeVar("Found")

MOST_ROWS, FEWEST_ROWS = 8_192, 64
BLOCK_BYTES = 32 << 20  # long texts and images come in smaller blocks

MISSING = ("", "nan", "na", "n/a", "#n/a", "null", "none", "nil", "?", "-", "--", ".")
TRUTHS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"))
LARGEST = 1e100  # beyond, the square of a number is none any more
MOST_CHARACTERS = 100_000  # of a text: by then it has said what it is about

NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"
CODE = r"^[+-]?0\d"  # zip codes and part numbers: digits that count nothing
DATE = (
    r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
    r"(?:[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r" ?(?:(?i:Z|UTC)|(?P<sign>[+-])(?P<zone_hour>\d{2}):?(?P<zone_minute>\d{2})?)?)?$"
)
SECONDS_A_DAY = 86_400


def each_block(
    records: Table, columns: Sequence[str], function: Callable[[int, pa.RecordBatch], Found]
) -> Iterator[Found]:
    """Yield what a function of the number of a fixed block's first row, and the block, returns: where the rows lie."""
    if not isinstance(records, FarTable):
        for start, block in fixed_blocks(records, columns):
            yield function(start, block)
        return
    blocks = records.far()
    for found in blocks.each(partial(_inside, columns, far_block_rows(blocks, columns), function)):
        yield from found


def far_block_rows(blocks: FarBlocks[pa.RecordBatch], columns: Sequence[str]) -> int:
    """Return how many rows a fixed block has: all of them are parts of larger blocks that lie elsewhere."""
    head = blocks.take(np.arange(min(FEWEST_ROWS, blocks.n_rows)))
    return _block_rows(_plain_batch(head, columns))


def cut_fixed(block: pa.RecordBatch, columns: Sequence[str], size: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Go through the fixed blocks of a larger block: the place of the first row of each, and the block."""
    plain = _plain_batch(block, columns)
    for start in range(0, plain.num_rows, size):
        yield start, plain.slice(start, size)


def _inside(
    columns: Sequence[str], size: int, function: Callable[[int, pa.RecordBatch], Found], start: int,
    block: pa.RecordBatch,
) -> list[Found]:  # fmt: skip
    return [function(start + first, some) for first, some in cut_fixed(block, columns, size)]


def fixed_blocks(records: Table, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Go through all rows; yield the number of each block's first row, and the block."""
    waiting: list[pa.RecordBatch] = []
    n_waiting, start, size = 0, 0, 0
    for batch in records.batches(list(columns)):
        rest = _plain_batch(batch, columns)
        while rest.num_rows:
            some = rest.slice(0, (size or FEWEST_ROWS) - n_waiting)
            rest = rest.slice(some.num_rows)
            waiting.append(some)
            n_waiting += some.num_rows
            if not size and n_waiting == FEWEST_ROWS:
                size = _block_rows(stack(waiting))
            if n_waiting == size:
                yield start, stack(waiting)
                start, waiting, n_waiting = start + size, [], 0
    if waiting:
        yield start, stack(waiting)
    if start + n_waiting != records.n_rows:
        rows = f"{start + n_waiting} rows where there should be {records.n_rows}"
        raise DataError(f"the data gave {rows}: they changed while they were read")


def _plain_batch(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_plain_array(batch.column(name)) for name in columns], names=list(columns))


def _plain_array(array: pa.Array) -> pa.Array:
    """Take off what only says how values are stored: dictionaries, extensions, views."""
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_large_string(array.type) or str(array.type) == "string_view":
        array = array.cast(pa.string())
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":  # Python's own moments have no nanoseconds
        array = array.cast(pa.timestamp("us", array.type.tz), safe=False)
    return array


def taken(block: pa.RecordBatch, start: int, rows: npt.NDArray[np.intp]) -> pa.RecordBatch:
    """Return those rows of a block that are among the sorted `rows`."""
    low, high = np.searchsorted(rows, [start, start + block.num_rows])
    return block.take(pa.array(np.asarray(rows[low:high] - start, np.int64)))


def stack(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Put batches on top of each other; no rows at all are an error long before this."""
    if len(batches) == 1:
        return batches[0]
    names = batches[0].schema.names
    arrays = [pa.concat_arrays([batch.column(name) for batch in batches]) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _block_rows(head: pa.RecordBatch) -> int:
    """A power of two of rows that has about as many bytes as a block should."""
    bytes_a_row = max(1.0, head.nbytes / head.num_rows)
    return int(2 ** np.clip(np.floor(np.log2(BLOCK_BYTES / bytes_a_row)), np.log2(FEWEST_ROWS), np.log2(MOST_ROWS)))


def _is_of(names: str, array: pa.Array) -> bool:
    """Whether the values are of one of some types of Arrow."""
    return any(getattr(pa.types, f"is_{name}")(array.type) for name in names.split())


is_text = partial(_is_of, "string")
is_date = partial(_is_of, "date timestamp")
is_number = partial(_is_of, "integer floating decimal duration time")
is_list = partial(_is_of, "list large_list fixed_size_list")


def list_lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    """How long each list is, 0 for a missing one."""
    return np.asarray(pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False), np.int64)


def trimmed(texts: pa.Array) -> pa.Array:
    """Texts without the space around them, None for what stands for nothing."""
    texts = pc.utf8_trim_whitespace(texts)
    nothing = pc.is_in(pc.ascii_lower(texts), value_set=pa.array(MISSING))
    return pc.if_else(nothing, pa.scalar(None, pa.string()), texts)


def as_numbers(array: pa.Array) -> Doubles:
    """Numbers, NaN for what is none."""
    t = array.type
    if pa.types.is_null(t):
        return np.full(len(array), np.nan)
    if is_text(array):
        try:
            array = array.cast(pa.float64())  # the quick way, where each text is a number
        except pa.ArrowInvalid:
            array = trimmed(array)
            array = pc.if_else(pc.match_substring_regex(array, NUMBER), array, pa.scalar(None, pa.string()))
    elif is_date(array):
        return as_days(array)
    elif pa.types.is_duration(t) or pa.types.is_time(t):
        array = array.cast(pa.int64() if t.bit_width == 64 else pa.int32())
    elif not (is_number(array) or pa.types.is_boolean(t)):
        raise DataError(f"values of type {t} cannot be read as numbers: choose another kind for this column")
    if pa.types.is_boolean(t):
        array = array.cast(pa.int8())
    numbers = np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    return np.where(np.isinf(numbers), numbers, np.clip(numbers, -LARGEST, LARGEST))


def as_truths(array: pa.Array) -> Doubles:
    """1 for yes, 0 for no, NaN for neither."""
    if not is_text(array):
        numbers = as_numbers(array)
        return np.where(np.isnan(numbers), np.nan, numbers != 0)
    texts = pc.ascii_lower(pc.utf8_trim_whitespace(array))
    truths = np.full(len(array), np.nan)
    for value, words in zip((1.0, 0.0), zip(*TRUTHS, strict=True), strict=True):
        truths[_bools(pc.is_in(texts, value_set=pa.array([*words, str(int(value))])))] = value
    return truths


def as_days(array: pa.Array) -> Doubles:
    """Days since 1970 with their fraction, NaN for what is no date."""
    if is_date(array):
        moments = array.cast(pa.timestamp("us", getattr(array.type, "tz", None)), safe=False).cast(pa.int64())
        return np.asarray(moments.to_numpy(zero_copy_only=False), np.float64) / (SECONDS_A_DAY * 1e6)
    if not is_text(array):
        raise DataError(f"values of type {array.type} cannot be read as dates: choose another kind for this column")
    parts = pc.extract_regex(trimmed(array), DATE)
    found = _bools(pc.is_valid(parts))
    fields = {field.name: parts.field(i) for i, field in enumerate(parts.type)}

    def integers(name: str) -> npt.NDArray[np.int64]:
        texts = pc.if_else(pc.equal(fields[name], ""), "0", fields[name])
        return np.asarray(pc.fill_null(texts.cast(pa.int32()), 0).to_numpy(zero_copy_only=False), np.int64)

    year, month, day = integers("year"), integers("month"), integers("day")
    found &= (month >= 1) & (month <= 12) & (day >= 1)
    months = (year - 1970) * 12 + np.clip(month, 1, 12) - 1
    first = months.astype("M8[M]").astype("M8[D]")
    found &= day <= ((months + 1).astype("M8[M]").astype("M8[D]") - first).astype(np.int64)
    hour, minute, second = integers("hour"), integers("minute"), integers("second")
    found &= (hour < 24) & (minute < 60) & (second <= 60)
    west = np.where(_bools(pc.equal(fields["sign"], "-")), -1, 1)
    offset = west * (integers("zone_hour") * 3600 + integers("zone_minute") * 60)
    seconds = hour * 3600 + minute * 60 + second - offset
    days = first.astype(np.int64) + day - 1 + seconds / SECONDS_A_DAY
    return np.where(found, days, np.nan)


READERS = {"number": as_numbers, "boolean": as_truths, "date": as_days}


def as_categories(array: pa.Array) -> pa.Array:
    """Any single values as texts without space around them, None where there is nothing."""
    if pa.types.is_null(array.type):
        return array.cast(pa.string())
    if not is_text(array):
        try:
            return array.cast(pa.string())
        except pa.ArrowException:
            why = f"values of type {array.type} cannot be told apart as categories"
            raise DataError(f"{why}: choose another kind for this column") from None
    texts = pc.utf8_trim_whitespace(array)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def as_texts(array: pa.Array) -> pa.Array:
    """Texts, empty where there is nothing; lists of texts are joined, other values written out, books cut short."""
    if is_list(array):
        words = array.flatten()
        if not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)):
            raise DataError(f"values of type {array.type} cannot be read as text: choose another kind for this column")
        offsets = pa.array(np.concatenate([[0], np.cumsum(list_lengths(array))]), pa.int32())
        array = pc.binary_join(pa.ListArray.from_arrays(offsets, pc.fill_null(words, "").cast(pa.string())), " ")
    elif not is_text(array):
        array = as_categories(array)
    array = pc.fill_null(array, "")
    if len(array) and pc.max(pc.binary_length(array)).as_py() > MOST_CHARACTERS:
        array = pc.utf8_slice_codeunits(array, 0, MOST_CHARACTERS)
    return array


def _bools(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), np.bool_)
