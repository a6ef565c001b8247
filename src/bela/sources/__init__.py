"""Where rows and features come from."""

from bela.sources._array import ArraySource
from bela.sources._array_records import ArrayRecords
from bela.sources._brought import brought_labels, known_labels, row_ids
from bela.sources._folders import image_endings
from bela.sources._open import open_records
from bela.sources._table import TableRecords

__all__ = [
    "ArrayRecords",
    "ArraySource",
    "TableRecords",
    "brought_labels",
    "image_endings",
    "known_labels",
    "open_records",
    "row_ids",
]
