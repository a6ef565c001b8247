"""JSON as blocks of a table: one object a line, a list of objects, or an object of lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from bela.errors import DataError
from bela.sources._names import check_names
from bela.sources._text import TextFile
from bela.sources._values import to_column

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 8 << 20
_READ_CHARACTERS = 1 << 20
_LONGEST_WORD = 16  # a value that is cut off by the end of what was read may be noticed so many characters before


def jsonl_blocks(text: TextFile) -> Iterator[pa.RecordBatch]:
    """Go through a file with one object a line."""
    return _blocks(text, _lines(text, text.lines))


def json_blocks(text: TextFile) -> Iterator[pa.RecordBatch]:
    """Go through a file that is one JSON value, or, under the wrong name, has one object a line."""
    number, start = next(((i, line) for i, line in enumerate(text.lines, start=1) if line.strip()), (0, ""))
    if not start:
        raise DataError(f"{text.path} is empty: it must hold a list of objects")
    if start.lstrip()[0] == "[":
        return _blocks(text, iter(_ListReader(text, start, number)))
    try:
        first = _DECODER.decode(start)
    except ValueError:  # the object goes on in the next line
        return _column_blocks(text, _whole(text, start + text.lines.read(), number))
    following = next((line for line in text.lines if line.strip()), "")
    if following or type(first) is not dict or not _is_columns(first):
        return _blocks(text, _lines(text, chain([start, following], text.lines), number))
    return _column_blocks(text, first)


def _blocks(text: TextFile, records: Iterator[tuple[int, Any]]) -> Iterator[pa.RecordBatch]:
    """Collect records, each with the line that it begins in, into blocks."""
    places: list[int] = []
    rows: list[dict[str, Any]] = []
    start = text.position
    for place, record in records:
        if type(record) is not dict:
            raise DataError(
                f"{text.path} has no object in line {place} but {_shorten(record)}: each row is an object of names "
                f"and values"
            )
        places.append(place)
        rows.append(record)
        if text.position - start > _BLOCK_BYTES:
            yield _block(text, rows, places)
            places, rows, start = [], [], text.position
    if rows:
        yield _block(text, rows, places)


def _block(text: TextFile, rows: list[dict[str, Any]], places: list[int]) -> pa.RecordBatch:
    import pyarrow as pa

    names = list(dict.fromkeys(chain.from_iterable(rows)))
    check_names(f"{text.path} (from line {places[0]} on)", names)
    fields, columns = [], []
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            field, column = to_column(name, values)
        except UnicodeEncodeError:
            place = next((place for place, row in zip(places, rows, strict=True) if not _is_text(row)), places[0])
            raise DataError(
                f"{text.path} has half a character (a lone surrogate) in line {place}: write it anew, or take it out"
            ) from None
        fields.append(field)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _is_text(row: dict[str, Any]) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


# ------------------------------------------------------------------------------------------------------ the forms


class _TwiceError(ValueError):
    """A name that comes twice in one object."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _lines(text: TextFile, lines: Iterable[str], number: int = 1) -> Iterator[tuple[int, Any]]:
    for place, line in enumerate(lines, start=number):
        if line.strip():
            try:
                yield place, _DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                raise DataError(_no_json(text, place, error)) from None


class _ListReader:
    """Go through the elements of a list with no more than some megabytes of it in memory."""

    def __init__(self, text: TextFile, start: str, line: int) -> None:
        self._text, self._buffer, self._line = text, start, line
        self._at = self._counted = start.index("[") + 1  # where we are, and up to where lines were counted

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        if self._next_mark() != "]":
            while True:
                self._next_mark()
                place = self._place()
                yield place, self._value()
                mark = self._next_mark()
                if mark == "]":
                    break
                if mark != ",":
                    raise DataError(f"{self._text.path} has no comma between two rows, in line {self._place()}")
                self._at += 1
        rest = self._buffer[self._at + 1 :]
        while rest:
            if rest.strip():
                raise DataError(f"{self._text.path} goes on after the end of its list: it must hold one list, no more")
            rest = self._text.lines.read(_READ_CHARACTERS)

    def _next_mark(self) -> str:
        """Return the next character that is no space."""
        while True:
            while self._at < len(self._buffer):
                if not self._buffer[self._at].isspace():
                    return self._buffer[self._at]
                self._at += 1
            if not self._more(_READ_CHARACTERS):
                raise DataError(
                    f"{self._text.path} ends in line {self._place()} before its list does: it may be cut short"
                )

    def _value(self) -> Any:
        n = _READ_CHARACTERS
        while True:
            try:
                value, self._at = _DECODER.raw_decode(self._buffer, self._at)
                return value
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _LONGEST_WORD
                if not (cut and self._more(n)):
                    self._at = error.pos
                    raise DataError(_no_json(self._text, self._place(), error)) from None
                n *= 2
            except (ValueError, RecursionError) as error:
                raise DataError(_no_json(self._text, self._place(), error)) from None

    def _more(self, n: int) -> bool:
        """Read on, and forget what was used."""
        more = self._text.lines.read(n)
        self._place()
        self._buffer = self._buffer[self._at :] + more
        self._at = self._counted = 0
        return bool(more)

    def _place(self) -> int:
        self._line += self._buffer.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line


def _whole(text: TextFile, content: str, line: int) -> dict[str, list[Any]]:
    try:
        value = _DECODER.decode(content)
    except (ValueError, RecursionError) as error:
        place = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise DataError(_no_json(text, line + place - 1, error)) from None
    if type(value) is not dict or not _is_columns(value):
        raise DataError(
            f"{text.path} is neither a list of objects nor an object of lists: write it so (with pandas: "
            f'orient="records")'
        )
    return value


def _is_columns(value: dict[str, Any]) -> bool:
    return bool(value) and all(type(values) is list for values in value.values())


def _column_blocks(text: TextFile, columns: dict[str, list[Any]]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    check_names(str(text.path), list(columns))
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{text.path} has columns of different lengths: {_shorten(lengths)}")
    try:
        made = [to_column(name, values) for name, values in columns.items()]
    except UnicodeEncodeError:
        raise DataError(f"{text.path} has half a character (a lone surrogate) in it: write it anew") from None
    yield pa.RecordBatch.from_arrays([column for _, column in made], schema=pa.schema([field for field, _ in made]))


def _no_json(text: TextFile, line: int, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"{text.path} is nested too deeply in line {line}"
    if isinstance(error, _TwiceError):
        return f"{text.path} names {str(error)!r} twice in one object, in line {line}: only one value could be kept"
    reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return f"{text.path} has no JSON in line {line}, it may be cut short: {reason}"


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
