"""Two tables as one: rows that came later under those that were there."""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
from scipy import sparse

from bela.data._arrays import ArraySource, ArrayTable
from bela.data._table import ArrowTable
from bela.errors import DataError
from bela.protocols import Table


def stack_tables(first: Table, second: Table, columns: Sequence[str], images: Collection[str] = ()) -> Table:
    """Return these columns of two tables, the rows of the second after those of the first.

    Paths of `images` in the second are taken from its own folder.
    """
    for name in columns:
        if name not in second.columns and isinstance(first, ArrayTable) and name == first.main:
            shape = ", ".join(map(str, first.array.shape[1:]))
            raise DataError(f"the new rows must be an array of the shape (n, {shape}), one row as well")
        if name not in second.columns:
            raise DataError(f"the new rows have no column {name!r}, which labels were learnt from: it must be there")
    if isinstance(first, ArrayTable) and isinstance(second, ArrayTable) and list(columns) == [first.main]:
        return _stack_arrays(first, second)
    above, below = (pa.Table.from_batches(list(table.batches(list(columns)))) for table in (first, second))
    if second.root is not None and second.root != first.root:
        for name in images:
            if pa.types.is_string(below.schema.field(name).type):
                paths = [None if one is None else str(second.root / one) for one in below.column(name).to_pylist()]
                below = below.set_column(below.schema.get_field_index(name), name, pa.array(paths, pa.string()))
    try:
        both = pa.concat_tables([above, below.cast(above.schema)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise DataError(f"the new rows have columns of other types than the old ones: {error}") from None
    typed = not isinstance(first, ArrowTable) or first.typed
    return ArrowTable(both.combine_chunks().to_batches(), name="old and new rows", root=first.root, typed=typed)


def _stack_arrays(first: ArrayTable, second: ArrayTable) -> ArrayTable:
    above, below = first.array, second.array
    if above.shape[1:] != below.shape[1:]:
        raise DataError(f"the new rows have the shape {below.shape[1:]}, the old ones {above.shape[1:]}")
    ArraySource(below if sparse.issparse(below) else below[:])  # it names bad rows by their own numbers
    both = sparse.vstack([above, below]).tocsr() if sparse.issparse(above) else np.concatenate([above[:], below[:]])
    return ArrayTable({first.main: both}, name="old and new rows")
