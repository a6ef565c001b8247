"""Which rows have some words in them, in time that grows with the texts alone: nothing that is asked is a pattern."""

import html
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from bela.errors import ParameterError

_MOST_TERMS = 8
_TERM = re.compile(r'"([^"]*)"|(\S+)')
_FOLDERS = r"^.*[/\\]"


def split_terms(text: str) -> tuple[str, ...]:
    """Return the words that a row must have, all of them; what stands in quotes is looked for as it stands.

    >>> split_terms('lost "my card" ')
    ('lost', 'my card')
    """
    found = tuple(phrase or word for phrase, word in _TERM.findall(text) if phrase.strip() or word)
    if len(found) > _MOST_TERMS:
        raise ParameterError(
            f"rows are looked for by at most {_MOST_TERMS} words, not {len(found)}: put some in quotes"
        )
    return found


def match_rows(batch: pa.RecordBatch, terms: Sequence[str], files: Sequence[str] = ()) -> pa.BooleanArray:
    """Say of each row whether every term is in one of its columns, whatever the case of letters.

    Of columns that name `files`, nothing is looked at but the names without their folders: those may be labels.
    """
    columns = [_as_text(column, name in files) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    found = pa.array([True] * batch.num_rows, pa.bool_())
    for term in terms:
        here = pa.array([False] * batch.num_rows, pa.bool_())
        for column in columns:
            if column is not None:
                # People are shown & where the data have &amp;.
                for written in {term, html.escape(term, quote=False)}:
                    matched = pc.match_substring(column, written, ignore_case=True)
                    here = pc.or_(here, pc.fill_null(matched, fill_value=False))
        found = pc.and_(found, here)
    return found


def is_searchable(kind: pa.DataType) -> bool:
    """Whether values of a type can be read as text: lists, objects and bytes cannot."""
    return not (types.is_nested(kind) or types.is_null(kind) or "binary" in str(kind))


def _as_text(column: pa.Array, is_file: bool) -> pa.Array | None:
    if not is_searchable(column.type):
        return None
    text = column if types.is_large_string(column.type) else pc.cast(column, pa.large_string())
    return pc.replace_substring_regex(text, _FOLDERS, "") if is_file else text
