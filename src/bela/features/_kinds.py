"""What kind of thing a column holds, told from a sample of its values, with the reason in plain words."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bela.errors import DataError
from bela.features._image_files import image_endings, is_missing, open_image
from bela.features._parse import (
    CODE,
    TRUTHS,
    as_categories,
    as_days,
    as_numbers,
    as_texts,
    as_truths,
    is_date,
    is_list,
    is_number,
    is_text,
    list_lengths,
    trimmed,
)
from bela.features._words import words_a_text

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("number", "boolean", "category", "date", "text", "embedding", "image", "ignored")
"""The kinds that a column can be of."""

MOST = 0.98  # of the values must be readable; the others count as missing
TRIED_IMAGES = 5
LOOKED_AT_NAMES = 200
LONGEST_ENDING = 6
NAMES_OF_IDS = frozenset(["id", "ids", "idx", "index", "key", "uid", "uuid", "guid", "row", "rowid", "unnamed: 0", ""])


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A kind, why, and whether the column is left out only because its values look like names of rows."""

    kind: str
    reason: str
    named_rows: bool = False


def judge(name: str, values: pa.Array, rows: npt.NDArray[np.intp], *, n_rows: int, root: Path | None) -> Verdict:
    """Choose a kind for a column.

    Parameters
    ----------
    name
        The column.
    values
        A sample of its values.
    rows
        Which rows they are of.
    n_rows
        How many rows there are in all: where there is one, nothing is a constant.
    root
        Where paths of images start from.
    """
    import pyarrow as pa

    t = values.type
    if pa.types.is_null(t) or values.null_count == len(values):
        return Verdict(kind="ignored", reason="it is empty")
    if pa.types.is_struct(t) or pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return _judge_bytes(values, root)
    if is_list(values):
        return _judge_lists(values)
    if is_text(values):
        return _judge_texts(name, values, rows, n_rows=n_rows, root=root)
    if pa.types.is_boolean(t):
        return _unless_constant(as_truths(values), n_rows, Verdict(kind="boolean", reason="yes or no"))
    if is_date(values):
        return _unless_constant(as_days(values), n_rows, Verdict(kind="date", reason=_span(as_days(values))))
    if is_number(values):
        return _judge_numbers(name, as_numbers(values), rows, n_rows, whole=bool(pa.types.is_integer(t)))
    return Verdict(kind="ignored", reason=f"values of type {t} say nothing to compare rows by")


def check(name: str, kind: str, values: pa.Array, root: Path | None) -> str:
    """Return the reason for a kind that somebody has chosen; raise a DataError if the values do not bear it out."""
    try:
        found: npt.NDArray[np.bool_]
        if kind == "ignored":
            return "as told"
        if kind in ("number", "boolean", "date"):
            reader = {"number": as_numbers, "boolean": as_truths, "date": as_days}[kind]
            found = ~np.isnan(reader(values))
        elif kind == "category":
            found = np.asarray(as_categories(values).is_valid().to_numpy(zero_copy_only=False))
        elif kind == "text":
            found = np.asarray([bool(text) for text in as_texts(values).to_pylist()])
        elif kind == "embedding":
            verdict = _judge_lists(values) if is_list(values) else Verdict(kind="ignored", reason="they are no lists")
            if verdict.kind != "embedding":
                raise DataError(f"the values are no lists of numbers of one length: {verdict.reason}")
            found = np.ones(1, np.bool_)
        else:
            _try_images([value for value in values.to_pylist() if not is_missing(value)], root)
            found = np.ones(1, np.bool_)
    except DataError as error:
        raise DataError(f"column {name!r} cannot be of kind {kind}: {error}") from None
    if not found.any():
        raise DataError(f"column {name!r} cannot be of kind {kind}: none of the values looked at can be read so")
    return "as told"


def _judge_numbers(
    name: str, numbers: npt.NDArray[np.float64], rows: npt.NDArray[np.intp], n_rows: int, *, whole: bool, odd: int = 0
) -> Verdict:
    there = ~np.isnan(numbers)
    if not there.any():
        return Verdict(kind="ignored", reason="it is empty")
    if whole and n_rows > 2 and there.all():
        if len(numbers) > 1 and np.ptp(numbers - rows) == 0:
            return Verdict(kind="ignored", reason="it counts the rows", named_rows=True)
        if _names_rows(name) and len(np.unique(numbers)) == len(numbers):
            return Verdict(kind="ignored", reason="each value is its own", named_rows=True)
    missing = float(np.mean(~there))
    reason = f"{odd} of {len(numbers)} values looked at are no numbers and count as missing" if odd else ""
    if missing and not odd:
        reason = f"{_percent(missing)} missing"
    return _unless_constant(numbers, n_rows, Verdict(kind="number", reason=reason))


def _judge_texts(name: str, values: pa.Array, rows: npt.NDArray[np.intp], *, n_rows: int, root: Path | None) -> Verdict:
    import pyarrow.compute as pc

    said = trimmed(values)
    n = len(said) - said.null_count
    if n == 0:
        return Verdict(kind="ignored", reason="it is empty")
    numbers = as_numbers(said)
    n_numbers = int(np.sum(~np.isnan(numbers)))
    codes = pc.sum(pc.match_substring_regex(said, CODE)).as_py() or 0
    if n_numbers >= MOST * n and not codes:
        whole = bool(pc.all(pc.match_substring_regex(said, r"^[+-]?\d+$")).as_py())
        return _judge_numbers(name, numbers, rows, n_rows, whole=whole, odd=n - n_numbers)
    lowered = set(pc.unique(pc.ascii_lower(said).drop_null()).to_pylist()) if n else set()
    if any(lowered <= set(pair) for pair in TRUTHS):
        return _unless_constant(as_truths(said), n_rows, Verdict(kind="boolean", reason="yes or no"))
    days = as_days(said)
    if np.sum(~np.isnan(days)) >= MOST * n:
        return _unless_constant(days, n_rows, Verdict(kind="date", reason=_span(days)))
    some = said.drop_null().slice(0, LOOKED_AT_NAMES).to_pylist()
    if _ending(some[0]) and sum(_ending(text) in image_endings() for text in some) >= MOST * len(some):
        try:
            _try_images(some, root)
            return Verdict(kind="image", reason="paths of image files")
        except DataError as error:
            return Verdict(kind="ignored", reason=f"it looks like paths of images, but {error}", named_rows=True)
    return _judge_words(as_categories(values), n_rows)


def _judge_words(texts: pa.Array, n_rows: int) -> Verdict:
    """Texts that are nothing else: categories, sentences, or names of rows."""
    import pyarrow.compute as pc

    there = texts.drop_null()
    n, n_values = len(there), pc.count_distinct(there).as_py()
    if n_values <= 1 and n == len(texts) and n_rows > 1:
        return Verdict(kind="ignored", reason="all values are the same")
    words = _spaced_words(there)
    if words < 2 and n_values == n and n > 1:
        return Verdict(kind="ignored", reason="each value is its own", named_rows=True)
    if n_values <= (n / 5 if words >= 2 else n / 2) or (n_values == 1 and n_rows > 1):
        return Verdict(kind="category", reason=f"{n_values} values")
    count = words_a_text(there)
    return Verdict(kind="text", reason=f"{count:.0f} words on average" if count >= 2 else "compared by letters")


def _judge_lists(values: pa.Array) -> Verdict:
    import pyarrow as pa

    inner = values.type.value_type
    if pa.types.is_string(inner) or pa.types.is_large_string(inner):
        return Verdict(kind="text", reason="lists of texts, joined")
    if not (pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner)):
        return Verdict(kind="ignored", reason=f"lists of {inner} say nothing to compare rows by")
    lengths = list_lengths(values)[np.asarray(values.is_valid().to_numpy(zero_copy_only=False))]
    if not len(lengths):
        return Verdict(kind="ignored", reason="it is empty")
    if lengths.min() != lengths.max():
        return Verdict(kind="ignored", reason=f"its lists have from {lengths.min()} to {lengths.max()} numbers")
    if lengths[0] == 0:
        return Verdict(kind="ignored", reason="its lists are empty")
    return Verdict(kind="embedding", reason=f"{lengths[0]} numbers each")


def _judge_bytes(values: pa.Array, root: Path | None) -> Verdict:
    import pyarrow as pa

    t = values.type
    if pa.types.is_struct(t) and not {field.name for field in t} & {"bytes", "path"}:
        return Verdict(kind="ignored", reason="nested values say nothing to compare rows by")
    images = [value for value in values.slice(0, 100).to_pylist() if not is_missing(value)][:TRIED_IMAGES]
    if not images:
        return Verdict(kind="ignored", reason="it is empty")
    try:
        _try_images(images, root)
    except DataError:
        return Verdict(kind="ignored", reason="it holds bytes that are no images")
    return Verdict(kind="image", reason="image files")


def _try_images(values: list[object], root: Path | None) -> None:
    if not values:
        raise DataError("there is no image")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # large images and odd metadata are no reason to stop
        for value in values[:TRIED_IMAGES]:
            open_image(value, root, "looked at")


def _unless_constant(numbers: npt.NDArray[np.float64], n_rows: int, verdict: Verdict) -> Verdict:
    if n_rows > 1 and len(numbers) and bool(np.all(numbers == numbers[0])):
        return Verdict(kind="ignored", reason="all values are the same")
    return verdict


def _names_rows(name: str) -> bool:
    name = name.strip().lower()
    return name in NAMES_OF_IDS or name.endswith(("_id", " id", "-id", ".id"))


def _spaced_words(texts: pa.Array) -> float:
    """How many words a text has, those of scripts without spaces included, but "a-b.c" counted as one."""
    import pyarrow.compute as pc

    from bela.features._words import SINGLE

    spaced = pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, SINGLE, r" \1 "))
    return float(pc.mean(pc.list_value_length(pc.utf8_split_whitespace(spaced))).as_py() or 0)


def _ending(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    return ending if len(ending) <= LONGEST_ENDING else ""


def _span(days: npt.NDArray[np.float64]) -> str:
    days = days[np.isfinite(days)]
    if not len(days):
        return ""
    first, last = (np.datetime64(int(np.floor(day)), "D") for day in (days.min(), days.max()))
    return f"from {first} to {last}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"
