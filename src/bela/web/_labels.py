"""The labels of all rows as they were a moment ago: what people are shown, made beside the answering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.records import IntArray, Label, Result


@dataclass(frozen=True, kw_only=True)
class Labels:
    """A result, the event that it is of, and what is made of it when it is looked at.

    Parameters
    ----------
    seq
        How many events the journal had.
    result
        The labels of all rows.
    """

    seq: int
    result: Result

    def label(self, row: int) -> Label:
        """Return the label of a row."""
        value: Label = self.result.labels[row].item()
        return value

    def probability(self, row: int) -> float:
        """Return how likely the label of a row is right."""
        return float(self.result.probability[row])

    @cached_property
    def expected(self) -> float:
        """The share of labels that is expected to be right."""
        return float(np.mean(self.result.probability))

    @cached_property
    def counts(self) -> dict[Label, int]:
        """How many rows have each label."""
        names, codes = self._coded
        return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))

    @cached_property
    def leaves(self) -> list[dict[str, Any]]:
        """The leaves, the largest first: label, size, known rows, bound, and mean probability."""
        result = self.result
        n = len(result.leaf_lower)
        size = np.bincount(result.leaf, minlength=n)
        known = np.bincount(result.leaf[result.known], minlength=n)
        likely = np.bincount(result.leaf, weights=result.probability, minlength=n) / np.maximum(size, 1)
        labels = self._leaf_labels()
        return [
            {
                "leaf": int(leaf),
                "label": labels[leaf],
                "size": int(size[leaf]),
                "known": int(known[leaf]),
                "lower": float(np.clip(result.leaf_lower[leaf], 0.0, 1.0)),
                "probability": float(likely[leaf]),
            }
            for leaf in np.argsort(-size, kind="stable")
            if size[leaf]
        ]

    def rows(self, leaf: int, offset: int, limit: int) -> IntArray:
        """Return rows of a leaf, those in doubt first and those that are known last."""
        rows = np.flatnonzero(self.result.leaf == leaf)
        order = np.lexsort((rows, self.result.probability[rows], self.result.known[rows]))
        chosen: npt.NDArray[np.intp] = rows[order[offset : offset + limit]]
        return chosen

    @cached_property
    def _coded(self) -> tuple[list[Label], IntArray]:
        """The labels that there are, and the place of each row's among them; sorting texts would take longer."""
        if self.result.labels.dtype.kind in "iub":  # beside which others can go on
            found, codes = np.unique(self.result.labels, return_inverse=True)
            return found.tolist(), codes
        places: dict[Label, int] = {}
        labels = self.result.labels.tolist()
        codes = np.fromiter((places.setdefault(label, len(places)) for label in labels), np.int64, len(labels))
        return list(places), codes

    def _leaf_labels(self) -> dict[int, Label]:
        """Return the label that most rows of each leaf have."""
        names, codes = self._coded
        pairs, counts = np.unique(self.result.leaf.astype(np.int64) * len(names) + codes, return_counts=True)
        best: dict[int, Label] = {}
        for place in np.argsort(counts, kind="stable"):
            best[int(pairs[place]) // len(names)] = names[int(pairs[place]) % len(names)]
        return best
