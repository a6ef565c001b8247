"""What the data say about their own rows: an id of each, and labels that some have already."""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from bela.data._coded import CodedColumn, arrow_blocks, code_blocks
from bela.data._table import ArrowTable
from bela.errors import DataError, LabelError
from bela.protocols import Table

_WHOLE = re.compile(r"-?[1-9][0-9]*|0", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_SOURCE = "label_source"
_SOURCES = frozenset(("oracle", "given", "inferred", "unreadable", "withheld"))  # as in exports
_KINDS = {str: "texts", int: "whole numbers", bool: "booleans"}


def row_ids(records: Table, column: str | None = None) -> Sequence[str] | Sequence[int]:
    """Return an id for each row: from a column of texts or whole numbers, all different, or else its number.

    Examples
    --------
    >>> from bela.data import open_table
    >>> row_ids(open_table([{"key": "a7"}, {"key": "b2"}]), "key")
    ['a7', 'b2']
    """
    if column is None:
        return range(records.n_rows)
    name = _name(records)
    first: dict[str | int, int] = {}
    for row, value in enumerate(map(_as_whole, _values(records, column))):
        if value is None or value == "":
            raise DataError(f"{name} has no id in column {column!r} of row {row}: each row needs one")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise DataError(f"{name} has {value!r} in column {column!r} of row {row}: ids are texts or whole numbers")
        if first.setdefault(value, row) != row:
            places = f"in the rows {first[value]} and {row}"
            raise DataError(f"{name} has the id {value!r} of column {column!r} twice, {places}: ids must differ")
    texts, numbers = [key for key in first if isinstance(key, str)], [key for key in first if isinstance(key, int)]
    if texts and numbers:
        raise DataError(f"{name} has both texts and numbers as ids in column {column!r}: make them alike")
    return texts or numbers


def given_labels(records: Table, column: str) -> dict[int, str | int | bool]:
    """Return the labels of a column (see `column_labels`) that may be taken as known, by row.

    What a column `label_source`, as exports have it, calls inferred is a guess, which would be certified by itself.
    """
    inferred = _inferred(records, column)
    return {row: label for row, label in column_labels(records, column).items() if row not in inferred}


def column_labels(records: Table, column: str) -> dict[int, str | int | bool]:
    """Return the labels that a column brings, by row.

    A missing value, an empty text and NaN are no label; every other text is one, be it "nan", "-1" or "None". Where
    columns have no types, as in CSV, spaces around labels are left out, and a column of nothing but whole numbers is
    one of integers, unless one of them is written in another way than numbers are, such as 007.

    Examples
    --------
    >>> from bela.data import open_table
    >>> column_labels(open_table([{"kind": "cat"}, {"kind": None}, {"kind": ""}, {"kind": "nan"}]), "kind")
    {0: 'cat', 3: 'nan'}
    """
    return {row: label for row, label in enumerate(coded_labels(records, column)) if label is not None}


def coded_labels(records: Table, column: str) -> CodedColumn:
    """Return the same for all rows, None where there is no label, in a few bytes each."""
    untyped = _is_untyped(records)
    blocks = records.blocks(column) if isinstance(records, ArrowTable) else arrow_blocks(records.column(column))
    coded, found = code_blocks(blocks, records.n_rows), list[str | int | bool | None]()
    for place, value in enumerate(coded.values):
        label = value.strip() if untyped and isinstance(value, str) else _as_whole(value)
        if label is not None and not isinstance(label, (str, int)):
            shown = repr(label) if len(repr(label)) <= 60 else f"{repr(label)[:60]}…"
            row = int(np.argmax(coded.places == place))
            found_at = f"{_name(records)} has {shown} in column {column!r} of row {row}"
            raise LabelError(f"{found_at}: a label is a text, a whole number or a boolean")
        found.append(None if label == "" else label)
    labels = [label for label in found if label is not None]
    kinds = {type(label) for label in labels}
    if len(kinds) > 1:
        names = ", ".join(sorted(_KINDS[kind] for kind in kinds))
        raise LabelError(f"{_name(records)} has labels of mixed types in column {column!r}: {names}")
    if kinds == {str} and untyped and all(_WHOLE.fullmatch(str(label)) for label in labels):
        whole = [None if label is None else int(label) for label in found]
        found = [*whole] if all(label in _INT64 for label in whole if label is not None) else found
    return coded.replaced(found)


def label_notices(records: Table, column: str) -> tuple[str, ...]:
    """Say that labels of a column have spaces around them, and what is made of it, where some have."""
    full = [text for text in _values(records, column) if isinstance(text, str) and text.strip() not in ("", text)]
    if not full:
        return ()
    count = "1 label" if len(full) == 1 else f"{len(full):,} labels"
    made = "left out" if _is_untyped(records) else "part of them"
    return (f"spaces around {count} of column {column!r}, such as {full[0]!r}, are {made}",)


def _inferred(records: Table, column: str) -> frozenset[int]:
    """Return the rows whose labels an export calls inferred; none where the column of sources is not one of ours."""
    columns = [name for name in records.columns if name.rstrip("_") == _SOURCE and name != column]
    # An export of an export has one more underscore.
    sources = list(_values(records, max(columns, key=len))) if columns else []
    is_ours = all(isinstance(source, str) and source in _SOURCES for source in sources)
    return frozenset(row for row, source in enumerate(sources) if is_ours and source == "inferred")


def _is_untyped(records: Table) -> bool:
    return isinstance(records, ArrowTable) and not records.typed


def _values(records: Table, column: str) -> Iterable[object]:
    """Return the values of a column, as they were given where the records can tell."""
    return records.values(column) if isinstance(records, ArrowTable) else list(records.column(column).to_pylist())


def _as_whole(value: object) -> object:
    """Return a float that is a whole number as that, NaN as None: pandas turns integers with gaps into floats."""
    if isinstance(value, float) and (math.isnan(value) or value.is_integer()):
        return None if math.isnan(value) else int(value)
    return value


def _name(records: Table) -> str:
    return str(getattr(records, "name", "the data"))
