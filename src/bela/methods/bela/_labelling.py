"""From what is known to labels of all rows: the learner that a campaign needs, and the labels that are put out."""

from collections.abc import Mapping

import numpy as np

from bela.book import Book
from bela.features import NoFeatures, learner_features
from bela.learning import PredictionLearner, TransductiveLearner
from bela.methods._deciding import N_BINS, label_by_class, majority, merge_codes
from bela.methods.bela._revision import Learner, Revision
from bela.protocols import Setup
from bela.records import UNKNOWN, IntArray, Labelling, Prediction


def make_learner(setup: Setup) -> Learner:
    """Return the learner for these rows: of their features and what was predicted, or of that alone."""
    if setup.predictions and isinstance(setup.source, NoFeatures):
        return learner_of_predictions(setup)
    scores = [prediction.scores for prediction in setup.predictions.values()]
    return TransductiveLearner(learner_features(setup.source, setup.seed), seed=setup.seed, scores=scores)


def learner_of_predictions(setup: Setup) -> PredictionLearner:
    """Return a learner that needs no features, and is there at once."""
    scores = [prediction.scores for prediction in setup.predictions.values()]
    return PredictionLearner(scores, n_rows=setup.source.n_rows, seed=setup.seed)


def first_questions(setup: Setup, learner: Learner, rng: np.random.Generator) -> IntArray:
    """Return rows to ask before anything is known: they cover the data, or what others are not sure of.

    Typical rows are easy ones. Whoever judged predictions by them would believe too much.
    """
    usual = learner.first_questions()
    if not setup.predictions:
        return np.asarray(usual)
    predicted, nothing = [one.codes for one in setup.predictions.values()], np.array([], dtype=np.intp)
    fit = learner.fit(nothing, nothing, predicted)
    asked = np.zeros(setup.source.n_rows, dtype=bool)
    return np.asarray(learner.next_questions(fit, asked, len(usual), uniform_share=0.0, rng=rng).rows)


def label_rows(book: Book, best: Revision | None, right: float, predictions: Mapping[str, Prediction]) -> Labelling:
    """Label every row by the revision with the best certificate, corrected by the answers."""
    n, unknown = book.n_rows, book.known == UNKNOWN
    if best is None and predictions:
        codes = merge_codes(book, next(iter(predictions.values())).codes)
        return label_by_class(book.known, np.where(codes == UNKNOWN, majority(codes), codes))
    if best is None:
        codes = np.where(unknown, majority(book.known), book.known)
        return Labelling(codes=codes, leaf=np.zeros(n, dtype=np.int32), n_leaves=1)
    codes = np.where(unknown, best.codes, book.known)
    # A leaf is a label and a band of confidence; known rows go with the least doubtful band.
    band = np.where(best.bin < 0, N_BINS - 1, best.bin).astype(np.int64)
    leaves, leaf = np.unique(codes * N_BINS + band, return_inverse=True)
    # Whatever leaf the errors are in, it has no more of them than there are.
    wrong = np.minimum(n - right, np.bincount(leaf[unknown], minlength=len(leaves)))
    return Labelling(
        codes=codes, leaf=leaf.astype(np.int32), n_leaves=len(leaves),
        probability=np.where(unknown, best.confidence, 1.0), leaf_lower=1.0 - wrong / np.bincount(leaf),
    )  # fmt: skip
