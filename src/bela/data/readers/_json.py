"""JSON as blocks of a table: one object a line, a list of objects, or an object of lists."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TypeGuard, cast

import pyarrow as pa

from bela.data._arrow import check_names, is_encodable, to_batch
from bela.data._files import TextFile
from bela.data._readers import READERS, OpenFile, Reader
from bela.errors import DataError
from bela.records import Json

_BLOCK_BYTES, _READ_CHARACTERS = 8 << 20, 1 << 20
_LONGEST_WORD = 16  # a value that is cut off by the end of what was read may be noticed so many characters before


def read_jsonl(file: OpenFile) -> Iterator[pa.RecordBatch]:
    """Go through a file with one object a line."""
    return _blocks(file.text, _lines(file.text, file.text.lines))


def read_json(file: OpenFile) -> Iterator[pa.RecordBatch]:
    """Go through a file that is one JSON value, or, under the wrong name, has one object a line."""
    text = file.text
    number, start = next(((i, line) for i, line in enumerate(text.lines, start=1) if line.strip()), (0, ""))
    if not start:
        raise DataError(f"{text.path} is empty: it must hold a list of objects")
    if start.lstrip()[0] == "[":
        return _blocks(text, iter(_ListReader(text, start, number)))
    try:
        first = _DECODER.decode(start)
    except ValueError:  # the object goes on in the next line
        return _column_block(text, _decode(text, start + text.lines.read(), number))
    following = next((line for line in text.lines if line.strip()), "")
    if following or not _is_columns(first):
        return _blocks(text, _lines(text, chain([start, following], text.lines), number))
    return _column_block(text, first)


def _blocks(text: TextFile, records: Iterator[tuple[int, Json]]) -> Iterator[pa.RecordBatch]:
    """Collect records, each with the line that it begins in, into blocks."""
    places, rows, start = list[int](), list[dict[str, Json]](), text.position
    for place, record in records:
        if type(record) is not dict:
            found = f"{text.path} has no object in line {place} but {_shorten(record)}"
            raise DataError(f"{found}: each row is an object of names and values")
        places.append(place)
        rows.append(record)
        if text.position - start > _BLOCK_BYTES:
            yield _block(text, rows, places)
            places, rows, start = [], [], text.position
    if rows:
        yield _block(text, rows, places)


def _block(text: TextFile, rows: list[dict[str, Json]], places: list[int]) -> pa.RecordBatch:
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    check_names(f"{text.path} (from line {places[0]} on)", names)
    try:
        return to_batch({name: [row.get(name) for row in rows] for name in names})
    except UnicodeEncodeError:
        place = next((place for place, row in zip(places, rows, strict=True) if not is_encodable(row)), places[0])
        half = f"{text.path} has half a character (a lone surrogate) in line {place}"
        raise DataError(f"{half}: write it anew, or take it out") from None


class _TwiceError(ValueError):
    """A name that comes twice in one object."""


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _lines(text: TextFile, lines: Iterable[str], number: int = 1) -> Iterator[tuple[int, Json]]:
    numbered = enumerate(lines, start=number)
    return ((place, _decode(text, line.rstrip("\n"), place)) for place, line in numbered if line.strip())


class _ListReader:
    """Go through the elements of a list with no more than some megabytes of it in memory."""

    def __init__(self, text: TextFile, start: str, line: int) -> None:
        self._text, self._path, self._buffer, self._line = text, text.path, start, line
        self._at = self._counted = start.index("[") + 1  # where we are, and up to where lines were counted

    def __iter__(self) -> Iterator[tuple[int, Json]]:
        mark = self._next_mark()
        while mark != "]":
            self._next_mark()
            yield self._place(), self._value()
            mark = self._next_mark()
            if mark not in ",]":
                raise DataError(f"{self._path} has no comma between two rows, in line {self._place()}")
            self._at += mark == ","
        rest = self._buffer[self._at + 1 :]
        while rest:
            if rest.strip():
                raise DataError(f"{self._path} goes on after the end of its list: it must hold one list, no more")
            rest = self._text.lines.read(_READ_CHARACTERS)

    def _next_mark(self) -> str:
        """Return the next character that is no space."""
        while True:
            n = len(self._buffer)
            self._at = next((i for i in range(self._at, n) if not self._buffer[i].isspace()), n)
            if self._at < n:
                return self._buffer[self._at]
            if not self._more(_READ_CHARACTERS):
                raise DataError(f"{self._path} ends in line {self._place()} before its list does: it may be cut short")

    def _value(self) -> Json:
        n = _READ_CHARACTERS
        while True:
            try:
                value, self._at = _DECODER.raw_decode(self._buffer, self._at)
                return cast(Json, value)
            except (ValueError, RecursionError) as error:
                if isinstance(error, json.JSONDecodeError):
                    cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _LONGEST_WORD
                    if cut and self._more(n):
                        n *= 2
                        continue
                    self._at = error.pos
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


def _decode(text: TextFile, content: str, line: int) -> Json:
    try:
        return cast(Json, _DECODER.decode(content))
    except (ValueError, RecursionError) as error:
        place = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise DataError(_no_json(text, line + place - 1, error)) from None


def _is_columns(value: object) -> TypeGuard[dict[str, list[Json]]]:
    return isinstance(value, dict) and bool(value) and all(type(values) is list for values in value.values())


def _column_block(text: TextFile, columns: object) -> Iterator[pa.RecordBatch]:
    if not _is_columns(columns):
        found = f"{text.path} is neither a list of objects nor an object of lists"
        raise DataError(f'{found}: write it so (with pandas: orient="records")')
    check_names(str(text.path), list(columns))
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{text.path} has columns of different lengths: {_shorten(lengths)}")
    try:
        yield to_batch(columns)
    except UnicodeEncodeError:
        raise DataError(f"{text.path} has half a character (a lone surrogate) in it: write it anew") from None


def _no_json(text: TextFile, line: int, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"{text.path} is nested too deeply in line {line}"
    if isinstance(error, _TwiceError):
        return f"{text.path} names {str(error)!r} twice in one object, in line {line}: only one value could be kept"
    return f"{text.path} has no JSON in line {line}, it may be cut short: {getattr(error, 'msg', error)}"


def _shorten(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"


_TEXT = partial(Reader, is_text=True, newline="\n", loose=True)
READERS.add("jsonl", _TEXT(endings=(".jsonl", ".ndjson"), read=read_jsonl, parts=True))
READERS.add("json", _TEXT(endings=(".json",), read=read_json))
