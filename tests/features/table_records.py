"""Table over a table in memory, for tests: cut into blocks of any size."""

import hashlib

import numpy as np
import pyarrow as pa

import bela.data


class ArrowTable:
    """A pyarrow table, or columns by name, as records."""

    def __init__(self, table, *, root=None, block=1000):
        self.table = table if isinstance(table, pa.Table) else pa.table(table)
        self.root, self.block, self.notices = root, block, ()

    @property
    def n_rows(self):
        return self.table.num_rows

    @property
    def columns(self):
        return tuple(self.table.column_names)

    @property
    def fingerprint(self):
        digest = hashlib.sha256()
        for column in self.table.columns:
            digest.update(repr((str(column.type), column.to_pylist())).encode())
        return digest.hexdigest()

    def record(self, row):
        return self.table.slice(row, 1).to_pylist()[0]

    def column(self, name):
        return self.table.column(name)

    def batches(self, columns=None):
        table = self.table if columns is None else self.table.select(list(columns))
        yield from table.to_batches(max_chunksize=self.block)

    def iter_records(self):
        yield from self.table.to_pylist()

    def row_digests(self):
        return np.arange(self.n_rows, dtype=np.uint64)


def ArrayTable(array, *, more=None):  # noqa: N802 - it stands for the class
    """An array as a table, and further columns by name."""
    return bela.data.ArrayTable({"features": array, **(more or {})}, name="the array")
