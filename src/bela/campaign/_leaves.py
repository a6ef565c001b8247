"""How the leaves of a labelling fare by the answers in them, where the method does not say."""

import numpy as np

from bela.records import UNKNOWN, AnyArray, Assessment


def leaf_shares(assessment: Assessment, known: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return, for each leaf, the share of answers that agree with its label (one added each way), and of known rows."""
    labelling, n = assessment.labelling, assessment.labelling.n_leaves
    rows, unknown = np.flatnonzero(known != UNKNOWN), np.flatnonzero(known == UNKNOWN)
    leaf_label = np.full(n, UNKNOWN)
    leaf_label[labelling.leaf[unknown]] = labelling.codes[unknown]
    answers = np.bincount(labelling.leaf[rows], minlength=n)
    agree = np.bincount(labelling.leaf[rows], weights=known[rows] == leaf_label[labelling.leaf[rows]], minlength=n)
    size = np.maximum(np.bincount(labelling.leaf, minlength=n), 1)
    return (agree + 1) / (answers + 2), answers / size
