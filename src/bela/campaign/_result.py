"""The labels of all rows as things stand, with what is known of them."""

from collections.abc import Callable

import numpy as np

from bela.book import Book
from bela.errors import LabelError
from bela.records import UNKNOWN, AnyArray, Assessment, IntArray, NewLabels, Result, StopReason
from bela.storage import empty_array

_BLOCK = 1 << 20


def make_result(
    book: Book, assessment: Assessment, stop_reason: StopReason, *, method: str, seed: int,
    predictor: Callable[..., NewLabels] | None = None,
) -> Result:  # fmt: skip
    """Label every row as the method does, with what people said in its place."""
    labelling = assessment.labelling
    codes, known = labelling.codes, book.known != UNKNOWN
    if book.corrections:
        codes = codes.copy()
        rows = np.array(list(book.corrections))
        codes[rows], known[rows] = list(book.corrections.values()), True
    if (codes == UNKNOWN).any():
        raise LabelError("no label is known yet: answer at least one question first")
    agreement, share_known = _leaf_shares(assessment, book.known)
    probability = agreement[labelling.leaf] if labelling.probability is None else labelling.probability
    return Result(
        labels=_decoded(book, codes), known=known, leaf=labelling.leaf,
        probability=np.where(known, 1.0, probability),
        leaf_lower=share_known if labelling.leaf_lower is None else labelling.leaf_lower,
        classes=book.codes.names, n_asked=book.n_asked, stop_reason=stop_reason,
        certificate=assessment.certificate, method=method, seed=seed, unreadable=tuple(book.set_aside),
        parts=assessment.parts, predictor=predictor,
    )  # fmt: skip


def _decoded(book: Book, codes: IntArray) -> AnyArray:
    """Return the labels of codes, mapped if they are very many."""
    labels = empty_array(codes.shape, book.codes.decode(codes[:1]).dtype)
    for start in range(0, len(codes), _BLOCK):
        labels[start : start + _BLOCK] = book.codes.decode(codes[start : start + _BLOCK])
    return labels


def _leaf_shares(assessment: Assessment, known: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return, for each leaf, the share of answers that agree with its label (one added each way), and of known rows."""
    labelling, n = assessment.labelling, assessment.labelling.n_leaves
    if labelling.probability is not None and labelling.leaf_lower is not None:
        return np.zeros(n), np.zeros(n)  # nobody needs them
    rows, unknown = np.flatnonzero(known != UNKNOWN), np.flatnonzero(known == UNKNOWN)
    leaf_label = np.full(n, UNKNOWN)
    leaf_label[labelling.leaf[unknown]] = labelling.codes[unknown]
    answers = np.bincount(labelling.leaf[rows], minlength=n)
    agree = np.bincount(labelling.leaf[rows], weights=known[rows] == leaf_label[labelling.leaf[rows]], minlength=n)
    size = np.maximum(np.bincount(labelling.leaf, minlength=n), 1)
    return (agree + 1) / (answers + 2), answers / size
