"""From what is known to labels of all rows: the learner that a campaign needs, and the labels that are put out."""

from collections.abc import Mapping

import numpy as np

from bela.book import Book
from bela.features import NoFeatures, is_many, kept_in, learner_features, learner_rows
from bela.learning import PredictionLearner, SampledLearner, SampledPredictionLearner, TransductiveLearner
from bela.methods._deciding import N_BINS, codes_now, label_by_class, majority
from bela.methods.bela._revision import Learner, Revision, classes_in
from bela.protocols import Setup
from bela.records import UNKNOWN, IntArray, Labelling, Prediction
from bela.storage import empty_array

_BLOCK = 1 << 20  # rows that are labelled at once
_MOST = 0.9  # of the rows, that a prediction must be about for its labels to be those that a campaign begins with


def make_learner(setup: Setup) -> Learner:
    """Return the learner for these rows: of their features and what was predicted, or of that alone."""
    if setup.predictions and isinstance(setup.source, NoFeatures):
        return learner_of_predictions(setup)
    scores = [prediction.scores for prediction in setup.predictions.values()]
    if is_many(setup.source.n_rows):
        rows = learner_rows(setup.source, setup.seed)
        return SampledLearner(rows, seed=setup.seed, kept=kept_in(setup.source), scores=scores)
    return TransductiveLearner(learner_features(setup.source, setup.seed), seed=setup.seed, scores=scores)


def learner_of_predictions(setup: Setup) -> Learner:
    """Return a learner that needs no features, and is there at once."""
    scores = [prediction.scores for prediction in setup.predictions.values()]
    kind = SampledPredictionLearner if is_many(setup.source.n_rows) else PredictionLearner
    return kind(scores, n_rows=setup.source.n_rows, seed=setup.seed)


def predicted_classes(setup: Setup) -> IntArray:
    """Return the class codes that somebody has predicted of some row, more than once if several have."""
    found = [classes_in(one.codes) for one in setup.predictions.values()]
    return np.concatenate([np.array([], dtype=np.intp), *found])


def labels_to_begin_with(setup: Setup) -> IntArray:
    """Return the class codes of predictions for most rows: of fewer, nothing could be said that is worth a look."""
    most = [one.codes for one in setup.predictions.values() if _n_predicted(one.codes) >= _MOST * len(one.codes)]
    return np.concatenate([np.array([], dtype=np.intp), *(classes_in(codes) for codes in most)])


def _n_predicted(codes: IntArray) -> int:
    return sum(int((codes[at : at + _BLOCK] != UNKNOWN).sum()) for at in range(0, len(codes), _BLOCK))


def first_questions(setup: Setup, learner: Learner, rng: np.random.Generator) -> IntArray:
    """Return rows to ask before anything is known: they cover the data; every other is one that others are not sure of.

    Typical rows are easy ones: whoever judged predictions by them alone would believe too much. And doubtful ones alone
    teach little about all others where the predictions turn out to be worth nothing.
    """
    usual = np.asarray(learner.first_questions())
    if not len(predicted_classes(setup)):
        return usual
    predicted, nothing = [one.codes for one in setup.predictions.values()], np.array([], dtype=np.intp)
    fit = learner.fit(nothing, nothing, predicted)
    asked = np.zeros(setup.source.n_rows, dtype=bool)
    doubtful = learner.next_questions(fit, asked, len(usual), uniform_share=0.0, rng=rng).rows
    n = min(len(usual), len(doubtful))
    both = np.stack([usual[:n], doubtful[:n]], axis=1).ravel()
    _, first = np.unique(both, return_index=True)
    return np.asarray(both[np.sort(first)][: len(usual)])


def label_rows(book: Book, best: Revision | None, right: float, predictions: Mapping[str, Prediction]) -> Labelling:
    """Label every row by the revision with the best certificate, corrected by the answers."""
    n, unknown = book.n_rows, book.known == UNKNOWN
    if best is None and predictions:
        codes = codes_now(book, next(iter(predictions.values())).codes)
        return label_by_class(book.known, np.where(codes == UNKNOWN, majority(codes), codes))
    if best is None:
        codes = np.where(unknown, majority(book.known), book.known)
        return Labelling(codes=codes, leaf=np.zeros(n, dtype=np.int32), n_leaves=1)
    codes, leaf = empty_array((n,), np.int32), empty_array((n,), np.int32)
    probability = empty_array((n,), best.confidence.dtype)
    blocks = [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]
    common = majority(book.known)
    # A leaf is a label and a band of confidence; known rows go with the least doubtful band.
    sizes, open_ = (np.zeros(N_BINS * len(book.codes.classes), dtype=np.int64) for _ in range(2))
    for rows in blocks:
        known = ~unknown[rows]
        gone = best.codes[rows] == UNKNOWN  # their class was deleted: no bound counts them as right, for now
        codes[rows] = np.where(known, book.known[rows], np.where(gone, common, best.codes[rows]))
        probability[rows] = np.where(known, 1.0, np.where(gone, 0.0, best.confidence[rows]))
        band = np.where(best.bin[rows] < 0, N_BINS - 1, best.bin[rows])
        leaf[rows] = codes[rows] * N_BINS + band
        sizes += np.bincount(leaf[rows], minlength=len(sizes))
        open_ += np.bincount(leaf[rows][~known], minlength=len(sizes))
    found = np.flatnonzero(sizes)
    number = np.cumsum(sizes > 0) - 1
    for rows in blocks:
        leaf[rows] = number[leaf[rows]]
    # Whatever leaf the errors are in, it has no more of them than there are.
    wrong = np.minimum(n - right, open_[found])
    return Labelling(
        codes=codes, leaf=leaf, n_leaves=len(found), probability=probability, leaf_lower=1.0 - wrong / sizes[found]
    )
