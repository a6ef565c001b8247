"""Where rows come from: anything becomes a table.

Files are read by what `READERS` holds. Another package adds a reader by an entry point of the group `bela.readers` that
names a `Reader`; one that comes with BELA is a module in `bela.data.readers`.
"""

from bela.data._arrays import ArraySource, ArrayTable, SourceRows
from bela.data._arrow import index_column
from bela.data._blocks import scan_blocks
from bela.data._coded import CodedColumn, code_values
from bela.data._datasets import DATASETS, Dataset, cache_folder, load_dataset
from bela.data._files import writing
from bela.data._images import image_endings, is_no_image, open_image, upright
from bela.data._labels import coded_labels, column_labels, given_labels, label_notices, row_ids
from bela.data._open import open_table
from bela.data._places import is_address, is_dataset, is_elsewhere, name_in_address, on_cluster
from bela.data._readers import READERS, OpenFile, Reader, readers_by_ending
from bela.data._stacked import stack_tables
from bela.data._table import ArrowTable
from bela.data._watching import watching_scans

__all__ = [
    "DATASETS", "READERS", "ArraySource", "ArrayTable", "ArrowTable", "CodedColumn", "Dataset", "OpenFile", "Reader",
    "SourceRows", "cache_folder", "code_values", "coded_labels", "column_labels", "given_labels", "image_endings",
    "index_column", "is_address", "is_dataset", "is_elsewhere", "is_no_image", "label_notices", "load_dataset",
    "name_in_address", "on_cluster", "open_image", "open_table", "readers_by_ending", "row_ids", "scan_blocks",
    "stack_tables", "upright", "watching_scans", "writing",
]  # fmt: skip
