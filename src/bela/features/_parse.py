"""Values of a column as numbers, days, truth values or texts, whatever type they come in.

CSV files bring everything as text. What can be read is read in one way only, the same in every country: "1.5" is a
number and "1,234" is none, "2024-03-01" is a date and "01/03/2024" is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

Doubles = npt.NDArray[np.float64]

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


def is_text(array: pa.Array) -> bool:
    """Whether the values are texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(array.type))


def is_date(array: pa.Array) -> bool:
    """Whether the values are dates or moments by type."""
    import pyarrow as pa

    return bool(pa.types.is_date(array.type) or pa.types.is_timestamp(array.type))


def is_number(array: pa.Array) -> bool:
    """Whether the values are numbers by type, durations and times of day among them."""
    import pyarrow as pa

    t = array.type
    return bool(
        pa.types.is_integer(t)
        or pa.types.is_floating(t)
        or pa.types.is_decimal(t)
        or pa.types.is_duration(t)
        or pa.types.is_time(t)
    )


def is_list(array: pa.Array) -> bool:
    """Whether the values are lists, of one length or not."""
    import pyarrow as pa

    t = array.type
    return bool(pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t))


def list_lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    """How long each list is, 0 for a missing one."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)


def trimmed(texts: pa.Array) -> pa.Array:
    """Texts without the space around them, None for what stands for nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(texts)
    nothing = pc.is_in(pc.ascii_lower(texts), value_set=pa.array(MISSING))
    return pc.if_else(nothing, pa.scalar(None, pa.string()), texts)


def as_numbers(array: pa.Array) -> Doubles:
    """Numbers, NaN for what is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
    finite = np.clip(numbers, -LARGEST, LARGEST)
    return np.where(np.isinf(numbers), numbers, finite)


def as_truths(array: pa.Array) -> Doubles:
    """1 for yes, 0 for no, NaN for neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
    import pyarrow as pa
    import pyarrow.compute as pc

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


def as_categories(array: pa.Array) -> pa.Array:
    """Any single values as texts without space around them, None where there is nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(array.type):
        return array.cast(pa.string())
    if not is_text(array):
        try:
            return array.cast(pa.string())
        except pa.ArrowException:
            raise DataError(
                f"values of type {array.type} cannot be told apart as categories: choose another kind for this column"
            ) from None
    texts = pc.utf8_trim_whitespace(array)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def as_texts(array: pa.Array) -> pa.Array:
    """Texts, empty where there is nothing; lists of texts are joined, other values written out, books cut short."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_list(array):
        words = array.flatten()
        if not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)):
            raise DataError(f"values of type {array.type} cannot be read as text: choose another kind for this column")
        ends = np.cumsum(list_lengths(array))
        offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
        array = pc.binary_join(pa.ListArray.from_arrays(offsets, pc.fill_null(words, "").cast(pa.string())), " ")
    elif not is_text(array):
        array = as_categories(array)
    array = pc.fill_null(array, "")
    if len(array) and pc.max(pc.binary_length(array)).as_py() > MOST_CHARACTERS:
        array = pc.utf8_slice_codeunits(array, 0, MOST_CHARACTERS)
    return array


def _bools(array: Any) -> npt.NDArray[np.bool_]:
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), np.bool_)
