"""Rows that lie on the workers of a Dask cluster, or are computed by Dask's threads: the only module that imports dask.

Functions go to the rows, and what comes back is small. Rows lie in pieces of whole blocks (`bela.protocols.Blocks`),
whatever chunks or partitions the collection had, so that every block is the one that memory would have, to the row.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import islice, pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from bela._functions import said
from bela.data._blocks import one_thread_each
from bela.data._watching import ScanWatch
from bela.errors import BelaError, ClusterError, DataError
from bela.protocols import BLOCK_ROWS
from bela.records import AnyArray, IntArray
from bela.storage import empty_array

Block = TypeVar("Block")
Other = TypeVar("Other")
Found = TypeVar("Found")
Rows = npt.NDArray[np.intp]

PIECE_BYTES = 32 << 20  # that a task works on at once, if there are enough tasks for all workers
TASKS_A_THREAD = 4
COMPUTED_AT_ONCE = 8  # tasks, where there is no cluster that keeps what is not asked for yet
RETRIES = 2  # of a task that fails, as file systems far away do now and then
CONNECT_SECONDS, PATIENCE_SECONDS = 20, 60
INSTALL = "pip install 'bela[dask]'"
LATER = "all answers are on disk, so go on with the campaign when it is there again"


class Cluster:
    """Where tasks are computed: by the workers of a client, or by threads of this process if there is none."""

    def __init__(self, client: Any = None) -> None:
        self._client = client
        self.notices: tuple[str, ...] = () if client is None else _check_versions(client)

    @classmethod
    def current(cls) -> Cluster:
        """Return the cluster that the client of this process is connected to; its own threads if there is no client."""
        try:
            import dask.delayed  # noqa: F401 - imported where it is used, as are all packages that need not be there
            from distributed import default_client
        except ImportError:
            raise ClusterError(f"rows at an address or on a cluster take the package dask: {INSTALL}") from None
        try:
            return cls(default_client())
        except ValueError:  # as there is none
            return cls()

    @property
    def is_far(self) -> bool:
        """Whether there are workers, which keep what they have computed."""
        return self._client is not None

    @property
    def n_threads(self) -> int:
        """How many tasks run at once."""
        if self._client is None:
            return os.cpu_count() or 1
        return max(1, sum(map(int, self._client.nthreads().values())))

    def task(self, function: Callable[..., object], *arguments: object) -> Any:
        """Return what will be a function of arguments, some of which may be tasks."""
        import dask

        return dask.delayed(function, pure=False)(*arguments)

    def value(self, value: object) -> Any:
        """Return a task that is a value, which is sent once, however many tasks it is an argument of."""
        import dask

        return self.keep([dask.delayed(value, pure=False, traverse=False)])[0]

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Have tasks computed once and kept where they are; threads have nowhere to keep them but memory, so do not."""
        import dask

        if self._client is None or not tasks:
            return list(tasks)
        self._check_open()
        with _in_one_sentence(), dask.config.set(_QUIET):
            return list(self._client.persist(list(tasks), retries=RETRIES))

    def results(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield what tasks come to, in their order."""
        import dask

        left = iter(tasks)
        if self._client is None:
            while some := list(islice(left, COMPUTED_AT_ONCE)):
                with _in_one_sentence():
                    found = dask.compute(*some, scheduler="threads")
                yield from found
            return
        self._check_open()
        waiting: deque[Any] = deque()
        with _in_one_sentence():
            n = TASKS_A_THREAD * self.n_threads
        while True:
            if len(waiting) <= n:  # no more than twice as many lie there waiting to be fetched
                some = list(islice(left, n))
                with _in_one_sentence():
                    waiting += self._client.compute(some, retries=RETRIES) if some else ()
            if not waiting:
                return
            with _in_one_sentence():
                result = self._wait(waiting.popleft())
            yield result

    def _check_open(self) -> None:
        if self._client.status != "running":
            raise ClusterError(f"the connection to the Dask cluster is {self._client.status}: {LATER}")

    def _wait(self, future: Any) -> Any:
        """Return what a task comes to; give up where no worker does anything any more, as that would be for ever."""
        n_stuck = 0
        while True:
            try:
                return future.result(timeout=PATIENCE_SECONDS)
            except TimeoutError:
                if future.status == "error":  # the task's own
                    raise
            why = self._stuck()
            n_stuck = n_stuck + 1 if why else 0
            if n_stuck > 1:
                raise ClusterError(f"the Dask cluster is at a standstill, {why}: {LATER}")

    def _stuck(self) -> str:
        """Say why nothing can go on, if so."""
        states = {one.get("status") for one in self._client.scheduler_info(n_workers=-1)["workers"].values()}
        if not states:
            return "as it has no workers any more"
        return "as memory and disk of all workers are full" if states == {"paused"} else ""


_QUIET = {"distributed.admin.large-graph-warning-threshold": "4GB"}  # a function may bring a sample of the rows


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Be connected to a cluster: that at an address, or for "local" one of this machine's, which goes in the end."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ClusterError(f"--dask takes the packages dask and distributed: {INSTALL}") from None
    with ExitStack() as stack:
        try:
            where: object = address
            if address == "local":
                where = stack.enter_context(
                    LocalCluster(threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL)
                )
            stack.enter_context(Client(where, timeout=CONNECT_SECONDS))
        except (OSError, ValueError, TimeoutError, RuntimeError) as error:  # the last by a cluster that does not start
            what = f"there is no Dask scheduler at {address}" if address != "local" else "no local cluster can be made"
            raise ClusterError(f"{what} ({said(error)}): start one with `dask scheduler`, or leave it out") from None
        yield


def _check_versions(client: Any) -> tuple[str, ...]:
    """Refuse workers that have another BELA, or none; say where other packages may differ in a last digit."""
    with _in_one_sentence():
        found = client.run(_versions, on_error="return")
    if not found:
        raise ClusterError("the Dask cluster has no workers: start some with `dask worker`")
    here = _versions()
    for worker, there in found.items():
        if isinstance(there, Exception) or there["bela"] != here["bela"]:
            has = f"no bela ({said(there)})" if isinstance(there, Exception) else f"bela {there['bela']}"
            raise ClusterError(
                f"the Dask worker {worker} has {has}, and here is {here['bela']}: install the same there"
            )
    odd = sorted({name for there in found.values() for name in here if there[name] != here[name]})
    told = "so that labels may differ from those that this machine would give"
    return (f"the Dask workers have other versions of {', '.join(odd)} than this machine, {told}",) if odd else ()


def _versions() -> dict[str, str]:
    """Return the versions of what the rows are computed with."""
    names = ("bela", "numpy", "scipy", "pyarrow")
    return {name: str(import_module(name).__version__) for name in names}


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Say in one sentence what went wrong on a cluster."""
    try:
        yield
    except (BelaError, GeneratorExit, KeyboardInterrupt):
        raise
    except CancelledError as error:
        raise ClusterError(f"the Dask cluster has let go of the rows, as its scheduler is gone: {LATER}") from error
    except MemoryError as error:
        raise ClusterError(f"the Dask workers have not enough memory: give them more, {LATER}") from error
    except Exception as error:
        kind = type(error).__name__
        if kind == "KilledWorker":
            why = "Dask workers died one after the other over the same rows, mostly as memory or disk is full"
            raise ClusterError(f"{why}: {LATER}") from error
        if kind in ("CommClosedError", "TimeoutError") or isinstance(error, ConnectionError):
            raise ClusterError(f"the connection to the Dask cluster is lost ({said(error)}): {LATER}") from error
        if isinstance(error, OSError):
            raise ClusterError(f"a Dask worker cannot read or write ({said(error)}): {LATER}") from error
        raise DataError(f"the Dask collection cannot be computed: {said(error)}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBlocks(Generic[Block]):
    """All rows in pieces of whole blocks on a cluster: `bela.protocols.FarBlocks`.

    The i-th piece has the rows up to `ends[i]`; `cut` returns some rows of a piece, `stack` puts pieces together.
    """

    cluster: Cluster
    pieces: tuple[Any, ...]
    ends: Rows
    cut: Callable[[Block, IntArray | slice], Block]
    stack: Callable[[Sequence[Block]], Block]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.ends[-1])

    def _pieces(self) -> Iterator[tuple[Any, range]]:
        """Go through the pieces, each with its rows."""
        for piece, (start, end) in zip(self.pieces, pairwise([0, *self.ends.tolist()]), strict=True):
            yield piece, range(start, end)

    def take(self, rows: IntArray) -> Block:
        """Return these rows, in their order."""
        rows = np.asarray(rows, np.intp)
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        cuts = np.searchsorted(wanted, [0, *self.ends.tolist()])
        tasks = [
            self.cluster.task(self.cut, self.pieces[i], wanted[low:high] - (int(self.ends[i - 1]) if i else 0))
            for i, (low, high) in enumerate(pairwise(cuts.tolist()))
            if low < high or (not len(rows) and not i)
        ]
        found = self.stack(list(self.cluster.results(tasks)))
        if np.array_equal(order, np.arange(len(order))):
            return found
        return self.cut(found, np.argsort(order, kind="stable"))

    def scan(self, function: Callable[[Block], AnyArray]) -> AnyArray:
        """Apply a function to every block of rows, and join what it returns."""
        sent = self.cluster.value(function)
        tasks = [self.cluster.task(_scan, piece, rows, self.cut, sent) for piece, rows in self._pieces()]
        joined: AnyArray | None = None
        tell = ScanWatch()
        for (_, rows), found in zip(self._pieces(), self.cluster.results(tasks), strict=True):
            if len(tasks) == 1:
                return np.asarray(found)
            if joined is None:
                joined = empty_array((self.n_rows, *found.shape[1:]), found.dtype)
            joined[rows.start : rows.stop] = found
            tell(rows.stop / self.n_rows)
        return np.asarray(joined)

    def each(self, function: Callable[[int, Block], Found]) -> Iterator[Found]:
        """Yield what a function of the number of a block's first row, and the block, returns, block by block."""
        sent = self.cluster.value(function)
        tasks = [self.cluster.task(_each, piece, rows, self.cut, sent) for piece, rows in self._pieces()]
        for found in self.cluster.results(tasks):
            yield from found

    def each_piece(
        self, function: Callable[[int, Block, Other], Found], beside: Callable[[int, int], Other]
    ) -> Iterator[Found]:
        """Yield what a function returns of each piece: of its first row, its rows, and what is sent beside it."""
        return self.cluster.results(
            self.cluster.task(_piece, piece, rows, self.cut, function, beside(rows.start, rows.stop))
            for piece, rows in self._pieces()
        )

    def mapped(
        self, function: Callable[[int, Block], Other], cut: Callable[[Other, IntArray | slice], Other],
        stack: Callable[[Sequence[Other]], Other],
    ) -> ClusterBlocks[Other]:  # fmt: skip
        """Return what a function makes of each block, kept where the rows are, to be cut and stacked as it says."""
        sent = self.cluster.value(function)
        tasks = [self.cluster.task(_mapped, piece, rows, self.cut, sent, stack) for piece, rows in self._pieces()]
        pieces = tuple(self.cluster.keep(tasks))
        return ClusterBlocks(cluster=self.cluster, pieces=pieces, ends=self.ends, cut=cut, stack=stack)


def piece_ends(cluster: Cluster, n_rows: int, row_bytes: float) -> Rows:
    """Return where pieces end: all of them are whole blocks, none is large, and there are some for each thread."""
    n_blocks = -(-n_rows // BLOCK_ROWS)
    blocks = min(PIECE_BYTES / (BLOCK_ROWS * max(row_bytes, 1)), n_blocks / (TASKS_A_THREAD * cluster.n_threads))
    step = BLOCK_ROWS * max(1, int(blocks))
    return np.asarray([*range(step, n_rows, step), n_rows], np.intp)


def _scan(piece: Any, rows: range, cut: Callable[..., Any], function: Callable[[Any], AnyArray]) -> AnyArray:
    return np.concatenate(_each(piece, rows, cut, lambda _, block: function(block)))


def _each(piece: Any, rows: range, cut: Callable[..., Any], function: Callable[[int, Any], Any]) -> list[Any]:
    """Call a function with each block of a piece, as `scan_blocks` would."""
    n, firsts = len(rows), range(0, len(rows), BLOCK_ROWS)
    with one_thread_each():
        return [function(rows.start + i, cut(piece, slice(i, min(i + BLOCK_ROWS, n)))) for i in firsts]


def _piece(
    piece: Any, rows: range, cut: Callable[..., Any], function: Callable[[int, Any, Any], Any], beside: Any
) -> Any:
    return function(rows.start, cut(piece, slice(0, len(rows))), beside)


def _mapped(
    piece: Any, rows: range, cut: Callable[..., Any], function: Callable[[int, Any], Any], stack: Callable[..., Any]
) -> Any:
    return stack(_each(piece, rows, cut, function))
