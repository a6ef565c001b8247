"""What the data say about their own rows: an id of each, and labels that some have already."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from bela.errors import DataError, LabelError
from bela.protocols import Records
from bela.sources._table import TableRecords

_WHOLE = re.compile(r"-?[1-9][0-9]*|0", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_SOURCE, _SOURCES = "label_source", frozenset(("oracle", "given", "inferred"))  # as in exports


def row_ids(records: Records, column: str | None = None) -> Sequence[str] | Sequence[int]:
    """Return an id for each row that tells it from all others: from a column, or else its number.

    Parameters
    ----------
    records
        The rows.
    column
        A column of texts or whole numbers, all different; None for the numbers of the rows.

    Examples
    --------
    >>> from bela.sources import open_records
    >>> row_ids(open_records([{"key": "a7"}, {"key": "b2"}]), "key")
    ['a7', 'b2']
    """
    if column is None:
        return range(records.n_rows)
    ids: list[Any] = []
    for row, value in enumerate(_values(records, column)):
        found = _as_whole(value)
        if found is None or found == "":
            raise DataError(f"{_name(records)} has no id in column {column!r} of row {row}: each row needs one")
        if type(found) not in (str, int):
            raise DataError(
                f"{_name(records)} has {found!r} in column {column!r} of row {row}: ids are texts or whole numbers"
            )
        ids.append(found)
    first: dict[Any, int] = {}
    for row, value in enumerate(ids):
        if first.setdefault(value, row) != row:
            raise DataError(
                f"{_name(records)} has the id {value!r} of column {column!r} twice, in the rows {first[value]} and "
                f"{row}: ids must differ"
            )
    kinds = {type(value) for value in ids}
    if len(kinds) > 1:
        raise DataError(f"{_name(records)} has both texts and numbers as ids in column {column!r}: make them alike")
    return ids


def known_labels(records: Records, column: str) -> dict[int, str | int | bool]:
    """Return the labels of a column that may be taken as known, by row: see `brought_labels`.

    What is said to be inferred in a column `label_source`, as exports have it, is a guess: whoever took it for known
    would certify it by itself.
    """
    inferred = _inferred(records, column)
    return {row: label for row, label in brought_labels(records, column).items() if row not in inferred}


def brought_labels(records: Records, column: str) -> dict[int, str | int | bool]:
    """Return the labels that a column brings, by row.

    A missing value, an empty text and NaN are no label; every other text is one, be it "nan", "-1" or "None". Where
    columns have no types, as in CSV, a column of nothing but whole numbers is one of integers, unless one of them is
    written in another way than numbers are, such as 007.

    Examples
    --------
    >>> from bela.sources import open_records
    >>> brought_labels(open_records([{"kind": "cat"}, {"kind": None}, {"kind": ""}, {"kind": "nan"}]), "kind")
    {0: 'cat', 3: 'nan'}
    """
    found: dict[int, Any] = {}
    for row, value in enumerate(_values(records, column)):
        label = _as_whole(value)
        if label is None or label == "":
            continue
        if type(label) not in (str, int, bool):
            raise LabelError(
                f"{_name(records)} has {_shorten(label)} in column {column!r} of row {row}: a label is a text, a whole "
                f"number or a boolean"
            )
        found[row] = label
    kinds = {type(label) for label in found.values()}
    if len(kinds) > 1:
        names = {str: "texts", int: "whole numbers", bool: "booleans"}
        raise LabelError(
            f"{_name(records)} has labels of mixed types in column {column!r}: "
            f"{', '.join(sorted(names[kind] for kind in kinds))}"
        )
    if kinds == {str} and not getattr(records, "typed", True) and all(map(_is_canonical, found.values())):
        return {row: int(label) for row, label in found.items()}
    return found


def _inferred(records: Records, column: str) -> frozenset[int]:
    """Return the rows whose labels an export calls inferred; none where the column of sources is not one of ours."""
    columns = [name for name in records.columns if name.rstrip("_") == _SOURCE and name != column]
    if not columns:
        return frozenset()
    sources = list(_values(records, max(columns, key=len)))  # an export of an export has one more underscore
    if not all(isinstance(source, str) and source in _SOURCES for source in sources):
        return frozenset()
    return frozenset(row for row, source in enumerate(sources) if source == "inferred")


def _values(records: Records, column: str) -> Iterable[Any]:
    """Return the values of a column, as they were given where the records can tell."""
    if isinstance(records, TableRecords):
        return records.values(column)
    values: list[Any] = records.column(column).to_pylist()
    return values


def _as_whole(value: Any) -> Any:
    """Return a float that is a whole number as that, NaN as None: pandas turns integers with gaps into floats."""
    if type(value) is float:
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    return value


def _is_canonical(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and int(text) in _INT64


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _name(records: Records) -> str:
    return str(getattr(records, "name", "the data"))
