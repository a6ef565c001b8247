"""Texts to features: weights of words for linear models, and their leading directions for distances.

The weights are TF-IDF of words, their beginnings and pairs of them; the directions are those of latent semantic
analysis, found on a sample of the texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.features._blocks import taken
from bela.features._components import Floats
from bela.features._parse import as_texts
from bela.features._part import Piece
from bela.features._scaling import unit_rows
from bela.features._words import Vocabulary, chunks, fit_vocabulary

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE_ROWS = 200_000  # a word that is not among so many texts twice tells little about the rest
SAMPLE_BYTES = 64 << 20
DIRECTION_ROWS = 40_000
_WORDS, _COUNTS = 0.5, 0.2  # shares of the time; directions take the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFeatures:
    """What is counted in the texts of a column, what it weighs, and the leading directions."""

    name: str
    vocabulary: Vocabulary
    weights: Floats
    directions: Floats
    share: float = 1.0
    linear_norm: float = 1.0

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of texts into features."""
        linear = self.weigh(as_texts(block.column(self.name)))
        dense = np.asarray(linear @ self.directions, np.float32)
        # short texts have little mass in the leading directions, which says nothing about what they mean
        norm = np.sqrt(np.einsum("ij,ij->i", dense, dense))
        return Piece(dense=dense / np.maximum(norm, 1e-6)[:, None], linear=linear)

    def weigh(self, texts: pa.Array) -> sparse.csr_array:
        """Weigh the words of each text; together they have length 1."""
        return _weighed(self.vocabulary.count(texts), self.weights)


def fit_texts(
    name: str, texts: pa.Array, *, n_components: int, seed: int, step: Callable[[float], object]
) -> TextFeatures:
    """Learn words, weights and directions from a sample of texts.

    Parameters
    ----------
    name
        The column.
    texts
        The sample, as `as_texts` returns it, in the order of the rows.
    n_components
        How many directions.
    seed
        Chooses the rows that the directions are found on.
    step
        Called with the share that is done.
    """
    from sklearn.utils.extmath import randomized_svd

    vocabulary = fit_vocabulary(texts, lambda share: step(_WORDS * share))
    some = chunks(texts, lambda share: step(_WORDS + _COUNTS * share))
    counts = sparse.vstack([vocabulary.count(chunk) for chunk in some], format="csr")
    step(_WORDS + _COUNTS)
    weights = vocabulary.weights(np.bincount(counts.indices, minlength=vocabulary.size), len(texts))
    if len(texts) > DIRECTION_ROWS:
        rng = np.random.default_rng(seed)
        counts = counts[np.sort(rng.choice(len(texts), DIRECTION_ROWS, replace=False))]
    X = _weighed(counts, weights)
    n = min(n_components, min(X.shape) - 1)
    if n < 1 or X.nnz == 0:
        directions = np.eye(vocabulary.size, max(1, min(n_components, vocabulary.size)), dtype=np.float32)
    else:
        _, _, right = randomized_svd(X, n, random_state=seed, n_iter=4)
        directions = np.ascontiguousarray(right.T, np.float32)
    return TextFeatures(name=name, vocabulary=vocabulary, weights=weights, directions=directions)


@dataclass(slots=True)
class TextSample:
    """Collects a random sample of rows that is limited in rows and in bytes, as the rows stream by."""

    n_rows: int
    columns: tuple[str, ...]
    seed: int
    _share: float = field(init=False)
    _bytes: int = field(init=False, default=0)
    _batches: list[pa.RecordBatch] = field(init=False, default_factory=list)
    _priorities: list[npt.NDArray[np.float64]] = field(init=False, default_factory=list)
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._share = min(1.0, SAMPLE_ROWS / max(self.n_rows, 1))
        self._rng = np.random.default_rng([self.seed, 1])

    def add(self, block: pa.RecordBatch) -> None:
        """Take some rows of the next block."""
        import pyarrow as pa

        priority = self._rng.random(block.num_rows)
        rows = np.flatnonzero(priority < self._share)
        texts = [as_texts(block.column(name)) for name in self.columns]
        batch = pa.RecordBatch.from_arrays(texts, names=list(self.columns))
        if len(rows) < batch.num_rows:
            batch = taken(batch, 0, rows)
        self._batches.append(batch)
        self._priorities.append(priority[rows])
        self._bytes += batch.nbytes
        while self._bytes > SAMPLE_BYTES * len(self.columns):
            self._share /= 2
            for i, before in enumerate(self._priorities):
                keep = np.flatnonzero(before < self._share)
                self._batches[i] = taken(self._batches[i], 0, keep)
                self._priorities[i] = before[keep]
            self._bytes = sum(batch.nbytes for batch in self._batches)

    def texts(self, name: str) -> pa.Array:
        """Return the sample of a column."""
        import pyarrow as pa

        return pa.concat_arrays([batch.column(name) for batch in self._batches])


def _weighed(counts: sparse.csr_array, weights: Floats) -> sparse.csr_array:
    counts.data = np.log1p(counts.data) * weights[counts.indices]
    return unit_rows(counts)
