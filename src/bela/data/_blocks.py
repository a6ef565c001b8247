"""All rows of a dataset in blocks, one after the other, or as many at once as there are processors."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import numpy as np

from bela.data._watching import ScanWatch
from bela.protocols import BLOCK_ROWS
from bela.records import AnyArray
from bela.storage import empty_array

AHEAD = 2  # blocks that wait for each thread


def scan_blocks(n_rows: int, function: Callable[[slice], AnyArray]) -> AnyArray:
    """Call a function with the rows of each block, as `Blocks.scan` says, and join what it returns.

    Few blocks are not worth a thread. Many go to a thread for each processor, each with matrix products of its own.
    """
    blocks = [slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS)]
    n_threads = count_threads()
    if n_threads == 1 or len(blocks) <= AHEAD * n_threads:
        with one_thread_each():
            return np.concatenate([function(block) for block in blocks])
    joined: AnyArray | None = None
    tell = ScanWatch()
    with one_thread_each(), ThreadPoolExecutor(n_threads) as pool:
        for rows, found in _in_order(pool, function, blocks, AHEAD * n_threads):
            if joined is None:
                joined = empty_array((n_rows, *found.shape[1:]), found.dtype)
            joined[rows] = found
            tell(rows.stop / n_rows)
    return np.asarray(joined)


def count_threads() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_order(
    pool: ThreadPoolExecutor, function: Callable[[slice], AnyArray], blocks: list[slice], ahead: int
) -> Iterator[tuple[slice, AnyArray]]:
    """Yield each block with what the function returns, no more than some of them being under way."""
    waiting = [pool.submit(function, rows) for rows in blocks[:ahead]]
    for i, rows in enumerate(blocks):
        found = waiting.pop(0).result()
        if i + ahead < len(blocks):
            waiting.append(pool.submit(function, blocks[i + ahead]))
        yield rows, found


def one_thread_each() -> AbstractContextManager[object]:
    """Keep matrix products to the thread that asks for them: threads of threads get in each other's way."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
