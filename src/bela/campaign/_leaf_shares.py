"""What the answers in each leaf say about it, where the method says nothing better."""

from __future__ import annotations

import numpy as np

from bela.records import UNKNOWN, FloatArray, IntArray, Labelling


def leaf_shares(labelling: Labelling, known: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each leaf, the share of answers that agree with its label (one added each way), and of known rows."""
    n = labelling.n_leaves
    rows = np.flatnonzero(known != UNKNOWN)
    leaf_label = np.full(n, UNKNOWN)
    unknown = np.flatnonzero(known == UNKNOWN)
    leaf_label[labelling.leaf[unknown]] = labelling.codes[unknown]
    answers = np.bincount(labelling.leaf[rows], minlength=n)
    agree = np.bincount(labelling.leaf[rows], weights=known[rows] == leaf_label[labelling.leaf[rows]], minlength=n)
    size = np.maximum(np.bincount(labelling.leaf, minlength=n), 1)
    return (agree + 1) / (answers + 2), answers / size
