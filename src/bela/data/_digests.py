"""A digest of 64 bits for each row, computed for whole columns at once, to tell which rows were changed.

Each value is mixed with where it stands (the name of its column, its place in a list, the place of eight bytes in a
text) and the results are added up, so that the digest depends on every bit but not on chunks, or how texts are kept.
It is no defence against somebody who looks for a collision.
"""

import hashlib
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from bela.data._arrow import plain
from bela.records import AnyArray, Matrix

U64 = npt.NDArray[np.uint64]
_BLOCK_BYTES = 4 << 20  # what is worked on at once stays in the processor's cache
_MANY = 16  # columns that are worth while to be taken together
_NULL = np.uint64(0x6E756C6C)


def digest_batch(batch: pa.RecordBatch) -> U64:
    """Return a digest of each row."""
    alike: dict[pa.DataType, dict[str, pa.Array]] = {}
    for name, column in zip(batch.schema.names, map(plain, batch.columns), strict=True):
        alike.setdefault(column.type, {})[name] = column
    found: dict[str, U64] = {}
    for columns in alike.values():
        if len(columns) < _MANY:
            found |= {name: digest_array(column) for name, column in columns.items()}
        else:  # thousands of short columns are quicker as one long one
            joined = digest_array(pa.concat_arrays(list(columns.values()))).reshape(len(columns), batch.num_rows)
            found |= dict(zip(columns, joined, strict=True))
    return combine(batch.num_rows, found)


def combine(n_rows: int, columns: dict[str, U64]) -> U64:
    """Return digests of rows from those of their values, whatever the order of the columns."""
    total, names = np.zeros(n_rows, dtype=np.uint64), list(columns)
    for i in range(0, len(names), _MANY):
        some = names[i : i + _MANY]
        seeds = np.array([_seed(f"column {name}") for name in some], dtype=np.uint64)
        total += _mix(np.stack([columns[name] for name in some]) ^ seeds[:, None]).sum(axis=0, dtype=np.uint64)
    return _mix(total)


def digest_array(array: pa.Array) -> U64:
    """Return a digest of each value."""
    array = plain(array)
    kind, types = array.type, pa.types
    if types.is_null(kind):
        return np.full(len(array), _NULL)
    if types.is_large_string(kind) or types.is_large_binary(kind):
        found = _digest_texts(array) ^ (_seed("bytes") if types.is_large_binary(kind) else np.uint64(0))
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        found = _digest_numbers(array)
    elif types.is_temporal(kind) and not types.is_interval(kind):
        whole = array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
        found = _digest_numbers(whole) ^ _seed(str(kind))
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        found = _digest_lists(array)
    elif types.is_struct(kind):
        fields = array.flatten()
        found = combine(len(array), {kind.field(i).name: digest_array(field) for i, field in enumerate(fields)})
    else:  # decimals, maps, intervals: seldom, and all of them have an exact text
        texts = [None if value is None else repr(value) for value in array.to_pylist()]
        found = _digest_texts(pa.array(texts, pa.large_string())) ^ _seed(str(kind))
    if array.null_count:
        found[np.asarray(array.is_null())] = _NULL
    return found


def digest_dense(array: AnyArray) -> U64:
    """Return a digest of each row of an array of numbers."""
    row_bytes = max(1, array[:1].nbytes)
    step, places = max(1, _BLOCK_BYTES // row_bytes), _places(-(-row_bytes // 8))
    found = np.empty(len(array), dtype=np.uint64)
    for i in range(0, len(array), step):
        block = np.ascontiguousarray(array[i : i + step])
        block = block.astype(block.dtype.newbyteorder("<"), copy=False).reshape(len(block), -1)
        padded = np.zeros((len(block), 8 * len(places)), dtype=np.uint8)
        padded[:, : block.shape[1] * block.itemsize] = block.view(np.uint8)
        found[i : i + step] = _mix(padded.view("<u8") ^ places).sum(axis=1, dtype=np.uint64)
    return _mix(found ^ _seed(f"{array.dtype.newbyteorder('<').str} {array.shape[1:]}"))


def digest_sparse(matrix: Matrix) -> U64:
    """Return a digest of each row of a sparse matrix; zeros that are kept count for nothing."""
    rows = sparse.csr_array(matrix, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    cells = _mix(_mix(rows.indices.astype(np.uint64) ^ _seed("place")) ^ _bits(rows.data.astype(np.float64)))
    return _mix(_sums(cells, np.diff(rows.indptr)) ^ _seed(f"sparse {rows.shape[1]}"))


def _digest_numbers(array: pa.Array) -> U64:
    if pa.types.is_boolean(array.type):
        return _mix(_filled(array.cast(pa.uint8())).astype(np.uint64) ^ _seed("boolean"))
    values = _filled(array)
    if pa.types.is_floating(array.type):
        return _mix(_bits(values.astype(np.float64)) ^ _seed("float"))
    return _mix(values.astype(np.uint64) ^ _seed("whole"))  # negative numbers as two's complements


def _digest_texts(array: pa.Array) -> U64:
    """Return a digest of each text, eight bytes at a time."""
    found, start = np.empty(len(array), dtype=np.uint64), 0
    if not len(array):
        return found
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(b"" if data is None else data, dtype=np.uint8)
    while start < len(array):
        end = int(np.searchsorted(offsets, offsets[start] + _BLOCK_BYTES, side="right")) - 1
        end = min(len(array), max(start + 1, end))
        found[start:end] = _digest_pieces(content, offsets[start : end + 1])
        start = end
    return found


def _digest_pieces(content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> U64:
    lengths = np.diff(offsets)
    block = np.zeros(int(offsets[-1] - offsets[0]) + 8, dtype=np.uint8)
    block[:-8] = content[offsets[0] : offsets[-1]]
    # A word of eight bytes from every place on: which of them are needed is chosen below.
    words = np.ndarray(shape=(len(block) - 7,), dtype="<u8", buffer=block, strides=(1,))
    n_words = -(-lengths // 8)
    ends = np.cumsum(n_words)
    place = np.arange(int(ends[-1])) - np.repeat(ends - n_words, n_words)
    chosen = words[np.repeat(offsets[:-1] - offsets[0], n_words) + 8 * place]
    some = n_words > 0
    left = (lengths - 8 * (n_words - 1))[some].astype(np.uint64)  # bytes of the text in its last word: 1 to 8
    chosen[ends[some] - 1] &= np.uint64(2**64 - 1) >> (np.uint64(64) - np.uint64(8) * left)
    cells = _mix(chosen ^ _places(int(n_words.max(initial=0)))[place])
    return _mix(_sums(cells, n_words) ^ _mix(lengths.astype(np.uint64) ^ _seed("text")))


def _digest_lists(array: pa.Array) -> U64:
    """Return a digest of each list; lists of numbers, which may be long vectors, as the rows of a matrix."""
    inner = array.flatten()
    lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0)).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    found = np.empty(len(lengths), dtype=np.uint64)
    general = np.arange(len(lengths))
    if pa.types.is_integer(inner.type) or pa.types.is_floating(inner.type):
        holes = _sums(np.asarray(inner.is_null()).astype(np.uint64), lengths) > 0
        values = _filled(inner)
        for n in np.unique(lengths[~holes]):
            which = np.flatnonzero((lengths == n) & ~holes)
            if n == 0:
                found[which] = _seed("empty")
            elif len(which) == len(lengths):
                found[which] = digest_dense(values.reshape(-1, n))
            else:
                found[which] = digest_dense(values[starts[which, None] + np.arange(n)])
        general = np.flatnonzero(holes)
        if not len(general):
            return found
        array = array.take(pa.array(general))
        inner, lengths = array.flatten(), lengths[general]
        starts = np.cumsum(lengths) - lengths
    place = np.arange(len(inner)) - np.repeat(starts, lengths)
    cells = _mix(digest_array(inner) ^ _places(int(lengths.max(initial=0)))[place])
    found[general] = _mix(_sums(cells, lengths) ^ _mix(lengths.astype(np.uint64) ^ _seed("list")))
    return found


def _filled(array: pa.Array) -> AnyArray:
    """Return numbers as an array, with 0 where there is none."""
    return np.asarray(pc.fill_null(array, 0) if array.null_count else array)


def _bits(values: npt.NDArray[np.float64]) -> U64:
    """Return the bits of numbers, the same for every NaN."""
    return np.asarray(np.where(np.isnan(values), np.nan, values).view(np.uint64))


def _sums(cells: U64, lengths: AnyArray) -> U64:
    """Add up so many consecutive cells for each row."""
    found, some = np.zeros(len(lengths), dtype=np.uint64), np.flatnonzero(lengths)
    if len(some):
        found[some] = np.add.reduceat(cells, (np.cumsum(lengths) - lengths)[some])
    return found


def _mix(x: U64) -> U64:
    """Make every bit depend on every other (the last step of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@cache
def _seed(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()))


def _places(n: int) -> U64:
    """Return a number for each place, as good as random."""
    return _mix(np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
