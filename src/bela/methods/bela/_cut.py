"""All rows cut into bins by how sure their labels are: what a revision knows of its errors."""

from dataclasses import dataclass

import numpy as np

from bela.learning import Fit, ScannedFit
from bela.methods._deciding import N_BINS, bin_edges
from bela.methods.bela._population import AllBut
from bela.records import AnyArray, FloatArray, IntArray
from bela.storage import empty_array

_ROWS = 1 << 20  # that are looked at at once, where there are very many


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedRows:
    """A label and a bin for each row, -1 for those outside of the population; the least sure bin is the first.

    `guess` is the share of errors expected in each bin, `upper` how sure the surest of it is.
    """

    codes: IntArray
    confidence: FloatArray
    bin: IntArray
    sizes: IntArray
    guess: FloatArray
    upper: FloatArray


def cut_rows(fit: Fit, power: float, population: AllBut) -> BinnedRows:
    """Cut the rows of a population by what a fit says of all rows; its chances suit better if taken to a `power`."""
    if isinstance(fit, ScannedFit):
        return _cut_by_steps(fit.scan(power), population)
    margin, rows = fit.sure, np.flatnonzero(population.mask())
    error = np.asarray(np.clip(1.0 - fit.chances(power), 1e-6, 1.0))
    order = rows[np.lexsort((rows, margin[rows]))]
    edges, bin_ = bin_edges(len(order)), np.full(fit.n_rows, -1, dtype=np.int8)
    sizes = np.diff(edges)
    bin_[order] = np.repeat(np.arange(N_BINS), sizes)
    return BinnedRows(
        codes=fit.labels.astype(np.int32), confidence=np.clip(1.0 - error, 0.0, 1.0).astype(np.float32), bin=bin_,
        sizes=sizes,
        guess=np.array([error[order[edges[i] : edges[i + 1]]].mean() if sizes[i] else 0.5 for i in range(N_BINS)]),
        upper=np.array([margin[order[edge - 1]] if edge else -np.inf for edge in edges[1:]]),
    )  # fmt: skip


def _cut_by_steps(said: AnyArray, population: AllBut) -> BinnedRows:
    """Cut rows that say in steps how sure they are: by counting, as there are too many to be put in order.

    Rows of one step are in their own order, so that the bins are those that sorting would give.
    """
    n, outside = len(said), population.others
    blocks = [slice(start, start + _ROWS) for start in range(0, n, _ROWS)]
    counts = np.zeros(2**16, dtype=np.int64)
    for rows in blocks:
        counts += np.bincount(said["sure"][rows], minlength=2**16)
    counts -= np.bincount(said["sure"][outside], minlength=2**16)
    edges, ends = bin_edges(len(population)), np.cumsum(counts)
    low = np.searchsorted(edges, ends - counts, side="right") - 1  # the bin of the first row of each step
    high = np.searchsorted(edges, np.maximum(ends - 1, 0), side="right") - 1  # and of the last
    codes = empty_array((n,), said.dtype["code"])
    confidence, bin_ = empty_array((n,), np.float16), empty_array((n,), np.int8)
    for rows in blocks:
        codes[rows], confidence[rows] = said["code"][rows], said["chance"][rows]
        bin_[rows] = np.minimum(low, N_BINS - 1).astype(np.int8)[said["sure"][rows]]
    bin_[outside] = -1
    for step in np.flatnonzero((counts > 0) & (low < high)):
        found = np.concatenate([rows.start + np.flatnonzero(said["sure"][rows] == step) for rows in blocks])
        found = found[population.inside(found)]
        place = int(ends[step] - counts[step]) + np.arange(len(found))
        bin_[found] = np.searchsorted(edges, place, side="right") - 1
    sizes, errors = np.diff(edges), np.zeros(N_BINS)
    for rows in blocks:
        error = np.clip(1.0 - confidence[rows].astype(float), 1e-6, 1.0)
        errors += np.bincount(bin_[rows] + 1, weights=error, minlength=N_BINS + 1)[1:]
    last = np.searchsorted(ends, edges[1:])  # the step of the surest row of each bin
    return BinnedRows(
        codes=codes, confidence=confidence, bin=bin_, sizes=sizes,
        guess=np.where(sizes > 0, errors / np.maximum(sizes, 1), 0.5), upper=np.where(edges[1:] > 0, last, -np.inf),
    )  # fmt: skip
